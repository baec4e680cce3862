"""Learn the prior of SpectralGPClassifier from a folder of tables.

    python -m benchmarks prior FOLDER [--splits 3] [--out FILE] [--leave-out]

Each CSV file has the class in its last column. A task labels 5, 10 or 20 random rows of every
class; the loss of a task is the mean cross-entropy of other rows. The first step learns the
log-amplitudes of the blocks that do not depend on labels, and the temperature, by the loss without
adaptation. The second step learns those of all blocks, and the gates, by the loss after the
adaptation. Class shares are those of the labels. --leave-out learns the prior again without each
table in turn, and prints accuracy and loss on that table.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from lowrankgcn.gp.likelihood import CONSTANT, adapt, targets
from lowrankgcn.gp.recipe import BLOCK_NAMES, SUPERVISED, row_blocks, size_terms, supervised_blocks
from lowrankgcn.gp.views import FittedViews

LABELS = (5, 10, 20)
ROWS, TEST_ROWS = 2000, 300
FREE = tuple(n for n in BLOCK_NAMES if n not in SUPERVISED and not n.startswith("given"))
ALL = FREE + SUPERVISED
STEPS, RATE = 110, 0.05
# Penalty of log-amplitudes around their mean: a normal prior of deviation 1, if a table counts like
# about 100 independent rows.
SPREAD = 2e-4


@dataclass
class Task:
    """Kernels of labelled rows (B, m, m) and of test rows (B, q, m); blocks in the order of ALL."""

    table: str
    labels: int
    present: torch.Tensor  # positions of the blocks in ALL
    known: torch.Tensor
    test: torch.Tensor
    classes: np.ndarray
    truth: torch.Tensor
    n_classes: int
    forest_loss: float
    size: torch.Tensor
    adaptation: Any = None

    @property
    def free(self) -> int:
        """Number of blocks that do not depend on the classes."""
        return int((self.present < len(FREE)).sum())


def read(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns and the classes of a table, at most ROWS rows."""
    frame = pd.read_csv(path)
    frame = frame.sample(min(ROWS, len(frame)), random_state=0)
    counts = frame.iloc[:, -1].value_counts()
    frame = frame[frame.iloc[:, -1].isin(counts[counts >= 8].index)].reset_index(drop=True)
    return frame.iloc[:, :-1], pd.factorize(frame.iloc[:, -1])[0]


def tasks_of(path: Path, number: int, splits: int) -> Iterator[Task]:
    """Yield the tasks of one table."""
    X, y = read(path)
    fitted = FittedViews.fit(X)
    values = {name: pairs.eigenvalues for name, pairs in fitted.eigenpairs.items()}
    owners = fitted.maps.features.owners
    for labels in LABELS:
        for split in range(splits):
            generator = np.random.default_rng((number, labels, split))
            groups = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
            drawn = [generator.choice(g, max(1, min(labels, len(g) // 2)), False) for g in groups]
            known = np.sort(np.concatenate(drawn))
            rest = np.setdiff1d(np.arange(len(y)), known)
            test = generator.choice(rest, min(TEST_ROWS, len(rest)), replace=False)
            classes = y[known]
            blocks = row_blocks(fitted.views, values, known)
            more, loss = supervised_blocks(fitted.views, known, classes, owners, random_state=split)
            blocks = sorted(blocks + more, key=lambda block: ALL.index(block.name))
            left = {name: rows[known] for name, rows in fitted.views.items()}
            right = {name: rows[test] for name, rows in fitted.views.items()}
            own, other = [], []
            for block in blocks:
                a, b = block.represent(left), block.represent(right)
                own.append(block.kernel(a, a).astype(np.float32))
                other.append(block.kernel(b, a).astype(np.float32))
            yield Task(
                path.stem,
                labels,
                torch.tensor([ALL.index(block.name) for block in blocks]),
                torch.from_numpy(np.array(own)),
                torch.from_numpy(np.array(other)),
                classes,
                torch.from_numpy(y[test]),
                len(groups),
                float(loss),
                torch.from_numpy(size_terms(len(known), len(groups))).float(),
            )


def logits(task: Task, amplitudes: torch.Tensor, temperature: torch.Tensor) -> torch.Tensor:
    """Return the scores of the test rows, by as many blocks as there are amplitudes."""
    count, m = len(amplitudes), len(task.classes)
    G = torch.tensordot(amplitudes, task.known[:count], 1) + CONSTANT + torch.eye(m)
    Y = torch.from_numpy(targets(task.classes, task.n_classes)).float()
    alpha = torch.linalg.solve(G, Y)
    F = CONSTANT * alpha.sum(0) + torch.tensordot(amplitudes, task.test[:count], 1) @ alpha
    return torch.exp(temperature) * F


def first_logits(task: Task, p: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the scores without adaptation, by the blocks without labels."""
    amplitudes = torch.exp(p["adaptation"][task.present[: task.free]])
    return logits(task, amplitudes, task.size @ p["adaptation_temperature"])


def final_logits(task: Task, p: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return the scores after the adaptation, by all blocks."""
    found = task.adaptation
    better = (found.loss - task.forest_loss) / np.log(task.n_classes)
    shifts = torch.full((len(task.present),), float(found.common))
    shifts[: task.free] = torch.from_numpy(found.shifts).float()
    gates = torch.zeros(len(ALL))
    for name in SUPERVISED:
        gates[ALL.index(name)] = 1.0
    forests = torch.tensor([float(name == "random-forest") for name in ALL])
    own = gates * (forests * p["gates"][0] + (1 - forests) * p["gates"][1])
    logs = p["final"][task.present] + shifts + better * own[task.present]
    size = torch.cat([task.size, torch.tensor([float(found.temperature)])])
    return logits(task, torch.exp(logs), size @ p["final_temperature"])


def learn(
    tasks: list[Task], p: dict[str, torch.Tensor], names: Any, function: Any, steps: int
) -> None:
    """Minimise the mean loss over the tasks by Adam, changing the named parameters in place."""
    for name in names:
        p[name] = p[name].detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([p[name] for name in names], lr=RATE)
    weights = torch.tensor([1.0 / sum(t.table == task.table for t in tasks) for task in tasks])
    weights /= weights.sum()
    for step in range(steps):
        optimizer.zero_grad()
        total = 0.0
        for task, weight in zip(tasks, weights, strict=True):
            loss = torch.nn.functional.cross_entropy(function(task, p), task.truth) * weight
            loss.backward()
            total += float(loss.detach())
        penalty = SPREAD * ((p[names[0]] - p[names[0]].mean()) ** 2).sum()
        penalty.backward()
        optimizer.step()
        if step % 10 == 0 or step == steps - 1:
            print(f"{names[0]} step {step}: loss {total:.4f}", file=sys.stderr, flush=True)
    for name in names:
        p[name] = p[name].detach()


def adapt_all(tasks: list[Task], p: dict[str, torch.Tensor]) -> None:
    """Adapt the amplitudes of every task to its labels, as the classifier does."""
    for task in tasks:
        own = task.present[: task.free]
        task.adaptation = adapt(
            task.known[: task.free].double().numpy(),
            targets(task.classes, task.n_classes),
            task.classes,
            p["adaptation"][own].double().numpy(),
            float(task.size @ p["adaptation_temperature"]),
        )


def learn_prior(tasks: list[Task], p: dict[str, torch.Tensor], steps: int) -> None:
    """Learn all parameters, starting from those in `p`."""
    learn(tasks, p, ("adaptation", "adaptation_temperature"), first_logits, steps)
    adapt_all(tasks, p)
    learn(tasks, p, ("final", "final_temperature", "gates"), final_logits, steps)


def start() -> dict[str, torch.Tensor]:
    """Return equal amplitudes, and temperatures that suit them."""
    return {
        "adaptation": torch.full((len(FREE),), float(np.log(6 / len(FREE)))),
        "adaptation_temperature": torch.tensor([1.43, 0.53, 0.02]),
        "final": torch.full((len(ALL),), float(np.log(6 / len(ALL)))),
        "final_temperature": torch.tensor([1.42, 0.54, -0.01, 0.83]),
        "gates": torch.zeros(2),
    }


def document(p: dict[str, torch.Tensor], tables: list[str]) -> dict[str, Any]:
    """Return the prior as it is stored."""
    lists = {name: [round(v, 2) for v in values.tolist()] for name, values in p.items()}
    return {
        "date": datetime.date.today().isoformat(),
        "tables": tables,
        "adaptation": dict(zip(FREE, lists["adaptation"], strict=True)),
        "adaptation_temperature": lists["adaptation_temperature"],
        "final": dict(zip(ALL, lists["final"], strict=True)),
        "final_temperature": lists["final_temperature"],
        "gates": dict(zip(("forests", "columns"), lists["gates"], strict=True)),
    }


@torch.no_grad()
def scores(tasks: list[Task], p: dict[str, torch.Tensor]) -> pd.DataFrame:
    """Return accuracy in % and loss of every task."""
    rows = []
    for task in tasks:
        F = final_logits(task, p)
        loss = float(torch.nn.functional.cross_entropy(F, task.truth))
        rows.append(
            (
                task.table,
                task.labels,
                100 * float((F.argmax(1) == task.truth).double().mean()),
                loss,
            )
        )
    return pd.DataFrame(rows, columns=["table", "labels", "accuracy", "loss"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--leave-out", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    paths, tasks, begin = sorted(options.folder.glob("*.csv")), [], time.perf_counter()
    for number, path in enumerate(paths):
        tasks += tasks_of(path, number, options.splits)
        print(f"{path.stem}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    p = start()
    adapt_all(tasks, p)
    print("equal amplitudes\n", scores(tasks, p).groupby("labels")[["accuracy", "loss"]].mean())
    learn_prior(tasks, p, STEPS)
    print("learned prior\n", scores(tasks, p).groupby("labels")[["accuracy", "loss"]].mean())
    tables = [path.stem for path in paths]
    text = json.dumps(document(p, tables), indent=2) + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    if options.leave_out:
        parts = []
        for table in tables:
            others, own = start(), [task for task in tasks if task.table == table]
            learn_prior([task for task in tasks if task.table != table], others, STEPS)
            adapt_all(own, others)
            parts.append(scores(own, others))
        left_out = pd.concat(parts)
        print("without the table\n", left_out.groupby("labels")[["accuracy", "loss"]].mean())
        print(left_out.groupby(["table", "labels"]).mean().unstack().round(3).to_string())


if __name__ == "__main__":
    main()

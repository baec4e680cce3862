"""Accuracies and times of a case.

>>> from lowrankgcn.experiments.reproduction.grid import Case
>>> setting = Setting.load("cars")
>>> chunk = measure(setting, Case("cars", "R-GCN", "pseudoinverse", 15), range(3), iterations=20)
>>> len(chunk.accuracies)
3
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from lowrankgcn.experiments.reproduction.grid import Case
from lowrankgcn.experiments.reproduction.setting import Setting
from lowrankgcn.training import train

__all__ = ["Measured", "measure", "one_thread"]


@final
@dataclass(frozen=True)
class Measured:
    """Some runs of a case: shares of right nodes, and seconds.

    ``setup`` is from the graph to all that training needs, ``alone`` the training of one run by
    itself (None if not measured), ``batch`` that of all runs together.
    """

    accuracies: tuple[float, ...]
    setup: float
    batch: float
    alone: float | None = None


def measure(
    setting: Setting,
    case: Case,
    runs: Sequence[int],
    *,
    seed: int = 0,
    iterations: int = 1000,
    alone: bool = False,
) -> Measured:
    """Train the given runs of a case in one batch, with the paper's settings (section A4.3).

    A run's start depends on `seed` and its number alone, so runs can be added later.

    Raises
    ------
    RuntimeError
        If a run diverges.
    """
    network, setup = setting.network(case, seed)
    index = setting.labelled(case, seed)
    labels = setting.classes[index]
    # Torch's generator takes 32 bits of a seed.
    seeds = [int(np.random.SeedSequence([seed, run]).generate_state(1)[0]) for run in runs]
    with one_thread():
        record = train(network, setting.X, index, labels, seeds=seeds, max_iter=iterations)
        if record.diverged.any():
            raise RuntimeError(f"{case}: {int(record.diverged.sum())} runs diverged")
        single = None
        if alone:
            one = train(network, setting.X, index, labels, seeds=seeds[:1], max_iter=iterations)
            single = one.training_seconds
        others = np.delete(np.arange(len(setting.classes)), index)
        found = record.logits(network, setting.X, rows=others).argmax(dim=2).numpy()
    shares = (found == setting.classes[others]).mean(axis=1)
    return Measured(
        accuracies=tuple(shares.tolist()),
        setup=setup + record.setup_seconds,
        batch=record.training_seconds,
        alone=single,
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch with one thread: batches run in threads of their own, which is where the cores go."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

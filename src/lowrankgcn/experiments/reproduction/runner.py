"""Compute the missing runs of a reproduction, one piece at a time, and store them.

There is one file per case, replaced atomically after every piece. Its name depends on everything
that its numbers depend on, so results of other settings or versions are never mixed.

>>> import tempfile
>>> case = Case("cars", "R-GCN", "linear", 15)
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder), seed=0, iterations=5)
...     found = compute([Piece(case, range(2))], store)
...     stored = store.load(case, "cars")
>>> found.entries[case].accuracies == stored.accuracies, stored.runs
(True, [0, 1])
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple, final

import numpy as np

from lowrankgcn._atomic import write_text
from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.exceptions import DegenerateCutWarning, RankWarning
from lowrankgcn.experiments.reproduction.grid import Case, demonstrations, other_bases, paper_rows
from lowrankgcn.experiments.reproduction.setting import Setting, load_setting, naive_times
from lowrankgcn.training import train
from lowrankgcn.training.threads import limit_threads

__all__ = ["Entry", "Found", "Piece", "Store", "Watch", "compute", "plan"]

_FORMAT = 3  # version of the file format
_BASIS_RUNS = 20  # runs of every other choice of signs
_SPLIT_RUNS = 5  # runs of every random training set

#: Called with the current case, the work done and all work, both in approximate seconds.
Watch = Callable[[str, float, float], None]


@final
@dataclass
class Entry:
    """Results of a case.

    Attributes
    ----------
    runs, accuracies : list
        Numbers of the finished runs, and the accuracy of each.
    setup : float
        Seconds from the graph to everything that training needs.
    batch : float
        Seconds of training, all runs together.
    alone : float or None
        Seconds of training one run by itself.
    naive_setup, naive_training : float or None
        The same with stored n×n matrices, extrapolated.
    """

    runs: list[int] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    setup: float = 0.0
    batch: float = 0.0
    alone: float | None = None
    naive_setup: float | None = None
    naive_training: float | None = None

    def add(self, new: Entry) -> None:
        """Add other runs, or times that are missing."""
        self.runs += new.runs
        self.accuracies += new.accuracies
        self.batch += new.batch
        for name in ("setup", "alone", "naive_setup", "naive_training"):
            setattr(self, name, getattr(self, name) or getattr(new, name))

    def first(self, count: int) -> Entry:
        """Return the results with the first `count` runs only."""
        accuracies = dict(zip(self.runs, self.accuracies, strict=True))
        runs = list(range(count))
        batch = self.batch * count / len(self.runs)
        return replace(self, runs=runs, accuracies=[accuracies[r] for r in runs], batch=batch)


class Store(NamedTuple):
    """Folder of results for one seed and number of iterations.

    `complain` is called with a message about every damaged file.
    """

    folder: Path
    seed: int = 0
    iterations: int = 1000
    complain: Callable[[str], None] = print

    def path(self, case: Case, source: str) -> Path:
        """Return the file of a case; `source` names the data."""
        from lowrankgcn import __version__

        name = re.sub(r"[^a-z0-9]+", "-", str(case).lower()).strip("-")
        settings = [_FORMAT, __version__, self.seed, self.iterations, source, asdict(case)]
        return self.folder / f"{name}-{_digest(settings)[:12]}.json"

    def load(self, case: Case, source: str) -> Entry:
        """Return the stored results, or an empty entry if the file is missing or damaged."""
        path = self.path(case, source)
        try:
            document = json.loads(path.read_text("utf-8"))
            if document["sha256"] != _digest([path.name, document["results"]]):
                raise ValueError("the checksum does not match")
            return Entry(**document["results"])
        except FileNotFoundError:
            return Entry()
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = " ".join(str(error).split())
            self.complain(f"{path} is damaged ({reason}) and is computed again")
            return Entry()

    def save(self, case: Case, source: str, entry: Entry) -> None:
        """Replace the stored results atomically."""
        path, results = self.path(case, source), asdict(entry)
        document = {"results": results, "sha256": _digest([path.name, results])}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(document, indent=1) + "\n")


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


class Piece(NamedTuple):
    """Some runs of a case ("batch"), one run by itself ("alone"), or the naive implementation.

    >>> round(Piece(Case("mushrooms", "GCN", "linear"), range(2)).cost, 3)
    1.812
    """

    case: Case
    runs: Sequence[int]
    kind: Literal["batch", "alone", "naive"] = "batch"

    @property
    def cost(self) -> float:
        """Approximate seconds on one core."""
        if self.kind == "naive":
            return 10.0
        if self.case.network == "R-GCN":
            return 0.01 * len(self.runs)
        rank = min(self.case.rank or 84, 84)
        seconds = 0.15 + 0.009 * rank if self.case.data == "mushrooms" else 0.05
        return seconds * len(self.runs)

    def missing(self, entry: Entry) -> list[Piece]:
        """Return what is not among the results, in parts; a killed process loses one per thread."""
        if self.kind == "batch":
            runs = [run for run in self.runs if run not in entry.runs]
            size = 100 if self.case.network == "R-GCN" else 16
            return [Piece(self.case, runs[i:j]) for i, j in chunks(len(runs), size)]
        seconds = entry.alone if self.kind == "alone" else entry.naive_training
        return [self] if seconds is None else []


class Found(NamedTuple):
    """Results by case, sources and messages about missing data by dataset."""

    entries: dict[Case, Entry]
    sources: dict[str, str]
    missing: dict[str, str]


def plan(names: Sequence[str], runs: int) -> list[Piece]:
    """Return the work for some tables, every case once.

    Examples
    --------
    >>> pieces = plan(("cars",), runs=5)
    >>> [sum(piece.kind == kind for piece in pieces) for kind in ("batch", "alone", "naive")]
    [34, 9, 2]
    """
    rows = paper_rows(*names)
    counts = {row["case"]: runs for row in rows}  # rows may share a case
    timed, naive = list(counts), {row["case"] for row in rows if row["naive"]}
    counts |= {case: min(runs, _BASIS_RUNS) for row in rows for case in other_bases(row["case"])}
    for name in names:
        for cases in demonstrations(name).values():
            counts |= {case: min(runs, _SPLIT_RUNS) if case.split else runs for case in cases}
    pieces = [Piece(case, range(count)) for case, count in counts.items()]
    pieces += [Piece(case, [0], "alone") for case in timed]
    return pieces + [Piece(case, [], "naive") for case in timed if case in naive]


def compute(
    work: Sequence[Piece], store: Store, watch: Watch = lambda text, done, total: None
) -> Found:
    """Do the work that is not in the store.

    Parameters
    ----------
    work : sequence of Piece
        For each case, all of its runs together.
    store : Store
        Previous results; every finished piece is added to it.
    watch : callable
        Called at the beginning and after every piece of work.

    Returns
    -------
    Found
        Without entries for cases whose data is missing.

    Raises
    ------
    OSError
        If results cannot be written.
    """
    found = Found({}, {}, {})
    settings: dict[str, Setting] = {}
    for data in dict.fromkeys(piece.case.data for piece in work):
        try:
            settings[data] = load_setting(data)
            found.sources[data] = settings[data].source
        except OSError as error:  # also DataUnavailableError
            found.missing[data] = str(error)
    work = [piece for piece in work if piece.case.data in settings]
    for case in dict.fromkeys(piece.case for piece in work):
        found.entries[case] = store.load(case, settings[case.data].source)
    pieces = [part for piece in work for part in piece.missing(found.entries[piece.case])]
    done, total, lock = 0.0, sum(piece.cost for piece in pieces), Lock()
    watch("", done, total)

    def finish(piece: Piece) -> None:
        nonlocal done
        setting, entry = settings[piece.case.data], found.entries[piece.case]
        with limit_threads(0):  # one thread
            new = measure(piece, setting, store)
        with lock:
            entry.add(new)
            store.save(piece.case, setting.source, entry)
            done += piece.cost
            watch(str(piece.case), done, total)

    # Large networks run in a thread each; small ones would only wait for the interpreter lock.
    large = [piece for piece in pieces if piece.case.network != "R-GCN"]
    small = [piece for piece in pieces if piece.case.network == "R-GCN"]
    with warnings.catch_warnings():
        # Some of the paper's ranks exceed the rank of the data (erratum "rank").
        warnings.simplefilter("ignore", RankWarning)
        warnings.simplefilter("ignore", DegenerateCutWarning)
        map_chunks(lambda index, stop: finish(large[index]), len(large), 1)
        for piece in small:
            finish(piece)
    for piece in work:
        if piece.kind == "batch":
            found.entries[piece.case] = found.entries[piece.case].first(len(piece.runs))
    return found


def measure(piece: Piece, setting: Setting, store: Store) -> Entry:
    """Train the runs of a piece in one batch, with the paper's settings (section A4.3).

    The start of a run depends only on the seed and its number, so runs can be added later.

    Raises
    ------
    RuntimeError
        If a run diverges.
    """
    case, X, iterations = piece.case, setting.X, store.iterations
    if piece.kind == "naive":
        setup, training = naive_times(setting, case, iterations=iterations)
        return Entry(naive_setup=setup, naive_training=training)
    network, setup = setting.network(case, store.seed)
    index = setting.labelled(case, store.seed)
    # Torch's generator accepts 32 bits of a seed.
    states = [np.random.SeedSequence([store.seed, run]).generate_state(1) for run in piece.runs]
    seeds = [int(state[0]) for state in states]
    record = train(network, X, index, setting.classes[index], seeds=seeds, max_iter=iterations)
    if piece.kind == "alone":
        return Entry(alone=record.training_seconds)
    if record.diverged.any():
        raise RuntimeError(f"{case}: {int(record.diverged.sum())} runs diverged")
    others = np.delete(np.arange(len(setting.classes)), index)
    predicted = record.logits(network, X, rows=others).argmax(dim=2).numpy()
    accuracies = (predicted == setting.classes[others]).mean(axis=1).tolist()
    setup += record.setup_seconds
    return Entry(list(piece.runs), accuracies, setup, batch=record.training_seconds)

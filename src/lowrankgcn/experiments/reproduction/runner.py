"""Compute the missing runs of a reproduction, one piece at a time.

>>> import tempfile
>>> from pathlib import Path
>>> case = Case("cars", "R-GCN", "linear", 15)
>>> with tempfile.TemporaryDirectory() as folder:
...     found = compute([Job(case, runs=2)], Store(Path(folder), iterations=5))
>>> len(found.entries[case].accuracies)
2
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Literal, NamedTuple, final

import numpy as np

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.exceptions import DataUnavailableError, DegenerateCutWarning, RankWarning
from lowrankgcn.experiments.reproduction.grid import MISTYPED, Case, paper_rows
from lowrankgcn.experiments.reproduction.naive import naive_times
from lowrankgcn.experiments.reproduction.setting import Setting, load_setting
from lowrankgcn.experiments.reproduction.store import Entry, Store
from lowrankgcn.training import train
from lowrankgcn.training.threads import limit_threads

__all__ = ["Found", "Job", "Watch", "compute", "demonstrations", "other_bases", "plan"]

_BASES, _BASIS_RUNS = 8, 20  # choices of signs for every reduced-order row, and runs of each
_SPLITS, _SPLIT_RUNS = 20, 5  # random training sets of the mushrooms, and runs of each

#: Called with the current case, the work done and all work, both in approximate seconds.
Watch = Callable[[str, float, float], None]


class Job(NamedTuple):
    """A case, its number of runs, and whether one run and the naive implementation are timed."""

    case: Case
    runs: int
    timed: bool = False
    naive: bool = False


class Piece(NamedTuple):
    """Some runs of a case ("batch"), one run by itself ("alone"), or the naive implementation.

    A killed reproduction loses one piece per thread.

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
        seconds = 0.01 if self.case.network == "R-GCN" else 0.05
        if self.case.network != "R-GCN" and self.case.data == "mushrooms":
            seconds = 0.15 + 0.009 * min(self.case.rank or 84, 84)
        return seconds * len(self.runs)


@final
@dataclass(frozen=True)
class Found:
    """Results by case, sources and messages about missing data by dataset."""

    entries: dict[Case, Entry] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def other_bases(case: Case) -> tuple[Case, ...]:
    """Return a reduced-order case with other eigenvectors; they do not change other networks."""
    count = _BASES if case.network == "R-GCN" else 0
    return tuple(replace(case, basis=k) for k in range(1, count + 1))


def demonstrations(table: str) -> dict[str, tuple[Case, ...]]:
    """Return the cases that demonstrate errata of a table, by erratum."""
    if table == "cars":
        return {"labels": (Case("cars-acceptability", "L-GCN", "pseudoinverse", 20),)}
    if table == "mushrooms":
        reduced = Case("mushrooms", "R-GCN", "pseudoinverse", 20)
        return {
            "quadratic": (Case("mushrooms", "GCN", MISTYPED),),
            "training": tuple(replace(reduced, split=k) for k in range(1, _SPLITS + 1)),
        }
    return {}


def plan(names: Sequence[str], runs: int) -> list[Job]:
    """Return the jobs of some tables, every case once.

    Examples
    --------
    >>> jobs = plan(("cars",), runs=5)
    >>> len(jobs), sum(job.timed for job in jobs)
    (34, 9)
    """
    rows = paper_rows(*names)
    counts = {row.case: runs for row in rows}  # rows may share a case
    counts |= {case: min(runs, _BASIS_RUNS) for row in rows for case in other_bases(row.case)}
    for name in names:
        for erratum, cases in demonstrations(name).items():
            most = _SPLIT_RUNS if erratum == "training" else runs
            counts |= dict.fromkeys(cases, min(runs, most))
    timed, naive = {row.case for row in rows}, {row.case for row in rows if row.naive}
    return [Job(case, count, case in timed, case in naive) for case, count in counts.items()]


def compute(
    jobs: Sequence[Job], store: Store, watch: Watch = lambda text, done, total: None
) -> Found:
    """Run what is left of the jobs.

    Parameters
    ----------
    jobs : sequence of Job
    store : Store
        Previous results; every finished piece is added to it.
    watch : callable
        Called at the beginning and after every piece of work.

    Returns
    -------
    Found
        Without entries for jobs whose data is missing.

    Raises
    ------
    OSError
        If results cannot be written.
    """
    found = Found()
    settings: dict[str, Setting] = {}
    for data in dict.fromkeys(job.case.data for job in jobs):
        try:
            settings[data] = load_setting(data)
            found.sources[data] = settings[data].source
        except DataUnavailableError as error:
            found.missing[data] = str(error)
    jobs = [job for job in jobs if job.case.data in settings]
    for case in (job.case for job in jobs):
        found.entries[case] = store.load(case, settings[case.data].source)
    pieces = [piece for job in jobs for piece in _missing_pieces(job, found.entries[job.case])]
    done, total, lock = 0.0, sum(piece.cost for piece in pieces), Lock()
    watch("", done, total)

    def work(piece: Piece) -> None:
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
        map_chunks(lambda index, stop: work(large[index]), len(large), 1)
        for piece in small:
            work(piece)
    for job in jobs:
        found.entries[job.case] = found.entries[job.case].first(job.runs)
    return found


def _missing_pieces(job: Job, entry: Entry) -> Iterator[Piece]:
    runs = [run for run in range(job.runs) if run not in entry.runs]
    size = 100 if job.case.network == "R-GCN" else 16
    for start, stop in chunks(len(runs), size):
        yield Piece(job.case, runs[start:stop])
    if job.timed and entry.alone is None:
        yield Piece(job.case, [0], "alone")
    if job.naive and entry.naive_training is None:
        yield Piece(job.case, [], "naive")


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

"""Compute the missing runs of a reproduction, one piece at a time.

>>> import tempfile
>>> from pathlib import Path
>>> jobs = [Job(Case("cars", "R-GCN", "linear", 15), runs=2)]
>>> with tempfile.TemporaryDirectory() as folder:
...     found = compute(jobs, Store(Path(folder), iterations=5))
>>> len(found.entries[jobs[0].case].accuracies)
2
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Literal, final

import numpy as np

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.exceptions import DataUnavailableError, DegenerateCutWarning, RankWarning
from lowrankgcn.experiments.reproduction.grid import MISTYPED, Case, paper_tables
from lowrankgcn.experiments.reproduction.naive import naive_times
from lowrankgcn.experiments.reproduction.setting import Setting, load_setting
from lowrankgcn.experiments.reproduction.store import Entry, Store
from lowrankgcn.training import train
from lowrankgcn.training.threads import limit_threads

__all__ = ["Found", "Job", "Piece", "Watch", "compute", "demonstrations", "other_bases", "plan"]

_BASES, _BASIS_RUNS = 8, 20  # choices of signs for every reduced-order row, and runs of each
_SPLITS, _SPLIT_RUNS = 20, 5  # random training sets of the mushrooms, and runs of each

#: Called with the current case, the work done and all work, both in approximate seconds.
Watch = Callable[[str, float, float], None]


@final
@dataclass(frozen=True)
class Job:
    """A case, its number of runs, and whether one run and the naive implementation are timed."""

    case: Case
    runs: int
    timed: bool = False
    naive: bool = False


@final
@dataclass(frozen=True)
class Piece:
    """Some runs of a case ("batch"), one run by itself ("alone"), or the naive implementation.

    A killed reproduction loses one piece per thread.
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
        if self.case.data != "mushrooms":
            return 0.05 * len(self.runs)
        return (0.15 + 0.009 * min(self.case.rank or 84, 84)) * len(self.runs)

    def compute(self, setting: Setting, store: Store) -> Entry:
        """Compute the piece with the seed and iterations of the store."""
        if self.kind == "naive":
            setup, training = naive_times(setting, self.case, iterations=store.iterations)
            return Entry(naive_setup=setup, naive_training=training)
        entry = measure(setting, self.case, self.runs, store)
        return Entry(alone=entry.batch) if self.kind == "alone" else entry


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
    """Return the jobs of some tables, every case once, in the order of the tables.

    Examples
    --------
    >>> jobs = plan(("cars",), runs=5)
    >>> len(jobs), sum(job.timed for job in jobs)
    (34, 9)
    """
    jobs: dict[Case, Job] = {}
    for table in (table for table in paper_tables() if table.name in names):
        for row in table.rows:  # rows may share a case
            naive = row.naive or (row.case in jobs and jobs[row.case].naive)
            jobs[row.case] = Job(row.case, runs, timed=True, naive=naive)
        for row in table.rows:
            for case in other_bases(row.case):
                jobs[case] = Job(case, min(runs, _BASIS_RUNS))
        for erratum, cases in demonstrations(table.name).items():
            for case in cases:
                jobs[case] = Job(case, min(runs, _SPLIT_RUNS) if erratum == "training" else runs)
    return list(jobs.values())


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
    pieces: list[Piece] = []
    for job in jobs:
        entry = store.load(job.case, found.sources[job.case.data])
        found.entries[job.case] = entry
        pieces += _missing_pieces(job, entry)
    done, total, lock = 0.0, sum(piece.cost for piece in pieces), Lock()
    watch("", done, total)

    def work(piece: Piece) -> None:
        nonlocal done
        setting, entry = settings[piece.case.data], found.entries[piece.case]
        with limit_threads(0):  # one thread
            new = piece.compute(setting, store)
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


def _missing_pieces(job: Job, entry: Entry) -> list[Piece]:
    runs = [run for run in range(job.runs) if run not in entry.runs]
    size = 100 if job.case.network == "R-GCN" else 16
    pieces = [Piece(job.case, runs[start:stop]) for start, stop in chunks(len(runs), size)]
    if job.timed and entry.alone is None:
        pieces.append(Piece(job.case, [0], "alone"))
    if job.naive and entry.naive_training is None:
        pieces.append(Piece(job.case, [], "naive"))
    return pieces


def measure(setting: Setting, case: Case, runs: Sequence[int], store: Store) -> Entry:
    """Train some runs of a case in one batch, with the paper's settings (section A4.3).

    The start of a run depends only on the seed and its number, so runs can be added later.

    Raises
    ------
    RuntimeError
        If a run diverges.
    """
    network, setup = setting.network(case, store.seed)
    index = setting.labelled(case, store.seed)
    # Torch's generator accepts 32 bits of a seed.
    seeds = [int(np.random.SeedSequence([store.seed, r]).generate_state(1)[0]) for r in runs]
    labels, iterations = setting.classes[index], store.iterations
    record = train(network, setting.X, index, labels, seeds=seeds, max_iter=iterations)
    if record.diverged.any():
        raise RuntimeError(f"{case}: {int(record.diverged.sum())} runs diverged")
    others = np.delete(np.arange(len(setting.classes)), index)
    predicted = record.logits(network, setting.X, rows=others).argmax(dim=2).numpy()
    accuracies = (predicted == setting.classes[others]).mean(axis=1).tolist()
    setup += record.setup_seconds
    return Entry(list(runs), accuracies, setup=setup, batch=record.training_seconds)

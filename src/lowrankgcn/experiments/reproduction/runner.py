"""Compute the missing runs of a reproduction, one chunk at a time.

>>> import tempfile
>>> from pathlib import Path
>>> jobs = [Job(Case("cars", "R-GCN", "linear", 15), runs=2)]
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder), Settings(iterations=5))
...     found = compute(jobs, store)
>>> len(found.entries[jobs[0].case].accuracies)
2
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event
from typing import final

import numpy as np
import torch

from lowrankgcn._parallel import map_chunks
from lowrankgcn.exceptions import DataUnavailableError
from lowrankgcn.experiments.reproduction.grid import MISTYPED, Case, paper_tables
from lowrankgcn.experiments.reproduction.naive import naive_times
from lowrankgcn.experiments.reproduction.setting import Setting, load_setting
from lowrankgcn.experiments.reproduction.store import Entry, Settings, Store
from lowrankgcn.training import train

__all__ = ["Advance", "Found", "Job", "compute", "demonstrations", "other_bases", "plan"]

_NAIVE_COST = 10.0  # seconds
_BASES, _BASIS_RUNS = 8, 20  # choices of signs for every reduced-order row, and runs of each
_SPLITS, _SPLIT_RUNS = 20, 5  # random training sets of the mushrooms, and runs of each


@final
@dataclass(frozen=True)
class Job:
    """A case, its number of runs, and whether one run and the naive implementation are timed."""

    case: Case
    runs: int
    timed: bool = False
    naive: bool = False

    @property
    def run_cost(self) -> float:
        """Approximate seconds of one run."""
        if self.case.network == "R-GCN":
            return 0.01
        if self.case.data != "mushrooms":
            return 0.05
        return 0.15 + 0.009 * min(self.case.rank or 84, 84)

    @property
    def cost(self) -> float:
        """Approximate seconds on one core."""
        return self.runs * self.run_cost + (_NAIVE_COST if self.naive else 0.0)


@final
@dataclass(frozen=True)
class Found:
    """Results by case, sources and messages about missing data by dataset."""

    entries: dict[Case, Entry] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


Advance = Callable[[Job, float, bool], None]


def other_bases(case: Case) -> tuple[Case, ...]:
    """Return the case with other eigenvectors of the same eigenvalues."""
    return tuple(replace(case, basis=k) for k in range(1, _BASES + 1))


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
            for case in other_bases(row.case) if row.case.network == "R-GCN" else ():
                jobs[case] = Job(case, min(runs, _BASIS_RUNS))
        for erratum, cases in demonstrations(table.name).items():
            for case in cases:
                jobs[case] = Job(case, min(runs, _SPLIT_RUNS) if erratum == "training" else runs)
    return list(jobs.values())


def compute(
    jobs: Sequence[Job], store: Store, *, advance: Advance = lambda job, cost, fresh: None
) -> Found:
    """Run what is left of the jobs.

    Parameters
    ----------
    jobs : sequence of Job
    store : Store
        Previous results; every finished chunk is added to it.
    advance : callable (job, cost, fresh)
        Called for every piece of work with its cost; `fresh` is False for work that was not
        necessary.

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
    for job in jobs:  # before the work, so that the estimate of the remaining time is right
        if job.case.data in found.missing:
            advance(job, job.cost, False)
            continue
        entry = store.load(job.case, settings[job.case.data].source)
        found.entries[job.case] = entry
        advance(job, job.run_cost * min(len(entry.accuracies), job.runs), False)
        if job.naive and entry.naive_training is not None:
            advance(job, _NAIVE_COST, False)
    stopped = Event()

    def finish(job: Job) -> None:
        entry, setting = found.entries[job.case], settings[job.case.data]
        try:
            found.entries[job.case] = _finish(job, entry, setting, store, advance, stopped)
        except BaseException:
            stopped.set()  # the other threads stop after their chunk
            raise

    # Large networks run in a thread each; small ones would only wait for the interpreter lock.
    possible = [job for job in jobs if job.case in found.entries]
    large = [job for job in possible if job.case.network != "R-GCN"]
    with _one_torch_thread():
        map_chunks(lambda start, stop: finish(large[start]), len(large), 1)
        for job in possible:
            if job.case.network == "R-GCN":
                finish(job)
    return found


def _finish(
    job: Job, entry: Entry, setting: Setting, store: Store, advance: Advance, stopped: Event
) -> Entry:
    """Compute what is missing of a job."""
    case, source, settings = job.case, setting.source, store.settings
    if job.timed and entry.alone is None:
        entry = replace(entry, alone=measure(setting, case, [0], settings).batch)
        if len(entry.accuracies) >= job.runs:  # otherwise saved with the runs below
            store.save(case, source, entry)
    while len(entry.accuracies) < job.runs and not stopped.is_set():
        start = len(entry.accuracies)
        runs = range(start, min(start + _chunk(case), job.runs))
        new = measure(setting, case, runs, settings)
        entry = replace(
            entry,
            accuracies=entry.accuracies + new.accuracies,
            setup=entry.setup if start else new.setup,
            batch=entry.batch + new.batch,
        )
        store.save(case, source, entry)
        advance(job, job.run_cost * len(runs), True)
    if job.naive and entry.naive_training is None and not stopped.is_set():
        setup, training = naive_times(setting, case, iterations=settings.iterations)
        entry = replace(entry, naive_setup=setup, naive_training=training)
        store.save(case, source, entry)
        advance(job, _NAIVE_COST, True)
    return replace(entry, accuracies=entry.accuracies[: job.runs])


def _chunk(case: Case) -> int:
    """Return the number of runs per chunk, the most that a killed reproduction loses."""
    return 100 if case.network == "R-GCN" else 16


def measure(setting: Setting, case: Case, runs: Sequence[int], settings: Settings) -> Entry:
    """Train some runs of a case in one batch, with the paper's settings (section A4.3).

    The start of a run depends only on the seed and its number, so runs can be added later.

    Raises
    ------
    RuntimeError
        If a run diverges.
    """
    network, setup = setting.network(case, settings.seed)
    index = setting.labelled(case, settings.seed)
    # Torch's generator accepts 32 bits of a seed.
    seeds = [int(np.random.SeedSequence([settings.seed, r]).generate_state(1)[0]) for r in runs]
    record = train(
        network,
        setting.X,
        index,
        setting.classes[index],
        seeds=seeds,
        max_iter=settings.iterations,
    )
    if record.diverged.any():
        raise RuntimeError(f"{case}: {int(record.diverged.sum())} runs diverged")
    others = np.delete(np.arange(len(setting.classes)), index)
    predicted = record.logits(network, setting.X, rows=others).argmax(dim=2).numpy()
    accuracies = (predicted == setting.classes[others]).mean(axis=1)
    return Entry(
        accuracies=tuple(accuracies.tolist()),
        setup=setup + record.setup_seconds,
        batch=record.training_seconds,
    )


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

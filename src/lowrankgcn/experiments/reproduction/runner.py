"""Computes what a reproduction needs and is not known yet, a chunk of runs at a time.

>>> import tempfile
>>> from pathlib import Path
>>> from lowrankgcn.experiments.reproduction.grid import Case
>>> jobs = [Job(Case("cars", "R-GCN", "linear", 15), runs=2)]
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder), Settings(iterations=5))
...     found = compute(jobs, store)
>>> len(found.entries[jobs[0].case].accuracies)
2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import final

from lowrankgcn._parallel import map_chunks
from lowrankgcn.exceptions import DataUnavailableError
from lowrankgcn.experiments.reproduction.grid import Case
from lowrankgcn.experiments.reproduction.measure import measure, one_thread
from lowrankgcn.experiments.reproduction.naive import naive_times
from lowrankgcn.experiments.reproduction.setting import Setting
from lowrankgcn.experiments.reproduction.store import Entry, Settings, Store

__all__ = ["Advance", "Found", "Job", "compute", "merged"]


_NAIVE_COST = 10.0


@final
@dataclass(frozen=True)
class Job:
    """A case, how many runs of it are wanted, and whether the naive way is timed too."""

    case: Case
    runs: int
    timed: bool = False
    naive: bool = False

    @property
    def cost(self) -> float:
        """Seconds on one core, roughly: what a progress bar needs to know."""
        return self.runs * run_cost(self.case) + (_NAIVE_COST if self.naive else 0.0)


@final
@dataclass(frozen=True)
class Found:
    """Results by case, and messages about the data that could not be had."""

    entries: dict[Case, Entry] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


Advance = Callable[[Job, float, bool], None]


def run_cost(case: Case) -> float:
    """Seconds of one run of a case, roughly."""
    if case.network == "R-GCN":
        return 0.01
    size = {"spiral": 0.05, "mushrooms": 1.0}.get(case.data, 0.05)
    if case.data != "mushrooms":
        return size
    return 0.15 + 0.009 * min(case.rank or 84, 84)


def merged(jobs: Iterable[Job]) -> list[Job]:
    """One job per case that asks for all that any job for it asks, in order of appearance."""
    found: dict[Case, Job] = {}
    for job in jobs:
        known = found.get(job.case, job)
        found[job.case] = Job(
            job.case,
            max(job.runs, known.runs),
            timed=job.timed or known.timed,
            naive=job.naive or known.naive,
        )
    return list(found.values())


def compute(
    jobs: Sequence[Job],
    store: Store,
    *,
    advance: Advance = lambda job, cost, fresh: None,
) -> Found:
    """Do what is left of the jobs.

    Parameters
    ----------
    jobs : sequence of Job
    store : Store
        Has what was finished before, and gets every chunk as it is finished.
    advance : callable
        Told of every piece of work with its cost, and whether it was done just now (True) or need
        not be done (False).

    Returns
    -------
    Found
        Jobs whose data is missing are left out of the entries.

    Raises
    ------
    OSError
        If results cannot be written.
    """
    found = Found()
    settings: dict[str, Setting] = {}
    jobs = merged(jobs)
    for data in dict.fromkeys(job.case.data for job in jobs):
        try:
            settings[data] = Setting.load(data)
            found.sources[data] = settings[data].source
        except DataUnavailableError as error:
            found.missing[data] = str(error)
    for job in jobs:  # before the work, so that the time left is that of the work
        case, data = job.case, job.case.data
        if data in found.missing:
            advance(job, job.cost, False)
            continue
        entry = found.entries[case] = store.load(case, settings[data].source)
        advance(job, run_cost(case) * min(len(entry.accuracies), job.runs), False)
        if job.naive and entry.naive_training is not None:
            advance(job, _NAIVE_COST, False)
    stopped = Event()

    def finish(job: Job) -> None:
        entry, setting = found.entries[job.case], settings[job.case.data]
        try:
            found.entries[job.case] = _finish(job, entry, setting, store, advance, stopped)
        except BaseException:
            stopped.set()  # the other threads need not finish theirs
            raise

    # Large networks in a thread each; small ones would only wait for each other's interpreter.
    possible = [job for job in jobs if job.case in found.entries]
    large = [job for job in possible if job.case.network != "R-GCN"]
    with one_thread():
        map_chunks(lambda start, stop: finish(large[start]), len(large), 1)
        for job in possible:
            if job.case.network == "R-GCN":
                finish(job)
    return found


def _finish(
    job: Job,
    entry: Entry,
    setting: Setting,
    store: Store,
    advance: Advance,
    stopped: Event,
) -> Entry:
    """Compute the runs of a job that are missing."""
    case, source, price = job.case, setting.source, run_cost(job.case)
    while len(entry.accuracies) < job.runs and not stopped.is_set():
        start = len(entry.accuracies)
        runs = range(start, min(start + _chunk(case), job.runs))
        entry = _extended(entry, setting, job, runs, store.settings)
        store.save(case, source, entry)
        advance(job, price * len(runs), True)
    if stopped.is_set():
        return entry
    if job.timed and entry.alone is None:  # its runs are there from another reproduction
        again = measure(setting, case, [0], alone=True, **vars(store.settings))
        entry = replace(entry, alone=again.alone)
        store.save(case, source, entry)
    if job.naive and entry.naive_training is None:
        times = naive_times(setting, case, iterations=store.settings.iterations)
        entry = replace(entry, naive_setup=times.setup, naive_training=times.training)
        store.save(case, source, entry)
        advance(job, _NAIVE_COST, True)
    return replace(entry, accuracies=entry.accuracies[: job.runs])


def _chunk(case: Case) -> int:
    """Runs between two looks at the disk: what a killed reproduction loses at most."""
    return 100 if case.network == "R-GCN" else 16


def _extended(
    entry: Entry, setting: Setting, job: Job, runs: Sequence[int], settings: Settings
) -> Entry:
    """An entry with some more runs; times of the first chunk are kept."""
    new = measure(
        setting,
        job.case,
        runs,
        seed=settings.seed,
        iterations=settings.iterations,
        alone=job.timed and entry.alone is None,
    )
    return replace(
        entry,
        accuracies=entry.accuracies + new.accuracies,
        setup=entry.setup if entry.accuracies else new.setup,
        batch=entry.batch + new.batch,
        alone=entry.alone if entry.alone is not None else new.alone,
    )

"""What has to be computed for a choice of the paper's tables.

>>> jobs = plan(("cars",), runs=5)
>>> len(jobs), sum(job.timed for job in jobs)
(34, 9)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lowrankgcn.experiments.reproduction.grid import MISTYPED, Case, Row, paper_tables
from lowrankgcn.experiments.reproduction.runner import Job, merged

__all__ = ["BASES", "SPLITS", "demonstrations", "other_bases", "other_splits", "plan"]

BASES = 8  # other signs of the eigenvectors that every reduced-order row is computed with ...
_BASIS_RUNS = 20  # ... and runs with each of them
SPLITS = 20  # random training sets of the mushrooms
_SPLIT_RUNS = 5


def other_bases(case: Case) -> tuple[Case, ...]:
    """The same case with other eigenvectors of the same eigenvalues."""
    return tuple(replace(case, basis=k) for k in range(1, BASES + 1))


def other_splits(case: Case) -> tuple[Case, ...]:
    """The same case with other training nodes."""
    return tuple(replace(case, split=k) for k in range(1, SPLITS + 1))


def demonstrations(table: str) -> dict[str, tuple[Case, ...]]:
    """The cases that show an erratum of a table, by its name."""
    if table == "cars":
        return {"labels": (Case("cars-acceptability", "L-GCN", "pseudoinverse", 20),)}
    if table == "mushrooms":
        reduced = Case("mushrooms", "R-GCN", "pseudoinverse", 20)
        return {
            "quadratic": (Case("mushrooms", "GCN", MISTYPED),),
            "training": other_splits(reduced),
        }
    return {}


def plan(names: Sequence[str], runs: int) -> list[Job]:
    """Jobs for some of the tables, every case once, in the order of the tables."""
    return merged(job for name in names for job in _jobs(name, runs))


def _jobs(name: str, runs: int) -> Iterator[Job]:
    rows: tuple[Row, ...] = next(table.rows for table in paper_tables() if table.name == name)
    for row in rows:
        yield Job(row.case, runs, timed=True, naive=row.naive)
    for row in rows:
        if row.case.network == "R-GCN":
            for case in other_bases(row.case):
                yield Job(case, min(runs, _BASIS_RUNS))
    for erratum, cases in demonstrations(name).items():
        for case in cases:
            yield Job(case, min(runs, _SPLIT_RUNS) if erratum == "training" else runs)

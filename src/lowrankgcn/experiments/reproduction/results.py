"""Reproduce tables of the paper: rows with our numbers, the published ones, and verdicts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from lowrankgcn._validation import choice, positive_int
from lowrankgcn.experiments.reproduction import verdict
from lowrankgcn.experiments.reproduction.grid import ERRATA, TABLES, Row, other_bases, paper_rows
from lowrankgcn.experiments.reproduction.runner import Found, Watch, compute, plan
from lowrankgcn.experiments.reproduction.store import Store

__all__ = ["NAMES", "Results", "collect", "reproduce"]

NAMES = (*TABLES, "filters")
"""Names of what can be reproduced; "filters" are figures that need no training."""


@final
@dataclass(frozen=True)
class Results:
    """Results of a reproduction.

    Attributes
    ----------
    tables : dict
        Rows by table; a row maps the columns of ``rows.csv`` to plain values.
    shown : dict
        What the runs demonstrate, by the name of an erratum.
    missing, sources : dict
        Messages about unavailable data by table, and the data that was read by dataset.
    runs, seed : int
    """

    tables: dict[str, list[dict[str, Any]]]
    shown: dict[str, list[str]]
    missing: dict[str, str]
    sources: dict[str, str]
    runs: int
    seed: int

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Rows of all tables."""
        return [row for rows in self.tables.values() for row in rows]

    @property
    def errata(self) -> list[dict[str, Any]]:
        """Number, title and text of all errata, and what the runs show about them."""
        return [
            {key: erratum[key] for key in ("number", "title", "text")}
            | {"shown": self.shown.get(name, [])}
            for name, erratum in ERRATA.items()
        ]


def reproduce(
    names: Sequence[str] = NAMES,
    *,
    runs: int = 100,
    seed: int = 0,
    iterations: int = 1000,
    folder: Path | None = None,
    watch: Watch = lambda text, done, total: None,
    complain: Callable[[str], None] = print,
) -> Results:
    """Reproduce some of the paper's tables.

    Parameters
    ----------
    names : sequence of str
        Some of :data:`NAMES`.
    runs : int
        Trainings per row, each from its own random weights; 100 in the paper.
    seed : int
        Seed of all random numbers.
    iterations : int
        Iterations of every training; 1000 in the paper.
    folder : Path, optional
        Folder of finished results. A reproduction that was killed continues from them. By default
        nothing is kept.
    watch, complain : callable
        Called for every piece of work (see :func:`compute`), and for damaged files in `folder`.

    Returns
    -------
    Results

    Raises
    ------
    ValueError
        If an argument is invalid.
    OSError
        If results cannot be written.

    Examples
    --------
    >>> reproduce(("filters",), runs=1).rows
    []
    """
    for name in names:
        choice(name, "names", NAMES)
    positive_int(seed, "seed", minimum=0)
    positive_int(iterations, "iterations")
    work = plan(names, positive_int(runs, "runs"))
    with tempfile.TemporaryDirectory(prefix="lowrankgcn-") as temporary:
        store = Store(folder or Path(temporary), seed, iterations, complain)
        found = compute(work, store, watch)
    return collect(names, found, runs=runs, seed=seed)


def collect(names: Sequence[str], found: Found, *, runs: int, seed: int) -> Results:
    """Judge the rows of some tables."""
    results = Results({}, {}, {}, found.sources, runs, seed)
    demonstrated = [verdict.check_formulas()]
    for name, table in TABLES.items():
        if name in names and table["data"] in found.missing:
            results.missing[name] = found.missing[table["data"]]
        elif name in names:
            rows = results.tables[name] = [_judge_row(row, found) for row in paper_rows(name)]
            demonstrated.append(verdict.demonstrate(name, rows, found))
    for texts in demonstrated:
        for erratum, text in texts.items():
            results.shown.setdefault(erratum, []).append(text)
    return results


def _judge_row(row: Row, found: Found) -> dict[str, Any]:
    """Return the columns of a row."""
    case, naive, entry = row["case"], row["naive"], found.entries[row["case"]]
    judged = verdict.judge(entry.accuracies, row["accuracy"], row["runs"])
    bases = [case, *other_bases(case)]
    means = [100 * float(np.mean(found.entries[each].accuracies)) for each in bases]
    several = len(means) > 1
    outcome, explained = "agrees", None
    if not judged["agrees"]:
        reasons = [name for name in row["errata"] if verdict.explains(name, row, found, means)]
        explained = ERRATA[reasons[0]]["number"] if reasons else None
        outcome = f"differs, see erratum {explained}" if reasons else "differs"
    return {
        "table": row["table"],
        "network": case.network,
        "filter": case.filter,
        "rank": case.rank,
        "smoother": case.smoother,
        "naive": naive,
        "runs": len(entry.accuracies),
        **judged,
        "verdict": outcome,
        "errata": [ERRATA[name]["number"] for name in row["errata"]],
        "explained_by": explained,
        "signs_low": min(means) if several else None,
        "signs_high": max(means) if several else None,
        "setup_seconds": entry.naive_setup if naive else entry.setup,
        "training_seconds": entry.naive_training if naive else entry.alone,
        "times_extrapolated": naive,
        "exact_setup_seconds": entry.setup,
        "exact_training_seconds": entry.alone,
        "batch_seconds_per_run": entry.batch / len(entry.accuracies),
        "published_setup_seconds": row["setup"],
        "published_training_seconds": row["training"],
        "published_total_seconds": row["total"],
    }

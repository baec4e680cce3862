"""From the names of tables to judged rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from lowrankgcn._validation import choice, positive_int
from lowrankgcn.experiments.reproduction.grid import paper_tables
from lowrankgcn.experiments.reproduction.plan import plan
from lowrankgcn.experiments.reproduction.results import Results, collect
from lowrankgcn.experiments.reproduction.runner import Advance, compute
from lowrankgcn.experiments.reproduction.store import Settings, Store

__all__ = ["TABLES", "reproduce"]

TABLES = (*(table.name for table in paper_tables()), "filters")
"""Names of what can be reproduced; "filters" are figures that need no training."""


def reproduce(
    names: Sequence[str] = TABLES,
    *,
    runs: int = 100,
    seed: int = 0,
    iterations: int = 1000,
    folder: Path | None = None,
    advance: Advance = lambda job, cost, fresh: None,
    complain: Callable[[str], None] = print,
) -> Results:
    """Reproduce some of the paper's tables.

    Parameters
    ----------
    names : sequence of str
        Some of :data:`TABLES`.
    runs : int
        Trainings per row, each from its own random weights; the paper has 100.
    seed : int
        Of everything random.
    iterations : int
        Of every training; the paper has 1000.
    folder : Path, optional
        Where finished pieces are kept. A reproduction that was killed goes on from them, and what
        is finished is not computed again. Nothing is kept without it.
    advance, complain : callable
        Told of every piece of work (see :func:`compute`), and of files in `folder` that are
        damaged.

    Returns
    -------
    Results

    Raises
    ------
    ValueError
        If an argument is not as described.
    OSError
        If results cannot be written.
    """
    for name in names:
        choice(name, "names", TABLES)
    settings = Settings(
        seed=positive_int(seed, "seed", minimum=0),
        iterations=positive_int(iterations, "iterations"),
    )
    wanted = [name for name in TABLES if name in names and name != "filters"]
    jobs = plan(wanted, positive_int(runs, "runs"))
    if folder is not None:
        found = compute(jobs, Store(folder, settings, complain), advance=advance)
    else:
        with tempfile.TemporaryDirectory(prefix="lowrankgcn-") as name:
            found = compute(jobs, Store(Path(name), settings, complain), advance=advance)
    return collect(wanted, found, runs=runs, seed=seed)

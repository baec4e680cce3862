"""Reproduce tables of the paper: rows with our numbers, the published ones, and verdicts.

The paper prints means without their spread. A row agrees if the difference of the two means is no
larger than chance allows, or no larger than two points:

>>> judge([0.90, 0.91, 0.92, 0.93], published=91.6, published_runs=100)["agrees"]
True
>>> judge([0.90, 0.91, 0.92, 0.93], published=60.0, published_runs=100)["agrees"]
False

Every erratum that concerns a row is demonstrated by a run, and explains a difference only if the
numbers of that run do.

A row is a line of a table with its published figures, from ``paper.toml``. Rows with the same
computation share a case:

>>> rows = paper_rows()
>>> len(rows), len({row["case"] for row in rows})
(58, 50)
>>> rows[4]["case"].network, rows[4]["case"].filter, rows[4]["accuracy"]
('L-GCN', 'pseudoinverse', 92.23)
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from lowrankgcn.experiments import training_runs
from lowrankgcn.experiments.statistics import CONFIDENCE, interval, plus_minus, prediction_interval
from lowrankgcn.experiments.training_runs import Case, Entries, Measured, Watch

_ROWS = 58  # in all tables of the paper: at 95 % each, three would differ by chance
# Points. The choice of training nodes, the same for all of the paper's figures, changes an accuracy
# by more.
TOLERANCE = 2.0
# Conventions.
_BASES = 8  # choices of signs for every reduced-order row
_BASIS_RUNS = 20  # runs of every other choice of signs
_SPLIT_RUNS = 5  # runs of every random training set

# What distinguishes the cases of a table.
SETTINGS = ("network", "filter", "rank", "smoother")

Row = dict[str, Any]
_DEFAULTS: Row = {"naive": False, "errata": [], **dict.fromkeys(("setup", "training", *SETTINGS))}

# Contents of ``paper.toml``.
PAPER = tomllib.loads(Path(__file__).with_name("paper.toml").read_text("utf-8"))

# Name, title, description, data and rows of the tables and figures, in the paper's order.
TABLES: dict[str, dict[str, Any]] = {table["name"]: table for table in PAPER["table"]}

# Number, title and text of the errata by name, and how they are demonstrated.
ERRATA: dict[str, dict[str, Any]] = {erratum["name"]: erratum for erratum in PAPER["erratum"]}

# Names of what can be reproduced; "filters" are figures that need no training.
NAMES = (*TABLES, "filters")


def paper_rows(*tables: str) -> list[Row]:
    """Return the rows of some tables, by default of all.

    A row has the keys "table", "case", those of ``SETTINGS``, "naive" (whether the paper multiplied
    with stored n×n matrices), "errata" (names of the errata about it), "accuracy" (the published
    mean of "runs" runs, in per cent) and the published seconds: "setup" and "training", if the
    paper prints them apart, and "total".

    Examples
    --------
    >>> [len(paper_rows(name)) for name in TABLES]
    [8, 11, 11, 20, 8]
    """
    rows = []
    for name, table in TABLES.items():
        for line in table["rows"] if name in (tables or TABLES) else ():
            row: Row = {"table": name, **_DEFAULTS, **line}
            if row["setup"] is not None:
                row["total"] = row["setup"] + row["training"]
            row["case"] = Case(table["data"], *(row[setting] for setting in SETTINGS))
            row["runs"] = 20 if row["naive"] else 100  # section A4.3
            rows.append(row)
    return rows


def other_bases(case: Case) -> list[Case]:
    """Return a reduced-order case with other eigenvectors; they do not change other networks."""
    bases = range(1, _BASES + 1) if case.network == "R-GCN" else ()
    return [case._replace(basis=k) for k in bases]


def demonstrations(table: str) -> dict[str, list[Case]]:
    """Return the cases that demonstrate errata of a table, by erratum."""
    return {
        name: [Case(**erratum["case"], split=split) for split in erratum.get("splits", [0])]
        for name, erratum in ERRATA.items()
        if "case" in erratum and table in erratum["tables"]
    }


def plan(names: Sequence[str], runs: int) -> dict[Case, int]:
    """Return the number of runs of every case of some tables.

    Examples
    --------
    >>> {str(case): runs for case, runs in plan(("cars",), runs=50).items() if not case.rank}
    {'cars: GCN linear': 50, 'cars: GCN quadratic': 50, 'cars: GCN pseudoinverse': 50}
    """
    cases = [row["case"] for row in paper_rows(*names)]
    shown = [case for name in names for more in demonstrations(name).values() for case in more]
    work = dict.fromkeys(cases, runs)  # rows may share a case
    work |= {other: min(runs, _BASIS_RUNS) for case in cases for other in other_bases(case)}
    return work | {case: min(runs, _SPLIT_RUNS) if case.split else runs for case in shown}


class Results(NamedTuple):
    """Results of a reproduction.

    Attributes
    ----------
    rows : list of dict
        Rows of all tables; a row maps the columns of ``rows.csv`` to plain values.
    errata : list of dict
        "number", "title" and "text" of all errata, and "shown": what the runs demonstrate.
    missing, sources : dict
        Messages about unavailable data by table, and the data that was read by dataset.
    runs, seed : int
    """

    rows: list[dict[str, Any]]
    errata: list[dict[str, Any]]
    missing: dict[str, str]
    sources: dict[str, str]
    runs: int
    seed: int

    @property
    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Rows by table."""
        names = dict.fromkeys(row["table"] for row in self.rows)
        return {name: [row for row in self.rows if row["table"] == name] for name in names}


def reproduce(
    names: Sequence[str],
    folder: Path,
    *,
    runs: int = 100,
    seed: int = 0,
    iterations: int = 1000,
    watch: Watch = lambda text, done, total: None,
) -> Results:
    """Reproduce some of the paper's tables.

    Parameters
    ----------
    names : sequence of str
        Some of :data:`NAMES`.
    folder : Path
        Folder of finished results. A reproduction that was killed continues from them.
    runs : int
        Trainings per row, each from its own random weights; 100 in the paper.
    seed : int
        Seed of all random numbers.
    iterations : int
        Iterations of every training; 1000 in the paper.
    watch : callable
        Called for every piece of work, see :func:`training_runs.compute`.

    Returns
    -------
    Results

    Raises
    ------
    OSError
        If results cannot be written.
    """
    store = training_runs.Store(folder, seed, iterations)
    measured = training_runs.compute(plan(names, runs), store, watch)
    return collect(names, measured, runs=runs, seed=seed)


def collect(names: Sequence[str], measured: Measured, *, runs: int, seed: int) -> Results:
    """Judge the rows of some tables."""
    entries, tables, missing = measured.entries, dict[str, list[Row]](), {}
    for name, table in TABLES.items():
        if name in names and table["data"] in measured.missing:
            missing[name] = measured.missing[table["data"]]
        elif name in names:
            tables[name] = [_judge_row(row, entries) for row in paper_rows(name)]
    errata = []
    for erratum in ERRATA.values():
        present = [name for name in erratum["tables"] if name in tables]
        shown = [_demonstrate(erratum, name, tables[name], entries) for name in present]
        if not erratum["tables"]:
            shown = [erratum["shown"]]
        errata.append({key: erratum[key] for key in ("number", "title", "text")} | {"shown": shown})
    rows = [row for table in tables.values() for row in table]
    return Results(rows, errata, missing, measured.sources, runs, seed)


def _judge_row(row: Row, entries: Entries) -> dict[str, Any]:
    """Return the columns of a row."""
    entry = entries[row["case"]]
    judged = judge(entry.accuracies, row["accuracy"], row["runs"])
    bases = [row["case"], *other_bases(row["case"])]
    means = [100 * float(np.mean(entries[case].accuracies)) for case in bases]
    reasons = [name for name in row["errata"] if _explains(name, row, entries, means)]
    explained = ERRATA[reasons[0]]["number"] if reasons and not judged["agrees"] else None
    differs = "differs" if explained is None else f"differs, see erratum {explained}"
    return {
        **{name: row[name] for name in ("table", *SETTINGS, "naive")},
        "runs": len(entry.accuracies),
        **judged,
        "verdict": "agrees" if judged["agrees"] else differs,
        "errata": [ERRATA[name]["number"] for name in row["errata"]],
        "explained_by": explained,
        "signs_low": min(means) if len(means) > 1 else None,
        "signs_high": max(means) if len(means) > 1 else None,
        "setup_seconds": entry.setup,
        "training_seconds": entry.alone,
        "batch_seconds_per_run": entry.per_run,
        **{f"published_{step}_seconds": row[step] for step in ("setup", "training", "total")},
    }


def judge(accuracies: Sequence[float], published: float, published_runs: int) -> dict[str, Any]:
    r"""Compare the mean of our runs with a published mean.

    Let s be the standard deviation of our n runs, assumed to hold for the N published runs too. The
    difference of the means is within chance if it is no larger than

    .. math:: t_{n-1}\, s \sqrt{1/n + 1/N}

    with the quantile t for which all 58 rows of the paper stay within it in 95 of 100 reproductions
    if only the random starts differ (Bonferroni).

    Parameters
    ----------
    accuracies : sequence of float
        Accuracy of each run, 0 to 1.
    published : float
        Per cent.
    published_runs : int
        Number of runs behind the published mean.

    Returns
    -------
    dict
        In per cent: "accuracy", the mean of the runs, with "interval", half the width of its 95 %
        interval, and "deviation", the standard deviation of the runs; "difference", ours minus the
        published mean, and "chance", the largest difference that random starts explain. "interval"
        and "chance" are None for a single run. "beyond_chance" and "agrees" are the verdict.
    """
    values = 100 * np.asarray(accuracies)
    mean, half_width = interval(values)
    difference, n = mean - published, values.size
    deviation, chance = 0.0, None
    if n > 1:
        deviation = float(values.std(ddof=1))
        quantile = stats.t.ppf(1 - (1 - CONFIDENCE) / _ROWS / 2, n - 1)
        chance = float(quantile * deviation * np.sqrt(1 / n + 1 / published_runs))
    return {
        "accuracy": mean,
        "interval": None if chance is None else half_width,
        "deviation": deviation,
        "published_accuracy": published,
        "published_runs": published_runs,
        "difference": difference,
        "chance": chance,
        "beyond_chance": chance is not None and abs(difference) > chance,
        "agrees": abs(difference) <= max(TOLERANCE, chance or 0.0),
    }


def _explains(name: str, row: Row, entries: Entries, sign_means: Sequence[float]) -> bool:
    """Return whether the run that demonstrates an erratum explains a row's published accuracy.

    `sign_means` are mean accuracies, in per cent, with other signs of the eigenvectors.
    """
    erratum = ERRATA[name]
    if name in ("signs", "spiral-reduced"):
        low, high = prediction_interval(sign_means)
        # "spiral-reduced" claims that no signs give the published accuracy.
        return bool(low <= row["accuracy"] <= high) == (name == "signs")
    case = Case(**erratum["case"]) if "case" in erratum else row["case"]
    published = (row | erratum)["accuracy"]
    agrees = judge(entries[case].accuracies, published, row["runs"])["agrees"]
    return bool(agrees and erratum.get("explains"))


def _demonstrate(erratum: Row, table: str, rows: Sequence[Row], entries: Entries) -> str:
    """Return what the runs of a table demonstrate."""
    reduced = [row for row in rows if row["network"] == "R-GCN"]
    ranges = "; ".join(PAPER["page"]["signs"].format(**row) for row in reduced)
    values: dict[str, Any] = {"data": table, "ranges": ranges}
    if "row" in erratum:
        wanted = erratum["row"] | {"naive": False}
        (row,) = (row for row in rows if wanted.items() <= row.items())
        values |= row | {"ours": plus_minus(row["accuracy"], row["interval"])}
    if "case" in erratum:
        cases = demonstrations(table)[erratum["name"]]
        accuracies = 100 * np.array([entries[case].accuracies for case in cases])
        values["other"] = plus_minus(*interval(accuracies[0]))
        values["means"] = pd.Series(accuracies.mean(axis=1)).describe()
    if erratum["name"] == "rank":
        X = training_runs.load_setting(table).X
        values |= {"rank": np.linalg.matrix_rank(X.T @ X, hermitian=True), "hyperedges": X.shape[1]}
    text: str = erratum["shown"].format(**values)
    return text

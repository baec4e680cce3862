"""Rows with their verdicts: what the terminal, the page, JSON and CSV all show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from lowrankgcn.experiments.reproduction.checks import checked_formulas, table_rank
from lowrankgcn.experiments.reproduction.errata import ERRATA
from lowrankgcn.experiments.reproduction.grid import Case, Row, Table, paper_tables
from lowrankgcn.experiments.reproduction.plan import demonstrations, other_bases
from lowrankgcn.experiments.reproduction.runner import Found
from lowrankgcn.experiments.reproduction.store import Entry
from lowrankgcn.experiments.reproduction.verdict import (
    Spread,
    Verdict,
    interval,
    judge,
    spread,
)

__all__ = ["Demonstration", "Results", "RowResult", "accuracy_text", "collect"]

_L_GCN_20 = 91.72  # Table 2, to be compared with the figure of ranks


@final
@dataclass(frozen=True)
class RowResult:
    """A row, what was computed for it, and how the two compare.

    ``signs`` is the range over other signs of the eigenvectors, for reduced-order networks;
    ``explained`` the erratum that accounts for a difference, None if there is no difference or no
    erratum does.
    """

    row: Row
    entry: Entry
    verdict: Verdict
    signs: Spread | None
    explained: str | None

    @property
    def outcome(self) -> str:
        """The verdict in a word or two."""
        if self.verdict.agrees:
            return "agrees"
        if self.explained is None:
            return "differs"
        return f"differs, see erratum {ERRATA[self.explained].number}"

    @property
    def setup(self) -> float:
        """Seconds of set-up in the row's way."""
        naive = self.entry.naive_setup
        return naive if self.row.naive and naive is not None else self.entry.setup

    @property
    def training(self) -> float:
        """Seconds of training one run in the row's way."""
        naive, alone = self.entry.naive_training, self.entry.alone
        if self.row.naive and naive is not None:
            return naive
        return alone if alone is not None else self.entry.batch / len(self.entry.accuracies)

    def numbers(self) -> dict[str, Any]:
        """Plain values for JSON and CSV."""
        case, published, verdict = self.row.case, self.row.published, self.verdict
        return {
            "table": self.row.table,
            "network": case.network,
            "filter": case.filter,
            "rank": case.rank,
            "smoother": case.smoother,
            "naive": self.row.naive,
            "runs": len(self.entry.accuracies),
            "accuracy": verdict.mean,
            "interval": verdict.half_width,
            "deviation": verdict.deviation,
            "published_accuracy": published.accuracy,
            "published_runs": published.runs,
            "difference": verdict.difference,
            "chance": verdict.chance,
            "beyond_chance": verdict.beyond_chance,
            "agrees": verdict.agrees,
            "verdict": self.outcome,
            "errata": [ERRATA[name].number for name in self.row.errata],
            "explained_by": None if self.explained is None else ERRATA[self.explained].number,
            "signs_low": None if self.signs is None else self.signs.lowest,
            "signs_high": None if self.signs is None else self.signs.highest,
            "setup_seconds": self.setup,
            "training_seconds": self.training,
            "times_extrapolated": self.row.naive,
            "exact_setup_seconds": self.entry.setup,
            "exact_training_seconds": self.entry.alone,
            "batch_seconds_per_run": self.entry.batch / len(self.entry.accuracies),
            "published_setup_seconds": published.setup,
            "published_training_seconds": published.training,
            "published_total_seconds": published.seconds,
        }


@final
@dataclass(frozen=True)
class Demonstration:
    """An erratum shown by a run: what was run, and what came out."""

    erratum: str
    text: str


@final
@dataclass(frozen=True)
class Results:
    """Everything that was reproduced.

    ``tables`` has the results by table; ``missing`` the messages about data not to be had, by
    table; ``sources`` what was read, by dataset.
    """

    tables: dict[str, tuple[RowResult, ...]]
    demonstrations: tuple[Demonstration, ...]
    missing: dict[str, str]
    sources: dict[str, str]
    runs: int
    seed: int

    @property
    def rows(self) -> tuple[RowResult, ...]:
        """The rows of all tables."""
        return tuple(result for table in self.tables.values() for result in table)

    def count(self, *, agrees: bool) -> int:
        """Rows that agree, or those that differ."""
        return sum(result.verdict.agrees == agrees for result in self.rows)

    @property
    def unexplained(self) -> tuple[RowResult, ...]:
        """Rows that differ and have no erratum to explain it."""
        return tuple(r for r in self.rows if not r.verdict.agrees and r.explained is None)


def collect(names: Sequence[str], found: Found, *, runs: int, seed: int) -> Results:
    """Judge every row of some tables whose case was computed."""
    tables = {table.name: table for table in paper_tables() if table.name in names}
    judged, missing = {}, {}
    for name, table in tables.items():
        data = table.rows[0].case.data
        if data in found.missing:
            missing[name] = found.missing[data]
        else:
            judged[name] = tuple(_judged(row, found) for row in table.rows)
    shown = [d for name in judged for d in _shown(tables[name], judged[name], found)]
    shown += [Demonstration(name, text) for name, text in checked_formulas().items()]
    shown.sort(key=lambda d: ERRATA[d.erratum].number)
    return Results(judged, tuple(shown), missing, dict(found.sources), runs, seed)


def _judged(row: Row, found: Found) -> RowResult:
    entry = found.entries[row.case]
    verdict = judge(entry.accuracies, row.published.accuracy, row.published.runs)
    signs = None
    if row.case.network == "R-GCN":
        signs = spread([_mean(found, case) for case in (row.case, *other_bases(row.case))])
    explained = None
    if not verdict.agrees:
        candidates = (name for name in row.errata if _explains(name, row, found, signs))
        explained = next(candidates, None)
    return RowResult(row, entry, verdict, signs, explained)


def _mean(found: Found, case: Case) -> float:
    accuracies = found.entries[case].accuracies
    return sum(accuracies) / len(accuracies)


def _explains(name: str, row: Row, found: Found, signs: Spread | None) -> bool:
    """Whether the run that shows an erratum accounts for the published figure of a row."""
    published = row.published
    if name == "signs":
        return signs is not None and signs.covers(published.accuracy)
    if name == "spiral-reduced":  # it says that no signs bring the published figure about
        return signs is not None and not signs.covers(published.accuracy)
    if name == "quadratic":
        (case,) = demonstrations("mushrooms")["quadratic"]
        mistyped = found.entries[case].accuracies
        return judge(mistyped, published.accuracy, published.runs).agrees
    if name == "digits":
        return judge(found.entries[row.case].accuracies, _L_GCN_20, published.runs).agrees
    # The others are no excuse: the published labels are used here, and ranks that are not there
    # change nothing that these tables show.
    return False


def _shown(table: Table, rows: Sequence[RowResult], found: Found) -> list[Demonstration]:
    """The errata of a table, each with its run in a sentence."""
    cases = demonstrations(table.name)
    if table.name == "spiral":
        return [Demonstration("spiral-reduced", f"Other signs give {_ranges(rows)}.")]
    if table.name == "cars":
        prices = _find(rows, "L-GCN", "pseudoinverse")
        real = found.entries[cases["labels"][0]].accuracies
        text = (
            f"L-GCN with the pseudoinverse and the paper's twenty nodes: {accuracy_text(real)} "
            f"with the real classes, {accuracy_text(prices.entry.accuracies)} with the buying "
            f"prices, published {prices.row.published.accuracy:.2f} %."
        )
        return [Demonstration("labels", text), _of_rank("cars")]
    if table.name == "mushrooms":
        mistyped = found.entries[cases["quadratic"][0]].accuracies
        stated = _find(rows, "GCN", "quadratic")
        means = [_mean(found, case) for case in cases["training"]]
        filters = (
            f"1 − 2λ − λ²: {accuracy_text(mistyped)}; "
            f"(1 − λ)²: {accuracy_text(stated.entry.accuracies)}; "
            f"published {stated.row.published.accuracy:.2f} %."
        )
        sets = (
            f"R-GCN with the pseudoinverse over {len(means)} random training sets of ten nodes per "
            f"class: {100 * min(means):.1f} to {100 * max(means):.1f} %, standard deviation "
            f"{interval(means)[1]:.1f} points."
        )
        return [
            _of_rank("mushrooms"),
            Demonstration("quadratic", filters),
            Demonstration("signs", f"Other signs give {_ranges(rows)}."),
            Demonstration("training", sets),
        ]
    if table.name == "ranks":
        row = next(r for r in rows if "digits" in r.row.errata)
        text = f"L-GCN of rank 20: {accuracy_text(row.entry.accuracies)}."
        return [Demonstration("digits", text)]
    return []


def _find(rows: Sequence[RowResult], network: str, filter: str) -> RowResult:
    wanted = (network, filter)
    return next(r for r in rows if (r.row.case.network, r.row.case.filter) == wanted)


def _ranges(rows: Sequence[RowResult]) -> str:
    """Accuracies of the reduced-order rows over the signs tried, beside the published ones."""
    return "; ".join(
        f"{r.row.case.filter} {r.signs.lowest:.1f} to {r.signs.highest:.1f} %, published "
        f"{r.row.published.accuracy:.2f} %"
        for r in rows
        if r.signs is not None
    )


def _of_rank(data: str) -> Demonstration:
    rank, hyperedges = table_rank(data)
    return Demonstration("rank", f"The {data} have rank {rank} with {hyperedges} hyperedges.")


def accuracy_text(accuracies: Sequence[float]) -> str:
    """A mean with its interval.

    Examples
    --------
    >>> accuracy_text([0.9, 0.92])
    '91.00 ± 12.71 %'
    """
    mean, _, half = interval(accuracies)
    return f"{mean:.2f} %" if half is None else f"{mean:.2f} ± {half:.2f} %"

"""Cells and sentences that the terminal, the page and Markdown share.

>>> seconds_text(0.0123), seconds_text(3.456), seconds_text(1372.0)
('12 ms', '3.46 s', '1372 s')
"""

from __future__ import annotations

from lowrankgcn.experiments.reproduction.errata import ERRATA
from lowrankgcn.experiments.reproduction.grid import Published
from lowrankgcn.experiments.reproduction.results import Results, RowResult
from lowrankgcn.experiments.reproduction.verdict import TOLERANCE

__all__ = [
    "HEADER",
    "HOW",
    "NUMERIC",
    "SHORT_HEADER",
    "cells",
    "outcome",
    "seconds_text",
    "short_cells",
    "summary",
]

HEADER = (
    "row",
    "accuracy, %",
    "published",
    "difference",
    "set-up",
    "training",
    "published time",
    "verdict",
)
_FEW = 20  # runs
NUMERIC = (1, 2, 3, 4, 5, 6)
SHORT_HEADER = ("row", "accuracy, %", "published", "time", "published", "verdict")

HOW = (
    "Accuracy: mean of the runs with its 95 % interval, on the nodes without a label. Verdict: a "
    "row agrees if the difference is no larger than chance allows (the paper prints no spread, so "
    "its runs are taken to scatter as ours do; the limit is such that in 95 of 100 reproductions "
    f"chance alone makes no row differ) or than {TOLERANCE:g} points; * marks a difference beyond "
    "chance, however small. Times: set-up, and the training of one run by itself with one "
    "thread; ≈ is the naive way with stored n×n matrices, scaled up from a few measured "
    "iterations. The accuracy of those rows is computed by the exact algebra, which gives the same "
    "numbers."
)


def seconds_text(seconds: float) -> str:
    """Milliseconds below a second, whole seconds above a hundred."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.0005 else "< 1 ms"
    return f"{seconds:.2f} s" if seconds < 99.5 else f"{seconds:.0f} s"


def _published_time(published: Published) -> str:
    if published.total is not None:
        return seconds_text(published.total)
    setup = published.setup or 0.0
    first = "< 10 ms" if setup <= 0.01 else seconds_text(setup)
    return f"{first} + {seconds_text(published.training or 0.0)}"


def cells(result: RowResult) -> tuple[str, ...]:
    """One row of a table, in the order of the header."""
    verdict, about = result.verdict, "≈ " if result.row.naive else ""
    spread = "" if verdict.half_width is None else f" ± {verdict.half_width:.2f}"
    return (
        result.row.label,
        f"{verdict.mean:.2f}{spread}",
        f"{result.row.published.accuracy:.2f}",
        f"{verdict.difference:+.2f}{'*' if verdict.beyond_chance else ''}".replace("-", "−"),
        about + seconds_text(result.setup),
        about + seconds_text(result.training),
        _published_time(result.row.published),
        outcome(result),
    )


def short_cells(result: RowResult) -> tuple[str, ...]:
    """The same for narrow terminals: times as sums, no difference, the erratum by its number."""
    name, accuracy, published, *_ = cells(result)
    about = "≈ " if result.row.naive else ""
    total = about + seconds_text(result.setup + result.training)
    verdict = "agrees" if result.verdict.agrees else "differs"
    if result.explained is not None:
        verdict = f"erratum {ERRATA[result.explained].number}"
    return name, accuracy, published, total, seconds_text(result.row.published.seconds), verdict


def outcome(result: RowResult) -> str:
    """The verdict, with the range over other signs where it matters."""
    if result.verdict.agrees or result.signs is None:
        return result.outcome
    return f"{result.outcome} (signs: {result.signs.lowest:.1f} to {result.signs.highest:.1f})"


def summary(results: Results) -> str:
    """How many rows agree, in a sentence."""
    n, agree = len(results.rows), results.count(agrees=True)
    if not n:
        return "No rows were computed."
    unexplained = len(results.unexplained)
    explained = n - agree - unexplained
    numbers = sorted({ERRATA[r.explained].number for r in results.rows if r.explained is not None})
    chance = sum(r.verdict.agrees and not r.verdict.beyond_chance for r in results.rows)
    parts = [
        f"{agree} of {n} rows agree with the published figure, {chance} of them within chance and "
        f"{agree - chance} within {TOLERANCE:g} points"
    ]
    if explained:
        named = ", ".join(map(str, numbers))
        parts.append(f"{explained} differ and have their erratum (number {named})")
    if unexplained:
        parts.append(f"{unexplained} differ without one")
    few = (
        " So few runs tell little apart: their spread is hardly known, and where starts seldom "
        "succeed, as with the quadratic filter, a mean is mostly luck."
        if results.runs < _FEW
        else ""
    )
    return f"{'; '.join(parts)}. {results.runs} runs, seed {results.seed}.{few}"

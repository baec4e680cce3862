"""The comparison for people: cells of a table, remarks below it, and the whole as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator

from lowrankgcn.experiments.comparison.methods import METHODS
from lowrankgcn.experiments.comparison.running import Comparison
from lowrankgcn.experiments.comparison.summary import Row, summarise
from lowrankgcn.report.text import count as thousands
from lowrankgcn.report.text import duration

__all__ = ["HEADER", "as_markdown", "best", "cells", "heading", "remarks", "subtitle"]

HEADER = ("method", "accuracy in %", "difference", "mean rank", "time")
_TITLES = {method.key: method.title for method in METHODS}


def heading(comparison: Comparison) -> str:
    """What was compared on."""
    task = comparison.task
    known = int((task.classes >= 0).sum())
    return (
        f"{task.name}: {thousands(known)} rows of {len(task.class_names)} classes, "
        f"{task.rows.shape[1]} columns; {comparison.splits} random splits, seed {comparison.seed}"
        + (", rows in the order of the table" if comparison.in_order else "")
    )


def subtitle(comparison: Comparison, count: int) -> str:
    """Labels of one table, and the classes that have fewer."""
    text = f"{count} {'label' if count == 1 else 'labels'} per class"
    short = comparison.short_classes(count)
    fewer = ", ".join(f"{name} {given}" for name, given in short.items())
    return f"{text} (half of the rows of small classes: {fewer})" if fewer else text


def cells(row: Row, splits: int) -> tuple[str, ...]:
    """A row of the table."""
    title = row.title + (f" (failed on {row.failed} of {splits})" if row.failed else "")
    if row.failed == splits:
        return (title, "–", "–", f"{row.rank:.2f}", "–")
    return (
        title,
        _plus_minus(f"{100 * row.accuracy:.1f}", row.half_width),
        "–"
        if math.isnan(row.difference)
        else _plus_minus(f"{100 * row.difference:+.1f}", row.difference_half_width),
        f"{row.rank:.2f}",
        duration(row.processor_seconds),
    )


def best(rows: tuple[Row, ...]) -> Row | None:
    """The row of highest accuracy, the first of equal ones; None if all failed."""
    right = [row for row in rows if not math.isnan(row.accuracy)]
    return max(right, key=lambda row: row.accuracy, default=None)


def remarks(comparison: Comparison) -> Iterator[str]:
    """What the tables do not say: notes, skipped methods, the first failure, first warnings."""
    yield from comparison.task.notes
    for key, reason in comparison.skipped.items():
        yield f"{_TITLES.get(key, key)} skipped: {reason}"
    fits = comparison.splits * len(comparison.counts)
    for method in comparison.methods:
        failed = [failure for failure in comparison.failures if failure.method == method.key]
        if failed:
            yield f"{method.title} failed in {len(failed)} of {fits} fits: {failed[0].reason}"
        for category, warned in sorted(comparison.warnings.get(method.key, {}).items()):
            said = f"{category}: {warned.text}"
            yield f"{method.title} warned in {warned.fits} of {fits} fits: {said}"


def as_markdown(comparison: Comparison) -> str:
    """All tables in Markdown, with remarks below."""
    lines = [f"{heading(comparison)}.", ""]
    for count, rows in summarise(comparison).items():
        winner = best(rows)
        lines += [f"**{subtitle(comparison, count)}**", "", _line(HEADER)]
        lines.append(_line(["---", *["--:"] * (len(HEADER) - 1)]))
        for row in rows:
            name, accuracy, *others = cells(row, comparison.splits)
            lines.append(_line([name, f"**{accuracy}**" if row is winner else accuracy, *others]))
        lines.append("")
    lines += [f"- {text}" for text in remarks(comparison)]
    return "\n".join(lines).rstrip() + "\n"


def _plus_minus(mean: str, half_width: float) -> str:
    return mean if math.isnan(half_width) else f"{mean} ± {100 * half_width:.1f}"


def _line(texts: list[str] | tuple[str, ...]) -> str:
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"

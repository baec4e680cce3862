"""Text of a comparison: table cells, remarks, and the whole as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from lowrankgcn._format import count as thousands
from lowrankgcn._format import duration
from lowrankgcn.experiments.comparison.methods import METHODS
from lowrankgcn.experiments.comparison.runner import Comparison
from lowrankgcn.experiments.comparison.summary import SummaryRow, summarise

__all__ = ["HEADER", "as_markdown", "best", "cells", "heading", "remarks", "subtitle"]

HEADER = ("method", "accuracy in %", "difference", "mean rank", "time")


def heading(comparison: Comparison) -> str:
    """Describe the table and the splits."""
    task = comparison.task
    return (
        f"{task.name}: {thousands(sum(task.class_sizes.values()))} rows of "
        f"{len(task.class_names)} classes, {task.rows.shape[1]} columns; {comparison.splits} "
        f"random splits, seed {comparison.seed}"
        + (", rows in the order of the table" if comparison.in_order else "")
    )


def subtitle(comparison: Comparison, count: int) -> str:
    """Describe the number of labels, and the classes that have fewer."""
    text = f"{count} {'label' if count == 1 else 'labels'} per class"
    short = comparison.short_classes(count)
    fewer = ", ".join(f"{name} {given}" for name, given in short.items())
    return f"{text} (half of the rows of small classes: {fewer})" if fewer else text


def cells(row: SummaryRow, splits: int) -> tuple[str, ...]:
    """Return the cells of a row."""
    title = row.title + (f" (failed on {row.failed} of {splits})" if row.failed else "")
    if row.failed == splits:
        return (title, "–", "–", f"{row.rank:.2f}", "–")
    difference = "–"
    if not math.isnan(row.difference):
        difference = _plus_minus(f"{100 * row.difference:+.1f}", row.difference_half_width)
    return (
        title,
        _plus_minus(f"{100 * row.accuracy:.1f}", row.half_width),
        difference,
        f"{row.rank:.2f}",
        duration(row.processor_seconds),
    )


def best(rows: tuple[SummaryRow, ...]) -> SummaryRow | None:
    """Return the first row of highest accuracy; None if all methods failed."""
    succeeded = [row for row in rows if not math.isnan(row.accuracy)]
    return max(succeeded, key=lambda row: row.accuracy, default=None)


def remarks(comparison: Comparison) -> Iterator[str]:
    """Yield notes, skipped methods, and the first failure and warnings of each method."""
    yield from comparison.task.notes
    titles = {method.key: method.title for method in METHODS}
    for key, reason in comparison.skipped.items():
        yield f"{titles.get(key, key)} skipped: {reason}"
    fits = comparison.splits * len(comparison.counts)
    for method in comparison.methods:
        failed = [f["reason"] for f in comparison.failures if f["method"] == method.key]
        if failed:
            yield f"{method.title} failed in {len(failed)} of {fits} fits: {failed[0]}"
        for category, warned in sorted(comparison.warnings.get(method.key, {}).items()):
            message = f"{category}: {warned['text']}"
            yield f"{method.title} warned in {warned['fits']} of {fits} fits: {message}"


def as_markdown(comparison: Comparison) -> str:
    """Return all tables in Markdown, with remarks below."""
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


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"

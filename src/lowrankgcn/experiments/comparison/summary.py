"""Summarise a comparison: one row per method and number of labels, as JSON and Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from lowrankgcn._format import count as thousands
from lowrankgcn._format import duration, plural
from lowrankgcn.experiments.comparison.methods import METHODS, REFERENCE
from lowrankgcn.experiments.comparison.runner import Comparison
from lowrankgcn.experiments.statistics import interval, markdown_table, plus_minus
from lowrankgcn.report.classification import without_nan

__all__ = ["HEADER", "NUMERIC", "as_document", "as_markdown", "cells", "heading", "remarks"]
__all__ += ["subtitle", "summarise", "winner"]

HEADER = ("method", "accuracy in %", "difference", "mean rank", "time")
NUMERIC = range(1, 5)

Row = dict[str, Any]


def summarise(comparison: Comparison) -> dict[int, list[Row]]:
    """Return the rows for each number of labels, in the order of the methods.

    Columns of a row:

    method, title : str
    accuracy, half_width : float
        Mean accuracy over splits, and half the width of its 95 % interval.
    difference, difference_half_width : float
        The same for the difference to ``GCNClassifier`` on the same split; NaN without it.
    rank : float
        Mean rank among the methods over splits, 1 for the best. Ties share their mean rank.
    seconds, processor_seconds : float
        Median of fit and prediction together.
    failed : int
        Failed splits; they rank last and are not part of the means.
    """
    tables: dict[int, list[Row]] = {}
    for count, fits in comparison.fits.groupby("labels_per_class"):
        accuracies = fits.pivot(index="split", columns="method", values="accuracy")
        ranks = accuracies.rank(axis=1, ascending=False, na_option="bottom").mean()
        times = fits.groupby("method")[["seconds", "processor_seconds"]].median()
        tables[count] = []
        for method in comparison.methods:
            values = accuracies[method.key]
            paired = REFERENCE.key in accuracies and method.key != REFERENCE.key
            accuracy, half_width = interval(values)
            difference, reach = interval(values - accuracies[REFERENCE.key] if paired else [])
            row = {
                "method": method.key,
                "title": method.title,
                "accuracy": accuracy,
                "half_width": half_width,
                "difference": difference,
                "difference_half_width": reach,
                "rank": float(ranks[method.key]),
                **times.loc[method.key].to_dict(),
                "failed": int(values.isna().sum()),
            }
            tables[count].append(row)
    return tables


def as_document(comparison: Comparison) -> dict[str, Any]:
    """Return everything as plain values for JSON; NaN becomes None."""
    task = comparison.task
    return {
        "dataset": task.name,
        "rows": task.n_rows,
        "columns": task.rows.shape[1],
        "classes": task.class_sizes,
        "notes": list(task.notes),
        "seed": comparison.seed,
        "splits": comparison.splits,
        "in_order": comparison.in_order,
        "methods": {method.key: method.settings for method in comparison.methods},
        "skipped": comparison.skipped,
        "results": [
            {
                "labels_per_class": count,
                "fewer_labels": comparison.short_classes(count),
                "methods": [without_nan(row) for row in rows],
            }
            for count, rows in summarise(comparison).items()
        ],
        "failures": comparison.failures,
        "warnings": comparison.warnings,
    }


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
    text = f"{plural(count, 'label')} per class"
    short = comparison.short_classes(count)
    fewer = ", ".join(f"{name} {given}" for name, given in short.items())
    return f"{text} (half of the rows of small classes: {fewer})" if fewer else text


def cells(row: Row, splits: int) -> list[str]:
    """Return the cells of a row, in the order of ``HEADER``."""
    title, rank = row["title"], f"{row['rank']:.2f}"
    if row["failed"]:
        title += f" (failed on {row['failed']} of {splits})"
    if row["failed"] == splits:
        return [title, "–", "–", rank, "–"]
    difference = "–"
    if not math.isnan(row["difference"]):
        difference = plus_minus(100 * row["difference"], 100 * row["difference_half_width"], "+.1f")
    accuracy = plus_minus(100 * row["accuracy"], 100 * row["half_width"], ".1f")
    return [title, accuracy, difference, rank, duration(row["processor_seconds"])]


def winner(rows: Sequence[Row]) -> Row | None:
    """Return the first row of highest accuracy; None if all methods failed."""
    succeeded = [row for row in rows if not math.isnan(row["accuracy"])]
    return max(succeeded, key=lambda row: row["accuracy"], default=None)


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
    parts = [f"{heading(comparison)}."]
    for count, rows in summarise(comparison).items():
        texts = [cells(row, comparison.splits) for row in rows]
        for row, line in zip(rows, texts, strict=True):
            if row is winner(rows):
                line[1] = f"**{line[1]}**"
        parts += [f"**{subtitle(comparison, count)}**", markdown_table(HEADER, texts, NUMERIC)]
    parts.append("\n".join(f"- {text}" for text in remarks(comparison)))
    return "\n\n".join(parts).rstrip() + "\n"

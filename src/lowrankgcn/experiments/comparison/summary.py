"""Summarise a comparison: one row per method and number of labels, as JSON and Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from lowrankgcn._format import count as thousands
from lowrankgcn._format import duration, percent, plural, shorten
from lowrankgcn.experiments.comparison.methods import METHODS, REFERENCE
from lowrankgcn.experiments.comparison.splits import SCORES, Comparison
from lowrankgcn.experiments.statistics import (
    interval,
    markdown_table,
    plus_minus,
    without_nan,
)

HEADER = ("method", "accuracy %", "difference", "balanced %", "log-loss", "time")
NUMERIC = range(1, 6)
_FORMS = {"accuracy": (100, ".1f"), "difference": (100, "+.1f")}
_FORMS |= {"balanced_accuracy": (100, ".1f"), "log_loss": (1, ".2f")}

Row = dict[str, Any]


def summarise(comparison: Comparison) -> dict[int, list[Row]]:
    """Return the rows for each number of labels, in the order of the methods.

    Columns of a row:

    method, title : str
    accuracy, balanced_accuracy, log_loss : float
        Means over splits. The balanced accuracy is the mean over classes of the accuracy on their
        rows. The log-loss is NaN for a method without probabilities.
    difference : float
        Mean difference of accuracy to the reference on the same split; NaN without it.
    accuracy_half_width, ..., difference_half_width : float
        Half the widths of their 95 % intervals.
    seconds, processor_seconds : float
        Median of fit and prediction together.
    failed : int
        Failed splits; they are not part of the means.
    """
    tables: dict[int, list[Row]] = {}
    for count, fits in comparison.fits.groupby("labels_per_class"):
        scores = fits.pivot(index="split", columns="method", values=list(SCORES))
        times = fits.groupby("method")[["seconds", "processor_seconds"]].median()
        tables[count] = []
        for method in comparison.methods:
            values = {name: scores[name, method.key] for name in SCORES}
            paired = (SCORES[0], REFERENCE.key) in scores and method.key != REFERENCE.key
            reference = scores[SCORES[0], REFERENCE.key] if paired else math.nan
            values["difference"] = values["accuracy"] - reference
            row: Row = {"method": method.key, "title": method.title}
            for name, measured in values.items():
                row[name], row[f"{name}_half_width"] = interval(measured)
            row |= times.loc[method.key].to_dict()
            row["failed"] = int(values["accuracy"].isna().sum())
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
        "verdict": verdict(comparison),
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
    fewer = ", ".join(f"{shorten(name, 60)} {labels}" for name, labels in short.items())
    return f"{text} (half of the rows of small classes: {fewer})" if fewer else text


def cells(row: Row, splits: int) -> list[str]:
    """Return the cells of a row, in the order of ``HEADER``."""
    title = row["title"]
    if row["failed"]:
        title += f" (failed on {row['failed']} of {splits})"
    if row["failed"] == splits:
        return [title, *["–"] * len(NUMERIC)]
    texts = []
    for name, (scale, form) in _FORMS.items():
        mean, half_width = scale * row[name], scale * row[f"{name}_half_width"]
        texts.append("–" if math.isnan(mean) else plus_minus(mean, half_width, form))
    return [title, *texts, duration(row["processor_seconds"])]


def winner(rows: Sequence[Row]) -> Row | None:
    """Return the first row of highest accuracy; None if all methods failed."""
    succeeded = [row for row in rows if not math.isnan(row["accuracy"])]
    return max(succeeded, key=lambda row: row["accuracy"], default=None)


def verdict(comparison: Comparison) -> str:
    """Return in one sentence which method is best, and whether its lead exceeds chance.

    Accuracies are means over the numbers of labels in each split, so that splits are independent
    draws. Methods with failures do not take part.
    """
    failed = {failure["method"] for failure in comparison.failures}
    titles = {m.key: m.title for m in comparison.methods if m.key not in failed}
    accuracies = (
        comparison.fits.groupby(["split", "method"])["accuracy"].mean().unstack()[[*titles]]
    )
    if len(titles) < 2:
        return "There is no verdict: fewer than two methods ran without failures."
    means = accuracies.mean().sort_values(ascending=False, kind="stable")
    best = means.index[0]
    leads = {key: interval(accuracies[best] - accuracies[key]) for key in means.index[1:]}
    # A lead without an interval, from a single split, is not clear.
    close = [key for key, (lead, reach) in leads.items() if not lead - reach > 0]
    rival = (close or [*leads])[0]
    lead, reach = (100 * value for value in leads[rival])
    counts = ", ".join(map(str, comparison.counts[:-1]))
    labels = f"{counts} and " * bool(counts) + plural(comparison.counts[-1], "label") + " per class"
    evidence = f"paired 95 % interval {lead - reach:+.1f} to {lead + reach:+.1f}"
    if math.isnan(reach):
        evidence = "one split gives no interval"
    ahead = f"{lead:.1f} points ahead of {titles[rival]} ({evidence})"
    if close:
        return (
            f"No method is clearly ahead with {labels}: {titles[best]} has the highest accuracy, "
            f"{percent(means[best])}, but is only {ahead}."
        )
    return f"{titles[best]} is best on this table with {labels}: {percent(means[best])}, {ahead}."


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
    """Return all tables in Markdown, with remarks and the verdict below."""
    parts = [f"{heading(comparison)}."]
    for count, rows in summarise(comparison).items():
        texts = [cells(row, comparison.splits) for row in rows]
        for row, line in zip(rows, texts, strict=True):
            if row is winner(rows):
                line[1] = f"**{line[1]}**"
        parts += [f"**{subtitle(comparison, count)}**", markdown_table(HEADER, texts, NUMERIC)]
    parts += ["\n".join(f"- {text}" for text in remarks(comparison)), verdict(comparison)]
    return "\n\n".join(filter(None, parts)) + "\n"

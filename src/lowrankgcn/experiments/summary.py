"""Summarise a comparison: one row per method and number of labels, as JSON and Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from lowrankgcn._format import count as thousands
from lowrankgcn._format import duration, percent, plural, shorten
from lowrankgcn.experiments.comparison import SCORES, Comparison
from lowrankgcn.experiments.methods import METHODS, REFERENCE
from lowrankgcn.experiments.statistics import interval, markdown_table, plus_minus

HEADER = ("method", "accuracy %", "difference", "balanced %", "log-loss", "time")
NUMERIC = range(1, 6)
_ENOUGH_SPLITS = 20  # intervals of fewer splits are wide
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
    titles = {method.key: method.title for method in comparison.methods}
    tables: dict[int, list[Row]] = {count: [] for count in comparison.counts}
    groups = comparison.fits.groupby(["labels_per_class", "method"], sort=False)
    by_split = {key: fits.set_index("split") for key, fits in groups}
    for (count, key), fits in by_split.items():
        reference = None if key == REFERENCE.key else by_split.get((count, REFERENCE.key))
        accuracies = math.nan if reference is None else reference["accuracy"]
        fits["difference"] = fits["accuracy"] - accuracies
        row: Row = {"method": key, "title": titles[key]}
        for name in (*SCORES, "difference"):
            row[name], row[f"{name}_half_width"] = interval(fits[name])
        row |= fits[["seconds", "processor_seconds"]].median().to_dict()
        tables[count].append(row | {"failed": int(fits["accuracy"].isna().sum())})
    return tables


def as_document(comparison: Comparison) -> dict[str, Any]:
    """Return everything as plain values for JSON; NaN becomes None."""
    task, results = comparison.task, []
    for count, rows in summarise(comparison).items():
        methods = [{key: None if x != x else x for key, x in row.items()} for row in rows]
        labels = {"labels_per_class": count, "fewer_labels": comparison.short_classes(count)}
        results.append({**labels, "methods": methods})
    fields = ("seed", "splits", "in_order", "skipped", "failures", "warnings")
    return {
        "dataset": task.name,
        "rows": task.n_rows,
        "columns": task.rows.shape[1],
        "classes": task.class_sizes,
        "notes": list(task.notes),
        **{name: getattr(comparison, name) for name in fields},
        "methods": {method.key: method.settings for method in comparison.methods},
        "results": results,
        "verdict": verdict(comparison),
    }


def heading(comparison: Comparison) -> str:
    """Describe the table and the splits."""
    task = comparison.task
    rows = f"{thousands(sum(task.class_sizes.values()))} rows of {len(task.class_names)} classes"
    splits = f"{comparison.splits} random splits, seed {comparison.seed}"
    order = ", rows in the order of the table" if comparison.in_order else ""
    return f"{task.name}: {rows}, {task.rows.shape[1]} columns; {splits}{order}"


def tables(comparison: Comparison) -> Iterator[tuple[str, list[list[Any]], int | None]]:
    """Yield for each number of labels a subtitle, the cells, and which row has the best accuracy.

    Cells are in the order of ``HEADER``. No row is the best one if all methods failed.
    """
    for count, rows in summarise(comparison).items():
        subtitle = f"{plural(count, 'label')} per class"
        if short := comparison.short_classes(count):
            fewer = ", ".join(f"{shorten(name, 60)} {labels}" for name, labels in short.items())
            subtitle += f" (half of the rows of small classes: {fewer})"
        ran = [k for k, row in enumerate(rows) if not math.isnan(row["accuracy"])]
        best = max(ran, key=lambda k: rows[k]["accuracy"], default=None)
        yield subtitle, [_cells(row, comparison.splits) for row in rows], best


def _cells(row: Row, splits: int) -> list[str]:
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


def verdict(comparison: Comparison) -> str:
    """Return in one sentence which method is best, and whether its lead exceeds chance.

    Accuracies are means over the numbers of labels in each split, so that splits are independent
    draws. Methods with failures do not take part.
    """
    failed = {failure["method"] for failure in comparison.failures}
    titles = {m.key: m.title for m in comparison.methods if m.key not in failed}
    if len(titles) < 2:
        return "There is no verdict: fewer than two methods ran without failures."
    accuracies = comparison.fits.groupby(["split", "method"])["accuracy"].mean().unstack()
    accuracies = accuracies[[*titles]].rename(columns=titles)
    means = accuracies.mean().sort_values(ascending=False, kind="stable")
    best, *others = means.index
    leads = {title: interval(100 * (accuracies[best] - accuracies[title])) for title in others}
    # A lead without an interval, from a single split, is not clear.
    close = [title for title, (lead, reach) in leads.items() if not lead - reach > 0]
    rival = (close or others)[0]
    lead, reach = leads[rival]
    evidence = f"paired 95 % interval {lead - reach:+.1f} to {lead + reach:+.1f}"
    if math.isnan(reach):
        evidence = "one split gives no interval"
    if close and comparison.splits < _ENOUGH_SPLITS:
        evidence += f"; --splits {_ENOUGH_SPLITS} may decide"
    ahead = f"{lead:.1f} points ahead of {rival} ({evidence})."
    counts = ", ".join(map(str, comparison.counts[:-1]))
    labels = f"{counts} and " * bool(counts) + plural(comparison.counts[-1], "label") + " per class"
    top = percent(means[best])
    if close:
        best_of_all = f"{best} has the highest accuracy, {top}, but is only {ahead}"
        return f"No method is clearly ahead with {labels}: {best_of_all}"
    return f"{best} is best on this table with {labels}: {top}, {ahead}"


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
    for subtitle, texts, best in tables(comparison):
        if best is not None:
            texts[best][1] = f"**{texts[best][1]}**"
        parts += [f"**{subtitle}**", markdown_table(HEADER, texts, NUMERIC)]
    parts += ["\n".join(f"- {text}" for text in remarks(comparison)), verdict(comparison)]
    return "\n\n".join(filter(None, parts)) + "\n"

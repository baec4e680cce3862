"""Summarise a comparison: one row per method and number of labels."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from lowrankgcn.experiments.comparison.methods import REFERENCE
from lowrankgcn.experiments.comparison.runner import Comparison
from lowrankgcn.experiments.statistics import interval, mean_ranks

__all__ = ["SummaryRow", "as_document", "summarise"]


@final
@dataclass(frozen=True)
class SummaryRow:
    """Results of a method for one number of labels.

    Attributes
    ----------
    method, title : str
    accuracy, half_width : float
        Mean accuracy over splits, and half the width of its 95 % interval.
    difference, difference_half_width : float
        The same for the difference to ``GCNClassifier`` on the same split; NaN without it.
    rank : float
        Mean rank among the methods over splits, 1 for the best.
    seconds, processor_seconds : float
        Median of fit and prediction together.
    failed : int
        Failed splits; they rank last and are not part of the means.
    """

    method: str
    title: str
    accuracy: float
    half_width: float
    difference: float
    difference_half_width: float
    rank: float
    seconds: float
    processor_seconds: float
    failed: int


def summarise(comparison: Comparison) -> dict[int, tuple[SummaryRow, ...]]:
    """Return the rows for each number of labels, in the order of the methods."""
    keys = [method.key for method in comparison.methods]
    ours = keys.index(REFERENCE.key) if REFERENCE.key in keys else None
    accuracies = comparison.values("accuracy")
    seconds, processor_seconds = (
        np.median(comparison.values(name), axis=1) for name in ("seconds", "processor_seconds")
    )
    tables = {}
    for i, count in enumerate(comparison.counts):
        ranks, rows = mean_ranks(accuracies[i]), []
        for j, method in enumerate(comparison.methods):
            values = accuracies[i, :, j]
            paired = ours is not None and j != ours
            rows.append(
                SummaryRow(
                    method.key,
                    method.title,
                    *interval(values),
                    *interval(values - accuracies[i, :, ours] if paired else []),
                    rank=float(ranks[j]),
                    seconds=float(seconds[i, j]),
                    processor_seconds=float(processor_seconds[i, j]),
                    failed=int(np.isnan(values).sum()),
                )
            )
        tables[count] = tuple(rows)
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
                "methods": [
                    {
                        name: None if isinstance(value, float) and math.isnan(value) else value
                        for name, value in asdict(row).items()
                    }
                    for row in rows
                ],
            }
            for count, rows in summarise(comparison).items()
        ],
        "failures": comparison.failures,
        "warnings": comparison.warnings,
    }

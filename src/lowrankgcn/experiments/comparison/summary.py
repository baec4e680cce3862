"""The comparison in figures: one row per method and number of labels."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np
import pandas as pd

from lowrankgcn.experiments.comparison.methods import REFERENCE
from lowrankgcn.experiments.comparison.running import Comparison
from lowrankgcn.experiments.comparison.statistics import interval, mean_ranks

__all__ = ["Row", "as_document", "as_frame", "summarise"]


@final
@dataclass(frozen=True)
class Row:
    """A method with some number of labels.

    Attributes
    ----------
    method, title : str
    accuracy, half_width : float
        Mean over splits of the share of right classes, and half of its 95 % interval.
    difference, difference_half_width : float
        The same of the difference to ``GCNClassifier`` on the same split; NaN without it.
    rank : float
        Mean over splits of the rank among the methods of the table, 1 for the best.
    seconds, processor_seconds : float
        Median of fit and prediction together.
    failed : int
        Splits that failed; they do not count in the means, and rank last.
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


def summarise(comparison: Comparison) -> dict[int, tuple[Row, ...]]:
    """Rows for each number of labels, in the order of the methods."""
    keys = [method.key for method in comparison.methods]
    tables = {}
    for i, count in enumerate(comparison.counts):
        values = comparison.accuracies[i]
        ranks = mean_ranks(values)
        ours = keys.index(REFERENCE.key) if REFERENCE.key in keys else None
        rows = []
        for j, method in enumerate(comparison.methods):
            paired = (math.nan, math.nan)
            if ours is not None and j != ours:
                paired = interval(values[:, j] - values[:, ours])
            rows.append(
                Row(
                    method.key,
                    method.title,
                    *interval(values[:, j]),
                    *paired,
                    rank=float(ranks[j]),
                    seconds=float(np.median(comparison.seconds[i, :, j])),
                    processor_seconds=float(np.median(comparison.processor_seconds[i, :, j])),
                    failed=int(np.isnan(values[:, j]).sum()),
                )
            )
        tables[count] = tuple(rows)
    return tables


def as_document(comparison: Comparison) -> dict[str, Any]:
    """Everything as plain values, for JSON; what is not known is None."""
    task = comparison.task
    known = task.classes[task.classes >= 0]
    sizes = dict(zip(task.class_names, np.bincount(known).tolist(), strict=True))
    return {
        "dataset": task.name,
        "rows": task.n_rows,
        "columns": task.rows.shape[1],
        "classes": sizes,
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
                    {name: _plain(value) for name, value in asdict(row).items()} for row in rows
                ],
            }
            for count, rows in summarise(comparison).items()
        ],
        "failures": [asdict(failure) for failure in comparison.failures],
        "warnings": {
            key: {category: asdict(warned) for category, warned in found.items()}
            for key, found in comparison.warnings.items()
        },
    }


def as_frame(comparison: Comparison) -> pd.DataFrame:
    """One row per number of labels, split and method."""
    reasons = {(f.count, f.split, f.method): f.reason for f in comparison.failures}
    return pd.DataFrame(
        {
            "dataset": comparison.task.name,
            "labels_per_class": count,
            "split": split,
            "method": method.key,
            "accuracy": comparison.accuracies[i, split, j],
            "seconds": comparison.seconds[i, split, j],
            "processor_seconds": comparison.processor_seconds[i, split, j],
            "failure": reasons.get((count, split, method.key)),
        }
        for i, count in enumerate(comparison.counts)
        for split in range(comparison.splits)
        for j, method in enumerate(comparison.methods)
    )


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value

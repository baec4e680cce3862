"""What the classifier compared, as a table for the page and as plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lowrankgcn.report import layout
from lowrankgcn.report.text import count, rough

__all__ = ["network_table", "plain_networks"]

_SCORES = ("cv_loss", "cv_accuracy", "cv_deviation")


def network_table(selection: Sequence[Mapping[str, Any]]) -> str:
    """One row for each candidate of a :class:`~lowrankgcn.estimators.Selection`."""
    header = ("network", "share", "hidden labels found", "loss", "eigenvectors", "filter")
    rows = [_cells(row) for row in selection]
    return layout.table(header, rows, numeric=(1, 2, 3, 4), named=True, label="Networks compared")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    known = math.isfinite(row["cv_loss"])
    return (
        row["architecture"],
        rough(row["share"]),
        rough(row["cv_accuracy"]) if known else "–",
        f"{row['cv_loss']:.3f}" if known else "–",
        "–" if row["rank"] is None else count(row["rank"]),
        row["filter"],
    )


def plain_networks(selection: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The candidates with None for what is not known and lists for tuples."""
    return [
        {
            **row,
            "hidden_widths": list(row["hidden_widths"]),
            **{key: None for key in _SCORES if math.isnan(row[key])},
        }
        for row in selection
    ]

"""Predictions of the rows of a block, and data of explanations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.distributed.result import SetUpResult
from lowrankgcn.estimators.evidence import (
    MOST_ROWS,
    Evidence,
    LabelledRows,
    response_of,
    spread_over,
)
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.operators import FloatArray

__all__ = ["FittedRows", "evidence", "fitted_rows"]


def evidence(
    known: SetUpResult,
    model: Model,
    networks: tuple[TrainedNetwork, ...],
    labelled: Any,
    labels: Labels,
) -> Evidence:
    """Collect the data of explanations: an average row and the labelled rows."""
    chosen = spread_over(labels.codes, MOST_ROWS)
    rows = labelled.iloc[chosen] if hasattr(labelled, "iloc") else labelled[chosen]
    index, codes = (array[chosen].astype(np.int64) for array in (labels.index, labels.codes))
    seen = LabelledRows(index, codes, *model.place(rows))
    return Evidence(tuple(map(response_of, networks)), known.average, seen)


@final
@dataclass(frozen=True, eq=False)
class FittedRows:
    """Class distributions of the rows of one block, and rows without a path to a labelled row.

    Attributes
    ----------
    distributions : (q, C) array
    unplaced : (q,) bool array
    """

    distributions: FloatArray
    unplaced: NDArray[np.bool_]


def fitted_rows(
    block: Any,
    model: Model,
    read: Callable[[Any], Any],
    own_labels: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> FittedRows:
    """Classify the rows of a block of the fitted data, converted by `read`.

    `own_labels` are isolated labelled rows of the block and their classes; isolated rows keep their
    own label.
    """
    if not len(block):
        return FittedRows(np.zeros((0, model.n_classes)), np.zeros(0, bool))
    shares, lost = model.distributions(read(block))
    rows, codes = own_labels
    shares[rows] = np.eye(model.n_classes)[codes]
    lost[rows] = False
    return FittedRows(shares, lost)

"""Data of explanations: an average row and the labelled rows.

>>> import numpy as np
>>> spread_over(np.array([0, 0, 0, 0, 1, 1]), 4)  # classes keep their shares
array([0, 2, 3, 5])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.graphs import Graph
from lowrankgcn.operators import FloatArray

__all__ = ["Evidence", "LabelledRows", "collect_evidence", "response_of", "spread_over"]

#: Maximum number of labelled rows kept for explanations.
MOST_ROWS = 1000


@saved
@final
@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Labelled rows as inputs of the model.

    Attributes
    ----------
    index : (p,) int array
        Positions among the fitted rows.
    codes : (p,) int array
        Classes.
    extended : (p, R) array
        Values of the extended vectors.
    features : (p, N_0) array
    """

    index: NDArray[np.int64]
    codes: NDArray[np.int64]
    extended: FloatArray
    features: FloatArray

    def __post_init__(self) -> None:
        expect_shape(self.index, "index", None)
        if not len(self.index) or self.index.min() < 0:
            raise invalid("index", "one or more integers >= 0", "other values")
        expect_shape(self.codes, "codes", len(self.index))
        expect_shape(self.extended, "extended", len(self.index), None)
        expect_shape(self.features, "features", len(self.index), None)


@saved
@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """Reference data of explanations.

    Attributes
    ----------
    responses : tuple of (r,) arrays or None
        Σ_k |φ_k(Λ)| of each network's kernels; None for networks without eigenvectors.
    average : (m,) array or None
        Mean of the rows a(x) of the cross-affinity over the fitted rows; None unless its columns
        are hyperedges.
    labelled : LabelledRows or None
        None if they were not saved.
    """

    responses: tuple[FloatArray | None, ...]
    average: FloatArray | None
    labelled: LabelledRows | None

    def check(self, model: Model) -> None:
        """Raise ValueError if the evidence does not fit the model."""
        if len(self.responses) != len(model.networks):
            raise invalid("responses", f"{len(model.networks)}", len(self.responses))
        for response, network in zip(self.responses, model.networks, strict=True):
            last = network.layers[-1]
            # A network has a response if, and only if, its last layer reads eigenvectors alone.
            if (response is None) != (last.own is not None):
                raise invalid("responses", "one for each network of eigenvectors", "another number")
            if response is not None and last.readout is not None:
                expect_shape(response, "responses", len(last.readout))
                if response.min(initial=0.0) < 0:
                    raise invalid("responses", "numbers >= 0", response.min())
        if self.average is not None:
            expect_shape(self.average, "average", model.cross.n_columns)
        if (rows := self.labelled) is not None:
            expect_shape(rows.extended, "extended", None, model.basis.shape[1])
            expect_shape(rows.features, "features", None, model.width or 0)
            if rows.codes.min() < 0 or rows.codes.max() >= model.n_classes:
                raise invalid("codes", f"classes below {model.n_classes}", "other values")


def collect_evidence(
    model: Model, networks: Sequence[TrainedNetwork], graph: Graph, X: Any, labels: Labels
) -> Evidence:
    """Collect the data of explanations from the fitted rows.

    Parameters
    ----------
    model : Model
    networks : sequence of TrainedNetwork
        Trained networks of the model.
    graph : Graph
    X : array, DataFrame, sparse array or Graph
        The fitted rows.
    labels : Labels

    Notes
    -----
    One pass over the incidences of a hypergraph, and a prediction of at most 1000 rows.
    """
    chosen = spread_over(labels.codes, MOST_ROWS)
    index, codes = (array[chosen].astype(np.int64) for array in (labels.index, labels.codes))
    rows = LabelledRows(index, codes, *_placed(model, graph, X, index))
    return Evidence(tuple(map(response_of, networks)), graph.mean_cross_row(model.cross), rows)


def _placed(
    model: Model, graph: Graph, X: Any, index: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Return extended vectors and features of some of the fitted rows."""
    if not isinstance(X, Graph):
        return model.place(X.iloc[index] if hasattr(X, "iloc") else X[index])
    extended = graph.fitted_product(model.cross, index, model.basis)
    if model.width is None:
        return extended, np.zeros((len(index), 0))
    return extended, model.inputs.features(None, extended)


def spread_over(codes: NDArray[Any], most: int) -> NDArray[np.intp]:
    """Return at most `most` positions, spread evenly over classes and rows, ascending."""
    if len(codes) <= most:
        return np.arange(len(codes))
    by_class = np.argsort(codes, kind="stable")
    places = np.linspace(0, len(codes) - 1, most).round().astype(np.intp)
    return np.sort(by_class[places])


def response_of(trained: TrainedNetwork) -> FloatArray | None:
    """Return Σ_k |φ_k(Λ)| of the kernels of a network, None without eigenvectors."""
    if trained.prepared.pairs is None:
        return None
    total: FloatArray = np.sum([np.abs(kernel.response) for kernel in trained.kernels], axis=0)
    return total.astype(np.float64)

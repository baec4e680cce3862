r"""The part of a fitted network that computes class distributions of rows; this part is saved.

The last layer of a network with kernels :math:`U \varphi_k(\Lambda) U^T` is
:math:`z(x) = u(x)^T A + b` at a row x with the eigenvectors u(x), and
:math:`A = \sum_k \varphi_k(\Lambda) U^T H \Theta_k` for the input H of the layer. Fitted rows have
known eigenvectors; those of new rows follow by :class:`lowrankgcn.spectral.extension.Extension`.

>>> import numpy as np
>>> readout, bias = np.log([[1.0, 3.0, 1.0, 1.0]]), np.zeros((2, 2))  # two restarts of two classes
>>> Ensemble(readout, bias).distributions(np.ones((1, 1)))
array([[0.375, 0.625]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import map_chunks
from lowrankgcn.estimators.rows import map_rows
from lowrankgcn.exceptions import UnlabelledComponentWarning, warn_caller
from lowrankgcn.gp.node_features import NodeFeatures
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.extension import Extension

Weights = NDArray[np.floating[Any]]

_CHUNK_ROWS = 16384  # rows that a thread classifies at a time
_CONSTANT = 1e-12  # relative range up to which a column is constant
# Coordinates are rounded to this grid, coarser than rounding errors and finer than the data, so
# that equal distances stay equal in other units.
_GRID = 2.0**20
# Outliers beyond this many interquartile ranges do not affect the unit of a column.
_QUARTILE_RANGES = 10.0


@saved
@final
@dataclass(frozen=True, eq=False)
class PointScale:
    """Numbers as coordinates of a graph.

    Attributes
    ----------
    median : (d,) array
        Replaces missing numbers; origin of the scaled points.
    unit : (d,) array or None
        Range (at most ten interquartile ranges) of each column; None without scaling.

    Examples
    --------
    >>> X = np.array([[0.0, 1e6], [1.0, 1e6 + 2], [2.0, 1e6 + 4]])
    >>> PointScale.fit(X).points(X).tolist()
    [[-0.5, -0.5], [0.0, 0.0], [0.5, 0.5]]
    """

    median: Annotated[FloatArray, "d"]
    unit: Annotated[FloatArray | None, "d"]

    @classmethod
    def fit(cls, X: FloatArray, *, raw: bool = False) -> PointScale:
        """Fit to the columns of X, shape (n, d); `raw` points are not scaled."""
        scale = cls(pd.DataFrame(X).median().fillna(0.0).to_numpy(), None)
        if raw:
            return scale
        X = scale.filled(X)
        low, high = np.quantile(X, [0.25, 0.75], axis=0)
        spread, robust = np.ptp(X, axis=0), _QUARTILE_RANGES * (high - low)
        unit = np.where((robust > 0) & (robust < spread), robust, spread)
        unit[unit <= _CONSTANT * np.abs(X).max(axis=0)] = np.inf
        return cls(scale.median, unit)

    def filled(self, X: FloatArray) -> FloatArray:
        """Replace missing numbers."""
        missing = np.isnan(X)
        return np.where(missing, self.median, X) if missing.any() else X

    def points(self, X: FloatArray) -> FloatArray:
        """Scale points to the ranges of the columns, on a fine grid."""
        X = self.filled(X)
        return X if self.unit is None else np.round((X - self.median) / self.unit * _GRID) / _GRID


@saved
@final
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trained restarts of a network as a function of eigenvectors.

    Attributes
    ----------
    readout : (r, s·C) array
        The matrices A of s restarts, side by side.
    bias : (s, C) array
    """

    readout: Annotated[Weights, "r w"]
    bias: Annotated[Weights, "s c"]

    def distributions(self, vectors: Weights) -> FloatArray:
        """Compute class distributions (q, C) from eigenvectors (q, r)."""

        def classify(start: int, stop: int) -> FloatArray:
            logits = (vectors[start:stop] @ self.readout).reshape(-1, *self.bias.shape)
            return mean_softmax((logits + self.bias).transpose(1, 0, 2))

        return np.concatenate(map_chunks(classify, len(vectors), _CHUNK_ROWS))


@saved
@final
@dataclass(frozen=True, eq=False)
class GCNModel:
    """Trained restarts as a function of rows.

    Attributes
    ----------
    scale : PointScale, NodeFeatures or None
        Map from numbers or wide sparse rows to points; None for other rows.
    extension : Extension
        Its roots are zero at rows without affinity to a component with a label.
    ensemble : Ensemble
    """

    scale: PointScale | NodeFeatures | None
    extension: Extension
    ensemble: Ensemble

    def placed_distributions(self, X: Any) -> FloatArray:
        """Compute class distributions (q, C), NaN for rows without affinity to a labelled part.

        Rows are independent of each other and processed in chunks: memory is O(q C) beside X.
        """

        def classify(part: Any) -> FloatArray:
            rows = part if self.scale is None else self.scale.points(part)
            roots, vectors = self.extension.at(rows)
            shares = self.ensemble.distributions(vectors)
            shares[roots == 0] = np.nan
            return shares

        return map_rows(classify, X, _CHUNK_ROWS)

    def distributions(self, X: Any) -> FloatArray:
        """Compute class distributions (q, C), uniform for rows without affinity, with a warning."""
        shares = self.placed_distributions(X)
        unplaced = np.isnan(shares[:, 0])
        if unplaced.any():
            shares[unplaced] = 1.0 / shares.shape[1]
            warn_caller(
                f"{int(unplaced.sum())} of {len(unplaced)} rows have no affinity to any labelled "
                "part of the graph; their class distribution is uniform",
                UnlabelledComponentWarning,
            )
        return shares


def mean_softmax(logits: NDArray[Any]) -> FloatArray:
    """Average the softmax over restarts: (q, C) from logits (s, q, C)."""
    # The class axis comes first, because reductions along short rows are slow.
    shares = logits.transpose(0, 2, 1).astype(np.float64, order="C")
    shares -= shares.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    mean: FloatArray = shares.mean(axis=0).T
    return mean

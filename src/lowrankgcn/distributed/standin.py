r"""Few rows that represent all rows in training.

A reduced-order network meets the n rows only in :math:`U^T X` and in the labelled rows of U; a
model of the features only in labelled rows of X. The labelled rows together with r further ones,
whose eigenvectors are the identity and whose features are what the labelled rows leave over,

.. math:: U_s = \begin{pmatrix} U_I \\ I \end{pmatrix}, \qquad
          X_s = \begin{pmatrix} X_I \\ U^T X - U_I^T X_I \end{pmatrix},
          \qquad U_s^T X_s = U^T X,

are therefore trained on as if they were the whole table, by the same code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch

from lowrankgcn.distributed.counts import Counting, weighted
from lowrankgcn.distributed.encoding import FittedTable
from lowrankgcn.distributed.known import Known
from lowrankgcn.distributed.spectrum import HyperedgePairs, HyperedgeSpectrum
from lowrankgcn.estimators.inputs import TableInputs
from lowrankgcn.graphs.columns import BinnedColumn
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.spectrum import Eigenpairs
from lowrankgcn.training import TensorFeatures

__all__ = [
    "StandIn",
    "edge_features",
    "feature_square",
    "spectral_features",
    "stand_in",
    "table_inputs",
]

_NOTHING = np.zeros((0, 0))  # vectors that features of tables and points do not look at


@final
@dataclass(frozen=True, eq=False)
class StandIn:
    """Rows that stand for all rows in training; the p labelled ones come first.

    Attributes
    ----------
    pairs : Eigenpairs
        With eigenvectors U_s, shape (p + r, r).
    features : TensorFeatures
        X_s, shape (p + r, N_0).
    """

    pairs: Eigenpairs
    features: TensorFeatures


def table_inputs(
    fitted: FittedTable, spectrum: HyperedgeSpectrum, *, raw_features: bool
) -> TableInputs:
    """What the network sees of a table, from its counts; as :meth:`TableInputs.fit`."""
    encoder, sizes, nothing = fitted.encoder, spectrum.sizes, np.zeros(0)
    every = np.arange(encoder.n_hyperedges)
    if raw_features:
        return TableInputs(encoder, every, np.zeros(len(every)), (), nothing, nothing)
    binned = [isinstance(column, BinnedColumn) for column in encoder.columns]
    shown = every[~np.repeat(binned, [column.n_hyperedges for column in encoder.columns])]
    numbers = tuple(fitted.units)
    shared = shown[sizes[shown] > 1]
    shown = shared if len(shared) or numbers else shown[:1]
    units = fitted.units.values()
    centre = np.array([unit.centre for unit in units])
    scale = np.array([unit.scale for unit in units])
    return TableInputs(encoder, shown, sizes[shown] / spectrum.n_rows, numbers, centre, scale)


def feature_square(inputs: TableInputs, fitted: FittedTable, spectrum: HyperedgeSpectrum) -> float:
    """‖X‖²_F over all rows: of an indicator with mean m it is Σ h − 2mΣh + nm²."""
    sizes, means = spectrum.sizes[inputs.shown].astype(np.float64), inputs.means
    indicators = sizes - 2.0 * means * sizes + spectrum.n_rows * means**2
    # Numbers have mean square one by their unit, unless they are constant.
    numbers = sum(
        fitted.units[name].present
        for name in inputs.numbers
        if np.isfinite(fitted.units[name].scale)
    )
    return float(indicators.sum()) + float(numbers)


def edge_features(
    inputs: TableInputs, spectrum: HyperedgeSpectrum, counting: Counting
) -> FloatArray:
    """HᵀD^{-1/2}X over all rows, shape (|E|, N_0)."""
    counts = spectrum.counts

    def weight(level: int) -> float:
        return float(1.0 / np.sqrt(level))

    pairs = weighted(counts.pairs, weight)
    ones = weighted({level: own.diagonal() for level, own in counts.pairs.items()}, weight)
    indicators = pairs[:, inputs.shown] - np.outer(ones, inputs.means)
    if not inputs.numbers:
        return indicators
    units = np.array([2.0**-column.bits for column in counting.numbers])
    return np.hstack([indicators, weighted(counts.sums, weight) * units])


def spectral_features(
    inputs: TableInputs, pairs: HyperedgePairs, of_edges: FloatArray
) -> FloatArray:
    """UᵀX over all rows, shape (r, N_0), from :func:`edge_features`."""
    inner: FloatArray = pairs.coefficients.T @ of_edges
    for column in pairs.bare.values():  # a unit vector: what the network sees of an empty row
        inner[column] = np.concatenate([-inputs.means, np.zeros(len(inputs.numbers))])
    return inner


def stand_in(known: Known, labelled: Any, index: Any) -> StandIn:
    """The rows that stand for all.

    Parameters
    ----------
    known : Known
    labelled : table or array
        The p labelled rows.
    index : (p,) int array
        Their numbers.
    """
    pairs = known.pairs
    features = known.inputs.features(known.read(labelled), _NOTHING)
    vectors = known.vectors.rows(labelled)
    for row, column in known.units.items():
        vectors[np.asarray(index) == row, column] = 1.0
    rest = known.inner - vectors.T @ features
    standing = pairs.with_vectors(np.vstack([vectors, np.eye(pairs.rank)]))
    tensor = torch.from_numpy(np.vstack([features, rest]))
    return StandIn(standing, TensorFeatures(tensor))

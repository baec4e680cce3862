r"""Few rows that represent all rows in training.

A reduced-order network depends on the n rows only through :math:`U^T X` and the labelled rows of U;
a model of the features only through the labelled rows of X. The labelled rows and r further rows,
whose eigenvectors are the identity and whose features are the remainder,

.. math:: U_s = \begin{pmatrix} U_I \\ I \end{pmatrix}, \qquad
          X_s = \begin{pmatrix} X_I \\ U^T X - U_I^T X_I \end{pmatrix},
          \qquad U_s^T X_s = U^T X,

therefore replace the whole table in training, which uses the same code as in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch

from lowrankgcn.distributed.counts import Counting, weighted
from lowrankgcn.distributed.encoding import FittedTable
from lowrankgcn.distributed.result import SetUpResult
from lowrankgcn.distributed.spectrum import HyperedgePairs, HyperedgeSpectrum
from lowrankgcn.estimators.inputs import TableInputs
from lowrankgcn.graphs.columns import BinnedColumn
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.spectrum import Eigenpairs
from lowrankgcn.training import TensorFeatures

__all__ = [
    "RepresentativeRows",
    "edge_features",
    "feature_square",
    "representative_rows",
    "spectral_features",
    "table_inputs",
]

_NO_VECTORS = np.zeros((0, 0))  # features of tables and points do not use eigenvectors


@final
@dataclass(frozen=True, eq=False)
class RepresentativeRows:
    """Rows that represent all rows in training; the p labelled rows are first.

    Attributes
    ----------
    pairs : Eigenpairs
        Pairs with eigenvectors U_s, shape (p + r, r).
    features : TensorFeatures
        X_s, shape (p + r, N_0).
    """

    pairs: Eigenpairs
    features: TensorFeatures


def table_inputs(
    fitted: FittedTable, spectrum: HyperedgeSpectrum, *, raw_features: bool
) -> TableInputs:
    """Return the result of :meth:`TableInputs.fit`, computed from counts."""
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
    """Return ‖X‖²_F over all rows; an indicator h with mean m contributes Σh − 2mΣh + nm²."""
    sizes, means = spectrum.sizes[inputs.shown].astype(np.float64), inputs.means
    indicators = sizes - 2.0 * means * sizes + spectrum.n_rows * means**2
    # Standardised numbers have mean square one, unless they are constant.
    numbers = sum(
        fitted.units[name].present
        for name in inputs.numbers
        if np.isfinite(fitted.units[name].scale)
    )
    return float(indicators.sum()) + float(numbers)


def edge_features(
    inputs: TableInputs, spectrum: HyperedgeSpectrum, counting: Counting
) -> FloatArray:
    """Return HᵀD^{-1/2}X over all rows, shape (n_hyperedges, N_0)."""
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
    """Return UᵀX over all rows, shape (r, N_0), from :func:`edge_features`."""
    inner: FloatArray = pairs.coefficients.T @ of_edges
    for column in pairs.bare.values():  # unit vectors: the features of empty rows
        inner[column] = np.concatenate([-inputs.means, np.zeros(len(inputs.numbers))])
    return inner


def representative_rows(known: SetUpResult, labelled: Any, index: Any) -> RepresentativeRows:
    """Return the rows that represent all rows in training.

    Parameters
    ----------
    known : SetUpResult
    labelled : table or array
        The p labelled rows.
    index : (p,) int array
        Numbers of the labelled rows.
    """
    pairs = known.pairs
    features = known.inputs.features(known.read(labelled), _NO_VECTORS)
    vectors = known.vectors.rows(labelled)
    for row, column in known.units.items():
        vectors[np.asarray(index) == row, column] = 1.0
    rest = known.inner - vectors.T @ features
    represented = pairs.with_vectors(np.vstack([vectors, np.eye(pairs.rank)]))
    tensor = torch.from_numpy(np.vstack([features, rest]))
    return RepresentativeRows(represented, TensorFeatures(tensor))

"""Contributions of values and of labelled rows to the margin of a prediction.

The formulas are in :mod:`lowrankgcn.estimators.explaining`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.estimators.explanation import Contribution
from lowrankgcn.estimators.extended import Attribution, ExtendedNetwork
from lowrankgcn.estimators.inputs import GivenInputs, TableInputs
from lowrankgcn.estimators.model import Model
from lowrankgcn.graphs import TableEncoder
from lowrankgcn.graphs.columns import BinnedColumn
from lowrankgcn.graphs.cross.sparse import IncidenceCross, TableCross
from lowrankgcn.operators import FloatArray

__all__ = ["hyperedge_contributions", "row_contributions", "value_contributions"]

# Relative to the mean of 𝒦(i, i). On spiral, digits and cars with 20 to 100 labels the absolute
# amounts of a row are 1.5 to 3 times their sum, and the remainder is 1 to 13 % of the margin
# (medians).
_RIDGE = 0.03


Listed = list[list[Contribution]]  # contributions of each row
Contributions = tuple[FloatArray, Listed]  # with the baselines (q,) of the margins


def value_contributions(
    model: Model, evidence: Evidence, X: Any, features: FloatArray, found: Attribution
) -> Contributions:
    """Compute the contributions of the columns of a table.

    Notes
    -----
    O(q (P R + N_0)) for P columns and R extended vectors, and O(m R) once for m hyperedges.
    """
    cross, inputs = model.cross, model.inputs
    assert isinstance(cross, TableCross) and evidence.average is not None
    encoder = cross.encoder
    column_of = np.repeat(np.arange(len(encoder.columns)), np.diff(encoder.offsets))
    vectors = _vector_coefficients(model, found)
    amounts = np.zeros((len(vectors), len(encoder.columns)))
    # Hyperedges of the row,
    rows = sp.coo_array(cross.rows(inputs.rows(X)))
    through = np.einsum("ir,ir->i", model.basis[rows.col], vectors[rows.row])
    np.add.at(amounts, (rows.row, column_of[rows.col]), rows.data * through)
    # relative to those of an average row,
    reference = np.zeros((len(encoder.columns), model.basis.shape[1]))
    np.add.at(reference, column_of, evidence.average[:, None] * model.basis)
    usual = vectors @ reference.T
    amounts -= usual
    # and the features of the row.
    if isinstance(inputs, TableInputs) and model.width is not None:
        places = {column.name: j for j, column in enumerate(encoder.columns)}
        owners = [*column_of[inputs.shown], *(places[name] for name in inputs.numbers)]
        np.add.at(amounts.T, np.array(owners, np.intp), (features * found.features).T)
    names = [column.name for column in encoder.columns]
    parts = _listed("value", names, _cell_texts(encoder, X), amounts)
    return found.constant + usual.sum(axis=1), parts


def _listed(kind: Any, names: list[Any], values: list[Any], amounts: FloatArray) -> Listed:
    """Combine k names, q×k values and amounts (q, k)."""
    return [
        [Contribution(kind, *part) for part in zip(names, of_row, own, strict=True)]
        for of_row, own in zip(values, amounts.tolist(), strict=True)
    ]


def hyperedge_contributions(
    model: Model, evidence: Evidence, X: Any, found: Attribution
) -> Contributions:
    """Compute the contributions of the hyperedges of a row, and of all others together.

    Notes
    -----
    O(t R) for t incidences of the rows and R extended vectors, and O(m R) once for m hyperedges.
    """
    cross, vectors = model.cross, _vector_coefficients(model, found)
    average = evidence.average
    assert isinstance(cross, IncidenceCross) and average is not None
    rows = sp.csr_array(cross.rows(X))
    usual = vectors @ (average @ model.basis)
    parts = []
    for row, vector in enumerate(vectors):
        place = slice(rows.indptr[row], rows.indptr[row + 1])
        own = rows.indices[place]
        through = model.basis[own] @ vector
        amounts = (rows.data[place] - average[own]) * through
        absent = Contribution(
            "hyperedge", "all others", "not in", float(average[own] @ through - usual[row])
        )
        named = zip(cross.numbers[own].tolist(), amounts.tolist(), strict=True)
        parts.append([*(Contribution("hyperedge", j, "in", amount) for j, amount in named), absent])
    return found.constant + usual, parts


def _vector_coefficients(model: Model, found: Attribution) -> FloatArray:
    """Return the coefficients of the extended vectors, including those used as features."""
    vectors = found.vectors
    if isinstance(model.inputs, GivenInputs) and model.width is not None:
        vectors = vectors.copy()
        vectors[:, 1 : 1 + model.inputs.rank] += model.inputs.scale * found.features
    return vectors


def _cell_texts(encoder: TableEncoder, X: Any) -> list[list[str]]:
    """Describe the values of each row, column by column."""
    table, codes = encoder.match(X), encoder.transform(X)
    columns = [pd.Series(table.columns[column.name]) for column in encoder.columns]
    return [
        [
            _cell_text(encoder, j, cell.iloc[row], int(codes[row, j]))
            for j, cell in enumerate(columns)
        ]
        for row in range(table.n_rows)
    ]


def _cell_text(encoder: TableEncoder, column: int, cell: Any, code: int) -> str:
    if bool(pd.isna(cell)):
        return "missing"
    if isinstance(cell, pd.Timestamp) and cell == cell.normalize():
        cell = cell.date()  # days without a time are stored as midnight
    if code == encoder.n_hyperedges:
        return f"{cell} (not seen at fitting)"
    encoding = encoder.columns[column]
    label = encoding.labels[code - encoder.offsets[column]]
    return f"{cell} in {label}" if isinstance(encoding, BinnedColumn) else label


def row_contributions(
    model: Model,
    evidence: Evidence,
    extended: FloatArray,
    features: FloatArray,
    direction: FloatArray,
    classes: NDArray[Any],
) -> Contributions:
    """Compute the contributions of the labelled rows.

    Notes
    -----
    O((p + q) r² + p q) for each network with kernels of rank r, p labelled rows and q rows.
    """
    labelled = evidence.labelled
    assert labelled is not None
    amounts = np.zeros((len(extended), len(labelled.index)))
    baseline = np.zeros(len(extended))
    for network, response in zip(model.networks, evidence.responses, strict=True):
        here = _coordinates(network, response, extended, features)  # (s or 1, q, r)
        there = _coordinates(network, response, labelled.extended, labelled.features)
        bias = network.layers[-1].bias
        logits = network.forward(labelled.extended, labelled.features)[-1]
        if bias is not None:
            logits = logits - bias[:, None, :]
            baseline += network.weight * (direction @ bias.mean(axis=0))
        alpha = _interpolation(there, logits)
        if response is not None:  # one kernel for all restarts
            alpha = alpha.mean(axis=0, keepdims=True)
        for left, right, strength in zip(here, there, alpha, strict=True):
            pull = (left @ right.T) * (direction @ strength.T)
            amounts += (network.weight / len(here)) * pull
    labels = [classes[labelled.codes].tolist()] * len(amounts)
    return baseline, _listed("row", labelled.index.tolist(), labels, amounts)


def _coordinates(
    network: ExtendedNetwork,
    response: FloatArray | None,
    extended: FloatArray,
    features: FloatArray,
) -> NDArray[Any]:
    """Return vectors whose inner products are the kernel, (1, q, r), or (s, q, N) without one."""
    last = network.layers[-1]
    if response is not None:
        place = slice(last.first, last.first + len(response))
        return (extended[:, place] * np.sqrt(response))[None]
    if len(network.layers) == 1:
        inputs = (features * network.feature_scale)[None]
        return np.broadcast_to(inputs, (last.n_restarts, *inputs.shape[1:]))
    return network.activate(network.forward(extended, features)[-2])


def _interpolation(there: NDArray[Any], logits: NDArray[Any]) -> NDArray[Any]:
    """Compute α = (𝒦 + τI)^{-1} Z = (Z − F (FᵀF + τI)^{-1} FᵀZ)/τ, shape (s, p, C), 𝒦 = FFᵀ."""
    inner = there.transpose(0, 2, 1) @ there  # (s or 1, r, r)
    ridge = _RIDGE * np.trace(inner, axis1=1, axis2=2)[:, None, None] / there.shape[1]
    ridge = np.where(ridge > 0, ridge, 1.0)
    moments = there.transpose(0, 2, 1) @ logits
    solved = np.linalg.solve(inner + ridge * np.eye(inner.shape[1]), moments)
    alpha: NDArray[Any] = (logits - there @ solved) / ridge
    return alpha

r"""Explanations of predictions by values or by labelled rows.

Explanations split the margin

.. math:: m(x) = \sum_n \omega_n \frac{1}{s_n} \sum_t
          \big( z^{(n,t)}_c(x) - z^{(n,t)}_{c'}(x) \big),

between the logits of the predicted class c and the runner-up c', averaged over networks n with
their shares ω and restarts t, a mean of log-odds. The parts add up to the margin.

*By values.* The networks depend on a row through its hyperedges and features only. The extended
vectors are v(x) = Σ_j a_j(x) B_j over the hyperedges j of the row, every network is affine in v(x)
and the features once its activations are held (:mod:`lowrankgcn.estimators.extended`), so that

.. math:: m(x) = \text{baseline} + \sum_{\text{columns } p}\Big( \sum_{j \in p}
          (a_j(x) - \bar a_j)\, B_j^T V + \sum_{k \in p} f_k(x) F_k \Big).

Networks of a graph without features use √n u(x) instead, which is linear in v(x), too. ā is the
mean over the fitted rows and features have mean zero, so contributions measure how the values of
the row differ from an average row, and the baseline belongs to the average row.

*By rows.* A network on eigenvectors has the kernel 𝒦(x, i) = u(x)ᵀ abs φ(Λ) u_i between x and a
labelled row i; for others the kernel is h(x)ᵀh_i with the input h of the last layer. With the
logits Z − b of the labelled rows,

.. math:: z(x) = b + \sum_i \mathcal{K}(x, i)\, \alpha_i + \text{remainder}(x), \qquad
          \alpha = (\mathcal{K}_{II} + \tau I)^{-1} (Z_I - 1 b^T):

kernel ridge regression from the labelled rows. τ, 3 % of the mean 𝒦(i, i), prevents large opposite
contributions of nearly equal rows; the remainder is the part that this regression does not explain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks
from lowrankgcn._validation import choice, invalid
from lowrankgcn.estimators.contributions import (
    hyperedge_contributions,
    row_contributions,
    value_contributions,
)
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.estimators.explanation import By, ExplainedRow, Explanation
from lowrankgcn.estimators.extended import attribute
from lowrankgcn.estimators.model import Model
from lowrankgcn.graphs.cross.sparse import TableCross

__all__ = ["explain"]

_ROWS = 1024


def explain(
    model: Model, evidence: Evidence, X: Any, classes: NDArray[Any], by: str = "auto"
) -> Explanation:
    """Explain the classes that a model predicts for rows.

    Parameters
    ----------
    model : Model
    evidence : Evidence
    X : array, DataFrame or sparse array
        q rows, checked.
    classes : (C,) array
    by : {"auto", "values", "rows"}
        "auto": values if the graph has hyperedges, labelled rows otherwise.
    """
    chosen = _by(model, evidence, by)
    rows: list[ExplainedRow] = []
    for start, stop in chunks(X.shape[0], _ROWS):
        part = X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
        rows += _explained(model, evidence, part, classes, chosen, start)
    return Explanation(tuple(rows), chosen)


def _by(model: Model, evidence: Evidence, by: str) -> By:
    choice(by, "by", ("auto", "values", "rows"))
    hyperedges = evidence.average is not None
    if by == "values" and not hyperedges:
        raise invalid("by", "'rows': the graph has no hyperedges of values", repr(by))
    if hyperedges and by != "rows":
        return "values"
    if evidence.labelled is None:
        expected = "a classifier saved with fitted_rows=True for by='rows'"
        raise invalid("by", expected, "one saved without fitted rows")
    return "rows"


def _explained(
    model: Model, evidence: Evidence, X: Any, classes: NDArray[Any], by: By, first: int
) -> list[ExplainedRow]:
    shares, lost = model.distributions(X)
    # A stable sort, so that equal shares come in the order of the classes, as in predictions.
    order = np.argsort(-shares, axis=1, kind="stable")[:, :2]
    every = np.arange(len(shares))
    direction = np.zeros(shares.shape)
    direction[every, order[:, 0]], direction[every, order[:, 1]] = 1.0, -1.0
    extended, features = model.place(X)
    found = attribute(model.networks, extended, features, direction)
    if by == "rows":
        bases, parts = row_contributions(model, evidence, extended, features, direction, classes)
    elif isinstance(model.cross, TableCross):
        bases, parts = value_contributions(model, evidence, X, features, found)
    else:
        bases, parts = hyperedge_contributions(model, evidence, X, found)
    names, rows = classes.tolist(), []
    for i, (c, other) in enumerate(order.tolist()):
        placed = not lost[i]
        margin, baseline = (float(found.margin[i]), float(bases[i])) if placed else (0.0, 0.0)
        reasons = sorted(parts[i], key=lambda one: -abs(one.amount)) if placed else []
        rows.append(
            ExplainedRow(
                row=first + i,
                predicted=names[c],
                probability=float(shares[i, c]),
                runner_up=names[other],
                runner_up_probability=float(shares[i, other]),
                placed=placed,
                margin=margin,
                baseline=baseline,
                contributions=tuple(reasons),
                remainder=margin - baseline - sum(one.amount for one in reasons),
            )
        )
    return rows

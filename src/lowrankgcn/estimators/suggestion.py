r"""Choice of the rows to label next by expected reduction of variance.

Logits are modelled by a Gaussian process over the rows with the covariance 𝒦 = ΦΦᵀ,
Φ = U φ(Λ)^{1/2}, φ(λ) = 1/(λ + ε). Given labels I with noise σ², the covariance is ΦΣΦᵀ with
Σ = (I + Φ_IᵀΦ_I/σ²)^{-1}. A label of row i reduces the variance of row j by
(φ_jᵀΣφ_i)²/(σ² + φ_iᵀΣφ_i). The row with the largest

.. math:: u_i \, \frac{\sum_j u_j (\varphi_j^T \Sigma \varphi_i)^2}{\sigma^2 + \varphi_i^T \Sigma
          \varphi_i} = u_i \, \frac{\varphi_i^T \Sigma M \Sigma \varphi_i}
          {\sigma^2 + \varphi_i^T \Sigma \varphi_i}, \qquad M = \sum_j u_j \varphi_j \varphi_j^T,

is chosen, Σ is updated, and so on. u is the uncertainty of each row,

.. math:: u_j = 1 - (p_{(1)} - p_{(2)}) \Big(1 - \frac34 \frac{\varphi_j^T \Sigma \varphi_j}
          {\varphi_j^T \varphi_j} \Big)

with its two largest probabilities p. The second factor distrusts confident predictions far from all
labels; otherwise classes without a label would never be found. The rule spreads the rows, because
the variance is low near labelled ones, and avoids outliers, which reduce no other variance.

>>> import numpy as np
>>> line = np.c_[np.ones(5), np.linspace(-1, 1, 5)]  # five rows along a line
>>> greedy_rows(line, np.ones(5), labelled=[4], candidates=np.arange(4), k=2).tolist()
[0, 3]
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._validation import invalid, node_index, positive_int
from lowrankgcn.exceptions import DegenerateCutWarning, DisconnectedGraphWarning, RankWarning
from lowrankgcn.graphs import Graph
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.eigenpairs import eigenpairs
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs

__all__ = ["embedding", "greedy_rows", "suggest", "uncertainty"]

Index = NDArray[np.intp]

_RANK = 30
# σ² (the mean of 𝒦(i, i) is one), and the distrust of confident predictions far from labels. On
# cars, mushrooms and digits σ² = 0.01 to 0.1 and distrust 0 to 1 gain much the same; with 0 unknown
# classes are not searched, with 1 ten mushrooms are worse than random ones.
_NOISE = 0.03
_DOUBT = 0.75
# A component without a label comes first if it holds this share of the rows.
_LEAST_PART = 0.01


def suggest(
    laplacian: Laplacian,
    pairs: Eigenpairs | None,
    labelled: Any,
    k: Any,
    *,
    distributions: FloatArray | None = None,
    among: Any = None,
    n_classes: int = 2,
) -> Index:
    """Return the rows to label next, the most useful first.

    Parameters
    ----------
    laplacian : Laplacian
    pairs : Eigenpairs or None
        Eigenpairs of the Laplacian; computed if None.
    labelled : (p,) int array
        Labelled rows, possibly none.
    k : int
        Number of rows.
    distributions : (n, C) array, optional
        Class distributions of all rows; all are equally uncertain when omitted.
    among : (t,) int array or (n,) mask, optional
        Rows to choose from; all unlabelled rows when omitted.
    n_classes : int
        Number of known classes.

    Raises
    ------
    ValueError
        If there are fewer than `k` rows to choose from.

    Notes
    -----
    O(n r (r + k)). Components without a label that hold at least one row in a hundred come first,
    in order of size. Duplicates of labelled or chosen rows come last.
    """
    graph = laplacian.graph
    labelled = node_index(labelled, "labelled", graph.n_nodes)
    candidates = _candidates(graph.n_nodes, labelled, among, k)
    Phi = embedding(_pairs(laplacian, pairs), n_classes)
    weights = np.ones(len(Phi)) if distributions is None else uncertainty(distributions)
    parts = _unlabelled_parts(graph, labelled)
    return greedy_rows(
        Phi, weights, labelled, candidates, int(k), parts=parts, keys=_keys(graph, Phi)
    )


def uncertainty(distributions: FloatArray) -> FloatArray:
    """Return one minus the difference of the two largest probabilities, shape (n,).

    >>> uncertainty(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])).tolist()
    [0.0, 1.0]
    """
    largest = np.partition(distributions, -2, axis=1)[:, -2:]
    return 1.0 - (largest[:, 1] - largest[:, 0])


def embedding(pairs: Eigenpairs, n_classes: int) -> FloatArray:
    """Compute Φ = U (Λ + ε)^{-1/2}, ε the C-th positive eigenvalue; rows of mean square one."""
    values = np.asarray(pairs.eigenvalues, np.float64)
    positive = values[values > 1e-9]
    epsilon = float(positive[min(n_classes, len(positive)) - 1]) if len(positive) else 1.0
    Phi: FloatArray = pairs.eigenvectors / np.sqrt(np.maximum(values, 0.0) + epsilon)
    size = float(np.vdot(Phi, Phi))
    return Phi * np.sqrt(len(Phi) / size) if size > 0 else Phi


def greedy_rows(
    Phi: FloatArray,
    weights: FloatArray,
    labelled: Any,
    candidates: Any,
    k: int,
    *,
    parts: Sequence[NDArray[np.bool_]] = (),
    keys: NDArray[Any] | None = None,
) -> Index:
    """Choose `k` of the candidates greedily.

    Parameters
    ----------
    Phi : (n, r) array
    weights : (n,) array
        Uncertainties.
    labelled, candidates : int arrays
    k : int
    parts : sequence of (n,) bool arrays
        Disjoint sets of rows; one row of each is chosen first.
    keys : (n,) array, optional
        Equal keys mark duplicate rows.
    """
    labelled = np.asarray(labelled, np.intp)
    keys = np.arange(len(Phi)) if keys is None else keys
    posterior = _Posterior(Phi, weights, labelled)
    free = np.zeros(len(Phi), bool)
    free[candidates] = True
    fresh = free & ~np.isin(keys, keys[labelled])
    regions = [part for part in parts if (part & free).any()]
    chosen: list[int] = []
    for region in islice(chain(regions, repeat(np.ones(len(Phi), bool))), k):
        best = region & fresh
        row = posterior.best(best if best.any() else region & free)
        chosen.append(row)
        free[row] = False
        fresh &= keys != keys[row]
        posterior.add(row)
    return np.array(chosen, np.intp)


class _Posterior:
    """ΦΣ, variances and reductions of variance, updated in O(n r) for each label."""

    def __init__(self, Phi: FloatArray, uncertain: FloatArray, labelled: Index) -> None:
        rank = Phi.shape[1]
        known = Phi[labelled]
        Sigma = np.linalg.inv(known.T @ known / _NOISE + np.eye(rank))
        self._Phi, self._T = Phi, Phi @ Sigma
        self._variance = np.einsum("ij,ij->i", self._T, Phi)
        prior = np.einsum("ij,ij->i", Phi, Phi)
        unknown = self._variance / np.maximum(prior, np.finfo(np.float64).tiny)
        self._weights = 1.0 - (1.0 - uncertain) * (1.0 - _DOUBT * unknown)
        self._M = (Phi * self._weights[:, None]).T @ Phi
        self._reduction = np.einsum("ij,ij->i", self._T @ self._M, self._T)

    def best(self, allowed: NDArray[np.bool_]) -> int:
        """Return the first row of largest gain."""
        rows = np.flatnonzero(allowed)
        scores = self._weights[rows] * self._reduction[rows] / (_NOISE + self._variance[rows])
        return int(rows[scores.argmax()])

    def add(self, row: int) -> None:
        """Add a label of `row`."""
        v = self._T[row].copy()
        shared = self._Phi @ v
        step = shared / (_NOISE + self._variance[row])
        Mv = self._M @ v
        self._reduction += step * (step * float(v @ Mv) - 2.0 * (self._T @ Mv))
        np.maximum(self._reduction, 0.0, out=self._reduction)
        self._variance = np.maximum(self._variance - step * shared, 0.0)
        self._T -= np.outer(step, v)


def _candidates(n: int, labelled: Index, among: Any, k: Any) -> Index:
    free = np.zeros(n, bool)
    free[slice(None) if among is None else node_index(among, "among", n)] = True
    free[labelled] = False
    count = int(free.sum())
    if positive_int(k, "k") > count:
        raise invalid("k", f"at most {count}, the number of rows without a label", k)
    return np.flatnonzero(free)


def _pairs(laplacian: Laplacian, pairs: Eigenpairs | None) -> Eigenpairs:
    if pairs is not None:
        return pairs
    with warnings.catch_warnings():  # the user did not choose this rank
        for category in (RankWarning, DegenerateCutWarning, DisconnectedGraphWarning):
            warnings.simplefilter("ignore", category)
        return eigenpairs(laplacian, min(_RANK, laplacian.n), random_state=0)


def _unlabelled_parts(graph: Graph, labelled: Index) -> list[NDArray[np.bool_]]:
    """Return masks of the components without a label that are large enough, largest first."""
    sizes = np.bincount(graph.components, minlength=graph.n_components)
    worth = sizes >= max(2.0, _LEAST_PART * graph.n_nodes)
    worth[graph.components[labelled]] = False
    order = np.argsort(-sizes, kind="stable")
    return [graph.components == part for part in order if worth[part]]


def _keys(graph: Graph, Phi: FloatArray) -> NDArray[np.uint64]:
    """Return keys that are equal for rows with the same hyperedges, points or embedding."""
    rows: Any = Phi if graph.node_data is None else graph.node_data
    frame = pd.DataFrame(rows + 0)  # adding zero unifies the two zeros
    keys: NDArray[np.uint64] = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return keys

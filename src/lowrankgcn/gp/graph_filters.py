r"""Filters of full rank: products φ(S) V with normalised weights S, without forming φ(S).

The weights of a graph or hypergraph, with loops, are normalised to :math:`S = D^{-1/2} W D^{-1/2}`.
Its eigenvalues μ lie in [−1, 1], and L = I − S is a Laplacian with the eigenvalues λ = 1 − μ. A
filter φ(λ) is applied as a Chebyshev series in S, whose cost is one product with S per degree.
Several filters of the same S share the products.

============ =============== =====================================================================
block        φ(λ)            propagated features φ(S) F
============ =============== =====================================================================
``ego``      1               the features of the node itself
``high``     λ               difference from the neighbours (heterophily)
``conv``     (1 − λ)²        two graph convolutions; norms tell degrees
``graph``    ε/(λ + ε)       personalised PageRank with α = 1/(1 + ε) = 0.9 on the graph
``joint``    ε/(λ + ε)       α = 0.95 on the graph joined with nearest neighbours in the features
``near``     ε/(λ + ε)       α = 0.9 on the nearest neighbours alone
============ =============== =====================================================================

>>> import numpy as np, scipy.sparse as sp
>>> S = Smoother.normalise(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), loops=1.0)
>>> V = np.array([[2.0], [0.0]], np.float32)
>>> [rows.tolist() for rows in apply_filters(S, [PROPAGATIONS["high"].filter], V)]
[[[1.0], [-1.0]]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final

import numpy as np
import scipy.sparse as sp
from numpy.polynomial.chebyshev import chebinterpolate
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.filters import Constant, Filter, Polynomial, RegularizedInverse

Single = NDArray[np.float32]
Place = Literal["graph", "joint", "near"]

# Weights of nearest neighbours, of which each node has about one in total, and of loops.
WEIGHTS = {"joint": (0.5, 1.0), "near": (1.0, 0.1)}
_TOLERANCE = 0.01  # of a filter, relative to its largest response
_MOST_STEPS = 60


class Propagation(NamedTuple):
    """A block φ(S) F.

    Attributes
    ----------
    place : {"graph", "joint", "near"}
        Weights that S is made of.
    filter : Filter
        Function of the eigenvalues of I − S.
    unit_rows : bool
        Whether the centred rows are divided by their norms. Diffused features of all nodes are
        almost parallel, so that they must be centred first.
    """

    place: Place
    filter: Filter
    unit_rows: bool


def _page_rank(epsilon: float) -> Filter:
    return epsilon * RegularizedInverse(epsilon)


PROPAGATIONS = {
    "ego": Propagation("graph", Constant(1.0), False),
    "high": Propagation("graph", Polynomial((0.0, 1.0)), True),
    "conv": Propagation("graph", Polynomial((1.0, -2.0, 1.0)), False),
    "graph": Propagation("graph", _page_rank(1 / 9), True),
    "joint": Propagation("joint", _page_rank(1 / 19), True),
    "near": Propagation("near", _page_rank(1 / 9), True),
}


@final
@dataclass(frozen=True, eq=False)
class Smoother:
    """Normalised weights S = A + B Bᵀ in single precision.

    Attributes
    ----------
    matrix : (n, n) csr_array
        Weights between pairs of nodes, and loops.
    incidence : (n, e) csr_array or None
        Weighted incidence of hyperedges, which are not expanded to pairs.
    scale : (n,) array
        Diagonal of :math:`D^{-1/2}`.
    """

    matrix: sp.csr_array
    incidence: sp.csr_array | None
    scale: FloatArray

    @classmethod
    def normalise(
        cls, weights: sp.csr_array, loops: float, incidence: sp.csr_array | None = None
    ) -> Smoother:
        """Normalise weights without diagonal, plus B Bᵀ without its diagonal, plus loops."""
        n = weights.shape[0]
        degrees = np.asarray(weights.sum(axis=1)).ravel() + loops
        diagonal = np.full(n, loops)
        if incidence is not None:
            own = np.asarray(incidence.multiply(incidence).sum(axis=1)).ravel()
            degrees += incidence @ np.asarray(incidence.sum(axis=0)).ravel() - own
            diagonal -= own
        scale = 1.0 / np.sqrt(degrees)
        matrix = sp.csr_array(weights + sp.diags_array(diagonal))
        matrix.data *= np.repeat(scale, np.diff(matrix.indptr)) * scale[matrix.indices]
        scaled = None if incidence is None else _single(sp.diags_array(scale) @ incidence)
        return cls(_single(matrix), scaled, scale)

    def __matmul__(self, V: Single) -> Single:
        """Return S V."""
        product: Single = self.matrix @ V
        if self.incidence is not None:
            product += self.incidence @ (self.incidence.T @ V)
        return product


def _single(matrix: Any) -> sp.csr_array:
    """Return a matrix with values and indices of 32 bits, if its size allows."""
    single = sp.csr_array(matrix, dtype=np.float32)
    if max(*single.shape, single.nnz) < np.iinfo(np.int32).max:
        parts = (single.data, single.indices.astype(np.int32), single.indptr.astype(np.int32))
        single = sp.csr_array(parts, shape=single.shape)
    return single


def chebyshev_coefficients(filter: Filter) -> FloatArray:
    """Return coefficients of φ(1 − x) on [−1, 1], as few as the tolerance allows."""
    degree = len(filter.coefficients) - 1 if filter.coefficients is not None else _MOST_STEPS
    response: Any = lambda x: filter(1.0 - x)  # noqa: E731
    series: FloatArray = chebinterpolate(response, degree)
    size = np.abs(filter(np.linspace(0.0, 2.0, 101))).max()
    tails = np.cumsum(np.abs(series[::-1]))[::-1]
    return series[: max(1, int((tails > _TOLERANCE * size).sum()))]


def apply_filters(smoother: Smoother, filters: Sequence[Filter], V: Single) -> list[Single]:
    """Return φ(S) V for columns V, shape (n, c), and each filter φ, by Chebyshev polynomials."""
    series = [chebyshev_coefficients(filter).astype(np.float32) for filter in filters]
    results = [coefficients[0] * V for coefficients in series]
    before, current, term = V, V, np.empty_like(V)
    for k in range(1, max(map(len, series))):
        step = smoother @ current
        if k > 1:
            step *= 2.0
            step -= before
        before, current = current, step
        for coefficients, result in zip(series, results, strict=True):
            if k < len(coefficients):
                result += np.multiply(coefficients[k], step, out=term)
    return results

"""The normalised Laplacian of any graph with any smoother, as an operator (sections A2.4 and A3.3).

>>> import numpy as np
>>> import lowrankgcn as lg
>>> graph = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
>>> L = lg.Laplacian(graph)
>>> L.to_dense().round(3)
array([[ 1.   , -0.707,  0.   ],
       [-0.707,  1.   , -0.707],
       [ 0.   , -0.707,  1.   ]])
>>> bool(np.abs(L @ np.sqrt(L.degrees)).max() < 1e-15)
True
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks, single_threaded_blas_if_small
from lowrankgcn._validation import choice, invalid, positive_float, set_fields
from lowrankgcn.graphs import Graph
from lowrankgcn.graphs.cross_affinity import node_scale
from lowrankgcn.graphs.matrices import read_only, weight_array
from lowrankgcn.operators import (
    DiagonalPlusLowRank,
    Factor,
    FloatArray,
    ScaledFactor,
    SymmetricOperator,
)
from lowrankgcn.operators.affinity import Affinity
from lowrankgcn.operators.fastsum import METHODS

CHUNK_ROWS = 8192  # rows of vectors processed at a time, so that they stay in the cache
_LONG_CHUNK = 2**17  # rows of vectors converted to double precision at a time
SMOOTHERS = ("none", "identity", "hypergraph", "combined")


def loop_weights(graph: Graph, smoother: Any) -> FloatArray:
    """Return the diagonal S of section A2.4 for a smoother, shape (n,).

    Parameters
    ----------
    graph : Graph
    smoother : None, str, float or (n,) array
        None and "hypergraph": the graph's own loops (S_H of a hypergraph, the diagonal of a given
        adjacency, none of a Gaussian graph); "none": 0; "identity": I; "combined": the graph's own
        loops plus I; a number α ≥ 0: αI; an array of numbers ≥ 0: itself.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.spectral.laplacian import loop_weights
    >>> graph = lg.Hypergraph([[1, 0], [1, 1]])
    >>> loop_weights(graph, "combined").tolist()
    [1.5, 2.5]
    """
    n = graph.n_nodes
    if smoother is None:
        return graph.loop_weights
    if isinstance(smoother, str):
        choice(smoother, "smoother", SMOOTHERS)
        loops = graph.loop_weights if smoother in ("hypergraph", "combined") else np.zeros(n)
        return loops + 1.0 if smoother in ("identity", "combined") else loops
    if not isinstance(smoother, (list, tuple)) and np.ndim(smoother) == 0:
        return np.full(n, positive_float(smoother, "smoother", zero=True))
    return weight_array(smoother, n, "smoother", zero=True).copy()


@final
@dataclass(frozen=True, eq=False)
class NullSpace:
    """The exact null space: one vector √(d + s) per component, a unit vector if isolated.

    Attributes
    ----------
    components : (n,) int array
        Component of every node.
    profile : (n,) array
        Sum of the normalised vectors, whose supports are disjoint.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> path = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> null = lg.Laplacian(path).null_space
    >>> null.dimension, null.profile.round(3).tolist()
    (1, [0.5, 0.707, 0.5])
    """

    components: NDArray[np.intp]
    profile: FloatArray

    @cached_property
    def dimension(self) -> int:
        """Multiplicity of the eigenvalue zero: the number of components."""
        return int(self.components.max()) + 1

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The null vectors as columns of a sparse matrix, shape (n, dimension)."""
        n = len(self.profile)
        entries = self.profile, self.components, np.arange(n + 1)
        return sp.csr_array(entries, shape=(n, self.dimension))

    def vectors(self, numbers: Sequence[int] | NDArray[np.intp]) -> FloatArray:
        """Return the null vectors of the given numbers as columns, shape (n, len(numbers))."""
        if self.dimension == 1:
            return np.repeat(self.profile[:, None], len(numbers), axis=1)
        return np.asarray(self.matrix[:, np.asarray(numbers, np.intp)].toarray())

    def coefficients(self, X: FloatArray) -> FloatArray:
        """Compute inner products of X (n, k) with the null vectors, shape (dimension, k)."""
        # In pieces: single precision vectors are not copied to double as a whole.
        transposed = self.profile[None] if self.dimension == 1 else self.matrix.T
        parts = map_chunks(lambda a, b: transposed[:, a:b] @ X[a:b], len(X), _LONG_CHUNK)
        return np.asarray(np.sum(parts, axis=0))

    def combine(
        self, coefficients: FloatArray, start: int = 0, stop: int | None = None
    ) -> FloatArray:
        """Compute rows start, …, stop − 1 of the null vectors times coefficients (dimension, k)."""
        rows = slice(start, stop)
        return self.profile[rows, None] * coefficients[self.components[rows]]

    def project_out(self, X: FloatArray) -> FloatArray:
        """Return X (n, k) minus its part in the null space, in O(n k) for any dimension."""
        return X - self.combine(self.coefficients(X))


@final
@dataclass(frozen=True, init=False, eq=False)
class Laplacian(SymmetricOperator):
    r"""The normalised Laplacian of a graph with loop weights S.

    .. math:: \mathcal{L}_S = (D+S)^{-1/2} (D - W) (D+S)^{-1/2}
              = I - (D+S)^{-1/2} (W+S) (D+S)^{-1/2}

    (section A2.4; equation 1 for S = 0, section 3 for a hypergraph with S = S_H). Rows and columns
    of isolated nodes are zero, as in the first form, so that the multiplicity of zero is the
    number of components.

    Parameters
    ----------
    graph : Graph
        Any graph of this package.
    smoother : None, "none", "identity", "hypergraph", "combined", float or (n,) array
        The loops S, see :func:`lowrankgcn.spectral.laplacian.loop_weights`. None uses the
        graph's own. S_H + αI is ``graph.loop_weights + alpha``.
    tol : float
        Largest measured error of the products, where they are approximated (Gaussian graphs).
    method : str
        Summation method of a Gaussian graph, see :meth:`lowrankgcn.GaussianGraph.affinity`.

    Attributes
    ----------
    degrees : (n,) array
        The normalising diagonal D + S.
    affinity : Affinity
        Products with the weights.
    shift, scale : (n,) arrays
        𝓛_S = diag(shift) − diag(scale) A diag(scale) with the affinity's operator A.
    factor : Factor or None
        Z with 𝓛_S = diag(shift) − Z Zᵀ (section A3.3), for hypergraphs and landmark kernels.
    null_space : NullSpace

    See Also
    --------
    eigenpairs : Eigenvalues and eigenvectors.
    kernel : Functions of the Laplacian.
    GaussianGraph, Hypergraph, AdjacencyGraph : Graphs.

    Notes
    -----
    A product with k vectors costs one product of the affinity; nothing n×n is formed.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> graph = lg.Hypergraph([[1, 1], [1, 0], [0, 1]])
    >>> lg.Laplacian(graph).to_dense()
    array([[ 0.5       , -0.35355339, -0.35355339],
           [-0.35355339,  0.5       ,  0.        ],
           [-0.35355339,  0.        ,  0.5       ]])
    """

    graph: Graph
    smoother: Any
    tol: float
    method: str
    affinity: Affinity
    loop_weights: FloatArray
    degrees: FloatArray
    shift: FloatArray
    scale: FloatArray

    def __init__(
        self, graph: Graph, smoother: Any = None, *, tol: float = 1e-6, method: str = "auto"
    ) -> None:
        if not isinstance(graph, Graph):
            raise invalid("graph", "a graph of this package", type(graph).__name__)
        choice(method, "method", METHODS)
        tolerance = positive_float(tol, "tol", maximum=0.1)
        loops = read_only(loop_weights(graph, smoother))
        with single_threaded_blas_if_small(graph.n_nodes):
            affinity = graph.affinity(tol=tolerance, method=method)
        own_loops = np.array_equal(loops, affinity.diagonal)
        with np.errstate(over="ignore"):
            degrees = affinity.degrees + loops
            if not np.isfinite(degrees.sum()):  # which normalises the null vectors
                got = f"loops up to {loops.max():g}"
                raise invalid("smoother", "weights and loops of a finite sum", got)
        if own_loops and affinity.row_sums is not None:
            # All equal for a complete table, which rounding would hide.
            degrees = affinity.row_sums
        joined = affinity.degrees > 0
        scale = node_scale(np.where(joined, degrees, 0.0))
        shift = np.zeros(len(degrees))
        # 1 − (S − a)/(D + S), written without the cancellation.
        np.divide(affinity.degrees + affinity.diagonal, degrees, out=shift, where=joined)
        if own_loops:
            shift[joined] = 1.0
        smoother = loops if np.ndim(smoother) else smoother
        set_fields(self, graph=graph, smoother=smoother, tol=tolerance, method=method)
        set_fields(self, affinity=affinity, loop_weights=loops, degrees=read_only(degrees))
        set_fields(self, shift=read_only(shift), scale=read_only(scale))

    def __repr__(self) -> str:
        smoother = f"({self.n},) array" if np.ndim(self.smoother) else repr(self.smoother)
        return f"Laplacian({self.graph!r}, smoother={smoother})"

    @property
    def n(self) -> int:
        """Number of nodes n."""
        return len(self.shift)

    def _apply(self, X: FloatArray) -> FloatArray:
        product = self.affinity.operator @ (self.scale[:, None] * X)
        product *= -self.scale[:, None]
        product += self.shift[:, None] * X
        return product

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        product = self.affinity.operator.rows(index, self.scale[:, None] * X)
        return self.shift[index][:, None] * X[index] - self.scale[index][:, None] * product

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,)."""
        # Not scale**2, which overflows for degrees below 1e-308.
        return self.shift - self.scale * (self.scale * self.affinity.diagonal)

    @cached_property
    def null_space(self) -> NullSpace:
        """Eigenvectors of the eigenvalue zero."""
        components = self.graph.components
        isolated = self.affinity.degrees == 0
        squares = np.where(isolated, 1.0, self.degrees)
        if self.graph.n_components == 1:
            return NullSpace(components, np.sqrt(squares / squares.sum()))
        norms = np.bincount(components, weights=squares)
        return NullSpace(components, np.sqrt(squares / norms[components]))

    @cached_property
    def joined_components(self) -> NDArray[np.intp]:
        """Numbers of the components that have edges."""
        return np.flatnonzero(np.bincount(self.graph.components, weights=self.scale) > 0)

    @cached_property
    def factor(self) -> Factor | None:
        """Z with 𝓛_S = diag(shift) − Z Zᵀ, or None where there is no such structure."""
        operator = self.affinity.operator
        if not isinstance(operator, DiagonalPlusLowRank):
            return None
        return ScaledFactor(operator.factor, row_scale=self.scale)

    @cached_property
    def has_constant_shift(self) -> bool:
        """Whether 𝓛_S = I − Z Zᵀ outside isolated nodes (section A3.1: hypergraph loops)."""
        return bool((self.shift[self.scale > 0] == 1.0).all())

    @cached_property
    def spectral_bound(self) -> float:
        """Upper bound of the spectrum, at most 2.

        Where W + diag(c) is positive semidefinite (Gaussian graphs, hypergraphs), 𝓛_S =
        T(D + diag(c))T − T(W + diag(c))T does not exceed max (d + c)/(d + s), which is near 1.
        """
        loops = self.graph.completing_loops
        if loops is None:
            return 2.0
        joined = self.affinity.degrees > 0
        with np.errstate(over="ignore"):  # degrees below 1e-308
            ratio = (self.affinity.degrees + loops)[joined] / self.degrees[joined]
        return min(2.0, float(ratio.max(initial=0.0)) + self.affinity.error)

    def sampled_residuals(self, values: FloatArray, vectors: NDArray[Any]) -> FloatArray:
        """Estimate ‖𝓛u − λu‖ with exact weights where products are approximated, shape (k,).

        The rows of lowest degree are evaluated exactly, the others through a random sample whose
        sum of squares is extrapolated. Zeros when products are exact anyway.
        """
        exact = self.affinity.exact_rows
        if exact is None:
            return np.zeros(len(values))
        weighted = exact.product(vectors, self.scale)
        scale = self.scale[exact.index][:, None]
        # 𝓛 = (D+S)^-1 D − T W T
        diagonal = scale**2 * self.affinity.degrees[exact.index][:, None]
        residual = (diagonal - values) * vectors[exact.index] - scale * weighted
        return np.sqrt(exact.estimate_total(residual**2))

    def with_tolerance(self, tol: float) -> Laplacian:
        """Return the Laplacian with products accurate to `tol`; itself if they already are."""
        if positive_float(tol, "tol") >= self.tol or self.affinity.exact:
            return self
        return Laplacian(self.graph, self.smoother, tol=tol, method=self.method)

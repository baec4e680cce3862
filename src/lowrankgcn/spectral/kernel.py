"""Kernels 𝒦 = φ(𝓛): a filter applied to a Laplacian, in the form that is cheapest to multiply.

================ ================================================= =================================
form             when                                              structure
================ ================================================= =================================
affine           degree one, 𝓛 = diag − Z Zᵀ (A3.1.1, A3.3)        diag(a₀ + a₁·shift) − a₁ Z Zᵀ
structured       polynomial, 𝓛 = I − Z Zᵀ (A3.1.2)                 b₀I + Z M Zᵀ
structured       any filter, 𝓛 = I − Z Zᵀ (A3.1.3)                 φ(1)I + U_R M U_Rᵀ
polynomial       polynomial on any other Laplacian                 repeated products with 𝓛
low-rank         a rank is given (Lemma 1, A3.1.4)                 U_r φ(Λ_r) U_rᵀ
dense            any filter, n ≤ 2048                              U φ(Λ) Uᵀ
================ ================================================= =================================

>>> import lowrankgcn as lg
>>> cars = lg.datasets.load_cars(as_frame=True)
>>> L = lg.Laplacian(lg.Hypergraph.from_table(cars.data))
>>> K = lg.kernel(L, "linear", rank=16)
>>> K.form, K.operator.factor.shape
('low-rank', (1728, 16))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final, overload

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import single_threaded_blas_if_small
from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.operators import (
    DiagonalPlusLowRank,
    Factor,
    FloatArray,
    MatrixFactor,
    MatrixOperator,
    PolynomialOperator,
    SymmetricOperator,
)
from lowrankgcn.operators.symmetric_operator import DENSE_LIMIT
from lowrankgcn.spectral.dominant import bind_filters
from lowrankgcn.spectral.eigenpairs import (
    Eigenpairs,
    accurate_pairs,
    checked_request,
)
from lowrankgcn.spectral.filters import Filter, FilterLike, as_filters
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.direct import solve_dense, solve_svd
from lowrankgcn.spectral.solvers.solution import Request, Solution
from lowrankgcn.spectral.truncation import TruncationError, truncation_error

_WIDEST_FACTOR = 4096  # columns of Z up to which the small matrix of a structured kernel is stored


@final
@dataclass(frozen=True, eq=False)
class Kernel(SymmetricOperator):
    """The kernel matrix 𝒦 = U φ(Λ) Uᵀ of equation (2), as an operator.

    Attributes
    ----------
    operator : SymmetricOperator
        Computes the products: dense, polynomial, or diagonal plus low rank.
    filter : Filter
        φ, bound to the spectrum.
    form : {"affine", "structured", "polynomial", "low-rank", "dense"}
        The structure, see the table of the module.
    eigenpairs : Eigenpairs or None
        The pairs of a low-rank kernel.
    laplacian : Laplacian
        The Laplacian of the kernel.

    See Also
    --------
    kernel : Builds kernels.
    nn.as_propagation : A kernel as a torch module.

    Examples
    --------
    >>> import numpy as np, lowrankgcn as lg
    >>> L = lg.Laplacian(lg.AdjacencyGraph([[0, 1], [1, 0]]))
    >>> lg.kernel(L, "heat").to_dense().round(4)
    array([[0.5677, 0.4323],
           [0.4323, 0.5677]])
    """

    operator: SymmetricOperator
    filter: Filter
    form: str
    laplacian: Laplacian
    eigenpairs: Eigenpairs | None = None

    def __repr__(self) -> str:
        rank = "" if self.eigenpairs is None else f", rank={self.eigenpairs.rank}"
        return f"Kernel({self.filter} of {self.laplacian!r}, form={self.form!r}{rank})"

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.operator.n

    def _apply(self, X: FloatArray) -> FloatArray:
        return self.operator @ X

    def _apply_rows(self, index: NDArray[np.intp], X: FloatArray) -> FloatArray:
        return self.operator.rows(index, X)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, shape (n,)."""
        return self.operator.diagonal()

    @property
    def response(self) -> FloatArray:
        """φ(Λ_r) of a low-rank kernel, shape (r,)."""
        if self.eigenpairs is None:
            raise invalid("kernel", "a kernel of given rank", f"form {self.form!r}")
        return self.filter(self.eigenpairs.eigenvalues)

    def truncation_error(self, *, random_state: int = 0) -> TruncationError:
        """Compute the truncation error ‖𝒦 − 𝒦̃‖_F (Lemma 1); zero for full rank.

        Exact if all eigenvalues are known or cheap (hypergraphs, n ≤ 2048). Otherwise estimated by
        stochastic Lanczos quadrature: E‖φ(𝓛)z‖² over random signs z, projected off the pairs, is
        the squared norm. This costs 24 products for each of 16 probes (4 for more than 100 000
        nodes).
        """
        seed = positive_int(random_state, "random_state", minimum=0)
        if self.eigenpairs is None:
            return TruncationError(0.0, 0.0)
        return truncation_error(self.laplacian, self.filter, self.eigenpairs, seed)


@overload
def kernel(
    laplacian: Laplacian,
    filter: FilterLike,
    rank: int | None = None,
    *,
    tol: float | None = None,
    random_state: int = 0,
) -> Kernel: ...
@overload
def kernel(
    laplacian: Laplacian,
    filter: list[FilterLike] | tuple[FilterLike, ...],
    rank: int | None = None,
    *,
    tol: float | None = None,
    random_state: int = 0,
) -> tuple[Kernel, ...]: ...
def kernel(
    laplacian: Laplacian,
    filter: FilterLike | list[FilterLike] | tuple[FilterLike, ...],
    rank: int | None = None,
    *,
    tol: float | None = None,
    random_state: int = 0,
) -> Kernel | tuple[Kernel, ...]:
    r"""Build the kernel :math:`\mathcal{K} = U\varphi(\Lambda)U^T` without forming it.

    Parameters
    ----------
    laplacian : Laplacian
    filter : Filter, name, callable, or list of them
        A list (K > 1 basis functions) gives a tuple of kernels; with a rank they share one set of
        eigenpairs, those of largest :math:`\max_k |\varphi_k(\lambda)|`.
    rank : int, optional
        Target rank r: the kernel keeps the r eigenvalues of largest :math:`|\varphi|`. Full rank
        when omitted.
    tol : float, optional
        Passed to the eigensolver; the Laplacian's own by default.
    random_state : int
        Seed for the eigensolver.

    Returns
    -------
    Kernel or tuple of Kernel

    Raises
    ------
    ValueError
        If a full-rank kernel would need an n×n matrix beyond n = 2048, or if a polynomial overflows
        on the spectrum.

    Warns
    -----
    RankWarning, DegenerateCutWarning
        See :func:`lowrankgcn.eigenpairs`.

    See Also
    --------
    Kernel : The result.
    lowrankgcn.filters : Filters by name.
    nn.GCN : Network with one or more kernels.

    Notes
    -----
    A product 𝒦X with k columns costs O(n r k) at rank r, O(n m k) for a hypergraph
    of full rank with m hyperedges.

    Examples
    --------
    >>> import numpy as np, lowrankgcn as lg
    >>> spiral = lg.datasets.load_spiral(100, random_state=0)
    >>> L = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
    >>> K = lg.kernel(L, "pseudoinverse", rank=10)
    >>> K.response[0], (K @ spiral.data).shape, K.rows([0, 7], spiral.data).shape
    (np.float64(1.0), (500, 3), (2, 3))
    """
    request = checked_request(laplacian, tol, random_state)
    filters = as_filters(filter)
    if rank is None:
        accurate = laplacian.with_tolerance(request.tol)
        with single_threaded_blas_if_small(laplacian.n):
            bound = bind_filters(filters, accurate, request, None)
            kernels = tuple(_full_rank(accurate, phi) for phi in bound)
    else:
        target = positive_int(rank, "rank", maximum=laplacian.n)
        pairs, bound = accurate_pairs(laplacian, target, filters, request)
        kernels = low_rank_kernels(laplacian, bound, pairs)
    return kernels if isinstance(filter, (list, tuple)) else kernels[0]


def low_rank_kernels(
    laplacian: Laplacian, filters: Sequence[Filter], pairs: Eigenpairs
) -> tuple[Kernel, ...]:
    """Build kernels U_r φ_k(Λ_r) U_rᵀ of several filters from given eigenpairs.

    Parameters
    ----------
    laplacian : Laplacian
    filters : sequence of Filter
        Bound to the spectrum, see :meth:`Filter.bind`.
    pairs : Eigenpairs
        The pairs to keep.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> L = lg.Laplacian(lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> pairs = lg.eigenpairs(L, 2)
    >>> [K.response.tolist() for K in low_rank_kernels(L, [lg.filters.Constant()], pairs)]
    [[1.0, 1.0]]
    """
    factor, nothing = MatrixFactor(pairs.eigenvectors), np.zeros(len(pairs.eigenvectors))
    kernels = []
    for phi in filters:
        operator = DiagonalPlusLowRank(nothing, factor, phi(pairs.eigenvalues))
        kernels.append(Kernel(operator, phi, "low-rank", laplacian, pairs))
    return tuple(kernels)


def _full_rank(laplacian: Laplacian, phi: Filter) -> Kernel:
    """Build φ(𝓛) in the first form of the module's table that is affordable."""
    factor, coefficients, n = laplacian.factor, phi.coefficients, laplacian.n
    if coefficients is not None:
        # The spectrum lies in [0, 2]; products with a polynomial never evaluate φ there.
        with np.errstate(over="ignore", invalid="ignore"):
            bound = np.polynomial.polynomial.polyval(2.0, np.abs(coefficients))
        if not np.isfinite(bound):
            raise invalid("filter", "coefficients that stay finite on [0, 2]", phi)
    # With more hyperedges than nodes the small matrix M is the larger one.
    narrow = factor is not None and factor.shape[1] <= min(n, _WIDEST_FACTOR)
    request = Request(laplacian.tol)
    operator: SymmetricOperator
    if factor is not None and coefficients is not None and len(coefficients) <= 2:
        form, (a0, a1) = "affine", (*coefficients, 0.0)[:2]
        core = np.full(factor.shape[1], -a1)
        operator = DiagonalPlusLowRank(a0 + a1 * laplacian.shift, factor, core)
    elif factor is not None and narrow and laplacian.has_constant_shift:
        form = "structured"
        if coefficients is None:
            operator = _spectral(laplacian, phi, solve_svd(laplacian, request))
        else:
            operator = _structured_polynomial(laplacian, factor, coefficients)
    elif coefficients is not None:
        form, operator = "polynomial", PolynomialOperator(laplacian, coefficients)
    elif n <= DENSE_LIMIT:
        everything = _spectral(laplacian, phi, solve_dense(laplacian, request))
        form, operator = "dense", MatrixOperator(everything.to_dense())
    else:
        expected = f"a rank: this filter at full rank needs an n×n matrix for n = {n} nodes"
        raise invalid("rank", expected, None)
    return Kernel(operator, phi, form, laplacian)


def _structured_polynomial(
    laplacian: Laplacian, factor: Factor, coefficients: Sequence[float]
) -> SymmetricOperator:
    """Return b₀I + Z M Zᵀ with M = Σ_{j≥1} (−1)^j b_j (ZᵀZ)^{j−1} (section A3.1.2).

    The b_j are the Taylor coefficients at λ = 1. Isolated nodes, whose rows of Z vanish, have the
    eigenvalue 0 instead of 1 and get φ(0).
    """
    taylor = [
        sum(math.comb(i, j) * a for i, a in enumerate(coefficients) if i >= j)
        for j in range(len(coefficients))
    ]
    gram = factor.gram()
    core = np.zeros_like(gram)
    for j in range(len(taylor) - 1, 0, -1):
        core = gram @ core
        core[np.diag_indices_from(core)] += (-1) ** j * taylor[j]
    offset = np.where(laplacian.shift == 0, coefficients[0], taylor[0])
    return DiagonalPlusLowRank(offset, factor, (core + core.T) / 2)


def _spectral(laplacian: Laplacian, phi: Filter, solution: Solution) -> SymmetricOperator:
    """Return φ(b)I + U (φ(Λ) − φ(b)) Uᵀ with all pairs of a solution (section A3.1.3).

    U includes null vectors; b is the eigenvalue of all vectors outside its span, if there are any.
    """
    joined = laplacian.joined_components
    others, _ = solution.build(np.arange(len(solution.values)), np.float64)
    vectors = np.hstack([laplacian.null_space.vectors(joined), others])
    at_zero, at_bulk = phi(np.array([0.0, solution.bulk_value])) * [1, solution.bulk_count > 0]
    response = np.concatenate([np.full(len(joined), at_zero), phi(solution.values)])
    offset = np.where(laplacian.scale == 0, at_zero, at_bulk)
    return DiagonalPlusLowRank(offset, MatrixFactor(vectors), response - at_bulk)

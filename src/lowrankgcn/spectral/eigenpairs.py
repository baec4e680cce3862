"""Eigenpairs of a Laplacian: the smallest, the largest or those that a filter weighs most.

Eigenvalues ascend; zeros come first, one eigenvector per connected component in the order of the
components' first nodes. Every other eigenvector is signed so that, among the entries whose
magnitude is within a millionth of the largest, the first is positive: rounding cannot flip it.
Inside a multiple eigenvalue the basis is the solver's; GCNs do not depend on it, reduced-order GCNs
do.

>>> import lowrankgcn as lg
>>> L = lg.Laplacian(lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
>>> lg.eigenpairs(L, 2).eigenvalues.round(12).tolist()
[0.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._format import number, scientific
from lowrankgcn._parallel import map_chunks, single_threaded_blas_if_small, worthwhile_threads
from lowrankgcn._validation import choice, invalid, positive_float, positive_int
from lowrankgcn.exceptions import (
    AccuracyWarning,
    DegenerateCutWarning,
    DisconnectedGraphWarning,
    warn_caller,
)
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.dominant import LARGEST, Chosen, solve_dominant
from lowrankgcn.spectral.filters import Filter, FilterLike, as_filters
from lowrankgcn.spectral.laplacian import CHUNK_ROWS, Laplacian
from lowrankgcn.spectral.solvers.solution import Request, Solution

_ACCURACY_ROUNDS = 3  # each with fast sums ten times as accurate; two suffice in practice
_SIGN_TOL = 1e-6
_CUT_TOL = 1e-8


@final
@dataclass(frozen=True, eq=False)
class WholeSpectrum:
    """All n eigenvalues with multiplicities.

    Attributes
    ----------
    values : (p,) array
        Ascending; may list a value several times.
    counts : (p,) int array
        Multiplicities, adding up to n.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> path = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> spectrum = lg.eigenpairs(lg.Laplacian(path), 2).spectrum
    >>> spectrum
    WholeSpectrum(3 eigenvalues 0..2)
    >>> spectrum.values.round(6).tolist(), spectrum.counts.tolist()
    ([0.0, 1.0, 2.0], [1, 1, 1])
    """

    values: FloatArray
    counts: NDArray[np.int64]

    def __repr__(self) -> str:
        """Show the number and the range of the eigenvalues."""
        return f"WholeSpectrum({self.counts.sum()} eigenvalues {_range(self.values)})"


@final
@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenpairs of a Laplacian with evidence of their accuracy.

    Attributes
    ----------
    eigenvalues : (k,) array
        Ascending; exactly 0.0 for the null space.
    eigenvectors : (n, k) array
        Orthonormal columns.
    residuals : (k,) array
        ‖𝓛u − λu‖ for the operator that was solved; a true eigenvalue of it is no further away.
    method : {"dense", "svd", "block", "null space"}
        The solver; "null space" if only zero eigenvalues were requested.
    iterations : int
        Products of the operator with a vector that the solver used.
    n_components : int
        Multiplicity of the eigenvalue zero in the graph.
    fast_sum_error : float
        Where products are approximated: ‖𝓛u − λu‖ with exact weights, estimated from sampled rows,
        the largest over the pairs. It includes the error of the fast sum and the residual; 0 if
        products are exact.
    next_eigenvalue : float
        The first eigenvalue left out, NaN if unknown or if none is left.
    spectrum : WholeSpectrum or None
        All eigenvalues, if the solver computes them. "dense" and "svd" do; "auto" computes few
        pairs alone on hypergraphs of more than 1024 hyperedges.

    See Also
    --------
    eigenpairs : Computes eigenpairs.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> path = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> pairs = lg.eigenpairs(lg.Laplacian(path), 2)
    >>> pairs.eigenvalues.round(6).tolist(), round(pairs.next_eigenvalue, 6)
    ([0.0, 1.0], 2.0)
    >>> pairs.eigenvectors.shape, bool(pairs.residuals.max() < 1e-12)
    ((3, 2), True)
    """

    eigenvalues: FloatArray
    eigenvectors: NDArray[Any]
    residuals: FloatArray
    method: str
    iterations: int
    n_components: int
    fast_sum_error: float = 0.0
    next_eigenvalue: float = float("nan")
    spectrum: WholeSpectrum | None = None

    @property
    def rank(self) -> int:
        """Number of pairs k."""
        return len(self.eigenvalues)

    def __repr__(self) -> str:
        """Show the number, range and accuracy of the pairs."""
        largest = scientific(self.residuals.max(initial=0.0))
        return (
            f"Eigenpairs({self.rank} of {len(self.eigenvectors)}, eigenvalues "
            f"{_range(self.eigenvalues)}, residuals <= {largest}, method={self.method!r})"
        )


def _range(values: FloatArray) -> str:
    return f"{number(values[0])}..{number(values[-1])}" if len(values) else "(none)"


def eigenpairs(
    laplacian: Laplacian,
    k: int,
    *,
    which: Literal["smallest", "largest", "dominant"] = "smallest",
    filter: FilterLike | Sequence[FilterLike] | None = None,
    tol: float | None = None,
    method: Literal["auto", "dense", "svd", "block"] = "auto",
    random_state: int = 0,
    max_iter: int | None = None,
    dtype: Any = "float64",
) -> Eigenpairs:
    r"""Compute k eigenpairs :math:`\mathcal{L} u = \lambda u` with evidence of their accuracy.

    Parameters
    ----------
    laplacian : Laplacian
    k : int
        Number of pairs, 1 … n, zero eigenvalues included.
    which : {"smallest", "largest", "dominant"}
        "dominant": those with the largest :math:`|\varphi(\lambda)|` (Lemma 1), for the given
        filter or list of filters (the largest over the list counts).
    filter : Filter, name, callable or list of them
        Needed for "dominant" only.
    tol : float, optional
        Admissible residual, and admissible error of fast sums; the Laplacian's own by default. A
        smaller one makes a Gaussian Laplacian sum more accurately.
    method : {"auto", "dense", "svd", "block"}
        The solver, see :mod:`lowrankgcn.spectral.solvers`. "auto" chooses by structure: Gram
        matrix for hypergraphs and landmark kernels, LAPACK for n ≤ 512, and block iterations
        otherwise.
    random_state : int
        Seed of start vectors and of the rows on which fast sums are checked.
    max_iter : int, optional
        Limit for the iterative solvers.
    dtype : {"float64", "float32"}
        Type in which eigenvectors are stored.

    Returns
    -------
    Eigenpairs
        In ascending order of the eigenvalues.

    Raises
    ------
    EigensolverError
        If a solver does not converge, or the dominant eigenvalues lie inside the spectrum where no
        iterative solver reaches them.

    Warns
    -----
    RankWarning
        Fewer pairs are determined than requested; fewer are returned.
    DisconnectedGraphWarning
        Zero is a multiple eigenvalue.
    DegenerateCutWarning
        The cut goes through a multiple eigenvalue.
    AccuracyWarning
        The fast sum's measured error stayed above `tol`.

    See Also
    --------
    Eigenpairs : The result.
    kernel : Kernel of a filter, from the eigenpairs that it needs.
    plotting.plot_spectrum : Plot of eigenvalues and residuals.

    Notes
    -----
    Memory is O(n k) besides what the operator needs.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> cars = lg.datasets.load_cars(as_frame=True)
    >>> L = lg.Laplacian(lg.Hypergraph.from_table(cars.data))
    >>> lg.eigenpairs(L, 16).eigenvalues.round(4)[[0, 1, 15]]
    array([0.    , 0.8333, 0.8333])
    """
    request = checked_request(laplacian, tol, random_state)
    count = positive_int(k, "k", maximum=laplacian.n)
    choice(which, "which", ("smallest", "largest", "dominant"))
    choice(method, "method", ("auto", "dense", "svd", "block"))
    limit = None if max_iter is None else positive_int(max_iter, "max_iter", maximum=2**31 - 1)
    stored = choice(getattr(dtype, "__name__", str(dtype)), "dtype", ("float64", "float32"))
    if (filter is not None) != (which == "dominant"):
        expected = "a filter" if which == "dominant" else "none"
        raise invalid("filter", f"{expected} with which={which!r}", repr(filter))
    if method == "svd" and laplacian.factor is None:
        raise invalid("method", "a solver other than 'svd' for this graph", "no low-rank structure")
    request = replace(request, method=method, max_iter=limit, dtype=np.dtype(stored).type)
    filters = LARGEST if which == "largest" else () if filter is None else as_filters(filter)
    pairs, _ = accurate_pairs(laplacian, count, filters, request)
    if pairs.n_components > 1:
        warn_caller(
            f"the graph has {pairs.n_components} connected components, so zero is an eigenvalue of "
            f"multiplicity {pairs.n_components}",
            DisconnectedGraphWarning,
        )
    return pairs


def checked_request(laplacian: Laplacian, tol: float | None, random_state: int) -> Request:
    """Return a request with arguments of :func:`eigenpairs`, checked."""
    if not isinstance(laplacian, Laplacian):
        raise invalid("laplacian", "a Laplacian", type(laplacian).__name__)
    tolerance = laplacian.tol if tol is None else positive_float(tol, "tol", maximum=0.1)
    return Request(tolerance, random_state=positive_int(random_state, "random_state", minimum=0))


def accurate_pairs(
    laplacian: Laplacian, k: int, filters: Sequence[Filter], request: Request
) -> tuple[Eigenpairs, tuple[Filter, ...]]:
    """Compute the k eigenpairs that `filters` weigh most, or the smallest ones without filters.

    Repeat until the error of the fast sum, measured on the eigenvectors, is within tol. The
    eigenvectors of a round that was not accurate enough are the start of the next one. Also return
    the filters, bound to the spectrum.
    """
    tol = request.tol
    for _ in range(_ACCURACY_ROUNDS):
        laplacian = laplacian.with_tolerance(tol)
        with single_threaded_blas_if_small(laplacian.n):
            solution, chosen, bound = solve_dominant(laplacian, k, filters, request)
            pairs = _assemble(laplacian, solution, chosen, request.dtype)
            if laplacian.affinity.exact:
                return pairs, bound
            errors = laplacian.sampled_residuals(pairs.eigenvalues, pairs.eigenvectors)
        pairs = replace(pairs, fast_sum_error=float(errors.max(initial=0.0)))
        if pairs.fast_sum_error <= request.tol:
            return pairs, bound
        request = replace(request, start=pairs.eigenvectors[:, pairs.eigenvalues > 0])
        tol = laplacian.tol / 10
    warn_caller(
        f"the measured error {pairs.fast_sum_error:.1e} of the fast sum stays above "
        f"tol={request.tol:g}; use another method for the Laplacian",
        AccuracyWarning,
    )
    return pairs, bound


def whole_spectrum(solution: Solution, dimension: int) -> WholeSpectrum:
    """Return all eigenvalues of a complete solution and a null space of `dimension`."""
    values = np.array([0.0, *solution.distinct])
    counts = np.array([dimension, *[1] * len(solution.values), solution.bulk_count], np.int64)
    return WholeSpectrum(values, counts[: len(values)])


def _assemble(laplacian: Laplacian, solution: Solution, chosen: Chosen, dtype: Any) -> Eigenpairs:
    """Build the chosen pairs, fill in the null vectors, apply the sign rule and check the cut."""
    zeros, index, following = chosen
    vectors, residuals = solution.build(index, dtype, zeros)
    null = laplacian.null_space
    if zeros:
        vectors[:, :zeros] = null.vectors(range(zeros))
        # Without a product: the degrees are the row sums of the weights.
        sums = laplacian.affinity.degrees + laplacian.affinity.diagonal
        image = null.profile * (laplacian.shift - laplacian.scale * (laplacian.scale * sums))
        squares = np.bincount(null.components, image**2)[:zeros]
        residuals = np.concatenate([np.sqrt(squares), residuals])
    if vectors.dtype == np.float32:
        residuals = np.hypot(residuals, np.finfo(np.float32).eps)  # the rounding that stores them
    fix_signs(vectors[:, zeros:])
    eigenvalues = np.concatenate([np.zeros(zeros), solution.values[index]])
    warn_if_cut_degenerate(eigenvalues, residuals, following)
    return Eigenpairs(
        eigenvalues,
        vectors,
        residuals,
        solution.method,
        solution.products,
        null.dimension,
        next_eigenvalue=following,
        spectrum=whole_spectrum(solution, null.dimension) if solution.complete else None,
    )


def fix_signs(vectors: NDArray[Any]) -> None:
    """Apply the sign rule to every column, in place."""

    def extremes(start: int, stop: int) -> NDArray[Any]:
        columns = np.ascontiguousarray(vectors[start:stop].T)  # short rows are reduced slowly
        return np.stack([columns.max(axis=1), -columns.min(axis=1)])

    threads = worthwhile_threads(vectors.size)
    parts = map_chunks(extremes, len(vectors), CHUNK_ROWS, n_threads=threads)
    high, low = np.max(parts, axis=0) * [[1], [-1]]
    threshold = (1 - _SIGN_TOL) * np.maximum(high, -low)
    signs = np.where(high < threshold, -1, 1)
    # Only where the largest positive and negative entries tie, the first of them decides.
    for column in np.flatnonzero((high >= threshold) & (-low >= threshold) & (threshold > 0)):
        vector = vectors[:, column]
        signs[column] = np.sign(vector[np.argmax(np.abs(vector) >= threshold[column])])
    flip_signs(vectors, signs)


def flip_signs(vectors: NDArray[Any], signs: NDArray[Any]) -> None:
    """Multiply the columns by signs, in place."""
    factors = signs.astype(vectors.dtype)

    def flip(start: int, stop: int) -> None:
        vectors[start:stop] *= factors

    if (signs < 0).any():
        map_chunks(flip, len(vectors), CHUNK_ROWS, n_threads=worthwhile_threads(vectors.size))


def warn_if_cut_degenerate(
    eigenvalues: FloatArray, residuals: FloatArray, following: float
) -> None:
    """Warn if the first eigenvalue left out cannot be distinguished from one that is kept."""
    # The null space is exact: no other eigenvalue is its copy, however small.
    comparable = (eigenvalues == 0) == (following == 0)
    distances = np.where(comparable, np.abs(eigenvalues - following), np.inf)
    nearest = int(distances.argmin())
    if distances[nearest] <= max(_CUT_TOL, residuals[nearest]):
        warn_caller(
            f"the cut goes through a multiple eigenvalue: {eigenvalues[nearest]:.6g} is kept and "
            f"{following:.6g} is left out, so the last eigenvectors are an arbitrary choice within "
            "its eigenspace; choose another number of eigenpairs",
            DegenerateCutWarning,
        )

"""Eigenpairs of a Laplacian: the smallest, the largest or those that a filter weighs most.

Eigenvalues ascend; zeros come first, one eigenvector per connected component in the order of the
components' first nodes. Every other eigenvector is signed so that, among the entries whose
magnitude is within a millionth of the largest, the first is positive: rounding cannot flip it.
Inside a multiple eigenvalue the basis is the solver's; GCNs do not depend on it, reduced-order GCNs
do.

The best rank-r approximation of 𝒦 = U φ(Λ) Uᵀ keeps the r eigenvalues of largest abs(φ(λ)) (Lemma
1). For the filters of the paper these are the smallest ones (without zero for the pseudoinverse);
for other filters they may lie anywhere in the spectrum.

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
from lowrankgcn._parallel import map_chunks, single_threaded_blas_if_small
from lowrankgcn._validation import choice, invalid, positive_float, positive_int
from lowrankgcn.exceptions import (
    AccuracyWarning,
    DegenerateCutWarning,
    DisconnectedGraphWarning,
    EigensolverError,
    RankWarning,
    warn_caller,
)
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.filters import Filter, FilterLike, Polynomial, as_filters
from lowrankgcn.spectral.laplacian import CHUNK_ROWS, Laplacian
from lowrankgcn.spectral.solvers.choice import largest_eigenvalue, solve
from lowrankgcn.spectral.solvers.solution import Built, Request, Solution

# Number of null vectors, numbers of the other pairs, and the first eigenvalue left out.
Chosen = tuple[int, NDArray[np.intp], float]

# The filter that weighs the largest eigenvalues most.
_LARGEST: tuple[Filter, ...] = (Polynomial((0.0, 1.0)),)
_ACCURACY_ROUNDS = 3  # each with fast sums ten times as accurate; two suffice in practice
_GRID = 4001  # points between two eigenvalues at which a filter is evaluated
_TIE = 1e-10  # strengths that differ by less, relative to the largest, count as equal
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
        All eigenvalues, if the solver computes them.

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
    filters = _LARGEST if which == "largest" else () if filter is None else as_filters(filter)
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
            pairs, bound = _solve_dominant(laplacian, k, filters, request)
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


def bind_filters(
    filters: Sequence[Filter], laplacian: Laplacian, request: Request, solution: Solution | None
) -> tuple[Filter, ...]:
    """Replace every "auto" of the filters by λ₂, the smallest eigenvalue of a solution, and λ_n.

    Without a solution, the eigenvalues that the filters need are computed.
    """
    needs = frozenset().union(*(filter.needs for filter in filters))
    if not needs:
        return tuple(filters)
    if solution is None:
        count = int("smallest_nonzero" in needs and laplacian.null_space.dimension < laplacian.n)
        solution = solve(laplacian, replace(request, count=count))
    # Without an edge there is neither λ₂ nor λ_n > 0. The filters are then evaluated at λ = 0
    # only, and any scale is valid.
    second, top = min(solution.distinct, default=1.0), None
    if "largest" in needs:
        known = solution.distinct if solution.complete else ()
        top = max(known, default=0.0) or largest_eigenvalue(laplacian, request) or 1.0
    return tuple(filter.bind(second, top) for filter in filters)


def whole_spectrum(solution: Solution, dimension: int) -> WholeSpectrum:
    """Return all eigenvalues of a complete solution and a null space of `dimension`."""
    values = np.array([0.0, *solution.distinct])
    counts = np.array([dimension, *[1] * len(solution.values), solution.bulk_count], np.int64)
    return WholeSpectrum(values, counts[: len(values)])


def _solve_dominant(
    laplacian: Laplacian, k: int, filters: Sequence[Filter], request: Request
) -> tuple[Eigenpairs, tuple[Filter, ...]]:
    """Compute pairs at the ends of the spectrum until the strongest are known to be among them."""
    dimension = laplacian.null_space.dimension
    zeros, available = min(dimension, k), laplacian.n - dimension
    needed = k if filters else k - zeros
    # One further pair shows whether the cut goes through a multiple eigenvalue.
    products, extra = 0, 1
    while True:
        count = min(needed + extra, available) if needed else 0
        solution = solve(laplacian, replace(request, count=count))
        complete = solution.complete or count == available
        bound = bind_filters(filters, laplacian, request, solution)
        below = len(solution.values)  # pairs from the lower end
        if filters and not complete:
            solution, below = _add_largest(laplacian, solution, k, bound, request)
        products += solution.products
        chosen = choose_dominant(solution, dimension, k, bound)
        # Only further pairs show whether copies of an outermost one are left out.
        outermost = np.isin([below - 1, below], chosen[1]).any()
        if complete or len(solution.values) == available or not outermost:
            solution = replace(solution, products=products)
            return _assemble(laplacian, solution, chosen, request.dtype), bound
        extra = 2 * extra + k


def _add_largest(
    laplacian: Laplacian, low: Solution, k: int, filters: Sequence[Filter], request: Request
) -> tuple[Solution, int]:
    """Add the largest pairs to the smallest ones if the filters may weigh them more.

    Also return the number of pairs from the lower end.
    """
    dimension, count = laplacian.null_space.dimension, len(low.values)

    def hidden(values: FloatArray, edge: float) -> bool:
        """Return whether an eigenvalue below `edge` could outweigh the k strongest known."""
        known = _strength(filters, np.concatenate([np.zeros(min(dimension, k)), values]))
        between = _strength(filters, np.linspace(low.values[-1], edge, _GRID))
        weakest = np.sort(known)[::-1][:k][-1]
        return bool(between.max() > weakest + _TIE * known.max())

    if not hidden(low.values, laplacian.spectral_bound):
        return low, count
    high = solve(laplacian, replace(request, count=count, largest=True, start=None))
    # All below the last of `low` are in `low`, all above the first of `high` in `high`. If that is
    # one and the same multiple eigenvalue, the side with more copies of it has it.
    last, edge, slack = low.values[-1], float(high.values[0]), 2 * request.tol
    fewer = (low.values >= last - slack).sum() < (high.values <= last + slack).sum()
    cut = last - slack if edge < last - slack or fewer else last + slack
    below, above = int((low.values < cut).sum()), np.flatnonzero(high.values >= cut)
    values = np.concatenate([low.values[:below], high.values[above]])
    if len(values) < laplacian.n - dimension and hidden(values, edge):
        raise EigensolverError(
            f"the {k} eigenvalues of largest |φ(λ)| may lie between {last:.4g} and "
            f"{edge:.4g}, inside the spectrum, where an iterative solver does not reach; use a "
            "filter that is largest at an end of the spectrum, or method='dense'"
        )

    def build(index: NDArray[np.intp], dtype: Any, lead: int = 0) -> Built:
        lower, rest = low.build(index[index < below], dtype, lead)
        upper, further = high.build(above[index[index >= below] - below], dtype)
        return np.hstack([lower, upper]), np.concatenate([rest, further])

    return Solution(values, low.method, build, low.products + high.products), below


def choose_dominant(
    solution: Solution, dimension: int, k: int, filters: Sequence[Filter]
) -> Chosen:
    """Choose the k pairs that `filters` weigh most, or the smallest ones without filters.

    Parameters
    ----------
    solution : Solution
        Pairs outside the null space. Those of the bulk are never chosen.
    dimension : int
        Dimension of the null space.
    k : int
        Number of pairs to choose.
    filters : sequence of Filter
        The largest |φ(λ)| over the filters counts.

    Examples
    --------
    >>> from lowrankgcn.spectral.filters import Pseudoinverse
    >>> from lowrankgcn.spectral.solvers.solution import stored_solution
    >>> solution = stored_solution(np.array([0.2, 0.5]), np.eye(3, 2), np.zeros(2), "dense", 0)
    >>> lead, index, following = choose_dominant(solution, 1, 1, [Pseudoinverse(0.2)])
    >>> lead, index.tolist(), following
    (0, [0], 0.5)
    """
    zeros = min(dimension, k)
    # Listed as zeros, simple eigenvalues, bulk: equal strengths go to the smaller eigenvalue.
    values = np.concatenate([np.zeros(zeros), solution.distinct])
    order = _ranking(_strength(filters, values)) if filters else np.arange(len(values))
    if solution.bulk_count:
        ahead = int(np.flatnonzero(order == len(values) - 1)[0])
        bulk = f"eigenvalue {solution.bulk_value:g}, whose {solution.bulk_count} eigenvectors"
        if ahead == 0:
            named = ("filter", ", ".join(map(str, filters)))
            name, got = ("which", "'largest'") if filters == _LARGEST else named
            raise invalid(name, f"less weight on the {bulk} are arbitrary", got)
        if ahead < k:
            warn_caller(
                f"{k} eigenpairs were requested, but only {ahead} come before the {bulk} are "
                f"arbitrary; the rank is {ahead}",
                RankWarning,
            )
            k = ahead
    following = float(values[order[k]]) if k < len(values) else float("nan")
    taken = np.sort(order[:k])
    lead = int((taken < zeros).sum())
    return lead, taken[lead:] - zeros, 0.0 if lead == zeros < dimension else following


def _strength(filters: Sequence[Filter], values: FloatArray) -> FloatArray:
    """Return the largest |φ(λ)| over the filters, shape (len(values),)."""
    return np.asarray(np.max([np.abs(filter(values)) for filter in filters], axis=0))


def _ranking(strengths: FloatArray) -> NDArray[np.intp]:
    """Return positions by descending strength; strengths equal up to rounding keep their order.

    Rounding must not choose between copies of a multiple eigenvalue, or between the eigenvalues
    λ and 2 − λ of a bipartite graph, which have the same |1 − λ|.
    """
    order = np.argsort(-strengths, kind="stable")
    falls = -np.diff(strengths[order]) > _TIE * strengths.max(initial=0.0)
    level = np.concatenate([[0], np.cumsum(falls)])
    return order[np.lexsort((order, level))]


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

    high, low = np.max(map_chunks(extremes, len(vectors), CHUNK_ROWS), axis=0) * [[1], [-1]]
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
        map_chunks(flip, len(vectors), CHUNK_ROWS)


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

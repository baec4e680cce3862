"""The public `eigenpairs`: smallest, largest or dominant pairs with evidence of their accuracy.

>>> import lowrankgcn as lg
>>> L = lg.Laplacian(lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
>>> eigenpairs(L, 2).eigenvalues.round(12).tolist()
[0.0, 1.0]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import single_threaded_blas_if_small
from lowrankgcn._validation import choice, invalid, positive_float, positive_int
from lowrankgcn.exceptions import (
    AccuracyWarning,
    DisconnectedGraphWarning,
    EigensolverError,
    warn_caller,
)
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.dominance import (
    LARGEST,
    Chosen,
    bind_filters,
    choose_dominant,
    choose_smallest,
    others_may_dominate,
)
from lowrankgcn.spectral.filters import Filter, FilterLike, as_filters
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.choice import largest_eigenvalue, solve
from lowrankgcn.spectral.solvers.solution import Built, Request, Solution
from lowrankgcn.spectral.spectrum import (
    Eigenpairs,
    WholeSpectrum,
    fix_signs,
    warn_if_cut_degenerate,
)

_METHODS = ("auto", "dense", "svd", "block")
_ACCURACY_ROUNDS = 3  # each with fast sums ten times as accurate; two suffice in practice


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
    choice(method, "method", _METHODS)
    limit = None if max_iter is None else positive_int(max_iter, "max_iter", maximum=2**31 - 1)
    named = isinstance(dtype, (str, type, np.dtype))  # others may not compare to one truth value
    if not named or dtype not in ("float32", "float64", np.float32, np.float64):
        raise invalid("dtype", "'float32' or 'float64'", repr(dtype))
    if (filter is not None) != (which == "dominant"):
        expected = "a filter" if which == "dominant" else "none"
        raise invalid("filter", f"{expected} with which={which!r}", repr(filter))
    if method == "svd" and laplacian.factor is None:
        raise invalid("method", "a solver other than 'svd' for this graph", "no low-rank structure")
    request = replace(request, method=method, max_iter=limit, dtype=np.dtype(dtype).type)
    filters: Sequence[Filter] = ()
    if which != "smallest":
        filters = (LARGEST,) if filter is None else as_filters(filter)
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
    solve_pairs = _dominant_solution if filters else _smallest_solution
    tol = request.tol
    for _ in range(_ACCURACY_ROUNDS):
        laplacian = laplacian.with_tolerance(tol)
        with single_threaded_blas_if_small(laplacian.n):
            solution, chosen, bound = solve_pairs(laplacian, k, filters, request)
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


def _smallest_solution(
    laplacian: Laplacian, k: int, filters: Sequence[Filter], request: Request
) -> tuple[Solution, Chosen, tuple[Filter, ...]]:
    dimension = laplacian.null_space.dimension
    zeros = min(dimension, k)
    # One further pair shows whether the cut goes through a multiple eigenvalue.
    count = min(k - zeros + 1, laplacian.n - dimension) if k > zeros else 0
    solution = solve(laplacian, replace(request, count=count))
    return solution, choose_smallest(solution, dimension, k), ()


def _dominant_solution(
    laplacian: Laplacian, k: int, filters: Sequence[Filter], request: Request
) -> tuple[Solution, Chosen, tuple[Filter, ...]]:
    """Compute pairs at the ends of the spectrum until the strongest are known to be among them."""
    dimension = laplacian.null_space.dimension
    zeros, available = min(dimension, k), laplacian.n - dimension
    spent, extra = 0, 1
    while True:
        count = min(k + extra, available)
        solution = solve(laplacian, replace(request, count=count))
        complete = solution.complete or count == available
        largest = None if complete else lambda: largest_eigenvalue(laplacian, request)
        bound = bind_filters(filters, solution.distinct, largest)
        below = len(solution.values)  # pairs from the lower end
        if not complete:
            solution, below = _add_largest(laplacian, solution, k, bound, request, zeros)
        spent += solution.products
        chosen = choose_dominant(solution, dimension, k, bound)
        # Only further pairs show whether copies of an outermost one are left out.
        outermost = np.isin([below - 1, below], chosen[1]).any()
        if complete or len(solution.values) == available or not outermost:
            return replace(solution, products=spent), chosen, bound
        extra = 2 * extra + k


def _add_largest(
    laplacian: Laplacian,
    low: Solution,
    k: int,
    filters: Sequence[Filter],
    request: Request,
    zeros: int,
) -> tuple[Solution, int]:
    """Add the largest pairs to the smallest ones if the filters may weigh them more.

    Also return the number of pairs from the lower end.
    """

    def hidden(values: FloatArray, edge: float) -> bool:
        known = np.concatenate([np.zeros(zeros), values])
        return others_may_dominate(filters, known, k, float(low.values[-1]), edge)

    count = len(low.values)
    if not hidden(low.values, laplacian.spectral_bound):
        return low, count
    high = solve(laplacian, replace(request, count=count, largest=True, start=None))
    cut = _boundary(low.values, high.values, 2 * request.tol)
    below, above = int((low.values < cut).sum()), np.flatnonzero(high.values >= cut)
    values = np.concatenate([low.values[:below], high.values[above]])
    edge = float(high.values[0])
    everything = laplacian.n - laplacian.null_space.dimension
    if len(values) < everything and hidden(values, edge):
        raise EigensolverError(
            f"the {k} eigenvalues of largest |φ(λ)| may lie between {low.values[-1]:.4g} and "
            f"{edge:.4g}, inside the spectrum, where an iterative solver does not reach; use a "
            "filter that is largest at an end of the spectrum, or method='dense'"
        )

    def build(index: NDArray[np.intp], dtype: Any) -> Built:
        lower, rest = low.build(index[index < below], dtype)
        upper, further = high.build(above[index[index >= below] - below], dtype)
        return np.hstack([lower, upper]), np.concatenate([rest, further])

    return Solution(values, low.method, build, low.products + high.products), below


def _boundary(low: FloatArray, high: FloatArray, slack: float) -> float:
    """Return where the smallest eigenvalues end and the largest begin, no pair being in both.

    All below the last of `low` are in `low`, all above the first of `high` in `high`. If that is
    one and the same multiple eigenvalue, the side with more copies of it has it.
    """
    last = float(low[-1])
    copies = int((low >= last - slack).sum()), int((high <= last + slack).sum())
    return last - slack if high[0] < last - slack or copies[1] > copies[0] else last + slack


def _assemble(laplacian: Laplacian, solution: Solution, chosen: Chosen, dtype: Any) -> Eigenpairs:
    """Build the chosen pairs, fill in the null vectors, apply the sign rule and check the cut."""
    zeros, index, following = chosen
    others, residuals = solution.build(index, dtype)
    null = laplacian.null_space
    vectors = np.empty((laplacian.n, zeros + len(index)), dtype)
    vectors[:, zeros:] = others
    if zeros:
        block = null.vectors(range(zeros))
        residuals = np.concatenate([_null_residuals(laplacian, block), residuals])
        vectors[:, :zeros] = block
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


def whole_spectrum(solution: Solution, dimension: int) -> WholeSpectrum:
    """Return all eigenvalues of a complete solution and a null space of `dimension`."""
    values = np.concatenate([[0.0], solution.values, [solution.bulk_value]])
    counts = np.array([dimension, *[1] * len(solution.values), solution.bulk_count], np.int64)
    listed = counts > 0
    order = np.argsort(values[listed], kind="stable")
    return WholeSpectrum(values[listed][order], counts[listed][order])


def _null_residuals(laplacian: Laplacian, block: FloatArray) -> FloatArray:
    """Return ‖𝓛u‖ for null vectors u.

    A single null vector needs no product: its image follows from the degrees, which are row sums.
    The error of a fast sum is not part of it; ``fast_sum_error`` reports that.
    """
    if laplacian.null_space.dimension > 1:
        return np.asarray(np.linalg.norm(laplacian @ block, axis=0))
    degrees, diagonal = laplacian.affinity.degrees, laplacian.affinity.diagonal
    norm = math.sqrt(float(laplacian.degrees.sum())) or 1.0
    image = laplacian.shift * block[:, 0] - laplacian.scale * (degrees + diagonal) / norm
    return np.array([np.linalg.norm(image)])

"""The eigenpairs that matter most to a filter (Lemma 1), and the public `eigenpairs`.

The best rank-r approximation of 𝒦 = U φ(Λ) Uᵀ keeps the r eigenvalues of largest |φ(λ)|. For the
filters of the paper these are the smallest ones (without zero for the pseudoinverse); for any other
filter they may lie elsewhere, and are looked for there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import choice, invalid, positive_float, positive_int
from lowrankgcn.exceptions import (
    DisconnectedGraphWarning,
    EigensolverError,
    RankWarning,
    warn_caller,
)
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.decompose import (
    Request,
    accurate_pairs,
    assemble,
    direct_pairs,
    direct_solution,
    iterate,
    largest_eigenvalue,
    smallest_pairs,
)
from lowrankgcn.spectral.filters import Filter, FilterLike, Polynomial, as_filters
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers import DirectSolution
from lowrankgcn.spectral.spectrum import Eigenpairs, first_left_out

__all__ = [
    "bind_direct",
    "bind_filters",
    "choose_dominant",
    "choose_smallest",
    "dominant_pairs",
    "eigenpairs",
]

_METHODS = ("auto", "dense", "svd", "lanczos", "krylov")
_GRID = 4001  # points at which a filter is looked at between the eigenvalues
_LARGEST = Polynomial((0.0, 1.0))
_TIE = 1e-10  # strengths that differ by less, of the largest, count as equal


def eigenpairs(
    laplacian: Laplacian,
    k: int,
    *,
    which: Literal["smallest", "largest", "dominant"] = "smallest",
    filter: FilterLike | Sequence[FilterLike] | None = None,
    tol: float | None = None,
    method: Literal["auto", "dense", "svd", "lanczos", "krylov"] = "auto",
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
    method : {"auto", "dense", "svd", "lanczos", "krylov"}
        The solver, see :mod:`lowrankgcn.spectral.solvers`. "auto" goes by the structure: Gram
        matrix for hypergraphs and landmark kernels, LAPACK for n ≤ 512, Fourier modes where they
        are few beside the points, blocks for exact Gaussian sums, ARPACK otherwise.
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
        More pairs were asked for than are determined; fewer are returned.
    DisconnectedGraphWarning
        Zero is a multiple eigenvalue.
    DegenerateCutWarning
        The cut goes through a multiple eigenvalue.
    AccuracyWarning
        The fast sum's measured error stayed above `tol`.

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
    if not isinstance(laplacian, Laplacian):
        raise invalid("laplacian", "a Laplacian", type(laplacian).__name__)
    count = positive_int(k, "k", maximum=laplacian.n)
    choice(which, "which", ("smallest", "largest", "dominant"))
    choice(method, "method", _METHODS)
    tolerance = laplacian.tol if tol is None else positive_float(tol, "tol", maximum=0.1)
    seed = positive_int(random_state, "random_state", minimum=0)
    limit = None if max_iter is None else positive_int(max_iter, "max_iter", maximum=2**31 - 1)
    named = isinstance(dtype, (str, type, np.dtype))  # others may not compare to one truth value
    if not named or dtype not in ("float32", "float64", np.float32, np.float64):
        raise invalid("dtype", "'float32' or 'float64'", repr(dtype))
    if (filter is not None) != (which == "dominant"):
        expected = "a filter" if which == "dominant" else "none"
        raise invalid("filter", f"{expected} with which={which!r}", repr(filter))
    if method == "svd" and laplacian.factor is None:
        raise invalid("method", "a solver other than 'svd' for this graph", "no low-rank structure")
    request = Request(tolerance, method, seed, limit, np.dtype(dtype).type)
    if which == "smallest":
        pairs = accurate_pairs(laplacian, request, lambda L, how: smallest_pairs(L, count, how))
    else:
        filters = (_LARGEST,) if filter is None else as_filters(filter)
        pairs, _ = dominant_pairs(laplacian, count, filters, request)
    if pairs.n_components > 1:
        warn_caller(
            f"the graph has {pairs.n_components} connected components, so zero is an eigenvalue of "
            f"multiplicity {pairs.n_components}",
            DisconnectedGraphWarning,
        )
    return pairs


def dominant_pairs(
    laplacian: Laplacian, k: int, filters: Sequence[Filter], request: Request
) -> tuple[Eigenpairs, tuple[Filter, ...]]:
    """The k eigenpairs that `filters` weigh most, and the filters bound to the spectrum."""
    bound: tuple[Filter, ...] = ()

    def run(sharp: Laplacian, how: Request) -> Eigenpairs:
        nonlocal bound
        direct = direct_solution(sharp, how.method)
        if direct is None:
            pairs, bound = _dominant_iterative(sharp, k, filters, how)
        else:
            bound = bind_direct(filters, direct)
            dimension = sharp.null_space.dimension
            lead, index, following = choose_dominant(direct, dimension, k, bound)
            pairs = direct_pairs(sharp, direct, lead, index, how, following)
        return pairs

    return accurate_pairs(laplacian, request, run), bound


def bind_filters(
    laplacian: Laplacian, filters: Sequence[Filter], request: Request
) -> tuple[Filter, ...]:
    """Replace every "auto" of the filters by the Laplacian's own λ₂ and λ_n."""
    if not any(filter.needs for filter in filters):
        return tuple(filters)
    direct = direct_solution(laplacian, request.method)
    if direct is not None:
        return bind_direct(filters, direct)
    second = math.nan
    if any("smallest_nonzero" in filter.needs for filter in filters):
        if laplacian.null_space.dimension < laplacian.n:
            second = float(iterate(laplacian, 1, 0, request).values[0])
    return _bind(filters, second, lambda: largest_eigenvalue(laplacian, request))


def bind_direct(filters: Sequence[Filter], direct: DirectSolution) -> tuple[Filter, ...]:
    """Replace every "auto" of the filters by λ₂ and λ_n of a direct solution."""
    every = [*direct.values, *[direct.bulk_value] * bool(direct.bulk_count)]
    return _bind(filters, min(every, default=math.nan), lambda: max(every, default=0.0))


def _bind(
    filters: Sequence[Filter], second: float, largest: Callable[[], float]
) -> tuple[Filter, ...]:
    # Without an edge there is no λ₂ and λ_n = 0; the filters then only see λ = 0, and any scale
    # will do.
    second = second if second > 0 else 1.0
    top = largest() if any("largest" in filter.needs for filter in filters) else None
    top = top if top is None or top > 0 else 1.0
    return tuple(filter.bind(second, top) for filter in filters)


def _strength(filters: Sequence[Filter], values: FloatArray) -> FloatArray:
    """Largest |φ(λ)| over the filters, shape (len(values),)."""
    strength: FloatArray = np.max([np.abs(filter(values)) for filter in filters], axis=0)
    return strength


def choose_dominant(
    direct: DirectSolution, dimension: int, k: int, filters: Sequence[Filter]
) -> tuple[int, NDArray[np.intp], float]:
    """Which pairs of a direct solution `filters` weigh most, beside a null space of `dimension`.

    Returns the number of null vectors, the numbers of the other pairs, and the first eigenvalue
    left out.
    """
    zeros = min(dimension, k)
    # Listed as zeros, simple eigenvalues, bulk: equal strengths go to the smaller eigenvalue.
    values = np.concatenate([np.zeros(zeros), direct.values])
    strengths = _strength(filters, values)
    order = _ranking(strengths)
    strengths = strengths[order]
    chosen = order[:k]
    if direct.bulk_count:
        bulk = float(_strength(filters, np.array([direct.bulk_value]))[0])
        ahead = int((strengths[:k] >= bulk - _TIE * strengths.max(initial=0.0)).sum())
        if ahead == 0:
            largest = filters[0] is _LARGEST
            raise invalid(
                "which" if largest else "filter",
                f"less weight on the eigenvalue {direct.bulk_value:g}, whose {direct.bulk_count} "
                "eigenvectors are arbitrary",
                "'largest'" if largest else ", ".join(map(str, filters)),
            )
        if ahead < k:
            warn_caller(
                f"rank {k} was asked for but only {ahead} eigenpairs outweigh the eigenvalue "
                f"{direct.bulk_value:g}, whose {direct.bulk_count} eigenvectors are arbitrary; "
                f"the rank is {ahead}",
                RankWarning,
            )
            chosen = order[:ahead]
    following = first_left_out(values[order[len(chosen) :]], values[chosen])
    taken = np.sort(chosen)
    lead = int((taken < zeros).sum())
    if lead == zeros < dimension:
        following = 0.0
    return lead, taken[lead:] - zeros, following


def choose_smallest(
    low: FloatArray,
    dimension: int,
    available: int,
    k: int,
    filters: Sequence[Filter],
    edge: float,
) -> tuple[tuple[Filter, ...], int, NDArray[np.intp], float]:
    """Which of the smallest eigenvalues `filters` weigh most, if these are all that can matter.

    Parameters
    ----------
    low : (q,) array
        Smallest eigenvalues outside of a null space of `dimension`.
    available : int
        Number of all of these.
    k : int
        Number of pairs to choose.
    filters : sequence of Filter
    edge : float
        Upper bound of the spectrum.

    Returns
    -------
    The filters bound to the spectrum, the number of null vectors, the numbers of the other pairs,
    and the first eigenvalue left out.

    Raises
    ------
    ValueError
        If a filter needs the largest eigenvalue, or larger ones than are known may matter.
    """
    if any("largest" in filter.needs for filter in filters):
        expected = "filters with their parameters: the largest eigenvalue is not computed"
        raise invalid("filter", expected, ", ".join(map(str, filters)))
    bound = _bind(filters, float(low[0]) if len(low) else math.nan, lambda: 0.0)
    zeros = min(dimension, k)
    values = np.concatenate([np.zeros(zeros), low])
    if len(low) < available and _hidden(bound, values, k, float(values[-1]), edge):
        expected = "filters that fall with growing eigenvalues: larger ones are not computed"
        raise invalid("filter", expected, ", ".join(map(str, filters)))
    order = _ranking(_strength(bound, values))
    taken = np.sort(order[:k])
    lead = int((taken < zeros).sum())
    following = first_left_out(values[order[k:]], values[taken])
    following = 0.0 if lead == zeros < dimension else following
    return bound, lead, taken[lead:] - zeros, following


def _dominant_iterative(
    laplacian: Laplacian,
    k: int,
    filters: Sequence[Filter],
    request: Request,
    *,
    extra: int = 1,
    spent: int = 0,
) -> tuple[Eigenpairs, tuple[Filter, ...]]:
    dimension = laplacian.null_space.dimension
    zeros, available = min(dimension, k), laplacian.n - dimension
    count = min(k + extra, available)
    if count == 0:
        return smallest_pairs(laplacian, k, request), _bind(filters, math.nan, lambda: 0.0)
    low = iterate(laplacian, count, zeros, request)
    bound = _bind(filters, float(low.values[0]), lambda: largest_eigenvalue(laplacian, request))
    values = np.concatenate([np.zeros(zeros), low.values])
    parts, residuals, products = [low.vectors], [low.residuals], spent + low.products
    edge = laplacian.spectral_bound
    if len(low.values) < available and _hidden(bound, values, k, low.values[-1], edge):
        high = iterate(laplacian, count, 0, request, largest=True)
        cut = _seam(low.values, high.values, 2 * request.tol)
        below, above = int((low.values < cut).sum()), high.values >= cut
        edge = float(high.values[0])
        values = np.concatenate([values[: zeros + below], high.values[above]])
        parts = [low.vectors[:, : zeros + below], high.vectors[:, above]]
        residuals = [low.residuals[:below], high.residuals[above]]
        products += high.products
        if len(values) < zeros + available and _hidden(bound, values, k, low.values[-1], edge):
            raise EigensolverError(
                f"the {k} eigenvalues of largest |φ(λ)| may lie between {low.values[-1]:.4g} and "
                f"{edge:.4g}, inside the spectrum, where an iterative solver does not reach; use a "
                "filter that is largest at an end of the spectrum, or method='dense'"
            )
    order = _ranking(_strength(bound, values))
    taken = np.sort(order[:k])
    outermost = parts[0].shape[1] + np.array([-1, 0])  # the last of the smallest, first of largest
    if len(values) < zeros + available and np.isin(outermost, taken).any():
        # Only further pairs can tell whether copies of an outermost one are left out.
        return _dominant_iterative(
            laplacian, k, filters, request, extra=2 * extra + k, spent=products
        )
    lead = int((taken < zeros).sum())
    following = first_left_out(values[order[k:]], values[taken])
    vectors = (parts[0] if len(parts) == 1 else np.hstack(parts))[:, taken]
    pairs = assemble(
        laplacian,
        lead,
        values[taken[lead:]],
        vectors,
        np.concatenate(residuals)[taken[lead:] - zeros],
        low.method,
        products,
        0.0 if lead == zeros < dimension else following,
    )
    return pairs, bound


def _ranking(strengths: FloatArray) -> NDArray[np.intp]:
    """Positions by falling strength; those equal up to rounding stay in the order given.

    A bipartite graph's eigenvalues λ and 2 − λ are equally strong to |1 − λ|, and rounding must not
    choose between them, nor between the copies of a multiple eigenvalue.
    """
    order = np.argsort(-strengths, kind="stable")
    falls = -np.diff(strengths[order]) > _TIE * strengths.max(initial=0.0)
    level = np.concatenate([[0], np.cumsum(falls)])
    return order[np.lexsort((order, level))]


def _seam(low: FloatArray, high: FloatArray, slack: float) -> float:
    """Where the smallest eigenvalues end and the largest begin, no pair being in both.

    All below the last of `low` are in `low`, all above the first of `high` in `high`. If that is
    one and the same multiple eigenvalue, the side with more copies of it has it.
    """
    last = float(low[-1])
    copies = int((low >= last - slack).sum()), int((high <= last + slack).sum())
    return last - slack if high[0] < last - slack or copies[1] > copies[0] else last + slack


def _hidden(filters: Sequence[Filter], known: FloatArray, k: int, low: float, high: float) -> bool:
    """Whether an eigenvalue from `low` to `high` could outweigh the k strongest known ones."""
    strengths = np.sort(_strength(filters, known))[::-1]
    weakest = float(strengths[min(k, len(strengths)) - 1])
    between = _strength(filters, np.linspace(low, high, _GRID))
    return bool((between > weakest + _TIE * strengths[0]).any())

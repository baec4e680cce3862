"""Dominant eigenvalues: those that filters weigh most, wherever they lie in the spectrum.

The best rank-r approximation of 𝒦 = U φ(Λ) Uᵀ keeps the r eigenvalues of largest abs(φ(λ)) (Lemma
1). For the filters of the paper these are the smallest ones (without zero for the pseudoinverse);
for other filters they may lie anywhere in the spectrum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import EigensolverError, RankWarning, warn_caller
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.filters import Filter, Polynomial
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers import largest_eigenvalue, solve
from lowrankgcn.spectral.solvers.solution import Built, Request, Solution

# Number of null vectors, numbers of the other pairs, and the first eigenvalue left out.
Chosen = tuple[int, NDArray[np.intp], float]

# The filter that weighs the largest eigenvalues most.
LARGEST: tuple[Filter, ...] = (Polynomial((0.0, 1.0)),)
_GRID = 4001  # points between two eigenvalues at which a filter is evaluated
_TIE = 1e-10  # strengths that differ by less, relative to the largest, count as equal


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


def solve_dominant(
    laplacian: Laplacian, k: int, filters: Sequence[Filter], request: Request
) -> tuple[Solution, Chosen, tuple[Filter, ...]]:
    """Compute pairs at the ends of the spectrum until the strongest are known to be among them.

    Return them, the choice of the k strongest, and the filters, bound to the spectrum.
    """
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
            return replace(solution, products=products), chosen, bound
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
            name, got = ("which", "'largest'") if filters == LARGEST else named
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

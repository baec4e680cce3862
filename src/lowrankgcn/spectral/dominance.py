"""Choice of the eigenpairs that a filter weighs most (Lemma 1).

The best rank-r approximation of 𝒦 = U φ(Λ) Uᵀ keeps the r eigenvalues of largest |φ(λ)|. For the
filters of the paper these are the smallest ones (without zero for the pseudoinverse); for other
filters they may lie anywhere in the spectrum.

>>> from lowrankgcn.spectral.filters import Pseudoinverse
>>> from lowrankgcn.spectral.solvers.solution import stored_solution
>>> solution = stored_solution(np.array([0.2, 0.5]), np.eye(3, 2), np.zeros(2), "dense", 0)
>>> lead, index, following = choose_dominant(solution, 1, 1, [Pseudoinverse(0.2)])
>>> lead, index.tolist(), following
(0, [0], 0.5)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import RankWarning, warn_caller
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.filters import Filter, Polynomial
from lowrankgcn.spectral.solvers.solution import Solution
from lowrankgcn.spectral.spectrum import first_left_out

# Number of null vectors, numbers of the other pairs, and the first eigenvalue left out.
Chosen = tuple[int, NDArray[np.intp], float]

LARGEST = Polynomial((0.0, 1.0))  # the filter that weighs the largest eigenvalues most
_GRID = 4001  # points between two eigenvalues at which a filter is evaluated
_TIE = 1e-10  # strengths that differ by less, relative to the largest, count as equal


def bind_filters(
    filters: Sequence[Filter], known: Sequence[float], largest: Callable[[], float] | None = None
) -> tuple[Filter, ...]:
    """Replace every "auto" of the filters by λ₂ and λ_n.

    Parameters
    ----------
    filters : sequence of Filter
    known : sequence of float
        Eigenvalues outside the null space, the smallest among them.
    largest : callable, optional
        Computes λ_n if it is needed; by default it is the largest that is known.
    """
    # Without an edge there is neither λ₂ nor λ_n > 0. The filters are then evaluated at λ = 0
    # only, and any scale is valid.
    second = float(min(known, default=1.0))
    top = None
    if any("largest" in filter.needs for filter in filters):
        top = float(max(known, default=1.0)) if largest is None else largest() or 1.0
    return tuple(filter.bind(second, top) for filter in filters)


def choose_smallest(solution: Solution, dimension: int, k: int) -> Chosen:
    """Choose the k smallest pairs, including a null space of `dimension`."""
    zeros = min(dimension, k)
    count = min(k - zeros, len(solution.values))
    if count < k - zeros:
        warn_caller(
            f"{k} eigenpairs were requested, but only {zeros + count} are determined: all other "
            f"eigenvalues equal {solution.bulk_value:g} ({solution.bulk_count}-fold) and their "
            "eigenvectors are arbitrary",
            RankWarning,
        )
    following = 0.0 if zeros < dimension else next(iter(solution.distinct[count:]), math.nan)
    return zeros, np.arange(count), following


def choose_dominant(
    solution: Solution, dimension: int, k: int, filters: Sequence[Filter]
) -> Chosen:
    """Choose the k pairs that `filters` weigh most.

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
    """
    zeros = min(dimension, k)
    bulk_value, bulk_count = solution.bulk_value, solution.bulk_count
    # Listed as zeros, simple eigenvalues, bulk: equal strengths go to the smaller eigenvalue.
    values = np.concatenate([np.zeros(zeros), solution.values])
    strengths = _strength(filters, values)
    order = _ranking(strengths)
    strengths = strengths[order]
    if bulk_count:
        bulk = float(_strength(filters, np.array([bulk_value]))[0])
        ahead = int((strengths[:k] >= bulk - _TIE * strengths.max(initial=0.0)).sum())
        if ahead == 0:
            largest = filters[0] is LARGEST
            raise invalid(
                "which" if largest else "filter",
                f"less weight on the eigenvalue {bulk_value:g}, whose {bulk_count} eigenvectors "
                "are arbitrary",
                "'largest'" if largest else ", ".join(map(str, filters)),
            )
        if ahead < k:
            warn_caller(
                f"rank {k} was requested, but only {ahead} eigenpairs outweigh the eigenvalue "
                f"{bulk_value:g}, whose {bulk_count} eigenvectors are arbitrary; "
                f"the rank is {ahead}",
                RankWarning,
            )
            k = ahead
    following = first_left_out(values[order[k:]], values[order[:k]])
    taken = np.sort(order[:k])
    lead = int((taken < zeros).sum())
    return lead, taken[lead:] - zeros, 0.0 if lead == zeros < dimension else following


def others_may_dominate(
    filters: Sequence[Filter], known: FloatArray, k: int, low: float, high: float
) -> bool:
    """Return whether an eigenvalue from `low` to `high` could outweigh the k strongest known."""
    strengths = np.sort(_strength(filters, known))[::-1]
    weakest = float(strengths[min(k, len(strengths)) - 1])
    between = _strength(filters, np.linspace(low, high, _GRID))
    return bool((between > weakest + _TIE * strengths[0]).any())


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

"""From a Laplacian to eigenpairs: which solver, the null space in front, the checks behind.

>>> import lowrankgcn as lg
>>> L = lg.Laplacian(lg.AdjacencyGraph([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
>>> pairs = smallest_pairs(L, 3, Request(tol=1e-9))
>>> pairs.eigenvalues.round(12).tolist(), pairs.n_components
([0.0, 0.0, 2.0], 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import single_threaded_blas_if_small
from lowrankgcn.exceptions import AccuracyWarning, RankWarning, warn_caller
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers import (
    BlockKrylov,
    DenseEigh,
    DirectSolution,
    FourierModes,
    Lanczos,
    Solution,
    ThinSVD,
)
from lowrankgcn.spectral.spectrum import Eigenpairs, WholeSpectrum, fix_signs, warn_degenerate_cut

__all__ = [
    "Request",
    "accurate_pairs",
    "assemble",
    "count_smallest",
    "direct_pairs",
    "direct_solution",
    "iterate",
    "largest_eigenvalue",
    "look_at_cut",
    "next_smallest",
    "smallest_pairs",
    "whole_spectrum",
]

_LAPACK_LIMIT = 512  # nodes up to which a full dense decomposition is fastest
_GRAM_LIMIT = 4096  # columns of Z up to which its Gram matrix is decomposed
_ACCURACY_ROUNDS = 3


@final
@dataclass(frozen=True)
class Request:
    """How to solve, common to all the steps; see :func:`lowrankgcn.eigenpairs`."""

    tol: float
    method: str = "auto"
    random_state: int = 0
    max_iter: int | None = None
    dtype: Any = np.float64
    start: NDArray[Any] | None = None  # (n, q) guess of the eigenspace outside the null space


def direct_solution(laplacian: Laplacian, method: str = "auto") -> DirectSolution | None:
    """All eigenvalues at once, where that is the cheap way (or the one named); else None."""
    factor = laplacian.factor
    if method in ("auto", "svd") and factor is not None and laplacian.has_constant_shift:
        if method == "svd" or factor.shape[1] <= min(_GRAM_LIMIT, laplacian.n):
            return ThinSVD.decompose(laplacian)
    if method == "dense" or (method == "auto" and laplacian.n <= _LAPACK_LIMIT):
        return DenseEigh.decompose(laplacian)
    return None


def iterate(
    laplacian: Laplacian, count: int, lead: int, request: Request, *, largest: bool = False
) -> Solution:
    """The `count` smallest (or largest) nonzero pairs by an iterative solver.

    The eigenvectors stand behind `lead` columns left for null vectors. A landmark kernel or a
    hypergraph with foreign loops starts from the singular vectors of its factor, which usually are
    accurate enough already; one that is summed by Fourier modes solves its problem there.
    """
    options = (request.tol, request.max_iter, request.random_state)
    start = None if largest else request.start
    if request.method in ("auto", "svd") and laplacian.factor is not None and not largest:
        if request.method == "svd" or laplacian.factor.shape[1] <= _GRAM_LIMIT:
            guess = ThinSVD.approximate(laplacian, count, lead, request.dtype)
            if guess is not None and guess.residuals.max() <= request.tol:
                return guess
            start = start if guess is None else guess.vectors[:, lead:]
    elif request.method == "auto" and not largest and FourierModes.fit(laplacian):
        modes = FourierModes(request.tol, request.random_state)
        guess = modes.solve(laplacian, count, lead, request.dtype)
        if guess is not None and guess.residuals.max() <= request.tol:
            return guess
        start = start if guess is None else guess.vectors[:, lead:]
    # ARPACK needs fewer pairs than dimensions, and room for its basis.
    crowded = 2 * count >= laplacian.n - laplacian.null_space.dimension
    if request.method == "lanczos" and not crowded:
        blocks = False
    elif request.method == "krylov" or crowded:
        blocks = True
    else:
        blocks = start is not None or laplacian.affinity.method == "blocks"
    if blocks:
        solution = BlockKrylov(*options).solve(laplacian, count, largest=largest, start=start)
    else:
        solution = Lanczos(*options).solve(laplacian, count, largest=largest)
    room = np.zeros((laplacian.n, lead + count), request.dtype)
    room[:, lead:] = solution.vectors
    return replace(solution, vectors=room)


def smallest_pairs(laplacian: Laplacian, k: int, request: Request) -> Eigenpairs:
    """The k smallest eigenpairs, zeros included."""
    dimension = laplacian.null_space.dimension
    zeros = min(dimension, k)
    direct = direct_solution(laplacian, request.method)
    if direct is not None:
        count = count_smallest(direct, dimension, k)
        return direct_pairs(laplacian, direct, zeros, np.arange(count), request)
    count = k - zeros
    if count == 0:
        vectors = np.zeros((laplacian.n, zeros), request.dtype)
        nothing = np.zeros(0)
        following = 0.0 if dimension > k else math.nan
        return assemble(laplacian, zeros, nothing, vectors, nothing, "null space", 0, following)
    # One pair more than asked for tells whether the cut goes through a multiple eigenvalue.
    solution = iterate(laplacian, min(count + 1, laplacian.n - dimension), zeros, request)
    following = float(solution.values[count]) if len(solution.values) > count else math.nan
    return assemble(
        laplacian,
        zeros,
        solution.values[:count],
        solution.vectors[:, : zeros + count],
        solution.residuals[:count],
        solution.method,
        solution.products,
        following,
    )


def count_smallest(direct: DirectSolution, dimension: int, k: int) -> int:
    """How many pairs of a direct solution follow the null space among the k smallest."""
    zeros = min(dimension, k)
    count = min(k - zeros, len(direct.values))
    if count < k - zeros:
        warn_caller(
            f"{k} eigenpairs were asked for but only {zeros + count} are determined: all other "
            f"eigenvalues equal {direct.bulk_value:g} ({direct.bulk_count}-fold) and their "
            "eigenvectors are arbitrary",
            RankWarning,
        )
    return count


def direct_pairs(
    laplacian: Laplacian,
    direct: DirectSolution,
    zeros: int,
    index: NDArray[np.intp],
    request: Request,
    following: float | None = None,
) -> Eigenpairs:
    """Null vectors and the eigenpairs number `index` of a direct solution."""
    vectors, residuals = direct.build(index, zeros, request.dtype)
    dimension = laplacian.null_space.dimension
    if following is None:
        following = next_smallest(direct, dimension, zeros, len(index))
    pairs = assemble(
        laplacian,
        zeros,
        direct.values[index],
        vectors,
        residuals,
        direct.method,
        laplacian.n if direct.method == "dense" else 0,
        following,
    )
    return replace(pairs, spectrum=whole_spectrum(direct, dimension))


def whole_spectrum(direct: DirectSolution, dimension: int) -> WholeSpectrum:
    """All eigenvalues of a direct solution beside a null space of the given dimension."""
    values = np.concatenate([[0.0], direct.values, [direct.bulk_value]])
    counts = np.array([dimension, *[1] * len(direct.values), direct.bulk_count], np.int64)
    listed = counts > 0
    order = np.argsort(values[listed], kind="stable")
    return WholeSpectrum(values[listed][order], counts[listed][order])


def next_smallest(direct: DirectSolution, dimension: int, zeros: int, count: int) -> float:
    """The eigenvalue after `zeros` null vectors and the `count` smallest pairs; NaN if none."""
    if zeros < dimension:
        return 0.0
    bulk = [direct.bulk_value] * bool(direct.bulk_count)
    rest = [*direct.values[count : count + 1], *bulk]
    return float(rest[0]) if rest else math.nan


def assemble(
    laplacian: Laplacian,
    zeros: int,
    values: FloatArray,
    vectors: NDArray[Any],
    residuals: FloatArray,
    method: str,
    products: int,
    following: float,
) -> Eigenpairs:
    """Fill in the null vectors, apply the sign rule and look at the cut."""
    null = laplacian.null_space
    if zeros:
        block = null.vectors(0, zeros)
        residuals = np.concatenate([_null_residuals(laplacian, block), residuals])
        vectors[:, :zeros] = block
    if vectors.dtype == np.float32:
        residuals = np.hypot(residuals, np.finfo(np.float32).eps)  # the rounding that stores them
    fix_signs(vectors[:, zeros:])
    eigenvalues = np.concatenate([np.zeros(zeros), values])
    look_at_cut(eigenvalues, residuals, following)
    return Eigenpairs(
        eigenvalues,
        vectors,
        residuals,
        method,
        products,
        null.dimension,
        next_eigenvalue=following,
    )


def look_at_cut(eigenvalues: FloatArray, residuals: FloatArray, following: float) -> None:
    """Warn if the first eigenvalue left out is a copy of one that is kept."""
    alike = np.flatnonzero((eigenvalues == 0) == (following == 0))  # the null space is exact
    if not math.isnan(following) and len(alike):
        twin = alike[np.abs(eigenvalues[alike] - following).argmin()]
        warn_degenerate_cut(float(eigenvalues[twin]), following, float(residuals[twin]))


def _null_residuals(laplacian: Laplacian, block: FloatArray) -> FloatArray:
    """‖𝓛u‖ for null vectors u; a connected graph's degrees are its row sums, so it is rounding."""
    if laplacian.null_space.dimension > 1:
        return np.asarray(np.linalg.norm(laplacian @ block, axis=0))
    degrees, diagonal = laplacian.affinity.degrees, laplacian.affinity.diagonal
    norm = math.sqrt(float(laplacian.degrees.sum())) or 1.0
    image = laplacian.shift * block[:, 0] - laplacian.scale * (degrees + diagonal) / norm
    return np.array([np.linalg.norm(image)])


def largest_eigenvalue(laplacian: Laplacian, request: Request) -> float:
    """The largest eigenvalue λ_n to 1e-6 or better; 0 for a graph without edges."""
    if laplacian.null_space.dimension == laplacian.n:
        return 0.0
    direct = direct_solution(laplacian, request.method)
    if direct is not None:
        bulk = direct.bulk_value if direct.bulk_count else 0.0
        return max(float(direct.values.max(initial=0.0)), bulk)
    request = replace(request, tol=min(request.tol, 1e-6))
    return float(iterate(laplacian, 1, 0, request, largest=True).values[-1])


def accurate_pairs(
    laplacian: Laplacian, request: Request, run: Callable[[Laplacian, Request], Eigenpairs]
) -> Eigenpairs:
    """Run until the fast sum's error, measured on the eigenvectors themselves, is within tol.

    A round that was not accurate enough is the next one's starting point.
    """
    tol = request.tol
    for _ in range(_ACCURACY_ROUNDS):
        laplacian = laplacian.sharpened(tol)
        with single_threaded_blas_if_small(laplacian.n):
            pairs = run(laplacian, request)
            if laplacian.affinity.exact:
                return pairs
            errors = laplacian.sampled_residuals(pairs.eigenvalues, pairs.eigenvectors)
        pairs = replace(pairs, fast_sum_error=float(errors.max(initial=0.0)))
        if pairs.fast_sum_error <= request.tol:
            return pairs
        request = replace(request, start=pairs.eigenvectors[:, pairs.eigenvalues > 0])
        tol = laplacian.tol / 10
    warn_caller(
        f"the measured error {pairs.fast_sum_error:.1e} of the fast sum stays above "
        f"tol={request.tol:g}; name another method for the Laplacian",
        AccuracyWarning,
    )
    return pairs

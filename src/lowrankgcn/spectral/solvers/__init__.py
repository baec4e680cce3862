"""Eigensolvers with one call shape, ``solver(laplacian, request) -> Solution``, and their choice.

Direct solvers compute every eigenvalue (``svd`` only few of many if the method is "auto"),
iterative ones those at one end of the spectrum. The null space is known exactly
(:class:`~lowrankgcn.spectral.laplacian.NullSpace`); all solvers work on its complement. ``nearly``
returns None if it cannot compute the requested pairs.

========= ============================================== ===========================================
solver    for                                            cost
========= ============================================== ===========================================
dense     small n: LAPACK                                n³
svd       𝓛 = I − Z Zᵀ: Gram matrix ZᵀZ (section A3.1)    two passes over Z, and m³ for m columns
nearly    𝓛 = diag(shift) − Z Zᵀ, nearly constant shift  the same
block     any operator: filtered blocks of vectors        some 20k … 60k products, of blocks
========= ============================================== ===========================================

>>> import numpy as np, lowrankgcn as lg
>>> from lowrankgcn.spectral.solvers.solution import Request
>>> from lowrankgcn.spectral.solvers.direct import solve_dense
>>> cycle = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
>>> solve_dense(lg.Laplacian(lg.AdjacencyGraph(cycle)), Request(tol=1e-9)).values.round(6)
array([0.5, 0.5, 1.5, 1.5, 2. ])
>>> from lowrankgcn.spectral.solvers import solve
>>> table = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
>>> solve(table, Request(tol=1e-6, count=1)).method
'svd'
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.block import solve_block
from lowrankgcn.spectral.solvers.direct import solve_dense, solve_nearly_svd, solve_svd
from lowrankgcn.spectral.solvers.solution import Request, Solution, stored_solution

_LAPACK_LIMIT = 512  # nodes up to which a full dense decomposition is fastest
_GRAM_LIMIT = 4096  # columns of Z up to which its Gram matrix is decomposed


def direct_solution(laplacian: Laplacian, request: Request) -> Solution | None:
    """Return all eigenvalues if that is cheap or requested by `method`, else None."""
    factor, method = laplacian.factor, request.method
    if method in ("auto", "svd") and factor is not None and laplacian.has_constant_shift:
        if method == "svd" or factor.shape[1] <= min(_GRAM_LIMIT, laplacian.n):
            return solve_svd(laplacian, request)
    if method == "dense" or (method == "auto" and laplacian.n <= _LAPACK_LIMIT):
        return solve_dense(laplacian, request)
    return None


def solve(laplacian: Laplacian, request: Request) -> Solution:
    """Compute the smallest or largest pairs outside the null space.

    A landmark kernel, or a hypergraph with other loops than its own, starts from the singular
    vectors of its factor, which usually are accurate enough already.
    """
    direct = direct_solution(laplacian, request)
    if direct is not None:
        return direct
    if request.count == 0:
        nothing = np.zeros(0)
        return stored_solution(nothing, np.zeros((laplacian.n, 0)), nothing, "null space", 0)
    factor, method = laplacian.factor, request.method
    few = method == "auto" and factor is not None and factor.shape[1] <= _GRAM_LIMIT
    if not request.largest and (few or method == "svd"):
        guess = solve_nearly_svd(laplacian, request)
        if guess is not None:
            vectors, residuals = guess.build(np.arange(request.count), request.dtype)
            if residuals.max() <= request.tol:
                return guess
            request = replace(request, start=vectors)
    return solve_block(laplacian, request)


def largest_eigenvalue(laplacian: Laplacian, request: Request) -> float:
    """Return the largest eigenvalue λ_n to 1e-6 or better; 0 for a graph without edges."""
    if laplacian.null_space.dimension == laplacian.n:
        return 0.0
    tol = min(request.tol, 1e-6)
    top = replace(request, tol=tol, count=1, largest=True, start=None)
    return max(solve(laplacian, top).distinct)

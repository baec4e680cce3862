"""Iterative eigensolvers for one end of the spectrum: ARPACK and block Krylov."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as spla

from lowrankgcn.exceptions import EigensolverError
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.laplacian import Laplacian, NullSpace
from lowrankgcn.spectral.solvers.base import (
    EXTRA,
    SMALLEST,
    Built,
    Request,
    Solution,
    residual_norms,
    stored_solution,
)

__all__ = ["solve_krylov", "solve_lanczos"]

_COARSE_TOL = 1e-2  # accuracy of the first search for pairs that were missed


def solve_lanczos(laplacian: Laplacian, request: Request) -> Solution:
    """Compute pairs by ARPACK's restarted Lanczos iteration on 𝓛 or bound·I − 𝓛 (section A4.2).

    One start vector meets every eigenspace in one direction only. The search is therefore repeated
    outside the pairs found until it finds none that belongs among them: copies of multiple
    eigenvalues. If so few distinct eigenvalues are left that ARPACK has nothing to restart with
    (cliques, stars), block Krylov takes over.
    """
    try:
        return _lanczos(laplacian, request)
    except spla.ArpackError:
        return solve_krylov(laplacian, request)


def _lanczos(laplacian: Laplacian, request: Request) -> Solution:
    null, n, bound = laplacian.null_space, laplacian.n, laplacian.spectral_bound
    count, largest, tol = request.count, request.largest, request.tol
    generator = np.random.default_rng(request.random_state)
    products = 0

    def search(k: int, found: FloatArray, accuracy: float, start: FloatArray) -> Built:
        def project(x: FloatArray) -> FloatArray:
            x = null.project_out(x.reshape(n, 1))
            return x - found @ (found.T @ x)

        def apply(x: FloatArray) -> FloatArray:
            nonlocal products
            products += 1
            block = project(x)
            image = laplacian @ block
            # What is projected out goes to 0: all others lie between 1 and 1 + bound.
            image = block + image if largest else (1.0 + bound) * block - image
            return project(image)[:, 0]

        operator = spla.LinearOperator((n, n), matvec=apply, dtype=np.float64)
        try:
            heights, vectors = spla.eigsh(
                operator,
                k=k,
                which="LA",
                v0=project(start)[:, 0],
                ncv=min(n, max(2 * k + 1, 20)),
                # ARPACK's tolerance is relative to the operator's eigenvalue, at most 3.
                tol=accuracy / 4,
                maxiter=request.max_iter,
            )
        except spla.ArpackNoConvergence as error:
            raise EigensolverError(
                f"Lanczos found {len(error.eigenvalues)} of {k} eigenpairs to tol={accuracy:g} "
                f"with {products} products; raise max_iter or tol, request fewer pairs, or use "
                "method='krylov'"
            ) from None
        return vectors, heights

    vectors, heights = search(count, np.zeros((n, 0)), tol, generator.normal(size=n))
    extra = 1
    while vectors.shape[1] + extra < n - null.dimension:
        start = generator.normal(size=n)
        edge = np.sort(heights)[-count] + max(tol / 2, 64 * SMALLEST)
        if tol < _COARSE_TOL:
            coarse, height = search(1, vectors, _COARSE_TOL, start)
            value = height - 1.0 if largest else 1.0 + bound - height
            if height[0] + residual_norms(laplacian, value, coarse)[0] <= edge:
                break
            start = coarse[:, 0] + 0.1 / np.sqrt(n) * start
        further, height = search(extra, vectors, tol, start)
        if height.max() <= edge:
            break
        vectors, heights = np.hstack([vectors, further]), np.concatenate([heights, height])
        extra *= 2
    # ARPACK's vectors are as orthogonal as they have converged, those of Rayleigh–Ritz fully.
    best = vectors[:, np.argsort(-heights, kind="stable")[:count]]
    basis = la.qr(null.project_out(best), mode="economic")[0]
    image = laplacian @ basis
    values, ritz = la.eigh(basis.T @ image)
    vectors, values = basis @ ritz, np.maximum(values, SMALLEST)
    residuals = np.linalg.norm(image @ ritz - vectors * values, axis=0)
    return stored_solution(values, vectors, residuals, "lanczos", products + count)


def solve_krylov(laplacian: Laplacian, request: Request) -> Solution:
    """Compute pairs by Rayleigh–Ritz on a growing block Krylov space, restarted with the best.

    Every step multiplies the residuals of the pairs that have not converged: the same space as
    block Lanczos, in blocks that shrink.
    """
    null, n, count = laplacian.null_space, laplacian.n, request.count
    size = n - null.dimension
    known = np.zeros((n, 0)) if request.start is None else request.start
    missing = min(count + EXTRA, size) - known.shape[1] if known.shape[1] < count else 0
    filling = np.random.default_rng(request.random_state).normal(size=(n, missing))
    start = np.hstack([known, filling])
    limit = min(size, 3 * max(start.shape[1], count + EXTRA) + 10)
    basis = _orthonormal(start.astype(np.float64), np.zeros((n, 0)), null)
    image = laplacian @ basis
    products = basis.shape[1]
    floor = max(request.tol, 64 * np.finfo(float).eps)
    for _ in range(request.max_iter or 1000):
        small = basis.T @ image
        values, ritz = la.eigh((small + small.T) / 2)
        if request.largest:
            values, ritz = values[::-1], ritz[:, ::-1]
        chosen = ritz[:, :count]
        defect = image @ chosen - (basis @ chosen) * values[: chosen.shape[1]]
        residuals = np.linalg.norm(defect, axis=0)
        if chosen.shape[1] == count and bool((residuals <= floor).all()):
            break
        if basis.shape[1] + count > limit and basis.shape[1] > count + EXTRA:
            keep = ritz[:, : count + EXTRA]
            basis, image = basis @ keep, image @ keep
        fresh = defect[:, residuals > floor]
        if chosen.shape[1] < count:  # dependent columns were dropped from the start
            fresh = np.random.default_rng(products).normal(size=(n, count))
        fresh = _orthonormal(fresh, basis, null)
        if not fresh.shape[1]:
            break
        basis = np.hstack([basis, fresh])
        image = np.hstack([image, laplacian @ fresh])
        products += fresh.shape[1]
    else:
        raise EigensolverError(
            f"block Krylov iteration reached residuals of {residuals.max():.1e} for "
            f"tol={request.tol:g} with {products} products; raise max_iter or tol, or request "
            "fewer pairs"
        )
    order = np.argsort(values[:count], kind="stable")
    vectors = (basis @ chosen)[:, order]
    values = np.maximum(values[:count][order], SMALLEST)
    return stored_solution(values, vectors, residuals[order], "krylov", products)


def _orthonormal(block: FloatArray, basis: FloatArray, null: NullSpace) -> FloatArray:
    """Return an orthonormal basis of the block outside span(basis) and the null space.

    Dependent columns are dropped.
    """
    for _ in range(2):
        block = null.project_out(block - basis @ (basis.T @ block))
        norms = np.linalg.norm(block, axis=0)
        block = block[:, norms > 1e-14 * max(1.0, norms.max(initial=0.0))]
        if not block.shape[1]:
            return block
        q, r, _ = la.qr(block / np.linalg.norm(block, axis=0), mode="economic", pivoting=True)
        block = q[:, np.abs(np.diag(r)) > 1e-10]
    return block

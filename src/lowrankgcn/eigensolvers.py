"""Eigensolvers as small values: direct ones know every eigenvalue, iterative ones one end.

The null space is known exactly (:class:`~lowrankgcn.laplacian.NullSpace`) and taken out beforehand;
all solvers work on its complement.

========= ============================================== ===========================================
solver    for                                            cost
========= ============================================== ===========================================
dense     small n: LAPACK                                n³
svd       𝓛 = I − Z Zᵀ: Gram matrix ZᵀZ (section A3.1)    two passes over Z, and m³ for m columns
lanczos   any operator: ARPACK                           some 2k … 10k products, one vector each
krylov    any operator, costly products, good start      products with blocks of vectors
========= ============================================== ===========================================

>>> import numpy as np, lowrankgcn as lg
>>> cycle = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
>>> DenseEigh.decompose(lg.Laplacian(lg.AdjacencyGraph(cycle))).values.round(6)
array([0.5, 0.5, 1.5, 1.5, 2. ])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, map_chunks, threads_for
from lowrankgcn.exceptions import EigensolverError
from lowrankgcn.laplacian import Laplacian, NullSpace
from lowrankgcn.operators import Factor, FloatArray

__all__ = ["BlockKrylov", "DenseEigh", "DirectSolution", "Lanczos", "Solution", "ThinSVD"]

_Built = tuple[NDArray[Any], FloatArray]

_EXTRA = 5  # vectors carried beyond those wanted, for faster convergence
_GLANCE = 1e-2  # accuracy of the first look for pairs that were missed
_ROWS = 8192
# Outside the null space every eigenvalue is positive; rounding must not make it zero or negative.
_SMALLEST = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """Eigenpairs from one end of the spectrum without the null space, with the evidence."""

    values: FloatArray  # (k,), ascending
    vectors: NDArray[Any]  # (n, k), or (n, lead + k) with columns left for null vectors
    residuals: FloatArray  # (k,)
    products: int
    method: str


@final
@dataclass(frozen=True, eq=False)
class DirectSolution:
    """All eigenvalues outside the null space; eigenvectors are built on demand.

    Attributes
    ----------
    values : (p,) array
        Ascending.
    bulk_value, bulk_count : float, int
        One further eigenvalue whose eigenvectors are arbitrary and never built (1 for hypergraphs).
    build : callable
        ``build(index, lead, dtype)`` gives the chosen eigenvectors, behind `lead` columns left for
        null vectors, and their residuals.
    """

    values: FloatArray
    bulk_value: float
    bulk_count: int
    method: str
    build: Callable[[NDArray[np.intp], int, Any], tuple[NDArray[Any], FloatArray]]


@final
class DenseEigh:
    """LAPACK on the dense matrix; n×n memory, for small n."""

    @staticmethod
    def decompose(laplacian: Laplacian) -> DirectSolution:
        """All eigenpairs outside the null space."""
        matrix = laplacian.to_dense()
        null = laplacian.null_space
        for start, stop in chunks(null.dimension, 64):
            block = null.vectors(start, stop)
            # Moved beyond the spectrum [0, 2], so that nothing mixes with nearly null vectors.
            matrix += 3.0 * (block @ block.T)
        values, vectors = la.eigh(matrix)
        values = np.maximum(values[: laplacian.n - null.dimension], _SMALLEST)

        def build(index: NDArray[np.intp], lead: int, dtype: Any) -> _Built:
            chosen = vectors[:, index]
            residuals = _residuals(laplacian, values[index], chosen)
            return _behind(chosen, lead).astype(dtype), residuals

        return DirectSolution(values, 0.0, 0, "dense", build)


@final
class ThinSVD:
    """Singular vectors of the tall factor through its Gram matrix (section A3.1)."""

    @staticmethod
    def decompose(laplacian: Laplacian) -> DirectSolution:
        """All eigenpairs of 𝓛 = I − Z Zᵀ outside the null space, up to the numerical rank of Z.

        With ZᵀZ v = μv the pair is λ = 1 − μ, u = Z v/√μ; all other eigenvalues are 1. Rows of
        isolated nodes are zero in Z and belong to the null space.
        """
        factor = _factor(laplacian)
        gram = _deflated_gram(laplacian, factor)
        squares, right = la.eigh(gram)
        # Eigenvalues of a Gram matrix are known to rounding of its norm, which is at most one.
        rank = int((squares > 16 * len(gram) * np.finfo(float).eps).sum())
        squares, right = squares[::-1][:rank], right[:, ::-1][:, :rank]
        bulk = laplacian.n - laplacian.null_space.dimension - rank

        def build(index: NDArray[np.intp], lead: int, dtype: Any) -> _Built:
            mu, v = squares[index], right[:, index]
            vectors = factor.matmul(_behind(_reorthogonalized(gram, v, mu), lead), dtype=dtype)
            # 𝓛u − λu = −Z e with e = (ZᵀZ v − μv)/√μ, whose norm is √(eᵀ ZᵀZ e).
            defect = (gram @ v - v * mu) / np.sqrt(mu)
            norms = np.sqrt(np.maximum(np.einsum("ij,ij->j", defect, gram @ defect), 0.0))
            # The Gram matrix itself is known to rounding only.
            return vectors, np.hypot(norms, np.finfo(np.float64).eps / np.sqrt(mu))

        return DirectSolution(np.clip(1.0 - squares, _SMALLEST, 1.0), 1.0, bulk, "svd", build)

    @staticmethod
    def approximate(laplacian: Laplacian, count: int, lead: int, dtype: Any) -> Solution | None:
        """The `count` smallest pairs of diag(shift) − Z Zᵀ by Rayleigh–Ritz on singular vectors.

        When the shift is nearly constant (small loops), the leading singular vectors U of Z nearly
        span the eigenspace, and 𝓛U = shift∘U − Uμ needs no further product. None if Z has too few
        of them, or if a smaller eigenvalue may belong to a vector off U, where xᵀ𝓛x is at least
        min shift − μ for the next singular value: loops that differ much.
        """
        factor = _factor(laplacian)
        null = laplacian.null_space
        joined = int((np.bincount(null.components, weights=laplacian.scale) > 0).sum())
        squares, right = la.eigh(factor.gram())
        rank = int((squares > 1e-10).sum())
        if rank < count + joined:
            return None
        squares, right = squares[::-1], right[:, ::-1]
        shifts = laplacian.shift[laplacian.scale > 0]
        reach = squares[count + joined - 1] - (shifts.mean() - shifts.min())
        wanted = max(count + joined + _EXTRA, min(int((squares > reach).sum()), 2 * count + 32))
        mu = squares[: min(wanted, rank)]
        singular = right[:, : len(mu)] / np.sqrt(mu)
        spare = max(0, lead + count - len(mu))
        U = factor.matmul(np.pad(singular, ((0, 0), (0, spare))), dtype=dtype)
        shift, used = laplacian.shift, slice(0, len(mu))

        def products(start: int, stop: int) -> FloatArray:
            rows = U[start:stop, used].astype(np.float64, copy=False)
            return np.stack([rows.T @ rows, rows.T @ (shift[start:stop, None] * rows)])

        inner, image = _sum_rows(products, laplacian.n)
        image -= inner * mu
        # Without the null space, and without directions of span(U) that lie in it.
        overlap = null.coefficients(U[:, used])
        norms, directions = la.eigh(inner - overlap.T @ overlap)
        outside = norms > 1e-8
        basis = directions[:, outside] / np.sqrt(norms[outside])
        values, ritz = la.eigh(basis.T @ ((image + image.T) / 2) @ basis)
        off = shifts.min() - (squares[len(mu)] if len(mu) < len(squares) else 0.0)
        if len(values) < count or values[count - 1] > off:
            return None
        values, ritz = np.maximum(values[:count], _SMALLEST), basis @ ritz[:, :count]
        overlap = overlap @ ritz

        def rotate(start: int, stop: int) -> FloatArray:
            rows = U[start:stop, used].astype(np.float64)
            chosen = rows @ ritz - null.combine(overlap, start, stop)
            defect = (shift[start:stop, None] * rows - rows * mu) @ ritz - chosen * values
            U[start:stop, lead : lead + count] = chosen
            return np.asarray(np.einsum("ij,ij->j", defect, defect))

        squared = _sum_rows(rotate, laplacian.n)
        return Solution(values, U[:, : lead + count], np.sqrt(squared), len(mu), "svd")


@final
@dataclass(frozen=True)
class Lanczos:
    """ARPACK's implicitly restarted Lanczos iteration on 𝓛 or on bound·I − 𝓛 (section A4.2).

    One start vector meets every eigenspace in one direction only. So the search is repeated off the
    pairs found until nothing turns up that belongs among them: copies of multiple eigenvalues.
    """

    tol: float
    max_iter: int | None = None
    random_state: int = 0

    def solve(self, laplacian: Laplacian, count: int, *, largest: bool = False) -> Solution:
        """The `count` smallest (or largest) pairs outside the null space."""
        null, n, bound = laplacian.null_space, laplacian.n, laplacian.spectral_bound
        generator = np.random.default_rng(self.random_state)
        products = 0

        def search(k: int, found: FloatArray, tol: float, start: FloatArray) -> _Built:
            def off(x: FloatArray) -> FloatArray:
                x = null.project_out(x.reshape(n, 1))
                return x - found @ (found.T @ x)

            def apply(x: FloatArray) -> FloatArray:
                nonlocal products
                products += 1
                block = off(x)
                image = laplacian @ block
                # What is projected out goes to 0: all others lie between 1 and 1 + bound.
                image = block + image if largest else (1.0 + bound) * block - image
                return off(image)[:, 0]

            operator = spla.LinearOperator((n, n), matvec=apply, dtype=np.float64)
            try:
                heights, vectors = spla.eigsh(
                    operator,
                    k=k,
                    which="LA",
                    v0=off(start)[:, 0],
                    ncv=min(n, max(2 * k + 1, 20)),
                    # ARPACK's tolerance is relative to the operator's eigenvalue, at most 3.
                    tol=tol / 4,
                    maxiter=self.max_iter,
                )
            except spla.ArpackNoConvergence as error:
                raise EigensolverError(
                    f"Lanczos found {len(error.eigenvalues)} of {k} eigenpairs to tol={tol:g} "
                    f"with {products} products; raise max_iter or tol, ask for fewer pairs, or use "
                    "method='krylov'"
                ) from None
            return vectors, heights

        vectors, heights = search(count, np.zeros((n, 0)), self.tol, generator.normal(size=n))
        extra = 1
        while vectors.shape[1] + extra < n - null.dimension:
            start = generator.normal(size=n)
            edge = np.sort(heights)[-count] + max(self.tol / 2, 64 * _SMALLEST)
            if self.tol < _GLANCE:
                glanced, height = search(1, vectors, _GLANCE, start)
                value = height - 1.0 if largest else 1.0 + bound - height
                if height[0] + _residuals(laplacian, value, glanced)[0] <= edge:
                    break
                start = glanced[:, 0] + 0.1 / np.sqrt(n) * start
            further, height = search(extra, vectors, self.tol, start)
            if height.max() <= edge:
                break
            vectors, heights = np.hstack([vectors, further]), np.concatenate([heights, height])
            extra *= 2
        # ARPACK's vectors are as orthogonal as they have converged, those of Rayleigh–Ritz fully.
        best = vectors[:, np.argsort(-heights, kind="stable")[:count]]
        basis = la.qr(null.project_out(best), mode="economic")[0]
        image = laplacian @ basis
        values, ritz = la.eigh(basis.T @ image)
        vectors, values = basis @ ritz, np.maximum(values, _SMALLEST)
        residuals = np.linalg.norm(image @ ritz - vectors * values, axis=0)
        return Solution(values, vectors, residuals, products + count, "lanczos")


@final
@dataclass(frozen=True)
class BlockKrylov:
    """Rayleigh–Ritz on a growing block Krylov space, restarted with the best Ritz vectors."""

    tol: float
    max_iter: int | None = None
    random_state: int = 0

    def solve(
        self,
        laplacian: Laplacian,
        count: int,
        *,
        largest: bool = False,
        start: NDArray[Any] | None = None,
    ) -> Solution:
        """The `count` smallest (or largest) pairs outside the null space.

        Every step multiplies the residuals of the pairs that have not converged: the same space as
        block Lanczos, in blocks that shrink. `start` (n, q ≥ count) is a guess of the eigenspace.
        """
        null, n = laplacian.null_space, laplacian.n
        size = n - null.dimension
        known = np.zeros((n, 0)) if start is None else start
        missing = min(count + _EXTRA, size) - known.shape[1] if known.shape[1] < count else 0
        filling = np.random.default_rng(self.random_state).normal(size=(n, missing))
        start = np.hstack([known, filling])
        limit = min(size, 3 * max(start.shape[1], count + _EXTRA) + 10)
        basis = _orthonormal(start.astype(np.float64), np.zeros((n, 0)), null)
        image = laplacian @ basis
        products = basis.shape[1]
        floor = max(self.tol, 64 * np.finfo(float).eps)
        for _ in range(self.max_iter or 1000):
            small = basis.T @ image
            values, ritz = la.eigh((small + small.T) / 2)
            if largest:
                values, ritz = values[::-1], ritz[:, ::-1]
            chosen = ritz[:, :count]
            defect = image @ chosen - (basis @ chosen) * values[: chosen.shape[1]]
            residuals = np.linalg.norm(defect, axis=0)
            if chosen.shape[1] == count and bool((residuals <= floor).all()):
                break
            if basis.shape[1] + count > limit and basis.shape[1] > count + _EXTRA:
                keep = ritz[:, : count + _EXTRA]
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
                f"tol={self.tol:g} with {products} products; raise max_iter or tol, or ask for "
                "fewer pairs"
            )
        order = np.argsort(values[:count], kind="stable")
        vectors = (basis @ chosen)[:, order]
        values = np.maximum(values[:count][order], _SMALLEST)
        return Solution(values, vectors, residuals[order], products, "krylov")


def _sum_rows(term: Callable[[int, int], FloatArray], n: int) -> FloatArray:
    total: FloatArray = np.sum(map_chunks(term, n, _ROWS, n_threads=threads_for(64 * n)), axis=0)
    return total


def _behind(matrix: FloatArray, lead: int) -> FloatArray:
    """The matrix behind `lead` columns of zeros."""
    return np.pad(matrix, ((0, 0), (lead, 0))) if lead else matrix


def _factor(laplacian: Laplacian) -> Factor:
    if laplacian.factor is None:
        raise ValueError("method: expected a solver other than 'svd', got no low-rank structure")
    return laplacian.factor


def _deflated_gram(laplacian: Laplacian, factor: Factor) -> FloatArray:
    """ZᵀZ with the singular vectors Zᵀ√d of the null space moved from 1 to −1, far from others."""
    gram = factor.gram()
    null = laplacian.null_space
    joined = np.flatnonzero(np.bincount(null.components, weights=laplacian.scale) > 0)
    for part in np.array_split(joined, -(-len(joined) // 16)) if len(joined) else ():
        first = int(part[0])
        block = null.vectors(first, int(part[-1]) + 1)[:, part - first]
        right = factor.transpose_product(block)
        gram -= 2.0 * (right @ right.T)
    return (gram + gram.T) / 2


def _reorthogonalized(gram: FloatArray, v: FloatArray, mu: FloatArray) -> FloatArray:
    """Columns of v/√μ, corrected so that Z times them is orthonormal where μ is small.

    (Zv)ᵀ(Zv) = vᵀ ZᵀZ v is diagonal up to rounding, which μ ≪ 1 magnifies; a Cholesky factor of
    it, computed from the same numbers, takes the error out.
    """
    scaled = v / np.sqrt(mu)
    inner = scaled.T @ gram @ scaled
    if np.abs(inner - np.eye(len(mu))).max(initial=0.0) < 1e-14:
        return scaled
    root = la.cholesky((inner + inner.T) / 2, lower=True)
    corrected: FloatArray = la.solve_triangular(root, scaled.T, lower=True).T
    return corrected


def _orthonormal(block: FloatArray, basis: FloatArray, null: NullSpace) -> FloatArray:
    """Orthonormal basis of the block's part outside span(basis) and the null space.

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


def _residuals(laplacian: Laplacian, values: FloatArray, vectors: FloatArray) -> FloatArray:
    norms: FloatArray = np.linalg.norm(laplacian @ vectors - vectors * values, axis=0)
    return norms

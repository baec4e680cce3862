"""The iterative eigensolver for one end of the spectrum: Rayleigh–Ritz on blocks of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.exceptions import EigensolverError
from lowrankgcn.operators import FloatArray, SparseOperator
from lowrankgcn.spectral.laplacian import CHUNK_ROWS, Laplacian
from lowrankgcn.spectral.solvers.base import SMALLEST, Request, Solution, stored_solution

__all__ = ["solve_block"]

Block = NDArray[Any]  # (n, w) in single or double precision

_EXTRA = 8  # further vectors, or a quarter of the pairs: multiple eigenvalues, faster convergence
_SINGLE_TOL = 1e-4  # residuals down to which single precision is used
_LIKELY_TOP = 1.5  # largest eigenvalue of most sparse graphs; Ritz values show if it is larger
_MOST_DEGREE = 60
_PROGRESS = 0.7  # if the residuals shrink less, the other way to improve the space is tried
_PRODUCT_ROWS = 1 << 15  # rows of a sparse matrix that one thread multiplies at a time


def solve_block(laplacian: Laplacian, request: Request) -> Solution:
    """Compute pairs by Rayleigh–Ritz on a space that is improved until residuals are below `tol`.

    Each round replaces the vectors that have not converged by Chebyshev polynomials of 𝓛 times
    them, small on the other part of the spectrum. If products are costly (fast sums) or a good
    guess is known, residuals extend the space instead, until it is restarted with the best vectors:
    block Lanczos. That needs fewer products, unless eigenvalues are close to each other.
    """
    size, count = laplacian.n - laplacian.null_space.dimension, request.count
    width = min(size, count + max(_EXTRA, count // 4))
    affinity = laplacian.affinity
    filtering = affinity.exact and affinity.method != "blocks" and request.start is None
    space = _Space(laplacian, request)
    given = np.zeros((laplacian.n, 0)) if request.start is None else request.start
    basis = space.extended(np.zeros((laplacian.n, 0), space.dtype), given[:, :width], width)
    image = space.product(basis)
    before = math.inf
    for rounds in range(request.max_iter or 1000):
        small = (basis.T @ image).astype(np.float64)
        values, ritz = la.eigh((small + small.T) / 2)
        ritz = ritz.astype(space.dtype)
        basis, image = basis @ ritz, image @ ritz
        defect = image - basis * values.astype(space.dtype)
        residuals = _lengths(defect).astype(np.float64)
        goal = space.goal(request.tol)
        active = np.flatnonzero(residuals[:count] > goal)
        if not len(active):
            if space.dtype == np.float64:
                break
            space.dtype = np.dtype(np.float64)
            wanted = count if request.tol >= _SINGLE_TOL else width
            basis = space.extended(np.zeros((laplacian.n, 0)), basis[:, :wanted], 0)
            image = space.product(basis)
            continue
        worst, kept = float(residuals[active].max()), basis.shape[1]
        if filtering or kept + len(active) > min(size, 3 * width):
            kept = width
            if worst > _PROGRESS * before:
                filtering = not filtering
            before = worst if rounds else math.inf  # the first edge is a guess
        if filtering:
            edge = space.edge(float(values[width - 1])) if rounds else space.middle
            degree = space.degree(float(values[count - 1]), edge, worst / goal)
            kept = int(active[0])
            fresh = space.filter(basis[:, kept:width], edge, degree)
        else:
            fresh = defect[:, active]
        basis, image = basis[:, :kept], image[:, :kept]
        fresh = space.extended(basis, fresh, width - kept)
        if not fresh.shape[1]:
            break
        basis, image = np.hstack([basis, fresh]), np.hstack([image, space.product(fresh)])
    else:
        raise EigensolverError(
            f"block iteration reached residuals of {residuals[:count].max():.1e} for "
            f"tol={request.tol:g} with {space.products} products; raise max_iter or tol, or "
            "request fewer pairs"
        )
    order = np.arange(count)[:: -1 if request.largest else 1]
    values = np.maximum(space.sign * values[order], SMALLEST)
    return stored_solution(values, basis[:, order], residuals[order], "block", space.products)


@final
class _Space:
    """The complement of the null space, with products of 𝓛, or of −𝓛 for the largest pairs.

    Sparse matrices start in single precision.
    """

    def __init__(self, laplacian: Laplacian, request: Request) -> None:
        self.laplacian, self.sign = laplacian, -1.0 if request.largest else 1.0
        self.products = 0
        self.generator = np.random.default_rng(request.random_state)
        bound = laplacian.spectral_bound
        self.bottom, self.bound = (-bound, 0.0) if request.largest else (0.0, bound)
        self.top = min(self.bound, self.bottom + _LIKELY_TOP)
        self.middle = 0.55 * self.bottom + 0.45 * self.top
        self.dtype: np.dtype[Any] = np.dtype(np.float64)
        self.matrix: Any = None
        if isinstance(laplacian.affinity.operator, SparseOperator):
            self.dtype = np.dtype(np.float32)
            weights, scale = laplacian.affinity.operator.matrix, laplacian.scale
            data = weights.data * np.repeat(scale, np.diff(weights.indptr))
            data *= scale[weights.indices]
            self.matrix = sp.csr_array((data, weights.indices, weights.indptr), weights.shape)
        null = laplacian.null_space
        entries = null.profile, null.components, np.arange(laplacian.n + 1)
        self._null = sp.csr_array(entries, (laplacian.n, null.dimension))

    def goal(self, tol: float) -> float:
        """Return the residual to reach in the current precision."""
        single = self.dtype == np.float32
        return max(0.9 * tol, _SINGLE_TOL) if single else max(tol, 64 * SMALLEST)

    def product(self, X: Block) -> Block:
        """Multiply with ±𝓛."""
        return self.affine(1.0, 0.0)(X)

    def affine(self, slope: float, offset: float) -> Callable[[Block], Block]:
        """Return the product with ±slope·𝓛 + offset."""
        slope, laplacian = self.sign * slope, self.laplacian
        parts: list[Any] = []
        if self.matrix is not None:
            diagonal = sp.diags_array(slope * laplacian.shift + offset)
            matrix = sp.csr_array(diagonal - slope * self.matrix).astype(self.dtype)
            parts = [matrix[a:b] for a, b in chunks(laplacian.n, _PRODUCT_ROWS)]

        def multiply(X: Block) -> Block:
            self.products += X.shape[1]
            if self.matrix is None:
                product: Block = laplacian @ X
                return slope * product + offset * X
            pieces = map_chunks(lambda i, _: parts[i] @ X, len(parts), 1)
            return np.vstack(pieces) if len(pieces) > 1 else pieces[0]

        return multiply

    def edge(self, last: float) -> float:
        """Return where the unwanted part of the spectrum begins: the last Ritz value."""
        if self.bound > self.top < last:  # which the last filter has then amplified
            self.top = self.bound
            return self.middle
        return min(last, self.top - 1e-3)

    def degree(self, value: float, edge: float, reduction: float) -> int:
        """Choose the degree of the filter to divide the residual of a Ritz value by `reduction`."""
        centre, radius = (self.top + edge) / 2, (self.top - edge) / 2
        wanted = math.acosh(3.0 * reduction) / math.acosh(max((centre - value) / radius, 1.0001))
        # Components along the null space grow most, from rounding errors.
        growth = math.log(1e6 if self.dtype == np.float32 else 1e12)
        most = growth / math.acosh((centre - self.bottom) / radius)
        return max(3, math.ceil(min(wanted, most, _MOST_DEGREE)))

    def filter(self, X: Block, edge: float, degree: int) -> Block:
        """Multiply with the Chebyshev polynomial that is at most 1 between `edge` and the top."""
        centre, radius = (self.top + edge) / 2, (self.top - edge) / 2
        twice = self.affine(2 / radius, -2 * centre / radius)
        before = np.ascontiguousarray(X)
        Y = twice(before)
        Y *= 0.5
        for _ in range(degree - 1):
            after = twice(Y)
            after -= before
            before, Y = Y, after
        return Y

    def extended(self, basis: Block, block: Block, least: int) -> Block:
        """Return an orthonormal basis of the block outside span(basis) and the null space.

        Dependent columns are dropped. Random columns fill up to `least`.
        """
        fresh = self._orthonormal(block.astype(self.dtype, copy=False), basis)
        while fresh.shape[1] < least:
            shape = len(basis), least - fresh.shape[1]
            filling = self.generator.random(shape, np.float32).astype(self.dtype) - 0.5
            known = np.hstack([basis, fresh])
            fresh = np.hstack([fresh, self._orthonormal(filling, known)])
        return fresh

    def _orthonormal(self, block: Block, basis: Block) -> Block:
        null = self._null.astype(self.dtype)
        for _ in range(2):
            block = block - null @ (null.T @ block)
            if basis.shape[1]:
                block -= basis @ (basis.T @ block)
            lengths = _lengths(block)
            nonzero = lengths > 1e-14 * lengths.max(initial=0.0)
            block = block[:, nonzero] / lengths[nonzero]
            if not block.shape[1]:
                break
            squares, directions = la.eigh(_gram(block))
            kept = squares > 1e-13
            block = block @ (directions[:, kept] / np.sqrt(squares[kept])).astype(self.dtype)
            if squares[0] > 0.01 and not basis.shape[1]:
                break
        return block


def _lengths(block: Block) -> Block:
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", block, block)))


def _gram(block: Block) -> FloatArray:
    """Compute inner products in double precision."""

    def rows(start: int, stop: int) -> FloatArray:
        part = block[start:stop].astype(np.float64, copy=False)
        return part.T @ part

    return np.asarray(np.sum(map_chunks(rows, len(block), CHUNK_ROWS), axis=0))

"""The iterative eigensolver for one end of the spectrum: Rayleigh–Ritz on blocks of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.exceptions import EigensolverError
from lowrankgcn.operators import DiagonalPlusLowRank, FloatArray, MatrixOperator
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.base import SMALLEST, Request, Solution, stored_solution
from lowrankgcn.spectral.solvers.direct import eigh, sum_rows

Block = NDArray[Any]  # (n, w) in single or double precision

_CHEAP = DiagonalPlusLowRank, MatrixOperator  # others sum over all pairs of points
_SINGLE_TOL = 1e-4  # residuals down to which sparse matrices are multiplied in single precision
_LIKELY_TOP = 1.5  # most graphs of nearest neighbours have no larger eigenvalue
_ROWS = 2048  # rows of products per task: few enough to keep all threads busy
_FIRST_DEGREE, _MOST_DEGREE = 8, 60
_PROGRESS = 0.7  # if a round gains less, the space is extended in the other way


def solve_block(laplacian: Laplacian, request: Request) -> Solution:
    """Compute pairs by Rayleigh–Ritz on a space that is improved until residuals are below `tol`.

    Each round multiplies the vectors that have not converged with a Chebyshev polynomial of 𝓛 that
    is small on the unwanted part of the spectrum. If products are costly (fast sums) or a guess is
    given, residuals extend the space instead, until it is restarted with its best vectors: block
    Lanczos. That needs fewer products, and finds eigenvalues of higher multiplicity than the block
    has vectors. Either way is left for the other one where it makes little progress.

    Notes
    -----
    Memory of some five blocks (n, 1.25 count), or nine of them for costly products.
    """
    size, count = laplacian.n - laplacian.null_space.dimension, request.count
    width = min(size, count + max(8, count // 4))
    space, start = _Space(laplacian, request), request.start
    filtering = start is None and isinstance(laplacian.affinity.operator, _CHEAP)
    if start is None:
        start, least = space.random(width), width
        start = space.filter(start, space.middle, _FIRST_DEGREE) if filtering else start
    else:
        start, least = start[space.order, :width], count
    # Residuals add to the error of fast sums, which is compared with `tol` too.
    tol = request.tol if laplacian.affinity.exact else request.tol / 2
    basis = space.extended(np.zeros((laplacian.n, 0), space.dtype), start, least)
    image = space.product(basis)
    small, before = _inner(basis, image), math.inf
    for _ in range(request.max_iter or 1000):
        values, ritz = eigh((small + small.T) / 2)
        basis, image = _combined(basis, ritz), _combined(image, ritz)
        residuals = _residuals(basis, image, values)
        goal = space.goal(tol)
        active = np.flatnonzero(residuals[:count] > goal)
        worst, kept = float(residuals[:count].max()), basis.shape[1]
        if not len(active):
            if space.dtype == np.float64:
                break
            space.dtype = np.dtype(np.float64)
            wanted = count if tol >= _SINGLE_TOL else width
            basis = space.extended(np.zeros((laplacian.n, 0)), basis[:, :wanted], count)
            image = space.product(basis)
            small = _inner(basis, image)
            continue
        if filtering or kept + len(active) > min(size, 3 * width):
            kept, edge = min(kept, width), float(values[:width][-1])
            if space.top < min(edge, space.bound):  # eigenvalues beyond the top were amplified
                space.top, edge, before = space.bound, space.middle, math.inf
            edge = min(edge, space.top - 1e-3)
            distance = worst * (edge - space.bottom)  # at first, mainly the space moves down
            filtering, before = filtering ^ (distance > _PROGRESS * before), distance
        if filtering:
            kept = int(active[0])
            degree = space.degree(float(values[count - 1]), edge, worst / goal)
            fresh = space.filter(basis[:, kept:width], edge, degree)
        else:
            fresh = image[:, active] - basis[:, active] * values[active].astype(space.dtype)
        basis, image = basis[:, :kept], image[:, :kept]
        fresh = space.extended(basis, fresh, count - kept)
        if not fresh.shape[1]:
            break
        added = space.product(fresh)
        basis, image = np.hstack([basis, fresh]), np.hstack([image, added])
        small = np.zeros((basis.shape[1], basis.shape[1]))
        small[range(kept), range(kept)] = values[:kept]
        small[:, kept:] = _inner(basis, added)
        small[kept:, :kept] = small[:kept, kept:].T
    else:
        raise EigensolverError(
            f"block iteration reached residuals of {worst:.1e} for tol={request.tol:g} with "
            f"{space.products} products; raise max_iter or tol, or request fewer pairs"
        )
    chosen = np.arange(count)[:: -1 if request.largest else 1]
    vectors = np.empty((laplacian.n, count), basis.dtype)
    vectors[space.order] = basis[:, chosen]
    values = np.maximum(space.sign * values[chosen], SMALLEST)
    return stored_solution(values, vectors, residuals[chosen], "block", space.products)


@final
class _Space:
    """The complement of the null space, with products of ±𝓛 such that the lowest pairs are wanted.

    Sparse matrices are used in the precision `dtype`, single at first.
    """

    def __init__(self, laplacian: Laplacian, request: Request) -> None:
        self.laplacian, self.sign = laplacian, -1.0 if request.largest else 1.0
        self.products = 0
        self.generator = np.random.default_rng(request.random_state)
        bound, null = laplacian.spectral_bound, laplacian.null_space
        self.bottom, self.bound = (-bound, 0.0) if request.largest else (0.0, bound)
        self.top = min(self.bound, self.bottom + _LIKELY_TOP)
        self.middle = 0.55 * self.bottom + 0.45 * self.top
        self.dtype: np.dtype[Any] = np.dtype(np.float64)
        self.matrix: Any = None
        self.order: Any = slice(None)
        operator, scale = laplacian.affinity.operator, laplacian.scale
        if isinstance(operator, MatrixOperator) and sp.issparse(operator.matrix):
            self.dtype = np.dtype(np.float32)
            weights = operator.matrix
            data = weights.data * np.repeat(scale, np.diff(weights.indptr)) * scale[weights.indices]
            matrix = sp.csr_array((data, weights.indices, weights.indptr), weights.shape)
            # Neighbours side by side: products read less memory.
            self.order = reverse_cuthill_mckee(matrix, symmetric_mode=True)
            self.matrix = sp.csr_array(matrix[self.order][:, self.order])
            self.matrix.sort_indices()  # once, or every sum of matrices would do it
        self.shift = laplacian.shift[self.order]
        self.null = null.matrix[self.order]

    def goal(self, tol: float) -> float:
        """Return the residual to reach in the present precision."""
        single = self.dtype == np.float32
        return 0.9 * max(tol, _SINGLE_TOL) if single else max(tol, 64 * SMALLEST)

    def product(self, X: Block) -> Block:
        """Multiply with ±𝓛."""
        return self.affine(1.0, 0.0)(X)

    def affine(self, slope: float, offset: float) -> Callable[..., Block]:
        """Return a function that computes (±slope·𝓛 + offset) X − Y of X and, optionally, Y."""
        slope, laplacian = self.sign * slope, self.laplacian
        parts: list[Any] = []
        if self.matrix is not None:
            diagonal = sp.diags_array(slope * self.shift + offset)
            matrix = sp.csr_array(diagonal - slope * self.matrix).astype(self.dtype)
            parts = [matrix[start:stop] for start, stop in chunks(laplacian.n, _ROWS)]

        def multiply(X: Block, minus: Block | float = 0.0) -> Block:
            self.products += X.shape[1]
            if not parts:
                return np.asarray(slope * (laplacian @ X) + offset * X - minus)
            out = np.empty_like(X, order="C")

            def rows(start: int, stop: int) -> None:
                subtracted = minus if isinstance(minus, float) else minus[start:stop]
                np.subtract(parts[start // _ROWS] @ X, subtracted, out=out[start:stop])

            map_chunks(rows, len(X), _ROWS)
            return out

        return multiply

    def degree(self, value: float, edge: float, reduction: float) -> int:
        """Return the degree that divides the residual of a Ritz value by `reduction`, or less."""
        centre, radius = (self.top + edge) / 2, (self.top - edge) / 2
        wanted = math.acosh(3.0 * reduction) / math.acosh(max((centre - value) / radius, 1.0001))
        # Rounding errors grow most along null vectors.
        growth = math.log(1e8 if self.dtype == np.float32 else 1e12)
        most = growth / math.acosh(max((centre - self.bottom) / radius, 1.0001))
        return max(3, math.ceil(min(wanted, most, _MOST_DEGREE)))

    def filter(self, X: Block, edge: float, degree: int) -> Block:
        """Multiply with the Chebyshev polynomial that is at most 1 between `edge` and the top."""
        centre, radius = (self.top + edge) / 2, (self.top - edge) / 2
        twice = self.affine(2 / radius, -2 * centre / radius)
        before = np.ascontiguousarray(X)
        Y = twice(before)
        Y *= 0.5
        for _ in range(degree - 1):
            before, Y = Y, twice(Y, before)
        return Y

    def random(self, width: int) -> Block:
        """Draw vectors, shape (n, width)."""
        block = self.generator.random((self.laplacian.n, width), np.float32)
        block -= 0.5
        return block.astype(self.dtype, copy=False)

    def extended(self, basis: Block, block: Block, least: int) -> Block:
        """Return an orthonormal basis of the block outside span(basis) and the null space.

        Dependent columns are dropped. Random columns fill up to `least`.
        """
        fresh = self._orthonormal(block.astype(self.dtype, copy=False), basis)
        while fresh.shape[1] < least:
            filling = self.random(least - fresh.shape[1])
            fresh = np.hstack([fresh, self._orthonormal(filling, np.hstack([basis, fresh]))])
        return fresh

    def _orthonormal(self, block: Block, basis: Block) -> Block:
        null = self.null.astype(self.dtype)
        for _ in range(2):
            block, given, norms = _projected(block, null, basis)
            nonzero = norms > 1e-14 * norms.max(initial=0.0)
            scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=nonzero)
            gram = scale[:, None] * _inner(block, block, np.float64) * scale
            squares, directions = eigh(gram[np.ix_(nonzero, nonzero)])
            kept = squares > 1e-13
            factors = np.zeros((len(norms), int(kept.sum())))
            factors[nonzero] = directions[:, kept] / np.sqrt(squares[kept])
            block = _combined(block, scale[:, None] * factors)
            if squares.min(initial=1.0) > 0.01 and bool((norms > 0.1 * given).all()):
                break  # orthonormal up to rounding
        return block


def _projected(block: Block, null: Any, basis: Block) -> tuple[Block, FloatArray, FloatArray]:
    """Subtract the parts along null vectors and a basis; also return the norms before and after."""
    along_null, along_basis = null.T @ block, _inner(basis, block).astype(block.dtype)
    out = np.empty_like(block, order="C")

    def rows(start: int, stop: int) -> FloatArray:
        part = np.subtract(block[start:stop], null[start:stop] @ along_null, out=out[start:stop])
        if basis.shape[1]:
            part -= basis[start:stop] @ along_basis
        squares = [_norms(block[start:stop]) ** 2, _norms(part) ** 2]
        return np.asarray(squares, np.float64)

    given, norms = np.sqrt(sum_rows(rows, len(block)))
    return out, given, norms


def _norms(block: Block) -> Block:
    return np.asarray(np.sqrt(np.einsum("ij,ij->j", block, block)))


def _residuals(basis: Block, image: Block, values: FloatArray) -> FloatArray:
    """Compute the norm of image − basis·values for every column."""
    values = values.astype(basis.dtype)

    def squares(start: int, stop: int) -> FloatArray:
        defect = image[start:stop] - basis[start:stop] * values
        return np.asarray(_norms(defect) ** 2, np.float64)

    return np.sqrt(sum_rows(squares, len(basis)))


def _inner(left: Block, right: Block, dtype: Any = None) -> FloatArray:
    """Compute leftᵀ right, in chunks with the given precision."""

    def rows(start: int, stop: int) -> FloatArray:
        first = left[start:stop].astype(dtype or left.dtype, copy=False)
        second = right[start:stop].astype(first.dtype, copy=False)
        return np.asarray(first.T @ second, np.float64)

    return sum_rows(rows, len(left))


def _combined(block: Block, coefficients: FloatArray) -> Block:
    """Compute block @ coefficients in the precision of the block."""
    factors = coefficients.astype(block.dtype)
    out = np.empty((len(block), factors.shape[1]), block.dtype)

    def rows(start: int, stop: int) -> None:
        np.matmul(block[start:stop], factors, out=out[start:stop])

    map_chunks(rows, len(block), _ROWS)
    return out

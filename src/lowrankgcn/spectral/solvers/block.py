"""The iterative eigensolver for one end of the spectrum: Rayleigh–Ritz on blocks of vectors."""

from __future__ import annotations

import math
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.exceptions import EigensolverError
from lowrankgcn.operators import DiagonalPlusLowRank, FloatArray, MatrixOperator
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.direct import eigh
from lowrankgcn.spectral.solvers.solution import (
    SMALLEST,
    Request,
    Solution,
    stored_solution,
    sum_rows,
)

Block = NDArray[Any]  # (n, w) in single or double precision

_CHEAP = DiagonalPlusLowRank, MatrixOperator  # others sum over all pairs of points
_SINGLE_TOL = 1e-4  # residuals down to which sparse matrices are multiplied in single precision
_ROWS = 2048  # rows of products per task: few enough to keep all threads busy
# Chosen for the eigenpairs of benchmarks/numeric.py.
_MOST_DEGREE = 60
_LEAST_SEPARATION = 1e-4  # of the unwanted spectrum, by which a filter separates wanted pairs
_RESIDUALS = 8  # residuals that extend the space per round: fewer products, more rounds


def solve_block(laplacian: Laplacian, request: Request) -> Solution:
    """Compute pairs by Rayleigh–Ritz on a space that is extended until residuals are below `tol`.

    Each round extends the space by the vectors that have not converged, multiplied with a Chebyshev
    polynomial of 𝓛 that is small on the unwanted part of the spectrum. The residuals of the lowest
    of them extend it instead (block Lanczos) if products are costly (fast sums), if a guess is
    given, or if the unwanted part is not separated from the wanted pairs. A large space is
    restarted with its best vectors.

    Notes
    -----
    Memory of some eight blocks (n, 1.25 count), or ten of them for costly products.
    """
    size, count = laplacian.n - laplacian.null_space.dimension, request.count
    width = min(size, count + max(8, count // 4))
    space = _Space(laplacian, request)
    filters = request.start is None and isinstance(laplacian.affinity.operator, _CHEAP)
    step = count if filters else min(count, _RESIDUALS)
    most = min(size, (2 if filters else 3) * width)
    if request.start is not None:
        fresh, least = request.start[space.order, :width], count
    else:
        fresh, least = space.random(width), width
        if filters:
            degree = space.degree(space.first_edge, space.bottom, 1e6)
            fresh = space.filter(fresh, space.first_edge, degree)
    # Residuals add to the error of fast sums, which is compared with `tol` too.
    tol = request.tol if laplacian.affinity.exact else request.tol / 2
    columns = max(most, width + step)
    basis, image = np.empty((2, laplacian.n, columns), space.dtype)
    small, filled = np.zeros((columns, columns)), 0
    for _ in range(request.max_iter or 1000):
        fresh = space.extended(basis[:, :filled], fresh, least - filled)
        if not fresh.shape[1]:  # the space is exhausted
            break
        old, filled = filled, filled + fresh.shape[1]
        basis[:, old:filled], image[:, old:filled] = fresh, space.product(fresh)
        # The lower triangle is used.
        small[old:filled, :filled] = _inner(image[:, old:filled], basis[:, :filled])
        values, ritz = eigh(small[:filled, :filled])
        if filled + fresh.shape[1] > most:  # no room for as many again
            best = min(width, filled)  # a guess may have fewer columns
            for block in (basis, image):
                block[:, :best] = _combined(block[:, :filled], ritz[:, :best])
            small[:best, :best], ritz, filled = np.diag(values[:best]), np.eye(best), best
            vectors, images = basis[:, :count], image[:, :count]
        else:
            vectors, images = (
                _combined(block[:, :filled], ritz[:, :count]) for block in (basis, image)
            )
        residuals, goal = _residuals(vectors, images, values[:count]), space.goal(tol)
        active = np.flatnonzero(residuals > goal)[: columns - filled]
        if len(active):
            last, edge = float(values[count - 1]), float(values[:width][-1])
            if filters and space.separates(last, edge):
                degree = space.degree(edge, last, 3.0 * float(residuals.max()) / goal)
                fresh = space.filter(vectors[:, active], edge, degree)
            else:
                lowest = active[:step]
                scaled = vectors[:, lowest] * values[lowest].astype(space.dtype)
                fresh = images[:, lowest] - scaled
        elif space.dtype == np.float64:
            break
        else:
            kept = count if tol >= _SINGLE_TOL else width
            fresh, least = _combined(basis[:, :filled], ritz[:, :kept]), count
            space.use(np.float64)
            basis, image = np.empty((2, laplacian.n, columns))
            filled = 0
    else:
        raise EigensolverError(
            f"block iteration reached residuals of {residuals.max():.1e} for tol={request.tol:g} "
            f"with {space.products} products; raise max_iter or tol, or request fewer pairs"
        )
    chosen = np.arange(count)[:: -1 if request.largest else 1]
    ordered = np.empty((laplacian.n, count), vectors.dtype)
    ordered[space.order] = vectors[:, chosen]
    values = np.maximum(space.sign * values[chosen], SMALLEST)
    return stored_solution(values, ordered, residuals[chosen], "block", space.products)


@final
class _Space:
    """The complement of the null space, with products of ±𝓛 such that the lowest pairs are wanted.

    Sparse matrices are used in the precision `dtype`, single at first.
    """

    def __init__(self, laplacian: Laplacian, request: Request) -> None:
        self.laplacian, self.sign = laplacian, -1.0 if request.largest else 1.0
        self.products = 0
        self.generator = np.random.default_rng(request.random_state)
        bound = laplacian.spectral_bound
        self.bottom, self.top = (-bound, 0.0) if request.largest else (0.0, bound)
        self.first_edge = 0.8 * self.bottom + 0.2 * self.top
        self.matrix: Any = None
        self.order: Any = slice(None)
        operator, scale = laplacian.affinity.operator, laplacian.scale
        if isinstance(operator, MatrixOperator) and sp.issparse(operator.matrix):
            matrix = sp.diags_array(scale) @ operator.matrix @ sp.diags_array(scale)
            # Neighbours side by side: products read less memory.
            self.order = reverse_cuthill_mckee(sp.csr_array(matrix), symmetric_mode=True)
            matrix = sp.diags_array(laplacian.shift) - matrix
            self.matrix = self.sign * sp.csr_array(matrix)[self.order][:, self.order]
        self.null = laplacian.null_space.matrix[self.order]
        self.use(np.float64 if self.matrix is None else np.float32)

    def use(self, dtype: Any) -> None:
        """Compute in the given precision from now on."""
        self.dtype = np.dtype(dtype)
        if self.matrix is not None:
            matrix = self.matrix.astype(dtype)
            self.parts = [matrix[start:stop] for start, stop in chunks(self.laplacian.n, _ROWS)]

    def goal(self, tol: float) -> float:
        """Return the residual to reach in the present precision."""
        single = self.dtype == np.float32
        return 0.9 * max(tol, _SINGLE_TOL) if single else max(tol, 64 * SMALLEST)

    def product(self, X: Block, slope: float = 1.0, offset: float = 0.0) -> Block:
        """Compute (±slope·𝓛 + offset) X."""
        self.products += X.shape[1]
        if self.matrix is None:
            return np.asarray(self.sign * slope * (self.laplacian @ X) + offset * X)
        out = np.empty_like(X, order="C")

        def rows(start: int, stop: int) -> None:
            part = self.parts[start // _ROWS] @ X
            part *= slope
            out[start:stop] = np.add(part, offset * X[start:stop], out=part)

        map_chunks(rows, len(X), _ROWS)
        return out

    def separates(self, last: float, edge: float) -> bool:
        """Return whether a filter for the spectrum beyond `edge` separates the value `last`."""
        unwanted = self.top - edge
        return unwanted > 1e-3 and edge - last > _LEAST_SEPARATION * unwanted

    def degree(self, edge: float, last: float, reduction: float) -> int:
        """Return the degree that divides the residual of the Ritz value `last` by `reduction`."""
        centre, radius = (self.top + edge) / 2, (self.top - edge) / 2
        wanted = math.acosh(reduction) / math.acosh(max((centre - last) / radius, 1.0001))
        # Rounding errors grow most along null vectors.
        growth = math.log(1e8 if self.dtype == np.float32 else 1e12)
        most = growth / math.acosh(max((centre - self.bottom) / radius, 1.0001))
        return max(3, math.ceil(min(wanted, most, _MOST_DEGREE)))

    def filter(self, X: Block, edge: float, degree: int) -> Block:
        """Multiply with the Chebyshev polynomial that is at most 1 between `edge` and the top."""
        centre, radius = (self.top + edge) / 2, (self.top - edge) / 2
        slope, offset = 2 / radius, -2 * centre / radius
        before = np.ascontiguousarray(X)
        Y = self.product(before, slope / 2, offset / 2)
        for _ in range(degree - 1):
            following = self.product(Y, slope, offset)
            following -= before
            before, Y = Y, following
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
            block, before, after = _projected(block, null, basis)
            nonzero = after > 1e-28 * after.max(initial=0.0)
            scale = np.divide(1.0, np.sqrt(after), out=np.zeros_like(after), where=nonzero)
            gram = scale[:, None] * _inner(block, block, np.float64) * scale
            squares, directions = eigh(gram[np.ix_(nonzero, nonzero)])
            kept = squares > 1e-13
            factors = np.zeros((len(after), int(kept.sum())))
            factors[nonzero] = directions[:, kept] / np.sqrt(squares[kept])
            block = _combined(block, scale[:, None] * factors)
            if squares.min(initial=1.0) > 0.01 and bool((after > 0.01 * before).all()):
                break  # orthonormal up to rounding
        return block


def _projected(block: Block, null: Any, basis: Block) -> tuple[Block, FloatArray, FloatArray]:
    """Subtract parts along null vectors and a basis; also return squared norms before and after."""
    along_null, along_basis = null.T @ block, _inner(basis, block).astype(block.dtype)
    out = np.empty_like(block, order="C")

    def rows(start: int, stop: int) -> FloatArray:
        part = np.subtract(block[start:stop], null[start:stop] @ along_null, out=out[start:stop])
        if basis.shape[1]:
            part -= basis[start:stop] @ along_basis
        return np.asarray([_squares(block[start:stop]), _squares(part)])

    before, after = sum_rows(rows, len(block))
    return out, before, after


def _squares(block: Block) -> Block:
    """Return the squared norms of the columns."""
    return np.asarray(np.einsum("ij,ij->j", block, block))


def _residuals(basis: Block, image: Block, values: FloatArray) -> FloatArray:
    """Compute the norm of image − basis·values for every column."""
    values = values.astype(basis.dtype)

    def squares(start: int, stop: int) -> FloatArray:
        return _squares(image[start:stop] - basis[start:stop] * values)

    return np.sqrt(sum_rows(squares, len(basis)))


def _inner(left: Block, right: Block, dtype: Any = None) -> FloatArray:
    """Compute leftᵀ right, in chunks with the given precision."""

    def rows(start: int, stop: int) -> FloatArray:
        first = left[start:stop].astype(dtype or left.dtype, copy=False)
        second = right[start:stop].astype(first.dtype, copy=False)
        return np.asarray(first.T @ second)

    return sum_rows(rows, len(left))


def _combined(block: Block, coefficients: FloatArray) -> Block:
    """Compute block @ coefficients in the precision of the block."""
    factors = coefficients.astype(block.dtype)
    out = np.empty((len(block), factors.shape[1]), block.dtype)

    def rows(start: int, stop: int) -> None:
        np.matmul(block[start:stop], factors, out=out[start:stop])

    map_chunks(rows, len(block), _ROWS)
    return out

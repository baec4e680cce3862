"""Direct eigensolvers: LAPACK on the dense matrix, and the thin SVD through a Gram matrix."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from lowrankgcn._parallel import chunks, single_threaded_blas
from lowrankgcn._validation import invalid
from lowrankgcn.operators import Factor, FloatArray
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.solution import (
    SMALLEST,
    Built,
    Request,
    Solution,
    stored_solution,
    sum_rows,
)

_EXTRA = 5  # additional singular vectors, for more accurate pairs
_SMALL_MATRIX = 512  # rows up to which a second thread slows LAPACK down
# Columns of Z from which few pairs are computed instead of all, and their number for each pair.
_LARGE_GRAM, _FEW = 1024, 8


def solve_dense(laplacian: Laplacian, request: Request) -> Solution:
    """Compute all pairs by LAPACK on the dense matrix; n×n memory, for small n."""
    matrix = laplacian.to_dense()
    null = laplacian.null_space
    for start, stop in chunks(null.dimension, 64):
        block = null.vectors(range(start, stop))
        # Moved beyond the spectrum [0, 2], so that nothing mixes with nearly null vectors.
        matrix += 3.0 * (block @ block.T)
    values, vectors = la.eigh(matrix)
    values = np.maximum(values[: laplacian.n - null.dimension], SMALLEST)

    def build(index: NDArray[np.intp], dtype: Any, lead: int = 0) -> Built:
        built = np.empty((laplacian.n, lead + len(index)), dtype)
        built[:, lead:] = chosen = vectors[:, index]
        return built, np.linalg.norm(laplacian @ chosen - chosen * values[index], axis=0)

    return Solution(values, "dense", build, laplacian.n, complete=True)


def solve_svd(laplacian: Laplacian, request: Request) -> Solution:
    """Compute the pairs of 𝓛 = I − Z Zᵀ up to the numerical rank of Z (section A3.1).

    With ZᵀZ v = μv the pair is λ = 1 − μ, u = Z v/√μ; all other eigenvalues are 1. Rows of isolated
    nodes are zero in Z and belong to the null space. The shift of the Laplacian must be constant.
    All pairs are computed, or only the requested ones if they are few of many and the method is
    "auto".
    """
    factor = _factor(laplacian)
    assert laplacian.has_constant_shift

    gram = _deflated_gram(laplacian, factor)
    # Eigenvalues of a Gram matrix are known to rounding of its norm, which is at most one.
    least = 16 * len(gram) * np.finfo(float).eps
    complete = True
    few = request.method == "auto" and not request.largest
    if few and len(gram) > _LARGE_GRAM and 0 < _FEW * request.count <= len(gram):
        squares, right = eigh(gram, request.count)
        complete = bool(squares[0] <= least)
    if complete:
        squares, right = eigh(gram)
    rank = int((squares > least).sum())
    squares, right = squares[::-1][:rank], right[:, ::-1][:, :rank]

    def build(index: NDArray[np.intp], dtype: Any, lead: int = 0) -> Built:
        mu, v = squares[index], right[:, index]
        # 𝓛u − λu = −Z e with e = (ZᵀZ v − μv)/√μ, whose norm is √(eᵀ ZᵀZ e).
        defect = (gram @ v - v * mu) / np.sqrt(mu)
        norms = np.sqrt(np.maximum(np.einsum("ij,ij->j", defect, gram @ defect), 0.0))
        # The Gram matrix itself is known to rounding only.
        residuals = np.hypot(norms, np.finfo(np.float64).eps / np.sqrt(mu))
        built = np.empty((laplacian.n, lead + len(index)), dtype)
        factor.matmul(_reorthogonalized(gram, v, mu), out=built[:, lead:])
        return built, residuals

    values = np.clip(1.0 - squares, SMALLEST, 1.0)
    if not complete:
        return Solution(values, "svd", build)
    bulk = laplacian.n - laplacian.null_space.dimension - rank
    return Solution(values, "svd", build, complete=True, bulk_value=1.0, bulk_count=bulk)


def solve_nearly_svd(laplacian: Laplacian, request: Request) -> Solution | None:
    """Approximate the smallest pairs of diag(shift) − Z Zᵀ by Rayleigh–Ritz on singular vectors.

    If the shift is nearly constant (small loops), the leading singular vectors U of Z nearly span
    the eigenspace, and 𝓛U = shift∘U − Uμ needs no further product. None if Z has too few of them,
    or if a smaller eigenvalue may belong to a vector outside span(U), where xᵀ𝓛x is at least
    min shift − μ for the next singular value: loops that differ much.
    """
    factor = _factor(laplacian)
    null, count = laplacian.null_space, request.count
    joined = len(laplacian.joined_components)
    squares, right = eigh(factor.gram())
    rank = int((squares > 1e-10).sum())
    if rank < count + joined:
        return None
    squares, right = squares[::-1], right[:, ::-1]
    shifts = laplacian.shift[laplacian.scale > 0]
    reach = squares[count + joined - 1] - (shifts.mean() - shifts.min())
    wanted = max(count + joined + _EXTRA, min(int((squares > reach).sum()), 2 * count + 32))
    mu = squares[: min(wanted, rank)]
    U = np.empty((laplacian.n, len(mu)), request.dtype)
    factor.matmul(right[:, : len(mu)] / np.sqrt(mu), out=U)
    shift, room = laplacian.shift, min(null.dimension, len(mu) - count)

    def products(start: int, stop: int) -> FloatArray:
        rows = U[start:stop].astype(np.float64, copy=False)
        return np.stack([rows.T @ rows, rows.T @ (shift[start:stop, None] * rows)])

    inner, image = sum_rows(products, laplacian.n)
    image -= inner * mu
    # Without the null space, and without directions of span(U) that lie in it.
    overlap = null.coefficients(U)
    norms, directions = eigh(inner - overlap.T @ overlap)
    outside = norms > 1e-8
    basis = directions[:, outside] / np.sqrt(norms[outside])
    values, ritz = eigh(basis.T @ ((image + image.T) / 2) @ basis)
    off = shifts.min() - (squares[len(mu)] if len(mu) < len(squares) else 0.0)
    if len(values) < count or values[count - 1] > off:
        return None
    values, ritz = np.maximum(values[:count], SMALLEST), basis @ ritz[:, :count]
    overlap, image_ritz = overlap @ ritz, mu[:, None] * ritz  # 𝓛U ritz = shift∘U ritz − Uμ ritz

    def rotate(start: int, stop: int) -> FloatArray:
        rows = U[start:stop].astype(np.float64)
        chosen = rows @ ritz
        defect = shift[start:stop, None] * chosen
        defect -= rows @ image_ritz
        chosen -= null.combine(overlap, start, stop)
        defect -= chosen * values
        U[start:stop, room : room + count] = chosen
        return np.asarray(np.einsum("ij,ij->j", defect, defect))

    residuals = np.sqrt(sum_rows(rotate, laplacian.n))
    return stored_solution(values, U, residuals, "svd", len(mu), room)


def _factor(laplacian: Laplacian) -> Factor:
    if laplacian.factor is None:
        raise invalid("method", "a solver other than 'svd'", "no low-rank structure")
    return laplacian.factor


def _deflated_gram(laplacian: Laplacian, factor: Factor) -> FloatArray:
    """Return ZᵀZ with the eigenvalue 1 of Zᵀ√d, for null vectors √d, moved to −1."""
    gram = factor.gram()
    null = laplacian.null_space
    joined = laplacian.joined_components
    for part in np.array_split(joined, -(-len(joined) // 16)) if len(joined) else ():
        right = factor.transpose_product(null.vectors(part))
        gram -= 2.0 * (right @ right.T)
    return (gram + gram.T) / 2


def _reorthogonalized(gram: FloatArray, v: FloatArray, mu: FloatArray) -> FloatArray:
    """Return v/√μ, corrected so that Z v/√μ is orthonormal where μ is small.

    (Zv)ᵀ(Zv) = vᵀ ZᵀZ v is diagonal up to rounding, which μ ≪ 1 magnifies. Its Cholesky
    factor, computed from the same numbers, removes the error.
    """
    scaled = v / np.sqrt(mu)
    inner = scaled.T @ gram @ scaled
    if np.abs(inner - np.eye(len(mu))).max(initial=0.0) < 1e-14:
        return scaled
    root = la.cholesky((inner + inner.T) / 2, lower=True)
    corrected: FloatArray = la.solve_triangular(root, scaled.T, lower=True).T
    return corrected


def eigh(matrix: FloatArray, count: int | None = None) -> tuple[FloatArray, FloatArray]:
    """Compute all eigenpairs of a symmetric matrix, or the largest ones, ascending."""
    n = len(matrix)
    largest = None if count is None else (n - count, n - 1)
    with single_threaded_blas() if n <= _SMALL_MATRIX else nullcontext():
        values, vectors = la.eigh(matrix, subset_by_index=largest)
    return values, vectors

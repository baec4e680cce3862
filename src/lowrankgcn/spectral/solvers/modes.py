"""Eigenpairs of a Gaussian graph that is summed by Fourier modes, computed on the modes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks, single_threaded_blas
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.fourier import GaussianFourier
from lowrankgcn.operators.modes import ModeGram
from lowrankgcn.spectral.laplacian import CHUNK_ROWS, Laplacian
from lowrankgcn.spectral.solvers.base import SMALLEST, Request, Solution, stored_solution
from lowrankgcn.spectral.solvers.mode_space import ModePairs, interpolation_error, mode_pairs

_POINTS_PER_MODE = 4  # fewer, and products over the points are the cheaper ones
_MOST_COMPONENTS = 64
_MOST_NODES = 8
_FIRST_GUESS = 4.0  # κ of λ = 3/4


def modes_are_few(laplacian: Laplacian) -> bool:
    """Return whether modes are few compared with points, and components are few."""
    operator = laplacian.affinity.operator
    if not isinstance(operator, GaussianFourier):
        return False
    few = _POINTS_PER_MODE * operator.grid.size <= laplacian.n
    return few and len(laplacian.joined_components) <= _MOST_COMPONENTS


def solve_modes(laplacian: Laplacian, request: Request) -> Solution | None:
    """Compute the smallest pairs for Fourier sums: a few sums over the points, one evaluation.

    See :mod:`lowrankgcn.spectral.solvers.mode_space`. Only 1/(1 + δκ) at the nodes and the
    eigenvectors are of size n. Residuals are bounds of ‖σ^{-1/2}(𝓛u − λu)‖, which gives rows of
    degree far below one less weight; :meth:`Laplacian.sampled_residuals` measures those.

    None if the modes do not have that many pairs, or none of this kind: loops so heavy that λ
    exceeds the least shift.
    """
    operator = laplacian.affinity.operator
    assert isinstance(operator, GaussianFourier)
    joined = laplacian.scale > 0
    offset = np.where(joined, laplacian.shift - 1.0, 0.0)  # δ
    limit = -1.0 / min(float(offset.min()), -1e-300)  # 1 + δκ > 0 below
    nodes = np.ones(1)
    if offset.any():
        nodes = np.array([1.0, min(_FIRST_GUESS, 0.5 + limit / 2)])
    wanted = request.count + len(laplacian.joined_components)
    eps = min(operator.grid.eps, request.tol)
    waves = operator.points.replan(eps=eps / 100, doubled=True)

    def symbols(nodes: FloatArray) -> FloatArray:
        """Sum the weights T²/(1 + δκ) with the waves of the doubled grid, shape (N₂, q)."""
        return waves.spread(laplacian.scale[:, None] ** 2 / (1.0 + offset[:, None] * nodes))

    sums = symbols(nodes)
    pairs: ModePairs | None = None
    products = 0
    while True:
        with single_threaded_blas():  # all but the transforms is small
            pairs = mode_pairs(
                ModeGram.from_symbols(operator.grid, sums),
                nodes,
                wanted,
                tol=request.tol / 4,
                start=None if pairs is None else pairs.coefficients,
                random_state=request.random_state,
            )
        if pairs is None or pairs.kappas[-1] >= limit:
            return None
        products += pairs.products
        enough = len(nodes) in (1, _MOST_NODES)
        if enough or _expected_error(laplacian, offset, nodes, pairs) <= request.tol / 4:
            pairs = replace(pairs, products=products)
            return _evaluate(laplacian, operator, offset, nodes, pairs, request)
        more = _further_nodes(nodes, min(1.02 * float(pairs.kappas[-1]), (1 + limit) / 2))
        sums = np.hstack([sums, symbols(more)])
        nodes = np.concatenate([nodes, more])


def _expected_error(
    laplacian: Laplacian, offset: FloatArray, nodes: FloatArray, pairs: ModePairs
) -> float:
    """Estimate what interpolation adds to a residual of a vector spread like the null vectors."""
    error = interpolation_error(offset, nodes, pairs.kappas[-1:])[:, 0]
    degrees = np.where(laplacian.scale > 0, laplacian.degrees, 0.0)
    mean = np.dot(degrees * laplacian.shift, error**2) / degrees.sum()
    return math.sqrt(float(mean))


def _evaluate(
    laplacian: Laplacian,
    operator: GaussianFourier,
    offset: FloatArray,
    nodes: FloatArray,
    pairs: ModePairs,
    request: Request,
) -> Solution | None:
    """Evaluate u = T/(1 + δκ) ∘ F v at the points, without null vectors, orthonormal."""
    null, count, lead = laplacian.null_space, request.count, request.lead
    k, kappas, n = len(pairs.kappas), pairs.kappas, laplacian.n
    U: NDArray[Any] = np.zeros((n, max(k, lead + count)), request.dtype)
    eps = min(operator.grid.eps, request.tol) / 10
    root = np.sqrt(operator.grid.coefficients)[:, None]
    waves = root * np.sqrt(kappas) * pairs.coefficients
    single = U.dtype == np.float32
    operator.points.replan(eps=eps, single=single).gather(waves, out=U)

    def scale(start: int, stop: int) -> FloatArray:
        delta = offset[start:stop, None]
        rows = U[start:stop, :k] * (laplacian.scale[start:stop, None] / (1.0 + delta * kappas))
        U[start:stop, :k] = rows
        wrong = interpolation_error(offset[start:stop], nodes, kappas) * rows
        wrong *= np.sqrt(laplacian.shift[start:stop, None])
        return np.vstack([rows.T @ rows, np.einsum("ij,ij->j", wrong, wrong)])

    *inner, wrong = np.sum(map_chunks(scale, n, CHUNK_ROWS), axis=0)
    lengths = np.sqrt(np.diag(inner))
    overlap = null.coefficients(U[:, :k]) / lengths
    outside = _outside_null_space(
        np.array(inner) / np.outer(lengths, lengths), overlap, kappas, count
    )
    if outside is None:
        return None
    values, ritz = outside
    residuals = np.sqrt(pairs.residuals**2 + wrong / lengths**2 + eps**2)
    residuals = np.sqrt((ritz**2).T @ residuals**2)
    combined, rotation = overlap @ ritz, ritz / lengths[:, None]

    def rotate(start: int, stop: int) -> None:
        rows = U[start:stop, :k].astype(np.float64, copy=False) @ rotation
        rows -= null.combine(combined, start, stop)
        U[start:stop, lead : lead + count] = rows

    map_chunks(rotate, n, CHUNK_ROWS)
    return stored_solution(values, U, residuals, "modes", pairs.products, lead)


def _further_nodes(nodes: FloatArray, last: float) -> FloatArray:
    """Return two more nodes for κ from 1 to `last`, each far from all others (Leja points)."""
    candidates = np.linspace(1.0, last, 129)
    for _ in range(2):
        distances = np.prod(np.abs(candidates[:, None] - nodes), axis=1)
        nodes = np.append(nodes, candidates[distances.argmax()])
    return nodes[-2:]


def _outside_null_space(
    inner: FloatArray, overlap: FloatArray, kappas: FloatArray, count: int
) -> tuple[FloatArray, FloatArray] | None:
    """Return values and coefficients of `count` orthonormal vectors outside the null space.

    The span of k unit vectors with the given inner products contains one direction for each
    component that overlaps most with the null space. Rayleigh–Ritz is applied to the others.
    """
    k = len(kappas)
    off = la.svd(overlap)[2][k - count :].T
    norms, directions = la.eigh(off.T @ (inner - overlap.T @ overlap) @ off)
    if norms[0] < 1e-4:  # dependent beyond what errors explain
        return None
    basis = off @ (directions / np.sqrt(norms))
    image = inner * (1.0 - 1.0 / kappas)
    values, ritz = la.eigh(basis.T @ ((image + image.T) / 2) @ basis)
    return np.maximum(values, SMALLEST), basis @ ritz

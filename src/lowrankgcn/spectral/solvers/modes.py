"""Eigenpairs of a Gaussian graph that is summed by Fourier modes, found on the modes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks, single_threaded_blas
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.fourier import GaussianFourier
from lowrankgcn.operators.modes import ModeGram
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.base import SMALLEST, Solution
from lowrankgcn.spectral.solvers.mode_space import ModePairs, interpolation_error, mode_pairs

__all__ = ["FourierModes"]

_ROWS = 8192
_POINTS_PER_MODE = 4  # fewer, and products over the points are the cheaper ones
_MOST_COMPONENTS = 64
_MOST_NODES = 8
_FIRST_GUESS = 4.0  # κ of λ = 3/4


@final
@dataclass(frozen=True)
class FourierModes:
    """The smallest pairs of 𝓛 for Fourier sums: a few sums over the points, one evaluation there.

    See :mod:`lowrankgcn.spectral.solvers.mode_space`. All that is of size n is 1/(1 + δκ) at the
    nodes, and the eigenvectors. Residuals are bounds of ‖σ^{-1/2}(𝓛u − λu)‖, which counts rows
    of degree far below one for less; those are looked at by :meth:`Laplacian.sampled_residuals`.
    """

    tol: float
    random_state: int = 0

    @staticmethod
    def fit(laplacian: Laplacian) -> bool:
        """Whether the modes are few enough beside the points, and so are components."""
        operator = laplacian.affinity.operator
        if not isinstance(operator, GaussianFourier):
            return False
        few = _POINTS_PER_MODE * operator.grid.size <= laplacian.n
        return few and _joined(laplacian) <= _MOST_COMPONENTS

    def solve(self, laplacian: Laplacian, count: int, lead: int, dtype: Any) -> Solution | None:
        """The `count` smallest pairs outside the null space, behind `lead` columns left free.

        None if the modes do not have that many pairs, or none of this kind: loops so heavy that
        λ exceeds the least shift.
        """
        operator = laplacian.affinity.operator
        assert isinstance(operator, GaussianFourier)
        joined = laplacian.scale > 0
        offset = np.where(joined, laplacian.shift - 1.0, 0.0)  # δ
        limit = -1.0 / min(float(offset.min()), -1e-300)  # 1 + δκ > 0 below
        nodes = np.ones(1)
        if offset.any():
            nodes = np.array([1.0, min(_FIRST_GUESS, 0.5 + limit / 2)])
        symbols = self._symbols(laplacian, offset, nodes)
        wanted = count + _joined(laplacian)
        pairs: ModePairs | None = None
        products = 0
        while True:
            gram = ModeGram.from_symbols(operator.grid, symbols)
            start = None if pairs is None else pairs.coefficients
            seed = self.random_state
            with single_threaded_blas():  # all but the transforms is small
                pairs = mode_pairs(
                    gram, nodes, wanted, tol=self.tol / 4, start=start, random_state=seed
                )
            if pairs is None or pairs.kappas[-1] >= limit:
                return None
            products += pairs.products
            enough = len(nodes) in (1, _MOST_NODES)
            if enough or self._expected(laplacian, offset, nodes, pairs) <= self.tol / 4:
                pairs = replace(pairs, products=products)
                return self._evaluate(laplacian, offset, nodes, pairs, count, lead, dtype)
            more = _further_nodes(nodes, min(1.02 * float(pairs.kappas[-1]), (1 + limit) / 2))
            symbols = np.hstack([symbols, self._symbols(laplacian, offset, more)])
            nodes = np.concatenate([nodes, more])

    def _symbols(self, laplacian: Laplacian, offset: FloatArray, nodes: FloatArray) -> FloatArray:
        """Sums of the weights T²/(1 + δκ) with the waves of the doubled grid, shape (N₂, q)."""
        operator = laplacian.affinity.operator
        assert isinstance(operator, GaussianFourier)
        weights = laplacian.scale[:, None] ** 2 / (1.0 + offset[:, None] * nodes)
        eps = min(operator.grid.eps, self.tol) / 100
        return operator.points.replan(eps=eps, doubled=True).spread(weights)

    @staticmethod
    def _expected(
        laplacian: Laplacian, offset: FloatArray, nodes: FloatArray, pairs: ModePairs
    ) -> float:
        """What interpolation would add to a residual of a vector spread like the null vectors."""
        error = interpolation_error(offset, nodes, pairs.kappas[-1:])[:, 0]
        degrees = np.where(laplacian.scale > 0, laplacian.degrees, 0.0)
        mean = np.dot(degrees * laplacian.shift, error**2) / degrees.sum()
        return math.sqrt(float(mean))

    def _evaluate(
        self,
        laplacian: Laplacian,
        offset: FloatArray,
        nodes: FloatArray,
        pairs: ModePairs,
        count: int,
        lead: int,
        dtype: Any,
    ) -> Solution | None:
        """From modes to points: u = T/(1 + δκ) ∘ F v, without null vectors, orthonormal."""
        operator, null = laplacian.affinity.operator, laplacian.null_space
        assert isinstance(operator, GaussianFourier)
        k, kappas, n = len(pairs.kappas), pairs.kappas, laplacian.n
        U: NDArray[Any] = np.zeros((n, max(k, lead + count)), dtype)
        eps = min(operator.grid.eps, self.tol) / 10
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

        *inner, wrong = np.sum(map_chunks(scale, n, _ROWS), axis=0)
        lengths = np.sqrt(np.diag(inner))
        overlap = null.coefficients(U[:, :k]) / lengths
        turn = _off_null(np.array(inner) / np.outer(lengths, lengths), overlap, kappas, count)
        if turn is None:
            return None
        values, ritz = turn
        residuals = np.sqrt(pairs.residuals**2 + wrong / lengths**2 + eps**2)
        residuals = np.sqrt((ritz**2).T @ residuals**2)
        combined, rotation = overlap @ ritz, ritz / lengths[:, None]

        def rotate(start: int, stop: int) -> None:
            rows = U[start:stop, :k].astype(np.float64, copy=False) @ rotation
            rows -= null.combine(combined, start, stop)
            U[start:stop, lead : lead + count] = rows

        map_chunks(rotate, n, _ROWS)
        return Solution(values, U[:, : lead + count], residuals, pairs.products, "modes")


def _joined(laplacian: Laplacian) -> int:
    """Number of components with edges."""
    null = laplacian.null_space
    return int((np.bincount(null.components, weights=laplacian.scale) > 0).sum())


def _further_nodes(nodes: FloatArray, last: float) -> FloatArray:
    """Two more nodes for κ from 1 to `last`: each far from all others (Leja points)."""
    candidates = np.linspace(1.0, last, 129)
    for _ in range(2):
        distances = np.prod(np.abs(candidates[:, None] - nodes), axis=1)
        nodes = np.append(nodes, candidates[distances.argmax()])
    return nodes[-2:]


def _off_null(
    inner: FloatArray, overlap: FloatArray, kappas: FloatArray, count: int
) -> tuple[FloatArray, FloatArray] | None:
    """Values and coefficients of `count` orthonormal vectors outside the null space.

    Of the span of k unit vectors with the given inner products, one direction for each component
    belongs to the null space: the one that it has most overlap with. Rayleigh–Ritz on the others.
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

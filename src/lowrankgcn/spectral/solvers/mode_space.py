"""Eigenpairs of Gaussian graphs on Fourier modes, from few sums over the points.

With A = F Fᵀ of N Fourier modes (:mod:`lowrankgcn.operators.modes`), 𝓛_S = diag(σ) − T F Fᵀ T and
δ = σ − 1, an eigenvector is u = (σ − λ)^{-1} T F v for v = FᵀTu. In terms of κ = 1/(1 − λ),

    H(κ) v = v/κ,    H(κ) = Fᵀ diag(T² / (1 + δκ)) F,    u = T/(1 + δκ) ∘ F v,

an eigenproblem of N unknowns whose matrix hardly depends on κ: δ = 1/d without loops, and the
weights are 1/(d + κ). At κ = 1 they complete the kernel, H(1) has its spectrum in [0, 1], and the
null vectors are the v of eigenvalue 1. Between a few nodes κ_j the weights are interpolated; then
each node costs one array of sums over the points.

>>> import numpy as np
>>> from lowrankgcn.operators.modes import ModeGrid
>>> u = np.random.default_rng(0).normal(size=(400, 1))
>>> grid = ModeGrid.for_box(u.min(axis=0), u.max(axis=0), eps=1e-9)
>>> d = grid.plan(u).gather(grid.coefficients * grid.plan(u).spread(np.ones(400))) - 1
>>> nodes = np.array([1.0, 1.5, 2.5])
>>> symbols = grid.doubled.plan(u).spread(1 / (d[:, None] + nodes))
>>> pairs = mode_pairs(ModeGram.from_symbols(grid, symbols), nodes, 3, tol=1e-8)
>>> (1 - 1 / pairs.kappas).round(4) + 0.0
array([0.    , 0.3348, 0.5966])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.linalg as la

from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.modes import ModeGram
from lowrankgcn.spectral.solvers.base import EXTRA

_ROUNDS = 100
_SMALLEST_VALUE = 1e-10  # smaller eigenvalues of H are rounding errors


@final
@dataclass(frozen=True, eq=False)
class ModePairs:
    """Solutions of H(κ) v = v/κ, the smallest κ = 1/(1 − λ) first.

    Attributes
    ----------
    kappas : (k,) array
        Ascending; 1, up to the error of the sums, once for each component.
    coefficients : (N, k) array
        The vectors v, of length one; orthogonal where κ is the same.
    residuals : (k,) array
        √κ ‖H(κ)v − v/κ‖, which bounds ‖σ^{-1/2}(𝓛u − λu)‖ / ‖u‖ but for factors near one.
    products : int
        Vectors multiplied.
    """

    kappas: FloatArray
    coefficients: FloatArray
    residuals: FloatArray
    products: int


def mode_pairs(
    gram: ModeGram,
    nodes: FloatArray,
    count: int,
    *,
    tol: float,
    start: FloatArray | None = None,
    random_state: int = 0,
) -> ModePairs | None:
    """Compute the pairs of smallest κ from the matrices H(κ_j) at q nodes.

    A block method: multiple eigenvalues are found with all their copies.

    Parameters
    ----------
    gram : ModeGram
        H(κ_j), all at once.
    nodes : (q,) array
        The κ_j.
    count : int
        k, null vectors included.
    tol : float
        Largest residual.
    start : (N, k') array, optional
        A guess, such as the coefficients for fewer nodes.
    random_state : int
        Seed of the start, if none is given.

    Returns
    -------
    ModePairs or None
        None if H has not that many eigenvalues, or if they are not found.

    Notes
    -----
    O((1 + q) N log N) for every product of which there are some 5k; memory of some 3(1 + q) N k
    numbers. No cost depends on the number of points.
    """
    width, products = min(count + EXTRA, gram.grid.size), 0
    if start is None:
        generator = np.random.default_rng(random_state)
        start = np.sqrt(gram.grid.coefficients)[:, None] * generator.normal(
            size=(gram.grid.size, width)
        )
        if len(nodes) > 1:
            middle = np.array([float(np.mean(nodes))])
            single = gram.combined(lagrange(nodes, middle)[:, 0])
            found = _search(single, middle, count, width, tol, start)
            if found is None:
                return None
            start, products = found.coefficients, found.products
    found = _search(gram, nodes, count, width, tol, start)
    if found is None:
        return None
    return ModePairs(found.kappas, found.coefficients, found.residuals, found.products + products)


def lagrange(nodes: FloatArray, at: FloatArray) -> FloatArray:
    """Evaluate the polynomials that are 1 at one node and 0 at the others, shape (q, k).

    >>> lagrange(np.array([1.0, 3.0]), np.array([2.0])).ravel()
    array([0.5, 0.5])
    """
    others = ~np.eye(len(nodes), dtype=bool)
    return np.stack(
        [
            np.prod((at - nodes[rest, None]) / (node - nodes[rest, None]), axis=0)
            for node, rest in zip(nodes, others, strict=True)
        ]
    )


def _shares(nodes: FloatArray, kappas: FloatArray) -> FloatArray:
    """Return the shares of the nodes in H(κ); beyond the last node, those at this node."""
    return lagrange(nodes, np.clip(kappas, nodes.min(), nodes.max()))


def interpolation_error(offset: FloatArray, nodes: FloatArray, kappas: FloatArray) -> FloatArray:
    """Compute |w̃ − w|/w of the weights w = 1/(1 + δκ) that are interpolated, shape (n, k).

    Exactly δ^q Π_j (κ − κ_j)/(1 + δκ_j) between the nodes.

    >>> w = 1 / (1 + 0.5 * np.array([1.0, 2.0, 3.0]))
    >>> error = interpolation_error(np.array([0.5]), np.array([1.0, 3.0]), np.array([2.0]))
    >>> bool(np.isclose(error[0, 0], (w[0] + w[2]) / 2 / w[1] - 1))
    True
    """
    inside = np.clip(kappas, nodes.min(), nodes.max())
    delta = offset[:, None]
    powers = np.abs(np.prod(delta / (1.0 + delta * nodes), axis=1))
    error: FloatArray = powers[:, None] * np.abs(np.prod(inside[:, None] - nodes, axis=1))
    error += np.abs(delta * (kappas - inside) / (1.0 + delta * inside))
    return error


def _search(
    gram: ModeGram, nodes: FloatArray, count: int, width: int, tol: float, start: FloatArray
) -> ModePairs | None:
    """Apply Rayleigh–Ritz to a growing space; residuals of unconverged pairs are added to it."""
    basis = _orthonormal(start, np.zeros((gram.grid.size, 0)))
    images = gram.products(basis)
    products = basis.shape[1]
    limit = min(3 * width + 10, gram.grid.size)
    kappas = np.zeros(0)
    for _ in range(_ROUNDS):
        small = basis.T @ images
        small = (small + small.transpose(0, 2, 1)) / 2
        kappas, at, chosen = _ritz(small, nodes, width, kappas, 4 * tol)
        if len(kappas) < count:
            return None
        vectors, defect = basis @ chosen, -(basis @ (chosen / kappas))
        for share, image in zip(_shares(nodes, at), images, strict=True):
            defect += image @ (chosen * share)
        residuals = np.sqrt(kappas) * np.linalg.norm(defect, axis=0)
        unsettled = np.flatnonzero(residuals[:count] > tol)
        if not len(unsettled):
            return ModePairs(kappas[:count], vectors[:, :count], residuals[:count], products)
        if basis.shape[1] + len(unsettled) > limit and basis.shape[1] > chosen.shape[1]:
            kept = la.qr(chosen, mode="economic")[0]
            basis, images = basis @ kept, images @ kept
        fresh = _orthonormal(defect[:, unsettled], basis)  # nothing, if only κ has to settle
        basis = np.hstack([basis, fresh])
        images = np.concatenate([images, gram.products(fresh)], axis=2)
        products += fresh.shape[1]
    return None


def _ritz(
    small: FloatArray, nodes: FloatArray, width: int, kappas: FloatArray, close: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve S(κ) y = y/κ for the projected matrices (q, m, m): κ (w,) and y (m, w).

    The j-th largest eigenvalue of κS(κ) grows with κ and is one for one κ only: the j-th solution
    is well defined, and this is a step of Newton's iteration to it. Those closer than `close` share
    one S(κ), whose κ are returned too: their y must come out different. There are fewer than
    `width` beyond the numerical rank.
    """
    m = small.shape[1]
    if len(nodes) == 1 or not len(kappas):
        middle = np.full(1, np.mean(nodes))
        values, vectors = la.eigh(np.tensordot(_shares(nodes, middle)[:, 0], small, axes=1))
        wanted = min(width, int((values > _SMALLEST_VALUE).sum()))
        kappas, vectors = 1 / values[::-1][:wanted], vectors[:, ::-1][:, :wanted]
        if len(nodes) == 1 or not wanted:
            return kappas, kappas, vectors
    improved, at, vectors = kappas.copy(), kappas.copy(), np.empty((m, len(kappas)))
    for members in np.split(np.arange(len(kappas)), np.flatnonzero(np.diff(kappas) > close) + 1):
        centre = kappas[members].mean(keepdims=True)
        matrix = np.tensordot(_shares(nodes, centre)[:, 0], small, axes=1)
        ends = [m - 1 - int(members[-1]), m - 1 - int(members[0])]
        values, found = (part[..., ::-1] for part in la.eigh(matrix, subset_by_index=ends))
        step = 1e-4 * centre
        change = (_shares(nodes, centre + step) - _shares(nodes, centre - step))[:, 0] / (2 * step)
        slopes = np.einsum("mk,mk->k", found, np.tensordot(change, small, axes=1) @ found)
        # Newton step for κν(κ) = 1, whose left side has the slope ν + κν′ > 0.
        newton = centre - (centre * values - 1) / np.maximum(values + centre * slopes, 0.1 * values)
        improved[members] = np.clip(newton, centre / 2, 2 * centre)
        at[members], vectors[:, members] = improved[members].mean(), found
    return improved, at, vectors


def _orthonormal(block: FloatArray, basis: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the block outside span(basis); faster than QR."""
    for _ in range(2):
        block = block - basis @ (basis.T @ block)
        lengths = np.linalg.norm(block, axis=0)
        block = block[:, lengths > 1e-14] / lengths[lengths > 1e-14]
        squares, directions = la.eigh(block.T @ block)
        kept = squares > 1e-12
        block = block @ (directions[:, kept] / np.sqrt(squares[kept]))
    return block

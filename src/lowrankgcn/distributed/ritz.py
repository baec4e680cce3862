r"""Eigenpairs of 𝓛 = diag(σ) − T F Fᵀ T from sums over rows.

An eigenvector satisfies (σ − λ) u = T F w with w = FᵀT u. With κ = 1/(1 − λ) and δ = σ − 1 it is
therefore

.. math:: u = \frac{T F v}{1 + \kappa\delta}, \qquad
          H(\kappa) v = v / \kappa, \quad H(\kappa) = F^T \frac{T^2}{1 + \kappa\delta} F.

H depends little on κ if degrees are large, because δ is 1/degree without loops. Eigenvectors of H
at one or a few fixed κ give vectors B = T F V/(1 + κδ) with

.. math:: \mathcal{L} B = \sigma B - (1 + \kappa\delta)\, B\, \theta,

where θ are the eigenvalues of H(κ). The Rayleigh–Ritz method finds eigenpairs in the span of B. It
requires inner products of B, σB and the null vectors, which are sums over rows and also determine
the residuals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy.linalg as la

from lowrankgcn.distributed.kernel_passes import Basis, GramSums, RitzSums
from lowrankgcn.distributed.kernel_rows import KernelRows
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.solvers.base import SMALLEST

__all__ = ["Ritz", "Trial", "rayleigh_ritz", "trial_basis"]

_NULL = 10.0  # factor for the squared sine of the angle with null vectors


@final
@dataclass(frozen=True, eq=False)
class Trial:
    """Basis with the product 𝓛B = B diag(scale) + σ'B diag(shifted_scale).

    Attributes
    ----------
    basis : Basis
    scale, shifted_scale, theta : (N,) arrays
    off : float
        Lower bound of the eigenvalues in the complement of the basis.
    independent : float
        Squared length below which a combination of unit columns is a rounding error.
    """

    basis: Basis
    scale: FloatArray
    shifted_scale: FloatArray
    theta: FloatArray
    off: float
    independent: float

    def compressed(self, coefficients: FloatArray) -> FloatArray:
        """Return FᵀT B c = V θ c, shape (m, k)."""
        product: FloatArray = self.basis.coefficients @ (self.theta[:, None] * coefficients)
        return product


def trial_basis(
    kernel: KernelRows,
    sums: GramSums,
    nodes: FloatArray,
    count: int,
    n_joined: int,
    tol: float,
    start: FloatArray | None = None,
) -> Trial | None:
    """Compute a basis for `count` eigenvectors from eigenvectors of Gram matrices.

    Parameters
    ----------
    kernel : KernelRows
    sums : GramSums
        Sums at `nodes`.
    count : int
        Number of pairs, including null vectors of components with more than one point.
    n_joined : int
        Number of points that are not isolated.
    tol : float
        Largest residual of iterative solutions.
    start : (m, k) array, optional
        Start of the iteration.
    """
    middle = sums.shift_sum / max(n_joined, 1)
    found = kernel.solutions(sums.grams, nodes, count, tol, start)
    if found is None:
        return None
    kappas, theta = found.kappas, found.theta
    # Off the basis xᵀ𝓛x ≥ σ − xᵀZZᵀx. With loops below 1, σ ≥ 1 and H falls as κ grows.
    rest = found.rest
    off = 1.0 - rest if sums.shift_low >= 1.0 else sums.shift_low - sums.shift_high * rest
    return Trial(
        Basis(kappas, found.vectors, middle),
        middle - (1.0 + kappas * (middle - 1.0)) * theta,
        1.0 - kappas * theta,
        theta,
        off,
        kernel.independent,
    )


@final
@dataclass(frozen=True, eq=False)
class Ritz:
    """Eigenpairs u = B c − N o outside the null space.

    Attributes
    ----------
    values, residuals : (k,) arrays
    coefficients : (N, k) array
        c.
    overlap : (components, k) array
        o, coefficients of the null vectors.
    """

    values: FloatArray
    residuals: FloatArray
    coefficients: FloatArray
    overlap: FloatArray


def rayleigh_ritz(trial: Trial, sums: RitzSums, count: int) -> Ritz:
    """Return the `count` smallest Ritz pairs, or all below the lower bound `trial.off`."""
    overlap = sums.overlap
    image = sums.inner * trial.scale + sums.image * trial.shifted_scale
    basis = _outside_null_space(sums.inner, overlap, trial.independent)
    values, ritz = la.eigh(basis.T @ ((image + image.T) / 2) @ basis)
    count = min(count, int((values <= trial.off).sum()))
    values, chosen = np.maximum(values[:count], SMALLEST), basis @ ritz[:, :count]
    along = overlap @ chosen
    # 𝓛u − λu = σ'B(shifted_scale∘c) + B((scale − λ)∘c) + λ N o
    shifted = trial.shifted_scale[:, None] * chosen
    scaled = (trial.scale[:, None] - values) * chosen
    null = values * along
    squares = (
        _form(shifted, sums.square, shifted)
        + _form(scaled, sums.inner, scaled)
        + np.square(null).sum(axis=0)
        + 2 * _form(shifted, sums.image, scaled)
        + 2 * _form(null, sums.shifted, shifted)
        + 2 * _form(null, overlap, scaled)
    )
    return Ritz(values, np.sqrt(np.maximum(squares, 0.0)), chosen, along)


def _outside_null_space(inner: FloatArray, overlap: FloatArray, independent: float) -> FloatArray:
    """Return an orthonormal basis of span(B) orthogonal to the null vectors, shape (N, k).

    Parameters
    ----------
    inner : (N, N) array
        BᵀB.
    overlap : (c, N) array
        NᵀB.
    independent : float
        Squared length below which a combination of unit columns is a rounding error.
    """
    # Scale first: a rotation would spread the rounding errors of short combinations.
    lengths = 1.0 / np.sqrt(np.diagonal(inner))
    unit, along = lengths[:, None] * inner * lengths, overlap * lengths
    norms, directions = la.eigh(unit - along.T @ along)
    # The remainder of a combination close to a null vector is a rounding error, too.
    whole = _form(directions, unit, directions)
    kept = (norms > independent) & (norms > _NULL * independent * whole)
    orthonormal: FloatArray = lengths[:, None] * directions[:, kept] / np.sqrt(norms[kept])
    return orthonormal


def _form(left: FloatArray, matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Return the diagonal of leftᵀ M right."""
    form: FloatArray = np.einsum("ij,ij->j", left, matrix @ right)
    return form

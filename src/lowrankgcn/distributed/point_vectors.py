r"""Eigenvectors of a Gaussian graph as functions of the point.

.. math:: u(x) = \sum_\kappa \frac{t(x)}{1 + \kappa\delta(x)}\, f(x)^T C_\kappa
          - \nu(x)\, o_{c(x)}

with the row f(x) of the factor of the kernel, t = (d + s)^{-1/2}, δ = σ − 1, and the coefficient o
of the null vector ν of the component c(x) (:mod:`lowrankgcn.distributed.ritz`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.distributed.cloud import BlockCloud
from lowrankgcn.distributed.kernel_passes import weighted_columns
from lowrankgcn.distributed.kernel_rows import Normaliser
from lowrankgcn.distributed.point_spectrum import PointSpectrum
from lowrankgcn.graphs.cross.base import CrossAffinity
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.spectrum import Eigenpairs

__all__ = ["FittedPoints", "PointPairs", "PointVectors"]


@final
@dataclass(frozen=True, eq=False)
class PointVectors:
    """Rows of the eigenvectors, null vectors first.

    Attributes
    ----------
    cloud : BlockCloud
    rows_of : Normaliser
    kappas : (N,) array
        κ of every column of C.
    coefficients : (m, N) array
        C.
    mixture : (N, k) array
        Coefficients of the eigenvectors in these vectors.
    overlap : (components, k) array
    null : (z,) int array
        Components whose null vectors come first.
    """

    cloud: BlockCloud
    rows_of: Normaliser
    kappas: FloatArray
    coefficients: FloatArray
    mixture: FloatArray
    overlap: FloatArray
    null: NDArray[np.intp]

    @classmethod
    def from_spectrum(
        cls, found: PointSpectrum, lead: int, index: NDArray[np.intp]
    ) -> PointVectors:
        """Return the first `lead` null vectors and the pairs `index` of a spectrum."""
        basis, ritz = found.trial.basis, found.ritz
        chosen = ritz.coefficients[:, index]
        kappas, coefficients, mixture = basis.kappas, basis.coefficients, chosen
        nodes = np.unique(kappas)
        if len(nodes) * len(index) < len(kappas):
            # Combine the vectors of each κ in advance.
            own = [kappas == node for node in nodes]
            coefficients = np.hstack([coefficients[:, one] @ chosen[one] for one in own])
            kappas = np.repeat(nodes, len(index))
            mixture = np.tile(np.eye(len(index)), (len(nodes), 1))
        overlap, null = ritz.overlap[:, index], np.arange(lead)
        return cls(found.cloud.cloud, found.rows, kappas, coefficients, mixture, overlap, null)

    @property
    def rank(self) -> int:
        """Number of eigenvectors r."""
        return len(self.null) + int(self.overlap.shape[1])

    def rows(self, block: Any) -> FloatArray:
        """Return U of the rows of a block, shape (n_b, r)."""
        return self.at(self.cloud.coordinates(block))[0]

    def at(self, coordinates: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
        """Return U at points in units of the bandwidth, shape (n, r), and their components."""
        result = np.zeros((len(coordinates), self.rank))
        numbers = np.zeros(len(coordinates), np.intp)
        lead = len(self.null)
        for piece in self.rows_of.pieces(coordinates, self.coefficients):
            numbers[piece.rows] = piece.numbers
            vectors = weighted_columns(piece.product, self.kappas, piece) @ self.mixture
            vectors -= piece.profile[:, None] * self.overlap[piece.numbers]
            result[piece.rows, lead:] = vectors
            inside = piece.numbers[:, None] == self.null
            result[piece.rows, :lead] = np.where(inside, piece.profile[:, None], 0.0)
        return result, numbers

    def signed(self, signs: FloatArray) -> PointVectors:
        """Return the eigenvectors multiplied by signs; null vectors do not change."""
        own = signs[len(self.null) :]
        return replace(self, mixture=self.mixture * own, overlap=self.overlap * own)


@final
@dataclass(frozen=True, eq=False)
class PointPairs:
    """Eigenvalues of points in blocks, with their errors.

    Attributes
    ----------
    eigenvalues, residuals : (r,) arrays
    n_components : int
    fast_sum_error, next_eigenvalue : float
        As in :class:`Eigenpairs`.
    method : {"low-rank", "fourier"}
        Method of kernel summation.
    """

    eigenvalues: FloatArray
    residuals: FloatArray
    n_components: int
    fast_sum_error: float
    next_eigenvalue: float
    method: str

    @property
    def rank(self) -> int:
        """Number of pairs."""
        return len(self.eigenvalues)

    def with_vectors(self, eigenvectors: Any) -> Eigenpairs:
        """Return the pairs with given eigenvectors, which may be lazy."""
        return Eigenpairs(
            self.eigenvalues,
            eigenvectors,
            self.residuals,
            "svd" if self.method == "low-rank" else "modes",
            0,
            self.n_components,
            fast_sum_error=self.fast_sum_error,
            next_eigenvalue=self.next_eigenvalue,
        )


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class FittedPoints(CrossAffinity):
    """Fitted points: the row a(x) is 1 if x is connected to a label, followed by u(x).

    New points use landmarks or Fourier modes instead.
    """

    kind = "fitted"

    vectors: PointVectors
    reached: NDArray[np.bool_]  # (components,)

    @property
    def n_columns(self) -> int:
        """One plus the number of eigenvectors."""
        return 1 + self.vectors.rank

    def rows(self, X: Any) -> FloatArray:
        """Return the rows a(x), shape (q, 1 + r), for points in the units of the graph."""
        cloud = self.vectors.cloud
        vectors, numbers = self.vectors.at((X - cloud.centre) / cloud.bandwidth)
        return np.column_stack([self.reached[numbers], vectors])

    def _product(self, X: Any, Q: FloatArray) -> FloatArray:
        product: FloatArray = self.rows(X) @ Q
        return product

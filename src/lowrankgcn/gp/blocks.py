"""Blocks of the covariance: each turns rows into a representation and compares representations.

A block reads one *view* of the rows, an array (q, d) from ``lowrankgcn.gp.views.RowViews``:
standard scores, ranks, or spectral coordinates. A linear block on spectral coordinates with weights
φ(λ) is the covariance U φ(Λ)² Uᵀ of a graph convolution with Gaussian weights.

>>> import numpy as np
>>> from lowrankgcn.gp.blocks import LinearBlock
>>> views = {"standard": np.array([[0.0, 2.0], [0.0, -2.0], [6.0, 0.0]])}
>>> block = LinearBlock.fit("linear", "standard", views["standard"])
>>> block.kernel(block.represent(views), block.represent(views)).round(2)[0].tolist()
[0.75, 0.0, -0.75]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
import scipy  # loads its parts when they are used

from lowrankgcn._codec import saved
from lowrankgcn.operators import FloatArray

Views = Mapping[str, FloatArray]

_SAMPLE = 1000  # labelled rows whose mean distance is the unit of a radial block


class Block(ABC):
    """A positive semidefinite kernel of rows.

    To add a block, derive a frozen dataclass, decorate it with ``@saved``, and list it in
    :mod:`lowrankgcn.gp.recipe` with a prior in ``prior.json``.
    """

    name: str
    view: str

    @abstractmethod
    def represent(self, views: Views) -> Any:
        """Return the representation of rows, with one row for each of them."""

    @abstractmethod
    def kernel(self, A: Any, B: Any) -> FloatArray:
        """Return the kernel of two representations, shape (p, q)."""

    def variances(self, A: Any) -> FloatArray:
        """Return the kernel of every row with itself, shape (q,)."""
        return np.ones(len(A))

    def readout(self, labelled: Any, alpha: FloatArray) -> Any:
        """Return what :meth:`scores` needs of the labelled rows and of alpha, shape (m, C)."""
        return labelled, alpha

    def scores(self, A: Any, readout: Any) -> FloatArray:
        """Return kernel(A, labelled) @ alpha, shape (q, C)."""
        labelled, alpha = readout
        scores: FloatArray = self.kernel(A, labelled) @ alpha
        return scores


@saved
@final
@dataclass(frozen=True, eq=False)
class LinearBlock(Block):
    """Inner products of weighted, centred columns; the mean square norm of a fitted row is one.

    Attributes
    ----------
    name, view : str
    weights : (r,) array
        Weights of the first r columns of the view.
    centre : (r,) array
    scale : float
    """

    name: str
    view: str
    weights: Annotated[FloatArray, "r"]
    centre: Annotated[FloatArray, "r"]
    scale: float

    @classmethod
    def fit(
        cls, name: str, view: str, rows: FloatArray, weights: FloatArray | None = None
    ) -> LinearBlock:
        """Fit centre and scale to the rows of the view, shape (n, d)."""
        weights = np.ones(rows.shape[1]) if weights is None else weights
        rows = rows[:, : len(weights)]
        centre = rows.mean(axis=0)
        square = float(((rows - centre) ** 2).mean(axis=0) @ weights**2)
        return cls(name, view, weights, centre, float(np.sqrt(square + 1e-12)))

    def represent(self, views: Views) -> FloatArray:
        """Return the features, shape (q, r)."""
        rows = views[self.view][:, : len(self.weights)]
        features: FloatArray = (rows - self.centre) * (self.weights / self.scale)
        return features

    def kernel(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return the inner products."""
        product: FloatArray = A @ B.T
        return product

    def variances(self, A: FloatArray) -> FloatArray:
        """Return the squared norms."""
        squares: FloatArray = np.einsum("ij,ij->i", A, A)
        return squares

    def readout(self, labelled: FloatArray, alpha: FloatArray) -> FloatArray:
        """Return the coefficients of the features, shape (r, C)."""
        coefficients: FloatArray = labelled.T @ alpha
        return coefficients

    def scores(self, A: FloatArray, readout: FloatArray) -> FloatArray:
        """Return features times coefficients."""
        product: FloatArray = A @ readout
        return product


@saved
@final
@dataclass(frozen=True, eq=False)
class RadialBlock(Block):
    r"""Gaussian kernel :math:`\exp(-\text{rate} \, \|w \odot (x - y)\|^2)` of weighted columns.

    Attributes
    ----------
    name, view : str
    weights : (d,) array
    rate : float
    """

    name: str
    view: str
    weights: Annotated[FloatArray, "d"]
    rate: float

    @classmethod
    def fit(
        cls,
        name: str,
        view: str,
        labelled: FloatArray,
        sharpness: float,
        weights: FloatArray | None = None,
    ) -> RadialBlock:
        """Set the rate to `sharpness` over the mean squared distance of labelled rows (m, d)."""
        weights = np.ones(labelled.shape[1]) if weights is None else weights
        rows = labelled[:_SAMPLE] * weights
        pairs = max(1, len(rows) * (len(rows) - 1))
        mean = max(
            float(scipy.spatial.distance.cdist(rows, rows, "sqeuclidean").sum()) / pairs, 1e-9
        )
        return cls(name, view, weights, sharpness / mean)

    def represent(self, views: Views) -> FloatArray:
        """Return the weighted columns, shape (q, d)."""
        return views[self.view] * self.weights

    def kernel(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Return the Gaussian of the distances."""
        # One product of matrices is faster than a difference for every pair of rows.
        distances = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2.0 * (A @ B.T)
        np.maximum(distances, 0.0, out=distances)
        distances *= -self.rate
        result: FloatArray = np.exp(distances, out=distances)
        return result

"""The interface of all cross-affinities, and their normalisation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import NOT_SAVED
from lowrankgcn._validation import invalid
from lowrankgcn.operators import Factor, FloatArray, MatrixFactor


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossAffinity(ABC):
    r"""Normalised weights between new rows and the n fitted nodes.

    With weights w(x, i), degree d(x) = Σ w(x, i) and loop s(x) of a new row x,

    .. math:: \tilde w(x, i) = \frac{w(x, i)}{\sqrt{(d(x) + s(x)) (d_i + s_i)}}
              \left(1 - \frac{s(x)}{d(x) + s(x)}\right)^{-1} = a(x)^T C^T e_i

    continues the rows of I − 𝓛 = (D+S)^{-1/2} (W+S) (D+S)^{-1/2} (section A2.4). The last factor
    distributes the loop of the new row, which is not a fitted node, to its neighbours. This is
    exact for the eigenvalue zero and an approximation for others. The m entries of a(x) depend on x
    alone; C (n×m) belongs to the fitted graph. Vectors over the nodes are compressed to m rows
    once; afterwards neither C nor the graph is needed.

    Attributes
    ----------
    least_divisor : float
        Eigenvectors are extended by the factor 1/(1−λ), or by less if abs(1−λ) is below this.
    loop_weight : float
        s(x), in addition to the loops of a hypergraph itself.
    columns : Factor or None
        C. It is not saved: None for a cross-affinity read from a file.

    Examples
    --------
    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.spectral.extension import cross_affinity
    >>> points = np.array([[0.0], [1.0], [2.0]])
    >>> laplacian = lg.Laplacian(lg.GaussianGraph(points, bandwidth=1.0))
    >>> cross = cross_affinity(laplacian)
    >>> cross.n_columns
    3
    >>> cross.product([[0.5]], cross.compress(np.sqrt(laplacian.degrees)[:, None])).shape
    (1, 1)
    """

    # New points have other weights than fitted ones, and 1/(1−λ) amplifies the difference.
    least_divisor: ClassVar[float] = 0.1

    loop_weight: float
    columns: Factor | None = field(default=None, repr=False, metadata=NOT_SAVED)

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number m of columns of C: hyperedges, landmarks or nodes."""

    @abstractmethod
    def product(self, X: Any, Q: FloatArray) -> FloatArray:
        """Return a(x) Q for all rows x of X, shape (q, c), without storing all a(x).

        Parameters
        ----------
        X : table, points, incidence rows or weights
            q rows like those the graph was built from. The product is zero for rows without
            affinity to any fitted node.
        Q : (m, c) array
            Result of :meth:`compress`.

        Notes
        -----
        The result for a row is independent of the other rows, to rounding.
        """

    def compress(self, G: NDArray[Any]) -> FloatArray:
        """Return Cᵀ G, shape (m, c), for G of shape (n, c) in single or double precision.

        Raises
        ------
        ValueError
            If C was not saved.
        """
        if self.columns is None:
            raise invalid("compress", "a cross-affinity of a fitted graph", "a restored one")
        return self.columns.transpose_product(G)


def normalised(rows: FloatArray, degrees: FloatArray, loop_weight: float) -> FloatArray:
    """Turn weights w(x, ·), or products with them, into a(x): times √(d(x) + s(x)) / d(x).

    Rows of degree zero become zero. Dividing first keeps weights below one even if the degree is
    tiny.

    >>> normalised(np.array([[0.25], [0.0]]), np.array([0.25, 0.0]), 2.0)
    array([[1.5],
           [0. ]])
    """
    joined = degrees > 0
    result = rows / np.where(joined, degrees, 1.0)[:, None]
    result *= np.where(joined, np.sqrt(degrees + loop_weight), 0.0)[:, None]
    return result


def node_scale(degrees: FloatArray) -> FloatArray:
    """Return T = (D + S)^{-1/2}, shape (n,); 0 for nodes with neither edge nor loop.

    >>> node_scale(np.array([4.0, 0.0]))
    array([0.5, 0. ])
    """
    scale = np.zeros(len(degrees))
    np.divide(1.0, np.sqrt(degrees), out=scale, where=degrees > 0)
    return scale


def diagonal_factor(degrees: FloatArray) -> MatrixFactor:
    """Return C = T as a sparse factor, for cross-affinities with one column per node."""
    return MatrixFactor(sp.csr_array(sp.diags_array(node_scale(degrees))))

"""What every kind of cross-affinity shares: normalisation and products in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from lowrankgcn._codec import NOT_SAVED
from lowrankgcn._validation import finite_array, invalid, positive_float
from lowrankgcn.operators import Factor, FloatArray

__all__ = ["CrossAffinity", "node_scale", "row_scale"]


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossAffinity(ABC):
    r"""Normalised weights between rows that come later and the n fitted nodes.

    With weights w(x, i), degree d(x) = Σ w(x, i) and loop s(x) of a new row x,

    .. math:: \tilde w(x, i) = \frac{w(x, i)}{\sqrt{(d(x) + s(x)) (d_i + s_i)}}
              \Big/ \Big(1 - \frac{s(x)}{d(x) + s(x)}\Big) = a(x)^T C^T e_i

    continues the rows of I − 𝓛 = (D+S)^{-1/2} (W+S) (D+S)^{-1/2} (section A2.4). The last factor
    gives the row's own loop, whose other end is not among the fitted nodes, to its neighbours:
    right for the eigenvalue zero, an approximation for others. a(x) has m entries that depend on x
    alone, C (n×m) belongs to the fitted graph: what is to be applied to later rows is compressed to
    m rows once, and then neither C nor the graph is needed.

    Attributes
    ----------
    kind : str
        Name of the kind.
    least_divisor : float
        Eigenvectors are continued by 1/(1−λ), and by less where λ is closer to 1 than this.
    loop_weight : float
        s(x) beyond the loops that a hypergraph has of its own.
    columns : Factor or None
        C; not saved, None after reading from a file.
    """

    kind: ClassVar[str]
    # A new point's weights are not those of a fitted one, and 1/(1−λ) enlarges the difference.
    least_divisor: ClassVar[float] = 0.1

    loop_weight: float
    columns: Factor | None = field(default=None, repr=False, metadata=NOT_SAVED)

    def __post_init__(self) -> None:
        positive_float(self.loop_weight, "loop_weight", zero=True)

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number m of columns of C: hyperedges, landmarks, or nodes."""

    @abstractmethod
    def rows(self, X: Any) -> FloatArray | sp.csr_array:
        """The rows a(x), shape (q, m); zero where x has no affinity to any fitted node.

        Parameters
        ----------
        X : table, points, incidence rows or weights
            q rows like those the graph was made of.

        Returns
        -------
        ndarray or csr_array, shape (q, m)
            Sparse but for Gaussian graphs.
        """

    @abstractmethod
    def _product(self, X: Any, Q: FloatArray) -> FloatArray:
        """The product rows(X) @ Q."""

    def product(self, X: Any, Q: Any) -> FloatArray:
        """The product ``rows(X) @ Q``, shape (q, c), without holding all rows at once.

        Parameters
        ----------
        X : table, points, incidence rows or weights
            q rows like those the graph was made of.
        Q : (m, c) array
            What :meth:`compress` returned.

        Notes
        -----
        A row's result has the same bits whichever rows it comes with.
        """
        block = np.ascontiguousarray(finite_array(Q, "Q", ndim=2))
        if len(block) != self.n_columns:
            raise invalid("Q", f"{self.n_columns} rows", len(block))
        return self._product(X, block)

    def compress(self, G: Any) -> FloatArray:
        """The product Cᵀ G, shape (m, c), for G of shape (n, c).

        Raises
        ------
        ValueError
            If the shape does not fit, or C was not saved.
        """
        if self.columns is None:
            raise invalid("compress", "a cross-affinity of a fitted graph", "a restored one")
        # What is stored in single precision is not copied, but brought to double part by part.
        single = isinstance(G, np.ndarray) and G.dtype == np.float32 and G.ndim == 2
        block = G if single else finite_array(G, "G", ndim=2)
        if single and not np.isfinite(block.sum(axis=0, dtype=np.float64)).all():
            raise invalid("G", "finite numbers", "NaN or infinity")
        if len(block) != self.columns.shape[0]:
            raise invalid("G", f"{self.columns.shape[0]} rows", len(block))
        return self.columns.transpose_product(block)


def row_scale(degrees: FloatArray, loop_weight: float) -> tuple[FloatArray, FloatArray]:
    """Divisor d(x) and factor √(d(x) + s(x)) that turn a row's weights into a(x).

    Where the degree is zero, so is the factor. Divided first, weights do not exceed one however
    small their sum is.

    >>> row_scale(np.array([0.25, 0.0]), 2.0)
    (array([0.25, 1.  ]), array([1.5, 0. ]))
    """
    joined = degrees > 0
    divisor = np.where(joined, degrees, 1.0)
    return divisor, np.where(joined, np.sqrt(divisor + loop_weight), 0.0)


def node_scale(degrees: FloatArray) -> FloatArray:
    """T = (D + S)^{-1/2}, shape (n,); 0 for nodes with neither edge nor loop.

    >>> node_scale(np.array([4.0, 0.0]))
    array([0.5, 0. ])
    """
    scale = np.zeros(len(degrees))
    np.divide(1.0, np.sqrt(degrees), out=scale, where=degrees > 0)
    return scale

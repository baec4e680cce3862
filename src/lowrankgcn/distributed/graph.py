"""Graphs of rows in blocks, without their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.graphs import TableEncoder

__all__ = ["BlockHypergraph", "BlockPoints"]


@final
@dataclass(frozen=True, eq=False)
class BlockHypergraph:
    """Hypergraph of a table in blocks.

    Attributes
    ----------
    n_nodes : int
        Number of rows.
    n_components : int
    hyperedge_sizes : (n_hyperedges,) int array
    encoder : TableEncoder
        Encoder of the values of the columns as hyperedges.

    Examples
    --------
    >>> import numpy as np
    >>> encoder = TableEncoder.fit(np.array([["a", "x"], ["b", "x"]]))
    >>> BlockHypergraph(2, 1, np.array([1, 1, 2]), encoder)
    BlockHypergraph(2 nodes, 3 hyperedges)
    """

    n_nodes: int
    n_components: int
    hyperedge_sizes: NDArray[np.int64]
    encoder: TableEncoder

    @property
    def n_hyperedges(self) -> int:
        """Number of hyperedges."""
        return self.encoder.n_hyperedges

    @property
    def hyperedge_names(self) -> tuple[str, ...]:
        """Names "column=value" of all hyperedges."""
        return self.encoder.hyperedge_names

    def __repr__(self) -> str:
        return f"BlockHypergraph({self.n_nodes} nodes, {self.n_hyperedges} hyperedges)"


@final
@dataclass(frozen=True)
class BlockPoints:
    """Gaussian graph of points in blocks.

    Attributes
    ----------
    n_nodes : int
        Number of points.
    dimension : int
        Number of columns.
    n_components : int
    bandwidth : float
        In the units of X if it was given, otherwise in units of the ranges of the columns.
    method : {"low-rank", "fourier"}
        Method of kernel summation.
    error : float
        Measured error of the kernel sums, as in `Affinity.error`.

    Examples
    --------
    >>> BlockPoints(10**6, 3, 1, 0.5, "low-rank", 2e-5)
    BlockPoints(1000000 points in 3 dimensions, bandwidth=0.5)
    """

    n_nodes: int
    dimension: int
    n_components: int
    bandwidth: float
    method: str
    error: float

    def __repr__(self) -> str:
        size = f"{self.n_nodes} points in {self.dimension} dimensions"
        return f"BlockPoints({size}, bandwidth={self.bandwidth:g})"

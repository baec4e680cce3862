"""The graph of a table in blocks, as far as it is known without its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.graphs import TableEncoder

__all__ = ["BlockHypergraph"]


@final
@dataclass(frozen=True, eq=False)
class BlockHypergraph:
    """The hypergraph of a table whose rows stay where they are.

    Attributes
    ----------
    n_nodes : int
        Number of rows.
    n_components : int
    hyperedge_sizes : (n_hyperedges,) int array
    encoder : TableEncoder
        Which value of which column is which hyperedge.

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
        """The texts "column=value" of all hyperedges."""
        return self.encoder.hyperedge_names

    def __repr__(self) -> str:
        return f"BlockHypergraph({self.n_nodes} nodes, {self.n_hyperedges} hyperedges)"

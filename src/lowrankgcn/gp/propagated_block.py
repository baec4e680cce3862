r"""Blocks of propagated features: linear kernels of φ(S) F.

The covariance is :math:`\hat\Phi \hat\Phi^T` with the centred rows of Φ = φ(S) F, divided by their
norms or by one common scale: the paper's kernel φ(L) X Xᵀ φ(L) at full rank.

>>> import numpy as np, lowrankgcn as lg
>>> from lowrankgcn.gp.node_graph import NodeGraph
>>> graph = lg.AdjacencyGraph.from_edge_index([[0, 1], [1, 2]])
>>> nodes = NodeGraph.fit(graph, np.arange(6.0).reshape(3, 2))
>>> block = PropagatedBlock.fit("graph", nodes)
>>> rows = block.represent({"graph": nodes.rows("graph")})
>>> block.kernel(rows, rows).diagonal().round(4).tolist()
[1.0, 1.0, 1.0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lowrankgcn._codec import saved
from lowrankgcn.gp.blocks import Block, Views
from lowrankgcn.gp.graph_filters import PROPAGATIONS
from lowrankgcn.gp.node_graph import NodeGraph
from lowrankgcn.gp.propagated_rows import PropagatedRows
from lowrankgcn.operators import FloatArray

_LEAST = 1e-12  # squared norm of a row


@saved
@final
@dataclass(frozen=True, eq=False)
class PropagatedBlock(Block):
    """Inner products of centred rows of φ(S) F.

    Rows are :class:`PropagatedRows`, which are not formed, or the finished rows of few nodes as an
    array (m, d).

    Attributes
    ----------
    name : str
        Block and view.
    scale : float
        Root of the mean squared norm of the centred rows of the fitted graph.
    """

    name: str
    scale: float

    @classmethod
    def fit(cls, name: str, nodes: NodeGraph) -> PropagatedBlock:
        """Fit the scale to all nodes."""
        return cls(name, float(np.sqrt(max(nodes.squared_norms(name).mean(), _LEAST))))

    @property
    def view(self) -> str:  # type: ignore[override]
        """Name of the view, that of the block."""
        return self.name

    def represent(self, views: Views) -> PropagatedRows:
        """Return the rows as they are."""
        rows: Any = views[self.name]
        assert isinstance(rows, PropagatedRows)
        return rows

    def finished(self, A: Any) -> Any:
        """Return rows as an array (q, d): centred and divided by their norms or the scale."""
        if not isinstance(A, PropagatedRows):
            return A
        rows = A.dense() - A.centre.astype(np.float32)
        if PROPAGATIONS[self.name].unit_rows:
            squares = np.einsum("ij,ij->i", rows, rows)
            return rows / np.sqrt(np.maximum(squares, _LEAST))[:, None]
        return rows / np.float32(self.scale)

    def kernel(self, A: Any, B: Any) -> FloatArray:
        """Return the inner products; rows that are not finished are finished first."""
        if isinstance(A, PropagatedRows) and len(B) < min(A.shape):
            return self.scores(A, self.finished(B).T)
        a = self.finished(A)
        b = a if A is B else self.finished(B)
        product: FloatArray = (a @ b.T).astype(np.float64)
        return product

    def variances(self, A: Any) -> FloatArray:
        """Return the squared norms."""
        if PROPAGATIONS[self.name].unit_rows:
            return np.ones(len(A))
        if isinstance(A, PropagatedRows):
            squares = A.squared_norms()
            return squares / self.scale**2
        result: FloatArray = np.einsum("ij,ij->i", A, A).astype(np.float64)
        return result

    def readout(self, labelled: Any, alpha: FloatArray) -> FloatArray:
        """Return the coefficients of the features, shape (d, C)."""
        coefficients: FloatArray = self.finished(labelled).T @ alpha
        return coefficients

    def scores(self, A: Any, readout: FloatArray) -> FloatArray:
        """Return finished rows times coefficients, by one propagation of the product F w."""
        if not isinstance(A, PropagatedRows):
            product: FloatArray = A @ readout
            return product
        scores: FloatArray = (A @ readout - A.centre @ readout) / self._norms(A)
        return scores

    def parts(self, A: PropagatedRows, readout: FloatArray) -> FloatArray:
        """Return the terms of the scores by features, shape (q, d), for a readout (d, q) by row."""
        offsets = A.dense() - A.centre
        terms: FloatArray = offsets * readout.T / self._norms(A)
        return terms

    def _norms(self, A: PropagatedRows) -> Any:
        """Return what centred rows are divided by."""
        if not PROPAGATIONS[self.name].unit_rows:
            return self.scale
        return np.sqrt(np.maximum(A.squared_norms(), _LEAST))[:, None]

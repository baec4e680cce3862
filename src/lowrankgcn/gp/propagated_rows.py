"""Rows of propagated features φ(S) F, which are not formed: of fitted nodes, and of new ones.

>>> import numpy as np, lowrankgcn as lg
>>> from lowrankgcn.gp.node_graph import NodeGraph
>>> graph = lg.AdjacencyGraph.from_edge_index([[0, 1], [1, 2]])
>>> rows = NodeGraph.fit(graph, np.arange(6.0).reshape(3, 2)).rows("conv")[[0, 2]]
>>> rows.shape, np.allclose(rows.dense() @ np.ones((3, 1)), rows @ np.ones((3, 1)))
((2, 3), True)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn.gp.graph_filters import PROPAGATIONS, WEIGHTS, Single
from lowrankgcn.operators import FloatArray

if TYPE_CHECKING:
    from lowrankgcn.gp.node_graph import NodeGraph


@dataclass(frozen=True, eq=False)
class PropagatedRows:
    """Some rows of φ(S) F as a matrix (q, d) that is not formed.

    Attributes
    ----------
    nodes : NodeGraph
    name : str
        Block, which determines S and φ.
    index : (q,) int array
    """

    nodes: NodeGraph
    name: str
    index: NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (q, d)."""
        return len(self.index), self.nodes.features.shape[1]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.index)

    def __getitem__(self, chosen: Any) -> PropagatedRows:
        """Return some of the rows."""
        return replace(self, index=self.index[chosen])

    def __matmul__(self, w: NDArray[np.floating[Any]]) -> FloatArray:
        """Return φ(S) (F w) at the rows, shape (q, c)."""
        return self.nodes.products(self.name, w)[self.index]

    @property
    def centre(self) -> FloatArray:
        """Mean row of the fitted graph, shape (d,)."""
        return self.nodes.centres[self.name]

    def squared_norms(self) -> FloatArray:
        """Return squared distances of the rows from the centre, shape (q,)."""
        return self.nodes.squared_norms(self.name)[self.index]

    def dense(self) -> Single:
        """Return the rows, shape (q, d)."""
        return self.nodes.dense_rows(self.name, self.index)


@final
@dataclass(frozen=True, eq=False)
class NewRows(PropagatedRows):
    """Rows of φ(S) F of new nodes, each alone, joined to their nearest known nodes.

    Known rows do not change, so that a new row does not depend on others. With φ = ε/(λ + ε),
    Φ = φ(S) F solves (1 + ε) Φ = S Φ + ε F. The row of a new f with the normalised weights s to
    known rows, and t to itself, is (ε f + s Φ)/(1 + ε − t).

    Attributes
    ----------
    features : (q, d) csr_array or array
    near : (q, n) csr_array
        Cosines with the nearest known nodes.
    """

    features: Any
    near: sp.csr_array

    def __matmul__(self, w: NDArray[np.floating[Any]]) -> FloatArray:
        """Return φ(S) (F w) at the rows, shape (q, c)."""
        own = np.asarray(self.features[self.index] @ w, np.float64)
        if self.name == "ego":
            return own
        share, steps = self._steps()
        known: FloatArray = steps @ self.nodes.products(self.name, w)
        return share * own + known

    def squared_norms(self) -> FloatArray:
        """Return squared distances of the rows from the centre, shape (q,)."""
        probes = self.nodes.probes
        offsets = self @ probes - self.centre @ probes
        squares: FloatArray = np.einsum("ij,ij->i", offsets, offsets)
        return squares

    def dense(self) -> Single:
        """Return the rows, shape (q, d)."""
        rows: Any = self.features[self.index]
        rows = rows.toarray() if sp.issparse(rows) else rows
        if self.name != "ego":
            share, steps = self._steps()
            joined = self.nodes.propagate([self.name], steps.T.toarray())[self.name]
            rows = share * rows + (self.nodes.features.T @ joined).T
        return np.asarray(rows, np.float32)

    def _steps(self) -> tuple[FloatArray, sp.csr_array]:
        """Return the factors of the own features, shape (q, 1), and of known rows, (q, n)."""
        near, (weight, loops) = self.near[self.index], WEIGHTS[self.name]
        sums = np.asarray(near.sum(axis=1)).ravel()
        degrees: FloatArray = loops + weight * (sums > 0).astype(np.float64)
        known = self.nodes.smoother(self.name).scale
        scale = weight / np.where(sums > 0, sums, 1.0) / np.sqrt(degrees)
        steps = sp.diags_array(scale) @ near @ sp.diags_array(known)
        at_one = float(PROPAGATIONS[self.name].filter(np.ones(1))[0])  # ε/(1 + ε)
        epsilon = at_one / (1.0 - at_one)
        whole = 1.0 + epsilon - loops / degrees
        return epsilon / whole[:, None], sp.csr_array(sp.diags_array(1.0 / whole) @ steps)

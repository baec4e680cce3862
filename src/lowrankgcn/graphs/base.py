"""What every graph knows: its size, its pieces, its loops, and how to multiply with its weights.

>>> import lowrankgcn as lg
>>> triangle_and_a_loner = [[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
>>> graph = lg.AdjacencyGraph(triangle_and_a_loner)
>>> graph.n_nodes, graph.n_components, graph.components.tolist(), graph.isolated.tolist()
(4, 2, [0, 0, 0, 1], [False, False, False, True])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.affinity import Affinity

Array = TypeVar("Array", bound=NDArray[Any])

__all__ = ["Graph", "magnitude", "number_components", "read_only"]


class Graph(ABC):
    """An undirected weighted graph with adjacency W ≥ 0 (zero diagonal) and loop weights.

    Subclasses are frozen: they validate their input once and never change.
    """

    @property
    @abstractmethod
    def n_nodes(self) -> int:
        """Number of nodes n."""

    @property
    @abstractmethod
    def loop_weights(self) -> FloatArray:
        """Loops the graph itself has, shape (n,): the smoother used when none is named."""

    @property
    def completing_loops(self) -> FloatArray | None:
        """Diagonal that makes W positive semidefinite, shape (n,), where one is known."""
        return None

    @abstractmethod
    def affinity(self, *, tol: float = 1e-6, method: str = "auto") -> Affinity:
        """Products with the weights W = A − diag(a), with degrees and measured error."""

    @abstractmethod
    def _find_components(self) -> NDArray[np.intp]:
        """Any labelling of the nodes by connected component."""

    @cached_property
    def components(self) -> NDArray[np.intp]:
        """Component of every node, numbered in the order of their first nodes, shape (n,)."""
        return read_only(number_components(self._find_components()))

    @cached_property
    def _component_sizes(self) -> NDArray[np.intp]:
        return np.bincount(self.components)

    @property
    def n_components(self) -> int:
        """Number of connected components, isolated nodes included."""
        return len(self._component_sizes)

    @cached_property
    def isolated(self) -> NDArray[np.bool_]:
        """Nodes without an edge to another node, shape (n,)."""
        return read_only(self._component_sizes[self.components] == 1)


def number_components(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Renumber component labels by first occurrence.

    >>> number_components(np.array([7, 7, 2, 7, 5, 2])).tolist()
    [0, 0, 1, 0, 2, 1]
    """
    if not labels.any():
        return labels.astype(np.intp, copy=False)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.intp)
    order[np.argsort(first, kind="stable")] = np.arange(len(first))
    return order[inverse]


def magnitude(points: FloatArray) -> int:
    """Exponent e of the power of two just above all coordinates.

    Multiplied with 2^-e, which is exact, points have squared distances that neither overflow nor
    vanish.

    >>> magnitude(np.array([[3.0, -1e-3]]))
    2
    """
    return int(np.frexp(np.abs(points).max())[1])


def read_only(array: Array) -> Array:
    """A view of the array that refuses assignment; the data is not copied."""
    view = array.view()
    view.flags.writeable = False
    return view

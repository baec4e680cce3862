"""Result of the set-up, with one interface for tables and points.

Set-up ends with a value of this kind, and training, prediction and explanations begin with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.distributed.vectors import EigenvectorRows
from lowrankgcn.estimators.inputs import Inputs
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.rows import Kind
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs

__all__ = ["BlockPairs", "Known", "Reach", "itself"]


class BlockPairs(Protocol):
    """Eigenpairs whose eigenvectors are elsewhere."""

    @property
    def rank(self) -> int:
        """Number of pairs."""

    def with_vectors(self, eigenvectors: Any) -> Eigenpairs:
        """The same pairs with eigenvectors of given rows, which may be lazy."""


@final
@dataclass(frozen=True, eq=False)
class Reach:
    """How far the labels go.

    Attributes
    ----------
    parts : (k,) bool array
        Hyperedges of components, or components, that have a label.
    alone : (p,) bool array
        Labelled rows that no other row is joined to.
    n_unplaced : int
        Number of rows without a label in reach.
    """

    parts: NDArray[np.bool_]
    alone: NDArray[np.bool_]
    n_unplaced: int


class Known(ABC):
    """What is known of all rows.

    Attributes
    ----------
    kind : {"table", "points"}
    inputs : Inputs
        What the network sees.
    square_sum : float
        ‖X‖²_F.
    pairs : BlockPairs
    inner : (r, N_0) array
        UᵀX.
    filters : tuple of Filter or None
        Those given, bound to the spectrum.
    """

    kind: Kind
    inputs: Inputs
    square_sum: float
    pairs: BlockPairs
    inner: FloatArray
    filters: tuple[Filter, ...] | None

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, ...]:
        """Number of rows of each block."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.lengths)

    @property
    @abstractmethod
    def graph(self) -> Any:
        """The graph, as far as it is known without its rows."""

    @property
    @abstractmethod
    def laplacian(self) -> Laplacian:
        """A small Laplacian that stands for that of all rows."""

    @property
    @abstractmethod
    def vectors(self) -> EigenvectorRows:
        """Rows of the eigenvectors."""

    @property
    def units(self) -> Mapping[int, int]:
        """Eigenvectors that are unit vectors, by row; `vectors` does not contain them."""
        return {}

    @property
    def average(self) -> FloatArray | None:
        """Mean of the rows of the cross-affinity, where its columns are hyperedges."""
        return None

    @property
    def reader(self) -> Callable[[Any], Any]:
        """A small function that gives the rows of a block as `inputs` takes them."""
        return itself

    def read(self, block: Any) -> Any:
        """Rows of a block as `inputs` takes them."""
        return self.reader(block)

    @abstractmethod
    def reach(self, labelled: Any) -> Reach:
        """How far the labels of some rows go."""

    @abstractmethod
    def models(
        self,
        networks: tuple[TrainedNetwork, ...],
        labels: Labels,
        reach: Reach,
    ) -> tuple[Model, Model]:
        """Models of new rows, and of the fitted rows themselves.

        Parameters
        ----------
        networks : tuple of TrainedNetwork
            Trained on the rows that stand for all, of which the last r are the identity.
        labels : Labels
            Of those rows.
        reach : Reach
        """


def itself(block: Any) -> Any:
    """The block."""
    return block

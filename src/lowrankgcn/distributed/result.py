"""Result of the set-up, with one interface for tables and points.

Training, prediction and explanations start from this result.
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

__all__ = ["BlockPairs", "LabelReach", "SetUpResult", "identity"]


class BlockPairs(Protocol):
    """Eigenpairs without their eigenvectors."""

    @property
    def rank(self) -> int:
        """Number of pairs."""

    def with_vectors(self, eigenvectors: Any) -> Eigenpairs:
        """Return the pairs with given eigenvectors, which may be lazy."""


@final
@dataclass(frozen=True, eq=False)
class LabelReach:
    """Rows that are connected to labelled rows.

    Attributes
    ----------
    parts : (k,) bool array
        Components of points with a labelled row, or hyperedges of such components.
    alone : (p,) bool array
        Labelled rows that are isolated.
    n_unplaced : int
        Number of rows without a path to a labelled row.
    """

    parts: NDArray[np.bool_]
    alone: NDArray[np.bool_]
    n_unplaced: int


class SetUpResult(ABC):
    """Result of the set-up of all rows.

    Attributes
    ----------
    kind : {"table", "points"}
    inputs : Inputs
        Conversion of rows to features.
    square_sum : float
        ‖X‖²_F.
    pairs : BlockPairs
    inner : (r, N_0) array
        UᵀX.
    filters : tuple of Filter or None
        The given filters, bound to the spectrum.
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
        """Graph without its rows."""

    @property
    @abstractmethod
    def laplacian(self) -> Laplacian:
        """Small Laplacian in place of that of all rows."""

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
        """Mean row of the cross-affinity, if its columns are hyperedges."""
        return None

    @property
    def reader(self) -> Callable[[Any], Any]:
        """Function that converts a block to rows for `inputs`."""
        return identity

    def read(self, block: Any) -> Any:
        """Return the rows of a block for `inputs`."""
        return self.reader(block)

    @abstractmethod
    def reach(self, labelled: Any) -> LabelReach:
        """Return the components that have labelled rows."""

    @abstractmethod
    def models(
        self,
        networks: tuple[TrainedNetwork, ...],
        labels: Labels,
        reach: LabelReach,
    ) -> tuple[Model, Model]:
        """Return the models of new rows and of the fitted rows.

        Parameters
        ----------
        networks : tuple of TrainedNetwork
            Networks trained on the representative rows, whose last r eigenvector rows are the
            identity.
        labels : Labels
            Labels of these rows.
        reach : LabelReach
        """


def identity(block: Any) -> Any:
    """Return the block."""
    return block

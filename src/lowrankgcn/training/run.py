"""What training asks of an optimiser: to be started on an objective and to iterate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from torch import Tensor

from lowrankgcn.training.objective import Objective

__all__ = ["Optimizer", "Run"]


class Run(ABC):
    """An optimiser at work on s restarts."""

    @abstractmethod
    def iterate(self, slot: int) -> None:
        """One iteration, the loss of whose starting point is noted in `slot`."""

    @abstractmethod
    def losses(self, count: int) -> Tensor:
        """Losses noted in the slots 0, …, count − 1, shape (count, s)."""

    @abstractmethod
    def state(self, restarts: Tensor) -> Any:
        """What :meth:`Optimizer.start` needs to go on with some of the restarts."""


class Optimizer(ABC):
    """A frozen description of an optimiser.

    Attributes
    ----------
    geometric : bool
        Whether the way it takes is the same in every orthonormal basis of the weights.
    """

    geometric: ClassVar[bool]

    @abstractmethod
    def start(self, objective: Objective, state: Any = None) -> Run:
        """Begin on an objective, or go on from the state of an earlier run."""

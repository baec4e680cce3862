r"""The training loss of s restarts: mean cross-entropy plus the penalty of section A4.3.

.. math:: L(\Theta) = -\sum_{i \in I} w_i \log Y_{i,c_i} + \frac{\rho}{2} \|\Theta^1\|_F^2

Optimisers need the gradient in every iteration, but its value only now and then: logits and norms
are noted while iterating and turned into losses block by block.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor

from lowrankgcn.training.calls import Call, call, repeat
from lowrankgcn.training.gradients import ExplicitGradients

__all__ = ["Objective"]


@final
class Objective:
    """Loss and gradients of s restarts.

    Parameters
    ----------
    gradients : ExplicitGradients
    l2_penalty : float
        ρ.
    penalised : int
        How many of the arrays of parameters the penalty counts.
    block : int
        Number of evaluations whose losses can be asked for together.

    Attributes
    ----------
    parameters, gradients : Stacked
    """

    def __init__(
        self,
        gradients: ExplicitGradients,
        l2_penalty: float,
        penalised: int,
        block: int,
    ) -> None:
        self._inner = gradients
        self.parameters, self.gradients = gradients.parameters, gradients.gradients
        self._raw = self.gradients.flat
        views = self.parameters.views
        self.n_restarts = len(views[0])
        self._penalty = l2_penalty
        flat = self.parameters.flat
        self._logits = flat.new_empty(block, *gradients.logits_shape)
        self._slots = self._logits.unbind()
        self._rows = self._logits.view(block, *gradients.loss.flat.shape).unbind()
        self._counted = views[:penalised] if l2_penalty else ()
        size = sum(view.numel() for view in self._counted)
        self._decayed = flat[:size]
        self._penalising: list[Call] = []
        self._descending: list[Call] = []
        self._recorded: list[list[Call] | None] = [None] * block
        if self._counted:
            # One product for all parameters, into an array of its own: adding the penalty in place
            # would leave it in entries that nobody sets again.
            self.gradients = self.gradients.zeros()
            factors = torch.zeros_like(flat)
            factors[:size] = l2_penalty
            self._penalising.append(
                call(torch.addcmul, self._raw, flat, factors, out=self.gradients.flat)
            )
        # Squared norms of a single restart, norms of each array of several.
        self._squares = flat.new_zeros(block)
        self._norms = flat.new_zeros(block, len(self._counted), self.n_restarts)

    def evaluate(self, slot: int) -> None:
        """Set the gradients, and note what the loss in `slot` needs."""
        repeat(self._calls(slot, self._penalising))

    def prepare_descent(self, step: float) -> None:
        """Fold a fixed step into all gradients, for :meth:`descend`."""
        self._inner.loss.scale_derivatives(-step)
        kept = torch.ones_like(self.parameters.flat)
        kept[: self._decayed.numel()] -= step * self._penalty
        flat = self.parameters.flat
        self._descending = [call(torch.addcmul, self._raw, flat, kept, out=flat)]

    def descend(self, slot: int) -> None:
        """Θ ← (1 − ηρ)Θ − η∂L, noting what the loss in `slot` needs: one pass over all numbers."""
        repeat(self._calls(slot, self._descending))

    def _calls(self, slot: int, end: list[Call]) -> list[Call]:
        """The calls of one iteration, made when a slot is used for the first time."""
        calls = self._recorded[slot]
        if calls is None:
            calls = self._inner.calls(self._slots[slot], self._rows[slot])
            self._recorded[slot] = calls = [*calls, *self._noting(slot), *end]
        return calls

    def _noting(self, slot: int) -> list[Call]:
        """Squared norms that the penalty in the loss will need."""
        if not self._counted:
            return []
        if self.n_restarts == 1:
            noted = self._squares[slot]
            return [call(torch.dot, self._decayed, self._decayed, out=noted)]
        return [
            call(torch.linalg.vector_norm, view, 2, (1, 2), out=norms)
            for view, norms in zip(self._counted, self._norms[slot].unbind(), strict=True)
        ]

    def losses(self, start: int, stop: int) -> Tensor:
        """Losses of the evaluations in slots start, …, stop − 1, shape (stop − start, s)."""
        entropy = self._inner.loss.losses(self._logits[start:stop])
        squares = self._norms[start:stop].double().square().sum(1)
        squares += self._squares[start:stop, None]
        return entropy.view(stop - start, -1) + self._penalty / 2 * squares

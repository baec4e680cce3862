r"""The training loss of s restarts: mean cross-entropy plus the penalty of section A4.3.

.. math:: L(\Theta) = -\sum_{i \in I} w_i \log Y_{i,c_i} + \frac{\rho}{2} \|\Theta^1\|_F^2

Optimisers need the gradient in every iteration, but its value only now and then: logits and norms
are noted while iterating and turned into losses block by block.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor

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
        # Views are made once: an iteration of a small network spends its time on making them.
        self._slots = self._logits.unbind()
        self._rows = self._logits.view(block, *gradients.loss.flat.shape).unbind()
        self._counted = views[:penalised] if l2_penalty else ()
        size = sum(view.numel() for view in self._counted)
        self._decayed = flat[:size]
        if self._counted:
            # One product for all parameters, into an array of its own: adding the penalty in place
            # would leave it in entries that nobody sets again.
            self.gradients = self.gradients.zeros()
            self._factors = torch.zeros_like(flat)
            self._factors[:size] = l2_penalty
        # Squared norms of a single restart, norms of each array of several.
        self._squares = flat.new_zeros(block)
        self._square_slots = self._squares.unbind()
        self._norms = flat.new_zeros(block, len(self._counted), self.n_restarts)

    def evaluate(self, slot: int) -> None:
        """Set the gradients, and note what the loss in `slot` needs."""
        self._inner.evaluate(self._slots[slot], self._rows[slot])
        if self._counted:
            self._note(slot)
            torch.addcmul(self._raw, self.parameters.flat, self._factors, out=self.gradients.flat)

    def _note(self, slot: int) -> None:
        """Squared norms that the penalty in the loss will need."""
        if self.n_restarts == 1:
            torch.dot(self._decayed, self._decayed, out=self._square_slots[slot])
        else:
            for view, norms in zip(self._counted, self._norms[slot], strict=True):
                torch.linalg.vector_norm(view, 2, (1, 2), out=norms)

    def prepare_descent(self, step: float) -> None:
        """Fold a fixed step into all gradients, for :meth:`descend`."""
        self._inner.loss.scale_derivatives(-step)
        self._kept = torch.ones_like(self.parameters.flat)
        self._kept[: len(self._decayed)] -= step * self._penalty

    def descend(self, slot: int) -> None:
        """Θ ← (1 − ηρ)Θ − η∂L, noting what the loss in `slot` needs: one pass over all numbers."""
        self._inner.evaluate(self._slots[slot], self._rows[slot])
        self._note(slot)
        flat = self.parameters.flat
        torch.addcmul(self._raw, flat, self._kept, out=flat)

    def losses(self, start: int, stop: int) -> Tensor:
        """Losses of the evaluations in slots start, …, stop − 1, shape (stop − start, s)."""
        entropy = self._inner.loss.losses(self._logits[start:stop])
        squares = self._norms[start:stop].double().square().sum(1)
        squares += self._squares[start:stop, None]
        return entropy.view(stop - start, -1) + self._penalty / 2 * squares

r"""The training loss of s restarts: mean cross-entropy plus the penalty of section A4.3.

.. math:: L(\Theta) = -\sum_{i \in I} w_i \log Y_{i,c_i} + \frac{\rho}{2} \|\Theta^1\|_F^2

Optimisers need the gradient in every iteration, but its value only now and then: logits and norms
are noted while iterating and turned into losses block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch
from torch import Tensor

from lowrankgcn.training.gradients import ExplicitGradients
from lowrankgcn.training.head import batch

__all__ = ["Objective"]


@final
class Objective:
    """Loss and gradients of s restarts.

    Parameters
    ----------
    gradients : ExplicitGradients
    l2_penalty : float
        ρ.
    penalised : sequence of int
        Which parameters the penalty counts.
    block : int
        Number of evaluations whose losses can be asked for together.

    Attributes
    ----------
    parameters, gradients : list of Tensor
        The restart is the first dimension of each.
    """

    def __init__(
        self,
        gradients: ExplicitGradients,
        l2_penalty: float,
        penalised: Sequence[int],
        block: int,
    ) -> None:
        self._inner = gradients
        self.parameters, self.gradients = gradients.parameters, gradients.gradients
        self.n_restarts = len(self.parameters[0])
        self._penalty = l2_penalty
        first = self.parameters[0]
        self._logits = first.new_empty(block, *gradients.logits_shape)
        # Views are made once: an iteration of a small network spends its time on making them.
        self._slots = self._logits.unbind()
        self._flat = self._logits.view(block, *gradients.loss.flat.shape).unbind()
        chosen = list(penalised) if l2_penalty else []
        self._norms = first.new_zeros(len(chosen), block, self.n_restarts)
        self._penalised = [
            (batch(self.parameters[i]), batch(self.gradients[i]), [batch(n) for n in norms])
            for i, norms in zip(chosen, self._norms, strict=True)
        ]

    def evaluate(self, slot: int) -> None:
        """Set the gradients, and note what the loss in `slot` needs."""
        self._inner.evaluate(self._slots[slot], self._flat[slot])
        for parameter, gradient, norms in self._penalised:
            gradient.add_(parameter, alpha=self._penalty)
            torch.linalg.vector_norm(parameter, 2, (-2, -1), out=norms[slot])

    def losses(self, start: int, stop: int) -> Tensor:
        """Losses of the evaluations in slots start, …, stop − 1, shape (stop − start, s)."""
        entropy = self._inner.loss.losses(self._logits[start:stop])
        squares = self._norms[:, start:stop].double().square().sum(0)
        return entropy.view(stop - start, -1) + self._penalty / 2 * squares

r"""The training loss of s restarts: mean cross-entropy plus the penalty of section A4.3.

.. math:: L(\Theta) = -\sum_{i \in I} w_i \sum_c T_{ic} \log Y_{ic}
          + \frac{\rho}{2} \|\Theta^1\|_F^2

Optimisers need the gradient in every iteration but the value only now and then: logits and norms
are stored while iterating, and losses computed for a block of iterations at once.
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
    explicit : ExplicitGradients
    l2_penalty : float
        ρ.
    n_penalised : int
        Number of layers whose weights the penalty counts.
    block : int
        Number of evaluations whose losses can be computed together.

    Attributes
    ----------
    parameters, gradients : Stacked
        The gradients include the penalty.
    """

    def __init__(
        self, explicit: ExplicitGradients, l2_penalty: float, n_penalised: int, block: int
    ) -> None:
        self._explicit, self._penalty = explicit, l2_penalty
        self.parameters, self.gradients = explicit.parameters, explicit.gradients.zeros()
        flat = self.parameters.flat
        self._logits = flat.new_empty(block, *explicit.logits_shape)
        self._slots = [(logits, explicit.batched(logits)) for logits in self._logits]
        self._penalised = self.parameters.views[:n_penalised]
        size = sum(view.numel() for view in self._penalised)
        self._decayed, self._factors = flat[:size], torch.zeros_like(flat)
        self._factors[:size] = l2_penalty
        self._raw, self._n_restarts = explicit.gradients.flat, len(self._penalised[0])
        self._squares: list[Tensor] = [flat] * block

    def evaluate(self, slot: int) -> None:
        """Set the gradients, and store in `slot` what the loss needs."""
        self._explicit.evaluate(*self._slots[slot])
        torch.addcmul(self._raw, self.parameters.flat, self._factors, out=self.gradients.flat)
        if self._n_restarts == 1:
            self._squares[slot] = torch.dot(self._decayed, self._decayed)
        else:
            norms = [torch.linalg.vector_norm(view, 2, (1, 2)) for view in self._penalised]
            self._squares[slot] = torch.stack(norms).square_().sum(0)

    def losses(self, count: int) -> Tensor:
        """Compute the losses in slots 0, …, count − 1, shape (count, s), in float64."""
        problem = self._explicit.problem
        Z = self._logits[:count].double().view(count, self._n_restarts, problem.widths[-1], -1)
        log_Y = Z - torch.logsumexp(Z, 2, keepdim=True)
        entropy = -(problem.targets.T.double() * log_Y).sum(2)  # (count, s, p)
        means = (entropy * problem.sample_weight.double()).sum(2)
        squares = torch.stack(self._squares[:count]).double().view(means.shape)
        return means + self._penalty / 2 * squares

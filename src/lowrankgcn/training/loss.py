r"""The training loss of s restarts: mean cross-entropy plus the penalty of section A4.3.

.. math:: L(\Theta) = -\sum_{i \in I} w_i \sum_c T_{ic} \log Y_{ic}
          + \frac{\rho}{2} \|\Theta^1\|_F^2

Gradient descent and Adam do not need the value of the loss. Logits and norms are stored while
iterating, and the losses of many iterations are computed at once.
"""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor

from lowrankgcn._parallel import chunks
from lowrankgcn.training.gradients import ExplicitGradients

__all__ = ["Objective"]

# Logits of which losses are computed at once. In float64 these fit the cache: 100 restarts take a
# fifth of the time of all iterations together.
_CACHED_LOGITS = 2**15


@final
class Objective:
    """Loss and gradients of s restarts.

    Parameters
    ----------
    explicit : ExplicitGradients
    l2_penalty : float
        ρ.
    n_penalised : int
        Number of leading parameters of each restart that the penalty counts.

    Attributes
    ----------
    parameters : (s, P) Tensor
        To be changed in place.
    """

    def __init__(self, explicit: ExplicitGradients, l2_penalty: float, n_penalised: int) -> None:
        self._explicit, self._penalty = explicit, l2_penalty
        self.parameters = explicit.parameters
        self._penalised = self.parameters[:, :n_penalised]
        self._factors = torch.zeros_like(self.parameters[0])
        self._factors[:n_penalised] = l2_penalty
        self._evaluations: list[tuple[Tensor, Tensor]] = []  # logits and norms

    def gradient(self) -> Tensor:
        """Compute the gradient with the penalty, shape (s, P)."""
        logits = self._explicit.evaluate()
        norms = torch.linalg.vector_norm(self._penalised, dim=1)
        self._evaluations.append((logits, norms))
        return torch.addcmul(self._explicit.gradients, self.parameters, self._factors)

    def losses(self) -> Tensor:
        """Compute the losses of all evaluations since the last call, shape (count, s), float64."""
        problem = self._explicit.problem
        targets, weights = problem.targets.T.double(), problem.sample_weight.double()
        size = max(1, _CACHED_LOGITS // self._evaluations[0][0].numel())
        losses = []
        for start, stop in chunks(len(self._evaluations), size):
            evaluations = zip(*self._evaluations[start:stop], strict=True)
            logits, norms = (torch.stack(part).double() for part in evaluations)
            log_Y = torch.log_softmax(logits, 2)  # (count, s, C, p)
            entropy = -(targets * log_Y).sum(2)  # (count, s, p)
            losses.append((entropy * weights).sum(2) + self._penalty / 2 * norms.square())
        self._evaluations.clear()
        return torch.cat(losses)

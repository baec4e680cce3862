"""Activations with derivatives that follow from their values, for explicit gradients.

With H = σ(Z) the derivative σ'(Z) is a function of H alone, so one array per layer suffices:

>>> import torch
>>> H = torch.tensor([0.0, 2.0])  # relu of two numbers
>>> E = torch.tensor([5.0, 5.0])
>>> forward, backward = ACTIVATIONS["relu"]
>>> backward(E, H)
tensor([0., 5.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["ACTIVATIONS"]

# These operations need one pass over both arrays and no temporary array.
_ops: Any = torch.ops.aten


#: The named activations of the networks, see :data:`lowrankgcn.nn.ACTIVATIONS`, as two functions:
#: Z ↦ σ(Z), overwriting Z, and (E, H) ↦ E ∘ σ'(Z) with H = σ(Z), overwriting E.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
    "relu": (torch.relu_, lambda E, H: _ops.threshold_backward.grad_input(E, H, 0, grad_input=E)),
    "leaky-relu": (
        functional.leaky_relu_,
        lambda E, H: _ops.leaky_relu_backward.grad_input(E, H, 0.01, True, grad_input=E),
    ),
    # σ' = 1 + min(H, 0): e^Z below zero, 1 above.
    "elu": (functional.elu_, lambda E, H: E.addcmul_(E, H.clamp_max(0.0))),
    # σ' = 1 − H².
    "tanh": (torch.tanh_, lambda E, H: E.addcmul_(E * H, H, value=-1)),
    # σ' = H (1 − H).
    "sigmoid": (torch.sigmoid_, lambda E, H: E.mul_(H).addcmul_(E, H, value=-1)),
    # σ' = 1 − e^(−H), the logistic function of Z.
    "softplus": (
        lambda Z: Z.copy_(functional.softplus(Z)),
        lambda E, H: E.mul_(torch.expm1(-H).neg_()),
    ),
    "identity": (lambda Z: Z, lambda E, H: E),
}

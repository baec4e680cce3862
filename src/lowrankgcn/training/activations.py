"""Activations whose derivative follows from their value: what explicit gradients need.

With H = σ(Z) at hand the derivative σ'(Z) is a function of H alone, so that one array per layer
suffices and Z is never kept:

>>> import torch
>>> H = torch.tensor([0.0, 2.0])  # relu of two numbers
>>> E = torch.tensor([5.0, 5.0])
>>> ACTIVATIONS["relu"].backward(E, H)
>>> E
tensor([0., 5.])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

__all__ = ["ACTIVATIONS", "Activation"]

# One pass over both arrays; a comparison and a product would be two, and a temporary.
_threshold_backward: Any = torch.ops.aten.threshold_backward.grad_input
_leaky_backward: Any = torch.ops.aten.leaky_relu_backward.grad_input
_tanh_backward: Any = torch.ops.aten.tanh_backward.grad_input
_sigmoid_backward: Any = torch.ops.aten.sigmoid_backward.grad_input

_LEAK = 0.01  # slope of torch's leaky relu for negative numbers


@final
@dataclass(frozen=True, eq=False)
class Activation:
    """A scalar function σ and its derivative in terms of its value, both in place.

    Attributes
    ----------
    forward : callable
        Z ↦ σ(Z), overwriting Z.
    backward : callable
        (E, H) ↦ E ∘ σ'(Z) with H = σ(Z), overwriting E.
    """

    forward: Callable[[Tensor], object]
    backward: Callable[[Tensor, Tensor], object]


def _nothing(*_: Tensor) -> None:
    """The identity, and its derivative."""


def _relu_backward(E: Tensor, H: Tensor) -> None:
    _threshold_backward(E, H, 0, grad_input=E)


def _leaky_relu_backward(E: Tensor, H: Tensor) -> None:
    _leaky_backward(E, H, _LEAK, True, grad_input=E)


def _elu_backward(E: Tensor, H: Tensor) -> None:
    E.addcmul_(E, H.clamp_max(0.0))  # 1 + min(H, 0): e^Z below zero, 1 above


def _tanh_backward_(E: Tensor, H: Tensor) -> None:
    _tanh_backward(E, H, grad_input=E)


def _sigmoid_backward_(E: Tensor, H: Tensor) -> None:
    _sigmoid_backward(E, H, grad_input=E)


def _softplus(Z: Tensor) -> None:
    Z.copy_(torch.nn.functional.softplus(Z))


def _softplus_backward(E: Tensor, H: Tensor) -> None:
    E.mul_(torch.expm1(-H).neg_())  # 1 − e^(−H) is the logistic function of Z


def _leaky_relu(Z: Tensor) -> None:
    torch.nn.functional.leaky_relu_(Z, _LEAK)


#: Those of the networks' named activations.
ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(torch.relu_, _relu_backward),
    "leaky-relu": Activation(_leaky_relu, _leaky_relu_backward),
    "elu": Activation(torch.nn.functional.elu_, _elu_backward),
    "tanh": Activation(torch.tanh_, _tanh_backward_),
    "sigmoid": Activation(torch.sigmoid_, _sigmoid_backward_),
    "softplus": Activation(_softplus, _softplus_backward),
    "identity": Activation(_nothing, _nothing),
}

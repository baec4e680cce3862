"""Activations σ of hidden layers: a name, a module, or any differentiable function.

>>> import torch
>>> as_activation("relu")(torch.tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
>>> as_activation(torch.sin)
_Function(sin)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from torch import Tensor, nn

from lowrankgcn._validation import choice, invalid

__all__ = ["ACTIVATIONS", "Activation", "as_activation"]

Activation = str | nn.Module | Callable[[Tensor], Tensor]

#: Named activations.
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "leaky-relu": nn.LeakyReLU,
    "elu": nn.ELU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "softplus": nn.Softplus,
    "identity": nn.Identity,
}


@final
class _Function(nn.Module):
    """A plain function as an activation."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, X: Tensor) -> Tensor:
        return self.function(X)

    def extra_repr(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


def as_activation(activation: Any) -> nn.Module:
    """Convert a name of :data:`ACTIVATIONS`, a module or a function to a module."""
    if isinstance(activation, str):
        return ACTIVATIONS[choice(activation, "activation", ACTIVATIONS)]()
    if isinstance(activation, nn.Module):
        return activation
    if not callable(activation) or isinstance(activation, type):
        names = ", ".join(map(repr, ACTIVATIONS))
        raise invalid("activation", f"one of {names}, a Module or a function", repr(activation))
    return _Function(activation)

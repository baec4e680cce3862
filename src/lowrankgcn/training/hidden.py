"""Hidden layers with explicit derivatives: activation, dropout, and convolutions between them.

Activations of s restarts lie side by side with features first, shape (s·N, m), so that a product
with a kernel serves all restarts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn.training.activations import Activation
from lowrankgcn.training.calls import Call, call, repeat
from lowrankgcn.training.nodes import Nodes, SpectralLayer

__all__ = ["Dropout", "Hidden", "MiddleLayer", "SpectralHidden"]

Propagate = Callable[[Tensor], Tensor]


@final
@dataclass(frozen=True, eq=False)
class Dropout:
    """Entries kept with probability 1 − p and divided by it; each restart has its own generator."""

    probability: float
    generators: Sequence[torch.Generator]
    mask: Tensor  # (s·N, m)

    def draw(self) -> None:
        """The next mask. Node by node, so that it does not depend on how arrays are laid out."""
        kept = 1.0 - self.probability
        parts = self.mask.chunk(len(self.generators))
        for part, generator in zip(parts, self.generators, strict=True):
            drawn = torch.rand(part.shape[::-1], generator=generator, device=generator.device)
            part.copy_((drawn < kept).T)
        self.mask.mul_(1.0 / kept)


@final
@dataclass(frozen=True, eq=False)
class Hidden:
    """The output σ(Z + b) of a hidden layer, in place of Z, and what dropout leaves of it."""

    active: Tensor  # (s·N, m)
    output: Tensor  # the same array without dropout
    activation: Activation
    bias: Tensor | None = None  # (s·N, 1)
    bias_gradient: Tensor | None = None  # (s·N,)
    dropout: Dropout | None = None
    first: bool = True  # whether the gradient of the bias begins with these nodes

    def activating(self) -> list[Call]:
        """Overwrite Z by σ(Z + b), then drop."""
        calls: list[Call] = [call(self.activation.forward, self.active)]
        if self.bias is not None:
            calls.insert(0, call(self.active.add_, self.bias))
        if self.dropout is not None:
            mask = self.dropout.mask
            calls += [self.dropout.draw, call(torch.mul, self.active, mask, out=self.output)]
        return calls

    def differentiating(self, error: Tensor) -> list[Call]:
        """Turn the error of the output into the error of Z, in place; set the bias's gradient."""
        calls: list[Call] = [call(self.activation.backward, error, self.active)]
        if self.dropout is not None:
            calls.insert(0, call(error.mul_, self.dropout.mask))
        if self.bias_gradient is not None and self.first:
            calls.append(call(torch.sum, error, 1, out=self.bias_gradient))
        elif self.bias_gradient is not None:
            calls.append(call(_add_sum, error, self.bias_gradient))
        return calls

    def part(self, start: int, stop: int) -> Hidden:
        """The nodes start, …, stop − 1."""
        if self.dropout is not None:  # its masks are drawn for all nodes at once
            return self
        view = self.active[:, start:stop]
        return replace(self, active=view, output=view, first=start == 0)


def _add_sum(error: Tensor, total: Tensor) -> None:
    total.add_(error.sum(1))


@final
@dataclass(frozen=True, eq=False)
class SpectralHidden:
    """A hidden layer of nodes elsewhere, Uᵀσ(U A + b) in place of A: rows are eigenvectors."""

    nodes: Nodes
    activation: str
    output: Tensor  # (s·N, r)
    bias: Tensor | None = None  # (s·N, 1)
    bias_gradient: Tensor | None = None  # (s·N,)

    @cached_property
    def _inside(self) -> Tensor:
        """A, transposed: what derivatives are taken at."""
        return torch.empty_like(self.output)

    @property
    def active(self) -> Tensor:
        """Where A is expected."""
        return self.output

    def activating(self) -> list[Call]:
        """Overwrite A by the sums."""
        return [self._activate]

    def differentiating(self, error: Tensor) -> list[Call]:
        """Turn the error of the sums into the error of A, in place; set the bias's gradient."""
        return [call(self._differentiate, error)]

    def part(self, start: int, stop: int) -> SpectralHidden:
        """All of it: there is one part."""
        return self

    def _activate(self) -> None:
        self._inside.copy_(self.output)
        self.output.copy_(torch.from_numpy(self.nodes.sums(self._layer()).T))

    def _differentiate(self, error: Tensor) -> None:
        total = torch.from_numpy(self.nodes.gradients(self._layer(), _by_row(error)))
        error.copy_(total[:-1].T)
        if self.bias_gradient is not None:
            self.bias_gradient.copy_(total[-1])

    def _layer(self) -> SpectralLayer:
        bias = None if self.bias is None else self.bias.flatten().cpu().numpy().copy()
        return SpectralLayer(_by_row(self._inside), bias, self.activation)


def _by_row(x: Tensor) -> NDArray[Any]:
    """The transposed matrix, in an array of its own."""
    return np.ascontiguousarray(x.T.cpu().numpy())


@final
@dataclass(frozen=True, eq=False)
class MiddleLayer:
    r"""A convolution :math:`H = \sigma(\sum_k \mathcal{K}^{(k)} H' \Theta^{(k)} + b)` on all nodes.

    Kernels meet N_out columns, forth (on H' Θ) and back (on the error), and nothing but H is kept:
    :math:`\partial\Theta^{(k)} = H'^T \mathcal{K}^{(k)} E`.
    """

    propagations: Sequence[Propagate]
    before: Hidden | SpectralHidden
    after: Hidden | SpectralHidden
    weight: Tensor  # (s, N_out, K·N_in)
    gradient: Tensor

    def forward(self) -> None:
        """Set the output of `after`."""
        source, Z = self._source(), self.after.active
        for k, weight in enumerate(self._by_kernel(self.weight)):
            product = self.propagations[k](torch.bmm(weight, source).flatten(0, 1).T).T
            Z.copy_(product) if k == 0 else Z.add_(product)
        repeat(self.after.activating())

    def backward(self, error: Tensor) -> Tensor:
        """Set the gradients and return the error of the input; overwrites `error`."""
        repeat(self.after.differentiating(error))
        source = self._source()
        result = torch.zeros_like(source, memory_format=torch.contiguous_format)
        pairs = zip(self._by_kernel(self.weight), self._by_kernel(self.gradient), strict=True)
        for k, (weight, gradient) in enumerate(pairs):
            spread = self.propagations[k](error.T).T.reshape(len(weight), -1, error.shape[1])
            gradient.copy_(torch.bmm(spread, source.mT))
            result.baddbmm_(weight.mT, spread)
        return result.flatten(0, 1)

    def _source(self) -> Tensor:
        return self.before.output.view(len(self.weight), -1, self.before.output.shape[1])

    def _by_kernel(self, x: Tensor) -> tuple[Tensor, ...]:
        return x.chunk(len(self.propagations), dim=2)

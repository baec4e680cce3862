r"""Explicit loss gradients of GCNs and reduced-order GCNs, for many restarts at once.

With :math:`F B^T = [\mathcal{K}^{(1)} X \dots \mathcal{K}^{(K)} X]` computed once, one iteration of
a network with one hidden layer (section A4.3) is

.. math:: H = \sigma(F B^T \Theta^1), \quad Z = R H \Theta^2, \quad
          G = w \circ (\mathrm{softmax}(Z) - T), \\
          \partial\Theta^2 = (R H)^T G, \quad
          \partial\Theta^1 = B F^T \big(R^T G \Theta^{2T} \circ \sigma'\big)

where R holds the labelled rows of the kernel. All arrays are stored transposed, (s·N, m) for s
restarts of N features on m nodes: products with F and R are single matrix products for all
restarts, and BLAS is fastest where the long dimension is contiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn.training.activations import ACTIVATIONS
from lowrankgcn.training.nodes import SpectralLayer
from lowrankgcn.training.problem import MatrixReadout, OperatorReadout, TrainingProblem

__all__ = ["ExplicitGradients", "Stacked"]


@final
@dataclass(frozen=True, eq=False)
class Stacked:
    """The parameters of s restarts, or arrays of their shapes, in one piece of memory.

    Attributes
    ----------
    flat : (P,) Tensor
        All numbers, one array after the other.
    views : tuple of Tensor
        The arrays; the first dimension of each is the restart.
    """

    flat: Tensor
    views: tuple[Tensor, ...]

    @staticmethod
    def from_tensors(tensors: Sequence[Tensor]) -> Stacked:
        """Copy arrays into one piece of memory.

        Examples
        --------
        >>> stacked = Stacked.from_tensors([torch.ones(1, 2, 2), torch.zeros(1, 3)])
        >>> stacked.flat.add_(1.0)
        tensor([2., 2., 2., 2., 1., 1., 1.])
        >>> stacked.views[1]
        tensor([[1., 1., 1.]])
        """
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        parts = torch.split(flat, [tensor.numel() for tensor in tensors])
        pairs = zip(parts, tensors, strict=True)
        return Stacked(flat, tuple(part.view(tensor.shape) for part, tensor in pairs))

    def zeros(self) -> Stacked:
        """Return zeros of the same shapes."""
        return Stacked.from_tensors([torch.zeros_like(view) for view in self.views])

    def select(self, restarts: Tensor) -> Stacked:
        """Return copies of the arrays of some restarts."""
        return Stacked.from_tensors([view[restarts] for view in self.views])


@final
class ExplicitGradients:
    """Logits and loss gradients of s networks with the same problem and different weights.

    Parameters
    ----------
    problem : TrainingProblem
    weights : sequence of (s, N_l, K·N_{l-1}) Tensor
        Transposed weights of each layer. With `rotated` the first one is in the coordinates of
        ``problem.basis``, shape (s, N_1, q + 1), see :class:`lowrankgcn.training.Coordinates`.
    biases : sequence of (s, N_l) Tensor
        Empty for a network without biases.
    rotated : bool
        Whether the first layer's weights are in the coordinates of the basis.
    generators : sequence of torch.Generator
        One for each restart, for dropout.

    Attributes
    ----------
    parameters : Stacked
        Copies of weights and biases, to be changed in place.
    gradients : Stacked
        Gradients of the mean cross-entropy, set by :meth:`evaluate`.
    logits_shape : tuple of int
        (s·C, p) for p labelled rows.

    Notes
    -----
    With one hidden layer an iteration costs O(m s N₁ (q + p)) for features of q and a readout of p
    columns: q + p ≤ 2r for an L-GCN, m = r for an R-GCN. Memory is O(m s Σ N_l).

    Examples
    --------
    Logistic regression at Θ = 0, where both classes have probability one half:

    >>> from lowrankgcn.training import MatrixReadout
    >>> problem = TrainingProblem(
    ...     widths=(1, 2), features=torch.tensor([[1.0], [2.0]]), readout=MatrixReadout(),
    ...     targets=torch.eye(2), sample_weight=torch.full((2,), 0.5))
    >>> explicit = ExplicitGradients(problem, [torch.zeros(1, 2, 1)])
    >>> logits = torch.empty(explicit.logits_shape)
    >>> explicit.evaluate(logits, explicit.batched(logits))
    >>> explicit.gradients.flat
    tensor([ 0.2500, -0.2500])
    """

    def __init__(
        self,
        problem: TrainingProblem,
        weights: Sequence[Tensor],
        biases: Sequence[Tensor] = (),
        *,
        rotated: bool = False,
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        self.problem, self._depth, self._s = problem, len(weights), len(weights[0])
        self.parameters = Stacked.from_tensors([*weights, *biases])
        self.gradients = self.parameters.zeros()
        s, C, p = self._s, problem.widths[-1], len(problem.targets)
        self.logits_shape = (s * C, p)
        # Small networks spend most of their time on starting operations. Views are therefore made
        # once, and a single restart uses products of matrices instead of batches.
        self._product = torch.mm if s == 1 else torch.bmm
        self._error = self.parameters.flat.new_empty(s * C, p)
        self._error_batch = self.batched(self._error)
        by_class = problem.sample_weight.unsqueeze(-2)  # (1, p) or (s, 1, p)
        self._row_weights = by_class.repeat_interleave(C, dim=-2).contiguous()
        self._offset = (-problem.targets.T * by_class).contiguous()
        self._bias, self._bias_gradient = self._biases(self._depth - 1)
        self._prepare_first_layer(rotated)
        if self._depth > 1:
            self._prepare_other_layers(generators)

    def batched(self, array: Tensor) -> Tensor:
        """View an array (s·N, p) as (s, N, p), or leave it as it is for a single restart."""
        return array if self._s == 1 else array.view(self._s, -1, array.shape[1])

    def evaluate(self, logits: Tensor, batch: Tensor) -> None:
        """Write the logits of the labelled rows and set the gradients.

        Parameters
        ----------
        logits, batch : (s·C, p) and (s, C, p) Tensor
            The array to write to and its view by :meth:`batched`.
        """
        mixed = self._mixed if self._basis is None else self._first @ self._basis
        if self._depth == 1:
            torch.mm(mixed, self._features_t, out=logits)
            error = self._loss_error(logits, batch)
        else:
            torch.mm(mixed, self._features_t, out=self._hidden[0].active)
            self._hidden[0].forward()
            for layer in range(1, self._depth - 1):
                self._forward(layer)
            error = self._unread(self._last_layer(self._read(), logits, batch))
            for layer in range(self._depth - 2, 0, -1):
                error = self._backward(layer, error)
            self._hidden[0].backward(error)
        if self._basis is None:
            torch.mm(error, self._features, out=self._mixed_gradient)
        else:
            torch.mm(error @ self._features, self._basis.T, out=self._first_gradient)

    def _prepare_first_layer(self, rotated: bool) -> None:
        self._features, self._features_t = self.problem.features, self.problem.features.T
        self._basis = None if rotated else self.problem.basis
        self._first = self.parameters.views[0].flatten(0, 1)
        self._first_gradient = self.gradients.views[0].flatten(0, 1)
        # A coordinate beyond the basis meets no feature: its gradient stays zero.
        q = len(self._features_t)
        self._mixed, self._mixed_gradient = self._first[:, :q], self._first_gradient[:, :q]

    def _prepare_other_layers(self, generators: Sequence[torch.Generator]) -> None:
        problem, s, m = self.problem, self._s, len(self._features)
        new = self.parameters.flat.new_empty
        self._hidden: list[_Hidden | _SpectralHidden] = []
        for layer, width in enumerate(problem.widths[1:-1]):
            active, biases = new(s * width, m), self._biases(layer)
            if problem.nodes is None:
                self._hidden.append(_Hidden(problem, active, *biases, generators))
            else:
                self._hidden.append(_SpectralHidden(problem, active, *biases))
        weight, gradient = (
            stack.views[self._depth - 1] for stack in (self.parameters, self.gradients)
        )
        self._weight, self._gradient = (weight, gradient) if s > 1 else (weight[0], gradient[0])
        self._weight_t = self._weight.mT
        readout = problem.readout
        self._operator = readout if isinstance(readout, OperatorReadout) else None
        matrices = readout if isinstance(readout, MatrixReadout) else MatrixReadout()
        self._tall, self._project = matrices.tall, matrices.project
        self._responses = None if matrices.responses is None else matrices.responses[:, None, :]
        if self._project is not None:
            self._project_t = self._project.T
            self._inner = new(s * problem.widths[-1], len(self._project_t))
            self._inner_batch = self.batched(self._inner)
        if self._tall is not None:
            self._tall_t = self._tall.T
            self._last_error = torch.empty_like(self._hidden[-1].active)

    def _biases(self, layer: int) -> tuple[Tensor | None, Tensor | None]:
        """Bias (s·N, 1) of a layer and its gradient (s·N,)."""
        if len(self.parameters.views) == self._depth:
            return None, None
        place = self._depth + layer
        return self.parameters.views[place].view(-1, 1), self.gradients.views[place].view(-1)

    def _loss_error(self, logits: Tensor, batch: Tensor) -> Tensor:
        """Add the last bias; return the error w ∘ (softmax(Z) − T), shape (s·C, p)."""
        if self._bias is not None:
            logits.add_(self._bias)
        torch.softmax(batch, -2, out=self._error_batch)
        torch.addcmul(self._offset, self._error_batch, self._row_weights, out=self._error_batch)
        if self._bias_gradient is not None:
            torch.sum(self._error, 1, out=self._bias_gradient)
        return self._error

    def _last_layer(self, read: Tensor, logits: Tensor, batch: Tensor) -> Tensor:
        """Write the logits, set the gradient and return the error of `read`."""
        inputs = self._by_kernel(read)
        if self._project is None:
            self._product(self._weight, inputs, out=batch)
            self._loss_error(logits, batch)
            error = self._error_batch
        else:
            self._product(self._weight, inputs, out=self._inner_batch)
            torch.mm(self._inner, self._project_t, out=logits)
            torch.mm(self._loss_error(logits, batch), self._project, out=self._inner)
            error = self._inner_batch
        self._product(error, inputs.mT, out=self._gradient)
        return self._sum_kernels(self._product(self._weight_t, error))

    def _read(self) -> Tensor:
        """Labelled rows of the kernels times the last hidden layer, shape (s·N, p)."""
        output = self._hidden[-1].output
        if self._operator is not None:
            return self._operator.product(output.T).T.contiguous()
        return output if self._tall is None else output @ self._tall

    def _unread(self, error: Tensor) -> Tensor:
        """Error of the last hidden layer, shape (s·N, m), from the error of what was read."""
        if self._operator is not None:
            return self._operator.adjoint(error.T).T.contiguous()
        if self._tall is None:
            return error
        return torch.mm(error, self._tall_t, out=self._last_error)

    def _by_kernel(self, read: Tensor) -> Tensor:
        """Inputs of the last layer's weights, shape (s, K·N, p); without s for a single restart."""
        s, K, N = self._s, self.problem.n_kernels, self.problem.widths[-2]
        if K == 1:
            return self.batched(read)
        if self._responses is None:
            inputs = read.reshape(s, N, K, -1).transpose(1, 2)
        else:
            inputs = read.reshape(s, 1, N, -1) * self._responses
        return inputs.reshape(*self._weight.shape[:-2], K * N, -1)

    def _sum_kernels(self, error: Tensor) -> Tensor:
        """Adjoint of :meth:`_by_kernel`."""
        s, K, N = self._s, self.problem.n_kernels, self.problem.widths[-2]
        if K == 1:
            return error if s == 1 else error.view(s * N, -1)
        parts = error.view(s, K, N, -1)
        if self._responses is None:
            return parts.transpose(1, 2).reshape(s * N, -1)
        return (parts * self._responses).sum(1).view(s * N, -1)

    def _forward(self, layer: int) -> None:
        r"""Compute :math:`H = \sigma(\sum_k \mathcal{K}^{(k)} H' \Theta^{(k)} + b)`."""
        source = self._hidden[layer - 1].output.view(self._s, -1, len(self._features))
        active = self._hidden[layer].active.zero_()
        weights = self.parameters.views[layer].chunk(self.problem.n_kernels, dim=2)
        for propagate, weight in zip(self.problem.propagations, weights, strict=True):
            active += propagate(torch.bmm(weight, source).flatten(0, 1).T).T
        self._hidden[layer].forward()

    def _backward(self, layer: int, error: Tensor) -> Tensor:
        r"""Set :math:`\partial\Theta^{(k)} = H'^T \mathcal{K}^{(k)} E`; return the error of H'."""
        self._hidden[layer].backward(error)
        source = self._hidden[layer - 1].output.view(self._s, -1, error.shape[1])
        result = torch.zeros_like(source)
        weights, gradients = (
            stack.views[layer].chunk(self.problem.n_kernels, dim=2)
            for stack in (self.parameters, self.gradients)
        )
        for k, propagate in enumerate(self.problem.propagations):
            spread = propagate(error.T).T.reshape(self._s, -1, error.shape[1])
            gradients[k].copy_(torch.bmm(spread, source.mT))
            result.baddbmm_(weights[k].mT, spread)
        return result.flatten(0, 1)


@final
class _Hidden:
    """A hidden layer σ(Z + b), stored in place of Z, with dropout."""

    def __init__(
        self,
        problem: TrainingProblem,
        active: Tensor,
        bias: Tensor | None,
        bias_gradient: Tensor | None,
        generators: Sequence[torch.Generator],
    ) -> None:
        self.active = self.output = active  # (s·N, m)
        self._activation = ACTIVATIONS[problem.activation]
        self._bias, self._bias_gradient = bias, bias_gradient
        self._kept, self._generators = 1.0 - problem.dropout, generators
        self._mask: Tensor | None = None
        if problem.dropout:
            self._mask, self.output = torch.empty_like(active), torch.empty_like(active)

    def forward(self) -> None:
        """Overwrite Z by σ(Z + b) and set the output."""
        if self._bias is not None:
            self.active.add_(self._bias)
        self._activation.forward(self.active)
        if self._mask is not None:
            self._draw(self._mask)
            torch.mul(self.active, self._mask, out=self.output)

    def backward(self, error: Tensor) -> None:
        """Turn the error of the output into the error of Z; set the bias's gradient."""
        if self._mask is not None:
            error.mul_(self._mask)
        self._activation.backward(error, self.active)
        if self._bias_gradient is not None:
            torch.sum(error, 1, out=self._bias_gradient)

    def _draw(self, mask: Tensor) -> None:
        """Keep entries with probability 1 − p and divide them by it."""
        parts = mask.chunk(len(self._generators))
        for part, generator in zip(parts, self._generators, strict=True):
            drawn = torch.rand(part.shape[::-1], generator=generator, device=generator.device)
            part.copy_((drawn < self._kept).T)
        mask.mul_(1.0 / self._kept)


@final
class _SpectralHidden:
    """A hidden layer Uᵀσ(U A + b) of nodes stored elsewhere, in place of A (s·N, r)."""

    def __init__(
        self,
        problem: TrainingProblem,
        active: Tensor,
        bias: Tensor | None,
        bias_gradient: Tensor | None,
    ) -> None:
        assert problem.nodes is not None
        self.active = self.output = active
        self._nodes, self._activation = problem.nodes, problem.activation
        self._bias, self._bias_gradient = bias, bias_gradient
        self._layer: SpectralLayer

    def forward(self) -> None:
        """Overwrite A by the sums over all nodes."""
        bias = None if self._bias is None else self._bias.flatten().cpu().numpy().copy()
        self._layer = SpectralLayer(_transposed_copy(self.active), bias, self._activation)
        self.active.copy_(torch.from_numpy(self._nodes.sums(self._layer).T))

    def backward(self, error: Tensor) -> None:
        """Turn the error of the sums into the error of A; set the bias's gradient."""
        total = torch.from_numpy(self._nodes.gradients(self._layer, _transposed_copy(error)))
        error.copy_(total[:-1].T)
        if self._bias_gradient is not None:
            self._bias_gradient.copy_(total[-1])


def _transposed_copy(x: Tensor) -> NDArray[Any]:
    return x.T.cpu().numpy().copy(order="C")

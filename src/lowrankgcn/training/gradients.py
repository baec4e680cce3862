r"""Loss gradients of low-rank GCNs, written out: no autograd, many restarts at once.

With :math:`F B = [\mathcal{K}^{(1)} X \dots \mathcal{K}^{(K)} X]` computed once, one iteration of a
network with one hidden layer (section A4.3) is

.. math:: H = \sigma(F B \Theta^1), \quad Z = R H \Theta^2, \quad
          G = w \circ (\mathrm{softmax}(Z) - T), \\
          \partial\Theta^2 = (R H)^T G, \quad
          \partial\Theta^1 = B^T F^T \big(R^T G \Theta^{2T} \circ \sigma'\big)

where R holds the labelled rows of the kernel. The restarts lie side by side in H, so that the two
products with F and the two with R are single matrix products for all of them, taken over chunks of
nodes that stay in the cache. Of nodes that are elsewhere (:mod:`lowrankgcn.training.nodes`) the
rows of all arrays are eigenvectors, and a sum over the nodes takes the place of σ and of σ'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, final

import torch
from torch import Tensor

from lowrankgcn._parallel import chunks
from lowrankgcn.training.activations import ACTIVATIONS
from lowrankgcn.training.calls import Call, call, repeat
from lowrankgcn.training.head import CrossEntropy, Head
from lowrankgcn.training.hidden import Dropout, Hidden, MiddleLayer, SpectralHidden
from lowrankgcn.training.problem import OperatorReadout, TrainingProblem
from lowrankgcn.training.stacked import Stacked

__all__ = ["ExplicitGradients"]

# Bytes of hidden activations handled at once: half of a common second-level cache.
_CHUNK_BYTES = 2**18
_SMALLEST_CHUNK = 256
# Below this number of columns BLAS is several times faster with nodes contiguous.
_NARROW = 12


class _Chunk(NamedTuple):
    """The nodes that one step through the first layer handles."""

    hidden: Hidden | SpectralHidden  # (s·N₁, c)
    features: Tensor  # (q, c), part of Fᵀ
    features_t: Tensor
    tall: Tensor  # (c, p), part of the readout; empty where it is read as a whole
    tall_t: Tensor
    error: Tensor  # (s·N₁, c), workspace


@final
class ExplicitGradients:
    """Loss gradients of s networks for the same problem with different weights.

    Parameters
    ----------
    problem : TrainingProblem
    weights : sequence of (s, N_l, K·N_{l-1}) Tensor
        Transposed weights of each layer. With ``rotated`` the first one is in the coordinates of
        ``problem.basis``, shape (s, N_1, q + 1), see :class:`lowrankgcn.training.Coordinates`.
    biases : sequence of (s, N_l) Tensor
        Empty for a network without biases.
    rotated : bool
        Whether the first layer's weights are in the coordinates of the basis.
    generators : sequence of torch.Generator
        One for each restart; drawn from by dropout only.

    Attributes
    ----------
    parameters, gradients : Stacked
        Weights, then biases, to be changed in place; the gradients of the mean cross-entropy.
    loss : CrossEntropy
    logits_shape : tuple of int
        (s, C, labelled rows), without s for a single restart.

    Notes
    -----
    With one hidden layer an iteration costs O(m s N₁ (q + p)) for features of q and a readout of p
    columns: q + p ≤ 2r for an L-GCN, m = r for an R-GCN. Memory is O(m s Σ N_l).

    Examples
    --------
    Logistic regression at Θ = 0, where both classes have probability one half:

    >>> import torch
    >>> from lowrankgcn.training import MatrixReadout
    >>> problem = TrainingProblem(
    ...     widths=(1, 2), features=torch.tensor([[1.0], [2.0]]), readout=MatrixReadout(),
    ...     targets=torch.eye(2), sample_weight=torch.full((2,), 0.5))
    >>> explicit = ExplicitGradients(problem, [torch.zeros(1, 2, 1)])
    >>> logits = torch.empty(explicit.logits_shape)
    >>> repeat(explicit.calls(logits, logits))
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
        self.problem, self.depth = problem, len(weights)
        # Nodes contiguous or features contiguous: BLAS cares, up to eightfold. The former only pays
        # where two products of a single hidden layer are all that touches the nodes.
        tall = None if isinstance(problem.readout, OperatorReadout) else problem.readout.tall
        self._fused = self.depth == 2 and tall is not None
        self._by_node = self._fused and len(weights[0]) * problem.widths[1] >= _NARROW
        # Small results of products over all nodes are best stored by columns.
        self.parameters = Stacked.of([*weights, *biases], by_column=self._fused)
        self.gradients = self.parameters.zeros()
        s = len(weights[0])
        self.loss = CrossEntropy(problem, s, *self._bias(-1))
        self.logits_shape = tuple(self.loss.error.shape)
        self._prepare_input(rotated)
        self._forward: list[Call]
        self._backward: list[Call]
        if self.depth > 1:
            self._prepare_layers(s, generators)
            self._forward, self._backward = self._forward_calls(), self._backward_calls()
        else:
            transposed = self._features.T
            self._forward = []
            self._backward = [call(torch.mm, self.loss.flat, transposed, out=self._mixed_gradient)]
        if self._basis is not None:
            mixing = call(torch.mm, self._first, self._basis, out=self._mixed)
            back = call(torch.mm, self._mixed_gradient, self._basis.T, out=self._first_gradient)
            self._forward, self._backward = [mixing, *self._forward], [*self._backward, back]

    def calls(self, logits: Tensor, flat: Tensor) -> list[Call]:
        """What writes the logits of the labelled rows and sets ``gradients``.

        Parameters
        ----------
        logits, flat : (s, C, p) and (s·C, p) Tensor
            Two views of the array to write to; ``s`` is left out of the first for one restart.
        """
        if self.depth > 1:
            return [*self._forward, *self._head.calls(logits, flat), *self._backward]
        return [
            *self._forward,
            call(torch.mm, self._mixed, self._features, out=flat),
            *self.loss.calls(logits, flat),
            *self._backward,
        ]

    def _bias(self, layer: int) -> tuple[Tensor | None, Tensor | None]:
        if len(self.parameters.views) == self.depth:
            return None, None
        place = layer if layer < 0 else self.depth + layer
        return self.parameters.views[place], self.gradients.views[place]

    def _prepare_input(self, rotated: bool) -> None:
        stacks = (self.parameters, self.gradients)
        weight, gradient = (stack.views[0].flatten(0, 1) for stack in stacks)
        self._features = self.problem.features.T
        q = len(self._features)
        self._basis = None if rotated else self.problem.basis
        if self._basis is None:
            # A coordinate beyond the basis meets no feature: its gradient stays zero.
            self._mixed, self._mixed_gradient = weight[:, :q], gradient[:, :q]
        else:
            self._first, self._first_gradient = weight, gradient
            self._mixed, self._mixed_gradient = (weight.new_empty(len(weight), q) for _ in "ab")

    def _prepare_layers(self, s: int, generators: Sequence[torch.Generator]) -> None:
        problem = self.problem
        readout, widths, m = problem.readout, problem.widths[1:-1], self._features.shape[1]
        self._tall = None if isinstance(readout, OperatorReadout) else readout.tall
        new = self.parameters.flat.new_empty

        def array(rows: int, nodes: int) -> Tensor:
            return new(nodes, rows).T if self._by_node else new(rows, nodes)

        states = [
            self._hidden(layer, array(s * width, m), generators)
            for layer, width in enumerate(widths)
        ]
        self._middle = [
            MiddleLayer(
                problem.propagations,
                states[layer - 1],
                states[layer],
                self.parameters.views[layer],
                self.gradients.views[layer],
            )
            for layer in range(1, self.depth - 1)
        ]
        self._last = states[-1].output
        stacks = (self.parameters, self.gradients)
        weight, gradient = (stack.views[self.depth - 1] for stack in stacks)
        self._head = Head(problem, weight, gradient, self.loss, self._last, self._fused)
        # Later layers, and a readout that is no matrix, need all nodes at once.
        size = m
        if self._fused and not problem.dropout:
            rows = _CHUNK_BYTES // (s * widths[0] * self._last.element_size())
            size = max(_SMALLEST_CHUNK, rows)
        tall = new(m, 0) if self._tall is None else self._tall
        error = array(s * widths[0], min(size, m))
        self._chunks = [
            _Chunk(
                states[0].part(a, b),
                self._features[:, a:b],
                self._features[:, a:b].T,
                tall[a:b],
                tall[a:b].T,
                error[:, : b - a],
            )
            for a, b in chunks(m, size)
        ]

    def _hidden(
        self, layer: int, H: Tensor, generators: Sequence[torch.Generator]
    ) -> Hidden | SpectralHidden:
        problem = self.problem
        bias, gradient = self._bias(layer)
        if bias is not None and gradient is not None:
            bias, gradient = bias.view(-1, 1), gradient.view(-1)
        if problem.nodes is not None:
            return SpectralHidden(problem.nodes, problem.activation, H, bias, gradient)
        activation = ACTIVATIONS[problem.activation]
        if not problem.dropout:
            return Hidden(H, H, activation, bias, gradient)
        dropout = Dropout(problem.dropout, generators, torch.empty_like(H))
        return Hidden(H, torch.empty_like(H), activation, bias, gradient, dropout)

    def _forward_calls(self) -> list[Call]:
        calls: list[Call] = []
        for i, chunk in enumerate(self._chunks):
            hidden = chunk.hidden
            calls.append(call(torch.mm, self._mixed, chunk.features, out=hidden.active))
            calls += hidden.activating()
            if self._fused and i == 0:
                calls.append(call(torch.mm, hidden.output, chunk.tall, out=self._head.read))
            elif self._fused:
                calls.append(call(self._head.read.addmm_, hidden.output, chunk.tall))
        calls += [layer.forward for layer in self._middle]
        if self._fused:
            return calls
        if isinstance(self.problem.readout, OperatorReadout):
            calls.append(call(self._read, self.problem.readout))
        elif self._tall is not None:
            calls.append(call(torch.mm, self._last, self._tall, out=self._head.read))
        return calls

    def _read(self, readout: OperatorReadout) -> None:
        self._head.read.copy_(readout.product(self._last.T).T)

    def _backward_calls(self) -> list[Call]:
        if not self._fused and (self._middle or self._head.read is not self._last):
            return [self._backward_through_layers]
        calls: list[Call] = []
        for i, chunk in enumerate(self._chunks):
            error = chunk.error if self._fused else self._head.read_error
            if self._fused:
                calls.append(call(torch.mm, self._head.read_error, chunk.tall_t, out=error))
            calls += self._first_layer_backward(chunk, error, i == 0)
        return calls

    def _backward_through_layers(self) -> None:
        """Errors of several layers, in arrays that are new each time."""
        if isinstance(self.problem.readout, OperatorReadout):
            error = self.problem.readout.adjoint(self._head.read_error.T).T.contiguous()
        elif self._tall is not None:
            error = torch.mm(self._head.read_error, self._tall.T)
        else:
            error = self._head.read_error
        for layer in reversed(self._middle):
            error = layer.backward(error)
        repeat(self._first_layer_backward(self._chunks[0], error, True))

    def _first_layer_backward(self, chunk: _Chunk, error: Tensor, start: bool) -> list[Call]:
        calls = chunk.hidden.differentiating(error)
        if start:
            calls.append(call(torch.mm, error, chunk.features_t, out=self._mixed_gradient))
        else:
            calls.append(call(self._mixed_gradient.addmm_, error, chunk.features_t))
        return calls

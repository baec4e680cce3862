r"""Loss gradients of low-rank GCNs, written out: no autograd, many restarts at once.

With :math:`F B = [\mathcal{K}^{(1)} X \dots \mathcal{K}^{(K)} X]` computed once, one iteration of a
network with one hidden layer (section A4.3) is

.. math:: H = \sigma(F B \Theta^1), \quad Z = R H \Theta^2, \quad
          G = w \circ (\mathrm{softmax}(Z) - T), \\
          \partial\Theta^2 = (R H)^T G, \quad
          \partial\Theta^1 = B^T F^T \big(R^T G \Theta^{2T} \circ \sigma'\big)

where R holds the labelled rows of the kernel. The restarts lie side by side in H, so that the two
products with F and the two with R are single matrix products for all of them, taken over chunks of
nodes that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, final

import torch
from torch import Tensor

from lowrankgcn._parallel import chunks
from lowrankgcn.training.activations import ACTIVATIONS
from lowrankgcn.training.head import CrossEntropy, Head
from lowrankgcn.training.hidden import Dropout, Hidden, MiddleLayer
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

    hidden: Hidden  # (s·N₁, c)
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
    >>> explicit.evaluate(logits, logits)
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
        if self.depth > 1:
            self._prepare_layers(s, generators)

    def evaluate(self, logits: Tensor, flat: Tensor) -> None:
        """Write the logits of the labelled rows and set ``gradients``.

        Parameters
        ----------
        logits, flat : (s, C, p) and (s·C, p) Tensor
            Two views of the array to write to; ``s`` is left out of the first for one restart.
        """
        if self._basis is not None:
            torch.mm(self._first, self._basis, out=self._mixed)
        if self.depth == 1:
            torch.mm(self._mixed, self._features, out=flat)
            self.loss.derive(logits, flat)
            torch.mm(self.loss.flat, self._features.T, out=self._mixed_gradient)
        else:
            self._forward()
            self._head.evaluate(logits, flat)
            self._backward()
        if self._basis is not None:
            torch.mm(self._mixed_gradient, self._basis.T, out=self._first_gradient)

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

        states = []
        for width in widths:
            H = output = array(s * width, m)
            dropout = None
            if problem.dropout:
                dropout = Dropout(problem.dropout, generators, torch.empty_like(H))
                output = torch.empty_like(H)
            states.append(Hidden(H, output, ACTIVATIONS[problem.activation], dropout))
        self._middle = [
            MiddleLayer(
                problem.propagations,
                states[layer - 1],
                states[layer],
                self.parameters.views[layer],
                self.gradients.views[layer],
                *self._bias(layer),
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
        bias, self._first_bias_gradient = self._bias(0)
        self._first_bias = None if bias is None else bias.view(-1, 1)

    def _forward(self) -> None:
        for i, chunk in enumerate(self._chunks):
            torch.mm(self._mixed, chunk.features, out=chunk.hidden.active)
            if self._first_bias is not None:
                chunk.hidden.active.add_(self._first_bias)
            chunk.hidden.activate()
            if self._fused and i == 0:
                torch.mm(chunk.hidden.output, chunk.tall, out=self._head.read)
            elif self._fused:
                self._head.read.addmm_(chunk.hidden.output, chunk.tall)
        for layer in self._middle:
            layer.forward()
        if self._fused:
            return
        if isinstance(self.problem.readout, OperatorReadout):
            self._head.read.copy_(self.problem.readout.product(self._last.T).T)
        elif self._tall is not None:
            torch.mm(self._last, self._tall, out=self._head.read)

    def _backward(self) -> None:
        if self._fused:
            for i, chunk in enumerate(self._chunks):
                torch.mm(self._head.read_error, chunk.tall_t, out=chunk.error)
                self._backward_first(chunk, chunk.error, i == 0)
            return
        if isinstance(self.problem.readout, OperatorReadout):
            error = self.problem.readout.adjoint(self._head.read_error.T).T.contiguous()
        elif self._tall is not None:
            error = torch.mm(self._head.read_error, self._tall.T)
        else:
            error = self._head.read_error
        for layer in reversed(self._middle):
            error = layer.backward(error)
        self._backward_first(self._chunks[0], error, True)

    def _backward_first(self, chunk: _Chunk, error: Tensor, start: bool) -> None:
        chunk.hidden.differentiate(error)
        if start:
            torch.mm(error, chunk.features_t, out=self._mixed_gradient)
        else:
            self._mixed_gradient.addmm_(error, chunk.features_t)
        if self._first_bias_gradient is not None:
            total = error.sum(1).view(self._first_bias_gradient.shape)
            if start:
                self._first_bias_gradient.copy_(total)
            else:
                self._first_bias_gradient.add_(total)

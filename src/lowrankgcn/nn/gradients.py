r"""Explicit loss gradients of GCNs and reduced-order GCNs, for many restarts at once.

With :math:`F Q^T = [\mathcal{K}^{(1)} X \ldots \mathcal{K}^{(K)} X]` computed once, one iteration
of a network with one hidden layer (section A4.3) is

.. math:: H = \sigma(F Q^T \Theta^1), \quad Z = R H \Theta^2, \quad
          G = w \circ (\mathrm{softmax}(Z) - T), \\
          \partial\Theta^2 = (R H)^T G, \quad
          \partial\Theta^1 = Q F^T (R^T G \Theta^{2T} \circ \sigma')

where R holds the labelled rows of the kernel. All arrays are stored transposed, (s, N, m) for s
restarts of N features on m nodes: products with F and R are single matrix products for all
restarts, and BLAS is fastest where the long dimension is contiguous.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from torch import Tensor
from torch.nn import functional

from lowrankgcn._parallel import chunks
from lowrankgcn.nn.problem import KernelRows, TrainingProblem

# Logits of which losses are computed at once. In float64 these fit the cache: 100 restarts take a
# fifth of the time of all iterations together.
_CACHED_LOGITS = 2**15
_MANY_NODES = 1000  # from here on, BLAS is a fifth faster on the transposed product

_ops: Any = torch.ops.aten  # one pass over both arrays and no temporary array

#: The named activations of the networks, see ``lowrankgcn.nn.ACTIVATIONS``, as two functions:
#: Z ↦ σ(Z), overwriting Z, and (E, H) ↦ E ∘ σ'(Z) with H = σ(Z), overwriting E. The derivative is a
#: function of H alone, so that one array per layer suffices.
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


def split_parameters(rows: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Return views of rows (s, P) as arrays (s, …) of the given shapes.

    Examples
    --------
    >>> weight, bias = split_parameters(torch.arange(6.0)[None], [(2, 2), (2,)])
    >>> weight, bias
    (tensor([[[0., 1.],
             [2., 3.]]]), tensor([[4., 5.]]))
    """
    parts = torch.split_with_sizes(rows, [math.prod(shape) for shape in shapes], dim=1)
    return [part.view(-1, *shape) for part, shape in zip(parts, shapes, strict=True)]


@final
class ExplicitGradients:
    """Logits and loss gradients of s networks with the same problem and different weights.

    Parameters
    ----------
    problem : TrainingProblem
    parameters : (s, P) Tensor
        Weights and biases of each restart, which may be changed in place between evaluations.
    shapes : sequence of shapes
        Shapes of transposed weights (N_l, K·N_{l-1}) and biases (N_l,) in a row of `parameters`;
        no biases for a network without them.
    rotated : bool
        Whether the weights of the first layer are in the coordinates of ``problem.basis``, shape
        (N_1, q + 1), see ``lowrankgcn.nn.optimizers.Coordinates``.
    generators : sequence of torch.Generator
        One for each restart, for dropout.

    Attributes
    ----------
    parameters : (s, P) Tensor
    gradients : (s, P) Tensor
        Gradients of the mean cross-entropy, set by :meth:`evaluate`.

    See Also
    --------
    TrainingProblem : The problem.
    train : Trains a network.

    Notes
    -----
    With one hidden layer an iteration costs O(m s N₁ q) for features of q columns, and
    O(m s min(N₁, C) r) for a readout by r eigenvectors: q ≤ r for an L-GCN, m = r for an R-GCN.
    Memory is O(m s Σ N_l).

    Examples
    --------
    Both classes have probability one half at Θ = 0; each node gets the feature of the other:

    >>> import torch
    >>> import lowrankgcn as lg
    >>> graph = lg.AdjacencyGraph([[0.0, 1.0], [1.0, 0.0]])
    >>> network = lg.nn.GCN(lg.kernel(lg.Laplacian(graph), "linear"), (1, 2))
    >>> problem = lg.nn.TrainingProblem(network, [[1.0], [2.0]], [0, 1], [0, 1])
    >>> explicit = lg.nn.ExplicitGradients(problem, torch.zeros(1, 2), [(2, 1)])
    >>> logits = explicit.evaluate()
    >>> explicit.gradients
    tensor([[-0.2500,  0.2500]])
    """

    def __init__(
        self,
        problem: TrainingProblem,
        parameters: Tensor,
        shapes: Sequence[Sequence[int]],
        rotated: bool = False,
        generators: Sequence[torch.Generator] = (),
    ) -> None:
        self.problem, self.parameters = problem, parameters
        self.gradients = torch.zeros_like(parameters)
        depth, (m, q) = problem.depth, problem.features.shape
        split = (split_parameters(tensor, shapes) for tensor in (parameters, self.gradients))
        pairs: list[Any] = list(zip(*split, strict=True))
        biases = pairs[depth:] or [None] * depth
        self._last_biases = biases[-1]
        self._basis = None if rotated else problem.basis
        # A coordinate beyond the basis does not act on features: its gradient remains zero.
        q = q if self._basis is None else len(self._basis)
        self._first, self._first_gradient = (tensor[..., :q] for tensor in pairs[0])
        # This large array is allocated once, because fresh memory costs as much as a product. These
        # views are made once, because a call of torch costs as much as a small product.
        self._Z = parameters.new_empty(len(parameters), problem.widths[1], m)
        self._flat_Z, self._features_T = self._Z.flatten(0, 1), problem.features.T
        self._offset = -problem.targets.T * problem.sample_weight
        kernels = [problem.kernels] * (depth - 2) + [problem.readout]
        parts = zip(biases[:-1], kernels, pairs[1:depth], strict=False)  # none with a single layer
        self._layers = [_Layer(problem, generators, *part) for part in parts]

    def evaluate(self) -> Tensor:
        """Set the gradients; return the logits of the labelled rows, shape (s, C, p)."""
        first = self._first.flatten(0, 1)
        first = first if self._basis is None else first @ self._basis
        torch.mm(first, self._features_T, out=self._flat_Z)
        Z = self._Z
        for layer in self._layers:
            Z = layer.forward(Z)
        logits = Z if self._layers else Z.clone()
        error = self._loss_error(logits)
        for layer in reversed(self._layers):
            error = layer.backward(error)
        gradient = _sum_over_nodes(error, self.problem.features)
        gradient = gradient if self._basis is None else gradient @ self._basis.T
        self._first_gradient.copy_(gradient)
        return logits

    def _loss_error(self, logits: Tensor) -> Tensor:
        """Add the last bias to the logits; return the error w ∘ (softmax(Z) − T)."""
        if self._last_biases is not None:
            logits.add_(self._last_biases[0].unsqueeze(2))
        error = torch.addcmul(self._offset, torch.softmax(logits, 1), self.problem.sample_weight)
        if self._last_biases is not None:
            torch.sum(error, 2, out=self._last_biases[1])
        return error


def _sum_over_nodes(H: Tensor, tall: Tensor) -> Tensor:
    """Multiply H (s, N, m) by a matrix (m, p); return (s, N, p)."""
    if len(tall) < _MANY_NODES:
        return H @ tall
    return torch.mm(tall.T, H.flatten(0, 1).T).T.reshape(*H.shape[:2], -1)


_Parameters = tuple[Tensor, Tensor]  # weights or biases of a layer, and their gradients


@final
class _Layer:
    """A hidden layer σ(Z + b) with dropout, and the convolution Σ_k R_k H Θ_k of its output H.

    Kernels are applied before or after the weights, whichever is narrower.
    """

    def __init__(
        self,
        problem: TrainingProblem,
        generators: Sequence[torch.Generator],
        biases: _Parameters | None,
        kernels: Sequence[KernelRows],
        weights: _Parameters,
    ) -> None:
        self._activate, self._derive = ACTIVATIONS[problem.activation]
        self._biases, self._dropout, self._generators = biases, problem.dropout, generators
        by_kernel = (tensor.chunk(len(kernels), dim=2) for tensor in weights)
        self._parts = list(zip(kernels, *by_kernel, strict=True))
        _, out_width, in_width = self._parts[0][1].shape
        self._kernels_first = in_width < out_width
        self._active: Tensor
        self._mask: Tensor
        self._inputs: list[Tensor]

    def forward(self, Z: Tensor) -> Tensor:
        """Overwrite Z (s, N, m) by σ(Z + b); return the convolution, shape (s, N', p)."""
        if self._biases is not None:
            Z.add_(self._biases[0].unsqueeze(2))
        H = self._active = self._activate(Z)
        if self._dropout:
            shape, kept = (Z.shape[2], Z.shape[1]), 1.0 - self._dropout
            drawn = [torch.rand(shape, generator=g, device=g.device) for g in self._generators]
            self._mask = (torch.stack(drawn).mT < kept).to(Z) / kept
            H = Z * self._mask
        self._inputs, terms = [], []
        for rows, weight, _ in self._parts:
            inputs = rows.apply(H) if self._kernels_first else H
            term = torch.bmm(weight, inputs)
            terms.append(term if self._kernels_first else rows.apply(term))
            self._inputs.append(inputs)
        return sum(terms[1:], terms[0])

    def backward(self, error: Tensor) -> Tensor:
        """Set the gradients of weights and biases; return the error of Z."""
        terms = []
        for (rows, weight, gradient), inputs in zip(self._parts, self._inputs, strict=True):
            inner = error if self._kernels_first else rows.adjoint(error)
            gradient.copy_(torch.bmm(inner, inputs.mT))
            term = torch.bmm(weight.mT, inner)
            terms.append(rows.adjoint(term) if self._kernels_first else term)
        result = sum(terms[1:], terms[0])
        if self._dropout:
            result.mul_(self._mask)
        self._derive(result, self._active)
        if self._biases is not None:
            torch.sum(result, 2, out=self._biases[1])
        return result


@final
class Objective:
    r"""The loss of s restarts, mean cross-entropy plus the penalty of section A4.3, and gradients.

    .. math:: L(\Theta) = -\sum_{i \in I} w_i \sum_c T_{ic} \log Y_{ic}
              + \frac{\rho}{2} \|\Theta^1\|_F^2

    Gradient descent and Adam do not need the value of the loss. Logits and norms are stored while
    iterating, and the losses of many iterations are computed at once.

    Parameters
    ----------
    explicit : ExplicitGradients
    l2_penalty : float
        ρ.
    n_penalised : int
        Number of leading parameters of each restart that the penalty counts.
    """

    def __init__(self, explicit: ExplicitGradients, l2_penalty: float, n_penalised: int) -> None:
        self._explicit, self._penalty = explicit, l2_penalty
        self._penalised = explicit.parameters[:, :n_penalised]
        self._factors = torch.zeros_like(explicit.parameters[0])
        self._factors[:n_penalised] = l2_penalty
        self._evaluations: list[tuple[Tensor, Tensor]] = []  # logits and norms

    def gradient(self) -> Tensor:
        """Compute the gradient with the penalty, shape (s, P)."""
        logits = self._explicit.evaluate()
        norms = torch.linalg.vector_norm(self._penalised, dim=1)
        self._evaluations.append((logits, norms))
        return torch.addcmul(self._explicit.gradients, self._explicit.parameters, self._factors)

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

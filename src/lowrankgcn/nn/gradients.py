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
from lowrankgcn.nn.inputs import SparseInput, drop_entries, dropout_mask
from lowrankgcn.nn.problem import FactoredRows, TrainingProblem

# Logits of which losses are computed at once. In float64 these fit the cache: 100 restarts take a
# fifth of the time of all iterations together.
_CACHED_LOGITS = 2**15
_MANY_NODES = 1000  # from here on, BLAS is a fifth faster on the transposed product

_ops: Any = torch.ops.aten  # one pass over both arrays and no temporary array

#: The named activations of the networks, see ``lowrankgcn.nn.ACTIVATIONS``, as two functions:
#: Z ↦ σ(Z) and (E, H) ↦ E ∘ σ'(Z) with H = σ(Z), which may overwrite Z and E. The derivative is a
#: function of H alone, so that one array per layer suffices.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]] = {
    "relu": (torch.relu_, lambda E, H: _ops.threshold_backward.grad_input(E, H, 0, grad_input=E)),
    "leaky-relu": (functional.leaky_relu_, lambda E, H: torch.where(H > 0, E, 0.01 * E)),
    # σ' = 1 + min(H, 0): e^Z below zero, 1 above.
    "elu": (functional.elu_, lambda E, H: E.addcmul_(E, H.clamp_max(0.0))),
    # σ' = 1 − H².
    "tanh": (torch.tanh_, lambda E, H: E.addcmul_(E * H, H, value=-1)),
    # σ' = H (1 − H).
    "sigmoid": (torch.sigmoid_, lambda E, H: E.mul_(H).addcmul_(E, H, value=-1)),
    # σ' = 1 − e^(−H), the logistic function of Z.
    "softplus": (functional.softplus, lambda E, H: E.mul_(torch.expm1(-H).neg_())),
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
    return [part.view(len(rows), *shape) for part, shape in zip(parts, shapes, strict=True)]


def rotate(weight: Tensor, basis: Tensor) -> tuple[Tensor, Tensor]:
    r"""Return first-layer weights in an orthonormal basis Q of the features' row space.

    The features act on QᵀΘ only. The rest of each column of Θ keeps its direction, since only the
    penalty acts on it, and its length is one more coordinate. This is a rotation of each column:
    gradient descent has the same iterates in q + 1 numbers per column as in K·N_0. Adam is not
    invariant under rotations and uses the weights themselves.

    Parameters
    ----------
    weight : (s, N_1, K·N_0) Tensor
        Initial weights, transposed.
    basis : (K·N_0, q) Tensor
        Q.

    Returns
    -------
    coordinates : (s, N_1, q + 1) Tensor
    directions : (s, N_1, K·N_0) Tensor
        Those of the rest, of length one.

    Examples
    --------
    >>> Q = torch.tensor([[1.0], [0.0], [0.0]])
    >>> coordinates, directions = rotate(torch.tensor([[[2.0, 3.0, 4.0]]]), Q)
    >>> coordinates
    tensor([[[2., 5.]]])
    >>> rotate_back(coordinates, Q, directions)
    tensor([[[2., 3., 4.]]])
    """
    precise, Q = weight.double(), basis.double()
    inside = precise @ Q
    rest = precise - inside @ Q.T
    length = torch.linalg.vector_norm(rest, dim=2, keepdim=True)
    directions = (rest / length.clamp_min(1e-300)).to(weight.dtype)
    return torch.cat([inside, length], dim=2).to(weight.dtype), directions


def rotate_back(coordinates: Tensor, basis: Any, directions: Tensor) -> Tensor:
    """Return the weights of coordinates, the inverse of :func:`rotate`."""
    return torch.addcmul(coordinates[..., :-1] @ basis.T, coordinates[..., -1:], directions)


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
        (N_1, q + 1), see ``lowrankgcn.nn.gradients.rotate``.
    generators : sequence of torch.Generator
        One for each restart, for dropout.

    Attributes
    ----------
    problem, parameters
        As given.
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
        self.problem, self.parameters, self._generators = problem, parameters, generators
        self.gradients = torch.zeros_like(parameters)
        depth, (m, q) = problem.depth, problem.shape
        split = (split_parameters(tensor, shapes) for tensor in (parameters, self.gradients))
        pairs: list[Any] = list(zip(*split, strict=True))
        self._biases = pairs[depth:] or [None] * depth
        self._basis = None if rotated else problem.basis
        # A coordinate beyond the basis does not act on features: its gradient remains zero.
        q = q * (1 if problem.inputs is None else len(problem.kernels))
        q = q if self._basis is None else len(self._basis)
        self._first, self._first_gradient = (tensor[..., :q] for tensor in pairs[0])
        # This large array is allocated once, because fresh memory costs as much as a product. These
        # views are made once, because a call of torch costs as much as a small product.
        self._Z = parameters.new_empty(len(parameters), problem.widths[1], m)
        self._entry = problem.readout if depth == 1 else problem.kernels
        self._flat_Z = self._Z.flatten(0, 1)
        self._features_T: Any = None if problem.features is None else problem.features.T
        self._offset = -problem.targets.T * problem.sample_weight
        self._activate, self._derive = ACTIVATIONS[problem.activation]
        self._layers = []  # weights, gradient, and rows before and after them, of each kernel
        for layer, weights in enumerate(pairs[1:depth], start=2):
            kernels = problem.readout if layer == depth else problem.kernels
            by_kernel = [tensor.chunk(len(kernels), dim=2) for tensor in weights]
            # Kernels are applied before or after the weights, whichever is narrower.
            before = problem.widths[layer - 1] < problem.widths[layer]
            orders = [(R, _IDENTITY) if before else (_IDENTITY, R) for R in kernels]
            self._layers.append(list(zip(*by_kernel, orders, strict=True)))

    def evaluate(self) -> Tensor:
        """Set the gradients; return the logits of the labelled rows, shape (s, C, p)."""
        logits, dropped, stored = self.forward(self.problem.dropout, self.problem.input_dropout)
        weights, bias = self.problem.sample_weight, self._biases[-1]
        error = torch.addcmul(self._offset, torch.softmax(logits, 1), weights)  # w ∘ (Y − T)
        if bias is not None:
            torch.sum(error, 2, out=bias[1])
        for parts, bias, active, mask, inputs in reversed(stored):
            terms = []
            for (weight, gradient, (before, after)), inner in zip(parts, inputs, strict=True):
                outer = after.adjoint(error)
                gradient.copy_(torch.bmm(outer, inner.mT))
                terms.append(before.adjoint(torch.bmm(weight.mT, outer)))
            error = sum(terms[1:], terms[0])
            error = self._derive(error if mask is None else error.mul_(mask), active)
            if bias is not None:
                torch.sum(error, 2, out=bias[1])
        if self.problem.features is None:
            for R, part in zip(
                self._entry, self._first_gradient.chunk(len(self._entry), 2), strict=True
            ):
                for X, G, gradient in zip(dropped, R.adjoint(error), part, strict=True):
                    gradient.copy_((X.adjoint(G.T) if isinstance(X, SparseInput) else X.T @ G.T).T)
            return logits
        product = _sum_over_nodes(error, self.problem.features)
        self._first_gradient.copy_(product if self._basis is None else product @ self._basis.T)
        return logits

    def forward(self, dropout: float = 0.0, input_dropout: float = 0.0) -> tuple[Tensor, Any, Any]:
        """Return the logits (s, C, p) of the labelled rows, and what the gradients need.

        These are the input of each restart, and the arrays of each layer.
        """
        Z, dropped = self._first_layer(input_dropout)
        stored = []
        for parts, bias in zip(self._layers, self._biases, strict=False):
            H = active = self._activate(Z if bias is None else Z.add_(bias[0].unsqueeze(2)))
            mask = self._dropout_mask(H, dropout) if dropout else None
            H = H if mask is None else H * mask
            inputs, terms = [], []
            for weight, _, (before, after) in parts:
                inputs.append(before.apply(H))
                terms.append(after.apply(torch.bmm(weight, inputs[-1])))
            Z = sum(terms[1:], terms[0])
            stored.append((parts, bias, active, mask, inputs))
        logits, bias = Z if stored else Z.clone(), self._biases[-1]
        if bias is not None:
            logits.add_(bias[0].unsqueeze(2))
        return logits, dropped, stored

    def _first_layer(self, p: float) -> tuple[Tensor, list[Any]]:
        """Return Z (s, N_1, m) of the first layer, and the input of each restart if it differs."""
        first, basis, X = self._first, self._basis, self.problem.inputs
        if X is None:
            flat = first.flatten(0, 1)
            torch.mm(flat if basis is None else flat @ basis, self._features_T, out=self._flat_Z)
            return self._Z, []
        sources = self._generators if p else [None] * len(first)
        dropped = [drop_entries(X, p, source) for source in sources]
        terms = []
        for R, part in zip(self._entry, first.chunk(len(self._entry), 2), strict=True):
            products = [one @ weight.T for one, weight in zip(dropped, part, strict=True)]
            terms.append(R.apply(torch.stack(products).mT))
        return sum(terms[1:], terms[0]), dropped

    def _dropout_mask(self, H: Tensor, p: float) -> Tensor:
        """Draw a mask of H (s, N, m) by the generator of each restart."""
        shape = (H.shape[2], H.shape[1])
        return torch.stack([dropout_mask(shape, p, H, source) for source in self._generators]).mT


_IDENTITY = FactoredRows()


def _sum_over_nodes(H: Tensor, tall: Tensor) -> Tensor:
    """Multiply H (s, N, m) by a matrix (m, p); return (s, N, p)."""
    if len(tall) < _MANY_NODES:
        return H @ tall
    return torch.mm(tall.T, H.flatten(0, 1).T).T.reshape(*H.shape[:2], -1)


def cross_entropies(problem: TrainingProblem, logits: list[Tensor]) -> Tensor:
    """Compute the mean cross-entropy of several evaluations, shape (count, s), in float64.

    The optimisers do not need the value of the loss. Logits are stored while iterating, and the
    losses of many iterations are computed at once.
    """
    targets, weights = problem.targets.T.double(), problem.sample_weight.double()
    losses = []
    for start, stop in chunks(len(logits), max(1, _CACHED_LOGITS // logits[0].numel())):
        log_Y = torch.log_softmax(torch.stack(logits[start:stop]).double(), 2)  # (count, s, C, p)
        losses.append(-((targets * log_Y).sum(2) * weights).sum(2))
    return torch.cat(losses)

"""Networks of spectral convolutions: GCN (activation on nodes) and R-GCN (activation on spectra).

A GCN with a low-rank kernel is the paper's L-GCN; only the reduced-order network is another one.

>>> import lowrankgcn as lg, torch
>>> cars = lg.datasets.load_cars(as_frame=True)
>>> graph = lg.Hypergraph.from_table(cars.data)
>>> K = lg.kernel(lg.Laplacian(graph), "pseudoinverse", rank=15)
>>> X = torch.tensor(graph.incidence.to_dense(), dtype=torch.float32)
>>> lg.nn.GCN(K, (21, 16, 4))(X).shape, lg.nn.ReducedOrderGCN(K, (21, 16, 4))(X).shape
(torch.Size([1728, 4]), torch.Size([1728, 4]))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, final

import torch
from torch import Tensor, nn

from lowrankgcn._validation import choice, invalid, positive_float, positive_int
from lowrankgcn.nn.conversion import as_operators, as_propagations, check_dtype
from lowrankgcn.nn.convolution import SpectralConv, as_index, check_block
from lowrankgcn.nn.inputs import SparseInput, drop_entries
from lowrankgcn.nn.propagation import Propagation, SpectralPropagation
from lowrankgcn.operators import SymmetricOperator

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


class _SharedKernels(tuple[SymmetricOperator, ...]):
    """Kernels, as large as the graph, that copies of a network share."""

    def __deepcopy__(self, memo: dict[int, Any]) -> _SharedKernels:
        return self


class Network(nn.Module):
    """Base class of both networks.

    Attributes
    ----------
    kernels : tuple of Kernel
        The kernels of the network; copies of the network share them.
    widths : tuple of int
        (N_0, …, N_L).
    convs : ModuleList of SpectralConv
        The layers; all share `propagations`.
    propagations : ModuleList of Propagation
        The kernels as modules.
    activation : Module or function
    activation_name : str or None
        The name by which the activation was chosen.
    dropout : Dropout
        Applied to the output of hidden layers.
    input_dropout : float
        Probability of dropping an entry of the input. If it is zero, 𝒦X⁰ is constant.

    See Also
    --------
    GCN, ReducedOrderGCN : The networks.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> laplacian = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
    >>> network = lg.nn.GCN(lg.kernel(laplacian, "linear"), (4, 16, 2))
    >>> isinstance(network, lg.nn.Network), network.depth, network.n_nodes
    (True, 2, 3)
    """

    convs: Sequence[SpectralConv]
    propagations: Sequence[Propagation]
    activation: Callable[[Tensor], Tensor]

    def __init__(
        self,
        kernels: SymmetricOperator | Sequence[SymmetricOperator],
        widths: Sequence[int],
        *,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        bias: bool = False,
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        dtype: torch.dtype = torch.float32,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_dtype(dtype)
        if isinstance(widths, str) or not isinstance(widths, Sequence) or len(widths) < 2:
            raise invalid("widths", "a sequence of at least two integers", repr(widths))
        self.kernels = _SharedKernels(as_operators(kernels))
        self.widths = tuple(positive_int(width, "widths") for width in widths)
        shared = self._convert_kernels(dtype)
        self.propagations = shared  # type: ignore[assignment]
        self.convs = nn.ModuleList(  # type: ignore[assignment]
            SpectralConv(shared, before, after, bias=bias, dtype=dtype, generator=generator)
            for before, after in pairwise(self.widths)
        )
        self.activation_name = activation if isinstance(activation, str) else None
        if isinstance(activation, str):
            activation = ACTIVATIONS[choice(activation, "activation", ACTIVATIONS)]()
        if isinstance(activation, type) or not callable(activation):
            raise invalid("activation", "a name, a Module or a function", repr(activation))
        self.activation = activation
        self.dropout = nn.Dropout(positive_float(dropout, "dropout", zero=True, below=1.0))
        self.input_dropout = positive_float(input_dropout, "input_dropout", zero=True, below=1.0)

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return self.kernels[0].n

    @property
    def depth(self) -> int:
        """Number of convolutions L."""
        return len(self.convs)

    @property
    def dtype(self) -> torch.dtype:
        """Type of weights and input."""
        return self.convs[0].weight.dtype

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights for all layers from one generator and set the biases to zero."""
        for conv in self.convs:
            conv.reset_parameters(generator)

    def forward(self, X: Tensor | SparseInput, rows: Any = None) -> Tensor:
        """Compute the logits of all nodes or of selected ones.

        Parameters
        ----------
        X : (n, N_0) Tensor or SparseInput
        rows : (p,) integers or (n,) mask, optional

        Returns
        -------
        (n, N_L) or (p, N_L) Tensor
        """
        logits: Tensor = self.convs[-1](self._hidden(X), rows)
        return logits

    def _hidden(self, X: Any) -> Any:
        """Compute X^(L−1) from X^(0)."""
        if self.training and self.input_dropout:
            X = drop_entries(X, self.input_dropout)
        for conv in self.convs[:-1]:
            X = self.dropout(self.activation(conv(X)))
        return X

    def _convert_kernels(self, dtype: torch.dtype) -> nn.ModuleList:
        """Return the kernels as modules."""
        return as_propagations(self.kernels, dtype=dtype)


@final
class GCN(Network):
    r"""Graph convolutional network; with a low-rank kernel, the paper's L-GCN.

    .. math:: X^{(l)} = \sigma\left(\sum_{k=1}^K \mathcal{K}^{(k)} X^{(l-1)} \Theta^{(k,l)}
              + \mathbf{1} b_l^T\right), \qquad l = 1, \ldots, L

    (equation 2 and section A4.1), without the activation in the last layer: the results are logits,
    whose softmax is the prediction.

    Parameters
    ----------
    kernels : Kernel or sequence of Kernel
        The K kernels, of any form, see :func:`lowrankgcn.kernel`.
    widths : sequence of int
        (N_0, …, N_L): number of input features, hidden widths, number of classes.
    activation : str, Module or callable
        σ: "relu" as in the paper, "leaky-relu", "elu", "tanh", "sigmoid", "softplus", "identity",
        or any differentiable function.
    bias : bool
        Whether layers have a bias; those of the paper do not.
    dropout : float
        Probability in [0, 1) of dropping an entry of a hidden layer's output while training.
    input_dropout : float
        The same for the entries of the input; only those that a sparse input stores.
    dtype : torch.float32 or torch.float64
        Type of weights and kernels, and of the input.
    generator : torch.Generator, optional
        Source of the initial weights; torch's global one when omitted.

    Raises
    ------
    ValueError
        If an argument has the wrong type or size.

    See Also
    --------
    ReducedOrderGCN : Network on spectral coefficients.
    lowrankgcn.nn.train : Trains many restarts at once.
    lowrankgcn.GCNClassifier : Graph, kernel, network and training in one estimator.

    Notes
    -----
    An evaluation costs one product with min(N_l, N_{l+1}) columns per layer and kernel. With
    ``rows``, low-rank and dense kernels compute only these rows of the last layer. ``state_dict``
    contains only weights and biases.

    Examples
    --------
    >>> import lowrankgcn as lg, torch
    >>> spiral = lg.datasets.load_spiral(20, random_state=0)
    >>> L = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
    >>> network = lg.nn.GCN(lg.kernel(L, "pseudoinverse", rank=10), (3, 4, 5))
    >>> X = torch.tensor(spiral.data, dtype=torch.float32)
    >>> bool(torch.allclose(network(X, rows=[7, 3]), network(X)[[7, 3]], atol=1e-5))
    True
    >>> sorted(network.state_dict())
    ['convs.0.weight', 'convs.1.weight']
    """


@final
class ReducedOrderGCN(Network):
    r"""Reduced-order GCN: all layers act on spectral coefficients (section 2.4, figure 1).

    .. math:: \hat X^{(0)} = U_r^T X^{(0)}, \qquad
              \hat X^{(l)} = \sigma\left(\sum_{k=1}^K \varphi_k(\Lambda_r) \hat X^{(l-1)}
              \Theta^{(k,l)}\right), \qquad X^{(L)} = U_r \hat X^{(L)}

    without the activation in the last layer. It is the GCN of r nodes with the diagonal kernels
    :math:`\varphi_k(\Lambda_r)`, between a reduction and a projection.

    Parameters
    ----------
    kernels : Kernel or sequence of Kernel
        Kernels with a rank and the same eigenpairs, such as those of ``lowrankgcn.kernel`` with a
        list of filters.
    widths, activation, dropout, dtype, generator
        As for :class:`GCN`.
    input_dropout : float
        Probability of dropping an entry of U_rᵀX⁰ while training.
    bias : bool
        Biases of hidden layers are added to spectral coefficients, the bias of the last layer to
        every node after the projection.

    Attributes
    ----------
    eigenvectors : (n, r) Tensor
        U_r, a buffer that is not part of the ``state_dict``.

    Raises
    ------
    ValueError
        If an argument has the wrong type or size, or if kernels have no or different eigenpairs.

    See Also
    --------
    GCN : Network on nodes.
    lowrankgcn.nn.train : Trains many restarts at once.

    Notes
    -----
    Reduction and projection cost O(n r (N_0 + N_L)); the cost of the layers does not depend on n.
    **The result depends on the signs of the eigenvectors** and on the basis of a multiple
    eigenvalue, because σ(−x) ≠ −σ(x). Signs are fixed by one rule, see
    :mod:`lowrankgcn.spectral.eigenpairs`.

    Examples
    --------
    >>> import lowrankgcn as lg, torch
    >>> spiral = lg.datasets.load_spiral(20, random_state=0)
    >>> L = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
    >>> network = lg.nn.ReducedOrderGCN(lg.kernel(L, "pseudoinverse", rank=10), (3, 4, 5))
    >>> X = torch.tensor(spiral.data, dtype=torch.float32)
    >>> network.reduce(X).shape, network(X).shape, network(X, rows=[0]).shape
    (torch.Size([10, 3]), torch.Size([100, 5]), torch.Size([1, 5]))
    """

    eigenvectors: Tensor  # (n, r)

    @property
    def rank(self) -> int:
        """Number of eigenpairs r."""
        return int(self.eigenvectors.shape[1])

    def reduce(self, X: Tensor | SparseInput) -> Tensor:
        """Compute U_rᵀ X, shape (r, N_0), for X of shape (n, N_0)."""
        check_block(X, self.n_nodes, self.widths[0], self.dtype)
        if isinstance(X, SparseInput):
            return X.adjoint(self.eigenvectors).T
        return self.eigenvectors.T @ X

    def forward(self, X: Tensor | SparseInput, rows: Any = None) -> Tensor:
        """Compute the logits of all nodes or of selected ones, see :meth:`GCN.forward`."""
        last, index = self.convs[-1], as_index(rows, self.n_nodes, self.eigenvectors.device)
        U = self.eigenvectors if index is None else self.eigenvectors[index]
        logits = U @ last.convolve(self._hidden(self.reduce(X)))
        return logits if last.bias is None else logits + last.bias

    def _convert_kernels(self, dtype: torch.dtype) -> nn.ModuleList:
        kernels: tuple[Any, ...] = self.kernels
        U = _shared_eigenvectors(kernels)
        if U is None:
            got = [getattr(kernel, "form", type(kernel).__name__) for kernel in kernels]
            expected = "kernels with a rank, of one lowrankgcn.kernel(laplacian, filters, rank=…)"
            raise invalid("kernels", expected, got)
        # Nothing writes to the buffer, and a copy would be most of the memory of the network.
        buffer = torch.as_tensor(U if U.flags.writeable else U.copy(), dtype=dtype)
        self.register_buffer("eigenvectors", buffer, persistent=False)
        return nn.ModuleList(SpectralPropagation(kernel.response, dtype) for kernel in kernels)


def _shared_eigenvectors(kernels: Sequence[Any]) -> Any:
    """Return the eigenvectors of kernels with the same eigenpairs, otherwise None."""
    pairs: list[Any] = [getattr(kernel, "eigenpairs", None) for kernel in kernels]
    if any(each is None or each.eigenvectors is not pairs[0].eigenvectors for each in pairs):
        return None
    return pairs[0].eigenvectors


def common_eigenvectors(network: Network) -> tuple[Tensor, list[Tensor]] | None:
    """Return U (n, r) and the φ_k (r,) if all kernels are U φ_k Uᵀ with the same U."""
    modules: Sequence[Any] = network.propagations
    if isinstance(network, ReducedOrderGCN):
        return network.eigenvectors, [module.response for module in modules]
    if _shared_eigenvectors(network.kernels) is None:
        return None
    return modules[0].factor.matrix, [module.core for module in modules]

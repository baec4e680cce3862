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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, final

import torch
from torch import Tensor, nn

from lowrankgcn._validation import invalid, positive_float, positive_int
from lowrankgcn.nn.activations import Activation, as_activation
from lowrankgcn.nn.border import as_operators, as_propagations
from lowrankgcn.nn.layers import SpectralConv
from lowrankgcn.nn.linear_map import Shared, as_index, as_tensor, checked_block, checked_dtype
from lowrankgcn.nn.propagation import SpectralPropagation
from lowrankgcn.operators import SymmetricOperator
from lowrankgcn.spectral.kernel import Kernel

__all__ = ["GCN", "Network", "ReducedOrderGCN"]


class Network(nn.Module, ABC):
    """What both networks have: kernels, convolutions, activation, dropout.

    Attributes
    ----------
    kernels : tuple of Kernel
        What the network was built from; shared by its copies.
    widths : tuple of int
        (N_0, …, N_L).
    convs : ModuleList of SpectralConv
        The layers; all share `propagations`.
    propagations : ModuleList of Propagation
        The kernels in torch, as the hidden layers apply them.
    activation : Module
    activation_name : str or None
        The name it was given by.
    dropout : Dropout
        Acts on the output of hidden layers; never on the input, so that 𝒦X⁰ stays fixed.
    """

    convs: nn.ModuleList
    propagations: nn.ModuleList
    activation: nn.Module

    def __init__(
        self,
        kernels: tuple[SymmetricOperator, ...],
        shared: nn.ModuleList,
        widths: Sequence[int],
        activation: Activation,
        bias: bool,
        dropout: float,
        dtype: torch.dtype,
        generator: torch.Generator | None,
    ) -> None:
        super().__init__()
        self._kernels = Shared(kernels)
        self.widths = _checked_widths(widths)
        self.propagations = shared
        self.convs = nn.ModuleList(
            SpectralConv(shared, before, after, bias=bias, dtype=dtype, generator=generator)
            for before, after in pairwise(self.widths)
        )
        self.activation = as_activation(activation)
        self.activation_name = activation if isinstance(activation, str) else None
        self.dropout = nn.Dropout(positive_float(dropout, "dropout", zero=True, below=1.0))

    @property
    def kernels(self) -> tuple[SymmetricOperator, ...]:
        """What the network was built from."""
        return self._kernels.value

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
        """Type of the weights, which the input must have."""
        return self._last().weight.dtype

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw all weights anew, layer by layer from one generator, and zero the biases."""
        for conv in self.convs:
            assert isinstance(conv, SpectralConv)
            conv.reset_parameters(generator)

    @abstractmethod
    def forward(self, X: Tensor, rows: Any = None) -> Tensor:
        """Logits of all nodes, or of selected ones."""

    def _hidden(self, X: Tensor) -> Tensor:
        """X^(L−1) from X^(0), in the space where the convolutions live."""
        for conv in self.convs[:-1]:
            X = self.dropout(self.activation(conv(X)))
        return X

    def _last(self) -> SpectralConv:
        last = self.convs[-1]
        assert isinstance(last, SpectralConv)
        return last


@final
class GCN(Network):
    r"""Graph convolutional network; with a low-rank kernel, the paper's L-GCN.

    .. math:: X^{(l)} = \sigma\Big(\sum_{k=1}^K \mathcal{K}^{(k)} X^{(l-1)} \Theta^{(k,l)}
              + \mathbf{1} b_l^T\Big), \qquad l = 1, \dots, L

    (equation 2 and section A4.1), without the activation in the last layer: the result are logits,
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
        Whether layers have a bias; the paper's have none.
    dropout : float
        Probability in [0, 1) of dropping an entry of a hidden layer's output while training.
    dtype : torch.float32 or torch.float64
        Type of weights and kernels, and of the input.
    generator : torch.Generator, optional
        Source of the initial weights; torch's global one when omitted.

    Raises
    ------
    ValueError
        If an argument has the wrong type or size.

    Notes
    -----
    One evaluation costs, per layer and kernel, a product with min(N_l, N_{l+1}) columns. With
    ``rows`` the last layer computes these rows only. ``state_dict`` holds weights and biases alone.

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

    def __init__(
        self,
        kernels: SymmetricOperator | Sequence[SymmetricOperator],
        widths: Sequence[int],
        *,
        activation: Activation = "relu",
        bias: bool = False,
        dropout: float = 0.0,
        dtype: torch.dtype = torch.float32,
        generator: torch.Generator | None = None,
    ) -> None:
        given = as_operators(kernels)
        shared = as_propagations(given, dtype=dtype)
        super().__init__(given, shared, widths, activation, bias, dropout, dtype, generator)

    def forward(self, X: Tensor, rows: Any = None) -> Tensor:
        """Logits of all nodes, or of selected ones.

        Parameters
        ----------
        X : (n, N_0) Tensor
        rows : (p,) integers or (n,) mask, optional

        Returns
        -------
        (n, N_L) or (p, N_L) Tensor
        """
        logits: Tensor = self._last()(self._hidden(X), rows)
        return logits


@final
class ReducedOrderGCN(Network):
    r"""Reduced-order GCN: all layers act on spectral coefficients (section 2.4, figure 1).

    .. math:: \hat X^{(0)} = U_r^T X^{(0)}, \qquad
              \hat X^{(l)} = \sigma\Big(\sum_{k=1}^K \varphi_k(\Lambda_r) \hat X^{(l-1)}
              \Theta^{(k,l)}\Big), \qquad X^{(L)} = U_r \hat X^{(L)}

    without the activation in the last layer. It is the GCN of r nodes with the diagonal kernels
    :math:`\varphi_k(\Lambda_r)`, between a reduction and a projection.

    Parameters
    ----------
    kernels : Kernel or sequence of Kernel
        Kernels with a rank, all of the same eigenpairs (``lowrankgcn.kernel`` with a list of
        filters gives such).
    widths, activation, dropout, dtype, generator
        As for :class:`GCN`.
    bias : bool
        Biases of hidden layers are added to spectral coefficients, that of the last layer after the
        projection, to every node alike.

    Attributes
    ----------
    eigenvectors : (n, r) Tensor
        U_r, a buffer that is not part of the ``state_dict``.

    Raises
    ------
    ValueError
        If an argument has the wrong type or size, or kernels have no or different eigenpairs.

    Notes
    -----
    Reduction and projection cost O(n r (N_0 + N_L)), the layers nothing that grows with n. **The
    result depends on the signs of the eigenvectors**, and on the basis of a multiple eigenvalue:
    σ(−x) ≠ −σ(x). Signs are fixed by one rule, see :mod:`lowrankgcn.spectral.spectrum`.

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

    def __init__(
        self,
        kernels: Kernel | Sequence[Kernel],
        widths: Sequence[int],
        *,
        activation: Activation = "relu",
        bias: bool = False,
        dropout: float = 0.0,
        dtype: torch.dtype = torch.float32,
        generator: torch.Generator | None = None,
    ) -> None:
        checked_dtype(dtype)
        given = as_operators(kernels)
        vectors = _common_eigenvectors(given)
        shared = nn.ModuleList(SpectralPropagation(_response(k), dtype) for k in given)
        super().__init__(given, shared, widths, activation, bias, dropout, dtype, generator)
        # No network writes to them, and copies would be most of the memory it takes.
        shared_vectors = as_tensor(vectors, dtype, share=True)
        self.register_buffer("eigenvectors", shared_vectors, persistent=False)

    @property
    def rank(self) -> int:
        """Number of eigenpairs r."""
        return int(self.eigenvectors.shape[1])

    def reduce(self, X: Tensor) -> Tensor:
        """U_rᵀ X, shape (r, k) for X of shape (n, k)."""
        checked_block(X, self.n_nodes, None, self.dtype)
        return self.eigenvectors.T @ X

    def project(self, coefficients: Tensor, rows: Any = None) -> Tensor:
        """U_r X̂, or its selected rows, for coefficients of shape (r, k)."""
        checked_block(coefficients, self.rank, None, self.dtype, "coefficients")
        if rows is None:
            return self.eigenvectors @ coefficients
        index = as_index(rows, self.n_nodes, coefficients.device)
        return self.eigenvectors[index] @ coefficients

    def forward(self, X: Tensor, rows: Any = None) -> Tensor:
        """Logits of all nodes, or of selected ones.

        Parameters
        ----------
        X : (n, N_0) Tensor
        rows : (p,) integers or (n,) mask, optional

        Returns
        -------
        (n, N_L) or (p, N_L) Tensor
        """
        checked_block(X, self.n_nodes, self.widths[0], self.dtype)
        return self.decode(self.reduce(X), rows)

    def decode(self, coefficients: Tensor, rows: Any = None) -> Tensor:
        """Logits from the reduced input U_rᵀX, shape (r, N_0): what is repeated in training."""
        last = self._last()
        logits = self.project(last.convolve(self._hidden(coefficients)), rows)
        return logits if last.bias is None else logits + last.bias


def _checked_widths(widths: Any) -> tuple[int, ...]:
    if isinstance(widths, str) or not isinstance(widths, Sequence):
        raise invalid("widths", "a sequence of integers", type(widths).__name__)
    checked = tuple(positive_int(width, "widths") for width in widths)
    if len(checked) < 2:
        raise invalid("widths", "at least two: of the input and of the output", list(checked))
    return checked


def _response(operator: SymmetricOperator) -> Any:
    assert isinstance(operator, Kernel)
    return operator.response


def _common_eigenvectors(kernels: Sequence[SymmetricOperator]) -> Any:
    vectors: Any = None
    for kernel in kernels:
        pairs = kernel.eigenpairs if isinstance(kernel, Kernel) else None
        if pairs is None:
            form = kernel.form if isinstance(kernel, Kernel) else type(kernel).__name__
            raise invalid("kernels", "kernels with a rank", f"form {form!r}")
        if vectors is not None and pairs.eigenvectors is not vectors:
            got = "different ones; give lowrankgcn.kernel the filters as one list"
            raise invalid("kernels", "kernels of the same eigenpairs", got)
        vectors = pairs.eigenvectors
    return vectors

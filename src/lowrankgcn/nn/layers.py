"""Layers: the spectral convolution X ↦ Σ_k 𝒦^(k) X Θ^(k) (equation 2), and activations.

>>> import lowrankgcn as lg, torch
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
>>> conv = lg.nn.SpectralConv(lg.kernel(L, ["linear", "heat"]), 4, 2)
>>> tuple(conv.weight.shape), tuple(conv(torch.ones(3, 4)).shape)
((2, 4, 2), (3, 2))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from lowrankgcn._validation import choice, invalid, node_index, positive_int
from lowrankgcn.nn.propagation import Propagation
from lowrankgcn.nn.to_torch import as_propagations
from lowrankgcn.operators import SymmetricOperator

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
class SpectralConv(nn.Module):
    r"""Graph convolution with fixed kernels and trained weights.

    .. math:: X' = \sum_{k=1}^{K} \mathcal{K}^{(k)} X \Theta^{(k)} + \mathbf{1} b^T

    (equation 2 without its activation; the bias b is an addition to the paper).

    Parameters
    ----------
    kernels : Kernel, sequence of Kernel, Propagation or ModuleList of Propagation
        The K kernels. Modules are not copied, so that several layers can share them.
    in_width, out_width : int
        Numbers of features N_in and N_out.
    bias : bool
        Whether to add b.
    dtype : torch.float32 or torch.float64
        Type of weights and kernels; modules given as `kernels` keep theirs.
    generator : torch.Generator, optional
        Source of the initial weights; torch's global one when omitted.

    Attributes
    ----------
    weight : (K, N_in, N_out) Parameter
    bias : (N_out,) Parameter or None
    propagations : ModuleList
        The kernels as modules. Their buffers are not part of the ``state_dict``.

    Raises
    ------
    ValueError
        If an argument has the wrong type or size.

    See Also
    --------
    GCN : Network of such layers.
    lowrankgcn.kernel : Builds kernels.

    Notes
    -----
    The weights of each kernel start uniform in :math:`\pm\sqrt{6/(N_{in}+N_{out})}` (Glorot,
    section A4.3), the bias at zero.

    Kernels are applied before or after the weights, whichever is narrower: K products of a kernel
    with min(N_in, N_out) columns, and O(n K N_in N_out) for the weights.

    Examples
    --------
    >>> import lowrankgcn as lg, torch
    >>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
    >>> conv = lg.nn.SpectralConv(lg.kernel(L, "linear"), 4, 2, bias=True)
    >>> conv(torch.ones(3, 4), rows=[0, 2]).shape
    torch.Size([2, 2])
    """

    propagations: Sequence[Propagation]
    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(
        self,
        kernels: SymmetricOperator | Sequence[SymmetricOperator] | Propagation | nn.ModuleList,
        in_width: int,
        out_width: int,
        *,
        bias: bool = False,
        dtype: torch.dtype = torch.float32,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.in_width = positive_int(in_width, "in_width")
        self.out_width = positive_int(out_width, "out_width")
        if not isinstance(bias, bool):
            raise invalid("bias", "True or False", repr(bias))
        if generator is not None and not isinstance(generator, torch.Generator):
            raise invalid("generator", "a torch.Generator or None", repr(generator))
        self.propagations = as_propagations(kernels, dtype=dtype)  # type: ignore[assignment]
        shape = (len(self.propagations), self.in_width, self.out_width)
        self.weight = nn.Parameter(torch.empty(shape, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(self.out_width, dtype=dtype)) if bias else None
        self.reset_parameters(generator)

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.propagations[0].n

    def draw_weight(self, generator: torch.Generator | None = None) -> Tensor:
        """Draw initial weights.

        They are drawn in float64 on the generator's device and rounded, so that a seed gives the
        same weights in every precision.
        """
        bound = math.sqrt(6.0 / (self.in_width + self.out_width))
        source = torch.device("cpu") if generator is None else generator.device
        drawn = torch.empty(self.weight.shape, dtype=torch.float64, device=source)
        return drawn.uniform_(-bound, bound, generator=generator).to(self.weight)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights and set the bias to zero."""
        with torch.no_grad():
            self.weight.copy_(self.draw_weight(generator))
            if self.bias is not None:
                self.bias.zero_()

    def forward(self, X: Tensor, rows: Any = None) -> Tensor:
        """Compute Σ_k 𝒦^(k) X Θ^(k) + 1bᵀ, or selected rows of it.

        Parameters
        ----------
        X : (n, N_in) Tensor
        rows : (p,) integers or (n,) mask, optional
            Rows of the result to compute; all when omitted.

        Returns
        -------
        (n, N_out) or (p, N_out) Tensor
        """
        check_block(X, self.n, self.in_width, self.weight.dtype)
        index = None if rows is None else as_index(rows, self.n, X.device)
        product = convolve(self.propagations, X, self.weight, index)
        return product if self.bias is None else product + self.bias

    def extra_repr(self) -> str:
        """Return widths, number of kernels and bias for the printed network."""
        widths = f"{self.in_width} → {self.out_width}"
        return f"{widths}, kernels={len(self.propagations)}, bias={self.bias is not None}"


def convolve(
    propagations: Sequence[Propagation], X: Tensor, weight: Tensor, rows: Tensor | None = None
) -> Tensor:
    """Compute Σ_k 𝒦^(k) X Θ^(k), or selected rows of it, for weights (K, N_in, N_out)."""
    if weight.shape[1] <= weight.shape[2]:
        parts = [propagate(X, rows) for propagate in propagations]
        return torch.cat(parts, dim=1) @ weight.flatten(0, 1)
    first, *others = (
        propagate(X @ part, rows) for propagate, part in zip(propagations, weight, strict=True)
    )
    return sum(others, first)


def as_activation(activation: Any) -> Callable[[Tensor], Tensor]:
    """Return the module of a name of ``ACTIVATIONS``; return a module or a function as it is.

    Examples
    --------
    >>> as_activation("relu")(torch.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    if isinstance(activation, str):
        return ACTIVATIONS[choice(activation, "activation", ACTIVATIONS)]()
    if not callable(activation) or isinstance(activation, type):
        names = ", ".join(map(repr, ACTIVATIONS))
        raise invalid("activation", f"one of {names}, a Module or a function", repr(activation))
    function: Callable[[Tensor], Tensor] = activation
    return function


def as_index(index: Any, n: int, device: torch.device, name: str = "rows") -> Tensor:
    """Return integers or a mask (tensor, array or list) as an index tensor into ``range(n)``."""
    array = index.detach().cpu().numpy() if isinstance(index, Tensor) else index
    return torch.as_tensor(node_index(array, name, n), dtype=torch.long, device=device)


def check_block(X: Any, n: int, width: int, dtype: torch.dtype, name: str = "X") -> None:
    """Reject anything but a dense tensor (n, width) of the network's data type."""
    expected = f"a dense tensor of shape ({n}, {width})"
    if not isinstance(X, Tensor) or X.layout != torch.strided:
        raise invalid(name, expected, getattr(X, "layout", type(X).__name__))
    if X.shape != (n, width):
        raise invalid(name, expected, f"shape {tuple(X.shape)}")
    if X.dtype != dtype:
        raise invalid(name, f"{dtype} like the network", X.dtype)

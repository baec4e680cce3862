"""A spectral graph convolution, the layer of both networks.

>>> import lowrankgcn as lg, torch
>>> path = lg.AdjacencyGraph.from_edge_index([[0, 1], [1, 2]])
>>> layer = SpectralConv(lg.kernel(lg.Laplacian(path), "linear"), 3, 2)
>>> layer(torch.eye(3)).shape
torch.Size([3, 2])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from lowrankgcn._validation import invalid, node_index, positive_int
from lowrankgcn.nn.conversion import as_propagations
from lowrankgcn.nn.inputs import SparseInput
from lowrankgcn.nn.propagation import Propagation
from lowrankgcn.operators import SymmetricOperator


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

    def convolve(self, X: Any, rows: Tensor | None = None) -> Tensor:
        """Compute Σ_k 𝒦^(k) X Θ^(k), or selected rows of it, without the bias."""
        if self.in_width <= self.out_width and isinstance(X, Tensor):
            parts = [propagate(X, rows) for propagate in self.propagations]
            return torch.cat(parts, dim=1) @ self.weight.flatten(0, 1)
        pairs = zip(self.propagations, self.weight, strict=True)
        first, *others = (propagate(X @ part, rows) for propagate, part in pairs)
        return sum(others, first)

    def forward(self, X: Tensor | SparseInput, rows: Any = None) -> Tensor:
        """Compute Σ_k 𝒦^(k) X Θ^(k) + 1bᵀ, or selected rows of it.

        Parameters
        ----------
        X : (n, N_in) Tensor or SparseInput
        rows : (p,) integers or (n,) mask, optional
            Rows of the result to compute; all when omitted.

        Returns
        -------
        (n, N_out) or (p, N_out) Tensor
        """
        n = self.propagations[0].n
        check_block(X, n, self.in_width, self.weight.dtype)
        product = self.convolve(X, as_index(rows, n, self.weight.device))
        return product if self.bias is None else product + self.bias

    def extra_repr(self) -> str:
        """Return widths, number of kernels and bias for the printed network."""
        widths = f"{self.in_width} → {self.out_width}"
        return f"{widths}, kernels={len(self.propagations)}, bias={self.bias is not None}"


def as_index(index: Any, n: int, device: torch.device, name: str = "rows") -> Any:
    """Return integers or a mask as an index tensor into ``range(n)``; None remains."""
    if index is None:
        return None
    array = index.detach().cpu().numpy() if isinstance(index, Tensor) else index
    return torch.as_tensor(node_index(array, name, n), dtype=torch.long, device=device)


def check_block(X: Any, n: int, width: int, dtype: torch.dtype) -> None:
    """Reject anything but a dense tensor or sparse input (n, width) of the network's data type."""
    known = isinstance(X, SparseInput) or (isinstance(X, Tensor) and X.layout == torch.strided)
    if not known or X.shape != (n, width) or X.dtype != dtype:
        got = f"{X.dtype} of shape {tuple(X.shape)}" if known else type(X).__name__
        raise invalid("X", f"a dense tensor of shape ({n}, {width}) and type {dtype}", got)

"""The spectral convolution X ↦ Σ_k 𝒦^(k) X Θ^(k) (equation 2) as a torch module.

>>> import lowrankgcn as lg, torch
>>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
>>> conv = lg.nn.SpectralConv(lg.kernel(L, ["linear", "heat"]), 4, 2)
>>> tuple(conv.weight.shape), tuple(conv(torch.ones(3, 4)).shape)
((2, 4, 2), (3, 2))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

import torch
from torch import Tensor, nn

from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.nn.border import as_propagations
from lowrankgcn.nn.linear_map import as_index, checked_block, checked_dtype
from lowrankgcn.nn.propagation import LowRankPropagation, Propagation
from lowrankgcn.operators import SymmetricOperator

__all__ = ["SpectralConv"]


@final
class SpectralConv(nn.Module):
    r"""Graph convolution with fixed kernels and trained weights.

    .. math:: X' = \sum_{k=1}^{K} \mathcal{K}^{(k)} X \Theta^{(k)} + \mathbf{1} b^T

    (equation 2 without its activation; the bias b is an addition to the paper).

    Parameters
    ----------
    kernels : Kernel, sequence of Kernel, Propagation or ModuleList of Propagation
        The K kernels. Modules are taken as they are, so that several layers share them.
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
        The kernels in torch. Their buffers are not part of the ``state_dict``.

    Raises
    ------
    ValueError
        If an argument has the wrong type or size.

    Notes
    -----
    The weights of each kernel start uniform in :math:`\pm\sqrt{6/(N_{in}+N_{out})}` (Glorot,
    section A4.3), the bias at zero.

    Of the orders in which the product can be taken the one with the fewest multiplications is: the
    kernels first or the weights first, K products of a kernel with min(N_in, N_out) columns and
    O(n K N_in N_out) for the weights; or, where all kernels are diag(d_k) + Z M_k Zᵀ with one Z,
    the weights between Zᵀ and Z, O(n m (N_in + N_out)) whatever K is.

    Examples
    --------
    >>> import lowrankgcn as lg, torch
    >>> L = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
    >>> conv = lg.nn.SpectralConv(lg.kernel(L, "linear"), 4, 2, bias=True)
    >>> conv(torch.ones(3, 4), rows=[0, 2]).shape
    torch.Size([2, 2])
    """

    propagations: nn.ModuleList
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
        checked_dtype(dtype)
        self.in_width = positive_int(in_width, "in_width")
        self.out_width = positive_int(out_width, "out_width")
        if not isinstance(bias, bool):
            raise invalid("bias", "True or False", repr(bias))
        self.propagations = _as_modules(kernels, dtype)
        shape = (len(self.propagations), self.in_width, self.out_width)
        self.weight = nn.Parameter(torch.empty(shape, dtype=dtype))
        self.bias = nn.Parameter(torch.empty(self.out_width, dtype=dtype)) if bias else None
        self.reset_parameters(generator)

    @property
    def n(self) -> int:
        """Number of nodes."""
        first = self.propagations[0]
        assert isinstance(first, Propagation)
        return first.n

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the weights anew and set the bias to zero.

        Weights are drawn in float64 on the generator's device and rounded, so that a seed means the
        same start in every precision.
        """
        bound = math.sqrt(6.0 / (self.in_width + self.out_width))
        source = torch.device("cpu") if generator is None else generator.device
        drawn = torch.rand(
            self.weight.shape, dtype=torch.float64, device=source, generator=generator
        )
        with torch.no_grad():
            self.weight.copy_(bound * (2.0 * drawn - 1.0))
            if self.bias is not None:
                self.bias.zero_()

    def forward(self, X: Tensor, rows: Any = None) -> Tensor:
        """Σ_k 𝒦^(k) X Θ^(k) + 1bᵀ, or its selected rows.

        Parameters
        ----------
        X : (n, N_in) Tensor
        rows : (p,) integers or (n,) mask, optional
            Rows of the result to compute; all when omitted.

        Returns
        -------
        (n, N_out) or (p, N_out) Tensor
        """
        product = self.convolve(X, rows)
        return product if self.bias is None else product + self.bias

    def convolve(self, X: Tensor, rows: Any = None) -> Tensor:
        """Σ_k 𝒦^(k) X Θ^(k) without the bias; arguments as for calling the module."""
        checked_block(X, self.n, self.in_width, self.weight.dtype)
        index = None if rows is None else as_index(rows, self.n, X.device)
        factored = _in_common(self.propagations)
        if factored and self._prefers_factor(factored):
            return self._through_factor(factored, X, index)
        if self.in_width <= self.out_width:
            parts = [_apply(module, X, index) for module in self.propagations]
            return torch.cat(parts, dim=1) @ self.weight.flatten(0, 1)
        product = _apply(self.propagations[0], X @ self.weight[0], index)
        for module, weight in zip(self.propagations[1:], self.weight[1:], strict=True):
            product = product + _apply(module, X @ weight, index)
        return product

    def _prefers_factor(self, kernels: list[LowRankPropagation]) -> bool:
        """Whether the shared factor takes fewer multiplications per node than kernel by kernel."""
        work, mixing = kernels[0].factor.work, self.in_width * self.out_width
        with_offset = sum(kernel.offset is not None for kernel in kernels)
        joint = work * (self.in_width + self.out_width) + with_offset * mixing
        narrow = min(self.in_width, self.out_width)
        return joint < len(kernels) * (2.0 * work * narrow + mixing)

    def _through_factor(
        self, kernels: list[LowRankPropagation], X: Tensor, index: Tensor | None
    ) -> Tensor:
        """Z Σ_k M_k (ZᵀX) Θ_k + Σ_k diag(d_k) X Θ_k with the factor Z that all kernels share."""
        factor = kernels[0].factor
        coefficients = factor.adjoint(X)
        parts = [kernel.core_product(coefficients) for kernel in kernels]
        small = torch.cat(parts, dim=1) @ self.weight.flatten(0, 1)
        product: Tensor = factor(small) if index is None else factor.rows(index, small)
        for kernel, weight in zip(kernels, self.weight, strict=True):
            if kernel.offset is not None:
                offset, block = kernel.offset[:, None], X
                if index is not None:
                    offset, block = offset[index], X[index]
                product = product + offset * (block @ weight)
        return product

    def extra_repr(self) -> str:
        """Widths, number of kernels and bias, as they appear in the printed network."""
        kernels = len(self.propagations)
        bias = self.bias is not None
        return f"{self.in_width} → {self.out_width}, kernels={kernels}, bias={bias}"


def _apply(module: nn.Module, X: Tensor, index: Tensor | None) -> Tensor:
    assert isinstance(module, Propagation)
    product: Tensor = module(X) if index is None else module.rows(index, X)
    return product


def _in_common(modules: nn.ModuleList) -> list[LowRankPropagation]:
    """The kernels if all are of low rank over one factor, otherwise none."""
    kernels = [module for module in modules if isinstance(module, LowRankPropagation)]
    shared = len({id(kernel.factor) for kernel in kernels}) == 1
    return kernels if shared and len(kernels) == len(modules) else []


def _as_modules(kernels: Any, dtype: torch.dtype) -> nn.ModuleList:
    if isinstance(kernels, Propagation):
        return nn.ModuleList([kernels])
    if not isinstance(kernels, nn.ModuleList):
        return as_propagations(kernels, dtype=dtype)
    known = [module for module in kernels if isinstance(module, Propagation)]
    if not known or len(known) < len(kernels):
        raise invalid("kernels", "at least one Propagation and nothing else", repr(kernels))
    sizes = sorted({module.n for module in known})
    if len(sizes) > 1:
        raise invalid("kernels", "kernels of one graph", f"{sizes} nodes")
    return kernels

"""Arrays of several shapes in one piece of memory: elementwise work on all of them is one call.

An iteration of a small network spends its time on starting operations, not on numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from torch import Tensor

__all__ = ["Stacked"]


@final
@dataclass(frozen=True, eq=False)
class Stacked:
    """The parameters of s restarts, or anything of their shapes.

    Attributes
    ----------
    flat : (P,) Tensor
        All numbers, one array after the other.
    views : tuple of Tensor
        The arrays; the restart is the first dimension of each.
    by_column : bool
        Whether the first array (s, N, q) is stored with q as its slowest dimension.
    """

    flat: Tensor
    views: tuple[Tensor, ...]
    by_column: bool

    @staticmethod
    def of(tensors: Sequence[Tensor], *, by_column: bool = False) -> Stacked:
        """Copies of some arrays in one piece.

        Examples
        --------
        >>> import torch
        >>> stacked = Stacked.of([torch.ones(1, 2, 2), torch.zeros(1, 3)])
        >>> stacked.flat.add_(1.0)
        tensor([2., 2., 2., 2., 1., 1., 1.])
        >>> stacked.views[1]
        tensor([[1., 1., 1.]])
        """
        flat = tensors[0].new_empty(sum(tensor.numel() for tensor in tensors))
        views, start = [], 0
        for i, tensor in enumerate(tensors):
            part = flat[start : start + tensor.numel()]
            start += tensor.numel()
            if by_column and i == 0:
                s, width, q = tensor.shape
                views.append(part.view(q, s, width).permute(1, 2, 0))
            else:
                views.append(part.view(tensor.shape))
            views[-1].copy_(tensor)
        return Stacked(flat, tuple(views), by_column)

    def zeros(self) -> Stacked:
        """Zeros of the same shapes and layout."""
        result = Stacked.of(self.views, by_column=self.by_column)
        result.flat.zero_()
        return result

    def select(self, restarts: Tensor) -> list[Tensor]:
        """The arrays of some of the restarts."""
        return [view[restarts] for view in self.views]

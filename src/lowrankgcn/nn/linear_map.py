"""Fixed linear maps inside autograd, and the checks that tensors pass on their way in.

A product with a matrix that is not trained needs no record of what was multiplied: its gradient is
the product with the transposed matrix. One autograd function serves sparse matrices and products
that NumPy does:

>>> import torch
>>> A = torch.tensor([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])
>>> X = torch.ones(2, 1, requires_grad=True)
>>> linear_map(X, lambda X: A @ X, lambda G: A.T @ G).sum().backward()
>>> X.grad.tolist() == A.sum(dim=0)[:, None].tolist()
True
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._validation import invalid, node_index

__all__ = [
    "Shared",
    "as_index",
    "as_tensor",
    "checked_block",
    "checked_dtype",
    "linear_map",
    "through_numpy",
]

T = TypeVar("T")
Product = Callable[[Tensor], Tensor]

_DTYPES = (torch.float32, torch.float64)


@final
@dataclass(frozen=True, eq=False)
class Shared(Generic[T]):
    """A set-up object that copies of a module share: frozen, and as large as the graph."""

    value: T

    def __deepcopy__(self, memo: dict[int, Any]) -> Shared[T]:
        return self


class _LinearMap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Tensor, product: Product, adjoint: Product) -> Tensor:
        ctx.product, ctx.adjoint = product, adjoint
        return product(X)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        # Through the function itself, so that gradients of gradients exist.
        return linear_map(gradients[0], ctx.adjoint, ctx.product), None, None


def linear_map(X: Tensor, product: Product, adjoint: Product) -> Tensor:
    """A X with the gradient Aᵀ G, for a fixed matrix A known by its two products.

    Parameters
    ----------
    X : (m, k) Tensor
    product, adjoint : callable
        X ↦ A X and G ↦ Aᵀ G; neither is recorded by autograd.

    Returns
    -------
    (n, k) Tensor
    """
    result: Tensor = _LinearMap.apply(X, product, adjoint)  # type: ignore[no-untyped-call]
    return result


def through_numpy(X: Tensor, product: Callable[[NDArray[np.float64]], Any], rows: int) -> Tensor:
    """Apply a NumPy product in float64 on the CPU and come back to the type and device of X.

    Where X is not finite the result is NaN throughout, as a dense product would (nearly) give,
    instead of the error with which the NumPy side refuses such input.
    """
    array = X.detach().to("cpu", torch.float64).numpy()
    if not np.isfinite(array).all():
        return X.new_full((rows, X.shape[1]), torch.nan)
    return torch.as_tensor(np.ascontiguousarray(product(array))).to(X)


def as_tensor(array: Any, dtype: torch.dtype, *, share: bool = False) -> Tensor:
    """Copy an array into a tensor of its own: set-up arrays are shared and must not change.

    With `share` the tensor may have the memory of the array; whoever asks for it does not write.
    """
    given = np.asarray(array)
    if share and given.flags.writeable:  # torch has no tensors that cannot be written
        return torch.from_numpy(given).to(dtype)
    return torch.tensor(given).to(dtype)


def as_index(index: Any, n: int, device: torch.device, name: str = "rows") -> Tensor:
    """Integers or a mask, as a tensor, array or list, as an index tensor into ``range(n)``."""
    array = index.detach().cpu().numpy() if isinstance(index, Tensor) else index
    return torch.as_tensor(node_index(array, name, n), dtype=torch.long, device=device)


def checked_dtype(dtype: Any, name: str = "dtype") -> torch.dtype:
    """Return `dtype` if networks compute in it."""
    if dtype not in _DTYPES:
        raise invalid(name, "torch.float32 or torch.float64", repr(dtype))
    checked: torch.dtype = dtype
    return checked


def checked_block(
    X: Any, n: int, width: int | None, dtype: torch.dtype | None = None, name: str = "X"
) -> Tensor:
    """Return `X` if it is a dense real tensor (n, width) of the network's data type."""
    expected = f"a dense tensor of shape ({n}, {'k' if width is None else width})"
    if not isinstance(X, Tensor):
        raise invalid(name, expected, type(X).__name__)
    if X.layout != torch.strided:
        raise invalid(name, expected, f"layout {X.layout}")
    if X.ndim != 2 or X.shape[0] != n or (width is not None and X.shape[1] != width):
        raise invalid(name, expected, f"shape {tuple(X.shape)}")
    if dtype is not None and X.dtype != dtype:
        raise invalid(name, f"{dtype} like the network", X.dtype)
    return X

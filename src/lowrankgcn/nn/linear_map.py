"""Fixed linear maps inside autograd, and checks of tensors.

The gradient of a product with a fixed matrix is the product with the transposed matrix. One
autograd function serves sparse matrices and products by NumPy:

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
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._validation import invalid, node_index

Product = Callable[[Tensor], Tensor]


@final
@dataclass(frozen=True, eq=False)
class Shared:
    """A frozen set-up object, as large as the graph, that copies of a module share."""

    value: Any

    def __deepcopy__(self, memo: dict[int, Any]) -> Shared:
        return self


class _LinearMap(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, X: Tensor, product: Product, adjoint: Product) -> Tensor:
        ctx.product, ctx.adjoint = product, adjoint
        return product(X)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        # Differentiable itself, so that gradients of gradients exist.
        return linear_map(gradients[0], ctx.adjoint, ctx.product), None, None


def linear_map(X: Tensor, product: Product, adjoint: Product) -> Tensor:
    """Compute A X with the gradient Aᵀ G, for a fixed matrix A given by its two products.

    Parameters
    ----------
    X : (m, k) Tensor
    product, adjoint : callable
        X ↦ A X and G ↦ Aᵀ G; autograd records neither.

    Returns
    -------
    (n, k) Tensor
    """
    result: Tensor = _LinearMap.apply(X, product, adjoint)  # type: ignore[no-untyped-call]
    return result


def through_numpy(X: Tensor, product: Callable[[NDArray[np.float64]], Any], rows: int) -> Tensor:
    """Apply a NumPy product in float64 on the CPU; return it in the type and on the device of X.

    If X is not finite, all of the result is NaN, similar to a dense product. NumPy operators raise
    an error for such input.
    """
    array = X.detach().to("cpu", torch.float64).numpy()
    if not np.isfinite(array).all():
        return X.new_full((rows, X.shape[1]), torch.nan)
    return torch.as_tensor(np.ascontiguousarray(product(array))).to(X)


def as_tensor(array: Any, dtype: torch.dtype, *, share: bool = False) -> Tensor:
    """Copy an array into a new tensor, because set-up arrays are shared and must not change.

    With `share` the tensor may use the memory of the array and must not be written to.
    """
    given = np.asarray(array)
    if share and given.flags.writeable:  # torch warns about read-only arrays
        return torch.from_numpy(given).to(dtype)
    return torch.tensor(given).to(dtype)


def as_index(index: Any, n: int, device: torch.device, name: str = "rows") -> Tensor:
    """Return integers or a mask (tensor, array or list) as an index tensor into ``range(n)``."""
    array = index.detach().cpu().numpy() if isinstance(index, Tensor) else index
    return torch.as_tensor(node_index(array, name, n), dtype=torch.long, device=device)


def check_dtype(dtype: Any) -> None:
    """Reject types that networks do not compute in."""
    if dtype not in (torch.float32, torch.float64):
        raise invalid("dtype", "torch.float32 or torch.float64", repr(dtype))


def check_block(X: Any, n: int, width: int | None, dtype: torch.dtype, name: str = "X") -> None:
    """Reject anything but a dense tensor (n, width) of the network's data type."""
    expected = f"a dense tensor of shape ({n}, {'k' if width is None else width})"
    if not isinstance(X, Tensor) or X.layout != torch.strided:
        raise invalid(name, expected, getattr(X, "layout", type(X).__name__))
    if X.ndim != 2 or X.shape[0] != n or (width is not None and X.shape[1] != width):
        raise invalid(name, expected, f"shape {tuple(X.shape)}")
    if X.dtype != dtype:
        raise invalid(name, f"{dtype} like the network", X.dtype)

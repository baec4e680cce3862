"""The call shape of all eigensolvers: Laplacian and :class:`Request` in, :class:`Solution` out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import worthwhile_threads
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.factors import sum_over_rows
from lowrankgcn.spectral.laplacian import CHUNK_ROWS

Built = tuple[NDArray[Any], FloatArray]

# Outside the null space every eigenvalue is positive; rounding must not make it zero or negative.
SMALLEST = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, eq=False)
class Request:
    """The pairs to compute and how; see :func:`lowrankgcn.eigenpairs`.

    Attributes
    ----------
    tol : float
        Largest residual.
    count : int
        Number of pairs outside the null space. Direct solvers compute all of them.
    largest : bool
        Whether to compute the largest pairs instead of the smallest.
    method : str
        Name of the solver, or "auto".
    random_state, max_iter, dtype
        As for :func:`lowrankgcn.eigenpairs`.
    start : (n, q) array or None
        A guess of the eigenspace outside the null space.
    """

    tol: float
    count: int = 0
    largest: bool = False
    method: str = "auto"
    random_state: int = 0
    max_iter: int | None = None
    dtype: Any = np.float64
    start: NDArray[Any] | None = None


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """Eigenvalues outside the null space; eigenvectors are built on demand.

    Attributes
    ----------
    values : (p,) array
        Ascending.
    method : str
        Name of the solver.
    build : callable
        ``build(index, dtype, lead=0)`` returns the eigenvectors of the given numbers, after `lead`
        unset columns, shape (n, lead + len(index)), and their residuals. The array may belong to
        the solution.
    products : int
        Number of vectors that were multiplied with the operator.
    complete : bool
        Whether `values` and the bulk are all eigenvalues outside the null space.
    bulk_value, bulk_count : float, int
        One further eigenvalue whose eigenvectors are arbitrary and never built (1 for hypergraphs).
    """

    values: FloatArray
    method: str
    build: Callable[..., Built]
    products: int = 0
    complete: bool = False
    bulk_value: float = 0.0
    bulk_count: int = 0

    @property
    def distinct(self) -> list[float]:
        """All known eigenvalues, the bulk once."""
        return [*self.values.tolist(), *[self.bulk_value] * bool(self.bulk_count)]


def stored_solution(
    values: FloatArray,
    vectors: NDArray[Any],
    residuals: FloatArray,
    method: str,
    products: int,
    room: int = 0,
) -> Solution:
    """Return a solution whose eigenvectors are columns of an array, after `room` unused ones."""

    def build(index: NDArray[np.intp], dtype: Any, lead: int = 0) -> Built:
        if lead <= room and np.array_equal(index, np.arange(len(index))):
            first = slice(room - lead, room + len(index))  # without a copy
            return vectors[:, first].astype(dtype, copy=False), residuals[index]
        chosen = np.empty((len(vectors), lead + len(index)), dtype)
        chosen[:, lead:] = vectors[:, room + index]
        return chosen, residuals[index]

    return Solution(values, method, build, products)


def sum_rows(term: Callable[[int, int], NDArray[Any]], n: int) -> FloatArray:
    """Sum ``term(start, stop)`` over chunks of rows of vectors."""
    return sum_over_rows(term, n, CHUNK_ROWS, n_threads=worthwhile_threads(64 * n))

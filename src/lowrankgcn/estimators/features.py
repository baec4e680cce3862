"""Features of the fitted rows, computed from table codes without storing indicator columns.

A table with a thousand categories has a thousand indicator columns. Training needs some of their
rows and products with narrow matrices. The codes give these: sums of gathered rows for X W, sums
over the rows of each category for UᵀX, and a rank-one correction for the means of the columns.

>>> import pandas as pd, torch
>>> from lowrankgcn import Hypergraph
>>> from lowrankgcn.estimators.inputs import TableInputs
>>> table = pd.DataFrame({"colour": ["red", "red", "blue"] * 2, "size": [1, 2, 3, 4, 5, 6]})
>>> graph = Hypergraph.from_table(table)
>>> features = TableFeatures.from_table(TableInputs.fit(table, graph), table, graph)
>>> features.take(torch.tensor([0, 5])).round(decimals=2)
tensor([[-0.3300,  0.3300, -1.4600],
        [ 0.6700, -0.6700,  1.4600]], dtype=torch.float64)
>>> torch.allclose(features.times(torch.eye(3).double()), features.dense())
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from torch import Tensor

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.estimators.inputs import TableInputs
from lowrankgcn.graphs import Hypergraph
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.training import Features, Nodes

__all__ = ["CHUNK_ROWS", "ScaledFeatures", "TableFeatures"]

#: Rows that a thread processes at a time; gathering rows of features is faster in large chunks.
CHUNK_ROWS = 65536


@final
@dataclass(frozen=True, eq=False)
class TableFeatures(Features):
    """Centred indicators of categories and standardised numbers of a table, in double precision.

    Attributes
    ----------
    inputs : TableInputs
    incidence : CodeFactor
        Incidence H, stored as codes.
    numbers : (n, k) array
        Standardised numeric columns.

    Notes
    -----
    Memory is that of the codes and numbers; with g groups of columns (:class:`CodeFactor`) UᵀX and
    X W cost O(n g r) and O(n g k), independent of the number of categories.
    """

    inputs: TableInputs
    incidence: CodeFactor
    numbers: FloatArray

    @classmethod
    def from_table(cls, inputs: TableInputs, X: Any, graph: Hypergraph) -> TableFeatures:
        """Build the features of the table X that `graph` was built from."""
        assert isinstance(graph.incidence, CodeFactor)
        return cls(inputs, graph.incidence, inputs.standardised(X))

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, N₀)."""
        return self.incidence.shape[0], self.inputs.width

    def take(self, index: Tensor) -> Tensor:
        """Return the rows X[index], shape (p, N₀)."""
        rows = index.cpu().numpy()
        features = self.inputs.features_from_codes(self.incidence.codes[rows], self.numbers[rows])
        return torch.from_numpy(features)

    def inner(self, U: Tensor) -> Tensor:
        """Compute UᵀX, shape (r, N₀), for U of shape (n, r)."""
        vectors = U.cpu().numpy()

        def term(start: int, stop: int) -> FloatArray:
            part = vectors[start:stop].astype(np.float64, copy=False)
            return np.column_stack([part.sum(axis=0), part.T @ self.numbers[start:stop]])

        rest: FloatArray = np.sum(map_chunks(term, len(vectors), CHUNK_ROWS), axis=0)
        sums = self.incidence.transpose_product(vectors)[self.inputs.shown]
        indicators = sums - np.outer(self.inputs.means, rest[:, 0])
        return torch.from_numpy(np.column_stack([indicators.T, rest[:, 1:]]))

    def times(self, weight: Tensor) -> Tensor:
        """Compute X W, shape (n, k), for W of shape (N₀, k), in the type of W."""
        given = weight.detach().cpu().numpy()
        table, rest = self.inputs.hyperedge_weights(given)
        product = self.incidence.matmul(table, dtype=given.dtype)
        product -= (self.inputs.means @ table[self.inputs.shown]).astype(given.dtype)
        for start, stop in chunks(len(product), CHUNK_ROWS) if len(rest) else ():
            product[start:stop] += (self.numbers[start:stop] @ rest).astype(given.dtype)
        return torch.from_numpy(product).to(weight.device)

    def part(self, start: int, stop: int) -> TableFeatures:
        """Return the rows start, …, stop − 1, in the same memory."""
        codes = CodeFactor(self.incidence.codes[start:stop], self.incidence.n_hyperedges)
        return TableFeatures(self.inputs, codes, self.numbers[start:stop])

    def dense(self) -> Tensor:
        """Return all of X."""
        return self.take(torch.arange(self.shape[0]))

    def square_sum(self) -> float:
        """Sum of the squares of all entries."""
        counts, means = self.incidence.counts()[self.inputs.shown], self.inputs.means
        indicators = counts * (1 - 2 * means) + len(self.numbers) * means**2
        return float(indicators.sum() + np.vdot(self.numbers, self.numbers))


@final
@dataclass(frozen=True, eq=False)
class ScaledFeatures(Features):
    """Features of one candidate: scaled, in its dtype, with precomputed UᵀX.

    Attributes
    ----------
    base : Features
        Features in double precision.
    scale : float
    known : (r, N_0) array or None
        Precomputed UᵀX before scaling, for the eigenvectors U of the candidate.
    like : Tensor
        Tensor with the dtype and device of the results.
    """

    base: Features
    scale: float
    known: FloatArray | None
    like: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """The pair (n, N₀)."""
        return self.base.shape

    def take(self, index: Tensor) -> Tensor:
        """Return the rows X[index], shape (p, N₀)."""
        return (self.scale * self.base.take(index.cpu())).to(self.like)

    def inner(self, U: Tensor) -> Tensor:
        """Compute UᵀX, shape (r, N₀), for U of shape (n, r)."""
        if self.known is None:
            return (self.scale * self.base.inner(U)).to(self.like)
        assert len(self.known) == U.shape[1]
        return torch.from_numpy(self.scale * self.known).to(self.like)

    def times(self, weight: Tensor) -> Tensor:
        """Compute X W, shape (n, k), for W of shape (N₀, k), in the type of W."""
        return self.base.times((self.scale * weight).cpu()).to(weight.device)

    def dense(self) -> Tensor:
        """Return all of X."""
        return self.base.dense().to(self.like) * self.scale

    def square_sum(self) -> float:
        """Sum of the squares of all entries."""
        return self.scale**2 * self.base.square_sum()

    @property
    def nodes(self) -> Nodes | None:
        """Nodes of rows in blocks, if X stands for them."""
        return self.base.nodes

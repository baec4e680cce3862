"""Rows of the eigenvectors of a table, computed from a block.

The eigenvectors of all n rows are never stored. Workers compute the rows of U of a block from a
small value.

>>> import dask.dataframe as dd
>>> import lowrankgcn as lg
>>> from lowrankgcn.distributed.spectrum import HyperedgeSpectrum
>>> from lowrankgcn.distributed.blocks import Blocks
>>> from lowrankgcn.distributed.counts import count_table
>>> from lowrankgcn.distributed.encoding import fit_table
>>> cars = lg.datasets.load_cars(as_frame=True)
>>> blocks = Blocks.from_collection(dd.from_pandas(cars.data, npartitions=3))
>>> fitted = fit_table(blocks)
>>> pairs = HyperedgeSpectrum(count_table(blocks, fitted)[0]).smallest(16)
>>> vectors = TableVectors(fitted.encoder, pairs)
>>> U = vectors.rows(cars.data)
>>> U.shape, bool(abs(U.T @ U - np.eye(16)).max() < 1e-12)
((1728, 16), True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from dask.delayed import Delayed, delayed

from lowrankgcn.distributed.blocks import Blocks, run_task
from lowrankgcn.distributed.spectrum import HyperedgePairs
from lowrankgcn.graphs import TableEncoder
from lowrankgcn.operators import FloatArray
from lowrankgcn.operators.codes import CodeFactor

__all__ = ["EigenvectorRows", "TableVectors", "vector_blocks"]


class EigenvectorRows(Protocol):
    """Small value from which workers compute the eigenvectors of any rows.

    Attributes
    ----------
    rank : int
        Number of eigenvectors r.
    """

    @property
    def rank(self) -> int:
        """Number of eigenvectors r."""

    def rows(self, block: Any) -> FloatArray:
        """Return U of the rows of a block, shape (n_b, r), with the signs used in training."""


@final
@dataclass(frozen=True, eq=False)
class TableVectors:
    """Eigenvectors of a table, U = D^{-1/2} H Q.

    Attributes
    ----------
    encoder : TableEncoder
    pairs : HyperedgePairs
        With the coefficients Q.
    """

    encoder: TableEncoder
    pairs: HyperedgePairs

    @property
    def rank(self) -> int:
        """Number of eigenvectors r."""
        return self.pairs.rank

    def rows(self, block: Any) -> FloatArray:
        """Return U of the rows of a block, shape (n_b, r); zero for empty rows."""
        codes = self.encoder.transform(block)
        degrees = (codes < self.encoder.n_hyperedges).sum(axis=1)
        vectors = CodeFactor(codes, self.encoder.n_hyperedges) @ self.pairs.coefficients
        vectors /= np.sqrt(np.maximum(degrees, 1))[:, None]
        return vectors


def vector_blocks(
    blocks: Blocks, vectors: EigenvectorRows, lengths: Sequence[int], units: Mapping[int, int]
) -> list[Delayed]:
    """Return one task per block that computes its rows of U.

    Parameters
    ----------
    blocks : Blocks
    vectors : EigenvectorRows
    lengths : sequence of int
        Number of rows of each block.
    units : mapping from int to int
        Columns that are unit vectors, by the number of their row among all rows. They cannot be
        computed from the row, which is empty.
    """
    shared = delayed(vectors, traverse=False)
    task = delayed(run_task, pure=False)
    tasks, start = [], 0
    for block, length in zip(blocks.tasks, lengths, strict=True):
        own = {row - start: k for row, k in units.items() if start <= row < start + length}
        tasks.append(task(_placed, block, shared, own))
        start += length
    return tasks


def _placed(block: Any, vectors: EigenvectorRows, units: Mapping[int, int]) -> FloatArray:
    rows = vectors.rows(block)
    for row, column in units.items():
        rows[row, column] = 1.0
    return rows

r"""Low-rank networks on rows in blocks, with two passes over the rows of U per iteration.

Training requires two sums over all rows (:mod:`lowrankgcn.training.nodes`): UᵀH in the forward pass
and ∂A in the backward pass. Both are sums of pure functions of some rows of U and small matrices.
Workers compute the rows of U once and keep them, n·r numbers in total. If a worker dies, another
one computes its rows again.

Small blocks are merged into pieces, so that a pass over few rows has few tasks. Pieces depend on
the lengths of the blocks only, and sums are added in a fixed order, so results do not depend on the
number of workers or the distribution of the pieces.

>>> import dask.dataframe as dd, numpy as np
>>> import lowrankgcn as lg
>>> from lowrankgcn.distributed.setup import set_up
>>> from lowrankgcn.distributed.vectors import TableVectors
>>> from lowrankgcn.estimators.settings import read_settings
>>> cars = lg.datasets.load_cars(as_frame=True)
>>> blocks = Blocks.from_collection(dd.from_pandas(cars.data, npartitions=3))
>>> known = set_up(blocks, read_settings(lg.GCNClassifier(rank=16).get_params()))
>>> vectors = TableVectors(known.table.encoder, known.pairs)
>>> lengths, bare = known.table.lengths, known.pairs.bare
>>> nodes = BlockNodes.from_blocks(blocks, vectors, lengths, bare, np.float64)
>>> layer = SpectralLayer(np.eye(16), None, "identity")
>>> bool(abs(nodes.sums(layer) - np.eye(16)).max() < 1e-12)  # UᵀU
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from typing import Any, final

import numpy as np
from dask.delayed import delayed
from numpy.typing import NDArray

from lowrankgcn.distributed.blocks import Blocks, KeptBlocks
from lowrankgcn.distributed.vectors import EigenvectorRows, vector_blocks
from lowrankgcn.operators import FloatArray
from lowrankgcn.training import Nodes, SpectralLayer

__all__ = ["BlockNodes"]

_ROWS = 2**18  # rows of a piece; a pass over them takes 10 ms, the scheduler 1 ms per task
_PIECES = 256  # pieces are larger if there would be more of them
_BYTES = 2**27  # largest size of a piece


@final
@dataclass(frozen=True, eq=False)
class BlockNodes(Nodes):
    """Nodes whose rows of U are kept in pieces.

    Attributes
    ----------
    pieces : KeptBlocks
        Arrays (n_b, R), stored on the workers.
    lengths : tuple of int
        Number of rows of every piece.
    """

    pieces: KeptBlocks
    lengths: tuple[int, ...]

    @classmethod
    def from_blocks(
        cls,
        blocks: Blocks,
        vectors: EigenvectorRows,
        lengths: Sequence[int],
        units: Mapping[int, int],
        dtype: Any,
    ) -> BlockNodes:
        """Compute the rows of U of all blocks and store them with the given dtype.

        The other parameters are those of :func:`lowrankgcn.distributed.vectors.vector_blocks`.
        """
        most = max(_ROWS, -(-sum(lengths) // _PIECES))
        most = min(most, _BYTES // (vectors.rank * np.dtype(dtype).itemsize))
        rows = vector_blocks(blocks, vectors, lengths, units)
        task = delayed(_piece, pure=False)
        spans = _spans(lengths, most)
        pieces = Blocks(
            tuple(task(rows[start:stop], dtype) for start, stop in spans),
            np.empty((0, vectors.rank), dtype),
        )
        return cls(pieces.kept(), tuple(sum(lengths[start:stop]) for start, stop in spans))

    @property
    def n(self) -> int:
        """Number of nodes."""
        return sum(self.lengths)

    def sums(self, layer: SpectralLayer) -> FloatArray:
        """Return UᵀH of a hidden layer, shape (r, c), in one pass."""
        return self.pieces.reduce(layer.sums, add)

    def gradients(self, layer: SpectralLayer, G: NDArray[Any]) -> FloatArray:
        """Return ∂A and ∂b, shape (r + 1, c), from the derivative G with respect to UᵀH."""
        return self.pieces.reduce(partial(layer.gradients, G=G), add)

    def take(self, index: NDArray[np.intp]) -> NDArray[Any]:
        """Return the rows of U with the given ascending numbers, shape (p, R)."""
        rows: NDArray[Any] = self.pieces.blocks.take(index, self.lengths)
        return rows


def _spans(lengths: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Return groups (start, stop) of consecutive blocks with at most `most` rows, or one block."""
    spans, start, count = [], 0, 0
    for number, length in enumerate(lengths):
        if number > start and count + length > most:
            spans.append((start, number))
            start, count = number, 0
        count += length
    return [*spans, (start, len(lengths))]


def _piece(parts: list[FloatArray], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts, dtype=dtype, casting="same_kind")

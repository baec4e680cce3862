"""The part of a fitted classifier that predicts new rows; this part is saved.

Rows become features and affinities. One product with a small matrix extends all vectors that the
networks use; each network is then evaluated row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.estimators.extended import CACHED_ROWS, ExtendedNetwork, mean_softmax
from lowrankgcn.estimators.inputs import GivenInputs, Inputs
from lowrankgcn.graphs.cross.base import CrossAffinity
from lowrankgcn.operators import FloatArray

__all__ = ["Model"]

_ROWS = 65536
_ENTRIES = 2**22  # feature entries per chunk


@saved
@final
@dataclass(frozen=True, eq=False)
class Model:
    """Networks and the vectors extended to new rows.

    Attributes
    ----------
    inputs : Inputs
    cross : CrossAffinity
    basis : (m, 1 + R) array
        Vectors over the columns of the cross-affinity. The first extends √degree on the components
        with a label; it is zero at rows without affinity to any of them. The features of a graph
        without features come next.
    networks : tuple of ExtendedNetwork
    n_classes : int
    """

    inputs: Inputs
    cross: CrossAffinity
    basis: FloatArray
    networks: tuple[ExtendedNetwork, ...]
    n_classes: int

    def __post_init__(self) -> None:
        expect_shape(self.basis, "basis", self.cross.n_columns, None)
        count, least = self.basis.shape[1], self._n_unfolded
        if count < least:
            raise invalid("basis", f"at least {least} columns", count)
        if not self.networks:
            raise invalid("networks", "one or more", "none")
        for network in self.networks:
            own = network.layers[0].own
            if own is not None and own.shape[1] != self.inputs.width:
                raise invalid("own", f"{self.inputs.width} inputs", own.shape[1])
            if network.layers[-1].width != self.n_classes:
                got = network.layers[-1].width
                raise invalid("last layer", f"{self.n_classes} classes", got)
            for layer in network.layers:
                end = layer.first + (0 if layer.readout is None else len(layer.readout))
                if end > count:
                    raise invalid("readout", f"vectors among {count}", f"{layer.first}..{end - 1}")

    @cached_property
    def width(self) -> int | None:
        """Number of features, None if no network uses them."""
        owns = (network.layers[0].own for network in self.networks)
        return next((own.shape[1] for own in owns if own is not None), None)

    def distributions(self, X: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Compute class distributions (q, C), and a mask of the rows without affinity (uniform).

        Rows are independent of each other and processed in chunks: memory is O(q C) beside X.
        """
        count = len(X) if not hasattr(X, "shape") else X.shape[0]
        shares = np.empty((count, self.n_classes))
        lost = np.empty(count, np.bool_)
        wide = 1 if self.width is None else self.width

        def classify(start: int, stop: int) -> None:
            part = X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
            shares[start:stop], lost[start:stop] = self._chunk(part)

        map_chunks(classify, count, max(1, min(_ROWS, _ENTRIES // wide)))
        return shares, lost

    def place(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Compute the extended vectors (q, 1 + R) and features (q, N_0) of rows.

        The features have no columns if no network uses them.
        """
        extended = self.cross.product(self.inputs.rows(X), self.basis)
        if self.width is None:
            return extended, np.zeros((len(extended), 0))
        return extended, self.inputs.features(X, extended)

    def _chunk(self, X: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        extended = self.cross.product(self.inputs.rows(X), self._folded)
        first = np.zeros((len(extended), 0))
        if self.width is not None:
            first = self.inputs.product(X, self._first_weights, extended)
        total = np.empty((len(extended), self.n_classes))
        for start, stop in chunks(len(total), CACHED_ROWS):
            total[start:stop] = self._mixed(extended[start:stop], first[start:stop])
        lost = extended[:, 0] == 0
        total[lost] = 1.0 / self.n_classes
        return total / total.sum(axis=1, keepdims=True), lost

    def _mixed(self, extended: FloatArray, first: FloatArray) -> FloatArray:
        """Average the distributions of all networks with their weights."""
        total = np.zeros((len(extended), self.n_classes))
        read, seen = self._n_unfolded, 0  # columns of `extended` and of `first` used so far
        for network in self.networks:
            n_read, n_seen = network.n_read, network.n_seen
            outputs = network.outputs(
                extended[:, read : read + n_read], first[:, seen : seen + n_seen]
            )
            total += network.weight * mean_softmax(outputs[-1])
            read, seen = read + n_read, seen + n_seen
        return total

    @cached_property
    def _first_weights(self) -> FloatArray:
        """First-layer weights of all networks with features, side by side, shape (N_0, k)."""
        weights = [network.first_weights for network in self.networks]
        return np.hstack([weight for weight in weights if weight is not None])

    @property
    def _n_unfolded(self) -> int:
        """Number of vectors in use beside the readouts: √degree, and those used as features."""
        return 1 + (self.inputs.width if isinstance(self.inputs, GivenInputs) else 0)

    @cached_property
    def _folded(self) -> FloatArray:
        """The basis multiplied by all readouts, so that rows need one product only."""
        parts = [network.read_out(self.basis) for network in self.networks]
        return np.hstack([self.basis[:, : self._n_unfolded], *parts])

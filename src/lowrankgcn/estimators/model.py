"""The fitted classifier as far as new rows need it: what is saved, and all that predicts.

Rows become features and affinities; one product with a small matrix extends everything the
networks know of the graph; each network is then evaluated row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn.estimators.inputs import FloatArray, Inputs
from lowrankgcn.estimators.members import ExtendedNetwork
from lowrankgcn.extension import CrossAffinity

__all__ = ["Model"]

_ROWS = 65536
_ENTRIES = 2**22  # of the features of a chunk


@final
@dataclass(frozen=True, eq=False)
class Model:
    """Networks with the means to place new rows.

    Attributes
    ----------
    inputs : Inputs
    cross : CrossAffinity
    basis : (m, 1 + R) array
        Vectors over the columns of the cross affinity. The first extends √degree on the components
        that have a label; it vanishes at a row that none of them is joined to. After it come those
        that a graph without features has for features.
    networks : tuple of ExtendedNetwork
    n_classes : int
    """

    inputs: Inputs
    cross: CrossAffinity
    basis: FloatArray
    networks: tuple[ExtendedNetwork, ...]
    n_classes: int

    @cached_property
    def width(self) -> int | None:
        """Number of features, None if no network looks at them."""
        owns = (network.layers[0].own for network in self.networks)
        return next((own.shape[1] for own in owns if own is not None), None)

    def distributions(self, X: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Class distributions (q, C), and which rows could not be placed and have a uniform one.

        Rows are handled independently of each other, in chunks: memory is O(q C) beside X.
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
        """Values of the extended vectors (q, 1 + R), and features (q, N_0) if any network has them.

        Networks that see the graph alone get features of no column.
        """
        extended = self.cross.product(self.inputs.rows(X), self.basis)
        if self.width is None:
            return extended, np.zeros((len(extended), 0))
        return extended, self.inputs.features(X, extended)

    def _chunk(self, X: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
        if self._folded is None:
            extended, features = self.place(X)
            shares = [network.distributions(extended, features) for network in self.networks]
        else:
            extended = self.cross.product(self.inputs.rows(X), self._folded)
            ends = np.cumsum([1, *(network.n_outputs for network in self.networks)])
            shares = [
                network.from_logits(extended[:, start:stop])
                for network, (start, stop) in zip(self.networks, pairwise(ends), strict=True)
            ]
        total = np.zeros((len(extended), self.n_classes))
        for network, part in zip(self.networks, shares, strict=True):
            total += network.weight * part
        lost = extended[:, 0] == 0
        total[lost] = 1.0 / self.n_classes
        return total / total.sum(axis=1, keepdims=True), lost

    @cached_property
    def _folded(self) -> FloatArray | None:
        """The first vector of the basis, then all logits, if all of them are linear in the basis.

        So many columns are fewer than those of the basis, or hardly more, and no product follows.
        """
        if not all(network.reads_only for network in self.networks):
            return None
        logits = [network.folded(self.basis) for network in self.networks]
        return np.hstack([self.basis[:, :1], *logits])

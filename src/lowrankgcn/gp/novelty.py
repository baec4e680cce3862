r"""Rows that fit no labelled class: most of their variance remains, given the labels.

Without labels, row x has the variance c + k(x, x), with the variance c of the constant. The labels
leave :math:`v(x) = c + k(x, x) - k_x^T G^{-1} k_x` for the covariances :math:`k_x` with labelled
rows. The measure is :math:`v(x) / (k(x, x) + 1)`, with one for the noise. A row is marked if hardly
any labelled row has such a large value without its own label. Of the measures that were compared
over tables (variances, distances to labelled rows, probabilities), this one separates rows of a
class without labels best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from lowrankgcn._parallel import map_chunks
from lowrankgcn.gp.blocks import Views
from lowrankgcn.gp.likelihood import CONSTANT
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.operators import FloatArray

_REFERENCES = 300  # labelled rows that are compared with, O(m²) for each row
_CHUNK = 1024  # rows whose kernel is held at a time


@final
@dataclass(frozen=True, eq=False)
class Novelty:
    """Variance that labelled rows leave.

    Attributes
    ----------
    process : GaussianProcess
    labelled : tuple of arrays
        Representations of at most 300 labelled rows, one for each block.
    inverse : (m, m) array
        Inverse of their covariance with noise.
    held_out : (m,) array
        Their measures without their own labels, ascending.
    """

    process: GaussianProcess
    labelled: tuple[Any, ...]
    inverse: FloatArray
    held_out: FloatArray

    @classmethod
    def fit(cls, process: GaussianProcess) -> Novelty:
        """Compute the measures of labelled rows by leave-one-out.

        Row i without its label has :math:`k_i^T (G^{-1} - g_i g_i^T / g_{ii}) k_i` less variance,
        for column g_i of G⁻¹ and its covariances k_i with the other rows.
        """
        count = min(len(process.index), _REFERENCES)
        chosen = np.random.default_rng(0).permutation(len(process.index))[:count]
        labelled = tuple(rows[chosen] for rows in process.labelled)
        G = process.kernel(labelled, labelled)
        fair = process.held_out_kernel(G, labelled, process.index[chosen])
        G[np.diag_indices_from(G)] += 1.0
        inverse = cho_solve(cho_factor(G), np.eye(count))
        np.fill_diagonal(fair, 0.0)
        weights = fair @ inverse
        known = (weights * fair).sum(axis=1) - weights.diagonal() ** 2 / inverse.diagonal()
        measures = _relative(known, process.variances(labelled))
        return cls(process, labelled, inverse, np.sort(measures))

    def measures(self, views: Views) -> FloatArray:
        """Return the measures of rows, shape (q,).

        O(q (m² + m d)) for m ≤ 300 labelled rows and d features of all blocks; O(m) memory for each
        row of a chunk.
        """

        def part(start: int, stop: int) -> FloatArray:
            rows = self.process.represent({name: view[start:stop] for name, view in views.items()})
            K = self.process.kernel(rows, self.labelled)
            return _relative(((K @ self.inverse) * K).sum(axis=1), self.process.variances(rows))

        count = len(next(iter(views.values())))
        return np.concatenate([np.zeros(0), *map_chunks(part, count, _CHUNK)])


def _relative(known: FloatArray, variances: FloatArray) -> FloatArray:
    measures: FloatArray = (CONSTANT + variances - known) / (variances + 1.0)
    return measures

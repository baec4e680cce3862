r"""Eigenpairs of the Laplacian of a table from counts of its hyperedges.

With U = D^{-1/2} H Q every eigenvector is a combination Q of hyperedges (section A3.1). Training
and prediction require only products of small matrices:

.. math:: U^T X = Q^T (H^T D^{-1/2} X), \qquad H^T D^{-1/2} U = (H^T D^{-1} H)\, Q.

The graph whose nodes are the hyperedges, with weights HᵀD⁻¹H, has a Laplacian with the same
eigenvalues below one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from lowrankgcn._validation import invalid
from lowrankgcn.distributed.counts import Counts, weighted
from lowrankgcn.graphs import AdjacencyGraph
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.dominance import bind_filters, choose_dominant, choose_smallest
from lowrankgcn.spectral.eigenpairs import whole_spectrum
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.solvers.base import Solution
from lowrankgcn.spectral.solvers.direct import gram_solution
from lowrankgcn.spectral.spectrum import Eigenpairs, WholeSpectrum, warn_if_cut_degenerate

__all__ = ["HyperedgePairs", "HyperedgeSpectrum"]


@final
@dataclass(frozen=True, eq=False)
class HyperedgePairs:
    """Eigenpairs with eigenvectors U = D^{-1/2} H Q.

    Attributes
    ----------
    eigenvalues, residuals : (r,) arrays
    coefficients : (|E|, r) array
        Q; zero in the columns of empty rows.
    bare : dict from int to int
        Columns that are unit vectors of empty rows, by the number of the row.
    next_eigenvalue : float
    n_components : int
    spectrum : WholeSpectrum
    """

    eigenvalues: FloatArray
    residuals: FloatArray
    coefficients: FloatArray
    bare: dict[int, int]
    next_eigenvalue: float
    n_components: int
    spectrum: WholeSpectrum

    @property
    def rank(self) -> int:
        """Number of pairs."""
        return len(self.eigenvalues)

    def with_vectors(self, eigenvectors: Any) -> Eigenpairs:
        """Return the pairs with given eigenvectors, which may be lazy."""
        return Eigenpairs(
            self.eigenvalues,
            eigenvectors,
            self.residuals,
            "svd",
            0,
            self.n_components,
            next_eigenvalue=self.next_eigenvalue,
            spectrum=self.spectrum,
        )

    def signed(self, signs: FloatArray) -> HyperedgePairs:
        """Return the pairs with eigenvectors multiplied by signs."""
        return replace(self, coefficients=self.coefficients * signs)


@final
@dataclass(frozen=True, eq=False)
class HyperedgeSpectrum:
    """Spectrum of a table with the default smoother, computed from its counts.

    Attributes
    ----------
    counts : Counts
    """

    counts: Counts

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.counts.rows.values())

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows of every hyperedge."""
        total: Any = sum(pairs.diagonal() for pairs in self.counts.pairs.values())
        return np.asarray(total)

    @cached_property
    def component(self) -> NDArray[np.intp]:
        """Component of every hyperedge; hyperedges with a common row are joined."""
        shared: Any = sum(pairs > 0 for pairs in self.counts.pairs.values())
        labels: NDArray[np.intp] = connected_components(sp.csr_array(shared > 0), directed=False)[1]
        return labels.astype(np.intp)

    @cached_property
    def component_rows(self) -> NDArray[np.int64]:
        """Number of rows of every component; a row with l hyperedges is counted l times."""
        rows = np.zeros(int(self.component.max()) + 1, np.int64)
        for level, pairs in self.counts.pairs.items():
            memberships = np.zeros(len(rows), np.int64)
            np.add.at(memberships, self.component, pairs.diagonal())
            rows += memberships // level
        return rows

    @property
    def bare_rows(self) -> int:
        """Number of rows without hyperedges."""
        return self.counts.rows.get(0, 0)

    @property
    def n_components(self) -> int:
        """Number of connected components, including rows without hyperedges."""
        return len(self.component_rows) + self.bare_rows

    @cached_property
    def joined(self) -> NDArray[np.bool_]:
        """Whether the component of a hyperedge has more than one row, shape (n_hyperedges,)."""
        joined: NDArray[np.bool_] = self.component_rows[self.component] > 1
        return joined

    @cached_property
    def weights(self) -> FloatArray:
        """HᵀD⁻¹H, shape (n_hyperedges, n_hyperedges)."""
        return weighted(self.counts.pairs, lambda level: 1.0 / level)

    @cached_property
    def _joined_weights(self) -> FloatArray:
        """HᵀD⁻¹H of the rows that are not isolated."""
        return np.where(self.joined[:, None], self.weights, 0.0)

    @cached_property
    def laplacian(self) -> Laplacian:
        """Laplacian of the graph of hyperedges."""
        return Laplacian(AdjacencyGraph(self._joined_weights))

    @cached_property
    def _root(self) -> FloatArray:
        return 1.0 / np.sqrt(self.sizes)

    @cached_property
    def _solution(self) -> Solution:
        gram = self._root[:, None] * self._joined_weights * self._root
        # The null vector √d of a component corresponds to √|e|; move its eigenvalue from 1 to −1.
        for number in np.unique(self.component[self.joined]):
            right = np.where(self.component == number, np.sqrt(self.sizes), 0.0)
            right /= np.linalg.norm(right)
            gram -= 2.0 * np.outer(right, right)
        outside = self.n_rows - self.n_components
        return gram_solution((gram + gram.T) / 2, outside, lambda matrix, lead, dtype: matrix)

    def smallest(self, k: int, firsts: NDArray[np.int64] | None = None) -> HyperedgePairs:
        """Return the k smallest pairs, as :func:`lowrankgcn.eigenpairs` does.

        `firsts` are the first rows of the components, required if there are several.
        """
        chosen = choose_smallest(self._solution, self.n_components, k)
        return self._pairs(*chosen, firsts)

    def dominant(
        self, k: int, filters: Sequence[Filter], firsts: NDArray[np.int64] | None = None
    ) -> tuple[HyperedgePairs, tuple[Filter, ...]]:
        """Return the k dominant pairs for `filters`, and the filters bound to the spectrum."""
        known = self._solution
        bound = bind_filters(filters, known.distinct)
        chosen = choose_dominant(
            known.values, self.n_components, k, bound, known.bulk_value, known.bulk_count
        )
        return self._pairs(*chosen, firsts), bound

    def _pairs(
        self,
        zeros: int,
        index: NDArray[np.intp],
        following: float,
        firsts: NDArray[np.int64] | None,
    ) -> HyperedgePairs:
        inner, residuals = self._solution.build(index, 0, np.float64)
        null, bare = self._null_vectors(zeros, firsts)
        values = np.concatenate([np.zeros(zeros), self._solution.values[index]])
        # Null vectors are exact up to rounding.
        residuals = np.concatenate([np.full(zeros, np.finfo(np.float64).eps), residuals])
        warn_if_cut_degenerate(values, residuals, following)
        return HyperedgePairs(
            values,
            residuals,
            np.hstack([null, self._root[:, None] * inner]),
            bare,
            following,
            self.n_components,
            whole_spectrum(self._solution, self.n_components),
        )

    def _null_vectors(
        self, zeros: int, firsts: NDArray[np.int64] | None
    ) -> tuple[FloatArray, dict[int, int]]:
        """Return Q of the first `zeros` null vectors, and which of them belong to empty rows."""
        null = np.zeros((len(self.sizes), zeros))
        if self.n_components == 1:
            null[:, :zeros] = 1.0 / np.sqrt(self.sizes.sum())
            return null, {}
        if firsts is None:
            raise invalid("firsts", "the first row of every component", None)
        bare = {}
        for column, (row, number) in enumerate(self._in_order(firsts)[:zeros]):
            if number < 0:
                bare[row] = column
                continue
            members = self.component == number
            null[members, column] = 1.0 / np.sqrt(self.sizes[members].sum())
        return null, bare

    def _in_order(self, rows: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return first row and number of every component (−1 for empty rows), sorted by row."""
        numbered = [
            (int(rows[: len(self.sizes)][self.component == number].min()), number)
            for number in range(len(self.component_rows))
        ]
        bare = [(int(row), -1) for row in rows[len(self.sizes) :]]
        return sorted([*numbered, *bare])

r"""Compiled scores: the scores of rows by look-ups and two products of matrices.

Almost all blocks are functions of one vector of *pre-activations* of a row,

.. math:: z(x) = z_0 + A^T x + S^T x^2,

for the standard scores and ranks x of its numbers and the indicators of its values:

- linear blocks of features are C entries of z, the sum of all of them;
- a radial block with points p has the entries :math:`-\rho \|w \odot x - p\|^2`, and adds their
  exponentials times :math:`a \alpha` to the scores;
- the points among which neighbours are searched are entries of z, if most of the neighbours suffice
  (:mod:`.neighbour_means`);
- the Gaussian graph has such an entry for each of its nodes. Spectral coordinates v enter the
  scores by one matrix M for each graph, the sum over its linear blocks, so the Nyström formula is
  applied to U M with C columns in place of U.

An indicator is a function of one cell, so that columns of categories contribute one row of a table
for each value (:mod:`.joint_tables`), and only numbers are multiplied. The hypergraph adds up the
rows of U M for the values and bins of a row. Pre-activations are computed in single precision if
exponents are small enough for it.

The oracle is :math:`k(x, \cdot) \alpha` by :meth:`GaussianProcess.kernel`; the tests compare.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn.gp.blocks import LinearBlock, RadialBlock
from lowrankgcn.gp.embedding import Embedding
from lowrankgcn.gp.joint_tables import JointTables
from lowrankgcn.gp.leaves import LeafBlock, LeafSums
from lowrankgcn.gp.neighbour_means import NeighbourMeans
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.propagated_block import PropagatedBlock
from lowrankgcn.gp.views import CELLS, RowViews
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.extension import Extension
from lowrankgcn.tables import FittedTable

_CHUNK = 1024  # rows at a time: their pre-activations fit in the cache of a core
# Exponents up to this size have an error of 1e-5 in single precision.
_MOST_SINGLE = 100.0
_UNDERFLOW = -745.0  # exp is zero below


class _Radial(NamedTuple):
    """Entries :math:`-rate ‖w x − p‖²` of the pre-activations, for points p (m, d).

    Their exponentials are multiplied by `values` (m, C); None for weights of the Gaussian graph.
    """

    view: str
    weights: FloatArray
    rate: float
    points: FloatArray
    values: FloatArray | None


@final
class CompiledScores:
    """Scores of rows for one process.

    Parameters
    ----------
    process : GaussianProcess
    maps : RowViews
    known : collection of str, optional
        Graphs whose coordinates are parts of the rows; only a given graph by default. Other
        coordinates are computed.
    """

    def __init__(
        self, process: GaussianProcess, maps: RowViews, known: Collection[str] = ("given",)
    ) -> None:
        self.process, self.maps = process, maps
        self._constant = process.constant * process.alpha.sum(axis=0)
        self._leaves: LeafSums | None = None
        self._propagated: list[tuple[PropagatedBlock, float, FloatArray]] = []
        spectral: dict[str, FloatArray] = {}  # M of each graph
        linear: dict[str, Any] = {"standard": 0.0, "ranks": 0.0}
        radial: list[_Radial] = []
        terms = zip(process.blocks, process.amplitudes, process.readouts, strict=True)
        for block, amplitude, readout in terms:
            if isinstance(block, LinearBlock):
                W = amplitude * (block.weights / block.scale)[:, None] * readout
                self._constant = self._constant - block.centre @ W
                if block.view in linear:
                    linear[block.view] = linear[block.view] + W
                else:
                    spectral[block.view] = _sum(spectral.get(block.view), W)
            elif isinstance(block, RadialBlock):
                points, alpha = readout
                values = amplitude * alpha
                radial.append(_Radial(block.view, block.weights, block.rate, points, values))
            elif isinstance(block, LeafBlock):
                assert maps.features is not None
                self._leaves = LeafSums(block, amplitude * readout, maps.features)
            elif isinstance(block, PropagatedBlock):
                self._propagated.append((block, amplitude, readout))
            else:
                raise TypeError(f"no compiled scores of {type(block).__name__}")
        self._known = {name: M for name, M in spectral.items() if name in known}
        unknown = {name: M for name, M in spectral.items() if name not in known}
        self._means: MeanScores | None = None
        if "neighbours" in unknown:
            self._means = MeanScores(maps.embeddings["neighbours"], unknown.pop("neighbours"))
        self._nystrom = {name: Nystrom(maps.embeddings[name], M) for name, M in unknown.items()}
        if maps.features is not None:
            if (gaussian := self._nystrom.get("gaussian")) is not None:
                radial.append(gaussian.as_radial())
            self._compile_features(maps.features, linear, radial)
            if (hypergraph := self._nystrom.get("hypergraph")) is not None:
                self._edges = hypergraph.as_tables(maps.features)

    def _compile_features(
        self, features: FittedTable, linear: dict[str, Any], radial: list[_Radial]
    ) -> None:
        """Compile z: tables of values, and one matrix for numbers, their squares and one."""
        d, C = len(features.owners), self.process.alpha.shape[1]
        axes = np.zeros((d, 0))
        if self._means is not None and self._means.approximate:
            axes = self.maps.axes
        ends = np.cumsum([C, axes.shape[1], *(len(one.points) for one in radial)])
        self._points, *spans = [slice(*span) for span in pairwise(ends.tolist())]
        A = {view: np.zeros((d, ends[-1])) for view in ("standard", "ranks")}
        A["standard"][:, self._points] = axes
        S = {view: np.zeros((d, len(radial))) for view in ("standard", "ranks")}
        level, largest = np.zeros(ends[-1]), 0.0
        for view, W in linear.items():
            A[view][:, :C] += W
        for k, (one, span) in enumerate(zip(radial, spans, strict=True)):
            A[one.view][:, span] = 2 * one.rate * one.weights[:, None] * one.points.T
            S[one.view][:, k] = -one.rate * one.weights**2
            level[span] = -one.rate * (one.points**2).sum(axis=1)
            largest = max(largest, -float(level[span].min(initial=0.0)))
        self._dtype: Any = np.float32 if largest <= _MOST_SINGLE else np.float64
        every_A, every_S = A["standard"] + A["ranks"], S["standard"] + S["ranks"]
        tables = []
        for j, at, shares in features.indicators:
            X, part = np.eye(len(shares) + 1, len(shares)) - shares, slice(at, at + len(shares))
            table = X @ every_A[part]
            for k, span in enumerate(spans):
                table[:, span] += (X**2 @ every_S[part, k])[:, None]
            tables.append((j, table.astype(self._dtype)))
        self._tables = JointTables.of(tables, np.add)
        numbers = features.number_places
        heads = np.zeros((len(radial), ends[-1]))
        for k, span in enumerate(spans):
            heads[k, span] = 1.0
        B = np.vstack([A["standard"][numbers], A["ranks"][numbers], heads, level])
        self._B = np.ascontiguousarray(B, self._dtype)
        self._S = np.vstack([S["standard"][numbers], S["ranks"][numbers]]).astype(self._dtype)
        values = [one.values for one in radial if one.values is not None]
        self._values = np.concatenate([np.zeros((0, C)), *values]).astype(self._dtype)

    def at(self, parts: Mapping[str, Any]) -> FloatArray:
        """Return the scores of rows by :meth:`RowViews.parts`, shape (q, C).

        Parts that are coordinates on graphs are used; others are computed.
        """
        count = len(next(iter(parts.values())))
        result = np.tile(self._constant, (count, 1))
        for block, amplitude, readout in self._propagated:  # the whole graph at once
            result += amplitude * block.scores(block.represent(parts), readout)
        names = [name for name in (*CELLS, *self._known) if name in parts]

        def add(start: int, stop: int) -> None:
            part = {name: parts[name][start:stop] for name in names}
            for view, M in self._known.items():
                result[start:stop] += part[view][:, : len(M)] @ M
            if self.maps.features is not None:
                self._add(part, self.maps.features, result[start:stop])

        map_chunks(add, count, _CHUNK)
        return result

    def _add(
        self, cells: Mapping[str, NDArray[Any]], features: FittedTable, result: FloatArray
    ) -> None:
        """Add what follows from the cells of rows."""
        places, (q, s) = features.value_places(cells["codes"]), cells["numbers"].shape
        numbers = np.empty((q, len(self._B)), self._dtype)
        numbers[:, :s], numbers[:, s : 2 * s], numbers[:, -1] = (
            cells["numbers"],
            cells["number_ranks"],
            1.0,
        )
        numbers[:, 2 * s : -1] = numbers[:, : 2 * s] ** 2 @ self._S
        Z = numbers @ self._B
        if (looked_up := self._tables.at(places)) is not None:
            Z += looked_up
        first = self._points.stop
        rest = first + len(self._values)
        result += Z[:, : self._points.start]
        result += np.exp(Z[:, first:rest]) @ self._values
        for name, nystrom in self._nystrom.items():
            if name == "gaussian":
                result += nystrom.at_exponents(Z[:, rest:])
            else:
                sums = self._edges.at(places)
                result += nystrom.scores(sums[:, :-1], sums[:, -1])
        if self._means is not None:
            points = Z[:, self._points]
            if not self._means.approximate:  # as at fitting, so that equal distances stay equal
                points = self.maps.neighbour_points(cells)
            result += self._means.at(points)
        if self._leaves is not None:
            result += self._leaves.at(cells, places)


@final
class Nystrom:
    r"""Scores by the coordinates of new rows on a graph, without the coordinates.

    With sums :math:`s = \sum_i w(x, i) b_i` over the rows b of a basis, the coordinates times M
    are :math:`f s_{1..} / \max(f s_0 / \sqrt{\bar d}, \sqrt{0.1})` with the degree d of the row,
    a loop l and :math:`f = \sqrt{d + l} / d`.
    """

    def __init__(self, embedding: Embedding, M: FloatArray) -> None:
        extension = embedding.extension
        assert isinstance(extension, Extension)
        self._embedding, basis = embedding, extension.basis
        self._cross: Any = extension.cross
        self._basis = np.column_stack([basis[:, 0], basis[:, 1 : 1 + len(M)] @ M])
        self._centre = embedding.centre[: len(M)] @ M

    def as_radial(self) -> _Radial:
        """Return the weights of a Gaussian graph of the ranks."""
        cross = self._cross
        weights = np.full(len(cross.centre), 1.0 / cross.bandwidth)
        points = cross.coordinates + cross.centre / cross.bandwidth
        return _Radial("ranks", weights, 1.0, points, None)

    def at_exponents(self, exponents: NDArray[Any]) -> FloatArray:
        """Return the scores of rows from the logarithms of their weights to all nodes."""
        top = exponents.max(axis=1, keepdims=True)
        near = np.exp(exponents - top)
        degrees = near.sum(axis=1, dtype=np.float64) * (top[:, 0] > _UNDERFLOW)
        unit = np.exp(top[:, 0].astype(np.float64))
        return self.scores((near @ self._basis.astype(near.dtype)).astype(float), degrees, unit)

    def as_tables(self, features: FittedTable) -> JointTables:
        """Return what values and bins add to the sums, and to the degree as the last column."""
        rows = np.column_stack([self._basis, self._cross.weights])
        rows = np.vstack([rows, np.zeros(rows.shape[1])])  # of unknown values
        spans = enumerate(pairwise(features.encoder.offsets))
        # Columns without hyperedges add nothing.
        tables = [(j, rows[[*range(*span), -1]]) for j, span in spans if span[0] < span[1]]
        return JointTables.of(tables, np.add)

    def scores(self, sums: FloatArray, degrees: FloatArray, unit: Any = 1.0) -> FloatArray:
        """Return the scores (q, C) from sums and degrees in this unit."""
        joined = degrees > 0
        factors = np.sqrt(degrees * unit + self._cross.loop_weight)
        factors /= np.where(joined, degrees, 1.0)
        roots = np.where(joined, sums[:, 0] * factors, 0.0)
        scores = self._embedding.walk(sums[:, 1:] * factors[:, None], roots)
        return np.where(roots[:, None] > 0, scores, self._centre)


@final
class MeanScores:
    """Scores by the coordinates of new rows on a graph of neighbours, without the coordinates."""

    def __init__(self, embedding: Embedding, M: FloatArray) -> None:
        means = embedding.extension
        assert isinstance(means, NeighbourMeans)
        self._means, self._values = means, means.of_values(M)
        self._centre = embedding.centre[: len(M)] @ M
        self.approximate = means.near.approximate

    def at(self, points: NDArray[Any]) -> NDArray[Any]:
        """Return the scores of points (q, C)."""
        totals, scores = self._means.means(points, self._values)
        return np.where(totals[:, None] > 0, scores, self._centre)


def _sum(total: FloatArray | None, W: FloatArray) -> FloatArray:
    """Add matrices with different numbers of rows."""
    if total is None:
        return W
    longer, shorter = (total, W) if len(total) >= len(W) else (W, total)
    result = longer.copy()
    result[: len(shorter)] += shorter
    return result

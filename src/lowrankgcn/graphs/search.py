"""Search for the nearest points of a cloud: a k-d tree in few dimensions, FAISS in more.

>>> import numpy as np
>>> search, recall = NeighbourSearch.tuned(np.array([[0.0], [1.0], [5.0]]), 2, seed=0)
>>> search.query(np.array([[4.0]]))
(array([[1., 3.]]), array([[2, 1]]))
>>> recall
1.0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import Any, TypeVar, final

import faiss
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from lowrankgcn._parallel import map_chunks, worthwhile_threads
from lowrankgcn.operators import FloatArray

__all__ = ["NeighbourSearch"]

Index = NDArray[np.intp]
Result = TypeVar("Result")

# Measured: up to three dimensions the tree is 3 to 14 times faster than inverted lists.
_TREE_DIMENSION = 3
_TREE_WORK = 10_000  # elementary steps per search in the tree
_EXACT = 20_000  # up to this number of points all distances are computed
_EXACT_IN_UNITS = 10_000  # the same for neighbours in other units
_PROBES = 12  # lists searched at first
_LEAST_RECALL = 0.9
_MOST_PROBED = 8  # beyond lists / 8, computing all distances is faster
_SAMPLE = 200  # rows of which the recall is measured
_TRAINING = 40  # points per list that its centre is computed from; FAISS warns below 39
_ROUNDS = 10  # of k-means; more do not improve the recall
_SPARE = 4  # further candidates, so that rounding does not choose among nearly equal distances
_SPARE_IN_UNITS = 15  # further candidates for neighbours in other units
# Distances below these multiples of the distance from the centre are rounded too much in single
# precision: squares are differences of large numbers in products of matrices, but not in lists.
_LEAST_IN_PRODUCTS = 1e-2
_LEAST_IN_LISTS = 1e-4
_RANGE = 1e15  # single precision holds the squares of 1 / _RANGE and of _RANGE
_PRODUCT = 2**17  # coordinates per chunk of rows: FAISS multiplies matrices from 128 000 on
_BLOCK = 2**22  # coordinates of the candidates of a chunk


@final
class NeighbourSearch:
    """The `count` nearest points of a cloud, with distances in double precision.

    Parameters
    ----------
    points : (n, d) array
        Coordinates below about 1e150, so that squared distances are finite.
    count : int
        Neighbours per row; less than n.
    probes : int
        Inverted lists searched per row; 0 for an exact search.
    seed : int
        Determines the inverted lists.
    units : (d,) array, optional
        Candidates are the nearest points after division of the columns by these numbers.

    Notes
    -----
    In up to three dimensions a k-d tree is searched. In more dimensions FAISS finds candidates in
    single precision, among all points or in the `probes` nearest of 2√n lists; their distances are
    computed again in double precision. Rows whose neighbours are too near for single precision are
    searched in the k-d tree. Of each place at most ``count + 1`` copies are searched, because
    further ones change no distance. Cost per row: n d, or √n (2 + probes / 2) d with lists.
    """

    def __init__(
        self,
        points: FloatArray,
        count: int,
        *,
        probes: int,
        seed: int,
        units: FloatArray | None = None,
    ) -> None:
        rows = pd.util.hash_pandas_object(pd.DataFrame(points), index=False)
        copies = rows.groupby(rows.to_numpy(), sort=False).cumcount().to_numpy()
        self._kept: Index = np.flatnonzero(copies <= count)
        self._points = points if len(self._kept) == len(points) else points[self._kept]
        self._count, self._seed, self._units = count, seed, units
        self.probes = probes
        n, dimension = self._points.shape
        self._lists = int(2 * math.sqrt(n))
        self._in_tree = dimension <= _TREE_DIMENSION
        # The median is not moved by outliers.
        searched = self._searched(self._points)
        self._centre: FloatArray = np.median(searched[:: -(-n // _EXACT)], axis=0)
        norms = _norms(searched - self._centre)
        self._typical = max(float(np.median(norms[norms > 0])), 1e-300) if norms.any() else 1.0

    @classmethod
    def tuned(cls, points: FloatArray, count: int, *, seed: int) -> tuple[NeighbourSearch, float]:
        """Return a search that finds at least 0.9 of the neighbours, and the share it finds.

        The share is measured for 200 of the points, and it is 1 for an exact search.
        """
        exact = cls(points, count, probes=0, seed=seed)
        n, lists = len(exact._points), exact._lists
        probes = max(_PROBES, 2 * _PROBES * count // lists)
        if exact._in_tree or n <= _EXACT or probes * _MOST_PROBED > lists:
            return exact, 1.0
        search = copy(exact)
        search.probes = probes
        sample, farthest = exact._farthest(points)
        while search.probes * _MOST_PROBED <= lists:
            recall = search._recall(points, sample, farthest)
            if recall >= _LEAST_RECALL:
                return search, recall
            search.probes += search.probes // 3
        return exact, 1.0

    def in_units(
        self, points: FloatArray, units: FloatArray
    ) -> tuple[NeighbourSearch, float] | None:
        """Return a search for neighbours of points times `units` among the candidates of this one.

        Also return its recall. Both search up to twice as many lists if that is below 0.9. Return
        None if it remains so, or if there are few points.
        """
        if self._in_tree or len(self._points) <= _EXACT_IN_UNITS:
            return None
        scaled = points * units
        exact = NeighbourSearch(scaled, self._count, probes=0, seed=self._seed)
        search = copy(self)
        search._units, search._points = units, scaled[self._kept]
        search.__dict__.pop("_tree", None)
        sample, farthest = exact._farthest(scaled)
        while (recall := search._recall(scaled, sample, farthest)) < _LEAST_RECALL:
            search.probes += search.probes // 3
            if search.probes == 0 or search.probes > 2 * self.probes:
                return None
        self.probes = search.probes
        return search, recall

    def _farthest(self, points: FloatArray) -> tuple[Index, FloatArray]:
        """Return 200 points and the distances of their last neighbours."""
        generator = np.random.default_rng(self._seed)
        sample = np.sort(generator.choice(len(points), _SAMPLE, replace=False))
        return sample, self.query(points[sample], sample)[0][:, -1:]

    def _recall(self, points: FloatArray, sample: Index, farthest: FloatArray) -> float:
        distances, _ = self.query(points[sample], sample)
        # Neighbours at the same distance are equally good.
        return float(np.mean(distances <= farthest * (1 + 1e-9)))

    def candidates(self, rows: FloatArray) -> Index | None:
        """Return points that :meth:`query` compares with rows in other units, or None.

        The k-d tree and small clouds have no candidates.
        """
        if self._in_tree or len(self._points) <= _EXACT_IN_UNITS:
            return None
        width = self._width + _SPARE_IN_UNITS
        return np.concatenate(self._in_chunks(lambda part: self._found(rows[part], width), rows))

    def query(
        self, rows: FloatArray, own: Index | None = None, candidates: Index | None = None
    ) -> tuple[FloatArray, Index]:
        """Return distances and numbers of the nearest points, (q, count) each, nearest first.

        Parameters
        ----------
        rows : (q, d) array
        own : (q,) int array, optional
            A point for each row, itself, that is not its neighbour.
        candidates : (q, w) int array, optional
            Points to choose from, by :meth:`candidates` of this search or the one it came from.
        """
        if own is None:
            own = np.full(len(rows), -1)
        if not len(rows):
            return np.zeros((0, self._count)), np.zeros((0, self._count), np.intp)

        def nearest(part: slice) -> tuple[FloatArray, Index]:
            if self._in_tree:
                return self._exactly(rows[part], own[part])
            found = None if candidates is None else candidates[part]
            return self._nearest(rows[part], own[part], found)

        distances, neighbours = zip(*self._in_chunks(nearest, rows), strict=True)
        return np.concatenate(distances), np.concatenate(neighbours)

    def _in_chunks(self, function: Callable[[slice], Result], rows: FloatArray) -> list[Result]:
        """Call a function for slices of the rows, in parallel."""
        n, dimension = self._points.shape
        work, size = _TREE_WORK, 1024
        if not self._in_tree:
            work = dimension * n * (self.probes or self._lists) // self._lists
            parts = max(1, len(rows) * dimension // _PRODUCT)
            size = min(-(-len(rows) // parts), max(32, _BLOCK // (self._width * dimension)))
        threads = min(worthwhile_threads(len(rows) * work), faiss.omp_get_max_threads())
        return map_chunks(
            lambda start, stop: function(slice(start, stop)), len(rows), size, n_threads=threads
        )

    def _found(self, rows: FloatArray, width: int) -> Index:
        """Return the candidates that FAISS finds, ascending; −1 where there are too few."""
        if self.probes:
            self._index.nprobe = self.probes
        width = min(width, len(self._points))
        with _one_openmp_thread():
            found: Index = self._index.search(self._single(rows), width)[1]
        found.sort(axis=1)
        return found

    def _nearest(
        self, rows: FloatArray, own: Index, found: Index | None
    ) -> tuple[FloatArray, Index]:
        if found is None:
            spare = 0 if self._units is None else _SPARE_IN_UNITS
            found = self._found(rows, self._width + spare)
        gaps = self._points[found]
        gaps -= rows[:, None]
        distances, neighbours = self._ranked(_norms(gaps), found, own)
        norms = _norms(self._searched(rows) - self._centre)
        least = norms * (_LEAST_IN_LISTS if self.probes else _LEAST_IN_PRODUCTS)
        least = np.maximum(least, self._typical / _RANGE)
        if self._units is not None:
            least *= self._units.max()
        radii = distances[:, -1]
        doubtful = (radii > 0) & (radii < least)
        doubtful |= norms > self._typical * _RANGE
        doubtful |= found[:, 0] < 0  # the lists hold fewer points than needed
        if doubtful.any():
            again = self._exactly(rows[doubtful], own[doubtful])
            distances[doubtful], neighbours[doubtful] = again
        return distances, neighbours

    def _exactly(self, rows: FloatArray, own: Index) -> tuple[FloatArray, Index]:
        # With a list of ranks the result has two axes, also for one neighbour.
        ranks = np.arange(1, min(self._count + 1, len(self._points)) + 1)
        distances, found = self._tree.query(rows, k=ranks)
        return self._ranked(distances, found, own)

    def _ranked(self, distances: FloatArray, found: Index, own: Index) -> tuple[FloatArray, Index]:
        """Return the nearest candidates except the row itself."""
        neighbours = self._kept[found]
        distances[neighbours == own[:, None]] = np.inf
        order = np.argsort(distances, axis=1, kind="stable")[:, : self._count]
        return (
            np.take_along_axis(distances, order, axis=1),
            np.take_along_axis(neighbours, order, axis=1),
        )

    @property
    def _width(self) -> int:
        return min(self._count + 1 + _SPARE, len(self._points))

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self._points)

    def _searched(self, rows: FloatArray) -> FloatArray:
        """Return rows in the units of the search for candidates."""
        return rows if self._units is None else rows / self._units

    def _single(self, rows: FloatArray) -> NDArray[np.float32]:
        """Return rows relative to the cloud, in single precision."""
        with np.errstate(over="ignore"):
            relative = (self._searched(rows) - self._centre) / self._typical
        return np.clip(relative, -_RANGE, _RANGE).astype(np.float32)

    @property
    def _index(self) -> Any:
        return self._inverted if self.probes else self._flat

    @cached_property
    def _flat(self) -> Any:
        index = faiss.IndexFlatL2(self._points.shape[1])
        index.add(self._single(self._points))
        return index

    @cached_property
    def _inverted(self) -> Any:
        n, dimension = self._points.shape
        quantizer = faiss.IndexFlatL2(dimension)
        index = faiss.IndexIVFFlat(quantizer, dimension, self._lists)
        index.cp.seed = self._seed
        index.cp.niter = _ROUNDS
        count = min(n, _TRAINING * self._lists)
        chosen = np.sort(np.random.default_rng(self._seed).choice(n, count, replace=False))
        # One thread: the sums of several may be rounded differently.
        with _one_openmp_thread():
            index.train(self._single(self._points[chosen]))
            index.add(self._single(self._points))
        return index


@contextmanager
def _one_openmp_thread() -> Iterator[None]:
    """Limit FAISS, called from this thread, to one thread: the chunks are parallel."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _norms(vectors: FloatArray) -> FloatArray:
    """Return the Euclidean norms along the last axis."""
    norms: FloatArray = np.sqrt(np.einsum("...i,...i->...", vectors, vectors))
    return norms

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
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, final

import faiss
import numpy as np
import pandas as pd
import scipy  # loads its parts when they are used
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn.operators import FloatArray

Index = NDArray[np.intp]

# Measured: up to three dimensions the tree is 3 to 14 times faster than inverted lists.
_TREE_DIMENSION = 3
_TREE_ROWS = 1024  # rows per chunk that are searched in the tree
_EXACT = 20_000  # up to this number of points all distances are computed
_PROBES = 12  # lists searched at first
_NEW_POINTS = 420  # points in the lists that are searched for a new row, on average
_LEAST_RECALL = 0.9
_LARGEST_PROBED_SHARE = 1 / 8  # of the lists; beyond, computing all distances is faster
_SAMPLE = 200  # rows of which the recall is measured
_TRAINING = 40  # points per list that its centre is computed from; FAISS warns below 39
_ROUNDS = 10  # of k-means; more do not improve the recall
_SPARE = 4  # further candidates, so that rounding does not choose among nearly equal distances
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

    Notes
    -----
    In up to three dimensions a k-d tree is searched. In more dimensions FAISS finds candidates in
    single precision, among all points or in the `probes` nearest of 2√n lists; their distances are
    computed again in double precision. Rows whose neighbours are too near for single precision are
    searched in the k-d tree. Of each place at most ``count + 1`` copies are searched, because
    further ones change no distance. Cost per row: n d, or √n (2 + probes / 2) d with lists.
    """

    def __init__(self, points: FloatArray, count: int, *, probes: int, seed: int) -> None:
        self._kept = _few_copies(points, count)
        self._points = points if len(self._kept) == len(points) else points[self._kept]
        n, dimension = self._points.shape
        self._count, self.probes = count, probes
        self._lists = int(2 * math.sqrt(n))
        self._width = min(count + 1 + _SPARE, n)  # candidates per row
        # The median is not moved by outliers.
        self._centre: FloatArray = np.median(self._points[:: -(-n // _EXACT)], axis=0)
        norms = _norms(self._points - self._centre)
        self._unit = float(np.median(norms[norms > 0])) if norms.any() else 1.0
        self._index = self._build_index(seed) if dimension > _TREE_DIMENSION else None

    @classmethod
    def tuned(
        cls, points: FloatArray, count: int, *, seed: int, least_recall: float = _LEAST_RECALL
    ) -> tuple[NeighbourSearch, float]:
        """Return a search that finds most of the neighbours, at least 0.9, and the share it finds.

        The share is measured for 200 of the points, and it is 1 for an exact search, as of up to
        20,000 points.
        """
        exact = cls(points, count, probes=0, seed=seed)
        most = exact._lists * _LARGEST_PROBED_SHARE
        least = _PROBES if least_recall >= _LEAST_RECALL else _PROBES // 2
        probes = max(least, 2 * _PROBES * count // exact._lists)
        if exact._index is None or len(exact._points) <= _EXACT or probes > most:
            return exact, 1.0
        sample = np.sort(np.random.default_rng(seed).choice(len(points), _SAMPLE, replace=False))
        farthest = exact.query(points[sample], sample)[0][:, -1:]
        search = cls(points, count, probes=probes, seed=seed)
        while search.probes <= most:
            distances, _ = search.query(points[sample], sample)
            # Neighbours at the same distance are equally good.
            recall = float(np.mean(distances <= farthest * (1 + 1e-9)))
            if recall >= least_recall:
                return search, recall
            search.probes += search.probes // 3
        return exact, 1.0

    def query(self, rows: FloatArray, excluded: Index | None = None) -> tuple[FloatArray, Index]:
        """Return distances and numbers of the nearest points, (q, count) each, nearest first.

        Parameters
        ----------
        rows : (q, d) array
        excluded : (q,) int array, optional
            A point for each row, such as itself, that is not its neighbour.
        """
        if not len(rows):
            return np.zeros((0, self._count)), np.zeros((0, self._count), np.intp)
        excluded = np.full(len(rows), -1) if excluded is None else excluded
        size = _TREE_ROWS
        if self._index is not None:
            parts = max(1, rows.size // _PRODUCT)
            size = min(-(-len(rows) // parts), max(32, _BLOCK // (self._width * rows.shape[1])))

        def search(start: int, stop: int) -> tuple[FloatArray, Index]:
            return self._nearest(rows[start:stop], excluded[start:stop])

        distances, neighbours = zip(*map_chunks(search, len(rows), size), strict=True)
        return np.concatenate(distances), np.concatenate(neighbours)

    def _nearest(self, rows: FloatArray, excluded: Index) -> tuple[FloatArray, Index]:
        if self._index is None:
            return self._nearest_in_tree(rows, excluded)
        with _one_openmp_thread():
            if self.probes:
                self._index.nprobe = self.probes
            candidates = self._index.search(self._single(rows), self._width)[1]
        candidates.sort(axis=1)
        gaps = self._points[candidates]
        gaps -= rows[:, None]
        distances, neighbours = self._ranked(_norms(gaps), candidates, excluded)
        # Search again where single precision or short lists may have hidden a neighbour.
        norms, radii = _norms(rows - self._centre), distances[:, -1]
        least = norms * (_LEAST_IN_LISTS if self.probes else _LEAST_IN_PRODUCTS)
        near = (radii > 0) & (radii < np.maximum(least, self._unit / _RANGE))
        doubtful = near | (norms > self._unit * _RANGE) | (candidates[:, 0] < 0)
        if doubtful.any():
            again = self._nearest_in_tree(rows[doubtful], excluded[doubtful])
            distances[doubtful], neighbours[doubtful] = again
        return distances, neighbours

    def _nearest_in_tree(self, rows: FloatArray, excluded: Index) -> tuple[FloatArray, Index]:
        # With a list of ranks the result has two axes, also for one neighbour.
        ranks = np.arange(1, min(self._count + 1, len(self._points)) + 1)
        distances, candidates = self._tree.query(rows, k=ranks)
        return self._ranked(distances, candidates, excluded)

    def _ranked(
        self, distances: FloatArray, candidates: Index, excluded: Index
    ) -> tuple[FloatArray, Index]:
        """Return the nearest candidates except the row itself."""
        neighbours = self._kept[candidates]
        distances[neighbours == excluded[:, None]] = np.inf
        order = np.argsort(distances, axis=1, kind="stable")[:, : self._count]
        return (
            np.take_along_axis(distances, order, axis=1),
            np.take_along_axis(neighbours, order, axis=1),
        )

    @cached_property
    def _tree(self) -> scipy.spatial.cKDTree:
        return scipy.spatial.cKDTree(self._points)

    def _single(self, rows: FloatArray) -> NDArray[np.float32]:
        """Return rows relative to the cloud, in single precision."""
        with np.errstate(over="ignore"):
            relative = (rows - self._centre) / self._unit
        return np.clip(relative, -_RANGE, _RANGE).astype(np.float32)

    def _build_index(self, seed: int) -> Any:
        n, dimension = self._points.shape
        index: Any = faiss.IndexFlatL2(dimension)
        # One thread: the sums of several may be rounded differently.
        with _one_openmp_thread():
            if self.probes:
                index = faiss.IndexIVFFlat(index, dimension, self._lists)
                index.cp.seed, index.cp.niter = seed, _ROUNDS
                count = min(n, _TRAINING * self._lists)
                chosen = np.sort(np.random.default_rng(seed).choice(n, count, replace=False))
                index.train(self._single(self._points[chosen]))
            index.add(self._single(self._points))
        return index


@final
class ListSearch:
    """Most of the `count` nearest points, in single precision, for rows that are no points.

    Parameters
    ----------
    points : (n, d) array
    count : int
    seed : int

    Notes
    -----
    Of 2√n lists, the nearest that hold 420 points on average are searched, in any dimension: six of
    20,000 points, 19 of 2000. That takes 4 to 7 microseconds in 16 to 64 dimensions and finds some
    0.65 of the neighbours of normal random points in 16 dimensions. Means over neighbours hardly
    depend on the others: see ``docs/scale.md`` for the change of distributions.
    """

    def __init__(self, points: NDArray[Any], count: int, seed: int) -> None:
        self._kept, self._count = _few_copies(points, count), count
        kept = np.asarray(points[self._kept], np.float64)
        self._centre = kept.mean(axis=0)
        relative = (kept - self._centre).astype(np.float32)
        lists = max(1, int(2 * math.sqrt(len(kept))))
        chosen = np.random.default_rng(seed).permutation(len(kept))[: _TRAINING * lists]
        with _one_openmp_thread():
            index: Any = faiss.IndexFlatL2(kept.shape[1])
            self._index: Any = faiss.IndexIVFFlat(index, kept.shape[1], lists)
            self._index.cp.seed, self._index.cp.niter = seed, _ROUNDS
            self._index.cp.min_points_per_centroid = 1  # FAISS warns on its own otherwise
            self._index.train(relative[np.sort(chosen)])
            self._index.add(relative)
        self._index.nprobe = -(-_NEW_POINTS * lists // len(kept))

    def query(self, rows: NDArray[Any]) -> tuple[NDArray[np.float32], Index]:
        """Return distances and numbers of near points, (q, count) each, nearest first.

        The distance of a neighbour is infinite if the lists have fewer points.
        """
        relative = np.clip(rows - self._centre, -_RANGE, _RANGE).astype(np.float32)
        with _one_openmp_thread():
            squares, neighbours = self._index.search(relative, self._count)
        missing = neighbours < 0
        squares[missing], neighbours[missing] = np.inf, 0
        return np.sqrt(np.maximum(squares, 0.0)), self._kept[neighbours]


def _few_copies(points: NDArray[Any], count: int) -> Index:
    """Return the points without those that have more than `count` copies before them."""
    places = pd.util.hash_pandas_object(pd.DataFrame(points), index=False)
    copies = places.groupby(places.to_numpy(), sort=False).cumcount().to_numpy()
    return np.flatnonzero(copies <= count)


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

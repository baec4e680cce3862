"""Points, and Dask arrays of them cut in every way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.distributed.tables import some_labels

import dask.array as da  # isort: skip

Cloud = tuple[NDArray[np.float64], NDArray[np.intp]]


def three_groups(n: int, seed: int, *, dimension: int = 2) -> Cloud:
    """Three groups that overlap a little, and which of them a point belongs to."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    middles = np.zeros((3, dimension))
    middles[1, 0], middles[2, -1] = 3.0, 3.5
    return middles[group] + rng.normal(size=(n, dimension)), group


def in_chunks(points: NDArray[Any], cuts: Sequence[int]) -> Any:
    """A Dask array with chunks that end at the given rows; some may be empty."""
    ends = [0, *sorted(min(cut, len(points)) for cut in cuts), len(points)]
    rows = tuple(int(b - a) for a, b in pairwise(ends))
    return da.from_array(points, chunks=(rows, points.shape[1]))


POINTS, GROUPS = three_groups(600, 0)
LABELS = some_labels(GROUPS, 40, 0)

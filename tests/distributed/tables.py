"""Tables, and Dask collections of them cut in every way."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

# Neither is a dependency of the library itself.
pytest.importorskip("dask", reason="Dask is not installed")
pytest.importorskip("distributed", reason="dask.distributed is not installed")

import dask.dataframe as dd


def texts(n: int, seed: int, *, columns: int = 8) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """A complete table of texts that follow a hidden class, and the class."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, n)
    cells = {}
    for j in range(columns):
        levels = 2 + j % 4
        noise = rng.random(n) < 0.4
        codes = np.where(noise, rng.integers(0, levels, n), hidden * (j + 1) % levels)
        cells[f"c{j}"] = np.array([f"v{k}" for k in range(levels)], object)[codes]
    return pd.DataFrame(cells), hidden


def some_labels(hidden: NDArray[np.intp], count: int, seed: int) -> NDArray[np.intp]:
    """−1 but for `count` rows."""
    y = np.full(len(hidden), -1)
    chosen = np.random.default_rng(seed).choice(len(hidden), count, replace=False)
    y[chosen] = hidden[chosen]
    return y


def from_parts(parts: Sequence[Any], empty: Any) -> Any:
    """A Dask DataFrame or Series with the given blocks, whatever their columns are."""
    return dd.from_map(lambda part: part, parts, meta=empty, enforce_metadata=False)


def in_blocks(frame: Any, cuts: Sequence[int]) -> Any:
    """A Dask DataFrame or Series with blocks that end at the given rows; some may be empty."""
    ends = [0, *sorted(min(cut, len(frame)) for cut in cuts), len(frame)]
    return from_parts([frame.iloc[a:b] for a, b in pairwise(ends)], frame.iloc[:0])

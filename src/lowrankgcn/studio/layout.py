"""Positions of the rows on the map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def own_coordinates(features: pd.DataFrame) -> NDArray[np.float32] | None:
    """Return the coordinates of points: two or three columns of numbers and nothing else."""
    kinds = {dtype.kind for dtype in features.dtypes if isinstance(dtype, np.dtype)}
    if features.shape[1] not in (2, 3) or not kinds <= set("iuf") or not kinds:
        return None
    if any(not isinstance(dtype, np.dtype) for dtype in features.dtypes):
        return None
    return features.to_numpy(np.float64)


def scaled(points: Any) -> NDArray[np.float32]:
    """Scale points to [-1, 1], distant ones at the edge; missing coordinates are the median."""
    points = np.where(np.isnan(points), np.nanmedian(points, axis=0), points)
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    centre = (low + high) / 2
    half = float(max((high - low).max() / 2, 1e-300)) * 1.1
    return np.clip((points - centre) / half, -1, 1).astype(np.float32)

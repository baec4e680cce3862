"""Fitted tables whose explanations are tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg

QUICK: dict[str, Any] = {"max_iter": 30, "random_state": 0}


def parts(row: Any) -> float:
    return row.baseline + sum(one.amount for one in row.contributions) + row.remainder


def labelled_cars(target: str = "buying") -> tuple[pd.DataFrame, np.ndarray]:
    cars = lg.datasets.load_cars(target=target, as_frame=True)
    y = np.full(len(cars.data), "", dtype=object)
    y[cars.training] = [cars.target_names[code] for code in cars.target.iloc[cars.training]]
    return cars.data, y

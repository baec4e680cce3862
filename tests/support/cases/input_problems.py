"""Small data for calls of the classifier, a classifier that is soon fitted, malformed calls."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn import GCNClassifier

N = 24
POINTS = np.random.default_rng(0).normal(size=(N, 3)) + 4.0 * (np.arange(N) % 2)[:, None]
LABELS = np.where(np.arange(N) < 12, np.arange(N) % 2, -1)
FRAME = pd.DataFrame(POINTS, columns=["a", "b", "c"])
TABLE = pd.DataFrame(
    {
        "colour": np.where(np.arange(N) % 2, "red", "blue"),
        "size": np.arange(N) % 5,
        "weight": POINTS[:, 0],
    }
)
WEIGHTS = np.exp(-np.square(POINTS[:, None] - POINTS[None]).sum(axis=2) / 10)


def changed(array: np.ndarray, place: Any, value: float) -> np.ndarray:
    copy = array.copy()
    copy[place] = value
    return copy


def quick(**options: Any) -> GCNClassifier:
    given: dict[str, Any] = {"max_iter": 5, "n_restarts": 1, "random_state": 0}
    return GCNClassifier(**(given | options))


def assert_refused(
    name: str, call: Callable[[], Any], message: str, error: type[Exception] = ValueError
) -> None:
    """Check that a call raises one error of this type and text, and no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call()
        except Exception as caught:
            assert type(caught) is error and re.search(message, str(caught)), f"{name}: {caught!r}"
            return
    pytest.fail(f"{name}: no error")

"""Small classifiers of every kind that are saved, and new rows for them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import lowrankgcn as lg
from lowrankgcn._codec import decode, encode

N = 90


def through_json(value: Any, expected: type[Any] = object) -> Any:
    """Return a value after it was written as arrays and JSON, and read."""
    arrays, encoded = encode(value)
    return decode(arrays, json.loads(json.dumps(encoded, allow_nan=False)), expected)


def two_groups(n: int = N, d: int = 2, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[: n // 2] += 3.0
    return X


def labels(n: int = N) -> np.ndarray:
    y = np.full(n, -1)
    y[:: n // 18] = (np.arange(n) >= n // 2)[:: n // 18]
    return y


def mixed_table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    colours = np.array(["red", "blue", None, "green"], dtype=object)
    numbers = rng.normal(size=N)
    numbers[::7] = np.nan
    return pd.DataFrame(
        {
            "colour": colours[rng.integers(0, 4, N)],
            "number": numbers,
            "flag": rng.random(N) < 0.5,
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], N)),
        }
    )


def fitted(X: Any, y: Any = None, **parameters: Any) -> lg.GCNClassifier:
    options = {"max_iter": 10, "random_state": 0, "hidden_widths": (4,), **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lg.GCNClassifier(**options).fit(X, labels() if y is None else y)


def weights(seed: int = 0) -> np.ndarray:
    """Weights of rows to those of seed 0."""
    gaps = two_groups(seed=seed)[:, None] - two_groups()
    return np.exp(-np.square(gaps).sum(axis=2))


def incidences(seed: int = 0) -> sp.csr_array:
    return sp.csr_array((np.random.default_rng(seed).random((N, 12)) < 0.3).astype(float))


CASES: dict[str, tuple[Callable[[int], Any], dict[str, Any]]] = {
    "default": (two_groups_of := lambda seed: two_groups(seed=seed), {}),
    "fortran": (lambda seed: np.asfortranarray(two_groups(d=9, seed=seed)), {"graph": "gaussian"}),
    "neighbours": (two_groups_of, {"graph": "knn"}),
    "full": (two_groups_of, {"graph": "knn", "architecture": "full"}),
    "low-rank": (two_groups_of, {"architecture": "low-rank", "rank": 5, "dtype": "float64"}),
    "reduced": (two_groups_of, {"architecture": "reduced", "filter": "heat"}),
    "several filters": (two_groups_of, {"filter": ["linear", "constant"], "bias": False}),
    "table": (mixed_table, {}),
    "nameless table": (lambda seed: mixed_table(seed).to_numpy(object), {}),
    "weights": (weights, {"graph": "precomputed"}),
    "incidence": (incidences, {"graph": "hypergraph"}),
}


@cache
def example(name: str) -> lg.GCNClassifier:
    make, parameters = CASES[name]
    return fitted(make(0), **parameters)


def assert_same_predictions(a: lg.GCNClassifier, b: lg.GCNClassifier, X: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ("predict_proba", "decision_function"):
            np.testing.assert_allclose(getattr(b, method)(X), getattr(a, method)(X), rtol=1e-12)
        left, right = a.predict(X), b.predict(X)
        assert left.dtype == right.dtype and left.tolist() == right.tolist()

"""Classified tables of every kind, each fitted in a blink."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from lowrankgcn.report.classification import Classification

__all__ = ["KINDS", "blobs", "classified", "decoded", "network", "of_kind", "process"]


def process(**options: Any) -> lg.SpectralGPClassifier:
    return lg.SpectralGPClassifier(random_state=0, **options)


def network(**options: Any) -> lg.GCNClassifier:
    return lg.GCNClassifier(max_iter=10, n_restarts=2, random_state=0, **options)


def classified(
    classifier: Any, X: Any, y: Any, frame: Any = None, **options: Any
) -> Classification:
    """Fit and gather, with the warnings that came."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        classifier.fit(X, y)
    texts = [str(item.message) for item in caught]
    return Classification(classifier, frame, y, warnings=texts, seed=0, **options)


def blobs(n: int = 120, n_blobs: int = 3, dimensions: int = 2) -> tuple[Any, Any]:
    """Points around centres, and a label for the first four of every blob."""
    generator = np.random.default_rng(0)
    truth = np.arange(n) % n_blobs
    centres = 6.0 * generator.permutation(np.indices((n_blobs, dimensions)).sum(axis=0))
    points = centres[truth] + generator.normal(size=(n, dimensions))
    return points, np.where(np.arange(n) < 4 * n_blobs, truth, -1)


def _table() -> tuple[pd.DataFrame, Any]:
    generator = np.random.default_rng(1)
    truth = generator.integers(0, 3, 200)
    frame = pd.DataFrame(
        {
            name: np.where(generator.random(200) < 0.8, truth, generator.integers(0, 3, 200))
            for name in ("colour", "size", "shape")
        }
    ).astype(str)
    frame["weight"] = truth + generator.normal(size=200)
    frame.loc[5, "colour"] = None
    labels = np.array([f"kind {code}" for code in truth], dtype=object)
    labels[30:] = None
    return frame, labels


def _of_table(make: Any = process, **options: Any) -> Classification:
    frame, labels = _table()
    return classified(make(**options), frame, labels, frame)


def _of_points(make: Any = process, **options: Any) -> Classification:
    points, labels = blobs()
    return classified(make(**options), points, labels, pd.DataFrame(points, columns=["x", "y"]))


def _precomputed() -> Classification:
    points, labels = blobs()
    weights = np.exp(-np.square(points[:, None] - points).sum(axis=2))
    return classified(process(graph="precomputed"), weights, labels)


def _given_graph() -> Classification:
    points, labels = blobs()
    return classified(process(), lg.AdjacencyGraph.knn(points, 5), labels)


def _in_parts(make: Any) -> Classification:
    """Forty parts of the graph, more than eigenpairs of networks; three of them have labels."""
    parts = np.arange(200) // 5
    labels = np.full(200, -1)
    labels[[0, 1, 5, 6, 10]] = [0, 0, 1, 1, 2]
    return classified(make(graph="precomputed"), (parts[:, None] == parts).astype(float), labels)


def _all_labelled() -> Classification:
    points, labels = blobs()
    return classified(process(), points, np.arange(len(labels)) % 3)


def _sampled() -> Classification:
    """More rows than are fitted, and a Gaussian graph of fewer."""
    points, labels = blobs(1500)
    return classified(process(graph="gaussian", fit_rows=1200), points, labels)


KINDS: dict[str, Callable[[], Classification]] = {
    "table": _of_table,
    "points": _of_points,
    "gaussian": lambda: _of_points(graph="gaussian"),
    "sampled": _sampled,
    "precomputed": _precomputed,
    "given graph": _given_graph,
    "parts": lambda: _in_parts(process),
    "all labelled": _all_labelled,
    "network": lambda: _of_table(network),
    "full rank": lambda: _of_points(network, architecture="full"),
    "one eigenpair": lambda: _of_points(network, filter="linear", rank=1),
    "three filters": lambda: _of_table(
        network, filter=["linear", "quadratic", "pseudoinverse"], rank=5
    ),
    "in parts": lambda: _in_parts(network),
}


@cache
def of_kind(kind: str) -> Classification:
    """The one of KINDS, made once."""
    return KINDS[kind]()


def decoded(columns: Any) -> dict[str, list[str]]:
    """Texts of the described rows by column."""
    return {
        name: [texts[code] for code in codes] if codes else list(texts)
        for name, codes, texts in columns
    }

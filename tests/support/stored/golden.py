"""Results that a refactoring must not change, as one JSON document.

``python -m tests.support.stored.golden`` writes ``tests/data/golden.json`` anew. Do that only in a
change that alters the method on purpose, and say so in its commit message. Everything is drawn from
seeds, has simple eigenvalues and is trained in float64, so processors agree far beyond the 1e-6
that ``test_golden.py`` allows.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from lowrankgcn.cli.app import app

STORED = Path(__file__).parents[2] / "data" / "golden.json"
PARTS = ("classifiers", "processes", "commands", "spectra")
_CHANGING = ("version", "seconds", "timings")  # of JSON documents


def blobs(n: int, dimension: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three overlapping Gaussian blobs: points (n, dimension) and classes (n,)."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % 3
    centres = 1.5 * rng.standard_normal((3, dimension))
    return centres[classes] + rng.standard_normal((n, dimension)), classes


def table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Two numeric and two text columns that depend on the class."""
    points, classes = blobs(n, 4, seed)
    words = np.array(["red", "green", "blue", "grey", "black"])
    frame = pd.DataFrame(points[:, :2].round(3), columns=["length", "width"])
    for name, column in (("colour", 2), ("shade", 3)):
        codes = np.digitize(points[:, column], [-1.5, -0.5, 0.5, 1.5])
        frame[name] = words[codes]
    return frame, classes


def partly(classes: np.ndarray, per_class: int) -> np.ndarray:
    """The classes of the first rows of every class, −1 elsewhere."""
    labels = np.full(len(classes), -1)
    for c in np.unique(classes):
        labels[np.flatnonzero(classes == c)[:per_class]] = c
    return labels


def numbers(array: Any) -> Any:
    """Nested lists of every seventh row, rounded to ten digits."""
    return np.round(np.asarray(array, float)[::7], 10).tolist()


def classifiers() -> dict[str, Any]:
    """Distributions of fitted and of new rows, also after saving and loading."""
    results = {}
    tables = {"table": table(160, 1), "points": blobs(160, 2, 2), "columns": blobs(160, 6, 3)}
    for name, (X, classes) in tables.items():
        fitted, new = X[:140], X[140:]
        model = lg.GCNClassifier(dtype="float64", max_iter=100, random_state=0)
        model.fit(fitted, partly(classes[:140], 6))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            lg.save(model, path)
            loaded = lg.load(path)
        results[name] = {
            "fitted": numbers(model.label_distributions_),
            "new": numbers(model.predict_proba(new)),
            "loaded": numbers(loaded.predict_proba(new)),
        }
    return results


def processes() -> dict[str, Any]:
    """The same for Gaussian processes, with leave-one-out distributions and suggested rows."""
    results = {}
    tables = {"table": table(160, 1), "points": blobs(160, 2, 2), "columns": blobs(160, 6, 3)}
    for name, (X, classes) in tables.items():
        fitted, new = X[:140], X[140:]
        model = lg.SpectralGPClassifier(random_state=0).fit(fitted, partly(classes[:140], 6))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            lg.save(model, path)
            loaded = lg.load(path)
        results[name] = {
            "fitted": numbers(model.label_distributions_),
            "new": numbers(model.predict_proba(new)),
            "loaded": numbers(loaded.predict_proba(new)),
            "held out": numbers(model.loo_distributions_),
            "blocks": {block: round(share, 10) for block, share in model.block_shares_.items()},
        }
    return results


def commands() -> dict[str, Any]:
    """JSON documents and predictions of the command line, without times and versions."""
    frame, classes = table(120, 6)
    names = np.array(["low", "middle", "high"], dtype=object)[classes]
    names[45:] = ""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        frame.assign(level=names).to_csv("table.csv", index=False)
        run = {
            "classify": "classify table.csv --target level --out out.csv --save model --level 0.9",
            "predict": "predict model table.csv --out new.csv",
            "suggest": "suggest table.csv --target level",
            "explain": "explain model table.csv --row 3",
        }
        for command, line in run.items():
            seed = ["--seed", "0"] if "--target" in line else []
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
                app([*line.split(), *seed, "--json"], prog_name="lowrankgcn")
            document = json.loads(printed.getvalue())
            results[command] = {k: v for k, v in document.items() if k not in _CHANGING}
        for name in ("out.csv", "new.csv"):
            written = pd.read_csv(name)
            results[name] = {
                "columns": list(written),
                "prediction": written["prediction"].tolist(),
                "probability": written["probability"].round(6).tolist(),
            }
    return results


def spectra() -> dict[str, Any]:
    """Eigenvalues, and a kernel's product with the coordinates."""
    points, _ = blobs(600, 3, 4)
    frame, _ = table(600, 5)
    graphs = {
        "gaussian": lg.GaussianGraph(points, bandwidth=2.0),
        "knn": lg.AdjacencyGraph.knn(points, 10),
        "hypergraph": lg.Hypergraph.from_table(frame),
    }
    results = {}
    for name, graph in graphs.items():
        laplacian = lg.Laplacian(graph, tol=1e-9)
        pairs = lg.eigenpairs(laplacian, 8)
        kernel = lg.kernel(laplacian, lg.filters.Heat(2.0), rank=8)
        results[name] = {
            "eigenvalues": np.round(pairs.eigenvalues, 10).tolist(),
            "heat": numbers(kernel @ points),
        }
    return results


def results() -> dict[str, Any]:
    """Everything that is compared."""
    return {part: globals()[part]() for part in PARTS}


if __name__ == "__main__":
    STORED.parent.mkdir(exist_ok=True)
    STORED.write_text(json.dumps(results(), indent=1) + "\n", encoding="utf-8")

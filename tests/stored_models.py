"""Model files that every later version must load, and what they predict.

``python -m tests.stored_models`` writes ``tests/data/table.model``, ``tests/data/points.model`` and
``tests/data/stored_models.json`` anew. Do that only when the file format changes on purpose.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg

FOLDER = Path(__file__).parent / "data"
EXPECTED = FOLDER / "stored_models.json"
NAMES = ("table", "points")
OPTIONS: dict[str, Any] = {"n_restarts": 1, "max_iter": 60, "hidden_widths": (8,)}


def rows(name: str, seed: int) -> tuple[Any, np.ndarray]:
    """Sixty rows and their classes; seed 0 gives those the model was fitted to."""
    rng = np.random.default_rng(seed)
    classes = np.arange(60) % 3
    points = rng.normal(size=(60, 2)) + 3.0 * np.array([[0, 0], [1, 0], [0, 1]])[classes]
    if name == "points":
        return points, classes
    colours = np.array(["red", "green", "blue", None], dtype=object)
    shown = np.where(rng.random(60) < 0.8, classes, 3)
    frame = pd.DataFrame({"colour": colours[shown], "length": points[:, 0].round(3)})
    frame["kind"] = rng.choice(["a", "b"], 60)
    frame.loc[::11, "length"] = np.nan
    return frame, classes


def write(name: str) -> list[list[float]]:
    """Fit and save one model, and return its distributions of new rows."""
    X, classes = rows(name, 0)
    labels = np.full(60, "", dtype=object)
    labels[:18] = np.array(["low", "middle", "high"], dtype=object)[classes[:18]]
    classifier = lg.GCNClassifier(random_state=0, dtype="float64", **OPTIONS)
    classifier.fit(X, labels)
    lg.save(classifier, FOLDER / f"{name}.model", description={"rows": name})
    distributions: list[list[float]] = classifier.predict_proba(rows(name, 1)[0]).tolist()
    return distributions


if __name__ == "__main__":
    EXPECTED.write_text(json.dumps({name: write(name) for name in NAMES}))
    for name in NAMES:
        print(name, (FOLDER / f"{name}.model").stat().st_size, "bytes", file=sys.stderr)

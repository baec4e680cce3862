"""Model files that every later version must load, and what they predict.

``python -m tests.support.stored.stored_models`` writes the models and ``stored_models.json`` in
``tests/data`` anew. Do that only when the file format changes on purpose. ``command.model`` is a
file of the command ``classify``, which also holds the columns of the table.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from lowrankgcn.cli.app import app

FOLDER = Path(__file__).parents[2] / "data"
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


def labels(classes: np.ndarray) -> np.ndarray:
    """Names of the first eighteen classes, empty texts for the others."""
    names = np.array(["low", "middle", "high"], dtype=object)[classes]
    names[18:] = ""
    return names


def write(name: str) -> list[list[float]]:
    """Fit and save one model, and return its distributions of new rows."""
    X, classes = rows(name, 0)
    classifier = lg.GCNClassifier(random_state=0, dtype="float64", **OPTIONS)
    classifier.fit(X, labels(classes))
    lg.save(classifier, FOLDER / f"{name}.model", description={"rows": name})
    distributions: list[list[float]] = classifier.predict_proba(rows(name, 1)[0]).tolist()
    return distributions


def write_command() -> list[float]:
    """Save a model by ``classify``, and return the probabilities that ``predict`` writes."""
    frame, classes = rows("table", 0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.assign(level=labels(classes)).to_csv(path, index=False)
        options = ["--target", "level", "--seed", "0", "--quiet"]
        run("classify", path, *options, "--save", FOLDER / "command.model")
        return predict_command(Path(folder))


def predict_command(folder: Path) -> list[float]:
    """Return the probabilities that ``predict`` writes for new rows with the stored model."""
    table, out = folder / "new.csv", folder / "predictions.csv"
    rows("table", 1)[0].to_csv(table, index=False)
    run("predict", FOLDER / "command.model", table, "--out", out, "--quiet")
    probabilities: list[float] = pd.read_csv(out)["probability"].tolist()
    return probabilities


def run(*arguments: str | Path) -> None:
    """Run a command in this process."""
    with contextlib.suppress(SystemExit):
        app(list(map(str, arguments)), prog_name="lowrankgcn")


if __name__ == "__main__":
    expected: dict[str, Any] = {name: write(name) for name in NAMES}
    EXPECTED.write_text(json.dumps(expected | {"command": write_command()}))
    for path in sorted(FOLDER.glob("*.model")):
        print(path.name, path.stat().st_size, "bytes", file=sys.stderr)

"""Every column is read once at fit and once at predict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn.tables import Cells
from tests.cli.commands import call

NAMES = ("colour", "length", "width", "note")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calls of `Cells.read` by column."""
    counts: Counter[str] = Counter()
    read = Cells.read

    def counting(column: Any, name: Any) -> Cells:
        counts[name] += len(column) > 0  # an empty column stands for its type
        return read(column, name)

    monkeypatch.setattr(Cells, "read", counting)
    return counts


def table(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, n)
    words = rng.choice(["fine", "dull", "new", "old", "loud"], (n // 2, 4))
    frame = pd.DataFrame(
        {
            "colour": np.where(rng.random(n) < 0.8, kinds, 1 - kinds).astype(str),
            "length": rng.normal(size=n).round(3) + kinds,
            "width": rng.normal(size=n).round(3),
            "note": [
                f"{k // 2} {' '.join(own)}" for k, own in enumerate(np.repeat(words, 2, axis=0))
            ],
        }
    )
    frame["colour"] = frame["colour"].map({"0": "red", "1": "blue"})
    return frame, np.where(np.arange(n) < 30, kinds, -1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: lg.SpectralGPClassifier(random_state=0),
        lambda: lg.SpectralGPClassifier(random_state=0, fit_rows=40),
        lambda: lg.GCNClassifier(random_state=0, max_iter=5),
    ],
    ids=["gp", "gp with a sample", "gcn"],
)
def test_classifiers(make: Callable[[], Any], reads: Counter[str]) -> None:
    frame, y = table()
    classifier = make().fit(frame, y)
    assert +reads == dict.fromkeys(NAMES, 1)
    reads.clear()
    classifier.predict(frame)
    assert reads == dict.fromkeys(NAMES, 1)
    if hasattr(classifier, "explain"):
        reads.clear()
        classifier.column_importance(), classifier.suggest(2), classifier.unsure()
        assert not reads
        classifier.explain(frame.head(2))
        assert reads == dict.fromkeys(NAMES, 1)


def test_commands(tmp_path: Path, reads: Counter[str]) -> None:
    frame, y = table()
    path, model = str(tmp_path / "table.csv"), str(tmp_path / "table.model")
    frame.assign(kind=np.where(y < 0, "", y.astype(str))).to_csv(path, index=False)
    outputs = ["--report", str(tmp_path / "r.html"), "--save", model, "--json"]
    assert call("classify", path, "--target", "kind", *outputs) == 0
    assert {name: reads[name] for name in NAMES} == dict.fromkeys(NAMES, 1)
    reads.clear()
    assert call("predict", model, path, "--json") == 0
    assert {name: reads[name] for name in NAMES} == dict.fromkeys(NAMES, 1)

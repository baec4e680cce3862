"""Columns of texts in tables given to Python: the same answers as for files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import lowrankgcn as lg
from lowrankgcn.files import choose_columns, read_file
from lowrankgcn.gp import recipe

N = 120
TRUTH = np.arange(N) % 3
LABELS = np.where(np.arange(N) < 36, np.array(["a", "b", "c"])[TRUTH], "")
TOPICS = ("engine wheel brake road", "oven flour sugar bread", "goal team match ball")


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "_TREES", 10)


def texts() -> pd.DataFrame:
    """All cells are texts: identifiers, free text, prices, dates and categories."""
    generator = np.random.default_rng(0)
    filler = [f"word{k}" for k in range(40)]
    notes = [
        " ".join([*generator.choice(TOPICS[c].split(), 3), *generator.choice(filler, 4)])
        for c in TRUTH
    ]
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(generator.integers(0, 300, N), "D")
    return pd.DataFrame(
        {
            "code": [f"K{17 * k % 1000:03d}" for k in range(N)],
            "note": notes,
            "price": [f"$ {1000 + 10 * p:,}.50" for p in generator.integers(0, 99, N)],
            "day": days.strftime("%d.%m.%Y"),
            "colour": generator.choice(["red", "green", "blue"], N),
        }
    )


LIBRARIES: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "objects": lambda frame: frame.astype(object),
    "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_texts_are_read_as_in_files(library: str, tmp_path: Path) -> None:
    frame, path = texts(), tmp_path / "t.csv"
    frame.assign(kind=LABELS).to_csv(path, index=False)
    file = read_file(path)
    columns = choose_columns(file.frame, "kind")
    command = lg.SpectralGPClassifier(random_state=0)
    command.fit(columns.features(file.frame), columns.labels(file.frame))
    rows = LIBRARIES[library](frame)
    with pytest.warns(lg.ColumnWarning, match="column 'code' is left out: its values identify"):
        classifier = lg.SpectralGPClassifier(random_state=0).fit(rows, LABELS)
    expected = command.label_distributions_
    assert (classifier.transduction_ == np.array(["a", "b", "c"])[TRUTH]).mean() > 0.9
    assert_allclose(classifier.label_distributions_, expected, rtol=0, atol=1e-9)
    assert classifier.columns_.used == columns.used and "note" in classifier.columns_.words
    assert_allclose(classifier.predict_proba(rows), command.predict_proba(columns.features(frame)))
    lg.save(classifier, tmp_path / "m")
    loaded = lg.load(tmp_path / "m")
    assert_allclose(loaded.predict_proba(rows), classifier.predict_proba(rows))


def test_categories_by_type() -> None:
    """The pandas type category is a decision that is respected, without a warning."""
    frame = texts().drop(columns="day").astype("category")
    classifier = lg.SpectralGPClassifier(random_state=0).fit(frame, LABELS)
    assert set(classifier.columns_.used.values()) == {"category"}
    digits = pd.DataFrame({"a": pd.Categorical(TRUTH.astype(str))})
    assert lg.SpectralGPClassifier().fit(digits, LABELS).columns_.used == {"a": "category"}


def test_a_single_column_is_no_identifier() -> None:
    frame = pd.DataFrame({"place": np.arange(N)})
    y = np.where(np.arange(N) % 4 == 0, np.arange(N) > 60, -1)
    classifier = lg.SpectralGPClassifier(random_state=0).fit(frame, y)
    assert classifier.predict(pd.DataFrame({"place": [3, 110]})).tolist() == [0, 1]

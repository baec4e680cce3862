"""Columns of texts in tables given to Python: the same answers as for files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import cross_val_score

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
    "polars": lambda frame: pl.from_pandas(frame),
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
    assert classifier.columns_.used == columns.used and "note" in classifier.columns_.texts
    assert_allclose(classifier.predict_proba(rows), command.predict_proba(columns.features(frame)))
    lg.save(classifier, tmp_path / "m")
    loaded = lg.load(tmp_path / "m")
    assert_allclose(loaded.predict_proba(rows), classifier.predict_proba(rows))


@pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning")
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


@pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning")
@pytest.mark.parametrize("column", ["x", "note"])
def test_rows_without_cells_get_the_class_shares(column: str) -> None:
    frame = pd.DataFrame({"x": 3.0 * TRUTH, "note": texts()["note"]})
    frame = frame[["x"]] if column == "x" else frame
    frame.loc[100] = None
    empty = frame.loc[[100, 100]]
    classifier = lg.SpectralGPClassifier(class_shares="labels", random_state=0)
    with pytest.warns(lg.ColumnWarning, match="of 1 row without any cell are the class shares"):
        classifier.fit(frame, LABELS)
    with pytest.warns(lg.ColumnWarning, match="of 2 rows without any cell are the class shares"):
        assert_allclose(classifier.predict_proba(empty), 1 / 3)
    assert_allclose(classifier.label_distributions_[100], 1 / 3)
    assert classifier.predict_proba(frame[:5]).max() > 0.5


def test_measurements_are_no_classes() -> None:
    with pytest.raises(ValueError, match=r"y: expected classes, got 1500 different integers in"):
        lg.SpectralGPClassifier().fit(np.ones((1500, 1)), np.arange(1500) * 7)


def test_scores_ignore_unlabelled_rows() -> None:
    X = np.c_[TRUTH, TRUTH] + np.random.default_rng(0).normal(0, 0.05, (N, 2))
    y = np.where(np.arange(N) % 2, TRUTH, -1)
    classifier = lg.SpectralGPClassifier(random_state=0)
    with pytest.warns(UserWarning, match="counts unlabelled rows as a class; use scoring=lowrank"):
        wrong = cross_val_score(classifier, X, y, scoring="accuracy", cv=2)
    assert wrong.max() < 0.6
    for scoring in ("accuracy", "neg_log_loss"):
        scorer = lg.metrics.labelled_scorer(scoring)
        assert cross_val_score(classifier, X, y, scoring=scorer, cv=2).min() > -0.2
    assert cross_val_score(classifier, X, y, scoring=lg.metrics.labelled_scorer(), cv=2).min() == 1

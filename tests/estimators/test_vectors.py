"""Columns of vectors, such as embeddings, in Python and in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

import lowrankgcn as lg
from lowrankgcn.estimators.explanation import Nearest
from lowrankgcn.files import choose_columns, read_file, write_file
from lowrankgcn.gp import recipe
from lowrankgcn.tables import Cells, FittedTable, Table
from lowrankgcn.tables.texts import TextColumn
from tests.cli.commands import call

N = 150
IMAGES, TRUTH = (part[:N] for part in load_digits(return_X_y=True))
LABELS = np.where(np.arange(N) < 60, TRUTH.astype(str), "")


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "_TREES", 10)


def fixed_size(X: Any) -> Any:
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ravel(X)), X.shape[1])


def frames() -> dict[str, Any]:
    """One column of vectors in the ways that people have it."""
    pixels = {"image": list(IMAGES)}
    return {
        "arrays": pd.DataFrame(pixels),
        "lists": pd.DataFrame({"image": IMAGES.tolist()}),
        "arrow": pa.table({"image": IMAGES.tolist()}),
        "fixed size": pa.table({"image": fixed_size(IMAGES)}),
        "texts": pd.DataFrame({"image": [json.dumps(row) for row in IMAGES.tolist()]}),
    }


def test_all_ways_give_the_same_answer(tmp_path: Path) -> None:
    results = {}
    for way, frame in frames().items():
        classifier = lg.SpectralGPClassifier(random_state=0).fit(frame, LABELS)
        assert classifier.columns_.used == {"image": "vector"}
        results[way] = classifier.label_distributions_
        assert_allclose(results[way], results["arrays"], rtol=0, atol=1e-9, err_msg=way)
    assert (classifier.transduction_.astype(int) == TRUTH).mean() > 0.8
    assert classifier.column_importance() == {"image": 1.0}
    lg.save(classifier, tmp_path / "m")
    loaded = lg.load(tmp_path / "m")
    assert_allclose(loaded.predict_proba(frame), classifier.predict_proba(frame))
    with pytest.raises(ValueError, match="'image': expected vectors of 64 numbers, got 3 numbers"):
        loaded.predict(pd.DataFrame({"image": IMAGES[:2, :3].tolist()}))
    with pytest.warns(lg.ColumnWarning, match="1 row without any cell are the class shares"):
        loaded.predict(pd.DataFrame({"image": [None, IMAGES[0]]}))


def test_reasons_are_the_nearest_labelled_rows() -> None:
    frame = pd.DataFrame({"image": list(IMAGES), "noise": np.arange(N) % 7 * 1.5})
    classifier = lg.SpectralGPClassifier(random_state=0).fit(frame, LABELS)
    row = classifier.explain(frame[100:101])[0]
    near = next(part.value for part in row.contributions if part.name == "image")
    distances = np.linalg.norm(IMAGES[:60] - IMAGES[100], axis=1)
    assert near == Nearest(
        tuple(np.argsort(distances)[:3].tolist()), tuple(LABELS[np.argsort(distances)[:3]])
    )
    assert f"image like that of labelled rows {near.text(1)}" in "\n".join(
        row.lines("columns", first=1)
    )
    assert set(classifier.column_importance()) == {"image", "noise"}


def test_networks_use_entries_as_columns() -> None:
    frame = pd.DataFrame({"image": list(IMAGES)})
    classifier = lg.GCNClassifier(random_state=0, max_iter=20)
    expected = lg.GCNClassifier(random_state=0, max_iter=20).fit(IMAGES, LABELS)
    assert_allclose(
        classifier.fit(frame, LABELS).label_distributions_, expected.label_distributions_, atol=1e-9
    )
    assert (classifier.predict(frame) == expected.predict(IMAGES)).all()
    mixed = frame.assign(kind=np.where(TRUTH > 4, "high", "low"))
    assert classifier.fit(mixed, LABELS).predict(mixed[:3]).shape == (3,)


def test_scores_keep_distances() -> None:
    X = np.random.default_rng(0).normal(size=(80, 6)) * 10.0 ** np.arange(6) * 1e200
    X[:, 3:] = 0
    fitted = FittedTable.fit(pa.table({"x": X.tolist()}))
    scores = fitted.vectors[0].read(Table.read(pa.table({"x": X.tolist()}))["x"])
    assert_allclose(np.ptp(scores, axis=0)[:3], np.ptp(X, axis=0)[:3] / fitted.vectors[0].unit)
    assert 1 <= scores.var(axis=0).sum() < 1.2  # one direction dominates
    assert not FittedTable.fit(pa.table({"x": [[1.0, 2.0]] * 5})).used


def test_what_vectors_are() -> None:
    assert Cells.read(pd.Series([[1, 2], None, [3, 4]]), "x").kind == "vector"
    assert Cells.read(pd.Series([(1, 2), (3, 4)]), "x").kind == "category"  # as before
    assert TextColumn(Cells.read(pd.Series(["[1]", "[x]"]), "x")).kind == "category"
    for wrong, message in (
        ([[1], [1, 2]], "'x': expected vectors of the same length"),
        ([[np.inf]], "'x': expected vectors of finite numbers"),
        ([[]], "expected vectors of the same length, at least one number"),
    ):
        with pytest.raises(ValueError, match=message):
            Cells.read(pd.Series(wrong, dtype=pd.ArrowDtype(pa.list_(pa.float64()))), "x")


def test_lists_as_numpy_prints_them() -> None:
    vectors = np.round(np.random.default_rng(0).normal(size=(30, 3)), 3)
    frame = pd.DataFrame(
        {
            "scalars": [f"[{', '.join(f'np.float64({x})' for x in row)}]" for row in vectors],
            "array": [str(row).replace("  ", "\n ") for row in vectors],
            "integers": [str(list(row.astype(np.int64))) for row in 100 * vectors],
            "words": "[no list]",
        }
    )
    columns = choose_columns(frame, None, categorical=["words"])
    assert columns.used == dict.fromkeys(("scalars", "array", "integers"), "vector") | {
        "words": "category"
    }
    features = columns.features(frame)
    for name in ("scalars", "array"):
        np.testing.assert_allclose(features[name].numbers, vectors)
    np.testing.assert_allclose(features["integers"].numbers, (100 * vectors).astype(np.int64))


def test_files_and_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"image": fixed_size(IMAGES), "kind": LABELS.tolist()})
    paths = {ending: tmp_path / f"t.{ending}" for ending in ("parquet", "csv", "jsonl", "xlsx")}
    pq.write_table(table, paths["parquet"])
    frame = read_file(paths["parquet"]).frame
    answers = []
    for path in paths.values():
        write_file(frame, path)
        assert call("classify", str(path), "--target", "kind", "--json") == 0
        document = json.loads(capsys.readouterr().out)
        assert document["columns"] == {"image": "vector"}
        answers.append(document["loo_accuracy"])
    assert_allclose(answers, answers[0])
    rest, vectors = tmp_path / "rest.csv", tmp_path / "e.npy"
    rest.write_text("kind,noise\n" + "".join(f"{y},{k % 7}.5\n" for k, y in enumerate(LABELS)))
    np.save(vectors, IMAGES.astype(np.float32))
    model, out = tmp_path / "m", tmp_path / "out.csv"
    options = ["--vectors", str(vectors)]
    assert call("classify", str(rest), "--target", "kind", *options, "--save", str(model)) == 0
    assert call("suggest", str(rest), "--target", "kind", *options, "-k", "2", "--json") == 0
    assert call("predict", str(model), str(rest), *options, "--out", str(out)) == 0
    assert (read_file(out).frame["prediction"].astype(int) == TRUTH).mean() > 0.8
    assert "vectors" not in out.read_text()
    capsys.readouterr()
    assert call("explain", str(model), str(rest), *options, "--row", "101", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    parts = document["rows"][0]["contributions"]
    assert {"row", "class"} == set(next(p for p in parts if p["name"] == "vectors")["value"][0])
    assert call("predict", str(model), str(rest)) == 2
    assert "--vectors reads vectors from a file" in capsys.readouterr().err
    np.save(vectors, IMAGES[:5])
    assert call("predict", str(model), str(rest), *options) == 2
    assert "e.npy: expected an array of numbers with 150 rows" in capsys.readouterr().err

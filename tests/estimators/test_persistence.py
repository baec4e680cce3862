"""Saved classifiers give the same predictions as before."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lowrankgcn as lg
from lowrankgcn.estimators import model_files
from lowrankgcn.estimators.model_files import NotSaved
from tests.support.each import each
from tests.support.stored import stored_models
from tests.support.stored.saved_examples import (
    CASES,
    assert_same_predictions,
    example,
    fitted,
    labels,
    mixed_table,
    two_groups,
)


@each("name", CASES)
def test_predictions_are_the_same(name: str, tmp_path: Path) -> None:
    classifier, new = example(name), CASES[name][0](1)
    lg.save(classifier, tmp_path / "model")
    loaded = lg.load(str(tmp_path / "model"))
    if name == "full":
        with pytest.raises(ValueError, match="architecture='low-rank'"):
            loaded.predict(new)
    else:
        assert_same_predictions(classifier, loaded, new)
    assert loaded.get_params() == classifier.get_params()
    for attribute in ("classes_", "transduction_", "label_distributions_", "unplaced_"):
        assert np.array_equal(getattr(loaded, attribute), getattr(classifier, attribute))
    assert np.array_equal(loaded.loss_curve_, classifier.loss_curve_, equal_nan=True)
    assert loaded.n_iter_ == classifier.n_iter_ and loaded.timings_ == classifier.timings_
    assert loaded.n_features_in_ == classifier.n_features_in_
    assert hasattr(loaded, "feature_names_in_") == hasattr(classifier, "feature_names_in_")


@pytest.mark.parametrize("name", stored_models.NAMES)
def test_stored_models_load_and_predict(name: str) -> None:
    loaded = lg.load(stored_models.FOLDER / f"{name}.model")
    expected = json.loads(stored_models.EXPECTED.read_text())[name]
    new = stored_models.rows(name, 1)[0]
    np.testing.assert_allclose(loaded.predict_proba(new), expected, atol=1e-6)
    assert loaded.classes_.tolist() == ["high", "low", "middle"]
    assert loaded.description_ == {"rows": name}


def test_models_of_release_0_2_are_refused_with_both_ways_out() -> None:
    with pytest.raises(ValueError, match=r"fit the classifier again .* or predict with .* 0\.2$"):
        lg.load(stored_models.FOLDER / "release_0_2.model")


def test_landmarks_and_their_memory_order(tmp_path: Path) -> None:
    X = two_groups(3000, d=4)
    classifier = fitted(X, labels(3000), bandwidth=6.0, architecture="low-rank", rank=6)
    assert type(classifier._model.extension.cross).__name__ == "LandmarkCross"
    lg.save(classifier, tmp_path / "model", fitted_rows=False)
    assert (tmp_path / "model").stat().st_size < 3000 * 8 * 100
    assert_same_predictions(classifier, lg.load(tmp_path / "model"), two_groups(201, 4, seed=5))


def test_saving_a_loaded_classifier_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("table", "default"):
        lg.save(example(name), tmp_path / "a")
        lg.save(lg.load(tmp_path / "a"), tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_description_is_kept(tmp_path: Path) -> None:
    classifier, path = example("table"), tmp_path / "model"
    lg.save(classifier, path)
    assert lg.load(path).description_ == {}
    lg.save(classifier, path, description={"source": "Käse.csv", "columns": [["a", 1]]})
    loaded = lg.load(path)
    assert loaded.description_ == {"source": "Käse.csv", "columns": [["a", 1]]}
    lg.save(loaded, tmp_path / "again")
    assert lg.load(tmp_path / "again").description_ == loaded.description_
    for wrong in ({"a": object()}, {"a": float("nan")}, {1, 2}):
        with pytest.raises(ValueError, match="description: expected values that JSON supports"):
            lg.save(classifier, path, description=wrong)  # type: ignore[arg-type]


def test_fitted_rows_can_be_left_out(tmp_path: Path) -> None:
    lg.save(example("table"), tmp_path / "all")
    lg.save(example("table"), tmp_path / "model", fitted_rows=False)
    assert (tmp_path / "model").stat().st_size < (tmp_path / "all").stat().st_size
    loaded = lg.load(tmp_path / "model")
    assert not hasattr(loaded, "transduction_") and not hasattr(loaded, "label_distributions_")
    assert list(loaded.feature_names_in_) == ["colour", "number", "flag", "kind"]
    assert_same_predictions(example("table"), loaded, mixed_table(1))
    lg.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_graph_of_other_rows_keeps_its_fitted_nodes(tmp_path: Path) -> None:
    graph = lg.AdjacencyGraph.knn(two_groups(seed=2), 5)
    classifier = fitted(two_groups(), graph=graph)
    lg.save(classifier, tmp_path / "model")
    loaded = lg.load(tmp_path / "model")
    assert np.array_equal(loaded.transduction_, classifier.transduction_)
    with pytest.raises(ValueError, match="fitted rows"):
        loaded.predict(two_groups())
    with pytest.raises(ValueError, match="fitted_rows"):
        lg.save(classifier, tmp_path / "other", fitted_rows=False)


def test_classes_of_a_classifier(tmp_path: Path) -> None:
    for classes in (["no", "yes"], [False, True], [4, 9], [1.0, 2.0]):
        y = np.array([None if k < 0 else classes[k] for k in labels()], dtype=object)
        classifier = fitted(two_groups(), y, architecture="low-rank", filter="heat", rank=4)
        lg.save(classifier, tmp_path / "model")
        loaded = lg.load(tmp_path / "model")
        assert_same_predictions(classifier, loaded, two_groups(seed=1))
        assert loaded.transduction_.tolist() == classifier.transduction_.tolist()


def test_other_classes_are_refused(tmp_path: Path) -> None:
    classifier = clone_of("default")
    classifier.classes_ = np.array([pd.Timestamp("2020"), pd.Timestamp("2021")], object)
    with pytest.raises(ValueError, match="classes_"):
        lg.save(classifier, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def clone_of(name: str) -> lg.GCNClassifier:
    classifier = clone(example(name))
    classifier.__dict__.update(example(name).__dict__)
    return classifier


def test_parameters_that_files_keep_and_do_not_keep(tmp_path: Path) -> None:
    classifier = clone_of("default")
    f = lg.filters
    combined = 0.5 * f.Heat(3.0) + f.Polynomial((1.0, -1.0)) + f.Pseudoinverse()
    classifier.set_params(
        filter=[combined, "linear", f.Custom(np.cos)],
        graph=lg.Hypergraph([[1, 0], [1, 1]]),
        random_state=np.random.RandomState(0),
        hidden_widths=(np.int64(3), 4),
        class_weight={0: 1.0, 1: float("inf")},
        smoother=np.array([1.0, 2.0]),
        max_iter=np.int32(7),
    )
    lg.save(classifier, tmp_path / "model")
    loaded = lg.load(tmp_path / "model")
    assert loaded.filter[:2] == [combined, "linear"]
    assert isinstance(loaded.filter[2], NotSaved)
    assert loaded.graph == NotSaved(repr(classifier.graph))
    assert "0x" not in loaded.random_state.text
    assert loaded.hidden_widths == (3, 4) and loaded.max_iter == 7
    assert loaded.class_weight == classifier.class_weight
    assert loaded.smoother.tolist() == [1.0, 2.0]
    clone(loaded)
    with pytest.raises(ValueError, match="graph"):
        loaded.fit(two_groups(), labels())
    with pytest.raises(ValueError, match="filter"):
        loaded.set_params(graph="auto").fit(two_groups(), labels())


def test_malformed_calls_of_save(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"classifier: expected a fitted GCN.* got dict"):
        lg.save({}, tmp_path / "model")
    with pytest.raises(NotFittedError):
        lg.save(lg.GCNClassifier(), tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        lg.save(example("default"), tmp_path / "no folder" / "model")
    with pytest.raises(IsADirectoryError):
        lg.save(example("default"), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failed_write_leaves_the_old_file(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").write_bytes(b"old")

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(model_files.os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        lg.save(example("default"), tmp_path / "model")
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_bytes() == b"old"


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_saving_keeps_file_modes_and_links(tmp_path: Path) -> None:
    lg.save(example("default"), tmp_path / "model")
    (tmp_path / "plain").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "model").chmod(0o640)
    (tmp_path / "link").symlink_to("model")
    lg.save(example("table"), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640
    assert lg.load(tmp_path / "model").n_features_in_ == 4

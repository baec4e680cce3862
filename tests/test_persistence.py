"""Saved classifiers: the same predictions bit for bit, and clear errors for anything else."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save as to_bytes
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import lowrankgcn as lg
from lowrankgcn.estimators import persistence
from lowrankgcn.estimators.plain import NotSaved, classes_from_plain, classes_to_plain

N = 90


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("saved")


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


CASES: dict[str, tuple[Callable[[int], Any], dict[str, Any]]] = {
    "default": (two_groups_of := lambda seed: two_groups(seed=seed), {}),
    "dense": (lambda seed: two_groups(d=9, seed=seed), {"bandwidth": 2.0}),
    "fortran": (lambda seed: np.asfortranarray(two_groups(d=9, seed=seed)), {"graph": "gaussian"}),
    "neighbours": (two_groups_of, {"graph": "knn"}),
    "full": (two_groups_of, {"graph": "knn", "architecture": "full"}),
    "low-rank": (two_groups_of, {"architecture": "low-rank", "rank": 5, "dtype": "float64"}),
    "reduced": (two_groups_of, {"architecture": "reduced", "filter": "heat"}),
    "several filters": (two_groups_of, {"filter": ["linear", "constant"], "bias": False}),
    "paper": (two_groups_of, {"preset": "paper", "rank": 5}),
    "table": (mixed_table, {}),
    "nameless table": (lambda seed: mixed_table(seed).to_numpy(object), {}),
    "full table": (mixed_table, {"architecture": "full"}),
}


@cache
def example(name: str) -> lg.GCNClassifier:
    make, parameters = CASES[name]
    return fitted(make(0), **parameters)


def assert_same_predictions(a: lg.GCNClassifier, b: lg.GCNClassifier, X: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in ("predict_proba", "decision_function", "predict"):
            left, right = getattr(a, method)(X), getattr(b, method)(X)
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes(), method


@pytest.mark.parametrize("name", CASES)
def test_predictions_are_the_same_bit_for_bit(name: str, tmp_path: Path) -> None:
    classifier, new = example(name), CASES[name][0](1)
    lg.save(classifier, tmp_path / "model")
    loaded = lg.load(str(tmp_path / "model"))
    assert_same_predictions(classifier, loaded, new)
    assert loaded.get_params() == classifier.get_params()
    for attribute in ("classes_", "transduction_", "label_distributions_", "unplaced_"):
        assert np.array_equal(getattr(loaded, attribute), getattr(classifier, attribute))
    assert np.array_equal(loaded.loss_curve_, classifier.loss_curve_, equal_nan=True)
    assert repr(loaded.selection_) == repr(classifier.selection_)
    assert loaded.selection_.to_frame().equals(classifier.selection_.to_frame())
    assert loaded.n_iter_ == classifier.n_iter_ and loaded.timings_ == classifier.timings_
    assert loaded.n_features_in_ == classifier.n_features_in_
    assert hasattr(loaded, "feature_names_in_") == hasattr(classifier, "feature_names_in_")


def test_landmarks_and_their_memory_order(tmp_path: Path) -> None:
    X = two_groups(3000, d=4)
    classifier = fitted(X, labels(3000), bandwidth=6.0, architecture="low-rank", rank=6)
    assert classifier._model.cross.kind == "landmarks"
    lg.save(classifier, tmp_path / "model", fitted_rows=False)
    assert (tmp_path / "model").stat().st_size < 3000 * 8 * 100
    assert_same_predictions(classifier, lg.load(tmp_path / "model"), two_groups(201, 4, seed=5))


def test_files_do_not_change_by_going_round(tmp_path: Path) -> None:
    for name in ("table", "default"):
        lg.save(example(name), tmp_path / "a")
        lg.save(lg.load(tmp_path / "a"), tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


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


def test_graph_without_rows_keeps_its_fitted_nodes(tmp_path: Path) -> None:
    weights = np.exp(-np.abs(np.subtract.outer(np.arange(N), np.arange(N))) / 5.0)
    np.fill_diagonal(weights, 0.0)
    classifier = fitted(weights, graph="precomputed")
    lg.save(classifier, tmp_path / "model")
    loaded = lg.load(tmp_path / "model")
    assert np.array_equal(loaded.transduction_, classifier.transduction_)
    if classifier._model is None:
        with pytest.raises(ValueError, match="fitted rows"):
            loaded.predict(weights[:3])
        with pytest.raises(ValueError, match="fitted_rows"):
            lg.save(classifier, tmp_path / "other", fitted_rows=False)
    else:
        assert_same_predictions(classifier, loaded, weights[:3])


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 7]),
        np.array([0, 200], np.uint8),
        np.array([2**64 - 1, 5], np.uint64),
        np.array([False, True]),
        np.array([0.5, 1e300]),
        np.array([1.0, 2.0], np.float32),
        np.array(["ja", "nein", "\ud800ß\0x"], "U20"),
        np.array(["a", "b"], object),
        np.array([1, 2.5, "mixed", True, False], object)[[1, 2, 3, 4]],
    ],
)
def test_classes_come_back_as_they_were(classes: np.ndarray) -> None:
    back = classes_from_plain(json.loads(json.dumps(classes_to_plain(classes))))
    assert back.dtype == classes.dtype
    assert back.tolist() == classes.tolist()
    assert [type(a) for a in back.tolist()] == [type(a) for a in classes.tolist()]


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [4, 9], [1.0, 2.0]])
def test_classes_of_a_classifier(classes: list[Any], tmp_path: Path) -> None:
    known = labels()
    y = np.array([None if k < 0 else classes[k] for k in known], dtype=object)
    classifier = fitted(two_groups(), y)
    lg.save(classifier, tmp_path / "model")
    assert_same_predictions_of_objects(classifier, lg.load(tmp_path / "model"))


def assert_same_predictions_of_objects(a: lg.GCNClassifier, b: lg.GCNClassifier) -> None:
    left, right = a.predict(two_groups(seed=1)), b.predict(two_groups(seed=1))
    assert left.dtype == right.dtype and left.tolist() == right.tolist()
    assert b.transduction_.tolist() == a.transduction_.tolist()


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


def test_parameters_that_a_file_can_and_cannot_hold(tmp_path: Path) -> None:
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


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="classifier: expected a fitted GCNClassifier, got dict"):
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

    monkeypatch.setattr(persistence.os, step, fail)
    with pytest.raises(OSError, match="disk full"):
        lg.save(example("default"), tmp_path / "model")
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_bytes() == b"old"


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_modes_and_links_stay(tmp_path: Path) -> None:
    lg.save(example("default"), tmp_path / "model")
    (tmp_path / "plain").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "model").chmod(0o640)
    (tmp_path / "link").symlink_to("model")
    lg.save(example("table"), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640
    assert lg.load(tmp_path / "model").n_features_in_ == 4


# --- files that are something else ---------------------------------------------------------------


def parts_of(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}
        return arrays, json.loads(file.metadata()["lowrankgcn"])


def forge(path: Path, arrays: dict[str, np.ndarray], document: dict[str, Any]) -> None:
    """Write changed parts with a checksum that fits them."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if isinstance(document, dict) and "contents" in document:
        document["sha256"] = persistence._digest(arrays, document["contents"])
    path.write_bytes(to_bytes(arrays, {"lowrankgcn": json.dumps(document)}))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        lg.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        lg.load(tmp_path)


DEEP = "[" * 200_000 + "]" * 200_000
FOREIGN = {
    "empty": (b"", "header"),
    "text": (b"colour,number\nred,1\n" * 50, "header"),
    "pickle": (b"\x80\x04\x95\x10" * 40, "header"),
    "tensors": (to_bytes({"w": np.ones(3)}), "something else"),
    "no JSON": (to_bytes({"w": np.ones(3)}, {"lowrankgcn": "{"}), "Expecting"),
    "deep JSON": (to_bytes({"w": np.ones(3)}, {"lowrankgcn": DEEP}), "recursion|format"),
    "JSON list": (to_bytes({"w": np.ones(3)}, {"lowrankgcn": "[]"}), "format"),
    "other format": (to_bytes({}, {"lowrankgcn": '{"format": "x"}'}), "format: expected"),
    "half floats": (to_bytes({"w": np.ones(3, "f2")}, {"lowrankgcn": "{}"}), "w: expected one of"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files(name: str, tmp_path: Path) -> None:
    data, message = FOREIGN[name]
    path = tmp_path / "foreign.file"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message) as caught:
        lg.load(path)
    assert str(path) in str(caught.value)


def test_later_format(tmp_path: Path) -> None:
    lg.save(example("default"), tmp_path / "model")
    arrays, document = parts_of(tmp_path / "model")
    forge(tmp_path / "model", arrays, document | {"format_version": 2, "library_version": "9.9"})
    with pytest.raises(ValueError, match=r"format_version.* got 2, written by lowrankgcn 9\.9"):
        lg.load(tmp_path / "model")


NECESSARY = st.sampled_from(["default", "neighbours", "full", "reduced", "table"])
OTHERS = st.sampled_from(
    [
        lambda a: None,
        lambda a: a[..., :-1],
        lambda a: np.concatenate([a, a]),
        lambda a: a[None],
        lambda a: a.astype(np.int64 if a.dtype.kind == "f" else np.float32),
        lambda a: np.zeros((0,) * a.ndim, a.dtype),
        lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else a[:0],
    ]
)


@given(NECESSARY, OTHERS, st.data())
@settings(max_examples=60)
def test_changed_arrays(folder: Path, name: str, change: Any, data: st.DataObject) -> None:
    path = saved(folder, name)
    arrays, document = parts_of(path)
    chosen = data.draw(st.sampled_from(sorted(arrays)))
    changed = change(arrays.pop(chosen))
    if changed is not None:
        arrays[chosen] = changed
    forge(path.with_name("forged"), arrays, document)
    loads_or_refuses(path.with_name("forged"), name)


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All ways into nested JSON values."""
    keys = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    return [way] * bool(way) + [place for key in keys for place in places(value[key], (*way, key))]


JSON_VALUES = st.sampled_from(
    [
        *(None, True, -1, 0, 3, 10**400, 2**70, 0.5, -1.0, "", "x", [], {}, [[]], [None]),
        *({"tuple": 3}, {"mapping": [1]}, {"filter": "Custom", "fields": {}}),
        {"filter": "Heat", "fields": {"t": 1}},
    ]
)


@given(NECESSARY, JSON_VALUES, st.data())
@settings(max_examples=150)
def test_changed_values(folder: Path, name: str, other: Any, data: st.DataObject) -> None:
    path = saved(folder, name)
    arrays, document = parts_of(path)
    way = data.draw(st.sampled_from(places(document)))
    inner = document
    for key in way[:-1]:
        inner = inner[key]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        del inner[way[-1]]
    else:
        inner[way[-1]] = other
    forge(path.with_name("forged"), arrays, document)
    loads_or_refuses(path.with_name("forged"), name)


def saved(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.exists():
        lg.save(example(name), path)
    return path


def loads_or_refuses(path: Path, name: str, *, same: bool = False) -> None:
    """Loading raises ValueError with the file's name, or gives a classifier that works."""
    try:
        loaded = lg.load(path)
    except ValueError as error:
        assert str(path) in str(error)
        return
    new = CASES[name][0](1)
    if same:
        assert_same_predictions(example(name), loaded, new)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            shares = loaded.predict_proba(new)
        except ValueError:  # a changed description of the rows refuses these
            return
    assert shares.shape == (len(new), len(loaded.classes_)) and np.isfinite(shares).all()


@given(st.sampled_from(["default", "table"]), st.data())
@settings(max_examples=150)
def test_damaged_bytes(folder: Path, name: str, data: st.DataObject) -> None:
    path = saved(folder, name)
    content = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    upper = data.draw(st.sampled_from([8, header, len(content)]))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, upper - 1))] ^= data.draw(st.integers(1, 255))
    path.with_name("damaged").write_bytes(content)
    loads_or_refuses(path.with_name("damaged"), name, same=True)


@given(st.sampled_from(["default", "table"]), st.floats(0, 1, exclude_max=True))
def test_truncated_files_are_refused(folder: Path, name: str, part: float) -> None:
    path = saved(folder, name)
    content = path.read_bytes()
    for end in (int(part * len(content)), len(content) - 1):
        path.with_name("short").write_bytes(content[:end])
        with pytest.raises(ValueError, match="short: cannot be loaded"):
            lg.load(path.with_name("short"))

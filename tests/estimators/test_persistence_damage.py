"""Damaged, forged and foreign files: a clear error, or a classifier that works."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

import lowrankgcn as lg
from lowrankgcn.estimators import model_files
from tests.saved_examples import (
    CASES,
    assert_same_predictions,
    example,
    labels,
    mixed_table,
    two_groups,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("saved")


def parts_of(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}
        return arrays, json.loads(file.metadata()["lowrankgcn"])


def forge(path: Path, arrays: dict[str, np.ndarray], document: dict[str, Any]) -> None:
    """Write changed parts with a checksum that fits them."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    if isinstance(document, dict) and "contents" in document:
        document["sha256"] = model_files._digest(arrays, document["contents"])
    path.write_bytes(to_bytes(arrays, {"lowrankgcn": json.dumps(document)}))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        lg.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        lg.load(tmp_path)


def tensor_header(dtype: str) -> bytes:
    """A file with one tensor of a type that NumPy does not have."""
    header = {
        "w": {"dtype": dtype, "shape": [2], "data_offsets": [0, 4]},
        "__metadata__": {"lowrankgcn": "{}"},
    }
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(4)


def with_document(document: str) -> bytes:
    return to_bytes({"w": np.ones(3)}, {"lowrankgcn": document})


FOREIGN = {
    "empty": (b"", "header"),
    "text": (b"colour,number\nred,1\n" * 50, "header"),
    "pickle": (b"\x80\x04\x95\x10" * 40, "header"),
    "tensors": (to_bytes({"w": np.ones(3)}), "something else"),
    "no JSON": (with_document("{"), "Expecting"),
    "deep JSON": (with_document("[" * 200_000 + "]" * 200_000), "recursion|format"),
    "JSON list": (with_document("[]"), "format"),
    "other format": (with_document('{"format": "x"}'), "format: expected"),
    "other dtype": (tensor_header("BF16"), "w: expected one of the dtypes"),
}


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign.file"
    for name, (data, message) in FOREIGN.items():
        path.write_bytes(data)
        with pytest.raises(ValueError) as caught:
            lg.load(path)
        assert re.search(message, str(caught.value)), name
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"format": "lowrankgcn.GCNClassifier"},
            "format: expected 'lowrankgcn', got 'lowrankgcn.G",
        ),
        ({"format_version": 4}, r"5; fit and save the classifier again, got 4, of an earlier"),
        ({"format_version": 6}, r"install a newer release, got 6, written by lowrankgcn 9\.9"),
        ({"format_version": "5"}, "format_version: expected an integer"),
    ],
)
def test_other_versions_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    lg.save(example("default"), tmp_path / "model")
    arrays, document = parts_of(tmp_path / "model")
    forge(tmp_path / "model", arrays, document | {"library_version": "9.9"} | changes)
    with pytest.raises(ValueError, match=message):
        lg.load(tmp_path / "model")


NECESSARY = st.sampled_from(
    ["default", "neighbours", "full", "reduced", "table", "weights", "incidence"]
)
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
@settings(max_examples=40)
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
        *({"tuple": 3}, {"tuple": []}, {"mapping": [1]}, {"array": "state.model.basis"}),
        {"class": "Custom", "fields": {}},
        {"class": "Heat", "fields": {"t": 1}},
        {"class": "Heat", "fields": {"time": 1.0}},
    ]
)


@given(NECESSARY, JSON_VALUES, st.data())
@settings(max_examples=100)
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
    assert shares.shape == (new.shape[0], len(loaded.classes_)) and np.isfinite(shares).all()


@given(st.sampled_from(["default", "table"]), st.data())
@settings(max_examples=60)
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
@settings(max_examples=20)
def test_truncated_files_are_refused(folder: Path, name: str, part: float) -> None:
    path = saved(folder, name)
    content = path.read_bytes()
    for end in (int(part * len(content)), len(content) - 1):
        path.with_name("short").write_bytes(content[:end])
        with pytest.raises(ValueError, match="short: cannot be loaded"):
            lg.load(path.with_name("short"))


def test_arrays_of_a_gaussian_process_with_other_dimensions(tmp_path: Path) -> None:
    table = mixed_table()
    lg.save(lg.SpectralGPClassifier(random_state=0).fit(table, labels()), tmp_path / "model")
    arrays, document = parts_of(tmp_path / "model")
    for name, array in arrays.items():
        forge(tmp_path / "forged", arrays | {name: array[:, None]}, document)
        with pytest.raises(ValueError, match=r"forged: cannot be loaded: .*expected"):
            lg.load(tmp_path / "forged")


def test_models_of_other_classes_are_refused(tmp_path: Path) -> None:
    classifiers = (lg.SpectralGPClassifier(random_state=0), lg.GCNClassifier(max_iter=5))
    for classifier in classifiers:
        lg.save(classifier.fit(two_groups(), labels()), tmp_path / "model", fitted_rows=False)
        arrays, document = parts_of(tmp_path / "model")
        arrays["classes"] = np.arange(3)
        forge(tmp_path / "forged", arrays, document)
        with pytest.raises(ValueError, match="state: expected 3 classes, got 2"):
            model_files.read_model(tmp_path / "forged")

"""Damaged and foreign files raise a clear error."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as to_bytes

import lowrankgcn as lg
from lowrankgcn.estimators.model_files import FORMAT_VERSION, read_model
from tests.support.each import each
from tests.support.stored.saved_examples import CASES, assert_same_predictions, example


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("saved")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        lg.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        lg.load(tmp_path)


def tensor_header(dtype: str) -> bytes:
    """A file with one tensor of a type that NumPy does not have."""
    header = {
        "w": {"dtype": dtype, "shape": [2], "data_offsets": [0, 4]},
        "__metadata__": {"lowrankgcn": str(FORMAT_VERSION)},
    }
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(4)


def with_document(document: str) -> bytes:
    return to_bytes({"w": np.ones(3)}, {"lowrankgcn": document})


EARLIER = "the file was written by an earlier release, whose models cannot be converted"
FOREIGN = {
    "empty": (b"", "header"),
    "text": (b"colour,number\nred,1\n" * 50, "header"),
    "pickle": (b"\x80\x04\x95\x10" * 40, "header"),
    "tensors": (to_bytes({"w": np.ones(3)}), "something else"),
    "other dtype": (tensor_header("BF16"), "not a saved classifier"),
    "format 5": (with_document('{"format": "lowrankgcn", "format_version": 5}'), EARLIER),
    "no version": (with_document(""), EARLIER),
    "later format": (
        with_document(f"{FORMAT_VERSION + 1} 9.9 abc\n{{}}"),
        r"written by lowrankgcn 9\.9; install a newer release",
    ),
    "no checksum": (with_document(f"{FORMAT_VERSION}\n{{}}"), "checksum does not match"),
}


@each("name", FOREIGN)
def test_foreign_files_are_refused(name: str, tmp_path: Path) -> None:
    path, (data, message) = tmp_path / "foreign.file", FOREIGN[name]
    path.write_bytes(data)
    with pytest.raises(ValueError) as caught:
        lg.load(path)
    assert re.search(message, str(caught.value))
    assert str(path) in str(caught.value)


def test_a_file_names_classifiers_only(tmp_path: Path) -> None:
    lg.save(example("default"), tmp_path / "model")
    found = read_model(tmp_path / "model")
    with pytest.raises(ValueError, match="name: expected one of 'GCNClassifier'"):
        replace(found, name="load", parameters={"path": "other"}).restored()


def saved(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.exists():
        lg.save(example(name), path)
    return path


@given(st.sampled_from(["default", "table"]), st.data())
@settings(max_examples=40)
def test_damaged_bytes(folder: Path, name: str, data: st.DataObject) -> None:
    """Loading raises ValueError with the file's name, or nothing that is read has changed."""
    path = saved(folder, name)
    content = bytearray(path.read_bytes())
    header = 8 + int.from_bytes(content[:8], "little")
    upper = data.draw(st.sampled_from([8, header, len(content)]))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, upper - 1))] ^= data.draw(st.integers(1, 255))
    damaged = path.with_name("damaged")
    damaged.write_bytes(content)
    try:
        loaded = lg.load(damaged)
    except ValueError as error:
        assert str(damaged) in str(error)
        return
    assert_same_predictions(example(name), loaded, CASES[name][0](1))


@given(st.sampled_from(["default", "table"]), st.floats(0, 1, exclude_max=True))
@settings(max_examples=20)
def test_truncated_files_are_refused(folder: Path, name: str, part: float) -> None:
    path = saved(folder, name)
    content = path.read_bytes()
    for end in (int(part * len(content)), len(content) - 1):
        path.with_name("short").write_bytes(content[:end])
        with pytest.raises(ValueError, match="short: cannot be loaded"):
            lg.load(path.with_name("short"))

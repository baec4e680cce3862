"""The mushrooms from every source, and the errors without one; the paper's spiral."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lowrankgcn.datasets import load_mushrooms, load_spiral, mushrooms
from lowrankgcn.datasets.mushrooms import MUSHROOMS, mushrooms_from_debian
from lowrankgcn.exceptions import DataUnavailableError
from tests.conftest import SpiralData

NOWHERE = "http://127.0.0.1:9/agaricus-lepiota.data"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory, and an address that refuses connections."""
    monkeypatch.setenv("LOWRANKGCN_DATA", str(tmp_path))
    monkeypatch.setattr(mushrooms, "MUSHROOMS", replace(MUSHROOMS, address=NOWHERE))
    return tmp_path


def test_the_papers_table(mushroom_rows: list[list[str]]) -> None:
    data, frames = load_mushrooms(), load_mushrooms(as_frame=True)
    assert data.data.shape == (8124, 21)
    assert data.target_names == ("edible", "poisonous")
    assert "stalk-root" not in data.feature_names
    assert isinstance(frames.data, pd.DataFrame)
    assert tuple(frames.data.columns) == data.feature_names
    assert frames.target.name == "class"
    rows, classes = data.data, data.target
    np.testing.assert_array_equal(frames.data.to_numpy(), rows)
    np.testing.assert_array_equal(frames.target.to_numpy(), classes)
    for row in (0, 17, 8123):
        written = mushroom_rows[row]
        assert rows[row].tolist() == written[1:11] + written[12:]
        assert data.target_names[classes[row]][0] == written[0]
    np.testing.assert_array_equal(np.bincount(classes), [4208, 3916])
    assert sum(len(np.unique(column)) for column in rows.T) == 112
    np.testing.assert_array_equal(np.bincount(classes[data.training]), [10, 10])
    assert data.training[[0, -1]].tolist() == [223, 7953]
    assert not (rows == "?").any()


def test_without_file_and_network(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))  # no apt-get
    with pytest.raises(DataUnavailableError) as caught:
        load_mushrooms()
    message = str(caught.value)
    assert isinstance(caught.value, OSError)
    assert f"no file agaricus-lepiota.data in {folder}" in message
    assert "refused" in message
    assert "apt-get" in message or "rdata is not installed" in message
    assert "373704 bytes" in message
    assert "\n" not in message
    assert list(folder.iterdir()) == []
    with pytest.raises(DataUnavailableError, match="Put UCI's file there"):
        load_mushrooms(fetch=False)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdata", None)
    with pytest.raises(DataUnavailableError, match=r"pip install 'lowrankgcn\[datasets\]'"):
        mushrooms_from_debian()


def test_a_damaged_file(folder: Path, data_directory: Path) -> None:
    content = (data_directory / MUSHROOMS.name).read_bytes()
    path = folder / MUSHROOMS.name
    path.write_bytes(content[:-10])
    with pytest.raises(ValueError, match=rf"373704 bytes, .*; remove {path} to download it"):
        load_mushrooms()


def test_the_first_source_that_has_it_is_kept(
    folder: Path, data_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (data_directory / MUSHROOMS.name).read_bytes()
    sources = {"one": lambda file: content[:-1], "two": lambda file: content}
    monkeypatch.setattr(mushrooms, "_SOURCES", sources)
    monkeypatch.setenv("LOWRANKGCN_DATA", str(folder / "to" / "make"))
    assert load_mushrooms().data.shape == (8124, 21)
    assert [p.name for p in (folder / "to" / "make").iterdir()] == [MUSHROOMS.name]
    monkeypatch.setattr(mushrooms, "_SOURCES", {})
    assert load_mushrooms().data.shape == (8124, 21)


def test_a_folder_that_cannot_be_made(
    folder: Path, data_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (data_directory / MUSHROOMS.name).read_bytes()
    monkeypatch.setattr(mushrooms, "_SOURCES", {"one": lambda file: content})
    (folder / "file").write_text("")
    monkeypatch.setenv("LOWRANKGCN_DATA", str(folder / "file" / "below"))
    with pytest.raises(DataUnavailableError, match="cannot write to"):
        load_mushrooms()


def test_debians_package_is_the_same_file() -> None:
    try:
        content = mushrooms_from_debian()
    except DataUnavailableError as error:
        pytest.skip(str(error))
    assert hashlib.sha256(content).hexdigest() == MUSHROOMS.sha256


def test_the_papers_spiral(spiral_points: SpiralData) -> None:
    spiral = load_spiral(source="paper", as_frame=True)
    np.testing.assert_array_equal(spiral.data.to_numpy(), spiral_points.points)
    np.testing.assert_array_equal(spiral.target.to_numpy() + 1, spiral_points.labels)
    # Table "Description of the spiral dataset", counted from one.
    expected = [1736, 1869, 2949, 3785, 4187, 4206, 6532, 7186, 8296, 9961]
    assert (spiral.training + 1).tolist() == expected


def test_damaged_files_of_the_spiral(folder: Path) -> None:
    for text, message in (
        ("", "10000 rows of 5 finite numbers"),
        ("x,y\n1,2\n3\n", "a table of numbers"),
        ("x\nword\n", "a table of numbers"),
        ("h\n" + "1,nan,1,1,0\n" * 10000, "10000 rows of 5 finite numbers"),
        ("h\n" + "1,1,1,1,0\n" * 10000, "two training nodes of each label"),
        ("h\n" + "1,1,1,9,0\n" * 10000, "two training nodes of each label"),
    ):
        (folder / "spiral-paper.csv").write_text(text)
        with pytest.raises(ValueError, match=message):
            load_spiral(source="paper")
    (folder / "spiral-paper.csv").unlink()
    with pytest.raises(DataUnavailableError, match=f"no file spiral-paper.csv in {folder}"):
        load_spiral(source="paper")

"""The mushrooms and the paper's spiral from files, and the errors without them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lowrankgcn.datasets import load_mushrooms, load_spiral, uci
from lowrankgcn.datasets.download import RemoteFile
from lowrankgcn.datasets.uci import MUSHROOMS
from lowrankgcn.exceptions import DataUnavailableError
from tests.conftest import SpiralData

NOWHERE = "http://127.0.0.1:9/agaricus-lepiota.data"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data directory, and an address that refuses connections."""
    monkeypatch.setenv("LOWRANKGCN_DATA", str(tmp_path))
    monkeypatch.setattr(uci, "MUSHROOMS", replace(MUSHROOMS, address=NOWHERE))
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


def test_without_file_and_network(folder: Path) -> None:
    with pytest.raises(DataUnavailableError) as caught:
        load_mushrooms()
    message = str(caught.value)
    assert isinstance(caught.value, OSError)
    assert f"no file agaricus-lepiota.data in {folder}" in message
    assert "refused" in message
    assert f"put it there from {NOWHERE}" in message
    assert "\n" not in message
    assert list(folder.iterdir()) == []
    with pytest.raises(DataUnavailableError, match=rf"in {folder}; put it there from http"):
        load_mushrooms(fetch=False)


def test_a_damaged_file(folder: Path, data_directory: Path) -> None:
    content = (data_directory / MUSHROOMS.name).read_bytes()
    (folder / MUSHROOMS.name).write_bytes(content[:-10])
    with pytest.raises(ValueError, match=rf"SHA-256 .*; remove it from {folder} to download"):
        load_mushrooms()


def test_the_downloaded_file_is_kept(
    folder: Path, data_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (data_directory / MUSHROOMS.name).read_bytes()
    monkeypatch.setenv("LOWRANKGCN_DATA", str(folder / "to" / "make"))
    with monkeypatch.context() as patch:
        patch.setattr(RemoteFile, "download", lambda file: content)
        assert load_mushrooms().data.shape == (8124, 21)
    assert [p.name for p in (folder / "to" / "make").iterdir()] == [MUSHROOMS.name]
    assert load_mushrooms(fetch=False).data.shape == (8124, 21)


def test_a_folder_that_cannot_be_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteFile, "download", lambda file: b"")
    (folder / "file").write_text("")
    monkeypatch.setenv("LOWRANKGCN_DATA", str(folder / "file" / "below"))
    with pytest.raises(DataUnavailableError, match="Not a directory"):
        load_mushrooms()


def test_the_papers_spiral(spiral_points: SpiralData) -> None:
    spiral = load_spiral(source="paper", as_frame=True)
    np.testing.assert_array_equal(spiral.data.to_numpy(), spiral_points.points)
    np.testing.assert_array_equal(spiral.target.to_numpy() + 1, spiral_points.labels)
    # Table "Description of the spiral dataset", counted from one.
    expected = [1736, 1869, 2949, 3785, 4187, 4206, 6532, 7186, 8296, 9961]
    assert (spiral.training + 1).tolist() == expected


def test_damaged_files_of_the_spiral(folder: Path) -> None:
    for text, message in (
        ("", "10000 rows of 5 numbers"),
        ("x,y\n1,2\n3\n", "10000 rows of 5 numbers"),
        ("x\nword\n", "10000 rows of 5 numbers"),
        ("h\n" + "1,nan,1,1,0\n" * 10000, "finite entries, got nan at index"),
        ("h\n" + "1,1,1,1,0\n" * 10000, "two training nodes of each label"),
        ("h\n" + "1,1,1,9,0\n" * 10000, "two training nodes of each label"),
    ):
        (folder / "spiral-paper.csv").write_text(text)
        with pytest.raises(ValueError, match=message):
            load_spiral(source="paper")
    (folder / "spiral-paper.csv").unlink()
    with pytest.raises(DataUnavailableError, match=f"no file spiral-paper.csv in {folder}"):
        load_spiral(source="paper")

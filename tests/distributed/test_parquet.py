"""Folders of Parquet files are written atomically."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.distributed.tables import texts

from dask import delayed  # isort: skip
from lowrankgcn.distributed.parquet import read_folder, write_folder  # isort: skip


def broken() -> pd.DataFrame:
    raise ConnectionError("gone")


def test_a_block_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    good = delayed(texts(10, 0)[0])
    with pytest.raises(ConnectionError, match="gone"):
        write_folder([good, delayed(broken)(), good], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_existing_folders_are_not_changed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(FileExistsError):
        write_folder([delayed(texts(10, 0)[0])], tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_missing_and_invalid_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected Parquet files \(\*\.parquet\), got none in"):
        read_folder(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"no Parquet at all")
    with pytest.raises(ValueError, match=r"a\.parquet: cannot be read as one table .* magic bytes"):
        read_folder(tmp_path).compute()

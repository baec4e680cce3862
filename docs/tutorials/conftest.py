"""The examples of the tutorials write their files to a temporary folder."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

"""Errors of ``lowrankgcn studio`` before it serves; tests/studio has the rest."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import refused

TABLE = "a,b,kind\n1,2,x\n2,1,\n1,5,y\n4,5,\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


Capture = pytest.CaptureFixture[str]


def test_without_the_extra(table: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Any = importlib.util.find_spec
    hidden = ("starlette", "uvicorn")
    monkeypatch.setattr(
        "lowrankgcn.cli.studio.find_spec", lambda name: None if name in hidden else find(name)
    )
    message = refused(capsys, "studio", str(table), "--target", "kind")
    assert "pip install 'lowrankgcn[studio]'" in message


def test_bad_input(table: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
    monkeypatch.setattr("webbrowser.open", lambda address: None)
    journal = table.with_name("table.csv.labels.jsonl")
    for arguments, message in (
        (["-", "--target", "kind"], "expected a file"),
        (["absent.csv", "--target", "kind"], "No such file"),
        ([str(table), "--target", "kinds"], "did you mean 'kind'?"),
        ([str(table), "--target", "kind", "--port", "80"], "--port"),
    ):
        assert message in refused(capsys, "studio", *arguments)
    journal.write_text('{"row": 9, "kind": "x"}\n')
    assert "line 1" in refused(capsys, "studio", str(table), "--target", "kind")
    journal.unlink()
    monkeypatch.setenv("LOWRANKGCN_STUDIO_TOKEN", "short")
    assert "TOKEN" in refused(capsys, "studio", str(table), "--target", "kind")
    assert not journal.exists()

"""Ways to run the command as a user does."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest

from lowrankgcn.cli import step_display
from lowrankgcn.cli.app import app

step_display.FIRST = 1e6  # no lines of progress in captured errors, however slow the machine

MODULE = [sys.executable, "-m", "lowrankgcn"]


def installed() -> list[str]:
    """The installed command, or the module if the package is only on the path."""
    script = shutil.which("lowrankgcn", path=str(Path(sys.executable).parent))
    return [script] if script else MODULE


def call(*arguments: str) -> int:
    """Run the command in this process and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        app(list(arguments), prog_name="lowrankgcn")
    return int(ended.value.code or 0)


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Give a command in this process its standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that fails with exit code 2 and one line; return that line."""
    assert call(*arguments) == 2, arguments
    captured = capsys.readouterr()
    assert captured.out == "", arguments
    assert len(captured.err.splitlines()) == 1, (arguments, captured.err)
    assert captured.err.startswith("lowrankgcn: "), arguments
    return captured.err

"""The first hour of a new user: the commands of the README and of tutorials, from top to bottom."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from tests.cli.commands import MODULE, call

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
OTHERS = sorted((ROOT / "docs").rglob("*.md"))
CONSOLE = r"```console\n(.*?)```"


def steps(page: Path) -> list[tuple[str, list[str]]]:
    """Return the commands of all console blocks of a page, each with its output lines."""
    found = []
    for block in re.findall(CONSOLE, page.read_text(), re.DOTALL):
        for text in ("\n" + block).split("\n$ ")[1:]:
            lines = text.splitlines()
            end = 1
            while lines[end - 1].endswith("\\") or "\n".join(lines[:end]).count('"') % 2:
                end += 1
            command = "\n".join(lines[:end]).replace("\\\n", "")
            found.append((command, lines[end:]))
    return found


def printed(command: str, capsys: pytest.CaptureFixture[str] | None) -> str:
    """Run a command of a page, in a new process or in this one, and return what it prints."""
    name, *arguments = shlex.split(command)
    if capsys is None:
        places = {"python": [sys.executable], "lowrankgcn": MODULE}
        done = subprocess.run([*places[name], *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), command
        return done.stdout
    if name == "python":
        exec(arguments[1], {})
    else:
        assert call(*arguments) == 0, command
    out, err = capsys.readouterr()
    assert err == "", command
    return out


def words(lines: list[str]) -> list[str]:
    """Return lines without numbers, whose last digits depend on the machine."""
    text = "\n".join(line.rstrip() for line in lines if line.strip(" ─"))
    text = re.sub(r"\n {12}(?=\S)", " ", text)  # continued lines
    # The largest shares, and so their names, depend on the rounding of the machine.
    text = re.sub(r"(?m)^(decided|columns|calibration|suspects) .*", r"\1", text)
    # Which rows are suspicious, and their order, also depend on it.
    text = re.sub(r"(?m)^ +\d+  \S+ +\d+ %  \S+ +\d+ %.*", "suspect", text)
    text = re.sub(r"(?m)^time .*: .*", "time", text)  # short steps are not listed
    text = re.sub(r"(?m)^  [+-][\d.]+  .*", "  reason", text)
    text = re.sub(r"[+-]?\d[\d.]*", "#", text.replace("–", "0"))
    text = re.sub(r"#([,|] ?#)+", "#", re.sub(r"# m?s\b", "# s", text))
    found = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line, _ in groupby(found)]  # the number of similar rows may differ


@pytest.mark.parametrize("page", [README, *filter(steps, OTHERS)], ids=lambda page: page.stem)
def test_first_hour(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    commands = steps(page)
    assert len(commands) > 3
    first = next(command for command, _ in commands if command.startswith("lowrankgcn"))
    for command, lines in commands:
        alone = page == README and command == first
        text = printed(command, None if alone else capsys)
        assert words(text.splitlines()) == words(lines), command


def test_other_commands_exist() -> None:
    text = README.read_text()
    for name in {*re.findall(r"`(?:lowrankgcn )?(predict|explain|suggest|compare)\b", text)}:
        assert call(name, "--help") == 0

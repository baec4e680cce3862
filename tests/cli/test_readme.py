"""The README shows what the command prints."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import MODULE, call

README = Path(__file__).parents[2] / "README.md"


def steps() -> list[tuple[str, list[str]]]:
    """Return the commands of the first console block, each with its output lines."""
    (block, *_) = re.findall(r"```console\n(.*?)```", README.read_text(), re.DOTALL)
    found = []
    for text in ("\n" + block).split("\n$ ")[1:]:
        lines = text.splitlines()
        end = 1
        while text.count('"', 0, len("\n".join(lines[:end]))) % 2:
            end += 1
        found.append(("\n".join(lines[:end]), lines[end:]))
    return found


def without_numbers(lines: list[str]) -> list[str]:
    """Replace numbers, whose last digits depend on the machine, by #."""
    spaced = [re.sub(r"[\d.]+", "#", line) for line in lines if line]
    return [re.sub(r"# m?s", "# s", re.sub(r"[ ─]+", " ", line)) for line in spaced]


def test_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (make, _), (classify, printed), (head, first) = steps()
    monkeypatch.chdir(tmp_path)
    python, option, code = shlex.split(make)
    assert (python, option) == ("python", "-c")
    exec(code)
    name, *arguments = shlex.split(classify)
    assert name == "lowrankgcn"
    # A new process, because the first command loads the libraries.
    done = subprocess.run([*MODULE, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    ours, theirs = without_numbers(done.stdout.splitlines()), without_numbers(printed)
    # The largest shares, and so their names, depend on the rounding of the machine.
    listed = re.compile(r"^(blocks|columns) .*")
    names = [re.findall(r"[A-Za-z-]+", listed.sub(r"\1", line)) for line in ours]
    assert names == [re.findall(r"[A-Za-z-]+", listed.sub(r"\1", line)) for line in theirs]
    assert len(ours) == len(theirs)
    assert shlex.split(head)[-1] == "classified.csv"
    written = (tmp_path / "classified.csv").read_text().splitlines()[: len(first)]
    assert without_numbers(written) == without_numbers(first)


def test_other_commands_exist() -> None:
    for name in re.findall(
        r"`(?:lowrankgcn )?(predict|explain|suggest|compare)\b", README.read_text()
    ):
        assert call(name, "--help") == 0

"""What README prints is what the command prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.cli.commands import call, installed

README = Path(__file__).parents[2] / "README.md"


def steps() -> list[tuple[str, list[str]]]:
    """The commands of the first console block, each with the lines below it."""
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
    """Lines with # for numbers, which depend on the machine in their last digits."""
    spaced = [re.sub(r"[\d.]+", "#", line) for line in lines if line]
    return [re.sub(r"# m?s", "# s", re.sub(r"[ ─]+", " ", line)) for line in spaced]


def test_console(tmp_path: Path) -> None:
    (make, _), (classify, printed), (head, first) = steps()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    python = shlex.split(make)
    assert python[0] == "python"
    subprocess.run([sys.executable, *python[1:]], cwd=tmp_path, check=True, timeout=120)
    command = shlex.split(classify)
    assert command[0] == "lowrankgcn"
    done = subprocess.run(
        [*installed(), *command[1:]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    ours, theirs = without_numbers(done.stdout.splitlines()), without_numbers(printed)
    # Which network has the largest share is the machine's rounding too.
    names = [sorted(re.findall(r"[A-Za-z-]+", line)) for line in ours]
    assert names == [sorted(re.findall(r"[A-Za-z-]+", line)) for line in theirs]
    assert len(ours) == len(theirs)
    assert shlex.split(head)[-1] == "classified.csv"
    written = (tmp_path / "classified.csv").read_text().splitlines()[: len(first)]
    assert without_numbers(written) == without_numbers(first)


def test_other_commands_are_there() -> None:
    for name in re.findall(
        r"`(?:lowrankgcn )?(predict|explain|suggest|compare)\b", README.read_text()
    ):
        assert call(name, "--help") == 0

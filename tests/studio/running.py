"""A studio that runs as its own process, and tables with known classes for it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_digits, load_iris

_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/\?token=\S+")


@dataclass(frozen=True)
class Studio:
    """A running command; `output` are the lines before and with its address."""

    process: subprocess.Popen[str]
    address: str
    port: int
    output: str

    def kill(self) -> None:
        """End the process without any warning."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def studio(table: Path, target: str, *options: str, token: str | None = None) -> Iterator[Studio]:
    """Start the command for a table, at a free port unless the options name one."""
    command = [sys.executable, "-m", "lowrankgcn", "studio", str(table), "--target", target]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if token is not None:
        environment["LOWRANKGCN_STUDIO_TOKEN"] = token
    process = subprocess.Popen(
        [*command, "--no-browser", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env=environment,
    )
    assert process.stdout is not None
    try:
        output = ""
        for line in process.stdout:
            output += line
            if found := _ADDRESS.search(line):
                yield Studio(process, found[0], int(found[1]), output)
                break
        else:
            raise AssertionError(f"the studio did not start:\n{output}")
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def iris(folder: Path) -> tuple[Path, list[str]]:
    """Write the irises without labels; return the file and the species of every row."""
    data = load_iris(as_frame=True)
    return _write(folder / "iris.csv", data.data, data.target_names[data.target], "species")


def digits(folder: Path) -> tuple[Path, list[str]]:
    """Write the digits without labels; return the file and the digit of every row."""
    data = load_digits(as_frame=True)
    return _write(folder / "digits.csv", data.data, data.target.astype(str), "digit")


def _write(path: Path, frame: pd.DataFrame, classes: object, target: str) -> tuple[Path, list[str]]:
    frame.assign(**{target: None}).to_csv(path, index=False)
    return path, [str(name) for name in classes]  # type: ignore[attr-defined]

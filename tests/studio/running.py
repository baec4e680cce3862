"""Running studios, in this process or as their own, and tables with known classes for them."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
from sklearn.datasets import load_digits, load_iris

from lowrankgcn.cli.app import app

_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/[\w-]+/\?token=\S+")
_SECONDS = 60


@dataclass(frozen=True)
class Studio:
    """A running command; `process` is None if it runs in this process."""

    address: str
    port: int
    process: Any = None

    def kill(self) -> None:
        """End the process without any warning."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def studio(table: Path, target: str, *options: str, token: str | None = None) -> Iterator[Studio]:
    """Run the command for a table in a thread, at a free port unless the options name one."""
    from lowrankgcn.files import journal
    from lowrankgcn.studio import server  # an extra

    ready: queue.Queue[Any] = queue.Queue()
    serve, journals = server.serve, []

    def announce(guard: Any, listener: Any, *more: Any) -> None:
        ready.put((guard, listener.getsockname()[1]))
        serve(guard, listener, *more)

    def open_journal(*arguments: Any, **options: Any) -> journal.Journal:
        journals.append(journal_type(*arguments, **options))
        return journals[-1]

    def run() -> None:
        try:
            app(["studio", str(table), "--target", target, "--no-browser", *options])
        except SystemExit as ended:
            ready.put(ended)

    journal_type = journal.Journal
    environment = {} if token is None else {"LOWRANKGCN_STUDIO_TOKEN": token}
    thread = threading.Thread(target=run, daemon=True)
    with patch.object(server, "serve", announce), patch.object(journal, "Journal", open_journal):
        with patch.dict(os.environ, environment):
            thread.start()
            started = ready.get(timeout=_SECONDS)
    assert not isinstance(started, SystemExit), "the studio did not start"
    guard, port = started
    try:
        yield Studio(server.address(guard._token, port), port)
    finally:
        guard.app.state.server.should_exit = True
        thread.join(_SECONDS)
        for one in journals:  # let another studio open the table
            one.close()


@contextmanager
def studio_process(
    table: Path, target: str, *options: str, token: str | None = None
) -> Iterator[Studio]:
    """Start the command as its own process, which can be killed."""
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
            if address := _ADDRESS.search(line):
                yield Studio(address[0], int(address[1]), process)
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


def digits(folder: Path, n_rows: int = 1797) -> tuple[Path, list[str]]:
    """Write digits without labels; return the file and the digit of every row."""
    data = load_digits(as_frame=True)
    classes = data.target[:n_rows].astype(str)
    return _write(folder / "digits.csv", data.data[:n_rows], classes, "digit")


def _write(path: Path, frame: pd.DataFrame, classes: object, target: str) -> tuple[Path, list[str]]:
    frame.assign(**{target: None}).to_csv(path, index=False)
    return path, [str(name) for name in classes]  # type: ignore[attr-defined]

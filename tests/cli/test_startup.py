"""What a command imports, how it reports its time, and an interrupt while it starts."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.commands import MODULE, call

SLOW = (
    "numpy scipy pandas pyarrow openpyxl sklearn faiss finufft jinja2 matplotlib torch dask".split()
)
PARTS = ["narwhals", "scipy.optimize"]  # not used to predict
SLOW += PARTS
NUMERIC = "numpy scipy pandas pyarrow faiss finufft".split()


def finish(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def loaded(steps: list[list[str]]) -> list[list[str]]:
    """Run commands in a new process; return the slow packages imported by the end of each step."""
    words = [[command.split() for command in step] for step in steps]
    done = finish(
        "import sys\nfrom lowrankgcn.cli.app import app\n"
        f"for step in {words!r}:\n"
        "    for words in step:\n"
        "        try: app(words, prog_name='lowrankgcn')\n"
        "        except SystemExit as end: assert not end.code\n"
        f"    print('loaded', *sorted(set({SLOW!r}) & set(sys.modules)), file=sys.stderr)"
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stderr.splitlines() if line.startswith("loaded")]
    assert len(lines) == len(steps)
    return [line[1:] for line in lines]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table and a model."""
    folder = tmp_path_factory.mktemp("start-up")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)).round(3), columns=["a", "b", "c"])
    frame["kind"] = np.where(frame["a"] > 0, "high", "low")
    frame.loc[20:, "kind"] = ""
    frame.to_csv(folder / "table.csv", index=False)
    save = ("--save", str(folder / "model"))
    assert call("classify", str(folder / "table.csv"), "-t", "kind", "-q", *save) == 0
    return folder


FITTED = [*NUMERIC, "sklearn", *PARTS]
# Each step imports more than the one before, so that one process tells what each of them imports.
STEPS = [
    (["--help", "--version", "classify --help", "predict --help", "studio --help"], []),
    (["predict {model} {table} -q"], NUMERIC),
    (
        [
            "classify {table} -t kind -q",
            "explain {model} {table} --row 1",
            "suggest {table} -t kind -q",
        ],
        FITTED,
    ),
    (["classify {table} -t kind -q --report {table}.html"], [*FITTED, "jinja2", "matplotlib"]),
]
NETWORK = [(["classify {table} -t kind -q --method gcn --rank 3"], [*FITTED, "torch"])]


@pytest.mark.parametrize("steps", [STEPS, NETWORK], ids=["without networks", "network"])
def test_commands_import_what_they_use(
    steps: list[tuple[list[str], list[str]]], folder: Path
) -> None:
    places = {"model": folder / "model", "table": folder / "table.csv"}
    commands = [[command.format(**places) for command in step] for step, _ in steps]
    assert loaded(commands) == [sorted(expected) for _, expected in steps]


def test_the_package_imports_nothing_slow() -> None:
    done = finish(
        "import sys, lowrankgcn as lg\n"
        f"assert not set({SLOW!r}) & set(sys.modules)\n"
        "lg.GCNClassifier()\n"
        "assert 'torch' not in sys.modules"
    )
    assert done.returncode == 0, done.stderr


def test_the_time_is_that_of_the_process(folder: Path) -> None:
    begin = time.perf_counter()
    arguments = ["predict", folder / "model", folder / "table.csv", "--json"]
    done = subprocess.run([*MODULE, *arguments], capture_output=True, check=True)
    waited = time.perf_counter() - begin
    seconds = json.loads(done.stdout)["seconds"]
    total = seconds.pop("total")
    assert list(seconds) == ["loading", "reading", "prediction"]
    assert sum(seconds.values()) < total < waited


def test_an_interrupt_while_modules_are_imported() -> None:
    done = finish(
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'typer':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from lowrankgcn.cli import run\n"
        "run()"
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_failed_command_exits_without_waiting_for_threads_of_arrow(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,x\n" + "1\n" * 100)
    done = finish(
        "import atexit, os, sys\n"
        "from lowrankgcn.cli import run\n"
        "atexit.register(print, 'files of Python are closed')\n"
        "leave = os._exit\n"
        "os._exit = lambda code: (print('left with', code, flush=True), leave(code))\n"
        f"sys.argv = ['l', 'classify', {str(tmp_path / 'bad.csv')!r}, '-t', 'b']\n"
        "run()"
    )
    assert done.stdout.splitlines() == ["files of Python are closed", "left with 2"]
    assert done.returncode == 2 and "line 3" in done.stderr

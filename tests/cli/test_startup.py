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
NUMERIC = "numpy scipy pandas pyarrow faiss finufft".split()


def finish(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def loaded(*commands: str) -> list[str]:
    """Run commands in a new process, and return the slow packages that they imported."""
    done = finish(
        "import sys\nfrom lowrankgcn.cli.app import app\n"
        f"for words in {[command.split() for command in commands]!r}:\n"
        "    try: app(words, prog_name='lowrankgcn')\n"
        "    except SystemExit as end: assert not end.code\n"
        f"print(*sorted(set({SLOW!r}) & set(sys.modules)), file=sys.stderr)"
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1].split()


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


FITTED = [*NUMERIC, "sklearn"]


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
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
        (["classify {table} -t kind -q --method gcn --rank 3"], [*FITTED, "torch"]),
    ],
    ids=["help", "predict", "fit", "report", "network"],
)
def test_commands_import_what_they_use(
    commands: list[str], expected: list[str], folder: Path
) -> None:
    places = {"model": folder / "model", "table": folder / "table.csv"}
    assert loaded(*(command.format(**places) for command in commands)) == sorted(expected)


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

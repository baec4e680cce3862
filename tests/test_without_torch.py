"""All that works without torch, and the errors of what does not, with torch hidden."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.support.stored.stored_models import FOLDER, rows

# Packages on the path are found, except for torch and what imports it.
HIDE = """
import sys
from importlib.machinery import PathFinder

class WithoutTorch(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in ("torch", "torch_geometric", "dhg", "graphlearning")
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path = [WithoutTorch if one is PathFinder else one for one in sys.meta_path]
"""
COMMAND = HIDE + "from lowrankgcn.cli import run\nrun()"
INSTALL = "networks need torch: pip install 'lowrankgcn[nn]'"


def python(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run code in a new process."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with twenty labels, and a model made without torch."""
    folder = tmp_path_factory.mktemp("without-torch")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)).round(3), columns=["a", "b", "c"])
    frame["kind"] = np.where(frame["a"] > 0, "high", "low")
    frame.to_csv(folder / "whole.csv", index=False)
    frame.loc[20:, "kind"] = ""
    frame.to_csv(folder / "table.csv", index=False)
    report = ("--report", folder / "page.html", "--save", folder / "model")
    done = python(COMMAND, "classify", folder / "table.csv", "-t", "kind", *report)
    assert done.returncode == 0, done.stderr
    return folder


def test_commands(folder: Path) -> None:
    """All in one process, which is slow to start."""
    commands = [
        f"predict {folder}/model {folder}/table.csv",
        f"explain {folder}/model {folder}/table.csv --row 1",
        f"suggest {folder}/table.csv -t kind",
    ]
    done = python(
        f"{HIDE}\nfrom lowrankgcn.cli.app import app\n"
        f"for words in {[command.split() for command in commands]!r}:\n"
        "    try: app(words, prog_name='lowrankgcn')\n"
        "    except SystemExit as end: assert not end.code, words\n"
        "    print('end of a command')"
    )
    assert done.returncode == 0, done.stderr
    *outputs, rest = done.stdout.split("end of a command\n")
    assert len(outputs) == 3 and all(outputs) and not rest


def test_compare_leaves_networks_out(folder: Path) -> None:
    options = ["--target", "kind", "--splits", "1", "--labels-per-class", "5"]
    done = python(COMMAND, "compare", folder / "whole.csv", *options)
    assert done.returncode == 0, done.stderr
    assert "torch is not installed" in done.stdout
    assert "SpectralGPClassifier" in done.stdout
    done = python(COMMAND, "compare", folder / "whole.csv", *options, "--methods", "gcn", "--quiet")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "torch is not installed; pip install 'lowrankgcn[nn]'" in done.stderr


@pytest.mark.parametrize("arguments", ["classify t.csv -t kind --method gcn", "reproduce spiral"])
def test_commands_of_networks_name_the_remedy(tmp_path: Path, arguments: str) -> None:
    done = python(f"import os\nos.chdir({os.fspath(tmp_path)!r})\n{COMMAND}", *arguments.split())
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(INSTALL) and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_networks_name_the_remedy() -> None:
    codes = [
        "lg.nn",
        "import lowrankgcn.nn",
        "from lowrankgcn.nn import train",
        "lg.GCNClassifier().fit([[0.0], [1.0]], [0, 1])",
    ]
    done = python(
        f"{HIDE}\nimport lowrankgcn as lg\n"
        f"for code in {codes!r}:\n"
        "    try: exec(code)\n"
        "    except ModuleNotFoundError as error: print(error)\n"
        "    else: print(code)"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [INSTALL] * len(codes)


def test_saved_networks_predict_without_torch(tmp_path: Path) -> None:
    points, _ = rows("points", 1)
    np.save(tmp_path / "points.npy", points)
    done = python(
        f"{HIDE}\nimport numpy as np, lowrankgcn as lg\n"
        "model = lg.load(sys.argv[1])\n"
        "shares = model.predict_proba(np.load(sys.argv[2]))\n"
        "lg.save(model, sys.argv[3])\n"
        "assert (lg.load(sys.argv[3]).predict_proba(np.load(sys.argv[2])) == shares).all()\n",
        *(FOLDER / "points.model", tmp_path / "points.npy", tmp_path / "again"),
    )
    assert done.returncode == 0, done.stderr

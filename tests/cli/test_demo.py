"""`lowrankgcn demo` as a user runs it."""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn.cli import demo
from tests.cli.commands import MODULE, call, refused
from tests.report.page import check


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_POINTS", 60)


def run(out: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert call("demo", "--out", str(out), "--json", *options) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_full_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "folder"
    document = run(out, capsys)
    assert document["version"] == lg.__version__ and document["seed"] == 0
    names = [f"{name}{end}" for name in ("cars", "spiral") for end in demo.ENDINGS]
    assert sorted(path.name for path in out.iterdir()) == sorted(names)
    for name, rows, labels in (("cars", 1728, 100), ("spiral", 300, 50)):
        found = document["data"][name]
        assert (found["rows"], found["labels"]) == (rows, labels)
        assert list(found["correct"]) == ["SpectralGPClassifier", "GCNClassifier"]
        assert min(found["correct"].values()) > found["largest_share"]
        page = check((out / f"{name}.html").read_text("utf-8"))
        assert f" of {rows - labels} rows" in page.words
        assert f"lowrankgcn classify {out}" in page.words
    assert document["data"]["cars"]["largest_class"] == "unacc"
    truth = lg.datasets.load_spiral(60, random_state=0, as_frame=True)
    classified = out / "spiral-classified.csv"
    first = pd.read_csv(classified)
    right = first["prediction"] == pd.Series(truth.target_names)[truth.target].to_numpy()
    share = document["data"]["spiral"]["correct"]["SpectralGPClassifier"]
    assert right[first["orb"].isna()].mean() == pytest.approx(share)
    # The printed command writes the same file.
    classified.unlink()
    assert call(*shlex.split(document["data"]["spiral"]["command"])[1:]) == 0
    pd.testing.assert_frame_equal(first, pd.read_csv(classified), atol=1e-5)
    capsys.readouterr()
    # The terminal shows the same numbers.
    points = (out / "spiral.csv").read_text()
    assert call("demo", "--out", str(out)) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and "\x1b" not in printed.out  # no progress without a terminal
    assert str(out / "cars.html") in printed.out
    for found in document["data"].values():
        assert found["command"] in printed.out
        for name, share in found["correct"].items():
            assert f"{name:<22}{100 * share:.1f} % correct" in printed.out
    assert (out / "spiral.csv").read_text() == points
    # Another seed gives other points.
    assert call("demo", "--out", str(out), "--seed", "4", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert (out / "spiral.csv").read_text() != points


def test_without_torch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "torch_installed", lambda: False)
    document = run(tmp_path, capsys)
    assert [list(found["correct"]) for found in document["data"].values()] == [
        ["SpectralGPClassifier"]
    ] * 2
    assert "lowrankgcn[nn]" in document["notes"][0]


def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    old = tmp_path / "cars.csv"
    old.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    assert "No space left" in refused(capsys, "demo", "--out", str(tmp_path))
    assert old.read_text() == "old"
    assert list(tmp_path.iterdir()) == [old]


class TestBadInput:
    def test_one_line_and_exit_code_2(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "file"
        file.write_text("mine")
        for arguments, expected in [
            (["demo", "--out", "{file}"], "is a file"),
            (["demo", "--out", "{file}/below"], "--out"),
            (["demo", "--seed", "-1"], "--seed"),
            (["demo", "--seed", "4294967296"], "--seed"),
            (["demo", "--seed", "one"], "--seed"),
            (["demo", "--colour"], "--colour"),
            (["demo", "table.csv"], "table.csv"),
            (["classfy"], "classfy"),
        ]:
            given = [argument.format(file=file) for argument in arguments]
            assert expected in refused(capsys, *given), arguments
            assert file.read_text() == "mine"
            assert list(tmp_path.iterdir()) == [file]

    def test_a_folder_without_permission(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        # Not by chmod: an administrator may write everywhere.
        monkeypatch.setattr(os, "access", lambda *_: False)
        assert "Permission denied" in refused(capsys, "demo", "--out", str(tmp_path))


class TestProcess:
    @pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for single processes")
    def test_interrupted(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        process = subprocess.Popen(
            [*MODULE, "demo", "--out", str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            deadline = time.monotonic() + 60
            while not out.exists() and time.monotonic() < deadline:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            printed, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert printed == ""
        assert "Traceback" not in said
        assert said.splitlines()[-1] == "interrupted"
        # Whole files only: temporary ones begin with a dot.
        assert {path.name for path in out.iterdir()} <= {"cars.csv"}


class TestHelp:
    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("--version") == 0
        assert capsys.readouterr().out == f"lowrankgcn {lg.__version__}\n"

    def test_without_arguments(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert call() == 0
        assert "demo" in capsys.readouterr().out

    def test_demo(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert call("demo", "--help") == 0
        text = capsys.readouterr().out
        assert "Examples:" in text and "lowrankgcn demo --out demo-1" in text
        for option in ("--out", "--seed", "--json", "--quiet"):
            assert option in text

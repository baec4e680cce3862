"""What `lowrankgcn classify` and `predict` refuse, and what is left when they are stopped."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from tests.cli.commands import MODULE, call, installed
from tests.files.malformed import GOOD, UNREADABLE, UNUSABLE

CASES = UNREADABLE | UNUSABLE


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("lowrankgcn: ")
    return captured.err


class TestMalformedFiles:
    @pytest.mark.parametrize("case", CASES)
    def test_exit_code_2_and_one_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], case: str
    ) -> None:
        name, data, said = CASES[case]
        path, out = tmp_path / name, tmp_path / "out.csv"
        path.write_bytes(data)
        out.write_text("old")
        assert call("classify", str(path), "--target", "kind", "--out", str(out)) == 2
        message = one_line(capsys)
        assert said in message
        assert name in message
        assert out.read_text() == "old"
        assert set(tmp_path.iterdir()) == {path, out}

    def test_there_are_many(self) -> None:
        assert len(CASES) >= 50

    @pytest.mark.parametrize("case", ["mixed encodings", "one class"])
    def test_installed_command(self, tmp_path: Path, case: str) -> None:
        name, data, said = CASES[case]
        (tmp_path / name).write_bytes(data)
        done = subprocess.run(
            [*installed(), "classify", str(tmp_path / name), "--target", "kind"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert said in done.stderr


class TestOptions:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["classify", "{folder}/none.csv", "-t", "kind"], "No such file"),
            (["classify", "{folder}", "-t", "kind"], "is a folder without Parquet files"),
            (["classify", "{table}"], "--target"),
            (["classify", "{table}", "-t", "knd"], "did you mean 'kind'"),
            (["classify", "{table}", "-t", "kind", "--out", "{folder}"], "--out"),
            (["classify", "{table}", "-t", "kind", "--out", "{folder}/x/y.csv"], "no folder"),
            (["classify", "{table}", "-t", "kind", "--report", "{folder}/x/y"], "--report"),
            (["classify", "{table}", "-t", "kind", "--save", "{folder}"], "--save"),
            (["classify", "{table}", "-t", "kind", "--save", "{table}"], "place of the table"),
            (["classify", "{table}", "-t", "kind", "--report", "{table}"], "place of the table"),
            (
                [
                    "classify",
                    "{table}",
                    "-t",
                    "kind",
                    "--out",
                    "{folder}/a",
                    "--save",
                    "{folder}/a",
                ],
                "place of --out",
            ),
            (["classify", "{table}", "-t", "kind", "--report", "-"], "expected a file"),
            (["classify", "{table}", "-t", "kind", "--save", 300 * "a"], "name too long"),
            (["predict", "{table}", "{table}", "--out", "{table}"], "place of the model"),
            (["classify", "{table}", "-t", "kind", "--drop", "colr"], "did you mean 'colour'"),
            (["classify", "{table}", "-t", "kind", "--numeric", "colour"], "'colour'"),
            (["classify", "{table}", "-t", "kind", "--drop", "kind"], "drop"),
            (["classify", "{table}", "-t", "kind", "--encoding", "none-such"], "encoding"),
            (["classify", "{table}", "-t", "kind", "--graph", "tree"], "--graph"),
            (["classify", "{table}", "-t", "kind", "--graph", "gaussian"], "numbers only"),
            (["classify", "{table}", "-t", "kind", "--filter", "coffee"], "filter"),
            (["classify", "{table}", "-t", "kind", "--rank", "0"], "--rank"),
            (["classify", "{table}", "-t", "kind", "--rank", "99"], "rank"),
            (["classify", "{table}", "-t", "kind", "--bandwidth", "-1"], "bandwidth"),
            (["classify", "{table}", "-t", "kind", "--seed", "-1"], "--seed"),
            (["classify", "{table}", "-t", "kind", "--validate"], "two labels"),
            (["predict", "{folder}/none.model", "{table}"], "No such file"),
            (["predict", "{table}", "{table}"], "cannot be loaded"),
            (["predict", "{folder}", "{table}"], "Is a directory"),
        ],
    )
    def test_exit_code_2_and_one_line(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        arguments: list[str],
        said: str,
    ) -> None:
        table = tmp_path / "table.csv"
        table.write_text(GOOD)
        given = [argument.format(folder=tmp_path, table=table) for argument in arguments]
        assert call(*given) == 2
        assert said in one_line(capsys)
        assert list(tmp_path.iterdir()) == [table]


@pytest.fixture(scope="module")
def long_table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A table that takes a while to write, and a model for it."""
    folder = tmp_path_factory.mktemp("long")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(200_000).round(3), "y": rng.random(200_000).round(3)})
    frame.to_csv(folder / "long.csv", index=False)
    few = frame.head(100)
    classifier = lg.GCNClassifier(
        graph="hypergraph", architecture="reduced", filter="constant", random_state=0
    )
    classifier.fit(few, np.where(few["x"] > 0.5, "right", "left"))
    lg.save(classifier, folder / "long.model")
    return folder / "long.model", folder / "long.csv"


@contextmanager
def small_disk() -> Iterator[None]:
    """Files longer than 64 kilobytes cannot be written, as if the disk were full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.skipif(sys.platform == "win32", reason="no limits, no signals")
class TestStopped:
    @pytest.mark.parametrize("format", ["csv", "parquet"])
    def test_full_disk(
        self,
        long_table: tuple[Path, Path],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        format: str,
    ) -> None:
        model, table = long_table
        if format == "parquet":
            frame = pd.read_csv(table)
            table = tmp_path / "long.parquet"
            frame.to_parquet(table, index=False)
        out = tmp_path / "out"
        out.mkdir()
        path = out / "old"
        path.write_text("old")
        with small_disk():
            assert call("predict", str(model), str(table), "--out", str(path)) == 2
        assert f"cannot write to {path}" in one_line(capsys)
        assert path.read_text() == "old"
        assert list(out.iterdir()) == [path]

    def test_full_disk_for_report_and_model(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        table = tmp_path / "t.csv"
        table.write_text(GOOD)
        monkeypatch.setattr(os, "fsync", full)
        for option in ("--report", "--save"):
            path = tmp_path / "old"
            path.write_text("old")
            assert call("classify", str(table), "-t", "kind", option, str(path)) == 2
            message = one_line(capsys)
            assert option in message
            assert "No space left" in message
            assert path.read_text() == "old"
            assert set(tmp_path.iterdir()) == {table, path}

    def test_killed_while_writing(self, long_table: tuple[Path, Path], tmp_path: Path) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")
        process = _predicting(long_table, path)
        with process:
            _wait_for_a_second_file(tmp_path)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert path.read_text() == "old"

    def test_interrupted_while_writing(self, long_table: tuple[Path, Path], tmp_path: Path) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")
        process = _predicting(long_table, path)
        with process:
            _wait_for_a_second_file(tmp_path)
            process.send_signal(signal.SIGINT)
            printed, said = process.communicate(timeout=120)
        assert process.returncode == 130
        assert printed == ""
        assert said.splitlines()[-1] == "interrupted"
        assert "Traceback" not in said
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_reader_that_has_seen_enough(self, long_table: tuple[Path, Path]) -> None:
        model, table = long_table
        process = subprocess.Popen(
            [*MODULE, "predict", str(model), str(table), "--quiet", "--out", "-"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with process:
            assert process.stdout is not None and process.stderr is not None
            first = process.stdout.readline()
            process.stdout.close()
            said = process.stderr.read()
        assert first == "x,y,prediction,probability\n"
        assert said == ""
        assert process.returncode == 0

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
    def test_standard_output_is_full(self) -> None:
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*MODULE, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert done.returncode == 2
        assert done.stderr.splitlines() == [
            "lowrankgcn: cannot write to standard output: No space left on device"
        ]


def _predicting(files: tuple[Path, Path], out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*MODULE, "predict", *map(str, files), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _wait_for_a_second_file(folder: Path) -> None:
    deadline = time.monotonic() + 120
    while len(os.listdir(folder)) < 2:
        assert time.monotonic() < deadline, "nothing is written"
        time.sleep(0.005)

"""Invalid input of `lowrankgcn classify` and `predict`, and files after an interruption."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn.cli import labelled_table
from tests.cli.commands import MODULE, call, refused
from tests.files.malformed import GOOD, UNREADABLE, UNUSABLE

CASES = UNREADABLE | UNUSABLE


NETWORK = ["classify", "{table}", "-t", "kind", "--method", "gcn"]
INVALID: list[tuple[list[str], str]] = [
    (["classify", "{folder}/none.csv", "-t", "kind"], "No such file"),
    (["classify", "{folder}", "-t", "kind"], "is a folder without Parquet files"),
    (["classify", "{table}"], "--target"),
    (["classify", "{table}", "-t", "knd"], "did you mean 'kind'"),
    (["classify", "{table}", "-t", "kind", "--out", "{folder}"], "--out"),
    (["classify", "{table}", "-t", "kind", "--out", "{folder}/x/y.csv"], "no folder"),
    (["classify", "{table}", "-t", "kind", "--report", "{folder}/x/y"], "--report"),
    (["classify", "{table}", "-t", "kind", "--save", "{folder}"], "--save"),
    (["classify", "{table}", "-t", "kind", "--save", "{table}"], "overwrite the table"),
    (["classify", "{table}", "-t", "kind", "--report", "{table}"], "overwrite the table"),
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
        "overwrite --out",
    ),
    (["classify", "{table}", "-t", "kind", "--report", "-"], "expected a file"),
    (["classify", "{table}", "-t", "kind", "--save", 300 * "a"], "name too long"),
    (["predict", "{table}", "{table}", "--out", "{table}"], "overwrite the model"),
    (["classify", "{table}", "-t", "kind", "--drop", "colr"], "did you mean 'colour'"),
    (["classify", "{table}", "-t", "kind", "--numeric", "colour"], "'colour'"),
    (["classify", "{table}", "-t", "kind", "--drop", "kind"], "drop"),
    (["classify", "{table}", "-t", "kind", "--encoding", "none-such"], "encoding"),
    (["classify", "{table}", "-t", "kind", "--graph", "tree"], "--graph"),
    (["classify", "{table}", "-t", "kind", "--method", "tree"], "--method"),
    (["classify", "{table}", "-t", "kind", "--filter", "heat"], "only with --method gcn"),
    (["classify", "{table}", "-t", "kind", "--architecture", "full"], "only with --method gcn"),
    (["classify", "{table}", "-t", "kind", "--bandwidth", "0"], "only with --method gcn"),
    (["classify", "{table}", "-t", "kind", "--rank", "0"], "--rank"),
    ([*NETWORK, "--graph", "gaussian"], "numbers only"),
    ([*NETWORK, "--filter", "coffee"], "filter"),
    ([*NETWORK, "--rank", "99"], "rank"),
    ([*NETWORK, "--bandwidth", "-1"], "--bandwidth: expected a finite number > 0"),
    ([*NETWORK, "--bandwidth", "2", "--graph", "hypergraph"], "with --graph hypergraph"),
    (["classify", "{table}", "-t", "kind", "--seed", "-1"], "expected a number of at least 0"),
    (["classify", "{table}", "-t", "kind", "--rank", "x"], "'--rank': expected an integer"),
    (
        ["classify", "{table}", "-t", "kind", "--class-shares", "foo"],
        "'--class-shares': expected one of auto, labels, equal, got 'foo'",
    ),
    (["predict", "{folder}/none.model", "{table}"], "No such file"),
    (["predict", "{table}", "{table}"], "cannot be loaded"),
    (["predict", "{folder}", "{table}"], "Is a directory"),
]


def test_malformed_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(CASES) >= 50
    for number, (name, data, expected) in enumerate(CASES.values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        path, out = folder / name, folder / "out.csv"
        path.write_bytes(data)
        out.write_text("old")
        message = refused(capsys, "classify", str(path), "--target", "kind", "--out", str(out))
        assert expected in message and name in message, (name, message)
        assert out.read_text() == "old"
        assert set(folder.iterdir()) == {path, out}


def test_invalid_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text(GOOD)
    for arguments, expected in INVALID:
        given = [argument.format(folder=tmp_path, table=table) for argument in arguments]
        assert expected in refused(capsys, *given), arguments
        assert list(tmp_path.iterdir()) == [table], arguments


def test_networks_need_torch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lowrankgcn.cli.classify.torch_installed", lambda: False)
    arguments = [argument.format(table=tmp_path / "t.csv") for argument in NETWORK]
    assert "pip install 'lowrankgcn[nn]'" in refused(capsys, *arguments)


@pytest.fixture(scope="module")
def small_table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model and a table of more than 64 kilobytes."""
    folder = tmp_path_factory.mktemp("small")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(5000), "y": rng.random(5000)})
    frame.to_csv(folder / "table.csv", index=False)
    few = frame.head(100)
    classifier = lg.SpectralGPClassifier(graph="hypergraph", random_state=0)
    classifier.fit(few, np.where(few["x"] > 0.5, "right", "left"))
    lg.save(classifier, folder / "model")
    return folder / "model", folder / "table.csv"


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
    def test_full_disk(
        self, small_table: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        model, table = small_table
        parquet = tmp_path / "table.parquet"
        pd.read_csv(table).to_parquet(parquet, index=False)
        out = tmp_path / "out"
        out.mkdir()
        for rows in (table, parquet):
            for ending in ("csv", "csv.gz", "csv.zst", "jsonl", "parquet", "feather"):
                path = out / f"old.{ending}"
                path.write_text("old")
                with small_disk():
                    message = refused(capsys, "predict", str(model), str(rows), "--out", str(path))
                assert f"cannot write to {path}" in message
                assert path.read_text() == "old"
                assert list(out.iterdir()) == [path]
                path.unlink()

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
            message = refused(capsys, "classify", str(table), "-t", "kind", option, str(path))
            assert option in message
            assert "No space left" in message
            assert path.read_text() == "old"
            assert set(tmp_path.iterdir()) == {table, path}

    def test_killed_while_writing(self, tmp_path: Path) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")
        code = (
            "import os, time, pandas as pd; from lowrankgcn.files import write_file\n"
            "def wait(_): print('written', flush=True); time.sleep(120)\n"
            "os.fsync = wait  # complete, but not yet renamed\n"
            f"write_file(pd.DataFrame({{'x': [1, 2]}}), {str(path)!r})"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"written\n"
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert path.read_text() == "old"
        if sys.platform == "linux":  # elsewhere the temporary file has a name
            assert list(tmp_path.iterdir()) == [path]

    def test_interrupted_while_writing(
        self,
        small_table: tuple[Path, Path],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(os, "fsync", lambda *_: signal.raise_signal(signal.SIGINT))
        path = tmp_path / "out.csv"
        path.write_text("old")
        assert call("predict", *map(str, small_table), "--out", str(path)) == 130
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == ("", "interrupted\n")
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_closed_pipe_while_writing(
        self,
        small_table: tuple[Path, Path],
        capfd: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def closed(*_: object, **__: object) -> None:
            raise BrokenPipeError

        monkeypatch.setattr(labelled_table, "write_file", closed)
        assert call("predict", *map(str, small_table), "--quiet", "--out", "-") == 0
        assert capfd.readouterr().err == ""

    def test_closed_pipe_of_a_process(self) -> None:
        code = (
            "import pandas as pd, typer\n"
            "from lowrankgcn.cli.app import app\n"
            "from lowrankgcn.cli.terminal import one_line_errors\n"
            "from lowrankgcn.files import write_file\n"
            "@app.command()\n"
            "def write() -> None:\n"
            "    with one_line_errors(writing='-'):\n"
            "        write_file(pd.DataFrame({'x': range(100_000)}), '-')\n"
            "app(['write'])\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with process:
            assert process.stdout is not None and process.stderr is not None
            first = process.stdout.readline()
            process.stdout.close()
            printed = process.stderr.read()
        assert (first, printed, process.returncode) == ("x\n", "", 0)

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


def test_integers_are_classes_only_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, numbers = tmp_path / "pay.csv", [7 * k % 997 for k in range(160)]
    lines = [f"{k * k % 31},{'' if k > 150 else number}" for k, number in enumerate(numbers)]
    path.write_text("\n".join(["size,salary", *lines]))
    message = refused(capsys, "classify", str(path), "-t", "salary")
    assert "column 'salary': expected classes, got 151 different integers in 151 rows" in message
    assert "put them into ranges" in message
    assert "--categorical 'salary' takes each number as a class" in message
    out = tmp_path / "out.csv"
    arguments = ["classify", str(path), "-t", "salary", "--categorical", "salary"]
    assert call(*arguments, "--out", str(out), "--json") == 0
    assert len(out.read_text().splitlines()) == 161

"""Large files are classified block by block, like tables in memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn.files import passes, read_file, writing
from lowrankgcn.files.passes import BlockFile, open_blocks
from tests.cli.commands import call, refused

N = 900
SAMPLE = 300


def table(n: int = N) -> pd.DataFrame:
    """Numbers, dates, texts of a category and a few labels."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "number": rng.permutation(n),  # the sample has only some of them
            "key": [f"k{row}x{row * row}" for row in range(n)],
            "size": (3 * kind + rng.normal(size=n)).round(3),
            "day": np.datetime64("2024-01-01") + (90 * kind + rng.integers(0, 90, n)),
            "colour": np.array(["red", "green, light", "blue"])[(kind + rng.integers(0, 2, n))],
            "grade": np.where(rng.random(n) < 0.1, "", (kind + rng.integers(0, 4, n)).astype(str)),
        }
    )
    labels = np.where(kind > 0, "high", "low")
    return frame.assign(kind=np.where(rng.random(n) < 0.04, labels, ""))


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classifiers that are fitted to a sample of a few rows."""
    for one in (lg.SpectralGPClassifier, lg.GCNClassifier):
        defaults = one.__init__.__kwdefaults__ | {"fit_rows": SAMPLE}
        monkeypatch.setattr(one.__init__, "__kwdefaults__", defaults)
        monkeypatch.setattr(one, "fit_rows", SAMPLE)


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Read every file in blocks of so many bytes, or as a whole if 0."""

    def set_size(size: int) -> None:
        monkeypatch.setattr(passes, "LEAST", 0 if size else 2**60)
        monkeypatch.setitem(open_blocks.__kwdefaults__, "block_bytes", size)
        monkeypatch.setattr(passes, "_BLOCK_ROWS", max(1, size // 32))

    return set_size


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> dict[str, Any]:
    """Run a command and return its JSON document."""
    assert call(*map(str, arguments), "--json") == 0, capsys.readouterr().err
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_blocks_give_the_result_of_the_whole_table(
    ending: str,
    tmp_path: Path,
    small_sample: None,
    in_blocks: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, model = tmp_path / f"table.{ending}", tmp_path / "model"
    frame = table()
    if ending == "parquet":
        frame = frame.assign(kind=frame["kind"].replace("", None))
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    results: dict[str, list[Any]] = {"classify": [], "predict": []}
    for size, threads in ((0, 2), (2**12, 1), (2**13, 2)):
        in_blocks(size)
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", str(threads))
        assert (open_blocks(path) is None) == (size == 0)
        for command, arguments in {
            "classify": [path, "--target", "kind", "--save", model],
            "predict": [model, path],
        }.items():
            out = tmp_path / f"{command}.{ending}"
            more = ["--out", out, "--level", "0.9", "--probabilities"]
            document = run(capsys, command, *arguments, *more)
            if size and command == "classify":
                assert "a sample of 300 of 900 rows" in document["notes"].pop()
            results[command].append((document, read_file(out).frame))
    for (expected, rows), *others in results.values():
        for document, found in others:
            for name in ("rows", "unsure", "notes", "warnings", "without_prediction"):
                assert document[name] == expected[name], name
            for name, counts in expected["classes"].items():
                for key in ("given", "predicted", "mean_probability"):
                    assert document["classes"][name][key] == pytest.approx(counts[key], abs=1e-6)
            assert found.columns.tolist() == rows.columns.tolist()
            for name in rows:
                if "probability" in name:
                    wrong = found[name].astype(float) - rows[name].astype(float)
                    assert abs(wrong).max() <= 1.5e-6, name
                else:
                    assert found[name].equals(rows[name]), name
    assert {file.name for file in tmp_path.iterdir()} == {
        *(f"{name}.{ending}" for name in ("table", "classify", "predict")),
        "model",
    }


def test_later_cells_of_another_kind_are_missing_with_a_note(
    tmp_path: Path, small_sample: None, in_blocks: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    in_blocks(2**12)
    path, out, page, model = (tmp_path / name for name in ("t.csv", "o.csv", "r.html", "model"))
    frame = table().astype(str)
    frame.to_csv(path, index=False)
    keys = np.random.default_rng(int(np.random.RandomState(0).randint(2**31 - 1))).random(N)
    keys[frame["kind"] != ""] = -1
    last = np.argsort(keys)[-3:]  # not in the sample
    frame.loc[last, "size"] = ["big", "3,5", "inf"]
    frame.loc[last[:2], "day"] = ["soon", "31.12.2024"]
    frame.to_csv(path, index=False)
    arguments = ["classify", path, "--target", "kind", "--out", out, "--report", page]
    document = run(capsys, *arguments, "--save", model)
    notes = [
        f"column {name!r}: {cells} cells that are not numbers or dates like the others are read "
        "as missing"
        for name, cells in (("size", 3), ("day", 2))
    ]
    assert set(notes) <= set(document["notes"])
    assert all(note.replace("'", "&#39;") in page.read_text() for note in notes)
    written = read_file(out).frame
    assert written["size"][last].tolist() == ["big", "3,5", "inf"]
    assert written["prediction"].notna().all()
    # The stored model reads such cells as well, also of a small table.
    for size in (2**12, 0):
        in_blocks(size)
        run(capsys, "predict", model, path, "--out", out)
        found = read_file(out).frame
        np.testing.assert_allclose(
            found["probability"].astype(float)[last],
            written["probability"].astype(float)[last],
            atol=1e-5,
        )
    frame["size"] = "big"
    frame.to_csv(path, index=False)
    in_blocks(2**12)
    message = refused(capsys, "predict", str(model), str(path), "--out", str(out))
    assert "column 'size'" in message and read_file(out).frame.equals(found)


def test_labels_of_other_files(
    tmp_path: Path, small_sample: None, in_blocks: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path, more, out = tmp_path / "t.csv", tmp_path / "more.csv", tmp_path / "o.csv"
    table().to_csv(path, index=False)
    rows = [3, 400, N]
    for place, values in (("row", rows), ("key", table()["key"].iloc[np.array(rows) - 1])):
        pd.DataFrame({place: values, "kind": ["other", "high", "other"]}).to_csv(more, index=False)
        arguments = ["classify", path, "--target", "kind", "--labels", more, "--out", out]
        arguments += ["--key", "key"] if place == "key" else []
        found = []
        for size in (0, 2**12):
            in_blocks(size)
            found.append((run(capsys, *arguments)["labelled"], read_file(out).frame))
        (n_expected, expected), (n_found, written) = found
        assert n_found == n_expected
        assert written["kind"].equals(expected["kind"])
        assert written["prediction"].iloc[np.array(rows) - 1].tolist() == ["other", "high", "other"]
        assert (written["prediction"] == expected["prediction"]).all()
    pd.DataFrame({"row": [N + 1], "kind": ["high"]}).to_csv(more, index=False)
    message = refused(capsys, *map(str, arguments[:-2]))
    assert f"expected row numbers from 1 to {N}" in message


def test_most_rows_are_labelled(
    tmp_path: Path,
    small_sample: None,
    in_blocks: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(passes, "MOST_LABELLED", 100)
    in_blocks(2**12)
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    frame = table()
    frame["kind"] = np.where(np.arange(N) % 5 > 0, np.where(frame["size"] > 1, "high", "low"), "")
    frame.loc[1, "kind"] = "rare"  # one label of many is in the sample as well
    frame.to_csv(path, index=False)
    document = run(capsys, "classify", path, "--target", "kind", "--out", out)
    assert "the model is fitted to a sample of 100 of 720 labelled rows" in document["notes"]
    assert document["labelled"] == 720 and document["classes"]["rare"]["given"] == 1
    written = read_file(out).frame
    known = written["kind"].notna()
    assert (written["prediction"] == written["kind"])[known].all()


def test_what_needs_all_rows_is_read_as_a_whole_or_refused(
    tmp_path: Path,
    in_blocks: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_blocks(2**12)
    path = tmp_path / "t.csv"
    table().to_csv(path, index=False)
    for name in ("o.parquet", "o.jsonl"):
        arguments = ["classify", path, "--target", "kind", "--out", tmp_path / name]
        assert not any("sample" in note for note in run(capsys, *arguments)["notes"])
        with monkeypatch.context() as patch:
            patch.setattr(BlockFile, "needs_memory", lambda _: True)
            message = refused(capsys, *map(str, arguments), "--overwrite")
        assert f"{name} needs all rows in memory" in message and "write CSV" in message


def test_malformed_rows_far_down(
    tmp_path: Path,
    in_blocks: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_blocks(2**12)
    monkeypatch.setattr(passes, "_HEAD", 2**10)
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    table().to_csv(path, index=False)
    good = path.read_bytes()
    lines = good.splitlines(keepends=True)
    for data, expected in (
        (b"".join([*lines[:700], b"1,2\n", *lines[700:]]), "line 701: expected 7 cells"),
        (good + b'"x,y\n', "an unclosed quote"),
        (b"".join([*lines[:700], lines[700].replace(b"k", b"\xff"), *lines[701:]]), "--encoding"),
    ):
        path.write_bytes(data)
        out.write_text("old")
        message = refused(capsys, "classify", str(path), "--target", "kind", "--out", str(out))
        assert expected in message and str(path) in message
        assert out.read_text() == "old"
        assert set(tmp_path.iterdir()) == {path, out}


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
class TestStopped:
    @pytest.fixture
    def files(self, tmp_path: Path) -> tuple[Path, Path]:
        path, out = tmp_path / "t.csv", tmp_path / "o.csv"
        table().to_csv(path, index=False)
        out.write_text("old")
        return path, out

    def test_interrupt_and_full_disk_while_blocks_are_written(
        self,
        files: tuple[Path, Path],
        in_blocks: Any,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        path, out = files
        in_blocks(2**12)
        write = writing.TableSink.write
        arguments = ["classify", str(path), "--target", "kind", "--out", str(out)]
        for stop, code, expected in (
            (lambda: signal.raise_signal(signal.SIGINT), 130, "interrupted\n"),
            (lambda: os.write(os.open("/dev/full", os.O_WRONLY), b"x"), 2, "No space left"),
        ):
            done: list[int] = []

            def write_some(self: Any, block: Any, stop: Any = stop, done: Any = done) -> None:
                write(self, block)
                done.append(1)
                if len(done) == 3:
                    stop()

            monkeypatch.setattr(writing.TableSink, "write", write_some)
            assert call(*arguments) == code
            assert expected in capsys.readouterr().err
            assert len(done) == 3 and out.read_text() == "old"
            assert set(out.parent.iterdir()) == {path, out}

    @pytest.mark.skipif(sys.platform != "linux", reason="the temporary file has a name")
    def test_kill_while_blocks_are_written(self, files: tuple[Path, Path]) -> None:
        path, out = files
        code = (
            "import time\n"
            "from lowrankgcn.files import passes, writing\n"
            "from lowrankgcn.cli.app import app\n"
            "passes.LEAST, passes.open_blocks.__kwdefaults__['block_bytes'] = 0, 4096\n"
            "write, done = writing.TableSink.write, []\n"
            "def write_some(self, block):\n"
            "    write(self, block); done.append(1)\n"
            "    if len(done) == 3: print('here', flush=True); time.sleep(120)\n"
            "writing.TableSink.write = write_some\n"
            f"app(['classify', {str(path)!r}, '-t', 'kind', '-q', '--out', {str(out)!r}])"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"here\n"
            process.kill()
        assert out.read_text() == "old"
        assert set(out.parent.iterdir()) == {path, out}

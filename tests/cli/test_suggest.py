"""``lowrankgcn suggest``, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import lowrankgcn as lg
from tests.cli.commands import call, feed, refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quarter of the cars with labels of two classes, of one, and of none."""
    folder = tmp_path_factory.mktemp("suggest")
    cars = lg.datasets.load_cars(as_frame=True)
    frame = cars.data.astype(str).iloc[::4].reset_index(drop=True)
    for name, labels in (("some", ["no", "yes"] * 4), ("one", ["no"] * 3), ("none", [])):
        frame["ok"] = [*labels, *[""] * (len(frame) - len(labels))]
        frame.to_csv(folder / f"{name}.csv", index=False)
    frame["ok"] = "yes"
    frame.loc[0, "ok"] = "no"
    frame.to_csv(folder / "all.csv", index=False)
    return folder


@pytest.mark.parametrize(("name", "labelled"), [("some", 8), ("one", 3), ("none", 0)])
def test_json(folder: Path, capsys: pytest.CaptureFixture[str], name: str, labelled: int) -> None:
    arguments = ("suggest", str(folder / f"{name}.csv"), "--target", "ok", "-k", "6", "--json")
    assert call(*arguments) == 0
    first = capsys.readouterr().out
    document = json.loads(first)
    rows = [one["row"] for one in document["rows"]]
    assert document["labelled"] == labelled and len(set(rows)) == 6 and min(rows) > labelled
    table = pd.read_csv(folder / f"{name}.csv", dtype=str)
    for one in document["rows"]:
        assert one["values"]["buying"] == table["buying"][one["row"] - 1]
        assert (one["prediction"] in ("yes", "no")) == (name == "some")
    assert call(*arguments) == 0
    assert capsys.readouterr().out == first


def test_table_and_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "to-label.csv"
    assert call("suggest", str(folder / "some.csv"), "-t", "ok", "-k", "3", "-o", str(out)) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{folder / 'some.csv'}: 432 rows, 8 labels of 2 classes")
    assert "written to" in text and "ok?" in text
    written = pd.read_csv(out, dtype=str)
    assert list(written)[:4] == ["row", "ok", "prediction", "probability"]
    assert written["ok"].isna().all()
    table = pd.read_csv(folder / "some.csv", dtype=str)
    for _, row in written.iterrows():
        assert f" {row['row']} " in text
        same = table.iloc[int(row["row"]) - 1].drop("ok")
        assert row[same.index].tolist() == same.tolist()
    assert call("suggest", str(folder / "none.csv"), "-t", "ok", "-k", "2", "-o", "-") == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == "row,ok,buying,maint,doors,persons,lug_boot,safety"
    assert "no labels yet" in captured.err


def test_notes_are_not_repeated_as_warnings(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(folder / "some.csv", dtype=str)
    frame.loc[frame["ok"].eq("yes").idxmax(), "ok"] = "Yes"
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert call("suggest", str(path), "-t", "ok", "-k", "2", "--json") == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert captured.err == "" and document["warnings"] == []
    assert any("differ only by blanks" in note for note in document["notes"])


def test_singular_and_columns_left_out_and_whole_cells(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    frame = pd.read_csv(folder / "none.csv", dtype=str).head(40).assign(same="x")
    frame["maint"] = ["a rather long value of a cell", "another long value of a cell"] * 20
    frame.loc[0, "ok"] = "yes"
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert call("suggest", str(tmp_path / "t.csv"), "-t", "ok", "-k", "2") == 0
    text = capsys.readouterr().out
    assert "40 rows, 1 label of 1 class\n" in text
    assert "'same' are left out: all values of each are equal" in " ".join(text.split())
    assert "…" not in text and max(len(line) for line in text.splitlines()[1:]) <= 60


def test_quiet_and_parquet_and_a_column_named_row(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(folder / "none.csv").rename(columns={"doors": "row"})
    frame["ok"] = frame["ok"].astype(object)
    frame.to_parquet(tmp_path / "t.parquet")
    arguments = ("suggest", str(tmp_path / "t.parquet"), "-t", "ok", "-q", "--drop", "safety")
    assert call(*arguments, "-o", str(tmp_path / "out.parquet")) == 0
    assert capsys.readouterr() == ("", "")
    written = pd.read_parquet(tmp_path / "out.parquet")
    assert list(written)[:2] == ["row_", "ok"] and len(written) == 10


def test_bad_input_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    calls: list[tuple[tuple[str, ...], str]] = [
        (("some.csv", "--target", "OK"), "target: expected a column of the table, got 'OK'"),
        (("some.csv",), "Missing option '--target'"),
        (("some.csv", "-t", "ok", "-k", "0"), "-k"),
        (("some.csv", "-t", "ok", "-k", "425"), "has 424 rows without a label; use -k 424"),
        (("all.csv", "-t", "ok"), "has 0 rows without a label; all rows are labelled"),
        (("missing.csv", "-t", "ok"), "No such file"),
        (("some.csv", "-t", "ok", "--graph", "tree"), "--graph"),
        (("some.csv", "-t", "ok", "--drop", "bying"), "did you mean 'buying'?"),
        (("some.csv", "-t", "ok", "-o", "no/such/folder.csv"), "there is no folder"),
        (("some.csv", "-t", "ok", "-o", "./some.csv"), "would overwrite the table"),
    ]
    for arguments, message in calls:
        assert message in refused(capsys, "suggest", *arguments), arguments


def test_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(monkeypatch, (folder / "none.csv").read_bytes())
    assert call("suggest", "-", "--target", "ok", "-k", "2", "--json") == 0
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)["rows"]) == 2 and captured.err == ""

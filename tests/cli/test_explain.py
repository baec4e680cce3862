"""``lowrankgcn explain``, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn._codec import decode
from tests.cli.commands import call, feed, refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of cars (a table of categories) and of a spiral (points), with their tables."""
    folder = tmp_path_factory.mktemp("explain")
    cars = lg.datasets.load_cars(target="buying", as_frame=True)
    frame = cars.data.astype(str)
    frame["price"] = ""
    frame.loc[cars.training, "price"] = [cars.target_names[k] for k in cars.target[cars.training]]
    frame.to_csv(folder / "cars.csv", index=False)
    spiral = lg.datasets.load_spiral(60, random_state=0)
    points = pd.DataFrame(spiral.data, columns=list("xyz"))
    points["orb"] = np.where(np.arange(300) % 12 == 0, [f"orb {k}" for k in spiral.target], "")
    points.to_parquet(folder / "spiral.parquet")
    for table, target in (("cars.csv", "price"), ("spiral.parquet", "orb")):
        model = folder / f"{table.partition('.')[0]}.model"
        path = str(folder / table)
        assert call("classify", path, "--target", target, "--save", str(model), "-q") == 0
    network = ["--save", str(folder / "network.model"), "--method", "gcn", "-q"]
    assert call("classify", str(folder / "cars.csv"), "--target", "price", *network) == 0
    return folder


def explain(folder: Path, model: str, table: str, *options: str) -> int:
    return call("explain", str(folder / model), str(folder / table), *options)


def test_columns_of_a_car(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(folder, "cars.model", "cars.csv", "--row", "1", "--row", "1728") == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [k for k, line in enumerate(lines) if line.startswith("row ")]
    assert lines[0].startswith("row 1: vhigh (") and " rather than " in lines[0]
    assert lines[heads[1]].startswith("row 1728: low (")
    for head, value in zip(heads, ("vhigh", "low"), strict=True):
        (line,) = (line for line in lines[head:] if line.endswith(f"buying = {value}"))
        assert line.startswith("  +")
    assert lines[-1].endswith("average row")


@pytest.mark.parametrize("by", ["auto", "columns", "rows", "blocks"])
def test_json_adds_up_and_equals_python(
    folder: Path, capsys: pytest.CaptureFixture[str], by: str
) -> None:
    arguments = ("--row", "900", "--json", "--top", "2", "--by", by)
    assert explain(folder, "cars.model", "cars.csv", *arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["by"] == ("columns" if by == "auto" else by)
    assert document["learned_from"].endswith("cars.csv")
    [row] = document["rows"]
    amounts = [part["amount"] for part in row["contributions"]]
    total = sum(amounts) + row["others"] + row["baseline"]
    assert len(amounts) == 2 and total == pytest.approx(row["log_odds"], abs=1e-9)
    odds = np.log(row["probability"] / row["runner_up_probability"])
    assert row["log_odds"] == pytest.approx(odds) and odds >= 0
    classifier = lg.load(folder / "cars.model")
    table = pd.read_csv(folder / "cars.csv", dtype=str).drop(columns="price")
    expected = classifier.explain(_typed(classifier, table.iloc[[899]]), by=by)[0]
    assert (row["row"], row["prediction"]) == (900, expected.predicted)
    assert row["log_odds"] == pytest.approx(expected.log_odds, abs=1e-9)
    first = expected.contributions[0]
    assert row["contributions"][0]["name"] == (first.name + 1 if by == "rows" else first.name)


def _typed(classifier: Any, frame: pd.DataFrame) -> Any:
    from lowrankgcn.files import Columns

    columns = decode({}, classifier.description_["columns"], Columns)
    return columns.features(frame)


def test_labelled_rows_are_counted_from_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_rows = ("spiral.model", "spiral.parquet", "--row", "5", "--by", "rows")
    assert explain(folder, *by_rows, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["by"] == "rows"
    numbers = [part["name"] for part in document["rows"][0]["contributions"]]
    assert all((number - 1) % 12 == 0 for number in numbers)
    assert explain(folder, *by_rows) == 0
    out = capsys.readouterr().out
    assert f"labelled row {numbers[0]}: orb" in out
    assert out.splitlines()[-1].endswith("spiral.parquet")


def test_unknown_values_and_columns_in_another_order(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cars = pd.read_csv(folder / "cars.csv", dtype=str).drop(columns="price")
    cars.loc[0, "buying"] = "priceless"
    cars.loc[0, "doors"] = None
    cars[cars.columns[::-1]].assign(note="x").head(3).to_csv(tmp_path / "new.tsv", sep="\t")
    path = str(tmp_path / "new.tsv")
    assert call("explain", str(folder / "cars.model"), path, "-r", "1", "--top", "50") == 0
    out = capsys.readouterr().out
    assert "buying = priceless" in out and "doors = missing" in out


def test_bad_input_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[str, str, tuple[str, ...], str]] = [
        ("cars.model", "cars.csv", ("--row", "1729"), "has 1728 rows, there is no row 1729"),
        ("cars.model", "cars.csv", ("--row", "0"), "--row"),
        ("cars.model", "cars.csv", (), "name a row, or by --out"),
        ("cars.model", "cars.csv", ("--row", "1", "--by", "magic"), "magic"),
        ("network.model", "cars.csv", ("--row", "1"), "use --method gp"),
        ("spiral.model", "cars.csv", ("--row", "1"), "expected columns 'x', 'y', 'z'"),
        ("cars.model", "none.csv", ("--row", "1"), "No such file"),
        ("none.model", "cars.csv", ("--row", "1"), "No such file"),
        ("cars.csv", "cars.csv", ("--row", "1"), "cannot be loaded"),
        ("cars.model", "cars.model", ("--row", "1"), "cars.model"),
    ]
    for model, table, options, message in calls:
        arguments = ("explain", str(folder / model), str(folder / table), *options)
        assert message in refused(capsys, *arguments), arguments


def test_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed(monkeypatch, (folder / "cars.csv").read_bytes())
    assert call("explain", str(folder / "cars.model"), "-", "--row", "2") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("row 2: vhigh (") and captured.err == ""


def test_a_table_of_reasons(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cars = pd.read_csv(folder / "cars.csv", dtype=str).iloc[::40].drop(columns="price")
    cars.to_csv(folder / "some.csv", index=False)
    for by, kind in (("auto", " is "), ("rows", "similar to row ")):
        for ending in ("csv", "parquet", "jsonl"):
            out = folder / f"reasons-{by}.{ending}"
            assert explain(folder, "cars.model", "some.csv", "--by", by, "--out", str(out)) == 0
        assert "written" in capsys.readouterr().out
        frame = pd.read_parquet(out.with_suffix(".parquet"))
        assert frame.row.tolist() == list(range(1, 45))
        assert frame.reason_1.str.contains(kind).all()
        csv = pd.read_csv(out.with_suffix(".csv"))
        assert csv.reason_1.tolist() == frame.reason_1.tolist()
    # Reasons of the class, the strongest first, as in Python.
    classifier = lg.load(folder / "cars.model")
    explained = classifier.explain(_typed(classifier, cars))
    frame = pd.read_parquet(folder / "reasons-auto.parquet")
    first = [one.reasons(1, first=1)[0] for one in explained]
    assert np.mean(frame.reason_1 == first) > 0.9  # of the command, with fewer evaluations
    assert first[0] == "buying is vhigh"
    # A similar row has the predicted class.
    rows = pd.read_parquet(folder / "reasons-rows.parquet")
    labels = rows.reason_1.str.extract(r"\((.*)\)$")[0]
    assert labels.tolist() == rows.prediction.tolist()
    assert "name a row" in refused(
        capsys, "explain", str(folder / "cars.model"), str(folder / "cars.csv")
    )


def test_reasons_beside_predictions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, out, again = (str(folder / name) for name in ("spiral.parquet", "o.csv", "p.csv"))
    assert call("classify", table, "-t", "orb", "--reasons", "-o", out, "-q") == 0
    frame, given = pd.read_csv(out), pd.read_parquet(table).orb.ne("")
    assert frame.reason_1[given].isna().all() and frame.reason_1[~given].notna().all()
    number = frame.reason_1[~given].str.fullmatch(r"[xyz] -?[\d.]+ is (low|average|high)")
    assert number.all()
    model = str(folder / "spiral.model")
    assert call("predict", model, table, "--reasons", "-o", again, "-q") == 0
    assert (pd.read_csv(again).reason_1[~given] == frame.reason_1[~given]).mean() > 0.9
    assert call("classify", out, "-t", "orb", "-q") == 0  # columns of an earlier run
    network = str(folder / "network.model")
    cars = str(folder / "cars.csv")
    assert "no reasons of networks" in refused(capsys, "predict", network, cars, "--reasons")
    arguments = ("classify", cars, "-t", "price", "--method", "gcn", "--reasons")
    assert "only with --method gp" in refused(capsys, *arguments)

"""`lowrankgcn audit`, and suspicious labels wherever results are shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import lowrankgcn as lg
from tests.cli.commands import call, refused

WRONG = {4: "virginica", 61: "setosa", 121: "setosa"}  # row numbers of wrong labels


@pytest.fixture(scope="module")
def flowers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fully labelled table with three wrong labels, and one with a third of the labels."""
    iris = load_iris(as_frame=True)
    frame = iris.data.set_axis(["sl", "sw", "pl", "pw"], axis=1)
    frame["kind"] = iris.target_names[iris.target]
    for row, kind in WRONG.items():
        frame.loc[row - 1, "kind"] = kind
    path = tmp_path_factory.mktemp("audit") / "full.csv"
    frame.to_csv(path, index=False)
    frame.loc[frame.index % 3 > 0, "kind"] = None
    frame.to_csv(path.with_name("part.csv"), index=False)
    return path


def test_suspicious_rows_come_first(flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, page = flowers.with_name("suspects.csv"), flowers.with_name("audit.html")
    arguments = ["audit", str(flowers), "-t", "kind"]
    assert call(*arguments, "-o", str(out), "--report", str(page)) == 0
    said = capsys.readouterr().out
    assert "kind: 150 rows labelled\n" in said and "to classify" not in said
    assert "predicted" not in said.partition("\nclass ")[2].splitlines()[0]
    frame = pd.read_csv(out)
    assert frame.columns[:6].tolist() == [
        *("row", "kind", "suspect", "label_probability", "loo_class", "loo_probability")
    ]
    assert len(frame) == 150 and set(frame.row[:3]) == set(WRONG)
    assert frame.suspect.is_monotonic_decreasing and 3 <= frame.suspect.sum() <= 12
    assert (frame.label_probability[frame.suspect] < 0.25).all()
    rest = frame[~frame.suspect]
    assert rest.label_probability.is_monotonic_increasing
    assert call(*arguments, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    listed = [(one["row"], one["label"], one["loo_class"]) for one in document["suspects"]]
    chosen = frame[frame.suspect]
    assert listed == list(zip(chosen.row, chosen.kind, chosen.loo_class, strict=True))
    text = page.read_text()
    for row in listed[:3]:
        assert f">{row[0]}</th>" in text
        assert f" {row[0]}  {row[1]} " in said
    # Python has the same table.
    table = pd.read_csv(flowers)
    audit = lg.SpectralGPClassifier(random_state=0).fit(table.iloc[:, :4], table.kind).audit()
    assert (audit.row + 1).tolist() == frame.row.tolist()
    assert np.allclose(audit.loo_probability, frame.loo_probability, atol=1e-6)
    assert audit.suspect.tolist() == frame.suspect.tolist()


def test_corrected_labels_are_read_again(flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, again = flowers.with_name("to-correct.csv"), flowers.with_name("again.csv")
    arguments = ["audit", str(flowers), "-t", "kind", "-q"]
    assert call(*arguments, "-o", str(out)) == 0
    frame = pd.read_csv(out)
    frame["kind"] = frame.kind.where(~frame.row.isin(WRONG), frame.loo_class)
    frame.to_csv(out, index=False)
    assert call(*arguments, "--labels", str(out), "-o", str(again)) == 0
    frame = pd.read_csv(again)
    assert not frame.suspect[frame.row.isin(WRONG)].any()


def test_classify_names_suspects(flowers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part, out = flowers.with_name("part.csv"), flowers.with_name("out.csv")
    page = flowers.with_name("part.html")
    files = ["-o", str(out), "--report", str(page)]
    assert call("classify", str(part), "-t", "kind", *files) == 0
    said = capsys.readouterr().out
    assert call("classify", str(part), "-t", "kind", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    rows = [one["row"] for one in document["suspects"]]
    assert set(WRONG) <= set(rows)
    frame = pd.read_csv(out)
    assert frame.loo_class.isna().tolist() == frame.kind.isna().tolist()
    assert frame.loo_probability.between(0, 1).sum() == frame.kind.notna().sum()
    for one in document["suspects"]:
        assert f"suspects    row {one['row']}: {one['label']}" in said
        assert f">{one['row']}</th>" in page.read_text()
        line = frame.loc[one["row"] - 1]
        assert (line.loo_class, line.loo_probability) == (one["loo_class"], one["loo_probability"])
    # Rows on standard output have no labels.
    assert call("classify", str(part), "-t", "kind") == 0
    assert "loo_class" not in capsys.readouterr().out


def test_full_and_few_labels(
    flowers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "classify", str(flowers), "-t", "kind")
    assert "lowrankgcn audit checks the labels" in said
    frame = pd.read_csv(flowers)
    frame.loc[~frame.index.isin([0, 70, 140]), "kind"] = None
    few, out = tmp_path / "few.csv", tmp_path / "few-audit.csv"
    frame.to_csv(few, index=False)
    assert call("audit", str(few), "-t", "kind", "-o", str(out)) == 0
    assert "not known yet" in capsys.readouterr().out
    frame = pd.read_csv(out)
    assert len(frame) == 3 and frame.loo_class.isna().all() and not frame.suspect.any()
    few.write_text("x,kind\n1,a\n2,a\n2,\n")
    assert "'a'" in refused(capsys, "audit", str(few), "-t", "kind")


def test_types_of_the_target_are_kept(tmp_path: Path) -> None:
    table, out = tmp_path / "t.parquet", tmp_path / "o.parquet"
    x = np.r_[np.zeros(20), np.ones(20)] + np.arange(40) / 100
    pd.DataFrame({"x": x, "y": x[::-1] / 2, "kind": np.repeat([3, 7], 20)}).to_parquet(table)
    assert call("audit", str(table), "-t", "kind", "-o", str(out), "-q") == 0
    frame = pd.read_parquet(out)
    assert frame.loo_class.dtype.kind == "i" and set(frame.loo_class) == {3, 7}

"""Commands on files of every format: the same predictions from each of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn.files import read_file, write_file
from tests.cli.commands import call
from tests.files.test_writing import ENDINGS
from tests.support.each import each
from tests.tables.test_text_vectors import reviews


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a table with texts, dates and decimal commas, and new rows."""
    folder = tmp_path_factory.mktemp("commands")
    frame = reviews(200).drop(columns="truth")
    days = pd.date_range("2024-01-01", periods=200)
    frame["day"] = days.strftime("%d/%m/%Y")
    frame[:150].to_csv(folder / "train.csv", sep=";", decimal=",", index=False)
    frame[150:].to_csv(folder / "new.csv", sep=";", decimal=",", index=False)
    arguments = ["classify", str(folder / "train.csv"), "-t", "kind", "-q"]
    assert call(*arguments, "--save", str(folder / "model")) == 0
    assert call(*_predict(folder, "new.csv", "expected.csv")) == 0
    return folder


def _predict(folder: Path, source: str, out: str) -> list[str]:
    return [
        "predict",
        str(folder / "model"),
        str(folder / source),
        "-q",
        "--out",
        str(folder / out),
    ]


@each("ending", ENDINGS)
def test_formats(ending: str, folder: Path) -> None:
    table = read_file(folder / "new.csv")
    write_file(table.frame, folder / f"again{ending}", table)
    assert call(*_predict(folder, f"again{ending}", f"out{ending}")) == 0
    expected = read_file(folder / "expected.csv").frame
    found = read_file(folder / f"out{ending}").frame
    assert found["prediction"].tolist() == expected["prediction"].tolist()
    assert set(found["prediction"]) == {"good", "bad"}
    numbers = [
        frame["probability"].astype(str).str.replace(",", ".") for frame in (found, expected)
    ]
    assert numbers[0].astype(float).tolist() == numbers[1].astype(float).tolist()


def test_several_files(folder: Path) -> None:
    lines = (folder / "new.csv").read_text().splitlines(keepends=True)
    for name, part in (("part1.csv", lines[1:20]), ("part2.csv", lines[20:])):
        (folder / name).write_text("".join([lines[0], *part]))
    assert call(*_predict(folder, "part*.csv", "parts.csv")) == 0
    assert (folder / "parts.csv").read_bytes() == (folder / "expected.csv").read_bytes()
    text = (folder / "expected.csv").read_text()
    assert text.splitlines()[0] == "number;review;kind;day;prediction;probability"


def test_refusals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for source, out, message in (
        ("new.csv", "refused.doc", "expected a name that ends in .csv"),
        ("none*.csv", "refused.csv", "no file matches this pattern"),
        ("https://example.org/new.csv", "refused.csv", "got a URL; download it first"),
    ):
        arguments = _predict(folder, source, out)
        arguments[2] = source if "://" in source else arguments[2]
        assert call(*arguments) == 2
        printed = capsys.readouterr().err
        assert message in printed
        assert len(printed.splitlines()) == 1
        assert not (folder / out).exists()


@pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning")  # the flag is the class
def test_booleans_of_a_model_fitted_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"flag": [True, False] * 20, "size": np.arange(40.0) % 7})
    classes = np.where(frame["flag"], "a", "b")
    classifier = lg.SpectralGPClassifier(random_state=0).fit(frame, classes)
    lg.save(classifier, tmp_path / "model")
    frame.to_csv(tmp_path / "new.csv", index=False)
    assert call(*_predict(tmp_path, "new.csv", "out.csv")) == 0
    assert "flag" not in capsys.readouterr().err
    found = read_file(tmp_path / "out.csv").frame
    expected = classifier.predict_proba(frame).max(axis=1)
    assert found["prediction"].tolist() == classes.tolist()
    np.testing.assert_allclose(found["probability"].astype(float), expected, atol=1e-6)

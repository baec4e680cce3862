"""Every note is on the console, in the JSON document, in the report and a warning in Python."""

from __future__ import annotations

import html
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn.exceptions import ColumnWarning, LabelWarning, without_options
from tests.cli.commands import call

N = 60
#: Kinds of notes, by words of them; those of Python are warnings of these categories.
KINDS = {
    "differ only by blanks, case or zeros": LabelWarning,  # spelling
    "may be another name of the class": LabelWarning,  # leak
    "column 'number_of_row' is left out": ColumnWarning,  # dropped
    "column 'day'": ColumnWarning,  # guess
    "column 'unit' is left out": None,  # harmless in Python, where constant columns are kept
    "the table has a column 'prediction'": None,  # output of commands only
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng, kinds = np.random.default_rng(0), np.repeat(["oak", "elm"], N // 2)
    frame = pd.DataFrame({"size": np.round(rng.normal(size=N) + (kinds == "oak"), 2)})
    frame["number_of_row"] = [f"r{k:03d}" for k in range(N)]
    frame["unit"] = "cm"
    frame["day"] = [f"{1 + k % 12:02d}/{1 + k % 11:02d}/2020" for k in range(N)]
    frame["short"] = np.where(kinds == "oak", "o", "e")
    frame["prediction"] = rng.choice(["x", "y"], N)
    frame["kind"] = np.where(np.arange(N) % 2, kinds, None)
    frame.loc[1, "kind"], frame.loc[1, "short"] = "Oak ", "O"
    path = tmp_path_factory.mktemp("notes") / "trees.csv"
    frame.to_csv(path, index=False)
    return path


def test_notes_are_the_same_everywhere(
    table: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    page, out = table.with_suffix(".html"), table.with_name("out.csv")
    files = ["--out", str(out), "--report", str(page), "--level", "0.9"]
    assert call("classify", str(table), "-t", "kind", *files) == 0
    console = capsys.readouterr()
    assert call("classify", str(table), "-t", "kind", *files, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    notes = document["notes"]
    assert len(set(notes)) == len(notes) and document["warnings"] == []
    assert console.err == ""
    printed = re.findall(r"(?m)^note +(.*)$", console.out)
    assert printed == notes
    reported = re.findall(r'<p class="note">Note: (.*?)</p>', page.read_text())
    assert [html.unescape(text) for text in reported] == notes
    frame = pd.read_csv(table, dtype=str)
    y = frame.pop("kind").where(lambda cells: cells.notna(), "")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lg.SpectralGPClassifier(random_state=0).fit(frame, y)
    for words, category in KINDS.items():
        (note,) = (note for note in notes if words in note)
        if category is not None:
            said = [str(one.message) for one in caught if issubclass(one.category, category)]
            assert any(without_options(note) in text for text in said), note
    # Counts of sets and unsure rows, too.
    counts = {name: document[name] for name in ("one_class", "several_classes", "unsure")}
    fact = "{one_class} of 30 rows have one class, {several_classes} several; {unsure} fit no"
    assert fact.format(**counts) in console.out
    assert fact.format(**counts) in page.read_text()


def test_a_note_that_a_fit_repeats_is_said_once(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("audit", "classify"):
        assert call(command, str(table), "-t", "kind", "--json") == 0
        captured = capsys.readouterr()
        document = json.loads(captured.out)
        assert sum("differ only by" in note for note in document["notes"]) == 1
        assert document["warnings"] == [] and captured.err == ""


def test_a_useful_identifier_is_kept_and_noted_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    rng = np.random.default_rng(0)
    kinds = rng.choice(["cat", "dog"], 150)
    numbers = rng.permutation(900)[:150]
    frame = pd.DataFrame({"size": np.round(rng.normal(size=150), 3)})
    frame["file"] = [f"{kind}_{n:03d}.jpg" for kind, n in zip(kinds, numbers, strict=True)]
    frame["animal"] = np.where(np.arange(150) < 40, kinds, "")
    path, page, out = tmp_path / "pets.csv", tmp_path / "pets.html", tmp_path / "out.csv"
    frame.to_csv(path, index=False)
    files = ["--out", str(out), "--report", str(page)]
    assert call("classify", str(path), "-t", "animal", *files) == 0
    console = capsys.readouterr().out
    assert call("classify", str(path), "-t", "animal", *files, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    (note,) = document["notes"]
    assert note.startswith("column 'file': nearly all values differ, but they predict the class")
    assert note in console and note in html.unescape(page.read_text())
    assert document["columns"] == {"size": "number", "file": "text"}
    assert (pd.read_csv(out)["prediction"] == kinds).mean() > 0.95
    labels = frame.pop("animal")
    with pytest.warns(ColumnWarning, match="column 'file': nearly all values differ"):
        classifier = lg.SpectralGPClassifier(random_state=0).fit(frame, labels)
    assert (classifier.transduction_ == kinds).mean() > 0.95

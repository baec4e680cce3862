"""Labels of several people, tasks of Label Studio, classes in a file, and safe CSV."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from lowrankgcn.cli.annotators import compare_people, read_opinions
from lowrankgcn.cli.class_file import read_classes
from lowrankgcn.files import write_file
from lowrankgcn.files.journal import Journal, Mark, Step
from lowrankgcn.files.label_studio import (
    Prediction,
    labels_of_tasks,
    make_tasks,
    predictions_of_tasks,
)
from tests.cli.commands import call, refused


def _table(folder: Path, n: int = 40) -> tuple[Path, pd.DataFrame]:
    width = np.arange(n) % 2 * 5 + np.arange(n) / n
    frame = pd.DataFrame({"width": width.round(4), "depth": np.arange(n) ** 0.5, "kind": None})
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv", frame.astype({"kind": object})


def _journal(path: Path, frame: pd.DataFrame, who: str, *steps: Step) -> Path:
    journal = Journal(path, "kind", frame)
    for step in steps:
        journal.append(step._replace(by=who))
    journal.close()
    return path


def test_journals_of_two_people_are_merged_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, frame = _table(tmp_path)
    names = ["even", "odd"]
    first = [(row, names[row % 2]) for row in range(12)]
    second = [*first[:10], (10, "odd"), (20, "even")]  # not the same in row 10
    paths = [
        _journal(tmp_path / "a.jsonl", frame, "anna", Step(first)),
        _journal(
            tmp_path / "b.jsonl",
            frame,
            "ben",
            Step(second),
            Step([], marks=[Mark(30, "skipped", "true")]),
        ),
    ]
    options = [word for path in paths for word in ("--labels", str(path))]
    command = ["classify", str(table), "--target", "kind", *options]
    assert call(*command, "--json") == 0
    output = capsys.readouterr().out
    files = ["--labels", *map(str, paths)]  # several files after one option
    assert call("classify", str(table), *files, "--target", "kind", "--json") == 0
    document, again = json.loads(output), json.loads(capsys.readouterr().out)
    assert again["agreement"] == document["agreement"]
    shown = document["agreement"]
    kappa = cohen_kappa_score([n for _, n in first[:11]], [n for _, n in second[:11]])
    assert (shown["people"], shown["rows"]) == (["anna", "ben"], 11)
    assert shown["kappa"] == pytest.approx(kappa) and shown["measure"] == "Cohen's kappa"
    assert shown["disputed"] == [{"row": 11, "labels": {"anna": "even", "ben": "odd"}}]
    assert document["labelled"] == 12  # 0 to 9, 11, 20; nobody decides on row 10
    notes = " ".join(document["notes"])
    assert "Cohen's kappa" in notes and "1 row skipped" in notes and "(11)" in notes
    settled = Step([(10, "even")], settled=True)
    paths.append(_journal(tmp_path / "c.jsonl", frame, "chris", settled))
    opinions = read_opinions(paths, frame, "kind")
    assert opinions.labels[10] == "even" and opinions.agreement is not None
    assert opinions.agreement.disputed == {} and "Fleiss" in opinions.agreement.measure


def test_kappa_of_three_people_is_that_of_fleiss() -> None:
    # The example of Fleiss (1971): labels of ten rows in five classes.
    shown = "0 0 0 0 14/0 2 6 4 2/0 0 3 5 6/0 3 9 2 0/2 2 8 1 1/"
    shown += "7 7 0 0 0/3 2 6 3 0/2 5 3 2 2/6 5 2 1 0/0 2 2 3 7"
    rows = [list(map(int, row.split())) for row in shown.split("/")]
    labels = [[str(k) for k in range(5) for _ in range(row[k])] for row in rows]
    people = {f"p{j}": {i: labels[i][j] for i in range(10)} for j in range(14)}
    found = compare_people(people)
    assert found.kappa == pytest.approx(0.210, abs=5e-4) and found.share == pytest.approx(
        0.378, abs=5e-4
    )
    same = compare_people({who: {0: "a", 1: "a"} for who in "xyz"})
    assert same.kappa is None and same.share == 1 and same.classes == {"a": 1.0}
    assert compare_people({"x": {0: "a"}, "y": {1: "a"}}).notes()[0].endswith("is not known")


def test_accepted_predictions_are_no_labels(tmp_path: Path) -> None:
    _, frame = _table(tmp_path)
    marks = [Mark(row, "accepted", "odd") for row in range(1, 9, 2)]
    steps = [
        Step([(0, "even"), (1, "odd")]),
        Step([], marks=marks),
        Step([(0, "odd"), (0, "even")]),
    ]
    path = _journal(tmp_path / "j.jsonl", frame, "anna", *steps)
    found = read_opinions([path], frame, "kind")
    assert found.labels == {0: "even", 1: "odd"} and "4 accepted predictions" in found.notes[0]
    again = Journal(path, "kind", frame).read()
    assert [list(step.marks) for step in again] == [[], marks, []]
    assert {step.by for step in again} == {"anna"}


def test_label_studio_round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, frame = _table(tmp_path)
    labels = [["even", "odd"][row % 2] if row < 6 else None for row in range(40)]
    predictions = [None, *[Prediction("odd", 0.75, "model")] * 39]
    about = frame, "kind", labels, predictions, {3: "odd one"}, {7}
    tasks = list(make_tasks(*about, by="anna"))
    assert tasks[7]["annotations"][0]["was_cancelled"]
    assert tasks[3]["meta"] == {"annotator": "anna", "note": "odd one"}
    assert tasks[1]["predictions"][0]["score"] == 0.75
    # Label Studio refuses other authors than members, and missing cells.
    assert "completed_by" not in tasks[3]["annotations"][0]
    (member, *_) = make_tasks(*about, by="anna@example.org")
    assert member["annotations"][0]["completed_by"] == {"email": "anna@example.org"}
    assert all(isinstance(cell, str | int) for task in tasks for cell in task["data"].values())
    assert predictions_of_tasks(tasks, frame, "kind") == dict(enumerate(predictions[1:], 1))
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks[::-1]))
    expected = {row: name for row, name in enumerate(labels) if name is not None}
    assert labels_of_tasks(tasks[::-1], frame, "kind") == ({"anna": expected}, [])
    for task in tasks:  # tasks of another program have the cells alone
        del task["data"]["row"]
    shuffled = frame.iloc[::-1].reset_index(drop=True)
    (found,) = labels_of_tasks(tasks, shuffled, "kind")[0].values()
    assert found == {39 - row: name for row, name in expected.items()}
    assert call("classify", str(table), "--target", "kind", "--labels", str(path), "--json") == 0
    assert json.loads(capsys.readouterr().out)["labelled"] == 6


def test_predictions_of_label_studio_are_no_labels(tmp_path: Path) -> None:
    _, frame = _table(tmp_path)
    result = {"type": "choices", "value": {"choices": ["odd"]}}
    wrong = [{"type": "choices", "value": value} for value in ("odd", None, {"choices": "o"})]
    shown = [
        {"result": [result], "score": 0.9, "model_version": "m1"},
        {"result": [result], "score": float("nan")},
        {"result": [result], "score": 7},
        *({"result": [one]} for one in wrong),
        {"result": [result, result]},
        {"result": [{"type": "choices", "value": {"choices": ["\ud800"]}}]},
        {},
    ]
    tasks = [
        {"data": {"row": row + 1, **frame.iloc[row, :1].to_dict()}, "predictions": [one]}
        for row, one in enumerate(shown)
    ]
    found = predictions_of_tasks(tasks, frame, "kind")
    assert found == {
        0: Prediction("odd", 0.9, "m1"),
        **{row: Prediction("odd", None, "label studio") for row in (1, 2)},
    }
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    opinions = read_opinions([path], frame, "kind")
    assert opinions.imported == found and not opinions.labels
    assert "3 predictions are no labels" in opinions.notes[0]


def test_classes_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "classes.csv"
    path.write_text("class,description,key\nbill,asks for money,b\nspam,,\n")
    assert read_classes(str(path)) == {
        "bill": {"description": "asks for money", "key": "b"},
        "spam": {},
    }
    for text, problem in (
        ("a\nb\n", "'class'"),
        ("class,key\na,n\n", "key"),
        ("class\na\na\n", "'a'"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=problem):
            read_classes(str(path))


def test_safe_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame(
        {"=a": ["=1+1", "+x", "-5", "-x", "@y", "plain", None, "-1,5e3"], "n": -1.5}
    )
    for safe, first in ((False, "=a,n\n=1+1,-1.5\n"), (True, "'=a,n\n'=1+1,-1.5\n")):
        write_file(frame, tmp_path / "t.csv", safe=safe)
        assert (tmp_path / "t.csv").read_text().startswith(first)
    cells = pd.read_csv(tmp_path / "t.csv")["'=a"].tolist()
    assert cells[1:6] == ["'+x", "-5", "'-x", "'@y", "plain"] and cells[7] == "-1,5e3"
    write_file(frame, tmp_path / "t.parquet", safe=True)
    assert pd.read_parquet(tmp_path / "t.parquet")["=a"].iloc[0] == "=1+1"
    table, rows = _table(tmp_path)
    rows["kind"] = [["=even", "@odd"][k % 2] if k < 12 else None for k in range(40)]
    rows.to_csv(table, index=False)
    out = tmp_path / "out.csv"
    assert (
        call("classify", str(table), "--target", "kind", "--out", str(out), "--safe-csv", "-q") == 0
    )
    assert set(pd.read_csv(out)["prediction"]) == {"'=even", "'@odd"}
    error = refused(capsys, "studio", str(table), "--target", "kind", "--annotator", "../x")
    assert "--annotator" in error

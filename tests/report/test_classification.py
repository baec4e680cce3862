"""Contents of a classification: rows and columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn._format import shorten
from lowrankgcn.files import Columns, choose_columns
from lowrankgcn.report.classification import Classification, cell_texts
from lowrankgcn.report.pages import describe_rows, map_rows
from lowrankgcn.tables.text_vectors import TextVectors
from tests.report.classified import blobs, classified, decoded, of_kind, process


def test_least_certain_rows() -> None:
    points, labels = blobs()
    classifier = process().fit(points, labels)
    result = Classification(classifier, None, labels)
    own = classifier.label_distributions_.max(axis=1)
    asked = np.flatnonzero(labels < 0)
    least = [number - 1 for number, _, _ in result.least_certain]
    assert np.array_equal(own[least], np.sort(own[asked])[:5])
    assert result.least_certain[0][2][0][1] == own[least[0]]
    assert set(least) <= set(asked.tolist())
    assert np.array_equal(result.asked, asked)


def test_unplaced_rows_are_counted_apart() -> None:
    result = of_kind("in parts")
    assert result.unplaced.sum() == 185
    assert result.predicted == (3, 3, 4)
    placed = map_rows(result)
    assert placed is not None and len(placed.rows) == 15
    (warning, *_) = result.warnings
    assert "belong to parts of the graph without any label" in warning


def test_columns() -> None:
    frame = pd.DataFrame(
        {
            "name": [f"n{i}" for i in range(60)],
            "colour": ["red", "blue"] * 30,
            "grade": ["low", "high"] * 30,
            "unit": "kg",
            "kind": [("a", "b")[i % 2] if i < 12 else None for i in range(60)],
        }
    )
    columns = choose_columns(frame, "kind")
    X, y = columns.features(frame), columns.labels(frame)
    result = classified(process(), X, y, frame, columns=columns)
    assert result.columns == columns
    assert [tuple(column.values()) for column in result.overview] == [
        ("colour", "category", "", None, 0, 2),
        ("grade", "category", "", None, 0, 2),
        ("name", "", "identifier", None, 0, 60),
        ("unit", "", "constant", None, 0, 1),
    ]
    assert result.shown_columns == ("name", "colour", "grade")
    number, cells, _ = result.least_certain[0]
    assert cells[0] == f"n{number - 1}"


def test_overview_of_cells_importance_and_texts() -> None:
    frame = pd.DataFrame(
        {
            "size": ["1", "NA", "2", "?", "2", None],
            "kind": ["NA", "b", None, "b", "c", "c"],
            "review": ["so good", "bad", "bad", "fine", "good", None],
            "lists": [[1], [2], [1], None, [3], [3]],
            "day": pd.to_datetime(["2020-01-01"] * 5 + [None]),
            "review: stars": [1, 2, 3, 4, 5, 5],
            "new": [1, 2, 3, 4, 5, 6],
        }
    )
    used: Any = {"size": "number", "kind": "category", "review": "text", "day": "date"}
    used |= {"review: stars": "number", "new": "number"}
    vectors = TextVectors((), np.zeros(0, np.float32), np.zeros((0, 1), np.float32))
    columns = Columns("class", used, {"lists": "dropped"}, {"review": vectors})
    points, _ = blobs(6, 2)
    classifier = process().fit(points, [0, 1, 0, 1, -1, -1])
    shares = {"review": 0.5, "size": 0.4, "day": 0.06, "kind": 0.0}
    shares["review: stars"] = 0.04
    evidence = replace(classifier.evidence_, importance=shares)
    given = [0, 1, 0, 1, -1, -1]
    result = Classification(classifier, frame, given, columns=columns, evidence=evidence)
    assert [tuple(column.values()) for column in result.overview] == [
        ("review", "text", "", pytest.approx(0.5), 1, 4),
        ("size", "number", "", 0.4, 3, 2),
        ("day", "date", "", 0.06, 1, 1),
        ("review: stars", "number", "", 0.04, 0, 5),
        ("kind", "category", "", 0.0, 1, 3),
        ("new", "number", "", None, 0, 6),
        ("lists", "", "dropped", None, 1, 3),
    ]
    assert result.shown_columns == ("review", "size", "day", "review: stars", "kind")
    without = Classification(classifier, None, given, columns=columns, evidence=evidence)
    assert tuple(without.overview[1].values()) == ("size", "number", "", 0.4, None, None)
    assert without.shown_columns == ()


def test_descriptions_are_those_of_the_rows() -> None:
    for kind in ("table", "network", "sampled"):
        result = of_kind(kind)
        placed = map_rows(result)
        assert placed is not None
        texts = decoded(describe_rows(result, placed.rows))
        rows = [int(text.replace(" ", "")) - 1 for text in texts["row"]]
        assert rows == placed.rows.tolist()
        assert texts["class"] == [result.classes[code] for code in result.codes[rows]]
        labelled = result.labelled[rows]
        assert [bool(text) for text in texts["probability"]] == (~labelled).tolist()
        label = texts["label" if kind == "network" else "without its label"]
        assert [bool(text) for text in label] == labelled.tolist()


def test_columns_may_be_named_like_properties_of_rows() -> None:
    points, labels = blobs()
    frame = pd.DataFrame(points, columns=["row", "class"])
    result = classified(process(), frame, labels, frame)
    names = [name for name, *_ in describe_rows(result, np.arange(3))]
    assert names == ["row", "class", "probability", "without its label", "row", "class"]


def test_doubtful_labels_are_found() -> None:
    points, _ = blobs()
    truth = np.arange(120) % 3
    labels = np.where(np.arange(120) < 60, truth, -1)
    labels[7] = (labels[7] + 1) % 3
    result = classified(process(), points, labels)
    ((number, _, guesses),) = result.suspicious
    assert number == 8
    (own, small), (other, large) = guesses
    assert (own, other) == (str(labels[7]), str(truth[7])) and small < 0.25 < 0.75 < large


def test_wrong_number_of_rows() -> None:
    points, given = blobs()
    classifier = process().fit(points, given)
    calls: list[tuple[str, Any, Any]] = [
        ("labels", [0, 1], None),
        ("frame", np.full(120, -1), pd.DataFrame({"x": [1, 2]})),
    ]
    for argument, labels, frame in calls:
        message = f"{argument}: expected 120 rows, as many as were fitted"
        with pytest.raises(ValueError, match=message):
            Classification(classifier, frame, labels)


def test_cells_become_short_texts() -> None:
    frame = pd.DataFrame(
        {"a": ["x" * 10_000], "b": [None], "c": [0.123456789], "d": ["\x00\u2028"]}
    )
    texts = [cell_texts(frame[name]) for name in "abcd"]
    assert texts == [["x" * 39 + "…"], [""], ["0.123457"], [""]]
    assert shorten("  two\twords ") == "two words"
    assert len(shorten("é" * 41)) == 40

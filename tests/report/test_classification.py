"""Contents of a classification: rows, columns, embedding, certainty and marks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lowrankgcn as lg
from lowrankgcn._format import shorten
from lowrankgcn.files import Columns, choose_columns
from lowrankgcn.report.classification import Classification, cell_texts
from lowrankgcn.report.embedding import Embedding, class_plane
from tests.report.classified import blobs, classified, of_kind, process


def test_least_certain_rows_and_histogram() -> None:
    points, labels = blobs()
    classifier = process().fit(points, labels)
    result = Classification(classifier, None, labels)
    own = classifier.label_distributions_.max(axis=1)
    asked = np.flatnonzero(labels < 0)
    least = [row.number - 1 for row in result.least_certain]
    assert np.array_equal(own[least], np.sort(own[asked])[:5])
    assert result.least_certain[0].guesses[0][1] == own[least[0]]
    assert set(least) <= set(asked.tolist())
    counts, edges = result.histogram
    assert counts.sum() == len(asked) and result.median == np.median(own[asked])
    assert (edges[0], edges[-1]) == (0.3, 1.0)


def test_unplaced_rows_are_counted_apart() -> None:
    result = of_kind("in parts")
    assert result.n_unplaced == 185
    assert result.predicted == (3, 3, 4)
    assert result.embedding is not None
    assert len(result.embedding.codes) == 15
    assert "belong to parts of the graph without any label" in result.warnings[0]


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
    assert [tuple(column) for column in result.overview] == [
        ("colour", "category", "", 0, 2, None),
        ("grade", "category", "", 0, 2, None),
        ("name", "", "identifier", 0, 60, None),
        ("unit", "", "constant", 0, 1, None),
    ]
    assert result.shown_columns == ("name", "colour", "grade")
    assert result.least_certain[0].cells[0] == f"n{result.least_certain[0].number - 1}"


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
    columns = Columns("class", used, {"lists": "dropped"}, {"review": ("good", "bad")})
    points, _ = blobs(6, 2)
    classifier = process().fit(points, [0, 1, 0, 1, -1, -1])
    shares = {"review: good": 0.3, "size": 0.4, "review: bad": 0.2, "day": 0.06, "kind": 0.0}
    shares["review: stars"] = 0.04
    evidence = replace(classifier.evidence_, importance=shares)
    given = [0, 1, 0, 1, -1, -1]
    result = Classification(classifier, frame, given, columns=columns, evidence=evidence)
    assert [tuple(column) for column in result.overview] == [
        ("review", "text", "", 1, 4, pytest.approx(0.5)),
        ("size", "number", "", 3, 2, 0.4),
        ("day", "date", "", 1, 1, 0.06),
        ("review: stars", "number", "", 0, 5, 0.04),
        ("kind", "category", "", 1, 3, 0.0),
        ("new", "number", "", 0, 6, None),
        ("lists", "", "dropped", 1, 3, None),
    ]
    assert result.shown_columns == ("review", "size", "day", "review: stars", "kind")
    without = Classification(classifier, None, given, columns=columns, evidence=evidence)
    assert without.overview[1] == ("size", "number", "", None, None, 0.4)


def test_descriptions_are_those_of_the_rows() -> None:
    for kind in ("table", "network", "sampled"):
        result = of_kind(kind)
        assert result.embedding is not None
        own = dict(result.descriptions)
        rows = [int(text.replace("\N{NO-BREAK SPACE}", "")) - 1 for text in own["row"]]
        assert len(rows) == len(result.embedding.rows)
        if kind != "sampled":
            assert rows == result.embedding.rows.tolist()
        assert own["class"] == [result.classes[code] for code in result.embedding.codes]
        given = result.embedding.given
        assert [bool(text) for text in own["probability"]] == (~given).tolist()
        label = own["label" if kind == "network" else "without its label"]
        assert [bool(text) for text in label] == given.tolist()


def test_doubtful_labels_are_found() -> None:
    points, _ = blobs()
    truth = np.arange(120) % 3
    labels = np.where(np.arange(120) < 60, truth, -1)
    labels[7] = (labels[7] + 1) % 3
    result = classified(process(), points, labels)
    (row,) = result.suspicious
    assert row.number == 8
    (own, small), (other, large) = row.guesses
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


class TestEmbedding:
    @staticmethod
    def pairs(vectors: Any, values: Any) -> lg.Eigenpairs:
        residuals = np.zeros(len(values))
        return lg.Eigenpairs(np.array(values), vectors, residuals, "dense", 0, 1)

    def test_draws_a_choice_of_many_that_repeats_with_the_seed(self) -> None:
        n = 20_000
        generator = np.random.default_rng(0)
        pairs = self.pairs(generator.normal(size=(n, 4)).astype("float32"), [0.0, 0.1, 0.2, 0.3])
        codes, given = np.arange(n) % 3, np.arange(n) < 900
        drawn = [Embedding(pairs, codes, given, np.ones(n), seed=seed) for seed in (3, 3, 4)]
        assert drawn[0].coordinates.shape == (4000, 2)
        assert drawn[0].given.sum() == 400 and drawn[0].given[-400:].all()
        for one in drawn:
            assert len(set(one.rows)) == 4000
            assert np.array_equal(one.codes, codes[one.rows])
            assert np.array_equal(one.given, given[one.rows])
        assert np.array_equal(drawn[0].coordinates, drawn[1].coordinates)
        assert not np.array_equal(drawn[0].coordinates, drawn[2].coordinates)

    def test_components_are_separated(self) -> None:
        codes = np.repeat([0, 1], 50)
        halves = np.eye(2)[codes] / np.sqrt(50)
        pairs = self.pairs(halves, [0.0, 0.0])
        drawn = Embedding(pairs, codes, np.arange(100) % 25 == 0, np.ones(100))
        means = [drawn.coordinates[drawn.codes == code].mean(axis=0) for code in (0, 1)]
        assert np.linalg.norm(means[0] - means[1]) > 3

    def test_points_far_away_are_drawn_at_the_edge(self) -> None:
        points = np.random.default_rng(0).normal(size=(500, 3))
        points[7] = 1e4
        pairs = self.pairs(points / np.sqrt(500), [0.0, 0.1, 0.1])
        codes = (points[:, 1] > 0).astype(int)
        given = np.arange(500) % 9 == 3  # not the one far away
        drawn = Embedding(pairs, codes, given, np.ones(500))
        assert drawn.n_outside == 1
        assert np.abs(drawn.coordinates).max() < 20

    def test_one_eigenvector_is_drawn_against_the_probability(self) -> None:
        vectors = np.linspace(-1, 1, 10)[:, None]
        certainty = np.linspace(0.5, 1, 10)
        drawn = Embedding(
            self.pairs(vectors, [0.4]), np.arange(10) % 2, np.arange(10) < 4, certainty
        )
        assert np.array_equal(drawn.coordinates[:, 1], certainty[drawn.rows])
        assert drawn.axes[1] == "probability of the class"

    def test_plane_of_two_classes_shows_where_nodes_differ_most(self) -> None:
        generator = np.random.default_rng(0)
        points = generator.normal(size=(300, 4)) * [1.0, 5.0, 1.0, 1.0]
        classes = np.arange(300) % 2
        points[:, 0] += 20 * classes
        plane = class_plane(points, classes, np.arange(300))
        assert abs(np.corrcoef(plane[:, 0], points[:, 0])[0, 1]) > 0.99
        assert abs(np.corrcoef(plane[:, 1], points[:, 1])[0, 1]) > 0.95


def test_cells_become_short_texts() -> None:
    frame = pd.DataFrame(
        {"a": ["x" * 10_000], "b": [None], "c": [0.123456789], "d": ["\x00\u2028"]}
    )
    texts = [cell_texts(frame[name]) for name in "abcd"]
    assert texts == [["x" * 39 + "…"], [""], ["0.123457"], [""]]
    assert shorten("  two\twords ") == "two words"
    assert len(shorten("é" * 41)) == 40

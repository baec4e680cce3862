"""Contents of a classification: rows, columns, embedding, certainty and marks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_recall_fscore_support

import lowrankgcn as lg
from lowrankgcn._format import shorten
from lowrankgcn.files import Columns, choose_columns
from lowrankgcn.report.classification import Classification, cell_texts
from lowrankgcn.report.embedding import Embedding, class_plane
from lowrankgcn.report.evidence import Evidence
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
    evidence = Evidence(classifier, np.array([0, 1, 0, 1, -1, -1]))
    shares = {"review: good": 0.3, "size": 0.4, "review: bad": 0.2, "day": 0.06, "kind": 0.0}
    shares["review: stars"] = 0.04
    evidence.importance = shares
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


def test_evidence_is_that_of_the_classifier() -> None:
    points, labels = blobs()
    rng = np.random.default_rng(0)
    labels[:30] = rng.integers(0, 3, 30)  # nothing to be learned
    classifier = process().fit(points, labels)
    found = Evidence.from_classifier(classifier, labels, importance=True)
    assert found is not None
    assert found.confusion.sum() == 30 and found.confusion.trace() == round(30 * found.accuracy)
    assert found.confusion.sum(axis=1).tolist() == np.bincount(labels[:30]).tolist()
    predicted = found.distributions.argmax(axis=1)
    scores = precision_recall_fscore_support(labels[:30], predicted, zero_division=np.nan)
    precision = [None if np.isnan(value) else value for value in scores[0]]
    assert found.scores == {
        "recall": pytest.approx(scores[1]),
        "precision": pytest.approx(precision),
        "f1": pytest.approx(np.nan_to_num(scores[2])),
    }
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(labels[:30], predicted))
    assert found.f1 == pytest.approx(f1_score(labels[:30], predicted, average="macro"))
    assert [list(pair) for pair in found.mistakes] == sorted(
        (
            [own, other, found.confusion[own, other]]
            for own in range(3)
            for other in range(3)
            if own != other and found.confusion[own, other]
        ),
        key=lambda pair: -pair[2],
    )
    assert found.largest_class == np.bincount(labels[:30]).max() / 30
    assert sum(found.kinds.values()) == pytest.approx(1)
    assert {"linear", "radial", "neighbours", "random forest"} <= set(found.kinds)
    assert list(found.kinds.values()) == sorted(found.kinds.values(), reverse=True)
    assert sum(found.importance.values()) == pytest.approx(1)
    assert Evidence.from_classifier(lg.GCNClassifier(), labels) is None


class TestReliability:
    @staticmethod
    def evidence(probabilities: Any, correct: Any) -> Evidence:
        """Two classes; the first has the given probabilities and is right where `correct`."""
        top = np.asarray(probabilities)
        labels = np.where(correct, 0, 1)
        classifier = SimpleNamespace(
            loo_distributions_=np.column_stack([top, 1 - top]),
            loo_accuracy_=float(np.mean(correct)),
            loo_log_loss_=0.0,
            loo_interval_=(0.0, 1.0),
            block_shares_={},
        )
        return Evidence(classifier, labels)

    @given(
        st.lists(st.tuples(st.floats(0.51, 1.0), st.booleans()), min_size=1, max_size=300),
    )
    def test_bins_are_apart_and_cover_all_rows(self, rows: Any) -> None:
        top, correct = zip(*rows, strict=True)
        found = self.evidence(top, correct)
        bins = found.reliability
        sizes = [part.rows for part in bins]
        assert sum(sizes) == len(rows) and min(sizes) >= min(10, len(rows))
        assert len(bins) <= min(max(len(rows) // 10, 1), 10)
        assert np.diff([part.probability for part in bins]).min(initial=1.0) > 0.009
        weighted = [part.rows * (part.probability - part.correct) for part in bins]
        assert found.overconfidence == pytest.approx(sum(weighted) / len(rows), abs=1e-9)

    def test_bins_have_equal_sizes_if_probabilities_differ(self) -> None:
        bins = self.evidence(np.linspace(0.55, 0.95, 45), np.arange(45) % 3 > 0).reliability
        assert [part.rows for part in bins] == [12, 11, 11, 11]
        assert bins[0].correct == pytest.approx(8 / 12)
        bins = self.evidence([*np.linspace(0.55, 0.8, 10), *[0.999] * 40], np.ones(50)).reliability
        assert [part.rows for part in bins] == [10, 40]

    @pytest.mark.parametrize(
        ("probability", "n_correct", "n", "text"),
        [
            (0.9, 900, 1000, "Probabilities agree with the accuracy on the labelled rows."),
            (0.9, 860, 1000, "Probabilities are 4 points too high on the labelled rows."),
            (0.9, 910, 1000, "are 1 point too low on the labelled rows, which can be chance with"),
            (0.9, 16, 20, "are 10 points too high on the labelled rows, which can be chance with"),
            (0.7, 20, 20, "Probabilities are 30 points too low on the labelled rows."),
            (1.0, 19, 20, "Probabilities are 5 points too high on the labelled rows."),
        ],
    )
    def test_the_sentence(self, probability: float, n_correct: int, n: int, text: str) -> None:
        found = self.evidence(np.full(n, probability), np.arange(n) < n_correct)
        assert text in found.calibration

    def test_right_probabilities_lie_within_chance(self) -> None:
        generator = np.random.default_rng(0)
        top = generator.uniform(0.5, 1.0, 20_000)
        found = self.evidence(top, generator.random(20_000) < top)
        assert "too" not in found.calibration
        inside = [abs(part.correct - part.probability) < part.chance for part in found.reliability]
        assert sum(inside) >= 7
        assert found.reliability[0].chance == pytest.approx(
            1.645 * 0.4995 / np.sqrt(2000), rel=0.01
        )


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

"""Leave-one-out results of fitted classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_recall_fscore_support

import lowrankgcn as lg
from lowrankgcn.estimators.evidence import Evidence
from tests.report.classified import blobs, process
from tests.support.each import each


def test_evidence_is_that_of_the_classifier() -> None:
    points, labels = blobs()
    rng = np.random.default_rng(0)
    labels[:30] = rng.integers(0, 3, 30)  # nothing to be learned
    classifier = process().fit(points, labels)
    found = Evidence.from_classifier(classifier, importance=True)
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
    assert Evidence.from_classifier(lg.GCNClassifier()) is None


class TestReliability:
    @staticmethod
    def evidence(probabilities: Any, correct: Any) -> Evidence:
        """Two classes; the first has the given probabilities and is right where `correct`."""
        top = np.asarray(probabilities)
        labels = np.where(correct, 0, 1)
        return Evidence(labels, np.column_stack([top, 1 - top]))

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

    @each(
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

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
from lowrankgcn.report.classification import Classification
from lowrankgcn.report.pages import render_classification
from tests.report.classified import blobs, process
from tests.support.each import each


def test_evidence_is_that_of_the_classifier() -> None:
    points, labels = blobs()
    rng = np.random.default_rng(0)
    labels[:30] = rng.integers(0, 3, 30)  # nothing to be learned
    classifier = process().fit(points, labels)
    found = Evidence.from_classifier(classifier, importance=True)
    assert found is not None
    assert found.confusion.sum() == 30 and found.confusion.trace() == found.n_correct
    assert found.confusion.sum(axis=1).tolist() == np.bincount(labels[:30]).tolist()
    assert max(found.accuracy, found.balanced_accuracy) < 0.5  # near 1/3
    # Without what the probabilities of other rows promise, all scores are those of scikit-learn.
    alone = Evidence(found.codes, found.distributions)
    predicted = found.distributions.argmax(axis=1)
    scores = precision_recall_fscore_support(labels[:30], predicted, zero_division=np.nan)
    precision = [None if np.isnan(value) else value for value in scores[0]]
    assert alone.scores == {
        "recall": pytest.approx(scores[1]),
        "precision": pytest.approx(precision),
        "f1": pytest.approx(np.nan_to_num(scores[2])),
    }
    assert alone.balanced_accuracy == pytest.approx(balanced_accuracy_score(labels[:30], predicted))
    assert alone.f1 == pytest.approx(f1_score(labels[:30], predicted, average="macro"))
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
    assert {"trends of the columns", "similar rows", "decision trees"} <= set(found.kinds)
    assert list(found.kinds.values()) == sorted(found.kinds.values(), reverse=True)
    assert sum(found.importance.values()) == pytest.approx(1)
    assert Evidence.from_classifier(lg.GCNClassifier()) is None


def _evidence(counts: Any, n_right: int = 10**6) -> Evidence:
    """Rows with the given numbers of labels; the first `n_right` of them are predicted."""
    codes = np.repeat(np.arange(len(counts)), counts)
    others = np.where(np.arange(len(codes)) < n_right, codes, (codes + 1) % len(counts))
    return Evidence(codes, np.eye(len(counts))[others])


class TestFewLabels:
    @each("counts", [(1, 1), (1, 1, 1), (2, 1), (2, 2, 1)])
    def test_nothing_is_known(self, counts: Any) -> None:
        found = _evidence(counts, 0)
        assert not found.is_known and found.n_scored == 0
        numbers = (found.accuracy, *found.interval, found.log_loss, found.overconfidence)
        assert np.isnan([*numbers, found.balanced_accuracy, found.f1]).all()
        unscored = [None] * len(counts)
        assert found.scores == {"recall": unscored, "precision": unscored, "f1": unscored}
        assert found.recall_intervals == unscored
        assert found.reliability == [] and found.suspects == [] and not found.suspicions.any()
        assert found.meaning == "not known yet: label a second row of each class"
        assert found.meaning in found.calibration
        assert found.recall_texts[-1] == "1 label: too few"
        assert found.confusion.sum() == sum(counts)

    def test_class_with_one_label_has_no_scores(self) -> None:
        found = _evidence((4, 5, 1), 8)
        assert found.is_known and found.n_scored == 2 and found.n_correct == 8
        assert found.scores["recall"] == [1.0, 0.8, None]
        assert found.scores["precision"] == [0.8, 1.0, None]
        assert found.balanced_accuracy == pytest.approx(0.9)
        assert found.recall_intervals[2] is None and found.recall_texts[2] == "1 label: too few"
        assert found.suspects == [(8, 2)]  # not the only row of the last class

    def test_recall_has_an_interval(self) -> None:
        found = _evidence((10, 30), 38)
        assert found.recall_intervals[1] is not None
        low, high = found.recall_intervals[1]
        assert low < 28 / 30 < high
        alone = Evidence(np.zeros(30, int), np.eye(2)[[0] * 28 + [1] * 2])
        assert alone.interval == (low, high)
        text = f"93 %, {100 * low:.0f}–{100 * high:.0f}"
        assert found.recall_texts[1].replace("\N{NO-BREAK SPACE}", " ") == text

    def test_which_accuracy_it_is(self) -> None:
        assert "balanced accuracy" in _evidence((3, 3, 2)).meaning
        assert "the accuracy on all rows" in _evidence((9, 3, 2)).meaning

    def test_probabilities_of_other_rows_count_like_eighty_labels(self) -> None:
        codes, promised = np.repeat([0, 1], [15, 5]), np.array([[0.75, 0.9], [0.25, 0.6]])
        right = Evidence(codes, np.eye(2)[codes], promised=promised)
        mean = 0.75 * 0.9 + 0.25 * 0.6
        # Labelled rows have the probability one: they are easier than the others.
        assert right.accuracy == pytest.approx(0.8 * mean + 0.2 * (1 - (1 - mean) / 2))
        rare = Evidence(np.repeat([0, 1], [19, 1]), right.distributions, promised=promised)
        assert rare.accuracy < right.accuracy - 0.01  # and there may be other classes
        assert right.scores["recall"] == pytest.approx([0.8 * 0.9 + 0.2, 0.8 * 0.6 + 0.2])
        low, high = right.interval
        assert low < right.accuracy < high
        even = Evidence(np.repeat([0, 1], 5), np.eye(2)[np.repeat([0, 1], 5)], promised=promised)
        assert even.accuracy == pytest.approx((80 * 0.75 + 10) / 90)  # each class alike
        # The factors of the class shares decide for labelled rows as they do for new ones.
        doubt = np.tile([0.6, 0.4], (10, 1))
        assert Evidence(even.codes, doubt, factors=np.array([1.0, 2.0])).scores["recall"] == [0, 1]

    def test_mass_of_unseen_classes(self) -> None:
        assert _evidence((16, 3, 1)).unseen == 1 / 20
        assert np.isnan([_evidence((9, 9, 1, 1)).unseen, _evidence((14, 2, 1)).unseen]).all()
        # These counts are close to each other by chance.
        assert _evidence((2, 3, 1, 2, 4, 1, 1, 3, 3)).unseen == 3 / 20

    @pytest.mark.parametrize("n_classes", [2, 3, 9])
    @pytest.mark.parametrize("per_class", [3, 10])
    def test_draws_by_class_are_told_from_samples(self, n_classes: int, per_class: int) -> None:
        generator, sampled = np.random.default_rng(0), []
        for _ in range(200):
            shares = generator.dirichlet(np.full(n_classes, 3.0))
            counts = generator.multinomial(n_classes * per_class, shares)
            if (counts > 0).sum() > 1:
                sampled.append(_evidence(tuple(counts[counts > 0])).by_class)
        assert np.mean(sampled) < 0.25
        even = np.full(n_classes, per_class)
        assert _evidence(tuple(even)).by_class
        if n_classes > 3:  # with few labels, one more may be chance
            assert _evidence(tuple(even + np.eye(n_classes, dtype=int)[0])).by_class
            assert _evidence((*even[1:], 1)).by_class  # a class with few rows

    def test_suspects(self) -> None:
        codes, label = np.repeat([0, 1], 10), np.full(20, 0.9)
        label[[2, 3, 12]] = 0.2, 0.01, 0.05
        shares = np.where(np.eye(2, dtype=bool)[codes], label[:, None], 1 - label[:, None])
        found = Evidence(codes, shares)
        assert found.suspects == [(3, 1), (12, 0)]
        odds = 0.05 * 0.95 / (0.95 * 0.05)
        assert found.suspicions[12] == pytest.approx(odds / (1 + odds))

    def test_classifier_says_the_same(self) -> None:
        points, truth = blobs()
        labels = np.where(np.arange(120) < 3, truth, -1)
        classifier = process().fit(points, labels)
        names = ("accuracy", "log_loss", "balanced_accuracy", "f1")
        assert np.isnan([getattr(classifier, f"loo_{name}_") for name in names]).all()
        assert np.isnan(classifier.loo_interval_).all()
        assert "not known yet" in classifier._repr_html_()
        page = render_classification(Classification(classifier, None, labels))
        assert "accuracy not known yet: label a second row of each class" in page
        assert "1 label: too few" in page and "nan" not in page.lower()


class TestReliability:
    @staticmethod
    def evidence(probabilities: Any, correct: Any) -> Evidence:
        """Two classes; the first has the given probabilities and is right where `correct`."""
        top = np.asarray(probabilities)
        labels = np.where(correct, 0, 1)
        return Evidence(labels, np.column_stack([top, 1 - top]))

    @given(
        st.lists(st.tuples(st.floats(0.51, 1.0), st.booleans()), min_size=4, max_size=300),
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

"""Cross-validated accuracy equals that of a manual loop over the folds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import lowrankgcn as lg
from lowrankgcn._progress import listening
from lowrankgcn.estimators.selection import stratified_folds
from lowrankgcn.estimators.validation import estimate_accuracy, wilson_interval


@pytest.fixture(scope="module")
def spiral() -> tuple[np.ndarray, np.ndarray]:
    data = lg.datasets.load_spiral(60, random_state=0)
    y = np.full(300, -1)
    y[::10] = data.target[::10]
    return data.data, y


def quick(**options: object) -> lg.GCNClassifier:
    return lg.GCNClassifier(max_iter=30, random_state=0, **options)


def test_equals_manual_cross_validation(spiral: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = spiral
    classifier = quick(architecture="reduced")
    validation = estimate_accuracy(classifier, X, y, n_folds=3, n_repeats=1)
    labelled = np.flatnonzero(y >= 0)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    folds = stratified_folds(y[labelled], np.random.default_rng(seed), n_folds=3, n_repeats=1)
    right = 0
    for fold in folds:
        hidden = y.copy()
        hidden[labelled[fold]] = -1
        found = quick(architecture="reduced").fit(X, hidden).transduction_
        right += int((found == y)[labelled[fold]].sum())
    assert validation.n_folds == 3
    assert validation.n_rows == validation.n_labelled == len(labelled)
    assert validation.accuracy == pytest.approx(right / len(labelled))
    assert not hasattr(classifier, "classes_")


def test_accuracy_interval_and_recalls(spiral: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = spiral
    validation = estimate_accuracy(quick(), X, y)
    assert validation.n_folds == 10
    assert 0 <= validation.low < validation.accuracy <= validation.high <= 1
    assert validation.accuracy > 0.6
    assert validation.largest_class == pytest.approx(0.2)
    assert set(validation.recalls) == set(range(5))
    rows = sum(count for _, count in validation.recalls.values())
    assert rows == validation.n_rows
    mean = sum(share * count for share, count in validation.recalls.values()) / rows
    assert mean == pytest.approx(validation.accuracy)


def test_small_classes() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = np.full(40, None, dtype=object)
    y[:7] = ["a", "a", "a", "a", "b", "b", "c"]
    validation = estimate_accuracy(quick(architecture="reduced", filter="constant"), X, y)
    assert validation.n_rows == 6  # the only label of c stays
    assert validation.n_labelled == 7
    assert set(validation.recalls) == {"a", "b"}


def test_no_class_with_two_labels() -> None:
    X = np.random.default_rng(0).random((10, 2))
    y = np.r_[0, 1, np.full(8, -1)]
    with pytest.raises(ValueError, match="a class with two labels"):
        estimate_accuracy(quick(), X, y)


def test_malformed_calls(spiral: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="n_folds"):
        estimate_accuracy(quick(), *spiral, n_folds=1)
    with pytest.raises(ValueError, match="n_repeats"):
        estimate_accuracy(quick(), *spiral, n_repeats=0)
    with pytest.raises(ValueError, match="classifier: expected a GCNClassifier"):
        estimate_accuracy("auto", *spiral)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="y: expected 300 labels"):
        estimate_accuracy(quick(), spiral[0], spiral[1][:100])


def test_wilson_interval() -> None:
    for right, count in ((0, 10), (7, 10), (10, 10), (450, 500), (1, 2)):
        expected = stats.binomtest(right, count).proportion_ci(0.95, method="wilson")
        found = wilson_interval(right / count, count)
        assert found == pytest.approx((expected.low, expected.high))


def test_progress_of_a_fit(spiral: tuple[np.ndarray, np.ndarray]) -> None:
    reported: list[tuple[str, int, int]] = []
    with listening(lambda *step: reported.append(step)):
        quick().fit(*spiral)
    names = list(dict.fromkeys(step for step, _, _ in reported))
    assert names == [
        "building the graph",
        "computing eigenpairs",
        "comparing networks",
        "training",
        "predicting",
    ]
    assert all(0 <= done <= total or not total for _, done, total in reported)
    assert [done == total for step, done, total in reported if step == "training"][-1]


def test_progress_of_cross_validation(spiral: tuple[np.ndarray, np.ndarray]) -> None:
    reported: list[tuple[str, int, int]] = []
    with listening(lambda *step: reported.append(step)):
        estimate_accuracy(quick(architecture="reduced", filter="constant"), *spiral, n_repeats=1)
    assert reported == [("cross-validation", done, 5) for done in range(6)]

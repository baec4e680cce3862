"""Methods on shared splits, small."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from lowrankgcn.experiments.comparison import (
    METHODS,
    Task,
    as_document,
    as_frame,
    as_markdown,
    choose,
    compare,
    load_task,
    make_task,
    summarise,
)
from lowrankgcn.experiments.comparison.running import Warned
from lowrankgcn.experiments.comparison.splits import draw_labels
from lowrankgcn.experiments.comparison.statistics import interval

SIMPLE = ("logistic", "svc", "spreading-knn")


def blobs(n: int = 60, *, categorical: bool = False) -> Task:
    """Three classes a few standard deviations apart."""
    generator = np.random.default_rng(5)
    classes = np.arange(n) % 3
    points = generator.normal(size=(n, 4)) + 3 * np.eye(4)[classes]
    frame = pd.DataFrame(points, columns=list("wxyz"))
    if categorical:
        frame = (frame > 1.5).astype(str)
    return make_task("blobs", frame, classes)


def broken(task: Task, labels: np.ndarray, seed: int) -> np.ndarray:
    """A method that warns, and fails with more than ten labels."""
    warnings.warn("careful", UserWarning, stacklevel=2)
    if labels[labels >= 0].size > 10:
        raise RuntimeError("no\n  such   luck")
    return np.zeros(task.n_rows, dtype=int)


BROKEN = replace(METHODS[0], key="broken", title="Broken", classify=broken)


class TestMethods:
    @pytest.mark.parametrize("categorical", [False, True], ids=["numbers", "categories"])
    @pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
    def test_every_method_learns(self, method, categorical: bool) -> None:
        if method.missing():
            pytest.skip(method.missing())
        result = compare(blobs(categorical=categorical), [method], counts=(5,), splits=1)
        assert result.failures == ()
        assert result.accuracies[0, 0, 0] > 0.6  # by chance: 0.33
        assert result.seconds.min() > 0

    @pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
    def test_same_seed_same_classes(self, method) -> None:
        if method.missing():
            pytest.skip(method.missing())
        task = blobs(30)
        labels = draw_labels(task.classes, 4, split=0, seed=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, second = (method.classify(task, labels, 7) for _ in range(2))
        assert (first == second).all()

    def test_logistic_regression_is_scikit_learns(self) -> None:
        task = load_task("iris")
        result = compare(task, choose(["logistic"]), counts=(10,), splits=2, in_order=True)
        for split in range(2):
            labels = draw_labels(task.classes, 10, split=split, seed=0)
            known = labels >= 0
            model = LogisticRegression(max_iter=5000).fit(task.numbers[known], labels[known])
            expected = model.score(task.numbers[~known], task.classes[~known])
            assert result.accuracies[0, split, 0] == pytest.approx(expected)

    def test_names(self) -> None:
        assert choose() == METHODS
        keys = [method.key for method in METHODS]
        assert len(set(keys)) == len(keys)
        with pytest.raises(ValueError, match="method: expected one of"):
            choose(["gcn", "svm"])

    def test_a_package_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        absent = replace(METHODS[0], key="absent", package="no_such_package", install="no-such")
        monkeypatch.setattr("lowrankgcn.experiments.comparison.methods.METHODS", (*METHODS, absent))
        with pytest.raises(ValueError, match="'absent': no-such is not installed"):
            choose(["absent"])
        result = compare(blobs(), [*choose(["svc"]), absent], counts=(5,), splits=1)
        assert result.skipped == {"absent": "no-such is not installed"}


class TestSplits:
    def test_do_not_depend_on_the_methods(self) -> None:
        task = blobs()
        whole = compare(task, choose(SIMPLE), counts=(3, 6), splits=2, seed=4)
        part = compare(task, choose(["svc"]), counts=(6,), splits=2, seed=4)
        assert (part.accuracies[0, :, 0] == whole.accuracies[1, :, 1]).all()

    def test_same_seed_same_bits(self) -> None:
        task = blobs()
        first, second, other = (
            compare(task, choose(SIMPLE), counts=(3,), splits=2, seed=seed).accuracies
            for seed in (1, 1, 2)
        )
        assert (first == second).all()
        assert (first != other).any()

    def test_order_decides_among_equal_neighbours(self) -> None:
        # Cars are sorted, and each has fifteen nearest neighbours of which nine are taken.
        task, methods = load_task("cars"), choose(["spreading-knn"])
        in_order = compare(task, methods, counts=(10,), splits=3, in_order=True)
        mixed = compare(task, methods, counts=(10,), splits=3)
        assert in_order.accuracies.mean() > mixed.accuracies.mean() + 0.08

    def test_rows_of_unknown_class_are_not_tested(self) -> None:
        task = blobs()
        unknown = np.arange(60) >= 40
        hidden = replace(task, classes=np.where(unknown, -1, task.classes))
        seen: list[np.ndarray] = []

        def right_where_known(task: Task, labels: np.ndarray, seed: int) -> np.ndarray:
            seen.append(labels)
            return np.where(task.classes < 0, 2, task.classes)

        method = replace(METHODS[0], classify=right_where_known)
        result = compare(hidden, [method], counts=(3,), splits=1)
        assert result.accuracies[0, 0, 0] == 1
        assert len(seen[0]) == 60
        assert (seen[0] >= 0).sum() == 9

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"counts": ()}, "at least one"),
            ({"counts": (0,)}, ">= 1"),
            ({"counts": (11,)}, "at most 10"),
            ({"splits": 0}, "splits"),
        ],
    )
    def test_bad_numbers(self, options: dict, said: str) -> None:
        with pytest.raises(ValueError, match=said):
            compare(blobs(), choose(["svc"]), **{"counts": (3,), **options})


@pytest.fixture(scope="module")
def result():
    """Two fits of four failed."""
    return compare(blobs(), [*choose(["logistic"]), BROKEN], counts=(3, 5), splits=2)


class TestFailures:
    def test_are_told(self, result) -> None:
        assert {failure.reason for failure in result.failures} == {"RuntimeError: no such luck"}
        assert [(f.count, f.split) for f in result.failures] == [(5, 0), (5, 1)]
        assert np.isnan(result.accuracies[1, :, 1]).all()
        assert result.warnings == {"broken": {"UserWarning": Warned(4, "careful")}}

    def test_in_the_texts(self, result) -> None:
        page = as_markdown(result)
        assert "| Broken (failed on 2 of 2) | – | – | 2.00 | – |" in page
        assert "- Broken failed in 2 of 4 fits: RuntimeError: no such luck" in page
        assert "- Broken warned in 4 of 4 fits: UserWarning: careful" in page
        document = as_document(result)
        assert document["results"][1]["methods"][1]["accuracy"] is None
        assert document["warnings"] == {"broken": {"UserWarning": {"fits": 4, "text": "careful"}}}
        assert document["failures"][0]["reason"] == "RuntimeError: no such luck"
        frame = as_frame(result)
        assert frame["failure"].notna().sum() == 2
        assert len(frame) == 8

    def test_a_wrong_shape_is_a_failure(self) -> None:
        short = replace(BROKEN, classify=lambda task, labels, seed: np.zeros(3))
        result = compare(blobs(), [short], counts=(3,), splits=1)
        assert "one for each of 60 rows" in result.failures[0].reason

    def test_a_package_that_ends_the_process_is_a_failure(self) -> None:
        def leaving(task: Task, labels: np.ndarray, seed: int) -> np.ndarray:
            raise SystemExit("cannot go on")

        result = compare(blobs(), [replace(BROKEN, classify=leaving)], counts=(3,), splits=1)
        assert result.failures[0].reason == "SystemExit: cannot go on"

    def test_ctrl_c_is_no_failure(self) -> None:
        def interrupted(task: Task, labels: np.ndarray, seed: int) -> np.ndarray:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            compare(blobs(), [replace(BROKEN, classify=interrupted)], counts=(3,), splits=1)

    def test_tables_too_large(self) -> None:
        small = replace(choose(["svc"])[0], most_rows=10, reason="it would take long")
        result = compare(blobs(), [small, *choose(["logistic"])], counts=(3,), splits=1)
        assert result.skipped == {"svc": "more than 10 rows: it would take long"}
        assert "- SVC skipped: more than 10 rows: it would take long" in as_markdown(result)
        with pytest.raises(ValueError, match="one that can take this table"):
            compare(blobs(), [small], counts=(3,), splits=1)


class TestSummary:
    def test_differences_are_paired(self) -> None:
        methods = [replace(METHODS[0], classify=choose(["svc"])[0].classify), *choose(["logistic"])]
        result = compare(blobs(), methods, counts=(3,), splits=4)
        first, second = result.accuracies[0].T
        ours, other = summarise(result)[3]
        assert (ours.accuracy, ours.half_width) == interval(first)
        assert np.isnan(ours.difference)
        assert (other.difference, other.difference_half_width) == interval(second - first)
        assert ours.rank + other.rank == 3

    def test_small_classes_are_told(self) -> None:
        task = blobs()
        left_out = (np.arange(60) >= 50) & (task.classes == 1)
        few = replace(task, classes=np.where(left_out, -1, task.classes))
        result = compare(few, choose(["svc"]), counts=(10,), splits=1)
        assert result.short_classes(10) == {"1": 8}
        assert "(half of the rows of small classes: 1 8)" in as_markdown(result)

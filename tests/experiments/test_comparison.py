"""Methods on shared splits of small tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss

from lowrankgcn import AdjacencyGraph
from lowrankgcn.experiments import methods as registry
from lowrankgcn.experiments.comparison import (
    Comparison,
    ComparisonTask,
    compare,
    draw_labels,
    load_task,
)
from lowrankgcn.experiments.methods import METHODS, Method, choose
from lowrankgcn.experiments.statistics import interval
from lowrankgcn.experiments.summary import (
    as_document,
    as_markdown,
    summarise,
    verdict,
)


def blobs(n: int = 60, *, categorical: bool = False) -> ComparisonTask:
    """Three classes a few standard deviations apart."""
    generator = np.random.default_rng(5)
    classes = np.arange(n) % 3
    points = generator.normal(size=(n, 4)) + 3 * np.eye(4)[classes]
    frame = pd.DataFrame(points, columns=list("wxyz"))
    if categorical:
        frame = (frame > 1.5).astype(str)
    return ComparisonTask("blobs", frame, classes)


def method_from(classify: Callable[..., Any], **changes: Any) -> Method:
    return Method("new", "New", "a test", classify, **changes)


def with_classes(task: ComparisonTask, classes: np.ndarray) -> ComparisonTask:
    other = copy(task)
    other.classes = classes
    return other


def broken(task: ComparisonTask, labels: np.ndarray, seed: int) -> np.ndarray:
    """Warn, and fail with more than ten labels."""
    warnings.warn("careful", UserWarning, stacklevel=2)
    warnings.warn("internal", DeprecationWarning, stacklevel=2)
    if labels[labels >= 0].size > 10:
        raise RuntimeError("no\n  such   luck")
    return np.zeros(task.n_rows, dtype=int)


class TestMethods:
    @pytest.mark.parametrize("method", METHODS, ids=lambda method: method.key)
    def test_every_method_learns_and_repeats(self, method: Method) -> None:
        if method.obstacle():
            pytest.skip(str(method.obstacle()))
        tasks = [blobs(), blobs(), blobs(categorical=True)]
        for task in tasks if method.on_graph else ():
            task.graph = AdjacencyGraph.knn(task.numbers)
        first, again, table = (compare(task, [method], counts=(5,), splits=1) for task in tasks)
        for result in (first, table):
            assert result.failures == []
            assert result.fits["accuracy"][0] > 0.6  # chance: 0.33
            assert result.fits["balanced_accuracy"][0] > 0.6
            assert result.fits["seconds"][0] > 0
        if method.key != "poisson":  # the only one without probabilities
            assert 0 <= first.fits["log_loss"][0] < math.log(3)  # that of guessing
        assert first.fits["accuracy"][0] == again.fits["accuracy"][0]

    def test_logistic_regression_and_its_scores_are_scikit_learns(self) -> None:
        task = load_task("iris")
        result = compare(task, choose(["logistic"]), counts=(10,), splits=2, in_order=True)
        for split in range(2):
            labels = draw_labels(task.classes, 10, split=split, seed=0)
            known = labels >= 0
            model = LogisticRegression(max_iter=5000).fit(task.numbers[known], labels[known])
            X, y = task.numbers[~known], task.classes[~known]
            fit = result.fits.loc[split]
            assert fit["accuracy"] == pytest.approx(model.score(X, y))
            balanced = balanced_accuracy_score(y, model.predict(X))
            assert fit["balanced_accuracy"] == pytest.approx(balanced)
            assert fit["log_loss"] == pytest.approx(log_loss(y, model.predict_proba(X)))

    def test_catboost_writes_no_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("catboost")
        monkeypatch.chdir(tmp_path)
        result = compare(blobs(), choose(["catboost"]), counts=(5,), splits=1)
        assert result.failures == []
        assert list(tmp_path.iterdir()) == []

    def test_tables_with_missing_cells(self) -> None:
        task = blobs()
        frame = pd.DataFrame(task.rows.as_matrix(), columns=task.rows.names)
        frame = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.1)
        keys = ("gp", "gcn", "logistic", "boosting", "catboost", "spreading-knn")
        methods = [method for method in METHODS if method.key in keys]
        for rows in (frame, frame.assign(colour=["red", None, "blue"] * 20)):
            incomplete = ComparisonTask("t", rows, task.classes)
            result = compare(incomplete, methods, counts=(5,), splits=1)
            assert result.failures == []
            assert result.fits["accuracy"].min() > 0.4  # chance: 0.33

    def test_names(self) -> None:
        assert choose() == METHODS
        keys = [method.key for method in METHODS]
        assert len(set(keys)) == len(keys)
        with pytest.raises(ValueError, match="method: expected one of"):
            choose(["gcn", "svm"])

    def test_missing_packages_and_large_tables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        absent = METHODS[0]._replace(key="absent", packages=("no_such",))
        small = choose(["svc"])[0]._replace(limit=10)
        monkeypatch.setattr(registry, "METHODS", (*METHODS, absent))
        with pytest.raises(ValueError, match="'absent': no-such is not installed"):
            choose(["absent"])
        result = compare(blobs(), [absent, small, *choose(["logistic"])], counts=(5,), splits=1)
        assert result.skipped == {
            "absent": "no-such is not installed; pip install 'lowrankgcn[peers]'",
            "svc": "more than 10 rows take too much time or memory",
        }
        assert "- SVC skipped: more than 10 rows take too much time or memory" in as_markdown(
            result
        )
        with pytest.raises(ValueError, match="one that can run on this table"):
            compare(blobs(), [small], counts=(3,), splits=1)


CLASSES = np.repeat([0, 1, 2, -1], [40, 9, 2, 5]).astype(np.intp)


class TestSplits:
    def test_at_most_half_of_a_class_is_labelled(self) -> None:
        drawn = {}
        for count, expected in ((1, [1, 1, 1]), (4, [4, 4, 1]), (20, [20, 4, 1])):
            labels = draw_labels(CLASSES, count, split=3, seed=1)
            known = drawn[count] = labels >= 0
            assert np.bincount(labels[known]).tolist() == expected
            assert (labels[known] == CLASSES[known]).all()
        assert (drawn[20] | ~drawn[4]).all()  # nested

    def test_labels_depend_on_split_and_seed(self) -> None:
        drawn = [
            tuple(draw_labels(CLASSES, 5, split=split, seed=seed))
            for split in range(3)
            for seed in range(3)
        ]
        assert len(set(drawn)) == 9
        assert drawn[4] == tuple(draw_labels(CLASSES, 5, split=1, seed=1))

    def test_every_row_is_drawn_equally_often(self) -> None:
        times = sum(
            (draw_labels(CLASSES, 10, split=split, seed=0) == 0)[:40].astype(int)
            for split in range(400)
        )
        # Binomial with 400 draws of probability 1/4: standard deviation 8.7.
        assert np.abs(times - 100).max() < 40

    def test_splits_do_not_depend_on_the_methods(self) -> None:
        task = blobs()
        methods = choose(["logistic", "svc", "spreading-knn"])
        whole, again = (compare(task, methods, counts=(3, 6), splits=2, seed=4) for _ in "ab")
        part = compare(task, choose(["svc"]), counts=(6,), splits=2, seed=4)
        other = compare(task, methods, counts=(3, 6), splits=2, seed=5)
        fits = whole.fits
        same = (fits["method"] == "svc") & (fits["labels_per_class"] == 6)
        assert part.fits["accuracy"].tolist() == fits["accuracy"][same].tolist()
        assert (again.fits["accuracy"] == fits["accuracy"]).all()
        assert (other.fits["accuracy"] != fits["accuracy"]).any()

    def test_row_order_affects_equal_neighbours(self) -> None:
        # Cars are sorted, and each has fifteen nearest neighbours of which nine are taken.
        task, methods = load_task("cars"), choose(["spreading-knn"])
        in_order = compare(task, methods, counts=(10,), splits=3, in_order=True)
        mixed = compare(task, methods, counts=(10,), splits=3)
        assert in_order.fits["accuracy"].mean() > mixed.fits["accuracy"].mean() + 0.08

    def test_rows_of_unknown_class_are_not_tested(self) -> None:
        task = blobs()
        unknown = np.arange(60) >= 40
        hidden = with_classes(task, np.where(unknown, -1, task.classes))
        seen: list[np.ndarray] = []

        def right_where_known(task: ComparisonTask, labels: np.ndarray, seed: int) -> np.ndarray:
            seen.append(labels)
            return np.where(task.classes < 0, 2, task.classes)

        result = compare(hidden, [method_from(right_where_known)], counts=(3,), splits=1)
        assert result.fits["accuracy"][0] == 1
        assert len(seen[0]) == 60
        assert (seen[0] >= 0).sum() == 9

    def test_malformed_arguments(self) -> None:
        for options, message in (
            ({"counts": ()}, "numbers of at most 10, .* got none"),
            ({"counts": (0,)}, ">= 1"),
            (
                {"counts": (3, 11)},
                "class: expected numbers of at most 10, half of .*, got 11",
            ),
            ({"splits": 0}, "splits"),
        ):
            with pytest.raises(ValueError, match=message):
                compare(blobs(), choose(["svc"]), **{"counts": (3,), **options})


class TestFailures:
    def test_failures_and_warnings_are_recorded_and_printed(self) -> None:
        methods = [*choose(["logistic"]), method_from(broken)]
        result = compare(blobs(), methods, counts=(3, 5), splits=2)  # two of four fits fail
        failure = {"count": 5, "method": "new", "reason": "RuntimeError: no such luck"}
        assert result.failures == [failure | {"split": split} for split in (0, 1)]
        failed = result.fits["failure"].notna()
        assert (result.fits["accuracy"].isna() == failed).all()
        assert result.warnings == {"new": {"UserWarning": {"fits": 4, "text": "careful"}}}
        document = as_document(result)
        assert document["results"][1]["methods"][1]["accuracy"] is None
        assert document["failures"] == result.failures
        page = as_markdown(result)
        assert "| New (failed on 2 of 2) | – | – | – | – | – |" in page
        assert "- New failed in 2 of 4 fits: RuntimeError: no such luck" in page
        assert "- New warned in 4 of 4 fits: UserWarning: careful" in page

    def test_exits_and_wrong_shapes_are_failures(self) -> None:
        def leave(*_: Any) -> None:
            raise SystemExit("cannot go on")

        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt

        for classify, reason in (
            (lambda *_: np.zeros(3), "shape (60, 3), or 60 classes, got shape (3,)"),
            (lambda *_: np.full((60, 3), np.nan), "expected finite numbers"),
            (leave, "SystemExit: cannot go on"),
        ):
            result = compare(blobs(), [method_from(classify)], counts=(3,), splits=1)
            assert reason in result.failures[0]["reason"]
        with pytest.raises(KeyboardInterrupt):
            compare(blobs(), [method_from(interrupt)], counts=(3,), splits=1)


def with_accuracies(table: dict[str, list[float]], *, counts: tuple[int, ...] = (3,)) -> Comparison:
    """A comparison with these accuracies of the methods, NaN for failures, by count and split."""
    splits = len(next(iter(table.values()))) // len(counts)
    result = compare(blobs(), choose(list(table)), counts=counts, splits=splits)
    accuracy = np.array([table[method.key] for method in result.methods]).T.ravel()
    failure = pd.Series(np.where(np.isnan(accuracy), "no", None), dtype=object)
    return result._replace(fits=result.fits.assign(accuracy=accuracy, failure=failure))


class TestSummary:
    def test_differences_are_paired(self) -> None:
        svc, logistic = choose(["svc", "logistic"])[::-1]
        reference = METHODS[0]._replace(classify=svc.classify, packages=())
        result = compare(blobs(), [reference, logistic], counts=(3,), splits=4)
        first, second = result.fits["accuracy"].to_numpy().reshape(4, 2).T
        ours, other = summarise(result)[3]
        assert (ours["accuracy"], ours["accuracy_half_width"]) == pytest.approx(interval(first))
        assert math.isnan(ours["difference"])
        found = other["difference"], other["difference_half_width"]
        assert found == pytest.approx(interval(second - first))
        losses = result.fits["log_loss"].to_numpy()[1::2]
        assert (other["log_loss"], other["log_loss_half_width"]) == pytest.approx(interval(losses))

    def test_classes_without_probabilities_have_no_log_loss(self) -> None:
        sure = method_from(lambda task, *_: np.eye(3)[(task.classes + 1) % 3])  # always wrong
        result = compare(blobs(), [sure], counts=(3,), splits=1)
        assert result.fits["log_loss"][0] == pytest.approx(6 * math.log(10))
        assert result.fits["balanced_accuracy"][0] == 0
        unsure = method_from(lambda task, *_: np.where(task.classes == 0, 0, 1))
        task = blobs()
        task = with_classes(task, np.where(np.arange(60) < 30, task.classes, 0))
        result = compare(task, [unsure], counts=(3,), splits=1)
        assert result.fits["balanced_accuracy"][0] == pytest.approx(2 / 3)
        assert result.fits["accuracy"][0] > 0.8
        assert summarise(result)[3][0]["failed"] == 0
        assert "| 66.7 | – |" in as_markdown(result)

    def test_small_classes_are_named(self) -> None:
        task = blobs()
        left_out = (np.arange(60) >= 50) & (task.classes == 1)
        few = with_classes(task, np.where(left_out, -1, task.classes))
        result = compare(few, choose(["svc"]), counts=(10,), splits=1)
        assert result.short_classes(10) == {"1": 8}
        assert "(half of the rows of small classes: 1 8)" in as_markdown(result)


class TestVerdict:
    def test_clear_lead(self) -> None:
        knn, svc = [0.75, 0.81, 0.78], [0.7, 0.75, 0.74]
        result = with_accuracies({"spreading-knn": knn, "svc": svc, "logistic": [0.5, 0.6, 0.7]})
        lead, reach = interval(100 * (np.array(knn) - svc))
        text = (
            "LabelSpreading, kNN is best on this table with 3 labels per class: 78.0 %, 5.0 points "
            f"ahead of SVC (paired 95 % interval {lead - reach:+.1f} to {lead + reach:+.1f})."
        )
        # Logistic regression has a lower mean, but the lead over it varies too much to be clear.
        assert verdict(result).startswith("No method is clearly ahead with 3 labels per class: ")
        assert "LabelSpreading, kNN has the highest accuracy, 78.0 %," in verdict(result)
        assert "ahead of LogisticRegression (paired" in verdict(result)
        assert verdict(result).endswith("; --splits 20 may decide).")
        result = with_accuracies({"spreading-knn": knn, "svc": svc})
        assert verdict(result) == text
        assert as_document(result)["verdict"] == text
        assert as_markdown(result).endswith(f"\n\n{text}\n")

    def test_splits_are_the_unit_and_failures_do_not_take_part(self) -> None:
        table = {"svc": [0.5, 0.5, 0.75, 1.0], "spreading-knn": [0.25, 0.5, 1.0, 1.0]}
        result = with_accuracies(table | {"logistic": [1, 1, 1, math.nan]}, counts=(3, 5))
        assert verdict(result).startswith(
            "No method is clearly ahead with 3 and 5 labels per class"
        )
        assert "only 0.0 points ahead" in verdict(result)
        assert "+0.0 to +0.0" in verdict(result)  # equal means over counts in both splits

    def test_too_little_to_compare(self) -> None:
        result = with_accuracies({"svc": [0.6], "spreading-knn": [0.5]})
        assert "only 10.0 points ahead of LabelSpreading, kNN (one split " in verdict(result)
        for other in ({}, {"spreading-knn": [math.nan]}):
            assert "no verdict" in verdict(with_accuracies({"svc": [0.5], **other}))
        assert "no verdict" in verdict(with_accuracies({"svc": [math.nan]}))


class TestStatistics:
    @settings(max_examples=20)
    @given(st.lists(st.integers(0, 1000).map(lambda k: k / 1000), min_size=2, max_size=30))
    def test_interval_is_that_of_the_t_test(self, values: list[float]) -> None:
        mean, half = interval(values)
        assert mean == pytest.approx(np.mean(values))
        if np.std(values) < 1e-12:
            assert half == pytest.approx(0, abs=1e-9)
            return
        expected = ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert (mean - half, mean + half) == pytest.approx((expected.low, expected.high))

    def test_interval_of_few_values(self) -> None:
        assert interval([0.5, math.nan]) == (0.5, pytest.approx(math.nan, nan_ok=True))
        assert all(map(math.isnan, interval([math.nan])))
        assert interval([0.1, math.nan, 0.3]) == interval([0.1, 0.3])

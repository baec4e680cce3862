"""Tables prepared for the comparison of methods."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lowrankgcn.experiments.comparison import ComparisonTask, load_task
from lowrankgcn.experiments.methods import hyperedges


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "length": [1.0, 2.0, 4.0, 8.0],
            "colour": ["red", "blue", "blue", "green"],
            "old": [True, False, False, False],
        }
    )


class TestTask:
    def test_numbers_are_scikit_learns(self) -> None:
        frame = table()
        task = ComparisonTask("t", frame, ["a", "b", "a", "b"])
        expected = np.hstack(
            [
                StandardScaler().fit_transform(frame[["length"]]),
                OneHotEncoder(sparse_output=False).fit_transform(frame[["colour", "old"]]),
            ]
        )
        assert task.numbers == pytest.approx(expected)
        assert task.categorical

    def test_missing_values_and_dates(self) -> None:
        colours = pd.DataFrame({"colour": ["red", None, "blue", None]})
        assert ComparisonTask("t", colours, [0, 1, 0, 1]).numbers.sum(axis=0).tolist() == [2, 1, 1]
        frame = pd.DataFrame({"x": [1.0, None, 3.0, 2.0], "constant": 5.0})
        task = ComparisonTask("t", frame, [0, 1, 0, 1])
        assert task.rows["x"].missing.sum() == 1
        assert (task.numbers[:, 1] == 0).all()
        assert task.notes == ("missing numbers, replaced by means where a method needs them: 1",)
        mixed = ComparisonTask("t", frame.assign(colour=list("abab")), [0, 1, 0, 1])
        assert mixed.notes == task.notes
        assert np.isfinite(mixed.numbers).all()
        days = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-03", None, None])})
        assert ComparisonTask("t", days, [0, 1, 0, 1]).numbers.ravel().tolist() == [-1, 1, 0, 0]

    def test_vectors_keep_their_distances(self) -> None:
        """One unit for all entries; a missing vector is the mean; hyperedges of neighbours."""
        vectors = [[0.0, 0.0], [6.0, 0.0], None, [0.0, 8.0]]
        frame = pd.DataFrame({"picture": vectors, "colour": list("abab")})
        task = ComparisonTask("t", frame, [0, 1, 0, 1])
        points = task.numbers[:, :2]
        lengths = [np.linalg.norm(points[i] - points[j]) for i, j in ((0, 1), (0, 3), (1, 3))]
        assert np.divide(lengths, lengths[0]) == pytest.approx([1, 8 / 6, 10 / 6])
        assert points[2].tolist() == [0, 0]
        assert task.numbers[:, 2:].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
        assert task.notes == ("missing texts or vectors, replaced by means likewise: 1",)
        assert not task.categorical
        assert len(np.unique(hyperedges(task)[1])) == 4  # one for each row

    def test_classes(self) -> None:
        target = ["b", "a", None, "", "a", "b", "once", np.nan]
        task = ComparisonTask("t", pd.DataFrame({"x": range(8)}), target)
        assert task.classes.tolist() == [1, 0, -1, -1, 0, 1, -1, -1]
        assert task.class_names == ("a", "b")
        assert task.class_sizes == {"a": 2, "b": 2}
        assert task.notes == (
            "classes of a single row are treated as unknown: once",
            "rows of unknown class, used unlabelled and not tested: 4",
        )
        numbers = ComparisonTask("t", pd.DataFrame({"x": range(4)}), [10, 9, 10, 9])
        assert numbers.class_names == ("10", "9")  # sorted as texts
        mixed = ComparisonTask("t", pd.DataFrame({"x": range(4)}), ["b", 9, "b", 9])
        assert mixed.class_names == ("9", "b")

    def test_malformed_tables(self) -> None:
        huge = pd.DataFrame({"x": [1.0, -1e308, 1e308, np.nan]})
        two = ["a", "b", "a", "b"]
        for frame, target, message in (
            (table(), ["a"] * 4, "target: expected at least two classes"),
            (table(), ["a", "a", "a", "b"], "target: expected at least two classes"),
            (table(), [None] * 4, "target: expected at least two classes"),
            (table()[[]], two, "at least one feature column"),
            (huge, two, r"column 'x': expected numbers up to 1e\+150"),
        ):
            with pytest.raises(ValueError, match=message):
                ComparisonTask("t", frame, target)

    def test_reordering_moves_rows_numbers_and_classes_together(self) -> None:
        task = ComparisonTask("t", table(), ["a", "b", "a", "b"])
        order = np.array([3, 1, 0, 2])
        other = task.reordered(order)
        rows = table().iloc[order].reset_index(drop=True)
        again = ComparisonTask("t", rows, ["b", "b", "a", "a"])
        for name, cells in again.rows.items():
            assert other.rows[name].texts() == cells.texts()
        assert (other.classes == again.classes).all()
        assert other.numbers == pytest.approx(again.numbers)

    def test_hyperedges(self) -> None:
        task = ComparisonTask("t", table()[["colour", "old"]], ["a", "b", "a", "b"])
        rows, edges = hyperedges(task)
        sets = {frozenset(rows[edges == e].tolist()) for e in range(5)}
        assert sets == {frozenset(s) for s in ({1, 2}, {3}, {0}, {1, 2, 3})}
        points = np.random.default_rng(0).normal(size=(30, 3))
        task = ComparisonTask("t", pd.DataFrame(points), [0, 1] * 15)
        rows, edges = hyperedges(task)
        distances = np.linalg.norm(task.numbers[:, None] - task.numbers, axis=2)
        for edge in range(30):
            assert sorted(rows[edges == edge]) == sorted(np.argsort(distances[edge])[:11])

    def test_named_datasets(self) -> None:
        cars = load_task("cars")
        assert cars.class_sizes == {"acc": 384, "good": 69, "unacc": 1210, "vgood": 65}
        assert load_task("spiral").rows.shape == (5000, 3)
        assert not load_task("wine").categorical

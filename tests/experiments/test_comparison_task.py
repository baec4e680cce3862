"""Tables in the form that all methods take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from lowrankgcn.experiments.comparison import file_task, load_task, make_task
from lowrankgcn.experiments.comparison.methods.hypernets import hyperedges
from lowrankgcn.files import read_file


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "length": [1.0, 2.0, 4.0, 8.0],
            "colour": ["red", "blue", "blue", "green"],
            "old": [True, False, False, False],
        }
    )


class TestNumbers:
    def test_are_scikit_learns(self) -> None:
        frame = table()
        task = make_task("t", frame, ["a", "b", "a", "b"])
        expected = np.hstack(
            [
                StandardScaler().fit_transform(frame[["length"]]),
                OneHotEncoder(sparse_output=False).fit_transform(frame[["colour", "old"]]),
            ]
        )
        assert task.numbers == pytest.approx(expected)
        assert task.categorical

    def test_missing_category_is_a_category(self) -> None:
        frame = pd.DataFrame({"colour": ["red", None, "blue", None]})
        assert make_task("t", frame, [0, 1, 0, 1]).numbers.sum(axis=0).tolist() == [2, 1, 1]

    def test_missing_numbers(self) -> None:
        frame = pd.DataFrame({"x": [1.0, None, 3.0, 2.0], "constant": 5.0})
        task = make_task("t", frame, [0, 1, 0, 1])
        assert task.rows["x"].tolist() == [1, 2, 3, 2]
        assert (task.numbers[:, 1] == 0).all()
        assert task.notes == ("1 missing numbers replaced by the means of their columns",)
        mixed = make_task("t", frame.assign(colour=list("abab")), [0, 1, 0, 1])
        assert mixed.rows["x"].isna().sum() == 1
        assert np.isfinite(mixed.numbers).all()

    def test_dates_are_numbers(self) -> None:
        frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-03", None, None])})
        assert make_task("t", frame, [0, 1, 0, 1]).numbers.ravel().tolist() == [-1, 1, 0, 0]


class TestClasses:
    def test_unknown_and_single_ones(self) -> None:
        target = ["b", "a", None, "", "a", "b", "once", np.nan]
        task = make_task("t", pd.DataFrame({"x": range(8)}), target)
        assert task.classes.tolist() == [1, 0, -1, -1, 0, 1, -1, -1]
        assert task.class_names == ("a", "b")
        assert task.notes == (
            "classes of a single row count as unknown: once",
            "4 rows of unknown class take part without being labelled or tested",
        )

    @pytest.mark.parametrize("target", [["a"] * 4, ["a", "a", "a", "b"], [None] * 4])
    def test_two_classes_are_needed(self, target: list[str]) -> None:
        with pytest.raises(ValueError, match="target: expected at least two classes"):
            make_task("t", table(), target)

    def test_numbers_too_large_for_means(self) -> None:
        frame = pd.DataFrame({"x": [1.0, -1e308, 1e308, np.nan]})
        with pytest.raises(ValueError, match=r"column 'x': expected numbers up to 1e\+150"):
            make_task("t", frame, ["a", "b", "a", "b"])

    def test_numbers_in_their_order(self) -> None:
        task = make_task("t", pd.DataFrame({"x": range(4)}), [10, 9, 10, 9])
        assert task.class_names == ("9", "10")


class TestReordered:
    def test_rows_numbers_and_classes_go_together(self) -> None:
        task = make_task("t", table(), ["a", "b", "a", "b"])
        order = np.array([3, 1, 0, 2])
        other = task.reordered(order)
        again = make_task("t", table().iloc[order].reset_index(drop=True), ["b", "b", "a", "a"])
        pd.testing.assert_frame_equal(other.rows, again.rows)
        assert (other.classes == again.classes).all()
        assert other.numbers == pytest.approx(again.numbers)


class TestHyperedges:
    def test_of_values(self) -> None:
        task = make_task("t", table()[["colour", "old"]], ["a", "b", "a", "b"])
        rows, edges = hyperedges(task)
        sets = {frozenset(rows[edges == e].tolist()) for e in range(5)}
        assert sets == {frozenset(s) for s in ({1, 2}, {3}, {0}, {1, 2, 3})}

    def test_of_neighbours(self) -> None:
        points = np.random.default_rng(0).normal(size=(30, 3))
        task = make_task("t", pd.DataFrame(points), [0, 1] * 15)
        rows, edges = hyperedges(task)
        distances = np.linalg.norm(task.numbers[:, None] - task.numbers, axis=2)
        for edge in range(30):
            members = rows[edges == edge]
            assert sorted(members) == sorted(np.argsort(distances[edge])[:11])


class TestSources:
    def test_named(self) -> None:
        cars = load_task("cars")
        assert cars.class_names == ("acc", "good", "unacc", "vgood")
        assert np.bincount(cars.classes).tolist() == [384, 69, 1210, 65]
        assert load_task("spiral").rows.shape == (5000, 3)
        assert not load_task("wine").categorical

    def test_file(self, tmp_path: Path) -> None:
        path = tmp_path / "things.tsv"
        path.write_text("id\tsize\tkind\nn1\t1.5\ta\nn2\t2.5\tb\nn3\t3.5\ta\nn4\t\tb\n")
        task = file_task(read_file(path), "kind")
        assert list(task.rows) == ["size"]
        assert task.rows["size"].tolist() == [1.5, 2.5, 3.5, 2.5]
        assert task.notes[0] == "column id left out: identifier"
        with pytest.raises(ValueError, match="expected a column to learn from"):
            file_task(read_file(path), "kind", drop=["size"])

"""Accepted formats of labels, marks of unlabelled rows, and the resulting classes."""

from __future__ import annotations

import decimal
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from lowrankgcn import GCNClassifier
from lowrankgcn.estimators.class_labels import read_labels
from tests.support.cases.input_problems import assert_refused

NAN = float("nan")

# What is given, the classes, and the class of each row; None where it is unlabelled.
WAYS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "integers": ([2, -1, 0, 2], [0, 2], [2, None, 0, 2]),
    "array of integers": (np.array([2, -1, 0, 2]), [0, 2], [2, None, 0, 2]),
    "short integers": (np.array([2, -1, 0], np.int8), [0, 2], [2, None, 0]),
    "other negative integers": ([-2, -1, 5], [-2, 5], [-2, None, 5]),
    "unsigned integers": (np.array([255, 0], np.uint8), [0, 255], [255, 0]),
    "integers and None": ([1, None, 0], [0, 1], [1, None, 0]),
    "integers and NaN": ([1, NAN, 0, -1], [0, 1], [1, None, 0, None]),
    "whole floats": (np.array([1.0, NAN, 3.0, -1.0]), [1.0, 3.0], [1.0, None, 3.0, None]),
    "single precision": (np.array([1, NAN, 3], np.float32), [1.0, 3.0], [1.0, None, 3.0]),
    "booleans": ([True, False, True], [False, True], [True, False, True]),
    "booleans and None": ([True, None, False], [False, True], [True, None, False]),
    "booleans and -1": (np.array([True, -1, False], object), [False, True], [True, None, False]),
    "texts": (["b", "", "a"], ["a", "b"], ["b", None, "a"]),
    "array of texts": (np.array(["b", "", "a"]), ["a", "b"], ["b", None, "a"]),
    "texts and None": (["b", None, "a"], ["a", "b"], ["b", None, "a"]),
    "texts and NaN": (["b", NAN, "a"], ["a", "b"], ["b", None, "a"]),
    "texts and -1": (np.array(["b", -1, "a"], object), ["a", "b"], ["b", None, "a"]),
    "list of texts and -1": (["b", -1, "a"], ["a", "b"], ["b", None, "a"]),
    "every mark at once": (
        ["b", None, NAN, "", -1, pd.NA, pd.NaT, "a"],
        ["a", "b"],
        ["b", None, None, None, None, None, None, "a"],
    ),
    "the text -1 is a class": (["-1", "a", ""], ["-1", "a"], ["-1", "a", None]),
    "a space is a class": ([" ", "a", ""], [" ", "a"], [" ", "a", None]),
    "NumPy objects": (
        np.array([np.int64(1), np.float64(-1), np.int32(0)], object),
        [0, 1],
        [1, None, 0],
    ),
    "tuple": ((1, 0, -1), [0, 1], [1, 0, None]),
    "range": (range(-1, 2), [0, 1], [None, 0, 1]),
    "Series": (pd.Series([1, -1, 0], index=[7, 7, 3]), [0, 1], [1, None, 0]),
    "Series of objects": (pd.Series(["b", None, "a"], dtype=object), ["a", "b"], ["b", None, "a"]),
    "Series of texts": (pd.Series(["b", None, "a", ""]), ["a", "b"], ["b", None, "a", None]),
    "string dtype": (pd.Series(["b", pd.NA, "a"], dtype="string"), ["a", "b"], ["b", None, "a"]),
    "nullable integers": (
        pd.Series([1, pd.NA, 0, -1], dtype="Int64"),
        [0, 1],
        [1, None, 0, None],
    ),
    "nullable floats": (pd.Series([1.0, None, 0.0], dtype="Float64"), [0.0, 1.0], [1.0, None, 0.0]),
    "nullable booleans": (
        pd.Series([True, pd.NA, False], dtype="boolean"),
        [False, True],
        [True, None, False],
    ),
    "Arrow integers": (pd.Series([1, None, 0], dtype="int64[pyarrow]"), [0, 1], [1, None, 0]),
    "categorical": (
        pd.Series(pd.Categorical(["low", None, "high"], ["low", "middle", "high"], ordered=True)),
        ["low", "high"],
        ["low", None, "high"],
    ),
    "bare categorical": (pd.Categorical(["b", "a", None]), ["a", "b"], ["b", "a", None]),
    "categorical of integers": (pd.Categorical([5, 3, -1], [5, 3, -1]), [5, 3], [5, 3, None]),
    "categorical with an empty text": (
        pd.Categorical(["b", "", "a"], ["b", "", "a"]),
        ["b", "a"],
        ["b", None, "a"],
    ),
    "Index": (pd.Index(["b", "a", ""]), ["a", "b"], ["b", "a", None]),
}


def test_accepted_label_formats() -> None:
    for name, (y, classes, rows) in WAYS.items():
        labels = read_labels(y)
        assert labels.classes.tolist() == classes, name
        assert labels.n_rows == len(rows) and labels.n_classes == len(classes), name
        found: list[Any] = [None] * len(rows)
        for row, code in zip(labels.index, labels.codes, strict=True):
            found[row] = labels.classes.tolist()[code]
        assert found == rows, name


def test_classes_keep_their_kind() -> None:
    kinds: list[tuple[Any, str]] = [
        ([1, 0], "i"),
        ([1, None, 0], "i"),
        (pd.array([1, None, 0], dtype="Int64"), "i"),
        (pd.Categorical([5, 3]), "i"),
        ([True, None, False], "b"),
        (pd.array([True, None, False], dtype="boolean"), "b"),
        (np.array([1.0, np.nan, 0.0]), "f"),
        (np.array(["b", "a"]), "U"),
        (["b", None, "a"], "O"),
    ]
    for y, kind in kinds:
        assert read_labels(y).classes.dtype.kind == kind, y


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (None, "requires y to be passed, but the target y is None"),
    "no label": ([-1, -1], "y: expected at least one labelled row .* got no label at all"),
    "all None": ([None, None], "got no label at all"),
    "all empty": (["", ""], "got no label at all"),
    "empty": ([], "got no label at all"),
    "one class": ([1, 1, -1], r"at least two classes, got one class, 1 \(-1, None, NaN"),
    "one text": (["a", "", "a"], "got one class, 'a'"),
    "-1 as a class": ([-1, 1, -1, 1], "-1, None, NaN and '' mark unlabelled rows"),
    "one category": (pd.Categorical(["a", "a"], ["a", "b"]), "got one class, 'a'"),
    "fractions": ([0.5, 1.5, 2.0], "Unknown label type: continuous"),
    "infinity": ([1.0, np.inf, 0.0], "y: expected finite labels, got infinity"),
    "texts and numbers": (
        ["a", 1, "b"],
        r"all of one kind \(y.astype\(str\) makes texts\), got labels of type int and str",
    ),
    "truth values and numbers": (
        np.array([True, 3, False], object),
        "all of one kind .* got labels of type bool and int",
    ),
    "huge integers": ([10**30, 0, None], "integers of at most 64 bits"),
    "objects": ([object(), object()], "Unknown label type: "),
    "lists": ([[1], [0, 2]], "y: expected .*got a ragged list"),
    "two columns": (np.eye(3), "y should be a 1d array, got an array of shape"),
    "two columns of a frame": (pd.DataFrame({"a": [1, 0], "b": [0, 1]}), "should be a 1d array"),
    "a scalar": (3, "y should be a 1d array, got an array of shape"),
    "times": (pd.Series(pd.date_range("2020", periods=3)), "y: expected .* dtype datetime64"),
    "complex": (np.array([1j, 0]), "y: expected integers, texts or objects, got dtype complex"),
    "a text": ("labels", "y should be a 1d array"),
}


def test_malformed_labels() -> None:
    for name, (y, message) in WRONG.items():
        assert_refused(name, partial(read_labels, y), message)


def test_a_column_vector_warns() -> None:
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        assert read_labels(np.array([[1], [0], [-1]])).index.tolist() == [0, 1]


def test_decimals_are_not_classes() -> None:
    y = np.array([decimal.Decimal(1), decimal.Decimal(0)], object)
    with pytest.raises(ValueError, match="Unknown label type"):
        read_labels(y)


@given(st.lists(st.sampled_from(["a", "b", "c", "", None]), min_size=2, max_size=12))
def test_codes_reproduce_the_labels(y: list[Any]) -> None:
    known = [label for label in y if label]
    if len(set(known)) < 2:
        with pytest.raises(ValueError, match=r"^y: "):
            read_labels(y)
        return
    labels = read_labels(y)
    assert labels.classes[labels.codes].tolist() == known
    assert labels.index.tolist() == [i for i, label in enumerate(y) if label]


QUICK: dict[str, Any] = {"architecture": "low-rank", "filter": "heat", "rank": 4}
QUICK |= {"max_iter": 60, "n_restarts": 1, "random_state": 0}


def test_many_different_integers_are_measurements() -> None:
    y = np.random.default_rng(0).permutation(6000)[:600]
    for values in (y, y.astype(float), y.tolist(), pd.Series(y)):
        with pytest.raises(ValueError, match="got 600 different integers in 600 rows") as caught:
            read_labels(values)
        assert "put them into ranges" in str(caught.value)
        assert "pass pandas.Categorical(y) to take each number as a class" in str(caught.value)
    assert len(read_labels(pd.Categorical(y)).classes) == 600
    assert len(read_labels(y.astype(str)).classes) == 600
    assert len(read_labels(np.arange(300) // 2).classes) == 150  # two of each


def test_predictions_are_classes() -> None:
    X = np.concatenate([np.linspace(0, 1, 10), np.linspace(9, 10, 10)])[:, None]
    kinds: tuple[Any, ...] = (
        np.array([0, 0, 1, 1]),
        np.array([False, False, True, True]),
        np.array(["no", "no", "yes", "yes"]),
        pd.Series(["no", "no", "yes", "yes"], dtype="category"),
        pd.Series([3.0, 3.0, 7.0, 7.0]),
    )
    for y in kinds:
        full = np.full(20, None, object)
        full[[0, 9, 10, 19]] = np.asarray(y)
        classifier = GCNClassifier(**QUICK).fit(X, full)
        expected = np.repeat(np.unique(np.asarray(y)), 10)
        np.testing.assert_array_equal(classifier.transduction_, expected)
        np.testing.assert_array_equal(classifier.predict(X), expected)
        assert classifier.score(X, expected) == 1.0


def test_the_order_of_categories_is_the_order_of_classes() -> None:
    X = np.concatenate([np.linspace(0, 1, 10), np.linspace(9, 10, 10)])[:, None]
    y = pd.Series(pd.Categorical([None] * 20, ["low", "high"], ordered=True))
    y.iloc[[0, 9]], y.iloc[[10, 19]] = "low", "high"
    classifier = GCNClassifier(**QUICK).fit(X, y)
    assert classifier.classes_.tolist() == ["low", "high"]
    assert classifier.predict(X[[0, 19]]).tolist() == ["low", "high"]


def test_masked_labels_are_missing() -> None:
    y = np.ma.masked_array(np.arange(6) % 2, mask=np.arange(6) >= 4)
    assert read_labels(y).index.tolist() == [0, 1, 2, 3]

"""Every check accepts valid input and rejects the rest with one message style."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from lowrankgcn import _validation as check


def rejected(name: str, expected: str, got: str = "") -> Any:
    """Expect a ValueError with the message ``name: expected ..., got ...``."""
    pattern = f"^{re.escape(name)}: expected {re.escape(expected)}.*, got .*{re.escape(got)}"
    return pytest.raises(ValueError, match=pattern)


def test_message_style() -> None:
    error = check.invalid("rank", "an integer >= 1", 0)
    assert isinstance(error, ValueError)
    assert str(error) == "rank: expected an integer >= 1, got 0"


def test_choice() -> None:
    assert check.choice("keep", "singletons", ["keep", "drop"]) == "keep"
    assert check.choice("b", "letter", iter("ab")) == "b"
    for value in ("Keep", "", None, 1, ["keep"], np.array(["keep"]), b"keep"):
        with rejected("singletons", "one of 'keep', 'drop'", repr(value)):
            check.choice(value, "singletons", ("keep", "drop"))


# --- numbers ----------------------------------------------------------------------------------


def test_positive_int() -> None:
    for value in (1, 7, np.int8(7), np.uint64(7), 2**70):
        result = check.positive_int(value, "k")
        assert type(result) is int
        assert result == value
    for value in (0, -1, 1.0, "1", None, True, np.True_, np.array(1), [1], math.nan, 1 + 0j):
        with rejected("k", "an integer >= 1"):
            check.positive_int(value, "k")


@given(st.integers(-5, 20), st.integers(0, 5), st.none() | st.integers(5, 10))
def test_positive_int_accepts_exactly_the_range(value: int, low: int, high: int | None) -> None:
    if value >= low and (high is None or value <= high):
        assert check.positive_int(value, "k", minimum=low, maximum=high) == value
    else:
        upper = "" if high is None else f" and <= {high}"
        with rejected("k", f"an integer >= {low}{upper}", str(value)):
            check.positive_int(value, "k", minimum=low, maximum=high)


def test_positive_float() -> None:
    for value in (1, 0.5, np.float32(0.5), np.int64(3), 5e-324, Fraction(1, 2)):
        result = check.positive_float(value, "bandwidth")
        assert type(result) is float
        assert result == value
    for value in (0, -0.0, -1.0, math.nan, math.inf, "1", None, True, [1.0], 1j, 10**400):
        with rejected("bandwidth", "a finite number > 0"):
            check.positive_float(value, "bandwidth")


def test_positive_float_bounds() -> None:
    assert check.positive_float(0, "tol", zero=True) == 0.0
    assert check.positive_float(0.5, "tol", maximum=1) == 0.5
    assert check.positive_float(np.float32(0.1), "tol", maximum=0.1) == np.float32(0.1)
    with rejected("tol", "a finite number >= 0", "-1.0"):
        check.positive_float(-1, "tol", zero=True)
    with rejected("tol", "a finite number > 0 and <= 1", "1.1"):
        check.positive_float(1.1, "tol", maximum=1)
    with rejected("tol", "a finite number > 0 and < 1", "1.0"):
        check.positive_float(1, "tol", below=1)


# --- arrays -----------------------------------------------------------------------------------


def test_finite_array_converts() -> None:
    small = np.array([1, 2], dtype=np.int8)
    for value in ([1, 2], (1.0, 2.0), small, small.astype(np.float32), small.astype(object)):
        result = check.finite_array(value, "x", ndim=1)
        assert result.dtype == np.float64
        assert_array_equal(result, [1.0, 2.0])
    assert_array_equal(check.finite_array([True, False], "x", ndim=1), [1.0, 0.0])
    assert_array_equal(check.finite_array(np.ma.masked_array([1.0]), "x", ndim=1), [1.0])
    assert check.finite_array(1.0, "x").shape == ()
    assert check.finite_array([[1.0]], "x", ndim=(1, 2)).shape == (1, 1)
    assert check.finite_array(np.zeros((3, 0)), "x", ndim=2).shape == (3, 0)
    x = np.ones((2, 3))
    assert check.finite_array(x, "x", ndim=2) is x
    enormous = [1.7e308, 1.7e308]  # the sum overflows, the entries do not
    assert_array_equal(check.finite_array(enormous, "x", ndim=1), enormous)


NUMERIC = "a real numeric array with "


NOT_FINITE_ARRAYS: list[tuple[Any, Any, str, str]] = [
    ([1.0], 2, NUMERIC + "2 dimensions", "shape (1,)"),
    ([[1.0]], 1, NUMERIC + "1 dimension", "shape (1, 1)"),
    (1.0, (1, 2), NUMERIC + "1 or 2 dimensions", "shape ()"),
    (["a", "b"], 1, NUMERIC + "1 dimension", "list"),
    (["1", "2"], 1, NUMERIC + "1 dimension", "list"),
    ([[1], [2, 3]], 1, NUMERIC + "1 dimension", "list"),
    (np.array([1j]), 1, NUMERIC + "1 dimension", "ndarray of dtype complex128"),
    ([1, {}], 1, NUMERIC + "1 dimension", "list"),
    ("text", 1, NUMERIC + "1 dimension", "str"),
    (np.array(["2020-01-01"], "M8[D]"), 1, NUMERIC + "1 dimension", "datetime64"),
    (sp.csr_array(np.eye(2)), 2, "a dense array", "a sparse csr matrix"),
    ([math.inf, -math.inf], 1, "finite entries", "inf at index (0,) (2 such entries)"),
    ([[0, 1], [math.nan, 0]], 2, "finite entries", "nan at index (1, 0) (1 such entries)"),
    (np.ma.masked_array([1.0, 2.0], [False, True]), 1, "no masked entries", "1"),
]


def test_finite_array_rejects() -> None:
    for value, ndim, expected, got in NOT_FINITE_ARRAYS:
        with rejected("x", expected, got):
            check.finite_array(value, "x", ndim=ndim)


@pytest.mark.skipif(
    np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="no type wider than double"
)
def test_finite_array_rejects_what_double_precision_cannot_hold() -> None:
    with rejected("x", "finite entries", "inf"):
        check.finite_array(np.array([np.longdouble(10) ** 400]), "x", ndim=1)


def test_finite_array_rejects_tensors_that_record_gradients() -> None:
    torch = pytest.importorskip("torch")
    with rejected("x", "a real numeric array", "requires grad"):
        check.finite_array(torch.ones(2, requires_grad=True), "x", ndim=1)


def test_points_array() -> None:
    assert check.points_array([[1, 2], [3, 4]]).shape == (2, 2)
    for shape in ((0, 2), (2, 0)):
        with rejected("points", "at least one row and one column", f"shape {shape}"):
            check.points_array(np.zeros(shape))
    with rejected("landmarks", "a real numeric array with 2 dimensions", "shape (3,)"):
        check.points_array(np.zeros(3), "landmarks")


def test_expect_shape() -> None:
    check.expect_shape(np.ones((2, 3)), "A", 2, None)
    for shape, text in (((3, 3), "(3, 3)"), ((2,), "(2)"), ((None, 2), "(?, 2)")):
        with rejected("A", f"an array of shape {text}", "shape (2, 3)"):
            check.expect_shape(np.ones((2, 3)), "A", *shape)


# --- indices ----------------------------------------------------------------------------------


def test_node_index() -> None:
    for value, expected in (
        ([], []),
        ([2, 0, 2], [2, 0, 2]),
        (range(3), [0, 1, 2]),
        (np.array([1], dtype=np.uint8), [1]),
        ([True, False, True], [0, 2]),
        (np.zeros(3, dtype=bool), []),
    ):
        result = check.node_index(value, "index", 3)
        assert result.dtype == np.intp
        assert_array_equal(result, expected)


def test_node_index_rejects() -> None:
    whole = "an integer array with 1 dimension"
    for value in ([0.0], [[0]], 0, ["0"], [None]):
        with rejected("index", whole):
            check.node_index(value, "index", 3)
    for value in ([3], [0, -1], [2**63]):
        with rejected("index", "indices in 0..2"):
            check.node_index(value, "index", 3)
    for value in ([True, False], np.ones((3, 1), dtype=bool)):
        with rejected("index", "a mask of shape (3,)"):
            check.node_index(value, "index", 3)
    with rejected("index", "an array", "a ragged list"):
        check.node_index([[0], [1, 2]], "index", 3)


def test_pair_index() -> None:
    pairs = check.pair_index(np.array([[0, 1], [2, 3]], dtype=np.uint8), "edge_index")
    assert pairs.dtype == np.int64
    assert_array_equal(pairs, [[0, 1], [2, 3]])
    assert check.pair_index(np.zeros((2, 0)), "edge_index").shape == (2, 0)
    for value in ([[0], [-1]], [[0], [2**48]], np.array([[0], [2**63]], dtype=np.uint64)):
        with rejected("edge_index", "indices in 0..281474976710655"):
            check.pair_index(value, "edge_index")
    for value in ([0, 1], [[0.5], [1.0]]):
        with rejected("edge_index", "an integer array with 2 dimensions"):
            check.pair_index(value, "edge_index")
    with rejected("edge_index", "an integer array of shape (2, m)", "shape (3, 1)"):
        check.pair_index([[0], [1], [2]], "edge_index")


# --- randomness -------------------------------------------------------------------------------


def test_random_generator() -> None:
    shared = np.random.default_rng(1)
    assert check.random_generator(shared) is shared
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (the state that must not change)
    first, second = (check.random_generator(np.int64(5)).random(3) for _ in range(2))
    assert_array_equal(first, second)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert isinstance(check.random_generator(None), np.random.Generator)
    for value in (-1, 1.5, "0", True):
        with rejected("random_state", "an integer >= 0"):
            check.random_generator(value)

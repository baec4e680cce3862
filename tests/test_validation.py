"""Every check accepts what it should and refuses the rest with one message style."""

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


def refused(name: str, expected: str, got: str = "") -> Any:
    """The message is ``name: expected ..., got ...``."""
    pattern = f"^{re.escape(name)}: expected {re.escape(expected)}.*, got .*{re.escape(got)}"
    return pytest.raises(ValueError, match=pattern)


def test_message_style() -> None:
    error = check.invalid("rank", "an integer >= 1", 0)
    assert isinstance(error, ValueError)
    assert str(error) == "rank: expected an integer >= 1, got 0"


# --- choice -----------------------------------------------------------------------------------


def test_choice() -> None:
    assert check.choice("keep", "singletons", ["keep", "drop"]) == "keep"
    assert check.choice("b", "letter", iter("ab")) == "b"


@pytest.mark.parametrize("value", ["Keep", "", None, 1, ["keep"], np.array(["keep"]), b"keep"])
def test_choice_refuses(value: Any) -> None:
    with refused("singletons", "one of 'keep', 'drop'", repr(value)):
        check.choice(value, "singletons", ("keep", "drop"))


# --- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1, 7, np.int8(7), np.uint64(7), 2**70])
def test_positive_int(value: Any) -> None:
    result = check.positive_int(value, "k")
    assert type(result) is int
    assert result == value


@pytest.mark.parametrize(
    "value", [0, -1, 1.0, "1", None, True, np.True_, np.array(1), [1], math.nan, 1 + 0j]
)
def test_positive_int_refuses(value: Any) -> None:
    with refused("k", "an integer >= 1"):
        check.positive_int(value, "k")


def test_positive_int_bounds() -> None:
    assert check.positive_int(0, "k", minimum=0) == 0
    assert check.positive_int(5, "k", minimum=2, maximum=5) == 5
    with refused("k", "an integer >= 2 and <= 5", "6"):
        check.positive_int(6, "k", minimum=2, maximum=5)
    with refused("k", "an integer >= 2 and <= 5", "1"):
        check.positive_int(1, "k", minimum=2, maximum=5)


@given(st.integers(-5, 20), st.integers(0, 5), st.none() | st.integers(5, 10))
def test_positive_int_accepts_exactly_the_range(value: int, low: int, high: int | None) -> None:
    if value >= low and (high is None or value <= high):
        assert check.positive_int(value, "k", minimum=low, maximum=high) == value
    else:
        with refused("k", f"an integer >= {low}", str(value)):
            check.positive_int(value, "k", minimum=low, maximum=high)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(3), 5e-324, Fraction(1, 2)])
def test_positive_float(value: Any) -> None:
    result = check.positive_float(value, "bandwidth")
    assert type(result) is float
    assert result == value


@pytest.mark.parametrize("value", [0, -0.0, -1.0, math.nan, math.inf, "1", None, True, [1.0], 1j])
def test_positive_float_refuses(value: Any) -> None:
    with refused("bandwidth", "a finite number > 0"):
        check.positive_float(value, "bandwidth")


def test_positive_float_bounds() -> None:
    assert check.positive_float(0, "tol", zero=True) == 0.0
    assert check.positive_float(0.5, "tol", maximum=1) == 0.5
    assert check.positive_float(np.float32(0.1), "tol", maximum=0.1) == np.float32(0.1)
    with refused("tol", "a finite number >= 0", "-1.0"):
        check.positive_float(-1, "tol", zero=True)
    with refused("tol", "a finite number > 0 and <= 1", "1.1"):
        check.positive_float(1.1, "tol", maximum=1)


def test_positive_float_refuses_huge_integers() -> None:
    with refused("bandwidth", "a finite number > 0"):
        check.positive_float(10**400, "bandwidth")


# --- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [[1, 2], (1.0, 2.0), np.array([1, 2], dtype=np.int8), np.array([1, 2], np.float32)]
)
def test_finite_array_converts(value: Any) -> None:
    result = check.finite_array(value, "x", ndim=1)
    assert result.dtype == np.float64
    assert_array_equal(result, [1.0, 2.0])


def test_finite_array_accepts_masks_and_pandas_like_objects() -> None:
    assert_array_equal(check.finite_array([True, False], "x", ndim=1), [1.0, 0.0])
    assert_array_equal(check.finite_array(np.array([1, 2.5], object), "x", ndim=1), [1.0, 2.5])


def test_finite_array_does_not_copy_float64() -> None:
    x = np.ones((2, 3))
    assert check.finite_array(x, "x", ndim=2) is x


def test_finite_array_accepts_empty_and_enormous_arrays() -> None:
    assert check.finite_array(np.zeros((3, 0)), "x", ndim=2).shape == (3, 0)
    enormous = [1.7e308, 1.7e308]  # the sum overflows, the entries do not
    assert_array_equal(check.finite_array(enormous, "x", ndim=1), enormous)


@pytest.mark.parametrize(
    ("value", "ndim"), [([1.0], 2), ([[1.0]], 1), (1.0, 1), (np.ones((1, 1, 1)), 2)]
)
def test_finite_array_refuses_other_dimensions(value: Any, ndim: int) -> None:
    with refused("x", f"a real numeric array with {ndim} dimension", f"shape {np.shape(value)}"):
        check.finite_array(value, "x", ndim=ndim)


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (["a", "b"], "list"),
        ([[1], [2, 3]], "list"),
        (np.array([1j]), "ndarray of dtype complex128"),
        ([1, {}], "list"),
        ("text", "str"),
    ],
)
def test_finite_array_refuses_what_is_not_numeric(value: Any, got: str) -> None:
    with refused("x", "a real numeric array with 1 dimension", got):
        check.finite_array(value, "x", ndim=1)


@pytest.mark.parametrize("value", [["1", "2"], np.array(["2020-01-01"], dtype="M8[D]")])
def test_finite_array_refuses_text_and_dates(value: Any) -> None:
    with refused("x", "a real numeric array"):
        check.finite_array(value, "x", ndim=1)


@pytest.mark.parametrize("container", [sp.csr_array, sp.coo_array])
def test_finite_array_refuses_sparse(container: Any) -> None:
    value = container(np.eye(2))
    with refused("x", "a dense array", f"a sparse {value.format} matrix"):
        check.finite_array(value, "x", ndim=2)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_finite_array_names_the_first_bad_entry(bad: float) -> None:
    x = np.zeros((3, 4))
    x[1, 2] = x[2, 0] = bad
    with refused("x", "finite entries", f"{bad} at index (1, 2) (2 such entries)"):
        check.finite_array(x, "x", ndim=2)


def test_finite_array_notices_infinities_that_cancel() -> None:
    with refused("x", "finite entries", "inf at index (0,) (2 such entries)"):
        check.finite_array([math.inf, -math.inf], "x", ndim=1)


def test_points_array() -> None:
    assert check.points_array([[1, 2], [3, 4]]).shape == (2, 2)
    for shape in ((0, 2), (2, 0)):
        with refused("points", "at least one row and one column", f"shape {shape}"):
            check.points_array(np.zeros(shape))
    with refused("landmarks", "a real numeric array with 2 dimensions", "shape (3,)"):
        check.points_array(np.zeros(3), "landmarks")


# --- indices ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], []),
        ([2, 0, 2], [2, 0, 2]),
        (range(3), [0, 1, 2]),
        (np.array([1], dtype=np.uint8), [1]),
        ([True, False, True], [0, 2]),
        (np.zeros(3, dtype=bool), []),
    ],
)
def test_node_index(value: Any, expected: list[int]) -> None:
    result = check.node_index(value, "index", 3)
    assert result.dtype == np.intp
    assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([3], "indices in 0..2"),
        ([0, -1], "indices in 0..2"),
        ([2**63], "indices in 0..2"),
        ([0.0], "a 1-D integer index"),
        ([[0]], "a 1-D integer index"),
        (0, "a 1-D integer index"),
        (["0"], "a 1-D integer index"),
        ([None], "a 1-D integer index"),
        ([True, False], "a mask of shape (3,)"),
        (np.ones((3, 1), dtype=bool), "a mask of shape (3,)"),
    ],
)
def test_node_index_refuses(value: Any, expected: str) -> None:
    with refused("index", expected):
        check.node_index(value, "index", 3)


def test_node_index_names_the_argument_for_ragged_lists() -> None:
    with refused("index", "a 1-D integer index"):
        check.node_index([[0], [1, 2]], "index", 3)


# --- randomness -------------------------------------------------------------------------------


def test_random_generator() -> None:
    shared = np.random.default_rng(1)
    assert check.random_generator(shared) is shared
    first, second = (check.random_generator(np.int64(5)).random(3) for _ in range(2))
    assert_array_equal(first, second)
    assert isinstance(check.random_generator(None), np.random.Generator)


@pytest.mark.parametrize("value", [-1, 1.5, "0", True])
def test_random_generator_refuses(value: Any) -> None:
    with refused("seed", "an integer >= 0"):
        check.random_generator(value, "seed")


def test_random_generator_leaves_the_global_state_alone() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (the state that must not change)
    check.random_generator(0).random()
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_finite_array_of_several_dimensions() -> None:
    assert check.finite_array(1.0, "x").shape == ()
    assert check.finite_array([[1.0]], "x", ndim=(1, 2)).shape == (1, 1)
    with refused("x", "a real numeric array with 1 or 2 dimensions", "shape ()"):
        check.finite_array(1.0, "x", ndim=(1, 2))


def test_finite_array_refuses_masked_entries() -> None:
    """NumPy would go on with what lies below the mask."""
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, True])
    with refused("x", "no masked entries", "2"):
        check.finite_array(masked, "x", ndim=1)
    assert_array_equal(check.finite_array(np.ma.masked_array([1.0]), "x", ndim=1), [1.0])


@pytest.mark.skipif(
    np.finfo(np.longdouble).max == np.finfo(np.float64).max, reason="no type wider than double"
)
def test_finite_array_refuses_what_double_precision_cannot_hold() -> None:
    with refused("x", "finite entries", "inf"):
        check.finite_array(np.array([np.longdouble(10) ** 400]), "x", ndim=1)


def test_finite_array_refuses_tensors_that_record_gradients() -> None:
    torch = pytest.importorskip("torch")
    with refused("x", "a real numeric array", "requires grad"):
        check.finite_array(torch.ones(2, requires_grad=True), "x", ndim=1)


@pytest.mark.parametrize("index", [2**48, 2**62, np.uint64(2**63)])
def test_pair_index_refuses_what_no_graph_has(index: Any) -> None:
    with refused("edge_index", "indices < 281474976710656", str(index)):
        check.pair_index(np.array([[0], [index]], dtype=type(index)), "edge_index")

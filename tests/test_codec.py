"""Saved dataclasses: values are restored, and other arrays raise an error with their name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lowrankgcn._codec import NOT_SAVED, decode, encode, saved
from lowrankgcn.spectral import filters
from tests.support.stored.saved_examples import through_json


@saved
@dataclass(frozen=True, eq=False)
class Everything:
    array: Annotated[NDArray[np.float64], "n 2"]
    weights: Annotated[NDArray[np.floating[Any]], "n"]
    index: NDArray[np.int64] | None
    scale: float
    count: int
    filters: tuple[filters.Filter, ...]
    seconds: dict[str, float]
    names: list[str | int]
    flag: bool
    cached: Any = field(default=None, metadata=NOT_SAVED)

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("count: expected >= 0")


def everything(**changes: Any) -> Everything:
    fields: dict[str, Any] = {
        "array": np.arange(6.0).reshape(2, 3).T,
        "weights": np.ones(3, np.float32),
        "index": None,
        "scale": np.inf,
        "count": 3,
        "filters": (0.5 * filters.Heat(3.0) + filters.Polynomial((1.0, -1.0)), filters.Linear()),
        "seconds": {"fit": 1.5},
        "names": ["x", 3],
        "flag": True,
        "cached": object(),
    }
    return Everything(**(fields | changes))


def test_a_dataclass_comes_back() -> None:
    before, after = everything(), through_json(everything(), Everything)
    for name in ("scale", "count", "filters", "seconds", "names", "flag", "index"):
        assert getattr(after, name) == getattr(before, name)
    assert (after.array == before.array).all() and after.array.flags.c_contiguous
    assert after.weights.dtype == np.float32
    assert after.cached is None


def test_plain_values_come_back() -> None:
    for value in (
        *(None, True, 3, 10**30, -0.5, float("inf"), "ä\0\ud800"),
        *([], (1, (2.5,)), {"a": {1: (2,)}}),
        *(filters.Pseudoinverse(), [filters.Heat(2.0), "linear"]),
    ):  # fmt: skip
        back = through_json(value)
        assert back == value and type(back) is type(value), value


def test_arrays_come_back() -> None:
    for array in (
        np.array([3, 7]),
        np.array([0, 200], np.uint8),
        np.array([2**64 - 1, 5], np.uint64),
        np.array([False, True]),
        np.array([0.5, 1e300], ">f8"),
        np.array(1.5),
        np.array(["ja", "nein", "\ud800ß\0x"], "U20"),
        np.array(["a", 2.5, True, 1], object),
    ):
        back = through_json(array)
        assert back.dtype == array.dtype.newbyteorder("=") and back.shape == array.shape, array
        assert back.tolist() == array.tolist(), array
        assert [type(a) for a in np.ravel(back)] == [type(a) for a in np.ravel(array)], array


def test_other_values_are_refused() -> None:
    for value in (object(), {1, 2}, np.ones(2, complex), filters.Custom(np.cos), np.longdouble):
        with pytest.raises(ValueError, match=r"names\.1: expected a value that can be saved"):
            encode(everything(names=[0, value]))


def test_arrays_of_other_dtypes_and_shapes_are_refused() -> None:
    wrong: dict[str, tuple[Any, ...]] = {
        "array": (3, [1.0], np.ones(2, np.float32), np.ones(2), np.ones((2, 3)), np.ones((3, 3))),
        "weights": (np.ones(3, int), np.ones(2)),
        "index": (np.ones(2), np.ones(2, np.int32), 3),
    }
    for name, values in wrong.items():
        for value in values:
            changed = everything()
            object.__setattr__(changed, name, value)
            with pytest.raises(ValueError, match=f"^{name}: expected"):
                through_json(changed, Everything)


def test_values_of_other_libraries_are_refused() -> None:
    arrays, value = encode(everything())
    fields = value["fields"]
    others: list[tuple[dict[str, Any], Any, str]] = [
        ({}, value, "array: expected a value of this library"),
        (arrays, {**value, "class": "Popen"}, "value: expected a value of this library"),
        (arrays, {**value, "class": ["Linear"]}, "value: expected a value of this library"),
        (arrays, {**value, "fields": {**fields, "more": 1}}, "more: expected the fields of"),
        (arrays, {**value, "fields": {"array": fields["array"]}}, "expected the fields of"),
        (arrays, 3, "value: expected Everything, got 3"),
        ({}, {"class": "Heat", "fields": {"time": -1.0}}, "time: expected a finite number > 0"),
    ]
    for parts, changed, message in others:
        with pytest.raises(ValueError, match=message):
            decode(parts, changed, Everything)


def test_two_classes_of_one_name_are_refused() -> None:
    other = type("Heat", (), {})
    with pytest.raises(TypeError, match="two classes named Heat"):
        saved(other)

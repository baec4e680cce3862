"""Frozen dataclasses as named arrays and JSON values, and back, without pickle.

A class takes part if it is decorated with :func:`saved`; files can name no other class. The type
annotations of its fields are checked on the way back: a damaged or forged file gives a ValueError
that names the field. ``Annotated`` states more than a type: the shape of an array, such as "n d",
with the same length for the same letter in all fields and at least one for capital letters, and
functions of value and name that check the value, both unless it is None. ``__post_init__`` checks
the rest.

>>> from lowrankgcn.spectral.filters import Heat
>>> arrays, value = encode((Heat(4.0), np.zeros(2)))
>>> value
{'tuple': [{'class': 'Heat', 'fields': {'time': 4.0}}, {'array': '1'}]}
>>> decode(arrays, value, tuple[Any, ...])
(Heat(time=4.0), array([0., 0.]))
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import fields
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import expect_shape, invalid, positive_float

Arrays = dict[str, NDArray[Any]]
Class = TypeVar("Class", bound=type)
Positive = Annotated[float, positive_float]
NotNegative = Annotated[float, partial(positive_float, zero=True)]

#: Field metadata: floats may be infinite or NaN; all others must be finite.
MAY_BE_INFINITE = {"finite": False}
#: Field metadata: not written; the field has its default after reading.
NOT_SAVED = {"saved": False}
#: Field metadata: files of earlier versions lack the field, which then has its default.
ADDED = {"added": True}

_CLASSES: dict[str, type[Any]] = {}
_NUMBERS = "biuf"  # kinds of arrays that are stored as arrays; texts and objects are in the JSON
_NOT_FINITE = ("inf", "-inf", "nan")
_WIDEST = 1024  # texts of an array may be stored wider than any of them is


def saved(cls: Class) -> Class:
    """Allow a dataclass in files, under its name."""
    other = _CLASSES.setdefault(cls.__name__, cls)
    if other.__module__ != cls.__module__:
        raise TypeError(f"two classes named {cls.__name__}: {other.__module__}, {cls.__module__}")
    return cls


def encode(value: Any) -> tuple[Arrays, Any]:
    """Convert a value to named arrays and a JSON value.

    None, booleans, numbers, texts, lists, tuples, mappings, arrays and registered dataclasses come
    back as they are, NumPy scalars as Python's.

    Raises
    ------
    ValueError
        If the value holds anything else.
    """
    arrays: Arrays = {}
    return arrays, _encode(value, "", arrays)


def _encode(value: Any, name: str, arrays: Arrays) -> Any:
    def parts(items: Any) -> list[Any]:
        return [_encode(part, _join(name, i), arrays) for i, part in enumerate(items)]

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if type(value) is list:
        return parts(value)
    if type(value) is tuple:
        return {"tuple": parts(value)}
    if isinstance(value, Mapping):
        return {"mapping": parts(list(pair) for pair in value.items())}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in _NUMBERS and value.itemsize <= 8:
            arrays[name] = np.asarray(value, value.dtype.newbyteorder("="), order="C")
            return {"array": name}
        if value.dtype.kind in "UO" and value.ndim == 1:
            width = value.dtype.itemsize // 4 if value.dtype.kind == "U" else None
            return {"objects": parts(value.tolist()), "width": width}
    cls: Any = type(value)
    if _CLASSES.get(cls.__name__) == cls:
        own = {
            field: _encode(getattr(value, field), _join(name, field), arrays)
            for field, *_ in _fields(cls)
        }
        return {"class": cls.__name__, "fields": own}
    raise invalid(name or "value", "a value that can be saved", repr(value)[:100])


def decode(arrays: Mapping[str, NDArray[Any]], value: Any, expected: Any) -> Any:
    """Restore what :func:`encode` returned.

    Parameters
    ----------
    arrays, value
        From a file; every array must be in use.
    expected : type
        What the value must be, as in an annotation.

    Raises
    ------
    ValueError
        If a class is unknown, a field is missing or superfluous, or a value has another type or
        dtype than its annotation; the message names the field.
    """
    unused = dict(arrays)
    result = _decode(value, "", unused)
    _check(result, expected, "value", finite=True)
    if unused:
        raise invalid(min(unused), "no such array", "one that no field refers to")
    return result


def _decode(value: Any, name: str, unused: Arrays) -> Any:
    def parts(items: list[Any]) -> list[Any]:
        return [_decode(part, _join(name, i), unused) for i, part in enumerate(items)]

    if isinstance(value, list):
        return parts(value)
    if not isinstance(value, dict):
        return value
    match list(value.items()):
        case [("float", text)] if text in _NOT_FINITE:
            return float(text)
        case [("tuple", list(items))]:
            return tuple(parts(items))
        case [("mapping", list(items))]:
            pairs = parts(items)
            try:
                return dict(pairs)
            except (TypeError, ValueError):
                raise invalid(name, "pairs of key and value", repr(items)[:100]) from None
        case [("array", str(key))]:
            if key not in unused:
                raise invalid(key, "an array", "none")
            return unused.pop(key)
        case [("objects", list(items)), ("width", width)]:
            return _objects(parts(items), width, name)
        case [("class", str(kind)), ("fields", dict(given))]:
            return _instance(kind, given, name, unused)
    raise invalid(name or "value", "a JSON value of encode", repr(value)[:100])


def _objects(items: list[Any], width: Any, name: str) -> NDArray[Any]:
    """Return a 1-D array of texts, or of objects if `width` is None."""
    array = np.fromiter(items, object, len(items))
    if width is None:
        return array
    texts = all(type(item) is str for item in items)
    if not texts or type(width) is not int or not 0 < width <= max([_WIDEST, *map(len, items)]):
        raise invalid(name, "texts and their width", f"{items!r}"[:100])
    return array.astype(f"U{max([width, *map(len, items)])}")


def _instance(kind: str, given: dict[str, Any], name: str, unused: Arrays) -> Any:
    """Return an instance of a registered class; check its fields."""
    if kind not in _CLASSES:
        raise invalid(name or "value", "a class of this library", repr(kind)[:100])
    cls: Any = _CLASSES[kind]
    added = {field.name for field in fields(cls) if field.metadata.get("added")} - set(given)
    known = [field for field in _fields(cls) if field[0] not in added]
    for field in {field for field, *_ in known} ^ set(given):
        got = "another" if field in given else "none"
        raise invalid(_join(name, field), f"the fields of {kind}", f"{got} of this name")
    own: dict[str, Any] = {}
    lengths: dict[str, int] = {}
    for field, hint, finite, marks in known:
        path = _join(name, field)
        own[field] = _decode(given[field], path, unused)
        _check(own[field], hint, path, finite)
        for mark in marks if own[field] is not None else ():
            if isinstance(mark, str):
                _check_shape(own[field], mark.split(), path, lengths)
            else:
                mark(own[field], path)
    try:
        return cls(**own)
    except (TypeError, AttributeError, OverflowError) as error:
        raise invalid(name or kind, f"fields of {kind}", error) from None


@cache
def _fields(cls: Any) -> tuple[tuple[str, Any, bool, tuple[Any, ...]], ...]:
    """Return name, type, whether floats must be finite, and further checks of every saved field."""
    hints, full = get_type_hints(cls), get_type_hints(cls, include_extras=True)
    return tuple(
        (
            field.name,
            hints[field.name],
            field.metadata.get("finite", True),
            getattr(full[field.name], "__metadata__", ()),
        )
        for field in fields(cls)
        if field.metadata.get("saved", True)
    )


def _check_shape(array: NDArray[Any], axes: list[str], name: str, lengths: dict[str, int]) -> None:
    """Compare the shape of an array with the lengths known so far, and add its own."""
    for axis, length in zip(axes, array.shape, strict=False):
        lengths.setdefault(axis, int(axis) if axis.isdecimal() else length)
    expect_shape(array, name, *map(lengths.get, axes))
    if 0 in [length for axis, length in zip(axes, array.shape, strict=True) if axis.isupper()]:
        raise invalid(name, "a row and a column", f"shape {array.shape}")


def _check(value: Any, hint: Any, name: str, finite: bool) -> None:
    if not _fits(value, hint, finite):
        expected = _hint_text(hint, finite)
        got = repr(value)[:100]
        if isinstance(value, np.ndarray):
            got = f"{value.dtype} array of shape {value.shape}"
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                got += " with NaN or infinity"
        raise invalid(name, expected, got)


def _fits(value: Any, hint: Any, finite: bool) -> bool:
    """Return whether a value has the annotated type, with finite floats if they must be."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, one, finite) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    if origin in (tuple, list):
        return type(value) is origin and all(_fits(part, arguments[0], finite) for part in value)
    if origin is dict:
        return type(value) is dict and all(
            _fits(key, arguments[0], finite) and _fits(part, arguments[1], finite)
            for key, part in value.items()
        )
    if origin is np.ndarray:
        scalar = _scalar(hint)
        if not isinstance(value, np.ndarray) or not np.issubdtype(value.dtype, scalar):
            return False
        return not finite or value.dtype.kind != "f" or bool(np.isfinite(value).all())
    if hint is float:
        return type(value) in (int, float) and (not finite or abs(value) <= sys.float_info.max)
    if hint in (bool, int, str, NoneType):
        return type(value) is hint
    return isinstance(value, hint)


def _scalar(hint: Any) -> Any:
    """Return the scalar type of an annotation of arrays, such as NDArray[np.float64]."""
    (scalar,) = get_args(get_args(hint)[1])
    return np.generic if scalar is Any else get_origin(scalar) or scalar


def _hint_text(hint: Any, finite: bool) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_hint_text(part, finite) for part in get_args(hint))
    array = get_origin(hint) is np.ndarray
    kind = _scalar(hint) if array else hint
    name = "None" if kind is NoneType else str(getattr(kind, "__name__", kind))
    floats = isinstance(kind, type) and issubclass(kind, (float, np.floating))
    return ("finite " if finite and floats else "") + name + (" array" if array else "")


def _join(name: str, part: Any) -> str:
    return f"{name}.{part}" if name else str(part)

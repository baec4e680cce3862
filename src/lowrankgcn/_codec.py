"""Frozen dataclasses as named arrays and JSON values, and back, without pickle.

A class takes part if it is decorated with :func:`saved`; files can name no other class. Arrays must
have the annotated dtype. ``Annotated`` can state their shape, such as "n 2": the same letter stands
for the same length in all fields. ``__post_init__`` checks the rest.

>>> from lowrankgcn.spectral.filters import Heat
>>> arrays, value = encode((Heat(4.0), np.zeros(2)))
>>> value
{'tuple': [{'class': 'Heat', 'fields': {'time': 4.0}}, {'array': '1'}]}
>>> decode(arrays, value, tuple)
(Heat(time=4.0), array([0., 0.]))
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._validation import invalid

Arrays = dict[str, NDArray[Any]]
Class = TypeVar("Class", bound=type)

#: Field metadata: not written; the field has its default after reading.
NOT_SAVED = {"saved": False}

_CLASSES: dict[str, type[Any]] = {}
_NUMBERS = "biuf"  # kinds of arrays that are stored as arrays; texts and objects are in the JSON


def saved(cls: Class) -> Class:
    """Allow a dataclass in files, under its name."""
    other = _CLASSES.setdefault(cls.__name__, cls)
    if other.__module__ != cls.__module__:
        raise TypeError(f"two classes named {cls.__name__}: {other.__module__}, {cls.__module__}")
    return cls


def encode(value: Any) -> tuple[Arrays, Any]:
    """Convert a value to named arrays and a JSON value.

    None, booleans, numbers, texts, lists, tuples, mappings, arrays, csr arrays and registered
    dataclasses come back as they are, NumPy scalars as Python's.

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
            return {"objects": parts(value.tolist()), "dtype": value.dtype.newbyteorder("=").str}
    if isinstance(value, sp.csr_array):
        return {"csr": parts([value.data, value.indices, value.indptr, list(value.shape)])}
    cls: Any = type(value)
    if _CLASSES.get(cls.__name__) == cls:
        encoded = {
            field: _encode(getattr(value, field), _join(name, field), arrays)
            for field in _fields(cls)
        }
        return {"class": cls.__name__, "fields": encoded}
    raise invalid(name or "value", "a value that can be saved", repr(value)[:100])


def decode(arrays: Mapping[str, NDArray[Any]], value: Any, expected: type[Any]) -> Any:
    """Restore what :func:`encode` returned, an instance of `expected`.

    Raises
    ------
    ValueError
        If a class is unknown, a field is missing or superfluous, or an array has another dtype or
        shape than its annotation; the message names the field.
    """
    result = _decode(value, "", arrays)
    if not isinstance(result, expected):
        raise invalid("value", expected.__name__, repr(result)[:100])
    return result


def _decode(value: Any, name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    def parts(items: list[Any]) -> list[Any]:
        return [_decode(part, _join(name, i), arrays) for i, part in enumerate(items)]

    match value:
        case list():
            return parts(value)
        case {"float": text}:
            return float(text)
        case {"tuple": list(items)}:
            return tuple(parts(items))
        case {"mapping": list(items)}:
            return dict(parts(items))
        case {"array": str(key)} if key in arrays:
            return arrays[key]
        case {"objects": list(items), "dtype": str(dtype)}:
            return np.fromiter(parts(items), object, len(items)).astype(dtype)
        case {"csr": list(items)}:
            return _csr(parts(items), name)
        case {"class": str(kind), "fields": dict(encoded)} if kind in _CLASSES:
            return _instance(_CLASSES[kind], encoded, name, arrays)
        case dict():
            raise invalid(name or "value", "a value of this library", repr(value)[:100])
    return value


def _csr(items: list[Any], name: str) -> sp.csr_array:
    try:
        values, indices, pointers, shape = items
        matrix = sp.csr_array((values, indices, pointers), shape=shape)
        matrix.check_format(full_check=True)  # compiled code would read out of bounds
    except (TypeError, ValueError) as error:
        raise invalid(name, "a well-formed sparse matrix", error) from None
    return matrix


def _instance(
    cls: Any, encoded: dict[str, Any], name: str, arrays: Mapping[str, NDArray[Any]]
) -> Any:
    annotated = _fields(cls)
    for field in annotated.keys() ^ encoded.keys():
        got = "another" if field in encoded else "none"
        raise invalid(_join(name, field), f"the fields of {cls.__name__}", f"{got} of this name")
    values: dict[str, Any] = {}
    lengths: dict[str, int] = {}
    for field, (scalar, axes) in annotated.items():
        path = _join(name, field)
        values[field] = value = _decode(encoded[field], path, arrays)
        if scalar is not None and value is not None:
            _check_array(value, scalar, axes, path, lengths)
    return cls(**values)


@cache
def _fields(cls: Any) -> dict[str, tuple[Any, list[str] | None]]:
    """Return scalar type and axes of every saved field; None if it is no array, or of any shape."""
    hints = get_type_hints(cls, include_extras=True)
    names = [field.name for field in fields(cls) if field.metadata.get("saved", True)]
    return {name: _array_hint(hints[name]) for name in names}


def _array_hint(hint: Any) -> tuple[Any, list[str] | None]:
    axes = None
    if get_origin(hint) is Annotated:
        axes = next((mark.split() for mark in hint.__metadata__ if isinstance(mark, str)), None)
        hint = get_args(hint)[0]
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for option in options:
        origin, parts = get_origin(option), get_args(option)
        if origin is np.ndarray:
            parts = get_args(parts[1])
        if origin in (np.ndarray, NDArray):  # since NumPy 2.5 NDArray is an alias of its own
            (scalar,) = parts
            return np.generic if scalar is Any else get_origin(scalar) or scalar, axes
    return None, None


def _check_array(
    array: Any, scalar: Any, axes: list[str] | None, name: str, lengths: dict[str, int]
) -> None:
    """Compare an array with its dtype and the lengths known so far, and add its own."""
    if not isinstance(array, np.ndarray) or not np.issubdtype(array.dtype, scalar):
        got = array.dtype if isinstance(array, np.ndarray) else repr(array)[:100]
        raise invalid(name, f"{scalar.__name__} array", got)
    if axes is None:
        return
    for axis, length in zip(axes, array.shape, strict=False):
        lengths.setdefault(axis, int(axis) if axis.isdecimal() else length)
    if array.shape != tuple(map(lengths.get, axes)):
        raise invalid(name, f"an array of shape ({', '.join(axes)})", array.shape)


def _join(name: str, part: Any) -> str:
    return f"{name}.{part}" if name else str(part)

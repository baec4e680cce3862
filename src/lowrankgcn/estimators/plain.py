"""Parameters and classes as values that JSON can hold, and back; nothing here runs foreign code.

>>> from lowrankgcn.spectral.filters import Heat
>>> to_plain((Heat(4.0), None))
{'tuple': [{'filter': 'Heat', 'fields': {'time': 4.0}}, None]}
>>> from_plain(to_plain((Heat(4.0), None)))
(Heat(time=4.0), None)
>>> from_plain(to_plain(len))
NotSaved('<built-in function len>')
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid, positive_int
from lowrankgcn.spectral import filters
from lowrankgcn.spectral.filters.base import Scaled, Sum

__all__ = ["NotSaved", "classes_from_plain", "classes_to_plain", "from_plain", "to_plain"]

_FILTERS: dict[str, type[filters.Filter]] = {
    kind.__name__: kind
    for kind in (
        filters.Constant,
        filters.Heat,
        filters.HighPass,
        filters.Linear,
        filters.Polynomial,
        filters.Pseudoinverse,
        filters.Quadratic,
        filters.RegularizedInverse,
        filters.ZeroImpulse,
        Scaled,
        Sum,
    )
}
_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_NUMBERS = ("bool", "float16", "float32", "float64", *_INTEGERS)
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_LONGEST_TEXT = 500
_WIDEST = 1024  # texts of classes may be stored wider than any of them is


@final
@dataclass(frozen=True)
class NotSaved:
    """Stands for a parameter that a file does not keep: a graph, a function, a generator.

    Attributes
    ----------
    text : str
        How the parameter was printed.
    """

    text: str

    def __repr__(self) -> str:
        """The text, marked."""
        return f"NotSaved({self.text!r})"


def to_plain(value: Any) -> Any:
    """Turn a parameter into JSON values.

    None, booleans, numbers, texts, lists, tuples, mappings and the library's filters come back as
    they are, NumPy scalars as Python's; everything else as :class:`NotSaved`.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if type(value) is list:
        return [to_plain(part) for part in value]
    if type(value) is tuple:
        return {"tuple": [to_plain(part) for part in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[to_plain(key), to_plain(part)] for key, part in value.items()]}
    if isinstance(value, filters.Filter) and _FILTERS.get(type(value).__name__) is type(value):
        names = [field.name for field in fields(value)]  # type: ignore[arg-type]
        parts = {name: to_plain(getattr(value, name)) for name in names}
        return {"filter": type(value).__name__, "fields": parts}
    if isinstance(value, NotSaved):
        return {"not saved": value.text}
    # Addresses say nothing, and differ each time.
    return {"not saved": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))[:_LONGEST_TEXT]}


def from_plain(value: Any) -> Any:
    """Restore what :func:`to_plain` returned; ValueError if it is something else."""
    if isinstance(value, list):
        return [from_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value), None)
    if kind == "filter":
        return _filter(value)
    if len(value) == 1:
        inner = value[kind]
        if kind == "float" and isinstance(inner, str) and inner in _NOT_FINITE:
            return _NOT_FINITE[inner]
        if kind == "tuple" and isinstance(inner, list):
            return tuple(from_plain(part) for part in inner)
        if kind == "mapping" and isinstance(inner, list):
            return _mapping(inner)
        if kind == "not saved" and isinstance(inner, str):
            return NotSaved(inner)
    raise invalid("parameter", "a value, tuple, mapping or filter", repr(value)[:100])


def _mapping(pairs: list[Any]) -> dict[Any, Any]:
    try:
        return {from_plain(key): from_plain(part) for key, part in pairs}
    except TypeError:
        raise invalid("mapping", "pairs of key and value", repr(pairs)[:100]) from None


def _filter(value: dict[str, Any]) -> filters.Filter:
    name, parts = value["filter"], value.get("fields")
    if not isinstance(name, str) or name not in _FILTERS or not isinstance(parts, dict):
        raise invalid("filter", f"one of {', '.join(_FILTERS)}", repr(name)[:100])
    made = {key: from_plain(part) for key, part in parts.items()}
    try:
        return _FILTERS[name](**made)
    except (TypeError, OverflowError, AttributeError):
        raise invalid("filter", f"parameters of {name}", repr(parts)[:100]) from None


def classes_to_plain(classes: NDArray[Any]) -> dict[str, Any]:
    """Turn classes, numbers or texts, into JSON values.

    Examples
    --------
    >>> classes_to_plain(np.array(["no", "yes"]))
    {'dtype': 'str', 'values': ['no', 'yes'], 'width': 3}

    Raises
    ------
    ValueError
        If a class is neither a number nor a text.
    """
    values = [value.item() if isinstance(value, np.generic) else value for value in classes]
    if classes.dtype.kind == "U":
        width = classes.dtype.itemsize // 4
        longest = max(map(len, values), default=1)
        kept = width if width <= _WIDEST else longest
        return {"dtype": "str", "values": values, "width": kept}
    name = classes.dtype.name
    odd = [value for value in values if not _is_class(value)]
    if odd or name not in (*_NUMBERS, "object"):
        got = repr(odd[0]) if odd else f"dtype {name}"
        raise invalid("classes_", "texts or finite numbers, to be saved", got)
    return {"dtype": name, "values": values}


def classes_from_plain(data: Any) -> NDArray[Any]:
    """Restore what :func:`classes_to_plain` returned; ValueError if it is something else."""
    values = data.get("values") if isinstance(data, dict) else None
    if not isinstance(values, list) or not all(map(_is_class, values)):
        raise invalid("classes", "a list of texts or finite numbers", repr(data)[:100])
    if len(values) < 2 or len(set(values)) < len(values):
        raise invalid("classes", "two or more distinct classes", repr(values)[:100])
    name, texts = data.get("dtype"), sum(isinstance(value, str) for value in values)
    if name == "object":
        classes = np.empty(len(values), object)
        classes[:] = values
        return classes
    if name == "str" and texts == len(values):
        longest = max(1, *map(len, values))
        limit = max(longest, _WIDEST)
        width = positive_int(data.get("width"), "width", minimum=longest, maximum=limit)
        return np.array(values, dtype=f"U{width}")
    if name in _NUMBERS and not texts:
        try:
            numbers = np.array(values, dtype=name)
        except (TypeError, ValueError, OverflowError):
            numbers = np.zeros(0)
        if numbers.tolist() == values:
            return numbers
    raise invalid("classes", f"values of dtype {str(name)[:20]}", repr(values)[:100])


def _is_class(value: Any) -> bool:
    return type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value))

"""A reader of pickles that cannot run code.

Several benchmark files are pickles. They are not unpickled: their operations are interpreted as
arrays, numbers, texts, lists, sets and dictionaries, and everything else is refused.

>>> import pickle
>>> read_pickle(pickle.dumps({"nodes": [1, 2]}), "example")
{'nodes': [1, 2]}
"""

from __future__ import annotations

import pickletools
from typing import Any

import numpy as np
import scipy.sparse as sp

from lowrankgcn._validation import invalid


class _Name(str):
    """Name of a function or class in a pickle."""


class _Made(list[Any]):
    """A call in a pickle that is not made: name of the function, arguments, and perhaps state."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # numbers of NumPy are in sets


_RENAMED = {"numpy.core": "numpy._core", "__builtin__": "builtins", "copy_reg": "copyreg"}
_CSR = ("csr_array", "csr_matrix")


def read_pickle(content: bytes, name: str) -> Any:
    """Read arrays, csr matrices and containers from a pickle; `name` is for errors.

    The operations of the file are interpreted here. It cannot import or call anything: functions
    are names, and only those of arrays have a meaning.

    >>> import pickle
    >>> read_pickle(pickle.dumps(print), "example")
    Traceback (most recent call last):
        ...
    ValueError: example: expected a pickle of arrays, got builtins.print is not allowed
    """
    try:
        return _value(_interpreted(content))
    except Exception as error:  # a damaged pickle may raise any
        raise invalid(name, "a pickle of arrays", error) from None


def _interpreted(content: bytes) -> Any:
    """Return containers, numbers, texts, and calls as lists of name, arguments and state."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def popped() -> list[Any]:
        """Take what lies above the last mark from the stack."""
        start = marks.pop()
        items = stack[start:]
        del stack[start:]
        return items

    def last(count: int) -> list[Any]:
        items = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        return items

    for operation, argument, _ in pickletools.genops(content):
        match operation.name:
            case "PROTO" | "FRAME" | "STOP":
                pass
            case "MARK":
                marks.append(len(stack))
            case "NONE" | "NEWTRUE" | "NEWFALSE":
                stack.append({"NONE": None, "NEWTRUE": True, "NEWFALSE": False}[operation.name])
            case "EMPTY_DICT" | "EMPTY_LIST" | "EMPTY_SET" | "EMPTY_TUPLE":
                kinds: dict[str, Any] = {"DICT": dict, "LIST": list, "SET": set, "TUPLE": tuple}
                stack.append(kinds[operation.name[6:]]())
            case "TUPLE" | "LIST":
                stack.append((tuple if operation.name == "TUPLE" else list)(popped()))
            case "DICT":
                items = popped()
                stack.append(dict(zip(items[::2], items[1::2], strict=True)))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(tuple(last(int(operation.name[-1]))))
            case "APPEND" | "APPENDS":
                items = last(1) if operation.name == "APPEND" else popped()
                stack[-1].extend(items)
            case "ADDITEMS":
                items = popped()
                stack[-1].update(items)
            case "SETITEM" | "SETITEMS":
                items = last(2) if operation.name == "SETITEM" else popped()
                stack[-1].update(zip(items[::2], items[1::2], strict=True))
            case "PUT" | "BINPUT" | "LONG_BINPUT" | "MEMOIZE":
                memo[len(memo) if argument is None else int(argument)] = stack[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                stack.append(memo[int(str(argument))])
            case "GLOBAL" | "STACK_GLOBAL":
                module, function = last(2) if argument is None else argument.split(" ")
                for old, new in _RENAMED.items():
                    module = module.replace(old, new)
                stack.append(_Name(f"{module}.{function}"))
            case "REDUCE" | "NEWOBJ":
                stack.append(_called(*last(2)))
            case "BUILD":
                state = stack.pop()
                stack[-1].append(state)
            case _ if argument is not None:  # a number, a text or bytes
                stack.append(argument)
            case other:
                raise ValueError(f"{other} is not allowed")
    return stack.pop()


def _called(function: str, arguments: Any) -> Any:
    """Return what a call in a pickle stands for."""
    match function, arguments:
        case "_codecs.encode", (text, "latin1"):
            return text.encode("latin1")
        case "builtins.set", (items,):
            return set(items)
        case "collections.defaultdict", _:
            return {}
        case "copyreg._reconstructor", (kind, *_):
            return _Made([kind, ()])
    return _Made([function, arguments])


def _value(one: Any) -> Any:
    """Return containers with arrays in place of the calls that make them."""
    if isinstance(one, _Made):
        return _array(*one)
    if isinstance(one, dict):
        return {_value(key): _value(value) for key, value in one.items()}
    if isinstance(one, _Name):
        raise ValueError(f"{one} is not allowed")
    return type(one)(map(_value, one)) if isinstance(one, (list, tuple, set)) else one


def _array(function: str, arguments: Any, state: Any = None) -> Any:
    """Return an array, a number, a dtype or a csr matrix."""
    name = function.rsplit(".", 1)[-1]
    package = function.partition(".")[0]
    if package == "scipy" and name in _CSR:
        parts = {key: _value(value) for key, value in state.items()}
        matrix = sp.csr_array(
            (parts["data"], parts["indices"], parts["indptr"]), shape=parts["_shape"]
        )
        matrix.check_format(full_check=True)
        return matrix
    if package != "numpy" or name not in ("dtype", "_reconstruct", "scalar", "_frombuffer"):
        raise ValueError(f"{function} is not allowed")
    if name == "dtype":
        return np.dtype(arguments[0]).newbyteorder("=" if state is None else state[1])
    if name == "_reconstruct":
        _, shape, kind, by_columns, data = state
        order: Any = "F" if by_columns else "C"
    elif name == "scalar":
        (kind, data), shape, order = arguments, (), "C"
    else:
        data, kind, shape, order = arguments
    data = data.encode("latin1") if isinstance(data, str) else data
    dtype = _value(kind)
    if dtype.hasobject:
        raise ValueError("an array of objects is not allowed")
    array = np.frombuffer(data, dtype).reshape(shape, order=order)
    return array[()] if name == "scalar" else array.copy()

"""Validation of user input, with one message style: argument, requirement, value received.

>>> positive_int(0, "k")
Traceback (most recent call last):
    ...
ValueError: k: expected an integer >= 1, got 0
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

MOST_NODES = 2**48  # beyond any memory, within SciPy's index types
LARGEST_OPTION = 1e30  # of training, so that products with it are finite in single precision


def invalid(name: str, expected: str, got: object) -> ValueError:
    """Return a ValueError in the message style of the package."""
    return ValueError(f"{name}: expected {expected}, got {got}")


def set_fields(instance: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass during construction."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def choice(value: Any, name: str, options: Iterable[str]) -> str:
    """Return `value` if it is one of `options`."""
    options = tuple(options)
    if not isinstance(value, str) or value not in options:
        raise invalid(name, "one of " + ", ".join(map(repr, options)), repr(value))
    return value


def positive_int(value: Any, name: str, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return `value` as an int within the bounds; reject booleans and fractions."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < minimum or (maximum is not None and value > maximum):
        upper = "" if maximum is None else f" and <= {maximum}"
        raise invalid(name, f"an integer >= {minimum}{upper}", int(value) if whole else repr(value))
    return int(value)


def node_count(value: Any, name: str, least: int) -> int:
    """Return `value` as a number of nodes or hyperedges, `least` if it is None."""
    return least if value is None else positive_int(value, name, minimum=least, maximum=MOST_NODES)


def finite_float(value: Any, name: str, expected: str = "a finite number") -> float:
    """Return `value` as a finite float of any sign; reject booleans."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise invalid(name, expected, repr(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise invalid(name, expected, number)
    return number


def positive_float(
    value: Any, name: str, *, zero: bool = False, maximum: float = math.inf, below: float = math.inf
) -> float:
    """Return `value` as a finite float > 0 (>= 0 with `zero`), <= `maximum` and < `below`."""
    expected = "a finite number >= 0" if zero else "a finite number > 0"
    expected += "" if math.isinf(maximum) else f" and <= {maximum:g}"
    expected += "" if math.isinf(below) else f" and < {below:g}"
    number = finite_float(value, name, expected)
    # A float32 value such as np.float32(0.1) may lie slightly above its maximum.
    too_large = number > maximum * (1 + 1e-6) or number >= below
    if number < 0 or (number == 0 and not zero) or too_large:
        raise invalid(name, expected, number)
    return number


def finite_array(
    value: Any, name: str, *, ndim: int | tuple[int, ...] | None = None
) -> NDArray[np.float64]:
    """Return `value` as a finite float64 array of `ndim` dimensions, any number if None."""
    allowed = (ndim,) if isinstance(ndim, int) else ndim
    expected = "a real numeric array"
    if allowed:
        plural = "" if allowed == (1,) else "s"
        expected += f" with {' or '.join(map(str, allowed))} dimension{plural}"
    if sp.issparse(value):
        raise invalid(name, "a dense array", f"a sparse {value.format} matrix")
    if np.ma.isMaskedArray(value) and np.ma.is_masked(value):
        raise invalid(name, "no masked entries", f"{np.sum(value.mask)} of them")
    try:
        raw = np.asarray(value)
        # float("1") would succeed, but text is a category, not a number.
        texts = raw.dtype.kind == "O" and any(isinstance(x, (str, bytes)) for x in raw.ravel())
        if raw.dtype.kind not in "biufO" or texts:
            raise TypeError("not numeric")
        with np.errstate(over="ignore"):  # the check below reports the infinity
            array = raw.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        dtype = f" of dtype {value.dtype}" if hasattr(value, "dtype") else ""
        # A tensor may record gradients or be on another device.
        reason = f": {error}" if isinstance(error, RuntimeError) else ""
        raise invalid(name, expected, type(value).__name__ + dtype + reason) from None
    if allowed is not None and array.ndim not in allowed:
        raise invalid(name, expected, f"shape {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        bad = np.argwhere(~finite)
        place = tuple(bad[0].tolist())
        got = f"{array[place]} at index {place} ({len(bad)} such entries)"
        raise invalid(name, "finite entries", got)
    return array


def points_array(value: Any, name: str = "points") -> NDArray[np.float64]:
    """Return `value` as a float64 array (n_nodes, n_features) with at least one of each."""
    array = finite_array(value, name, ndim=2)
    if array.shape[0] < 1 or array.shape[1] < 1:
        raise invalid(name, "at least one row and one column", f"shape {array.shape}")
    return array


def integer_array(
    value: Any, name: str, *, ndim: int, maximum: int = MOST_NODES - 1
) -> NDArray[Any]:
    """Return `value` as an integer array of `ndim` dimensions with entries in 0..`maximum`."""
    array = _raw_array(value, name)
    if array.ndim != ndim or (array.size and array.dtype.kind not in "iu"):
        expected = f"an integer array with {ndim} dimension{'s' * (ndim != 1)}"
        raise invalid(name, expected, f"{array.dtype} of shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() > maximum):
        raise invalid(name, f"indices in 0..{maximum}", f"{array.min()}..{array.max()}")
    return array


def node_index(value: Any, name: str, n_nodes: int) -> NDArray[np.intp]:
    """Return `value`, integers or a boolean mask, as a 1-D index into ``range(n_nodes)``."""
    array = _raw_array(value, name)
    if array.dtype == bool:
        if array.shape != (n_nodes,):
            raise invalid(name, f"a mask of shape ({n_nodes},)", f"shape {array.shape}")
        return np.flatnonzero(array)
    return integer_array(array, name, ndim=1, maximum=n_nodes - 1).astype(np.intp, copy=False)


def pair_index(value: Any, name: str) -> NDArray[np.int64]:
    """Return `value` as an integer array of shape (2, m) with entries >= 0; m may be 0."""
    array = integer_array(value, name, ndim=2)
    if len(array) != 2:
        expected = "an integer array of shape (2, m), the transpose of a list of pairs"
        raise invalid(name, expected, f"shape {array.shape}")
    return array.astype(np.int64, copy=False)


def expect_shape(array: NDArray[Any], name: str, *shape: int | None) -> None:
    """Reject an array of another shape; None stands for any length."""
    if len(shape) != array.ndim or any(
        wanted not in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
    ):
        lengths = ", ".join("?" if length is None else str(length) for length in shape)
        raise invalid(name, f"an array of shape ({lengths})", f"shape {array.shape}")


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a local generator for None, an int seed, or a generator to share."""
    if random_state is not None and not isinstance(random_state, np.random.Generator):
        random_state = positive_int(random_state, "random_state", minimum=0)
    return np.random.default_rng(random_state)


def _raw_array(value: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        raise invalid(name, "an array", "a ragged list") from None


def is_unicode(text: str) -> bool:
    r"""Return whether a text has no half of a character, which JSON may contain.

    >>> is_unicode("é"), is_unicode("\ud800")
    (True, False)
    """
    return text.encode(errors="replace") == text.encode(errors="surrogatepass")

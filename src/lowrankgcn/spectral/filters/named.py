"""Filters from what users write: a name, a function, a filter, or a list of these.

>>> [str(f) for f in as_filters(["linear", Heat(time=4.0), np.cos])]
['linear', 'heat (time=4)', 'cos']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import choice, invalid
from lowrankgcn.spectral.filters.base import Filter
from lowrankgcn.spectral.filters.library import (
    Constant,
    Custom,
    Heat,
    HighPass,
    Linear,
    Pseudoinverse,
    Quadratic,
    RegularizedInverse,
    ZeroImpulse,
)

__all__ = ["FilterLike", "as_filter", "as_filters"]

FilterLike = Filter | str | Callable[[NDArray[np.float64]], Any]

_NAMED: dict[str, Filter] = {
    f.name: f
    for f in (
        Linear(),
        Quadratic(),
        Pseudoinverse(),
        RegularizedInverse(),
        Heat(),
        Constant(),
        HighPass(),
        ZeroImpulse(),
    )
}


def as_filter(spec: FilterLike) -> Filter:
    """Return the filter that `spec` means.

    Parameters
    ----------
    spec : Filter, str or callable
        A filter; a name ("linear", "quadratic", "pseudoinverse", "regularized-inverse", "heat",
        "constant", "high-pass", "zero-impulse") for one with its default parameters; or a function
        of an array of eigenvalues, as in :class:`Custom`.

    Returns
    -------
    Filter

    Examples
    --------
    >>> as_filter("regularized-inverse")
    RegularizedInverse(epsilon=0.05)
    """
    if isinstance(spec, Filter):
        return spec
    if isinstance(spec, str):
        return _NAMED[choice(spec, "filter", _NAMED)]
    if isinstance(spec, type) and issubclass(spec, Filter):
        raise invalid("filter", f"an instance, {spec.__name__}(...)", f"the class {spec.__name__}")
    if callable(spec):
        return Custom(spec)
    raise invalid("filter", "a Filter, a filter's name or a function", repr(spec))


def as_filters(spec: FilterLike | Sequence[FilterLike]) -> tuple[Filter, ...]:
    """Return the K filters that `spec` means: one spec of :func:`as_filter`, or a list of them.

    Examples
    --------
    >>> as_filters(["linear", "constant"])
    (Linear(largest=1.0), Constant(value=1.0))
    >>> as_filters("linear")
    (Linear(largest=1.0),)
    """
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        if not spec:
            raise invalid("filter", "at least one filter", "an empty list")
        return tuple(as_filter(part) for part in spec)
    return (as_filter(spec),)

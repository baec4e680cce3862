"""Spectral filters: scalar functions φ that a kernel applies to the Laplacian's eigenvalues.

A filter weighs the eigenvectors in the kernel 𝒦 = U φ(Λ) Uᵀ. Small non-zero
eigenvalues belong to clusters, large ones to noise, and 0 to whole connected components, so a good
filter is large for small λ > 0 and small for large λ (paper, section 2.3, principle DP3):

>>> import lowrankgcn as lg
>>> eigenvalues = [0.0, 0.2, 1.0]
>>> lg.filters.Linear()(eigenvalues)
array([1. , 0.8, 0. ])
>>> lg.filters.Pseudoinverse().bind(smallest_nonzero=0.2)(eigenvalues)
array([0. , 1. , 0.2])

Overview (λ₂ the smallest non-zero, λₙ the largest eigenvalue; "auto" uses those of the spectrum):

=========================== ============================ ===========================================
filter                      φ(λ)                         keeps
=========================== ============================ ===========================================
:class:`Linear`             1 − λ/λₙ                     low frequencies, gently (the classical GCN)
:class:`Quadratic`          (1 − λ/λₙ)²                  low frequencies, more strictly
:class:`Polynomial`         a₀ + a₁λ + a₂λ² + …          anything, without eigenvalues
:class:`Pseudoinverse`      λ₂/λ, 0 at λ = 0             clusters, most strictly; drops components
:class:`RegularizedInverse` 1/(λ + ε)                    clusters and components
:class:`Heat`               exp(−tλ)                     low frequencies, over diffusion time t
:class:`Constant`           c                            everything alike (c = 1: the identity)
:class:`HighPass`           1 for λ > cutoff, else 0     everything above the cutoff
:class:`ZeroImpulse`        1 at λ = 0, else 0           connected components only
:class:`Custom`             any function                 any part of the spectrum
:class:`Sum`                φ₁(λ) + φ₂(λ) + …            ``f + g``
:class:`Scaled`             c φ(λ)                       ``c * f``
=========================== ============================ ===========================================

Laplacians are positive semidefinite, so an eigenvalue below zero is a zero with a rounding error,
and filters that treat 0 apart treat it as 0.

Names, functions and lists are converted by :func:`as_filter` and :func:`as_filters`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import choice, invalid
from lowrankgcn.spectral.filters.filter import Filter, Scaled, Sum
from lowrankgcn.spectral.filters.library import (
    Constant,
    Custom,
    Heat,
    HighPass,
    Linear,
    Polynomial,
    Pseudoinverse,
    Quadratic,
    RegularizedInverse,
    ZeroImpulse,
)

__all__ = [
    "Constant",
    "Custom",
    "Filter",
    "FilterLike",
    "Heat",
    "HighPass",
    "Linear",
    "Polynomial",
    "Pseudoinverse",
    "Quadratic",
    "RegularizedInverse",
    "Scaled",
    "Sum",
    "ZeroImpulse",
    "as_filter",
    "as_filters",
]

FilterLike = Filter | str | Callable[[NDArray[np.float64]], Any]

_SIMPLE = (
    Linear,
    Quadratic,
    Pseudoinverse,
    RegularizedInverse,
    Heat,
    Constant,
    HighPass,
    ZeroImpulse,
)
_NAMED: dict[str, Filter] = {phi.name: phi for phi in (simple() for simple in _SIMPLE)}


def as_filter(spec: FilterLike) -> Filter:
    """Return the filter that `spec` describes.

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
    >>> import lowrankgcn as lg
    >>> lg.filters.as_filter("regularized-inverse")
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
    """Return the K filters that `spec` describes: one spec of ``as_filter``, or a list of them.

    Examples
    --------
    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> lg.filters.as_filters(["linear", "constant"])
    (Linear(largest=1.0), Constant(value=1.0))
    >>> lg.filters.as_filters("linear")
    (Linear(largest=1.0),)
    >>> [str(f) for f in lg.filters.as_filters([lg.filters.Heat(time=4.0), np.cos])]
    ['heat (time=4)', 'cos']
    """
    if isinstance(spec, Sequence) and not isinstance(spec, str):
        if not spec:
            raise invalid("filter", "at least one filter", "an empty list")
        return tuple(as_filter(part) for part in spec)
    return (as_filter(spec),)

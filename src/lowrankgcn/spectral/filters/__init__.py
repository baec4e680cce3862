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
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import (
    choice,
    finite_array,
    finite_float,
    invalid,
    positive_float,
    set_fields,
)
from lowrankgcn.spectral.filters.filter import Filter, FloatArray, Scaled, Sum, filter_class

__all__ = ["Constant", "Custom", "Heat", "HighPass", "Linear", "Polynomial", "Pseudoinverse"]
__all__ += ["Quadratic", "RegularizedInverse", "Scaled", "Sum", "ZeroImpulse"]
__all__ += ["Filter", "FilterLike", "as_filter", "as_filters"]

FilterLike = Filter | str | Callable[[FloatArray], Any]
Auto = Literal["auto"]


def positive_or_auto(value: Any, name: str) -> float | Auto:
    """Return a positive number or "auto"."""
    if isinstance(value, str) and value == "auto":
        return "auto"
    try:
        return positive_float(value, name)
    except ValueError:
        raise invalid(name, "a finite number > 0 or 'auto'", repr(value)) from None


@filter_class
class Linear(Filter):
    """φ(λ) = 1 − λ/λₙ, so 𝒦 = I − L/λₙ is as sparse as L (paper, equation 7).

    Parameters
    ----------
    largest : float > 0 or "auto"
        λₙ: the largest eigenvalue ("auto") or an estimate; 1 is right for hypergraphs.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.filters.Linear()([0.0, 0.5, 1.0])
    array([1. , 0.5, 0. ])
    >>> lg.filters.Linear(largest=2).coefficients
    (1.0, -0.5)
    """

    largest: Annotated[float | Auto, positive_or_auto] = 1.0
    _auto = ("largest", "largest")

    @property
    def coefficients(self) -> tuple[float, ...] | None:
        """(1, −1/λₙ)."""
        return None if self.largest == "auto" else (1.0, -1.0 / self.largest)

    def _response(self, eigenvalues: FloatArray) -> FloatArray:
        return 1.0 - eigenvalues / float(self.largest)


@filter_class
class Quadratic(Filter):
    """φ(λ) = (1 − λ/λₙ)², which damps high frequencies more than the linear filter (equation 8).

    Parameters
    ----------
    largest : float > 0 or "auto"
        λₙ as in :class:`Linear`.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.filters.Quadratic()([0.0, 0.5, 1.0])
    array([1.  , 0.25, 0.  ])
    >>> lg.filters.Quadratic("auto").bind(largest=2.0).coefficients
    (1.0, -1.0, 0.25)
    """

    largest: Annotated[float | Auto, positive_or_auto] = 1.0
    _auto = ("largest", "largest")

    @property
    def coefficients(self) -> tuple[float, ...] | None:
        """(1, −2/λₙ, 1/λₙ²)."""
        if self.largest == "auto":
            return None
        # Not 1/λₙ²: Python raises where its square overflows or vanishes.
        return (1.0, -2.0 / self.largest, 1.0 / self.largest / self.largest)

    def _response(self, eigenvalues: FloatArray) -> FloatArray:
        # The square is never negative; the expanded form can be, by rounding, near λₙ.
        return np.asarray((1.0 - eigenvalues / float(self.largest)) ** 2)


@filter_class
class Polynomial(Filter):
    """φ(λ) = a₀ + a₁λ + … + a_p λᵖ: the kernel needs products with L only (section 2.3.1).

    Parameters
    ----------
    coefficients : sequence of float
        a₀, a₁, …, lowest degree first; at least one.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.filters.Polynomial([2, -1])([0.0, 1.0, 2.0])  # 2I − L, see section A2.4
    array([2., 1., 0.])
    """

    coefficients: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        array = finite_array(self.coefficients, "coefficients", ndim=1)
        if not array.size:
            raise invalid("coefficients", "at least one number", "none")
        set_fields(self, coefficients=tuple(array.tolist()))

    def _response(self, eigenvalues: FloatArray) -> Any:
        return np.polynomial.polynomial.polyval(eigenvalues, self.coefficients)


@filter_class
class Pseudoinverse(Filter):
    """φ(λ) = scale/λ for λ > 0 and 0 at λ = 0, so 𝒦 = scale · L⁺ (equations 3 and 9).

    The paper's best filter. It drops the null space: on a graph of many components those vectors
    are informative, and :class:`RegularizedInverse` keeps them.

    Parameters
    ----------
    scale : float > 0 or "auto"
        "auto" is λ₂, which makes the largest response 1.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.filters.Pseudoinverse(scale=0.5)([0.0, 0.5, 1.0])
    array([0. , 1. , 0.5])
    """

    scale: Annotated[float | Auto, positive_or_auto] = "auto"
    _auto = ("scale", "smallest_nonzero")

    def _response(self, eigenvalues: FloatArray) -> FloatArray:
        zeros = np.zeros_like(eigenvalues)
        return np.divide(float(self.scale), eigenvalues, out=zeros, where=eigenvalues > 0)


@filter_class
class RegularizedInverse(Filter):
    """φ(λ) = 1/(λ + ε), so 𝒦 = (L + εI)⁻¹: a pseudoinverse that keeps the null space.

    Parameters
    ----------
    epsilon : float > 0
        Eigenvalues well above it are inverted, those well below count alike.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.filters.RegularizedInverse(0.25)([0.0, 0.75])
    array([4., 1.])
    """

    epsilon: Annotated[float, positive_float] = 0.05

    def _response(self, eigenvalues: FloatArray) -> FloatArray:
        return 1.0 / (eigenvalues + self.epsilon)


@filter_class
class Heat(Filter):
    """φ(λ) = exp(−tλ): heat spread along the edges for a time t.

    Parameters
    ----------
    time : float > 0
        Larger times suppress more eigenvectors.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.filters.Heat(time=2.0)([0.0, 0.5]).round(3)
    array([1.   , 0.368])
    """

    time: Annotated[float, positive_float] = 1.0

    def _response(self, eigenvalues: FloatArray) -> FloatArray:
        return np.exp(-self.time * eigenvalues)


@filter_class
class Constant(Filter):
    """φ(λ) = c: 𝒦 = cI, or at rank r the multiple c of the projector onto the eigenvectors kept.

    Parameters
    ----------
    value : float
        The constant c.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> (lg.filters.Constant() + lg.filters.Polynomial([0, -0.5])).coefficients
    (1.0, -0.5)
    """

    value: Annotated[float, finite_float] = 1.0

    @property
    def coefficients(self) -> tuple[float, ...]:
        """(c,)."""
        return (self.value,)

    def _response(self, eigenvalues: FloatArray) -> FloatArray:
        return np.full_like(eigenvalues, self.value)


@filter_class
class HighPass(Filter):
    """φ(λ) = 1 for λ > cutoff, else 0; at cutoff 0 the complement of ``ZeroImpulse``.

    Parameters
    ----------
    cutoff : float >= 0
        The largest eigenvalue removed.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.filters.HighPass()([0.0, 0.1, 1.0])
    array([0., 1., 1.])
    """

    cutoff: Annotated[float, partial(positive_float, zero=True)] = 0.0

    def _response(self, eigenvalues: FloatArray) -> NDArray[np.bool_]:
        return eigenvalues > self.cutoff


@filter_class
class ZeroImpulse(Filter):
    """φ(λ) = 1 at λ = 0, else 0: averages over each connected component.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> lg.filters.ZeroImpulse()([0.0, 0.1, 1.0])
    array([1., 0., 0.])
    """

    def _response(self, eigenvalues: FloatArray) -> NDArray[np.bool_]:
        return eigenvalues <= 0


@final
@dataclass(frozen=True)
class Custom(Filter):
    """φ = any function of a 1-D float64 array of eigenvalues that returns one number for each.

    Parameters
    ----------
    function : callable
        (k,) -> (k,), real and finite.
    name : str, optional
        For messages and legends; by default the function's own name.

    Examples
    --------
    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> lg.filters.Custom(np.cos, name="cosine")([0.0])
    array([1.])
    """

    function: Callable[[FloatArray], Any]
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise invalid("function", "a function of the eigenvalues", repr(self.function))
        if not isinstance(self.name, str):
            raise invalid("name", "text", repr(self.name))
        set_fields(self, name=self.name or getattr(self.function, "__name__", "custom"))

    def __str__(self) -> str:
        """Show the name."""
        return self.name

    def _response(self, eigenvalues: FloatArray) -> Any:
        # A copy, because the function may work in place.
        return self.function(eigenvalues.copy())


_SIMPLE: tuple[type[Filter], ...] = (Linear, Quadratic, Pseudoinverse, RegularizedInverse)
_SIMPLE += (Heat, Constant, HighPass, ZeroImpulse)
_NAMED = {phi.name: phi for phi in (simple() for simple in _SIMPLE)}


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

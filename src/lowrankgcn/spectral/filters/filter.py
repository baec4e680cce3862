"""The base class of filters: evaluation, binding to a spectrum, sums and multiples.

>>> from lowrankgcn.spectral.filters import Linear, ZeroImpulse
>>> f = Linear() + 0.5 * ZeroImpulse()
>>> f([0.0, 0.5, 1.0])
array([1.5, 0.5, 0. ])
>>> print(f)
linear + 0.5 * zero-impulse
"""

from __future__ import annotations

import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import Annotated, Any, ClassVar, TypeVar, dataclass_transform, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowrankgcn._codec import saved
from lowrankgcn._validation import finite_array, finite_float, invalid, positive_float, set_fields

FloatArray = NDArray[np.float64]
Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True)
def filter_class(cls: Class) -> Class:
    """Make a class of filters a frozen dataclass that may be in files."""
    dataclass(frozen=True)(cls)  # changes the class itself
    return saved(cls)


class Filter(ABC):
    """A scalar function φ on the spectrum; its subclasses are frozen dataclasses.

    ``f(eigenvalues)`` evaluates it, ``f + g`` and ``c * f`` combine filters.

    Notes
    -----
    A subclass defines ``_response`` for 1-D float64 arrays; a polynomial also ``coefficients``; one
    with an "auto" parameter names in ``_auto`` the parameter and the eigenvalue it stands for.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> f = lg.filters.Linear() + 0.5 * lg.filters.ZeroImpulse()
    >>> f([0.0, 0.5, 1.0])
    array([1.5, 0.5, 0. ])
    >>> print(f)
    linear + 0.5 * zero-impulse
    """

    _auto: ClassVar[tuple[str, str]] = ("", "")
    # None makes NumPy scalars defer to __rmul__: ``np.float64(2) * f`` is a Scaled, not an array.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        # Annotations name the functions that check parameters.
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            for check in getattr(hint, "__metadata__", ()):
                set_fields(self, **{name: check(getattr(self, name), name)})

    @abstractmethod
    def _response(self, eigenvalues: FloatArray) -> Any:
        """Evaluate φ at a 1-D array of eigenvalues."""

    def __call__(self, eigenvalues: ArrayLike) -> FloatArray:
        """Evaluate φ at each eigenvalue.

        Parameters
        ----------
        eigenvalues : array_like of any shape

        Returns
        -------
        ndarray of the same shape, float64

        Raises
        ------
        ValueError
            If a parameter is still "auto", or a response is not one finite real number each.
        """
        if self.needs:
            names = " and ".join(sorted(self.needs))
            expected = f"known {names} (call bind, or give a number instead of 'auto')"
            raise invalid(f"filter {self.name!r}", expected, "'auto'")
        values = finite_array(eigenvalues, "eigenvalues")
        subject = f"response of filter {self.name!r}"
        # Overflow and division by zero are reported as one error, not as warnings.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            response = finite_array(self._response(values.ravel()), subject, ndim=1)
        if len(response) != values.size:
            raise invalid(subject, f"{values.size} values, one per eigenvalue", len(response))
        return response.reshape(values.shape).copy()

    @property
    def name(self) -> str:
        """Short name; for the simple filters the one that :func:`as_filter` reads."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", type(self).__name__).lower()

    @property
    def needs(self) -> frozenset[str]:
        """Which of "smallest_nonzero" and "largest" must still be bound."""
        parameter, eigenvalue = self._auto
        return frozenset({eigenvalue} if getattr(self, parameter, None) == "auto" else ())

    def bind(self, smallest_nonzero: float | None = None, largest: float | None = None) -> Filter:
        """Return the filter with every "auto" replaced by the spectrum's own value.

        Parameters
        ----------
        smallest_nonzero, largest : float > 0, optional
            λ₂ and λₙ. One that the filter does not need is ignored; one left out stays "auto".

        Returns
        -------
        Filter
            Itself where there is nothing to bind.
        """
        parameter, eigenvalue = self._auto
        value = largest if eigenvalue == "largest" else smallest_nonzero
        if value is None or not self.needs:
            return self
        return type(self)(**{parameter: positive_float(value, eigenvalue)})

    @property
    def coefficients(self) -> tuple[float, ...] | None:
        """Coefficients (a₀, a₁, …) of a polynomial; None for others and while ``needs`` is open."""
        return None

    def __str__(self) -> str:
        """Show the name and the parameters other than the defaults, as in legends."""
        shown = ", ".join(
            f"{field.name}={_short(getattr(self, field.name))}"
            for field in fields(self)  # type: ignore[arg-type]
            if getattr(self, field.name) != field.default
        )
        return f"{self.name} ({shown})" if shown else self.name

    def __add__(self, other: Filter) -> Sum:
        """Add another filter."""
        if not isinstance(other, Filter):
            return NotImplemented
        return Sum((self, other))

    def __mul__(self, factor: float) -> Scaled:
        """Multiply by a number c."""
        if not isinstance(factor, numbers.Real):
            return NotImplemented
        return Scaled(factor, self)

    __rmul__ = __mul__


@filter_class
class Sum(Filter):
    """φ(λ) = φ₁(λ) + φ₂(λ) + …, written ``f + g``.

    Parameters
    ----------
    filters : sequence of Filter
        At least one; sums inside are flattened.

    Examples
    --------
    >>> from lowrankgcn.spectral.filters import Linear, ZeroImpulse
    >>> (Linear() + 0.5 * ZeroImpulse())([0.0, 0.5])
    array([1.5, 0.5])
    """

    filters: tuple[Filter, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.filters, Iterable):
            raise invalid("filters", "a sequence of filters", repr(self.filters))
        flat: list[Any] = []
        for part in self.filters:
            flat.extend(part.filters if isinstance(part, Sum) else (part,))
        if not flat or not all(isinstance(part, Filter) for part in flat):
            raise invalid("filters", "filters only, at least one", repr(flat))
        set_fields(self, filters=tuple(flat))

    def __str__(self) -> str:
        """Join the parts by plus signs."""
        return " + ".join(map(str, self.filters))

    name = property(__str__)

    @property
    def needs(self) -> frozenset[str]:
        """Union over the parts."""
        return frozenset().union(*(part.needs for part in self.filters))

    def bind(self, smallest_nonzero: float | None = None, largest: float | None = None) -> Filter:
        """Bind every part."""
        parts = tuple(part.bind(smallest_nonzero, largest) for part in self.filters)
        return self if parts == self.filters else Sum(parts)

    @property
    def coefficients(self) -> tuple[float, ...] | None:
        """Sums of the parts' coefficients, if all parts are polynomials."""
        rows = [part.coefficients or () for part in self.filters]
        if not all(rows):
            return None
        return tuple(float(sum(column)) for column in zip_longest(*rows, fillvalue=0.0))

    def _response(self, eigenvalues: FloatArray) -> Any:
        return np.sum([part(eigenvalues) for part in self.filters], axis=0)


@filter_class
class Scaled(Filter):
    """φ(λ) = c φ₁(λ), written ``c * f``.

    Parameters
    ----------
    factor : float
        The number c.
    filter : Filter
        φ₁; a scaled one inside is flattened.

    Examples
    --------
    >>> from lowrankgcn.spectral.filters import Heat
    >>> (2 * Heat())([0.0])
    array([2.])
    """

    factor: Annotated[float, finite_float]
    filter: Filter

    def __post_init__(self) -> None:
        if not isinstance(self.filter, Filter):
            raise invalid("filter", "a filter", repr(self.filter))
        if isinstance(self.filter, Scaled):
            set_fields(self, factor=self.factor * self.filter.factor, filter=self.filter.filter)
        super().__post_init__()

    def __str__(self) -> str:
        """Show the factor and the filter."""
        inner = f"({self.filter})" if isinstance(self.filter, Sum) else str(self.filter)
        return f"{self.factor:.4g} * {inner}"

    name = property(__str__)

    @property
    def needs(self) -> frozenset[str]:
        """Eigenvalues that the scaled filter needs."""
        return self.filter.needs

    def bind(self, smallest_nonzero: float | None = None, largest: float | None = None) -> Filter:
        """Bind the filter."""
        inner = self.filter.bind(smallest_nonzero, largest)
        return self if inner is self.filter else Scaled(self.factor, inner)

    @property
    def coefficients(self) -> tuple[float, ...] | None:
        """Scaled coefficients of a polynomial."""
        inner = self.filter.coefficients
        return None if inner is None else tuple(self.factor * a for a in inner)

    def _response(self, eigenvalues: FloatArray) -> FloatArray:
        return self.factor * self.filter(eigenvalues)


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_short, value)) + "]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

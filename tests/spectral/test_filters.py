"""Filters against the paper's formulas, and the algebra of sums, scalings and binding."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lowrankgcn.spectral import filters
from lowrankgcn.spectral.filters import (
    Constant,
    Custom,
    Filter,
    Heat,
    HighPass,
    Linear,
    Polynomial,
    Pseudoinverse,
    Quadratic,
    RegularizedInverse,
    Scaled,
    Sum,
    ZeroImpulse,
    as_filter,
    as_filters,
)

NAMES = [
    "linear",
    "quadratic",
    "pseudoinverse",
    "regularized-inverse",
    "heat",
    "constant",
    "high-pass",
    "zero-impulse",
]

# Each filter with its formula, one eigenvalue at a time and in plain Python.
ORACLES = [
    (Linear(), lambda x: 1 - x),
    (Linear(largest=1.5), lambda x: 1 - x / 1.5),
    (Quadratic(), lambda x: (1 - x) ** 2),
    (Quadratic(largest=2), lambda x: (1 - x / 2) ** 2),
    (Polynomial([1, -2, -1]), lambda x: 1 - 2 * x - x**2),
    (Polynomial([0, 0, 0, 4]), lambda x: 4 * x**3),
    (Pseudoinverse(scale=0.3), lambda x: 0.3 / x if x > 0 else 0.0),
    (RegularizedInverse(), lambda x: 1 / (x + 0.05)),
    (RegularizedInverse(epsilon=2), lambda x: 1 / (x + 2)),
    (Heat(), lambda x: math.exp(-x)),
    (Heat(time=7.5), lambda x: math.exp(-7.5 * x)),
    (Constant(), lambda x: 1.0),
    (Constant(value=-3), lambda x: -3.0),
    (HighPass(), lambda x: float(x > 0)),
    (HighPass(cutoff=1), lambda x: float(x > 1)),
    (ZeroImpulse(), lambda x: float(x == 0)),
    (Custom(np.sqrt), math.sqrt),
    (Linear() + 2 * Heat(), lambda x: 1 - x + 2 * math.exp(-x)),
    (-0.5 * (Constant() + ZeroImpulse()), lambda x: -0.5 * (1 + (x == 0))),
]

finite = st.floats(-4, 4)
polynomials: st.SearchStrategy[Filter] = st.deferred(
    lambda: st.one_of(
        st.builds(Linear, st.floats(0.5, 3)),
        st.builds(Quadratic, st.floats(0.5, 3)),
        st.builds(Constant, finite),
        st.builds(Polynomial, st.lists(finite, min_size=1, max_size=4)),
        st.builds(lambda f, g: f + g, polynomials, polynomials),
        st.builds(lambda c, f: c * f, finite, polynomials),
    )
)
others: st.SearchStrategy[Filter] = st.one_of(
    st.builds(Heat, st.floats(0.1, 9)),
    st.builds(RegularizedInverse, st.floats(0.01, 9)),
    st.builds(Pseudoinverse, st.floats(0.01, 1)),
    st.just(ZeroImpulse()),
    st.just(HighPass()),
)
# Half of them away from 0, so that a pseudoinverse does not overflow.
spectra = hnp.arrays(
    np.float64, st.integers(0, 8), elements=st.one_of(st.just(0.0), st.floats(1e-3, 2))
)


def test_filters_match_their_formulas() -> None:
    eigenvalues = np.array([0.0, 1e-9, 0.25, 0.3, 1.0, 1.75, 2.0])
    for phi, formula in ORACLES:
        expected = [formula(x) for x in eigenvalues.tolist()]
        np.testing.assert_allclose(phi(eigenvalues), expected, rtol=1e-14, err_msg=str(phi))


def test_filters_keep_the_shape_and_return_float64() -> None:
    for phi, _ in ORACLES:
        for shape in [(), (0,), (3,), (2, 2)]:
            response = phi(np.ones(shape, dtype=np.float32))
            assert isinstance(response, np.ndarray)
            assert response.shape == shape
            assert response.dtype == np.float64


def test_papers_low_rank_figure() -> None:
    # Section A2.2: with λ₂ = 0.3 and λₙ = 1.5 all three filters have maximum 1 on the spectrum.
    eigenvalues = np.array([0.0, 0.3, 0.4, 0.7, 0.75, 1.0, 1.5])
    for name in ["linear", "quadratic", "pseudoinverse"]:
        phi = dataclasses.replace(as_filter(name), **{_parameter(name): "auto"})  # type: ignore[type-var]
        response = phi.bind(0.3, 1.5)(eigenvalues)
        assert response.max() == 1.0
        assert response.min() == 0.0


def _parameter(name: str) -> str:
    return "scale" if name == "pseudoinverse" else "largest"


@given(polynomials, spectra)
def test_coefficients_reproduce_the_polynomial(phi: Filter, eigenvalues: Any) -> None:
    assert phi.coefficients is not None
    expected = sum(a * eigenvalues**k for k, a in enumerate(phi.coefficients))
    bound = sum(abs(a) * 2.0**k for k, a in enumerate(phi.coefficients))
    np.testing.assert_allclose(phi(eigenvalues), expected, atol=1e-11 * (1 + bound), rtol=0)


@given(polynomials | others, polynomials | others, finite, spectra)
def test_sums_and_multiples(phi: Filter, psi: Filter, c: float, eigenvalues: Any) -> None:
    np.testing.assert_allclose((phi + psi)(eigenvalues), phi(eigenvalues) + psi(eigenvalues))
    np.testing.assert_array_equal((c * phi)(eigenvalues), (phi * c)(eigenvalues))
    np.testing.assert_allclose((c * phi)(eigenvalues), c * phi(eigenvalues), rtol=1e-13)


@given(polynomials, others)
def test_sum_with_a_non_polynomial_is_none(phi: Filter, psi: Filter) -> None:
    assert (phi + psi).coefficients is None
    assert (2 * psi).coefficients is None


def test_zero_impulse_and_high_pass_split_the_identity() -> None:
    # A negative eigenvalue is a zero with a rounding error for both of them.
    eigenvalues = [-1e-17, 0.0, 1e-300, 0.5]
    np.testing.assert_array_equal((ZeroImpulse() + HighPass())(eigenvalues), 1.0)
    np.testing.assert_array_equal(ZeroImpulse()(eigenvalues), [1, 1, 0, 0])
    assert Pseudoinverse(scale=1.0)(-1e-17) == 0.0


def test_quadratic_is_never_negative_near_the_largest() -> None:
    eigenvalues = 1.3 + np.linspace(-1e-8, 1e-8, 101)
    assert (Quadratic(largest=1.3)(eigenvalues) >= 0).all()


def test_needs_and_bind() -> None:
    for auto, need, bound in [
        (Linear("auto"), "largest", Linear(1.5)),
        (Quadratic("auto"), "largest", Quadratic(1.5)),
        (Pseudoinverse(), "smallest_nonzero", Pseudoinverse(0.3)),
    ]:
        assert auto.needs == {need}
        assert auto.coefficients is None
        assert auto.bind(smallest_nonzero=0.3, largest=1.5) == bound
        assert auto.bind() is auto
        assert not bound.needs
        # What is already a number is the user's choice and stays.
        assert bound.bind(0.7, 1.9) is bound


def test_needs_and_bind_compose() -> None:
    phi = Linear("auto") + 0.5 * (Pseudoinverse() + Heat())
    assert phi.needs == {"largest", "smallest_nonzero"}
    half = phi.bind(largest=2.0)
    assert half.needs == {"smallest_nonzero"}
    bound = half.bind(smallest_nonzero=0.25)
    assert bound == Linear(2.0) + 0.5 * (Pseudoinverse(0.25) + Heat())
    assert bound.bind(0.1, 0.1) is bound
    assert (3 * Linear("auto")).bind(largest=2.0).coefficients == (3.0, -1.5)


def test_unbound_filters_cannot_be_evaluated() -> None:
    for phi in (Pseudoinverse(), Linear("auto"), 2 * Quadratic("auto")):
        (need,) = phi.needs
        with pytest.raises(ValueError, match=rf"filter '.*': expected known {need} \(call bind, "):
            phi([0.0, 1.0])


def test_bind_checks_what_it_uses() -> None:
    for bad in (0, -1.0, math.nan, math.inf, "1"):
        unchecked: Any = bad
        with pytest.raises(ValueError, match="smallest_nonzero: expected a finite number > 0, got"):
            Pseudoinverse().bind(smallest_nonzero=unchecked, largest=unchecked)
        with pytest.raises(ValueError, match="largest: expected a finite number > 0, got"):
            Linear("auto").bind(smallest_nonzero=unchecked, largest=unchecked)
        assert Heat().bind(unchecked, unchecked) == Heat()


def test_sums_and_multiples_are_flat() -> None:
    f, g, h = Linear(), Heat(), ZeroImpulse()
    assert ((f + g) + h) == (f + (g + h)) == Sum((f, g, h))
    assert 2 * (3 * f) == Scaled(6.0, f)
    assert np.float64(2) * f == f * 2 == Scaled(2.0, f)
    assert np.int64(2) * f == Scaled(2.0, f)


def test_filters_are_hashable_frozen_values() -> None:
    assert len({Linear(), Linear(1), Linear(largest=1.0), Polynomial([1, -1])}) == 2
    assert Polynomial(np.array([1, 2])).coefficients == (1.0, 2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Linear().largest = 2.0  # type: ignore[misc]


BAD_PARAMETERS: list[Any] = [
    (lambda: Linear(0), "largest: expected a finite number > 0 or 'auto', got 0"),
    (lambda: Linear("max"), "largest: expected a finite number > 0 or 'auto', got 'max'"),
    (lambda: Quadratic(-1.0), "largest: expected a finite number > 0 or 'auto', got -1.0"),
    (lambda: Pseudoinverse(math.inf), "scale: expected a finite number > 0 or 'auto', got inf"),
    (lambda: Polynomial(), "coefficients: expected at least one number, got none"),
    (lambda: Polynomial([1, math.nan]), "coefficients: expected finite entries, got nan at"),
    (lambda: Polynomial([[1, 2]]), "coefficients: expected a real numeric array with 1 dim"),
    (lambda: Heat(time=0), "time: expected a finite number > 0, got 0"),
    (lambda: Heat(time=True), "time: expected a finite number > 0, got True"),
    (lambda: RegularizedInverse(-0.1), "epsilon: expected a finite number > 0, got -0.1"),
    (lambda: HighPass(-1e-3), "cutoff: expected a finite number >= 0, got -0.001"),
    (lambda: Constant(math.inf), "value: expected a finite number, got inf"),
    (lambda: Constant("1"), "value: expected a finite number, got '1'"),
    (lambda: Custom(3), "function: expected a function of the eigenvalues, got 3"),
    (lambda: math.nan * Heat(), "factor: expected a finite number, got nan"),
    (lambda: Scaled(1.0, np.cos), "filter: expected a filter, got <ufunc 'cos'>"),
    (lambda: Constant(10**400), "value: expected a finite number, got inf"),
    (lambda: 1e200 * (1e200 * Heat()), "factor: expected a finite number, got inf"),
    (lambda: Custom(np.cos, name=3), "name: expected text, got 3"),
    (lambda: Sum(3), "filters: expected a sequence of filters, got 3"),
    (lambda: Sum(()), "filters: expected filters only, at least one, got []"),
    (
        lambda: Sum((Heat(), np.cos)),
        "filters: expected filters only, at least one, got [Heat(time=1.0), <ufunc 'cos'>]",
    ),
]


def test_bad_parameters_are_refused() -> None:
    for build, message in BAD_PARAMETERS:
        with pytest.raises(ValueError) as error:
            build()
        assert message in str(error.value)


BAD_RESPONSES: list[Any] = [
    (lambda x: 1 / x, "expected finite entries, got inf at index (0,) (1 such entries)"),
    (lambda x: np.sqrt(x - 1), "expected finite entries, got nan at index (0,) (2 such entries)"),
    (lambda x: 1.0, "expected a real numeric array with 1 dimension, got shape ()"),
    (lambda x: x[:1], "expected 2 values, one per eigenvalue, got 1"),
    (
        lambda x: x + 1j,
        "expected a real numeric array with 1 dimension, got ndarray of dtype complex128",
    ),
    (lambda x: [[1.0], [1.0, 2.0]], "expected a real numeric array with 1 dimension, got list"),
]


def test_bad_responses_are_refused() -> None:
    for function, message in BAD_RESPONSES:
        with pytest.raises(ValueError) as error:
            Custom(function, name="mine")([0.0, 0.5])
        assert str(error.value) == f"response of filter 'mine': {message}"


def test_overflow_is_an_error_not_a_warning() -> None:
    with pytest.raises(ValueError, match="'pseudoinverse': expected finite entries, got inf"):
        Pseudoinverse(scale=1.0)([0.0, 1e-310])


def test_bad_eigenvalues_are_refused() -> None:
    bad: list[Any] = [[math.nan], [1j], ["a"], math.inf, [[1.0], [1.0, 2.0]]]
    for eigenvalues in bad:
        with pytest.raises(ValueError, match="eigenvalues: expected"):
            Linear()(eigenvalues)


def test_function_cannot_change_the_eigenvalues() -> None:
    eigenvalues = np.array([0.0, 1.0])
    seen: list[np.ndarray] = []

    def spoil(x: np.ndarray) -> np.ndarray:
        seen.append(x)
        x += 1
        return x

    np.testing.assert_array_equal(Custom(spoil)(eigenvalues.reshape(1, 2)), [[1.0, 2.0]])
    np.testing.assert_array_equal(eigenvalues, [0.0, 1.0])
    assert seen[0].shape == (2,)


def test_as_filter_by_name() -> None:
    for name in NAMES:
        phi = as_filter(name)
        assert phi.name == str(phi) == name
        assert phi == type(phi)()


def test_as_filter_of_filters_and_functions() -> None:
    phi = Heat(2)
    assert as_filter(phi) is phi
    assert as_filter(np.cos) == Custom(np.cos, "cos")
    assert as_filters("heat") == (Heat(),)
    assert as_filters(phi) == (phi,)
    assert as_filters(["heat", phi, np.cos]) == (Heat(), phi, Custom(np.cos))
    assert as_filters((phi,)) == (phi,)


BAD_SPECS: list[Any] = [
    ("lineer", "filter: expected one of 'linear', 'quadratic', 'pseudoinverse'"),
    (Linear, "filter: expected an instance, Linear(...), got the class Linear"),
    (3, "filter: expected a Filter, a filter's name or a function, got 3"),
    ([], "filter: expected at least one filter, got an empty list"),
    (["heat", None], "filter: expected a Filter, a filter's name or a function, got None"),
]


def test_malformed_specs_are_refused() -> None:
    for spec, message in BAD_SPECS:
        with pytest.raises(ValueError) as error:
            as_filters(spec)
        assert message in str(error.value)


TEXTS: list[Any] = [
    (Linear("auto"), "linear (largest=auto)"),
    (Pseudoinverse(0.14917712), "pseudoinverse (scale=0.1492)"),
    (Polynomial([1, -2, 1]), "polynomial (coefficients=[1, -2, 1])"),
    (Custom(lambda x: x, name="identity"), "identity"),
    (0.5 * (Heat(2) + ZeroImpulse()), "0.5 * (heat (time=2) + zero-impulse)"),
]


def test_str_names_the_parameters() -> None:
    for phi, text in TEXTS:
        assert str(phi) == text


def test_other_operands_are_type_errors() -> None:
    operations: list[Any] = [lambda f: f + 1, lambda f: "2" * f, lambda f: f * f]
    for operation in operations:
        with pytest.raises(TypeError):
            operation(Linear())


def test_every_public_name_is_in_the_map() -> None:
    for name in filters.__all__:
        if name not in {"Filter", "FilterLike", "as_filter", "as_filters"}:
            assert f":class:`{name}`" in filters.__doc__

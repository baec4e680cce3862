"""The leave-one-out loss beside fits without each row, its gradient, and its minimum."""

from __future__ import annotations

import numpy as np
import pytest

from lowrankgcn.gp.likelihood import CONSTANT, adapt, leave_one_out, softmax, targets
from tests.support.each import each
from tests.support.oracles import reference_gp as reference

Problem = tuple[np.ndarray, np.ndarray, int]


def problem(seed: int, m: int = 9, n_classes: int = 3, signal: float = 1.0) -> Problem:
    """Kernels (B, m, m), classes, their number; the first kernel is informative."""
    generator = np.random.default_rng(seed)
    classes = np.arange(m) % n_classes
    features = [generator.normal(size=(m, 3)) for _ in range(3)]
    features[0][:, 0] += signal * classes
    return np.array([F @ F.T / 3 for F in features]), classes, n_classes


@pytest.mark.parametrize(("m", "n_classes"), [(2, 2), (9, 3), (12, 5)])
def test_closed_form_equals_fits_without_the_row(m: int, n_classes: int) -> None:
    kernels, classes, _ = problem(m, m, n_classes)
    G = reference.covariance(kernels, [0.5, 1.0, 2.0])
    assert reference.CONSTANT == CONSTANT
    Y = targets(classes, n_classes)
    np.testing.assert_allclose(Y, reference.targets(classes.tolist(), n_classes), atol=1e-15)
    loss, _, _ = leave_one_out(G, Y, classes, np.log(2.5))
    expected = reference.held_out_loss(G, classes.tolist(), n_classes, 2.5)
    np.testing.assert_allclose(loss, expected, rtol=1e-9)


def test_gradient_equals_differences() -> None:
    kernels, classes, n_classes = problem(1)
    G, Y = reference.covariance(kernels, [0.5, 1.0, 2.0]), targets(classes, n_classes)
    _, gradient, slope = leave_one_out(G, Y, classes, 0.7)

    def loss(H: np.ndarray) -> float:  # symmetric moves only
        own = reference.held_out_loss((H + H.T) / 2, classes.tolist(), n_classes, np.exp(0.7))
        return float(own)

    expected = reference.numeric_gradient(loss, G)
    np.testing.assert_allclose((gradient + gradient.T) / 2, expected, atol=1e-7)

    def by_temperature(t: np.ndarray) -> float:
        return reference.held_out_loss(G, classes.tolist(), n_classes, float(np.exp(t[0])))

    numeric = reference.numeric_gradient(by_temperature, np.array([0.7]))[0]
    np.testing.assert_allclose(slope, numeric, rtol=1e-6)


@each("signal", [0.0, 1.0, 50.0])
@each("start", [-12.0, -1.0, 8.0])  # the outer ones are clipped
def test_adaptation_is_a_minimum(signal: float, start: float) -> None:
    kernels, classes, n_classes = problem(2, m=24, signal=signal)
    prior = np.full(len(kernels), start)
    found = adapt(kernels, targets(classes, n_classes), classes, prior, 1.0)
    z = np.concatenate(
        [[found.common / 1.5], found.shifts - found.common, [found.temperature / 0.5]]
    )

    def loss(at: np.ndarray) -> float:
        return reference.penalised_loss(at, kernels, classes.tolist(), n_classes, prior, 1.0)

    assert loss(z) <= loss(np.zeros(len(z))) + 1e-9
    np.testing.assert_allclose(found.loss * len(classes), loss(z) - z @ z / 2, rtol=1e-7)
    assert np.abs(reference.numeric_gradient(loss, z)).max() < 0.05


def test_adaptation_finds_the_informative_kernel() -> None:
    kernels, classes, n_classes = problem(3, m=60, signal=3.0)
    found = adapt(kernels, targets(classes, n_classes), classes, np.zeros(3), 1.0)
    assert found.shifts.argmax() == 0
    assert found.loss < 0.8 * np.log(n_classes)


def test_adaptation_without_kernels_changes_the_temperature_only() -> None:
    _, classes, n_classes = problem(4)
    found = adapt(np.empty((0, 9, 9)), targets(classes, 3), classes, np.empty(0), 1.0)
    assert found.shifts.shape == (0,)
    assert found.temperature < 0  # held-out rows are predicted worse than by chance
    assert n_classes == 3


def test_softmax_of_huge_scores() -> None:
    shares = softmax(np.array([[1e300, 0.0], [-1e300, -1e300]]))
    np.testing.assert_allclose(shares, [[1.0, 0.0], [0.5, 0.5]])

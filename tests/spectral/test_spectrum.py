"""Order, signs and cuts of eigenpairs."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.spectral.eigenpairs import (
    Eigenpairs,
    WholeSpectrum,
    fix_signs,
    warn_if_cut_degenerate,
)
from tests.support.oracles import reference

entries = st.floats(-4, 4, allow_subnormal=False)
matrices = hnp.arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(0, 4)), elements=entries)


@given(vectors=matrices)
def test_sign_rule_is_the_oracles(vectors: np.ndarray) -> None:
    signed = vectors.copy()
    fix_signs(signed)
    assert_array_equal(signed, reference.canonical_signs(vectors))


@given(vectors=matrices, signs=hnp.arrays(np.float64, 4, elements=st.sampled_from([-1.0, 1.0])))
def test_signs_do_not_depend_on_the_signs_before(vectors: np.ndarray, signs: np.ndarray) -> None:
    first, second = vectors.copy(), vectors * signs[: vectors.shape[1]]
    fix_signs(first)
    fix_signs(second)
    assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_signs_of_long_vectors(dtype: type, order: str) -> None:
    """Longer than the chunks that are looked at one after another."""
    vectors = np.random.default_rng(0).normal(size=(40_000, 3)).astype(dtype, order=order)
    # Equal magnitudes in different chunks: the first one counts.
    vectors[:, 0] = np.where(np.arange(40_000) % 2, 1.0, -1.0)
    vectors[20_000:, 1] = 0.0
    vectors[39_999, 2] = -50.0
    expected = reference.canonical_signs(vectors)
    fix_signs(vectors)
    assert vectors.dtype == dtype
    assert_array_equal(vectors, expected)
    assert vectors[0, 0] == 1.0
    assert vectors[39_999, 2] == 50.0


def test_rounding_does_not_flip_signs() -> None:
    vector = np.array([[0.5], [-0.5], [0.5], [-0.5]])
    for noise in (1e-15, -1e-15, 1e-9):
        moved = -vector + noise * np.array([[0.0], [1.0], [0.0], [-1.0]])
        fix_signs(moved)
        assert moved[0, 0] > 0


def test_zero_vectors_stay() -> None:
    vectors = np.zeros((3, 2))
    fix_signs(vectors)
    assert_array_equal(vectors, np.zeros((3, 2)))


CUTS: list[Any] = [
    (0.5, 0.5, 0.0, True),
    (0.5, 0.5 + 1e-9, 0.0, True),
    (0.5 + 1e-9, 0.5, 0.0, True),
    (0.5, 0.5 + 1e-7, 0.0, False),
    (0.5, 0.5 + 1e-7, 1e-6, True),
    (0.5, 0.6, 1e-2, False),
    (0.0, 0.0, 0.0, True),
]


def test_degenerate_cut() -> None:
    for last, following, uncertainty, warns in CUTS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_if_cut_degenerate(np.array([last]), np.array([uncertainty]), following)
        assert [w.category for w in caught] == [lg.DegenerateCutWarning] * warns
        if warns:
            assert "multiple eigenvalue" in str(caught[0].message)
            assert caught[0].filename == __file__


def pairs(values: list[float]) -> Eigenpairs:
    k = len(values)
    return Eigenpairs(np.array(values), np.eye(k), np.zeros(k), "dense", k, 1)


def test_rank() -> None:
    assert pairs([0.0, 0.0, 0.25, 0.5]).rank == 4


def test_eigenpairs_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        pairs([0.0]).method = "other"  # type: ignore[misc]


def test_whole_spectrum_counts_every_eigenvalue() -> None:
    graph = lg.Hypergraph([[1, 0], [1, 1], [0, 1], [0, 1], [0, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lg.DisconnectedGraphWarning)
        whole = lg.eigenpairs(lg.Laplacian(graph), 3).spectrum
    assert isinstance(whole, WholeSpectrum)
    parts = reference.hypergraph(graph.incidence.to_dense())
    expected = reference.spectrum(parts.W, parts.S_H).eigenvalues
    assert whole.counts.sum() == 5
    assert_allclose(np.repeat(whole.values, whole.counts), expected, rtol=0, atol=1e-14)

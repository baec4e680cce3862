"""Encoders, counts and eigenpairs of tables in blocks against those of the whole table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn.estimators.inputs import TableInputs, standard_units
from lowrankgcn.estimators.settings import read_settings
from lowrankgcn.graphs import TableEncoder
from tests.distributed.tables import in_blocks, mixed_table, texts

from lowrankgcn.distributed.blocks import Blocks  # isort: skip
from lowrankgcn.distributed.encoding import fit_table  # isort: skip
from lowrankgcn.distributed.fixed_point import FixedSum, exponent_of  # isort: skip
from lowrankgcn.distributed.selection import Search, numbers_from_keys, ordered_keys  # isort: skip
from lowrankgcn.distributed.setup import TableSetUp, set_up  # isort: skip
from lowrankgcn.distributed.vectors import TableVectors  # isort: skip

CUTS = st.lists(st.integers(0, 60), max_size=6)
FINITE = st.floats(-1e300, 1e300, allow_subnormal=True)


def known(table: Any, cuts: Any, **parameters: Any) -> TableSetUp:
    options = read_settings(lg.GCNClassifier(**parameters).get_params())
    return set_up(Blocks.from_collection(in_blocks(table, cuts)), options)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=CUTS, n=st.integers(1, 60))
def test_encoder_is_that_of_the_whole_table(seed: int, cuts: list[int], n: int) -> None:
    table = mixed_table(n, seed, missing=0.2)
    fitted = fit_table(Blocks.from_collection(in_blocks(table, cuts)))
    assert fitted.encoder == TableEncoder.fit(table)
    for name, units in fitted.units.items():
        column = table[name].dropna()
        if name == "built":
            column = column.astype("datetime64[us]").astype("int64")
        centre, scale = standard_units(column.to_numpy(np.float64)[:, None])
        assert_allclose([units.centre, units.scale], [centre[0], scale[0]], rtol=1e-12)


def test_columns_that_are_numeric_in_some_blocks_only() -> None:
    table = pd.DataFrame({"x": pd.Series([1.0, 2.5, None, "b", "a", 1], dtype=object)})
    fitted = fit_table(Blocks.from_collection(in_blocks(table, [3])))
    assert fitted.encoder == TableEncoder.fit(table)
    assert fitted.encoder.columns[0].labels == ("1", "2.5", "a", "b")


def test_columns_of_arrays_are_numbered() -> None:
    da = pytest.importorskip("dask.array")
    table, _ = texts(40, 0)
    array = table.to_numpy()
    fitted = fit_table(Blocks.from_collection(da.from_array(array, chunks=(7, 3))))
    assert fitted.encoder == TableEncoder.fit(array)
    assert sum(fitted.lengths) == 40


@settings(max_examples=25, deadline=None)
@given(numbers=st.lists(FINITE, min_size=1, max_size=40), data=st.data())
def test_order_statistics_are_exact(numbers: list[float], data: st.DataObject) -> None:
    array = np.array(numbers)
    rank = data.draw(st.integers(0, len(array) - 1))
    keys = ordered_keys(array, "f")
    search = Search.start(rank, keys.min(), keys.max())
    while not search.done:
        cut = data.draw(st.integers(0, len(array)))
        search = search.narrowed(search.count(keys[:cut]) + search.count(keys[cut:]))
    assert numbers_from_keys(np.array([search.low], np.uint64), "f")[0] == np.sort(array)[rank]


@given(numbers=st.lists(st.floats(-1e9, 1e9), min_size=1), data=st.data())
def test_sums_do_not_depend_on_the_order(numbers: list[float], data: st.DataObject) -> None:
    exponent = exponent_of(max(map(abs, numbers)))
    shuffled = np.array(data.draw(st.permutations(numbers)))
    cut = data.draw(st.integers(0, len(numbers)))
    whole = FixedSum.from_numbers(np.array(numbers), exponent)
    assert (
        FixedSum.from_numbers(shuffled[:cut], exponent)
        + FixedSum.from_numbers(shuffled[cut:], exponent)
        == whole
    )
    slack = len(numbers) * 2.0 ** (exponent - 60)
    assert abs(whole.value() - float(np.sum(np.array(numbers, np.longdouble)))) <= slack


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=CUTS, missing=st.sampled_from([0.0, 0.15, 0.7]))
def test_eigenpairs_and_features_are_those_of_the_whole_table(
    seed: int, cuts: list[int], missing: float
) -> None:
    table = mixed_table(60, seed, missing=missing)  # 0.7: rows without a cell, and rows alone
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = known(table, cuts, rank=10)
        graph = lg.Hypergraph.from_table(table)
        whole = lg.eigenpairs(lg.Laplacian(graph), 10)
    inputs = TableInputs.fit(table, graph)
    X = inputs.features(table)
    pairs = here.pairs
    assert here.spectrum.n_components == graph.n_components
    assert_array_equal(here.spectrum.sizes, graph.hyperedge_sizes)
    assert_allclose(pairs.eigenvalues, whole.eigenvalues, rtol=0, atol=1e-12)
    assert_allclose(pairs.next_eigenvalue, whole.next_eigenvalue, rtol=0, atol=1e-12)
    U = TableVectors(here.table.encoder, pairs).rows(table)
    U[list(pairs.bare), list(pairs.bare.values())] = 1.0
    assert_allclose(U.T @ U, np.eye(pairs.rank), atol=1e-9)
    assert_allclose(lg.Laplacian(graph) @ U, U * pairs.eigenvalues, atol=1e-9)
    zeros = pairs.eigenvalues == 0  # by formula, in the same order
    assert_allclose(U[:, zeros], whole.eigenvectors[:, zeros], atol=1e-12)
    assert_allclose(here.inner, U.T @ X, atol=1e-6)  # what is rounding is zero here
    assert_allclose(here.square_sum, np.vdot(X, X), rtol=1e-12)


@settings(max_examples=3, deadline=None)
@given(cuts=CUTS, order=st.permutations(range(60)))
def test_blocks_and_order_of_rows_change_nothing(cuts: list[int], order: list[int]) -> None:
    table = mixed_table(60, 3, missing=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = known(table, []), known(table.iloc[order], cuts)
    assert one.table.encoder == other.table.encoder
    assert one.table.units == other.table.units
    assert one.spectrum.n_components == 1  # null vectors of several go by the order of rows
    assert_array_equal(one.pairs.eigenvalues, other.pairs.eigenvalues)
    assert_array_equal(one.pairs.coefficients, other.pairs.coefficients)
    assert_array_equal(one.inner, other.inner)


def test_too_many_values_are_refused() -> None:
    table = pd.DataFrame({"id": np.arange(5000).astype(str), "x": ["a", "b"] * 2500})
    with pytest.raises(ValueError, match="column 'id': expected at most 4096 distinct values"):
        fit_table(Blocks.from_collection(in_blocks(table, [])))
    halves = pd.DataFrame({"x": np.arange(3000).astype(str), "y": np.arange(3000).astype(str)})
    with pytest.raises(ValueError, match="at most 4096 distinct values in all, got 6000"):
        fit_table(Blocks.from_collection(in_blocks(halves, [1000])))

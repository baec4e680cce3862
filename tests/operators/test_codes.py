"""The incidence matrix of a table in codes against the naive one-hot matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lowrankgcn.operators import codes as module
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.operators.factors import Factor, ScaledFactor
from tests.support.contracts.operator_contract import FactorContract, block, check_factor, close


def one_hot(codes: np.ndarray, n_hyperedges: int) -> np.ndarray:
    dense = np.zeros((len(codes), n_hyperedges))
    for i, row in enumerate(codes.tolist()):
        for code in row:
            if code < n_hyperedges:
                dense[i, code] = 1.0
    return dense


def random_codes(
    n: int, sizes: list[int], seed: int = 0, missing: float = 0.2
) -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(seed)
    total = sum(sizes)
    starts = np.cumsum([0, *sizes[:-1]])
    columns = [
        np.where(rng.random(n) < missing, total, start + rng.integers(0, size, n))
        for start, size in zip(starts, sizes, strict=True)
    ]
    return np.stack(columns, axis=1), total


@st.composite
def code_tables(draw: Any) -> tuple[np.ndarray, int]:
    """Codes of up to 8 columns in shuffled ranges, with gaps, missing cells and unused ids."""
    sizes = draw(st.lists(st.integers(0, 9), max_size=8))
    n = draw(st.integers(0, 30))
    total = sum(sizes) + draw(st.integers(0, 2))
    order = draw(st.permutations(range(len(sizes))))
    starts = dict(zip(order, np.cumsum([0, *(sizes[j] for j in order)]).tolist(), strict=False))
    codes = np.full((n, len(sizes)), total, dtype=np.int64)
    for j, size in enumerate(sizes):
        local = draw(hnp.arrays(np.int64, n, elements=st.integers(0, size)))
        codes[:, j] = np.where(local < size, starts[j] + local, total)
    return codes, total


TABLES: dict[str, tuple[np.ndarray, int]] = {
    "plain": random_codes(50, [3, 2, 4], missing=0.0),
    "missing": random_codes(50, [3, 2, 4]),
    "many columns": random_codes(300, [2, 3] * 8),
    "more hyperedges than rows": random_codes(5, [9, 8], missing=0.0),
    "one row": (np.array([[0, 2]]), 3),
    "one column": (np.array([[1], [0], [1]]), 2),
    "no columns": (np.zeros((4, 0), dtype=np.int64), 0),
    "no columns but hyperedges": (np.zeros((4, 0), dtype=np.int64), 3),
    "no hyperedges": (np.zeros((4, 2), dtype=np.int64), 0),
    "only missing": (np.full((4, 2), 3), 3),
    "one missing column": (np.array([[0, 2, 3], [1, 2, 3]]), 3),
    "ranges out of order": (np.array([[4, 0], [3, 1], [5, 6]]), 6),
    "constant": (np.zeros((6, 1), dtype=np.int64), 1),
    "256 values": (np.arange(256)[:, None], 256),
    "255 values": (np.append(np.arange(255), 255)[:, None], 255),
}


def test_tables_meet_the_factor_contract() -> None:
    for codes, total in TABLES.values():
        check_factor(CodeFactor(codes, total), one_hot(codes, total))


class TestScaledCodeFactor(FactorContract):
    @pytest.fixture
    def case(self) -> tuple[Factor, np.ndarray]:
        codes, total = TABLES["missing"]
        rows, columns = block(len(codes), 1)[:, 0], block(total, 1, seed=1)[:, 0]
        dense = rows[:, None] * one_hot(codes, total) * columns
        return ScaledFactor(CodeFactor(codes, total), rows, columns), dense


class TestSmallParts(FactorContract):
    """Parts of a few rows, so that every loop runs more than once."""

    @pytest.fixture
    def case(self, monkeypatch: pytest.MonkeyPatch) -> tuple[Factor, np.ndarray]:
        monkeypatch.setattr(module, "_ENTRIES", 1)
        codes, total = random_codes(1500, [5, 2, 3, 7])
        return CodeFactor(codes, total), one_hot(codes, total)


class TestLargeColumns(FactorContract):
    """Columns with so many values that parts are sparse."""

    @pytest.fixture
    def case(self) -> tuple[Factor, np.ndarray]:
        codes, total = random_codes(400, [700, 3, 90, 2, 4])
        return CodeFactor(codes, total), one_hot(codes, total)


@given(table=code_tables())
def test_factor_equals_the_one_hot_matrix(table: tuple[np.ndarray, int]) -> None:
    codes, total = table
    factor = CodeFactor(codes, total)
    dense = one_hot(codes, total)
    if len(codes):
        check_factor(factor, dense)
    assert factor.counts().tolist() == dense.sum(axis=0).tolist()
    assert factor.pair_counts.tolist() == (dense.T @ dense).tolist()
    assert factor.to_sparse().toarray().tolist() == dense.tolist()


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12), seed=st.integers(0, 9))
def test_rows_of_a_product_do_not_depend_on_the_other_rows(sizes: list[int], seed: int) -> None:
    codes, total = random_codes(5000, sizes, seed)
    V = block(total, 3)
    product = CodeFactor(codes, total) @ V
    for rows in (slice(0, 1), slice(7, 100), slice(0, 4500)):
        close(CodeFactor(codes[rows], total) @ V, product[rows])


def test_counts_and_constant_scales_are_exact() -> None:
    codes, total = random_codes(5000, [4, 3, 6, 2], missing=0.1)
    factor = CodeFactor(codes, total)
    counts = factor.pair_counts
    assert counts.dtype == np.int64
    assert not counts.flags.writeable
    assert (factor.gram() == counts).all()
    np.testing.assert_allclose(factor.gram(np.full(5000, 0.1)), counts * 0.01, rtol=1e-14)
    assert (np.diag(counts) == factor.counts()).all()


def test_products_in_single_precision() -> None:
    codes, total = random_codes(3000, [4, 3, 6, 2])
    factor, V = CodeFactor(codes, total), block(total, 5)
    single = factor.matmul(V, out=np.empty((3000, 5), np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, one_hot(codes, total) @ V, atol=1e-5)


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, total = random_codes(700_000, [4, 3, 6, 2, 9, 40], missing=0.01)
    V, X = block(total, 3), block(len(codes), 2)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", threads)
        factor = CodeFactor(codes, total)
        results.append((factor @ V, factor.transpose_product(X), factor.gram(X[:, 0])))
    for first, second in zip(*results, strict=True):
        close(first, second)


def test_codes_are_kept_compact_and_safe() -> None:
    codes, total = random_codes(20, [3, 4])
    factor = CodeFactor(codes, total)
    assert factor.codes.dtype == np.uint8
    assert factor.codes.flags.f_contiguous
    assert not factor.codes.flags.writeable
    assert codes.flags.writeable
    compact = np.asfortranarray(codes.astype(np.uint8))
    kept = CodeFactor(compact, total)
    assert np.shares_memory(kept.codes, compact)
    assert compact.flags.writeable
    assert CodeFactor(np.array([[7]]), 300).codes.dtype == np.uint16


BAD_CODES: list[tuple[Any, int, str]] = [
    ([[0.5]], 1, "codes: expected an integer array"),
    ([0, 1], 2, r"codes: expected an integer array with 2 dimensions, got int64 of shape \(2,\)"),
    ([[0], [1, 2]], 3, "codes: expected an array, got a ragged list"),
    ([[-1]], 2, r"codes: expected indices in 0\.\.2, got -1\.\.-1"),
    ([[3]], 2, r"codes: expected indices in 0\.\.2, got 3\.\.3"),
    ([[0, 1], [1, 2]], 3, r"columns 0 and 1 overlapping in 1\.\.1"),
    ([[0, 1], [2, 3]], 3, r"columns 0 and 1 overlapping in 1\.\.2"),
    ([[0]], -1, "n_hyperedges: expected an integer >= 0"),
]


def test_bad_codes_are_rejected() -> None:
    for codes, total, message in BAD_CODES:
        with pytest.raises(ValueError, match=message):
            CodeFactor(codes, total)


def test_wrong_shapes_are_named() -> None:
    factor = CodeFactor(np.array([[0, 1], [0, 2]]), 3)
    with pytest.raises(ValueError, match=r"V: expected shape \(3,\) or \(3, k\)"):
        factor @ np.ones((2, 2))
    with pytest.raises(ValueError, match=r"X: expected shape \(2,\) or \(2, k\)"):
        factor.transpose_product(np.ones(3))
    with pytest.raises(ValueError, match=r"index: expected indices in 0\.\.1"):
        factor.take(np.array([2]))


def test_one_row_of_many_columns() -> None:
    codes, total = random_codes(1, [3] * 150)
    factor = CodeFactor(codes, total)
    V = np.arange(2.0 * total).reshape(total, 2)
    np.testing.assert_allclose(factor @ V, one_hot(codes, total) @ V)


def test_thousands_of_hyperedges() -> None:
    codes, total = random_codes(3000, [2000, 1500, 500, 96], missing=0.1)
    factor = CodeFactor(codes, total)
    sparse = factor.to_sparse()
    assert total == 4096
    assert (factor.pair_counts == (sparse.T @ sparse).toarray()).all()


def test_many_columns_of_few_rows() -> None:
    codes = np.stack([np.arange(0, 400, 2), np.arange(0, 400, 2)])
    codes[1, :3] += 1
    factor = CodeFactor(codes, 400)
    H = factor.to_dense()
    scale = np.array([2.0, 0.5])
    assert np.array_equal(factor.pair_counts, H.T @ H)
    assert np.allclose(factor.gram(scale), H.T @ (scale[:, None] ** 2 * H), rtol=1e-14)
    assert np.array_equal(factor.counts(), H.sum(axis=0))
    one = CodeFactor(codes[:1], 400)
    assert np.array_equal(one @ np.eye(400), H[:1])
    assert np.array_equal(one.counts(), H[0])

"""Encoding of tables: against the oracle, for new rows, saved and restored, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.tables import TableEncoder
from tests.support.cases import strategies
from tests.support.oracles.reference_tables import node_sets, table_hyperedges, table_incidence
from tests.support.stored.saved_examples import through_json

TABLE = pd.DataFrame(
    {
        "colour": ["red", "blue", "red", None],
        "size": pd.Categorical(["S", "L", "L", "S"], ["S", "M", "L"]),
        "length": [1.5, 7.0, np.nan, 2.5],
    }
)


# --- against the oracle -----------------------------------------------------------------------


@given(table=strategies.tables(), options=strategies.table_options())
def test_hyperedges_are_those_of_the_oracle(
    table: strategies.TableCase, options: dict[str, Any]
) -> None:
    encoder, codes = TableEncoder.fit_transform(table.frame, **options)
    expected = table_hyperedges(table.columns, numeric=table.numeric, **options)
    dense = CodeFactor(codes, encoder.n_hyperedges).to_dense()
    assert node_sets(dense, np.ones(encoder.n_hyperedges)) == node_sets(
        *table_incidence(expected, len(table.frame))
    )
    assert len(encoder.hyperedge_names) == encoder.n_hyperedges == encoder.offsets[-1]
    assert codes.flags.f_contiguous
    assert codes.dtype == np.uint8


@given(table=strategies.tables(), options=strategies.table_options(), data=st.data())
def test_transform_repeats_the_fit(
    table: strategies.TableCase, options: dict[str, Any], data: st.DataObject
) -> None:
    encoder, codes = TableEncoder.fit_transform(table.frame, **options)
    assert encoder == TableEncoder.fit(table.frame, **options)
    order = data.draw(st.permutations(list(table.frame.columns)))
    rows = data.draw(st.lists(st.integers(0, len(table.frame) - 1)))
    assert (encoder.transform(table.frame[order].iloc[rows]) == codes[rows]).all()
    restored = through_json(encoder)
    assert restored == encoder
    assert restored.hyperedge_names == encoder.hyperedge_names
    assert (restored.transform(table.frame) == codes).all()


@given(table=strategies.tables(min_rows=2), data=st.data())
def test_order_of_rows_does_not_matter(table: strategies.TableCase, data: st.DataObject) -> None:
    encoder, codes = TableEncoder.fit_transform(table.frame, bins=3)
    order = data.draw(st.permutations(range(len(table.frame))))
    shuffled, shuffled_codes = TableEncoder.fit_transform(table.frame.iloc[order], bins=3)
    assert shuffled == encoder
    assert (shuffled_codes == codes[order]).all()


# --- new rows ---------------------------------------------------------------------------------


def test_new_rows() -> None:
    encoder = TableEncoder.fit(TABLE)
    new = pd.DataFrame(
        {"length": [-1e300, 1e300], "extra": [1, 2], "size": ["M", "L"], "colour": ["green", "red"]}
    )
    assert encoder.transform(new).tolist() == [[7, 7, 4], [1, 3, 6]]
    unchanged = new.copy()
    encoder.transform(new)
    pd.testing.assert_frame_equal(new, unchanged)


def test_arrays_are_matched_by_position() -> None:
    encoder = TableEncoder.fit(pd.DataFrame({"x": ["a", "b"], "y": ["c", "c"]}))
    assert encoder.transform(np.array([["b", "c"]])).tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="frame: expected 2 columns, got 3"):
        encoder.transform(np.array([["b", "c", "d"]]))
    from_array = TableEncoder.fit(np.array([["a", "c"], ["b", "c"]]))
    assert from_array.transform(pd.DataFrame([["b", "c"]])).tolist() == [[1, 2]]


def test_equal_values_of_another_type() -> None:
    encoder = TableEncoder.fit(pd.DataFrame({"x": [1, 2, 2]}))
    assert encoder.transform(pd.DataFrame({"x": [2.0, np.nan, 1.5]})).tolist() == [[1], [2], [2]]
    assert encoder.transform(pd.DataFrame({"x": ["1"]})).tolist() == [[2]]
    text = TableEncoder.fit(pd.DataFrame({"x": pd.Series(["a", "b"], dtype="category")}))
    assert text.transform(pd.DataFrame({"x": ["b", "c"]}, dtype=object)).tolist() == [[1], [2]]
    binned = TableEncoder.fit(pd.DataFrame({"x": [0.0, 0.5]}))
    assert binned.transform(pd.DataFrame({"x": [True, False]})).tolist() == [[1], [0]]
    days = pd.DataFrame({"x": pd.to_datetime(["2020-01-03", None, "2020-01-01"])})
    zoned = days.apply(lambda column: column.dt.tz_localize("UTC"))
    assert TableEncoder.fit(days).transform(zoned).tolist() == [[1], [2], [0]]


# --- weights and errors -----------------------------------------------------------------------


def test_hyperedge_weights() -> None:
    encoder = TableEncoder.fit(TABLE)
    assert encoder.hyperedge_weights().tolist() == [1.0] * 7
    assert encoder.hyperedge_weights({"size": 2}).tolist() == [1, 1, 2, 2, 1, 1, 1]
    assert encoder.hyperedge_weights([3, 2, 0.5]).tolist() == [3, 3, 2, 2, 0.5, 0.5, 0.5]
    dropped = TableEncoder.fit(TABLE, missing="drop-column")
    assert dropped.hyperedge_weights([3, 2, 0.5]).tolist() == [2, 2]
    for weights, message in (
        ({"length": 0}, "a finite number > 0 .* got 0"),
        ({"weight": 1}, "'weight'"),
        ([1, 2], "3 weights"),
        ([1, 2, np.nan], "finite"),
        ({"size": "a"}, "a finite number > 0 .* got 'a'"),
    ):
        with pytest.raises(ValueError, match=f"column_weights.*{message}"):
            encoder.hyperedge_weights(weights)


MALFORMED = [
    (pd.DataFrame({"x": [1.0, np.inf]}), {}, "column 'x': expected finite numbers, got inf"),
    (pd.DataFrame({"x": [1.0, -np.inf]}, dtype=object), {}, "column 'x': .* got -inf"),
    (pd.DataFrame({"x": [1j]}), {}, "column 'x': expected real numbers"),
    (pd.DataFrame({"x": [["list"]]}), {}, "column 'x': expected hashable values"),
    (pd.DataFrame([[1, 2]], columns=["x", "x"]), {}, "several named 'x'"),
    (pd.DataFrame({"x": []}), {}, r"at least one row and one column, got shape \(0, 1\)"),
    (pd.DataFrame(index=range(3)), {}, r"at least one row and one column, got shape \(3, 0\)"),
    (np.zeros(3), {}, r"frame: expected a table .* got an array of shape \(3,\)"),
    (np.zeros((2, 2, 2)), {}, "frame: expected a table with rows and columns"),
    (sp.csr_array(np.eye(2)), {}, "a sparse csr matrix"),
    (3, {}, "frame: expected a table"),
    (TABLE, {"bins": 0}, "bins: expected an integer >= 1"),
    (TABLE, {"bins": 2.5}, "bins: expected an integer >= 1"),
    (TABLE, {"bins": {"length": "x"}}, r"bins\['length'\]: expected an integer"),
    (TABLE, {"bins": {"width": 2}}, "bins: expected columns among .* got 'width'"),
    (TABLE, {"binning": "equal"}, "binning: expected one of 'quantile', 'uniform'"),
    (TABLE, {"missing": "drop"}, "missing: expected one of"),
    (TABLE, {"min_count": 0}, "min_count: expected an integer >= 1"),
]


def test_malformed_tables_and_options() -> None:
    for frame, options, message in MALFORMED:
        with pytest.raises(ValueError, match=message):
            TableEncoder.fit(frame, **options)


def test_malformed_new_rows() -> None:
    encoder = TableEncoder.fit(TABLE)
    with pytest.raises(ValueError, match="frame: expected column 'size', 'length', got columns"):
        encoder.transform(TABLE[["colour"]])
    with pytest.raises(ValueError, match="column 'length': expected finite numbers"):
        encoder.transform(TABLE.assign(length=np.inf))
    with pytest.raises(
        ValueError, match="column 'length': expected numbers as at fitting, got 'a'"
    ):
        encoder.transform(TABLE.assign(length="a"))
    with pytest.raises(ValueError, match="'length': expected numbers as at fitting, got date"):
        encoder.transform(TABLE.assign(length=pd.Timestamp("2020-01-01")))


def test_mushrooms(mushroom_rows: list[list[str]]) -> None:
    frame = pd.DataFrame(mushroom_rows).iloc[:, 1:].replace("?", None)
    encoder, codes = TableEncoder.fit_transform(frame, missing="drop-column")
    assert codes.shape == (8124, 21)
    assert encoder.n_hyperedges == 112
    assert len(encoder.dropped) == 1


def test_series_of_column_weights_is_matched_by_label() -> None:
    encoder = TableEncoder.fit(pd.DataFrame({"x": ["a", "b"], "y": ["c", "c"]}))
    weights = encoder.hyperedge_weights(pd.Series({"y": 3.0, "x": 2.0}))
    assert weights.tolist() == [2.0, 2.0, 3.0]
    assert encoder.hyperedge_weights(pd.Series([2.0, 3.0])).tolist() == [2.0, 2.0, 3.0]
    with pytest.raises(ValueError, match=r"^column_weights: expected columns among"):
        encoder.hyperedge_weights(pd.Series({"z": 3.0, "x": 2.0}))

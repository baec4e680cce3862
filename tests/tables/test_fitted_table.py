"""Features of tables beside plain definitions: missing, constant, huge, tiny and unknown cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lowrankgcn.graphs import Hypergraph
from lowrankgcn.operators.codes import CodeFactor
from lowrankgcn.tables import FittedTable
from tests.support.each import each
from tests.support.oracles import reference_gp as reference
from tests.support.oracles.reference_tables import (
    Hyperedge,
    node_sets,
    table_hyperedges,
    table_incidence,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

_START = datetime(1970, 1, 1)  # dates without a zone
# kind: cells of the oracle, whether some may be missing, the pandas column, whether numeric
KINDS: dict[str, tuple[st.SearchStrategy[Any], bool, Callable[[list[Any]], Any], bool]] = {
    "float": (
        st.integers(-20, 20).map(lambda i: i / 4),
        True,
        lambda cells: pd.Series(cells, dtype=np.float64),
        True,
    ),
    "huge": (
        st.integers(-20, 20).map(lambda i: i * 1e300 / 4),
        True,
        lambda cells: pd.Series(cells, dtype=np.float64),
        True,
    ),
    "tiny": (
        st.integers(-20, 20).map(lambda i: i * 1e-300 / 4),
        True,
        lambda cells: pd.Series(cells, dtype=np.float64),
        True,
    ),
    "integer": (st.integers(-9, 9), False, lambda cells: pd.Series(cells, dtype=np.int16), True),
    "Int64": (st.integers(-9, 9), True, lambda cells: pd.Series(cells, dtype="Int64"), True),
    "date": (
        st.integers(0, 40).map(lambda i: i * 86_400_000_000),
        True,
        lambda cells: pd.Series(
            [pd.NaT if c is None else _START + timedelta(microseconds=c) for c in cells],
            dtype="datetime64[us]",
        ),
        True,
    ),
    "bool": (st.booleans(), False, lambda cells: pd.Series(cells, dtype=bool), False),
    "boolean": (st.booleans(), True, lambda cells: pd.Series(cells, dtype="boolean"), False),
    "text": (
        st.sampled_from(["a", "b", "ä", ""]),
        True,
        lambda cells: pd.Series(cells, dtype=object),
        False,
    ),
    "category": (
        st.sampled_from(["a", "b", "c"]),
        True,
        lambda cells: pd.Series(pd.Categorical(cells, ["unused", "c", "b", "a"])),
        False,
    ),
}


@st.composite
def tables(draw: Draw) -> tuple[dict[str, str], dict[str, list[Any]], dict[str, list[Any]]]:
    """Kinds of the columns, fitted cells, and new cells with values that may be unknown."""
    kinds = {
        f"x{k}": kind
        for k, kind in enumerate(draw(st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=5)))
    }
    n, q = draw(st.integers(1, 10)), draw(st.integers(1, 4))
    fitted, new = {}, {}
    for name, kind in kinds.items():
        cells, may_miss, *_ = KINDS[kind]
        cell = st.one_of(st.none(), cells) if may_miss else cells
        fitted[name] = draw(st.lists(cell, min_size=n, max_size=n))
        new[name] = draw(st.lists(cell, min_size=q, max_size=q))
    return kinds, fitted, new


def frame(kinds: dict[str, str], cells: dict[str, list[Any]]) -> pd.DataFrame:
    return pd.DataFrame({name: KINDS[kind][2](cells[name]) for name, kind in kinds.items()})


def varies(cells: list[Any], numeric: bool) -> bool:
    if numeric:
        return any(cell is not None for cell in cells) and reference.moments(cells)[1] > 0
    counts = Counter(cells)
    return max(counts.values()) >= 2 and len(counts) > 1


@given(tables())
def test_features_equal_the_definitions(
    table: tuple[dict[str, str], dict[str, list[Any]], dict[str, list[Any]]],
) -> None:
    kinds, fitted, new = table
    features = FittedTable.fit(frame(kinds, fitted))
    used = [name for name, kind in kinds.items() if varies(fitted[name], KINDS[kind][3])]
    assert features.used == tuple(used)
    assert features.encoder.names == tuple(kinds)
    numeric = [name for name in used if KINDS[kinds[name]][3]]
    values_of = {c.name: c.values for c in features.encoder.columns if not c.binned}
    for cells in (fitted, new):
        rows = features.read(frame(kinds, cells))
        expected: list[tuple[np.ndarray, np.ndarray]] = []
        points = None
        if len(numeric) == len(used) and len(used) in (2, 3):
            spreads = [reference.moments(fitted[name])[1] for name in used]
            assume(abs(max(spreads) / min(spreads) - Fraction(25, 4)) > 1e-9)
            points = reference.coordinate_scores(
                [fitted[name] for name in used], [cells[name] for name in used]
            )
        for k, name in enumerate(used):
            known, own = fitted[name], cells[name]
            if name not in numeric:
                counts = Counter(known)
                assert sorted(counts[v] for v in values_of[name]) == sorted(
                    count for count in counts.values() if count >= 2
                )
                expected += [(reference.indicator(known, own, v),) * 2 for v in values_of[name]]
                continue
            if points is not None:
                expected.append((points[k],) * 2)
            else:
                scores = reference.standard_scores(known, own)
                expected.append((scores, reference.standard_ranks(known, own)))
            if known.count(None) >= 2:
                expected.append((reference.indicator(known, own, None),) * 2)
        assert rows["standard"].shape == rows["ranks"].shape == (len(rows["codes"]), len(expected))
        for j, (scores, ranks) in enumerate(expected):
            np.testing.assert_allclose(rows["standard"][:, j], scores, atol=1e-7)
            np.testing.assert_allclose(rows["ranks"][:, j], ranks, atol=1e-7)


@given(tables())
def test_hyperedges(
    table: tuple[dict[str, str], dict[str, list[Any]], dict[str, list[Any]]],
) -> None:
    """Those of the oracle: values and missing cells of two or more rows, and bins of numbers."""
    kinds, fitted, new = table
    features = FittedTable.fit(frame(kinds, fitted))
    encoder, codes = features.encoder, features.read(frame(kinds, fitted))["codes"]
    sets = node_sets(
        CodeFactor(codes, encoder.n_hyperedges).to_dense(), [1.0] * encoder.n_hyperedges
    )
    expected = []
    for name in features.used:
        cells = {name: fitted[name]}
        if not KINDS[kinds[name]][3]:
            expected += table_hyperedges(cells, missing="edge", min_count=2)
            continue
        for bins in (3, 8):
            expected += table_hyperedges(cells, numeric=[name], bins=bins, min_count=2)
        absent = frozenset(i for i, cell in enumerate(fitted[name]) if cell is None)
        if len(absent) >= 2:
            expected.append(Hyperedge(name, None, absent))
    assert sets == node_sets(*table_incidence(expected, len(codes)))
    for j, column in enumerate(encoder.columns):
        for code, cell in zip(
            features.read(frame(kinds, new))["codes"][:, j], new[column.name], strict=True
        ):
            found = code < encoder.n_hyperedges
            if column.binned:
                assert not found or cell is not None
            else:
                values = column.values
                assert values[code - encoder.offsets[j]] == cell if found else cell not in values


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=2, max_size=8))
@example([0.0, 1.0, 2.0**-14, -1.1e304])  # slopes between ranks overflow
def test_any_finite_numbers(numbers: list[float]) -> None:
    other = np.arange(len(numbers)) % 2 * 1.0
    X = np.column_stack([numbers, other, other, other])
    features = FittedTable.fit(X)
    new = np.array([[1.7e308] * 4, [-1.7e308] * 4, [5e-324] * 4, [np.nan] * 4])
    for table in (X, new):
        rows = features.read(table)
        assert np.isfinite(rows["standard"]).all() and np.abs(rows["standard"]).max() <= 5
        assert (
            np.isfinite(rows["ranks"]).all()
            and rows["codes"].max() <= features.encoder.n_hyperedges
        )


def test_ranks_between_many_numbers_are_interpolated() -> None:
    numbers = np.random.default_rng(0).normal(size=3000) ** 3
    features = FittedTable.fit(numbers[:, None])
    expected = reference.standard_ranks(numbers.tolist(), numbers.tolist())
    np.testing.assert_allclose(features.read(numbers[:, None])["ranks"][:, 0], expected, atol=4e-3)


def test_coordinates_keep_their_shape() -> None:
    generator = np.random.default_rng(0)
    points = generator.normal(size=(30, 2)) * [1.0, 2.0] + [0.0, 700.0]
    features = FittedTable.fit(points)
    rows = features.read(points)
    np.testing.assert_array_equal(rows["standard"], rows["ranks"])
    columns = points.T.tolist()
    expected = reference.coordinate_scores(columns, columns)
    np.testing.assert_allclose(rows["standard"].T, expected, atol=1e-9)
    scale = np.diff(rows["standard"], axis=0) / np.diff(points, axis=0)
    np.testing.assert_allclose(scale, scale.mean(), rtol=1e-9)
    assert features.common_unit is None
    for other in (points * [1.0, 2.0], np.c_[points, points], points[:, :1]):
        assert len(FittedTable.fit(other).scores[0].knots)


def test_common_unit() -> None:
    generator = np.random.default_rng(0)
    table = pd.DataFrame(generator.normal(size=(40, 4)) * [1, 1.5, 2, 1], columns=list("abcd"))
    table.loc[:3, "b"] = np.nan
    table["kind"] = generator.choice(["x", "y"], 40)
    features = FittedTable.fit(table)
    factors, rows = features.common_unit, features.read(table)
    assert factors is not None and factors.shape == (len(features.owners),)
    numbers = [k for k, own in enumerate(features.owners) if own < 4 and k != 2]
    unit = np.diff((rows["standard"] * factors)[4:, numbers], axis=0)
    ratio = unit / np.diff(table[list("abcd")].to_numpy()[4:], axis=0)
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=1e-9)  # one unit for all numbers
    assert factors[2] == factors[-1] == 1.0  # indicators
    for factor in (100.0, math.inf):
        other = table.assign(a=table["a"] * factor) if factor < math.inf else table.iloc[:, 3:]
        assert FittedTable.fit(other).common_unit is None


@pytest.mark.parametrize("width", [8, 7])
def test_pixels_have_a_common_unit_by_their_range(width: int) -> None:
    """Some of them are hardly ever bright, so that their deviations differ."""
    generator = np.random.default_rng(0)
    often = np.repeat([0.5, 0.01], [2, width - 2])
    pixels = 255.0 * (generator.random((400, width)) < often)
    features = FittedTable.fit(pixels + generator.random((400, width)))
    spread = np.array([column.deviation for column in features.scores])
    assert spread.max() > 3 * spread.min()
    assert (features.common_unit is not None) == (width == 8)
    scaled = FittedTable.fit(pixels * np.geomspace(1, 100, width))
    assert scaled.common_unit is None


def test_share_of_continuous_columns() -> None:
    numbers = np.random.default_rng(0).normal(size=(30, 2))
    table = pd.DataFrame({"a": numbers[:, 0], "b": np.arange(30) % 5, "c": ["x", "y"] * 15})
    assert FittedTable.fit(table).continuous_share == 1 / 3
    assert FittedTable.fit(numbers).continuous_share == 1  # coordinates


def test_most_frequent_values() -> None:
    values = [f"v{k}" for k in range(300) for _ in range(2 + (k >= 150))]
    (column,) = FittedTable.fit(pd.DataFrame({"a": values})).encoder.columns
    assert not column.binned and len(column.values) == 200
    assert {f"v{k}" for k in range(150, 300)} < set(column.values)


def test_wide_tables_have_bins_of_columns_that_vary_together() -> None:
    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(60, 300))
    numbers[:, 40:] += 3.0 * generator.normal(size=(60, 3)) @ generator.normal(size=(3, 260))
    numbers[::7, 5] = np.nan
    wide, narrow = FittedTable.fit(numbers), FittedTable.fit(numbers[:, 40:296])

    def binned(features: FittedTable) -> dict[Any, tuple[str, ...]]:
        columns = features.encoder.columns
        return {c.name: c.labels for c in columns if c.values and c.limits}

    assert list(binned(narrow)) == [*range(256)]  # all of them
    chosen = binned(wide)
    assert len(chosen) == 256 and len(chosen.keys() & {*range(40, 300)}) >= 240
    for name in chosen.keys() & {*range(40, 296)}:  # the same bins
        assert chosen[name] == binned(narrow)[name - 40]
    assert "5=missing" in wide.encoder.hyperedge_names
    # All columns have scores.
    rows, part = wide.read(numbers), narrow.read(numbers[:, 40:296])
    assert wide.used == tuple(range(300))
    for view in ("standard", "ranks"):
        places = wide.number_places[40:296]
        np.testing.assert_allclose(rows[view][:, places], part[view])
    graph = Hypergraph.from_encoder(wide.encoder, rows["codes"])
    assert graph.n_hyperedges <= 11 * 256 + 1
    grouped = len(chosen.keys() | {5})
    assert f"{grouped} of 300 columns form groups" in graph._describe()[1]


def test_columns_are_matched_by_name_or_position() -> None:
    table = pd.DataFrame({"a": [1.0, 2, 4], "b": ["x", "x", "y"], "c": [1, 1, 1]})
    features = FittedTable.fit(table)
    expected = features.read(table)["standard"]
    np.testing.assert_array_equal(features.read(table[["b", "c", "a"]])["standard"], expected)
    np.testing.assert_array_equal(features.read(table.drop(columns="c"))["standard"], expected)
    np.testing.assert_array_equal(features.read(table.to_numpy())["standard"], expected)


def test_columns_without_any_cell_have_no_type() -> None:
    table = pd.DataFrame(
        {"a": [1.0, 2, 4, 9], "b": list("xxyy"), "d": pd.date_range("2020", periods=4)}
    )
    features = FittedTable.fit(table)
    missing = [
        pd.DataFrame({name: [cell] * 2 for name in "abd"}) for cell in (None, np.nan, pd.NaT)
    ]
    rows = [features.read(other)["standard"] for other in missing]
    for own in rows:
        np.testing.assert_array_equal(own, rows[0])
    assert np.isfinite(rows[0]).all()


@each(
    ("new", "message"),
    [
        ({"a": ["text"], "b": ["x"], "d": [pd.Timestamp(0)]}, r"^column 'a': expected numbers"),
        ({"a": [1.0], "b": ["x"], "d": [7.0]}, r"^column 'd': expected datetimes"),
        ({"a": [pd.Timestamp(0)], "b": ["x"], "d": [pd.NaT]}, r"^column 'a': expected numbers"),
        ({"a": [np.inf], "b": ["x"], "d": [pd.NaT]}, r"^column 'a': expected finite"),
        ({"a": [1.0], "b": ["x"]}, r"^X: expected column 'd'"),
        (np.zeros((1, 2)), r"^X: expected 3 columns"),
    ],
)
def test_other_kinds_are_refused(new: Any, message: str) -> None:
    table = pd.DataFrame(
        {"a": [1.0, 2, 4, 9], "b": list("xxyy"), "d": pd.date_range("2020", periods=4)}
    )
    features = FittedTable.fit(table)
    with pytest.raises(ValueError, match=message):
        features.read(new if isinstance(new, np.ndarray) else pd.DataFrame(new))

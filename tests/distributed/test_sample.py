"""The sample of rows: uniform, repeatable, with all labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from lowrankgcn.estimators.class_labels import read_labels
from tests.distributed.tables import from_parts, in_blocks
from tests.support.each import each

import dask.array as da  # isort: skip
from lowrankgcn.distributed.partitions import Partitions  # isort: skip
from lowrankgcn.distributed.dask_adapter import Sample, draw_sample  # isort: skip

N = 60
ROWS = pd.DataFrame({"row": np.arange(N)})
PARTITIONS = Partitions.from_rows(in_blocks(ROWS, [0, 5, 5, 45]))
Y = np.full(N, -1)
Y[[3, 17, 50]] = [1, 0, 1]


def draw(y: Any, fit_rows: int, seed: int = 0, weights: Any = None) -> Sample:
    return draw_sample(PARTITIONS, y, weights, fit_rows, seed)


def test_every_row_is_drawn_equally_often() -> None:
    seeds, fit_rows = 60, 15
    counts = np.zeros(N)
    for seed in range(seeds):
        drawn = draw(Y, fit_rows, seed).columns[0]["row"].to_numpy()
        assert len(drawn) == fit_rows and (np.diff(drawn) > 0).all()
        counts[drawn] += 1
    assert (counts[Y >= 0] == seeds).all()
    share = (fit_rows - 3) / (N - 3)
    deviation = np.sqrt(seeds * share * (1 - share))
    assert (abs(counts[Y < 0] - seeds * share) < 5 * deviation).all()


def test_the_sample_depends_on_the_seed_only() -> None:
    one, same, other = (draw(Y, 30, seed).columns[0]["row"].tolist() for seed in (0, 0, 1))
    assert one == same != other
    lazy = draw(in_blocks(pd.Series(Y), [1, 2]), 30).columns[0]["row"].tolist()
    assert lazy == one


def test_all_labelled_rows_are_kept() -> None:
    y = np.where(np.arange(N) % 2, np.arange(N), -1)
    weights = da.arange(N, chunks=7)
    sample = draw(y, 10, weights=weights)
    for column in (sample.columns[0]["row"], *sample.columns[1:]):
        assert_array_equal(column, range(1, N, 2))
    assert sample.lengths == (0, 5, 0, 40, 15)
    whole = draw(y, 1000, weights=list(range(N)))
    assert_array_equal(whole.columns[1], y)
    assert_array_equal(whole.columns[2], np.arange(N))


NAMES = np.array(["", "ant", "bee"], object)[Y + 1]
KINDS: dict[str, Any] = {
    "int8": Y.astype(np.int8),
    "floats": np.where(Y < 0, np.nan, Y),
    "masked": np.ma.masked_array(np.abs(Y), Y < 0),
    "texts": NAMES.astype(str),
    "objects": np.where(Y < 0, None, NAMES),
    "truth values": np.where(Y < 0, None, Y == 1),
    "list": NAMES.tolist(),
    "strings": pd.Series(np.where(Y < 0, None, NAMES), dtype="string"),
    "nullable integers": pd.array(np.where(Y < 0, None, Y), dtype="Int64"),
    "categories": pd.Categorical(np.where(Y < 0, None, NAMES), ["bee", "cat", "ant"]),
}


@each("y", KINDS.values(), ids=KINDS)
def test_labels_are_read_as_in_memory(y: Any) -> None:
    expected = read_labels(y)
    variants = [y]
    if not np.ma.isMaskedArray(y):
        variants += [in_blocks(pd.Series(y), [0, 5, 5, 45]), in_blocks(pd.Series(y), [20])]
    if isinstance(y, np.ndarray) and y.dtype.kind != "O":
        variants.append(da.from_array(y, chunks=25))
    for labels in variants:
        read = read_labels(draw(labels, 1000).columns[1])
        assert_array_equal(read.classes, expected.classes)
        assert_array_equal(read.index, expected.index)
        assert_array_equal(read.codes, expected.codes)


def test_partitions_of_labels_may_differ_in_their_types() -> None:
    parts = [
        pd.Series(["b", None], dtype="category"),
        pd.Series([None, "a"], dtype="category"),
        pd.Series([np.nan]),
        pd.Series(["", "b"], dtype=object),
    ]
    y = from_parts(parts, pd.Series([], dtype=object))
    rows = Partitions.from_rows(da.zeros((7, 2), chunks=((4, 3), (1, 1))))
    labels = read_labels(draw_sample(rows, y, None, 1000, 0).columns[1])
    assert labels.index.tolist() == [0, 3, 6] and labels.codes.tolist() == [1, 0, 1]
    some = in_blocks(pd.Series(["b", "c", "a", "b", None], dtype="category"), [2])
    unknown = Partitions.from_rows(in_blocks(ROWS[:5], [2]))
    labels = read_labels(draw_sample(unknown, some.cat.as_unknown(), None, 9, 0).columns[1])
    assert labels.classes.tolist() == ["a", "b", "c"]
    mixed = from_parts([pd.Series([1, -1]), pd.Series(["a"])], pd.Series([], dtype=object))
    sample = draw_sample(Partitions.from_rows(da.zeros((3, 1))), mixed, None, 1000, 0)
    with pytest.raises(ValueError, match="y: expected texts, integers or booleans, all of one"):
        read_labels(sample.columns[1])


def test_lengths_that_differ_are_named() -> None:
    with pytest.raises(ValueError, match="y: expected 60 entries, as many as X has rows, got 59"):
        draw(Y[1:], 10)
    with pytest.raises(ValueError, match="weight: expected 60 entries, as many as X has rows"):
        draw(Y, 10, weights=np.ones(3))
    wrong = in_blocks(pd.Series(Y), [0, 5, 5, 44])  # as many blocks, of unknown lengths
    with pytest.raises(
        ValueError, match=r"partition [34]: y: expected .* entries, as many as X has rows"
    ):
        draw(wrong, 10)
    with pytest.raises(
        ValueError, match=r"partition [34]: sample_weight: expected .* entries, as many"
    ):
        draw(Y, 10, weights=wrong)

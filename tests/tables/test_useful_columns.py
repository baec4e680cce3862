"""Identifiers that predict the class are kept, and noise is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lowrankgcn.tables import Table
from lowrankgcn.tables.column_choice import Columns, choose_columns
from lowrankgcn.tables.useful_columns import keep_useful
from tests.support.each import each

N = 120


def kept(frame: pd.DataFrame, rows: Any, classes: Any) -> Columns:
    table = Table.read(frame)
    return keep_useful(choose_columns(table, None, allow_no_features=True), table, rows, classes)


@each(("n_labels", "n_classes"), [(20, 2), (40, 4), (100, 2)])
def test_noise_is_kept_in_at_most_two_of_a_hundred_tables(n_labels: int, n_classes: int) -> None:
    rng, n_tables, wrong = np.random.default_rng(n_labels), 100, 0
    for _ in range(n_tables):
        frame = pd.DataFrame(
            {
                "customer_id": rng.permutation(9 * N)[:N],
                "row": np.arange(N),
                "hash": [f"{number:06x}" for number in rng.integers(0, 2**24, N)],
            }
        )
        rows = rng.permutation(N)[:n_labels]
        columns = kept(frame, rows, rng.integers(0, n_classes, n_labels))
        wrong += bool(columns.used)
    assert wrong <= 0.02 * n_tables


def test_useful_identifiers_are_kept_in_the_order_of_the_table() -> None:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, N)
    numbers = rng.permutation(1000)[:N]
    frame = pd.DataFrame(
        {
            "file": [
                f"{('cat', 'dog')[c]}_{v:03d}.jpg" for c, v in zip(classes, numbers, strict=True)
            ],
            "noise id": rng.permutation(numbers),
            "size": rng.normal(size=N),
            "account no": numbers + 2000 * classes,
            "unit": "m",
        }
    )
    before = choose_columns(frame, None)
    assert before.used == {"size": "number"}
    rows = rng.permutation(N)[:40]
    columns = kept(frame, rows, classes[rows])
    assert columns.used == {"file": "text", "size": "number", "account no": "number"}
    assert columns.left_out == {"noise id": "identifier", "unit": "constant"}
    assert set(columns.texts) == {"file"}
    assert len(columns.notes) == 2
    for name, note in zip(("file", "account no"), columns.notes, strict=True):
        assert note.startswith(f"column '{name}': nearly all values differ, but they predict")
        assert note.endswith(f"it is kept (--drop '{name}' leaves it out)")
    features = columns.features(frame)
    assert [cells.kind for _, cells in features.items()] == ["vector", "number", "number"]
    assert kept(frame, rows[:6], classes[rows[:6]]).used == {"size": "number"}
    assert kept(frame, rows, np.zeros(40)).used == {"size": "number"}


def test_columns_that_the_user_drops_stay_out() -> None:
    frame = pd.DataFrame({"id": 7 * np.arange(N), "size": np.arange(N) % 7})
    table, classes = Table.read(frame), np.repeat([0, 1], N // 2)
    columns = choose_columns(table, None, drop=["id"])
    assert keep_useful(columns, table, np.arange(N), classes) is columns
    assert kept(frame, np.arange(N), classes).used == {"id": "number", "size": "number"}


def test_the_order_of_the_rows_is_no_feature() -> None:
    # In a table sorted by class, the numbers of the rows predict it, but not for new rows.
    counts = {"Id": 1 + np.arange(N), "row": [f"row {N - k:04d}" for k in range(N)]}
    frame = pd.DataFrame({**counts, "size": np.arange(N) % 7})
    columns = kept(frame, np.arange(N), np.repeat([0, 1], N // 2))
    assert columns.used == {"size": "number"}
    assert columns.left_out == {"Id": "identifier", "row": "identifier"}
    first, second = columns.notes
    assert first.startswith("column 'Id' numbers the rows, whose order predicts the class")
    assert first.endswith("it stays out (--numeric 'Id' keeps it)")
    assert second.endswith("it stays out (--text 'row' keeps it)")


def test_numbers_with_a_few_other_texts() -> None:
    classes = np.arange(N) % 2
    frame = pd.DataFrame({"dose": [f"{k + 500 * (k % 2)}.5" for k in range(N)]})
    frame.loc[3, "dose"] = "n.d."
    columns = kept(frame, np.arange(N), classes)
    assert columns.used == {"dose": "number"}
    assert columns.unreadable_as_missing == ("dose",)
    assert "it is left out" not in " ".join(columns.notes)
    assert np.flatnonzero(columns.features(frame)["dose"].missing).tolist() == [3]


def test_ties_do_not_follow_the_order_of_the_rows() -> None:
    # Texts without common parts are alike to nothing, also if the table is sorted by class.
    frame = pd.DataFrame({"sign": [chr(0x4E00 + k) for k in range(N)], "x": np.arange(N) % 5})
    assert kept(frame, np.arange(N), np.repeat([0, 1], N // 2)).used == {"x": "number"}

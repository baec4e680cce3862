"""Columns that look like identifiers but predict the class, and are kept.

A left-out column is tried on the labelled rows. If rows with similar values have the same class far
more often than with shuffled labels, the column is kept:

>>> import pandas as pd
>>> from lowrankgcn.tables.column_choice import choose_columns
>>> codes = [f"{'ab'[i % 2]}{i * 37 % 90:03d}" for i in range(90)]
>>> table = Table.read(pd.DataFrame({"code": codes, "size": [i * i % 7 for i in range(90)]}))
>>> columns = choose_columns(table, None)
>>> columns.left_out
{'code': 'identifier'}
>>> kept = keep_useful(columns, table, np.arange(40), np.arange(40) % 2)
>>> kept.used["code"], kept.notes
('text', ("column 'code': nearly all values differ, but they predict the class ...",))
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import percent
from lowrankgcn.tables.cells import Name
from lowrankgcn.tables.column_choice import Columns, Kind
from lowrankgcn.tables.left_out import MIXED_SHARE
from lowrankgcn.tables.table import Table
from lowrankgcn.tables.text_vectors import TextVectors
from lowrankgcn.tables.texts import TextColumn

# Conventions, described in keep_useful.
_MOST_ROWS = 500  # labelled rows of the trial
_MOST_NEIGHBOURS, _ROWS_PER_NEIGHBOUR = 5, 8
_N_SHUFFLES, _LEVEL = 999, 0.01
_LEAST_GAIN = 0.1  # of the agreement that is missing by chance
_MOST_DIGITS = 15  # that floats represent
_OPTIONS = {"number": "numeric", "text": "text"}


class _Trial(NamedTuple):
    """A left-out column as it would be used.

    Attributes
    ----------
    kind : {"number", "text"}
    vectors : TextVectors or None
        Of texts.
    unreadable : bool
        Whether some cells are not numbers.
    counts : bool
        Whether it only numbers the rows in their order.
    neighbours : (m, k) int array
        The labelled rows with the most similar values, as places among the tried ones.
    places : (m,) int array
        The tried rows whose cells are present.
    """

    kind: Kind
    vectors: TextVectors | None
    unreadable: bool
    counts: bool
    neighbours: NDArray[np.intp]
    places: NDArray[np.intp]


def keep_useful(
    columns: Columns,
    table: Table,
    labelled: Any,
    classes: Any,
    *,
    decimal: str = ".",
    n_rows: int | None = None,
) -> Columns:
    """Return the columns with those identifiers that predict the class, and a note on each.

    Parameters
    ----------
    columns : Columns
        The choice for `table`.
    table : Table
        All columns.
    labelled : (p,) int array
        Labelled rows.
    classes : (p,) array
        Their classes.
    decimal : str
        Decimal mark, see :class:`TableFile`.
    n_rows : int, optional
        Number of rows of the whole table, if `table` is a sample of it.

    Notes
    -----
    Integers are tried as numbers, texts by their n-grams. The statistic of a column is the share of
    pairs of one class among at most 500 labelled rows and their nearest neighbours in the column
    (one for eight rows, at most five). A column is kept if its statistic, standardised, is at most
    once in a hundred reached by the largest one of all tried columns with shuffled labels [1]_, and
    if it gains at least a tenth of what is missing to full agreement. So a table without useful
    identifiers keeps one in at most 1 % of cases, however many it has. The price is power: a
    useful column needs about fifteen labels.

    A column that only counts the rows is left out in any case, with a note: it is the order of the
    rows, which are often sorted by class, and the numbers of new rows mean something else.

    .. [1] P. Westfall and S. Young. Resampling-based multiple testing. Wiley, 1993.
    """
    names = [name for name, why in columns.left_out.items() if why == "identifier"]
    rng = np.random.default_rng(0)
    # A random order, so that ties between neighbours do not depend on the order of the rows.
    chosen = rng.permutation(len(labelled))[:_MOST_ROWS]
    codes = np.unique(np.asarray(classes), return_inverse=True)[1][chosen]
    if not names or len(codes) < _ROWS_PER_NEIGHBOUR or codes.max(initial=0) == 0:
        return columns
    rows = np.asarray(labelled)[chosen]
    n_rows = n_rows or len(table)
    trials = {name: _try(TextColumn(table[name], decimal), rows, n_rows) for name in names}
    tried = {name: trial for name, trial in trials.items() if trial is not None}
    if not tried:
        return columns
    shuffled = np.array([codes, *(rng.permutation(codes) for _ in range(_N_SHUFFLES))])
    agreement = np.array([_agreement(trial, shuffled) for trial in tried.values()])
    expected = agreement[:, 1:].mean(axis=1)
    spread = np.maximum(agreement[:, 1:].std(axis=1), 1e-12)
    scores = (agreement - expected[:, None]) / spread[:, None]
    largest = scores[:, 1:].max(axis=0)
    kept: dict[Name, _Trial] = {}
    notes: list[str] = []
    for (name, trial), share, chance, score in zip(
        tried.items(), agreement[:, 0], expected, scores[:, 0], strict=True
    ):
        level = (1 + (largest >= score - 1e-9).sum()) / (1 + _N_SHUFFLES)
        if level <= _LEVEL and share - chance >= _LEAST_GAIN * (1 - chance):
            same = f"{percent(share, 0)} of similar values have the same class"
            reason = f"{same}, {percent(chance, 0)} by chance"
            if trial.counts:
                advice = f"--{_OPTIONS[trial.kind]} {str(name)!r} keeps it"
                notes.append(
                    f"column {name!r} numbers the rows, whose order predicts the class "
                    f"({reason}); it stays out ({advice})"
                )
                continue
            kept[name] = trial
            notes.append(
                f"column {name!r}: nearly all values differ, but they predict the class "
                f"({reason}); it is kept (--drop {str(name)!r} leaves it out)"
            )
    known = columns.used | {name: trial.kind for name, trial in kept.items()}
    texts = {name: trial.vectors for name, trial in kept.items() if trial.vectors is not None}
    unreadable = [name for name, trial in kept.items() if trial.unreadable]
    replaced = tuple(f"column {name!r}: " for name in kept)  # notes that say it is left out
    return replace(
        columns,
        used={name: known[name] for name in table.names if name in known},
        left_out={name: why for name, why in columns.left_out.items() if name not in kept},
        texts=columns.texts | texts,
        unreadable_as_missing=(*columns.unreadable_as_missing, *unreadable),
        notes=(*(note for note in columns.notes if not note.startswith(replaced)), *notes),
    )


def _try(column: TextColumn, rows: NDArray[np.intp], n_rows: int) -> _Trial | None:
    """Return how a column would be used, and the neighbours of labelled rows; None if it cannot."""
    vectors, unreadable = None, False
    if column.kind == "number":
        cells = column.typed.take(rows)
    else:
        readable, present, *_, share = column.parsed("number")
        unreadable = readable >= MIXED_SHARE * present and share > 0.5
        if unreadable:
            cells = column.as_numbers(unreadable_as_missing=True).take(rows)
        else:
            texts = column.cells.as_categories()
            if (vectors := TextVectors.fit(texts)) is None:
                return None
            cells = vectors.read(texts.take(rows))
    missing = cells.missing
    if cells.kind == "vector":  # texts without known n-grams are like no other text
        missing = missing | ~cells.numbers.any(axis=1)
    places = np.flatnonzero(~missing)
    if len(places) < _ROWS_PER_NEIGHBOUR:
        return None
    count = min(_MOST_NEIGHBOURS, len(places) // _ROWS_PER_NEIGHBOUR)
    values = cells.numbers[places]
    if cells.kind == "vector":
        distances = -(values @ values.T)
    else:  # in ranks, whatever the scale
        ranks = np.empty(len(places))
        ranks[np.argsort(values, kind="stable")] = np.arange(len(places))
        distances = np.abs(ranks[:, None] - ranks)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
    kind: Kind = "number" if vectors is None else "text"
    return _Trial(kind, vectors, unreadable, _counts(column, n_rows), places[nearest], places)


def _counts(column: TextColumn, n_rows: int) -> bool:
    """Return whether a column numbers the rows in their order, perhaps as in "row 7"."""
    if column.cells.missing.any():
        return False
    if column.kind == "number":
        numbers = column.typed.numbers
    else:
        cells = column.cells.as_categories()
        texts = pd.Series(cells.values, dtype=str)
        if texts.str.replace(r"[0-9]+", "0", regex=True).nunique() > 1:
            return False
        digits = texts.str.replace(r"[^0-9]", "", regex=True).str[:_MOST_DIGITS]
        numbers = pd.to_numeric(digits, errors="coerce").to_numpy(float)[cells.codes]
    steps = np.diff(numbers)
    ordered = bool((steps > 0).all() or (steps < 0).all())
    return ordered and bool(numbers.max() - numbers.min() < n_rows)


def _agreement(trial: _Trial, codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the share of neighbours of one class for each row of `codes`."""
    shares = [
        (row[trial.places, None] == row[trial.neighbours]).mean()  # one row needs little memory
        for row in codes
    ]
    return np.array(shares)

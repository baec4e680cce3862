"""Choice of the columns used as features, and their types.

>>> import pandas as pd
>>> frame = pd.DataFrame(
...     {
...         "id": ["c1", "c2", "c3", "c4"],
...         "doors": ["2", "4", "4", "2"],
...         "colour": ["red", "red", "blue", None],
...         "unit": ["km", "km", "km", "km"],
...         "price": ["high", None, "low", None],
...     }
... )
>>> columns = choose_columns(frame, "price")
>>> columns.used, columns.left_out
({'doors': 'number', 'colour': 'category'}, {'id': 'identifier', 'unit': 'constant'})
>>> features = columns.features(frame)
>>> features["doors"].numbers.tolist(), features["colour"].values
([2, 4, 4, 2], ['blue', 'red'])
>>> columns.labels(frame).tolist()
['high', None, 'low', None]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

import numpy as np
import pandas as pd

from lowrankgcn._codec import NOT_SAVED, saved
from lowrankgcn._validation import invalid
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.tables.cells import Cells, Name
from lowrankgcn.tables.column_names import check_names, listed, unknown_name
from lowrankgcn.tables.dates import DateOrder
from lowrankgcn.tables.label_texts import check_classes, read_texts
from lowrankgcn.tables.left_out import Reason, form_note, mixed_note, reason_to_leave_out
from lowrankgcn.tables.table import Table
from lowrankgcn.tables.text_vectors import UNFITTED, TextVectors, is_free_text, share_grams
from lowrankgcn.tables.texts import TextColumn, plain_numbers

Kind = Literal["number", "date", "category", "text", "vector"]
_KINDS: dict[str, Kind] = {"categorical": "category", "numeric": "number", "text": "text"}


@saved
@final
@dataclass(frozen=True, eq=False)
class Columns:
    """Columns that are used, with their types, and columns that are left out.

    Attributes
    ----------
    target : str
        Column of the classes; empty if they are not in the table.
    used : dict from column to {"number", "date", "category", "text", "vector"}
        In the order of the table.
    left_out : dict from column to {"identifier", "constant", "empty", "dropped"}
    texts : dict from text column to TextVectors
        How its texts become vectors.
    dates : dict from date column to {"day first", "month first"}
        Columns of texts whose year is last.
    unreadable_as_missing : tuple of str
        Columns of numbers or dates in which other texts are missing.
    decimal_commas : tuple of str
        Columns of numbers with decimal commas in a table with decimal points.
    notes : tuple of str
        What was guessed; not saved.

    See Also
    --------
    choose_columns : Chooses the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowrankgcn.files import choose_columns
    >>> frame = pd.DataFrame({"doors": ["2", "4", "2"], "class": ["a", None, "b"]})
    >>> columns = choose_columns(frame, "class")
    >>> columns.features(frame)["doors"].numbers.tolist(), columns.labels(frame).tolist()
    ([2, 4, 2], ['a', None, 'b'])
    """

    target: str
    used: dict[Any, Kind]
    left_out: dict[Any, Reason]
    texts: dict[Any, TextVectors] = field(default_factory=dict)
    dates: dict[Any, DateOrder] = field(default_factory=dict)
    unreadable_as_missing: tuple[Name, ...] = ()
    decimal_commas: tuple[Name, ...] = ()
    notes: tuple[str, ...] = field(default=(), metadata=NOT_SAVED)

    def __post_init__(self) -> None:
        if {name for name, kind in self.used.items() if kind == "text"} != set(self.texts):
            raise invalid("texts", "vectors of every text column", list(self.texts))

    def without_texts(self) -> Columns:
        """Return these columns without those of free text."""
        used: dict[Any, Kind] = {n: kind for n, kind in self.used.items() if kind != "text"}
        return replace(self, used=used, texts={})

    def with_texts(self, frame: Any) -> Columns:
        """Return these columns with the vectors of free text that were not fitted yet."""
        table = Table.read(frame)
        texts = dict(self.texts)
        for name in (name for name, vectors in self.texts.items() if vectors is UNFITTED):
            if vectors := TextVectors.fit(table[name].as_categories()):
                texts[name] = vectors
        return replace(self, texts=texts)

    def check_used(self) -> None:
        """Raise ValueError if no column is used."""
        if not self.used:
            left_out = self.left_out.items()
            why = ", ".join(f"{name!r} is left out ({reason})" for name, reason in left_out)
            got = f"none: {why}" if why else "none"
            raise ValueError(f"expected a feature column besides {self.target!r}, got {got}")

    def features(
        self, frame: Any, *, decimal: str = ".", unreadable: Counter[Name] | None = None
    ) -> Table:
        """Return the used columns as numbers, dates, categories and vectors.

        A column of free text becomes a column of vectors.

        Parameters
        ----------
        frame : DataFrame or Table
            The table, or another table with the same column names in any order.
        decimal : str
            Decimal mark, see :class:`TableFile`.
        unreadable : Counter, optional
            Every cell is read on its own, because `frame` is a part of a table. Cells of numeric
            and date columns that cannot be parsed are missing, and added to this count by column.

        Raises
        ------
        ValueError
            If columns are missing, or cells of numeric or date columns cannot be parsed. Cells of
            the columns in `unreadable_as_missing` are missing then.
        """
        table = Table.read(frame)
        absent = [name for name in self.used if name not in table.names]
        if absent:
            plural = "columns" if len(absent) > 1 else "the column"
            advice = "--allow-missing takes their cells as missing"
            if any(self.used[name] == "vector" for name in absent):
                advice += ", and --vectors reads vectors from a file"
            got = f"{listed(table.names)}; {advice}"
            raise ValueError(f"expected {plural} {listed(absent)}, got {got}")
        typed: dict[Name, Cells] = {}
        empty = np.ones(table.n_rows, bool)
        for name, kind in self.used.items():
            mark = "," if name in self.decimal_commas else decimal
            if unreadable is not None and kind == "number" and frame is not table:
                cells = plain_numbers(frame[name], mark)
                if cells is not None:
                    typed[name] = cells
                    empty &= cells.missing
                    continue
            missing = name in self.unreadable_as_missing
            alone = unreadable is not None or (missing and kind == "date")
            column = TextColumn(table[name], mark, self.dates.get(name), alone)
            with prefix_errors(f"column {name!r}"):
                if unreadable is not None and kind in ("number", "date"):
                    unreadable[name] += column.n_unreadable(kind)
                if kind == "number":
                    typed[name] = column.as_numbers(unreadable_as_missing=missing)
                elif kind == "date":
                    typed[name] = column.as_dates(self.dates.get(name))
                elif kind == "category":
                    typed[name] = column.as_categories()
                elif kind == "vector":
                    typed[name] = column.as_vectors()
                else:
                    typed[name] = self.texts[name].read(column.cells.as_categories())
            empty &= typed[name].missing
        return Table(typed, table.n_rows, empty=empty)

    def labels(self, frame: pd.DataFrame) -> Any:
        """Return the classes as texts, spelled as in the table; None in unlabelled rows.

        "NA", "-1" and similar texts are classes; empty and blank cells are unlabelled.

        Raises
        ------
        ValueError
            If the column does not exist, fewer than two classes are labelled, or the values are
            measurements or identifiers instead of classes.
        """
        if self.target not in frame.columns:
            raise unknown_name("target", self.target, frame.columns)
        labels = read_texts(frame, self.target)
        check_classes(labels)
        return labels


def choose_columns(
    frame: Any,
    target: str | None,
    drop: Iterable[str] = (),
    categorical: Iterable[str] = (),
    numeric: Iterable[str] = (),
    text: Iterable[str] = (),
    *,
    decimal: str = ".",
    allow_no_features: bool = False,
    n_rows: int | None = None,
    fit_texts: bool = True,
) -> Columns:
    """Choose the columns of a table that are used as features.

    Parameters
    ----------
    frame : DataFrame or other table
        The result of :func:`read_file`, or what ``Table.read`` accepts.
    target : str or None
        Column of the classes; None if there is none in the table.
    drop : names
        Columns to leave out.
    categorical, numeric, text : names
        Columns to use as categories, as numbers or as free text, overriding detection. If more than
        half of the cells of a numeric column are numbers, others are missing, with a note.
    decimal : str
        Decimal mark, see :class:`TableFile`.
    allow_no_features : bool
        Whether all columns may be left out.
    n_rows : int, optional
        Number of rows of the whole table, if `frame` is a sample of it.
    fit_texts : bool
        Whether to find the vectors of free text, which takes longest; otherwise
        :meth:`Columns.with_texts` does it later.

    Returns
    -------
    Columns
        Empty columns, constant columns and identifiers are left out unless they are named.
        Identifiers are texts that differ in more than 90 % of the rows, and integers without
        thousands separators and signs that differ in all rows, if they are consecutive, ascending
        or descending, or if the name of the column has one of the words id, key, uuid, row, index,
        nr and no. A text column is numeric if all cells are numbers without leading zeros, and a
        date if all cells are dates; "NA" and similar texts are missing there. Numbers may have
        thousands separators, and a percent sign or the sign of one currency. In a table with
        decimal points, a column has decimal commas if more of its texts are numbers then, with a
        note. Commas before groups of three digits separate thousands. A note reports columns
        in which at least 80 % of the cells, but not all, are numbers or dates. Texts of three or
        more words on average that differ in more than half of the rows are free text. It becomes
        vectors of 64 numbers (fewer beyond 300,000 rows, at least 30): principal directions of the
        frequencies of the 10,000 most frequent groups of three and four letters. Lists of equally
        many numbers are vectors, too. All other texts are categories.

    Raises
    ------
    ValueError
        If a name is unknown or given twice, no column is left, or a numeric column contains
        infinite numbers, or texts in half of its cells or more.

    See Also
    --------
    read_file : Reads a table.
    Columns : The result.

    Notes
    -----
    Cost: one pass over the table. Dates are in ISO 8601, or have their year first or last, as in
    2024/12/31, 31.12.2024, 12/31/2024 or 31-12-2024 14:30. The order of day and month is the one in
    which all cells of the column are dates. If both are, the day is first between points and in
    tables with decimal commas, and the month otherwise; a note reports this.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowrankgcn.files import choose_columns
    >>> frame = pd.DataFrame({"year": ["1970", "1980", "1990"], "class": ["a", None, "b"]})
    >>> choose_columns(frame, "class", numeric=["year"]).used
    {'year': 'number'}
    >>> choose_columns(frame, "clas")
    Traceback (most recent call last):
        ...
    ValueError: target: expected a column of the table, got 'clas'; did you mean 'class'?
    """
    table = Table.read(frame)
    options = {"drop": drop, "categorical": categorical, "numeric": numeric, "text": text}
    named = {option: tuple(names) for option, names in options.items()}
    check_names(table.names, target, named)
    used: dict[Name, Kind] = {}
    left_out: dict[Name, Reason] = {}
    texts: dict[Name, TextVectors] = {}
    dates: dict[Name, DateOrder] = {}
    unreadable: list[Name] = []
    decimal_commas: list[Name] = []
    notes: list[str] = []
    for name in (name for name in table.names if name != target):
        option = next((option for option, names in named.items() if name in names), "")
        if option == "drop":
            left_out[name] = "dropped"
            continue
        kind = _KINDS.get(option)
        column = TextColumn(table[name], decimal)
        guesses: list[str | None] = []
        with prefix_errors(f"column {name!r}"):
            if kind == "number":
                readable, present, other, _ = column.parsed("number")
                if other is not None and 2 * readable > present:
                    unreadable.append(name)
                    counts = f"({present - readable} of {present})"
                    reading = f"such as {other!r}, are read as missing {counts}"
                    guesses.append(f"cells that are not numbers, {reading}")
                column.as_numbers(unreadable_as_missing=name in unreadable)
            elif kind == "text" or (
                kind is None and column.kind == "category" and is_free_text(column.cells)
            ):
                categories = column.cells.as_categories()
                later = not fit_texts and share_grams(categories)
                vectors = UNFITTED if later else TextVectors.fit(categories)
                if vectors is not None:
                    guesses += [] if kind else [form_note(column, "it is used as free text")]
                    kind, texts[name] = "text", vectors
                elif kind == "text":
                    raise ValueError("expected words that are alike in several rows, got none")
            if kind is None:
                kind, reason = column.kind, reason_to_leave_out(column, name, n_rows or len(table))
                use = "it is used as categories" if reason is None else "it is left out"
                guesses.append(mixed_note(column, name, use) or form_note(column, use))
                if reason is not None:
                    left_out[name] = reason
            if name not in left_out:
                used[name] = kind
                if kind == "number":
                    decimal_commas += [name] if column.numbers.decimal == "," != decimal else []
                    guesses.append(column.comma_note)
                elif kind == "date" and (order := column.dates.order):
                    dates[name] = order
                    advice = "if this is wrong, write them as 2024-12-31"
                    guess = f"dates are read with the {order}; {advice}"
                    guesses.append(guess if column.dates.ambiguous else None)
        notes += [f"column {name!r}: {guess}" for guess in guesses if guess]
    guessed = tuple(unreadable), tuple(decimal_commas), tuple(notes)
    columns = Columns(target or "", used, left_out, texts, dates, *guessed)
    if not allow_no_features:
        columns.check_used()
    return columns

"""Names of columns: those in options, and those that another table spells differently.

>>> import pandas as pd
>>> table = Table.read(pd.DataFrame({"Petal Length": [1.5], "kind": ["a"]}))
>>> matched, notes = match_columns(table, ["petal_length", "kind"])
>>> matched.names, notes
(('petal_length', 'kind'), ["column 'Petal Length' is used as 'petal_length'"])
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from lowrankgcn._validation import invalid
from lowrankgcn.tables.cells import Cells, Name
from lowrankgcn.tables.table import Table

_LISTED = 8  # names in an error


def match_columns(
    table: Table, names: Sequence[Name], *, allow_missing: bool = False
) -> tuple[Table, list[str]]:
    """Return a table with all named columns, and notes on those that it did not have.

    A column whose name differs only by case, blanks, hyphens and underscores is used in place of a
    missing one.

    Parameters
    ----------
    table : Table
    names : sequence of str or int
    allow_missing : bool
        Whether the cells of columns without a match are missing. Otherwise they are left to later
        checks.
    """
    columns: dict[Name, Any] = {name: partial(table.__getitem__, name) for name in table.names}
    notes: list[str] = []
    for name in [name for name in names if name not in columns]:
        alike = [one for one in columns if _plain(one) == _plain(name) and one not in names]
        if len(alike) == 1:
            columns = {name if one == alike[0] else one: columns[one] for one in columns}
            notes.append(f"column {alike[0]!r} is used as {name!r}")
        elif allow_missing:
            nothing = np.full(table.n_rows, -1)
            columns[name] = Cells(nothing < 0, codes=nothing)
            notes.append(f"there is no column {name!r}: its cells are taken as missing")
    return (Table(columns, table.n_rows, table.named), notes) if notes else (table, [])


def _plain(name: Name) -> str:
    return re.sub(r"[\s_-]+", "", str(name)).casefold()


def check_names(
    columns: Collection[Name], target: str | None, named: Mapping[str, tuple[str, ...]]
) -> None:
    """Raise ValueError unless the target and the columns named in options exist and differ."""
    if target is not None and target not in columns:
        raise unknown_name("target", target, columns)
    taken = {target: "target"}
    for option, names in named.items():
        for name in names:
            if name not in columns:
                raise unknown_name(option, name, columns)
            if taken.get(name, option) != option:
                raise invalid(option, f"columns not named in {taken[name]}", repr(name))
            taken[name] = option


def unknown_name(option: str, name: str, columns: Iterable[Name]) -> ValueError:
    """Return an error about a name in an option that no column has."""
    names = [str(column) for column in columns]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f" (columns: {listed(names)})"
    return ValueError(f"{option}: expected a column of the table, got {name!r}{hint}")


def listed(names: Iterable[Name]) -> str:
    """Return names for a message; of many, the first ones and their number."""
    every = [repr(str(name)) for name in names]
    return ", ".join(every[:_LISTED]) + (f", … ({len(every)})" if len(every) > _LISTED else "")

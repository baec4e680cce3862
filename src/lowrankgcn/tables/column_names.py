"""Names of columns: those in options, and those that another table spells differently.

>>> import pandas as pd
>>> frame = pd.DataFrame({"Petal Length": [1.5], "kind": ["a"]})
>>> matched, notes = match_columns(frame, ["petal_length", "kind"])
>>> matched.columns.tolist(), notes
(['petal_length', 'kind'], ["column 'Petal Length' is used as 'petal_length'"])
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import pandas as pd
import pyarrow as pa

from lowrankgcn._validation import invalid
from lowrankgcn.tables.cells import Name

_LISTED = 8  # names in an error


def match_columns(
    frame: pd.DataFrame, names: Sequence[Name], *, allow_missing: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with all named columns, and notes on those that it did not have.

    A column whose name differs only by case, blanks, hyphens and underscores is used in place of a
    missing one.

    Parameters
    ----------
    frame : DataFrame
    names : sequence of str or int
    allow_missing : bool
        Whether the cells of columns without a match are missing. Otherwise they are left to later
        checks.
    """
    notes: list[str] = []
    for name in [name for name in names if name not in frame.columns]:
        others = [one for one in frame.columns if one not in names]
        alike = [one for one in others if _plain(one) == _plain(name)]
        if len(alike) == 1:
            frame = frame.rename(columns={alike[0]: name})
            notes.append(f"column {alike[0]!r} is used as {name!r}")
        elif allow_missing:
            nothing = pd.array([None] * len(frame), pd.ArrowDtype(pa.string()))
            frame = frame.assign(**{str(name): nothing})
            notes.append(f"there is no column {name!r}: its cells are taken as missing")
    return frame, notes


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

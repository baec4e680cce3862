"""The column of the classes: its texts, and whether they are classes.

>>> check_class_count(29, 29, "numbers", "name the column")
Traceback (most recent call last):
    ...
ValueError: expected classes, got 29 different numbers in 29 rows; put them into ranges, ...
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.tables.cells import Cells
from lowrankgcn.tables.texts import TextColumn, spelled

LabelKind = Literal["numbers", "integers", "values"]
# More classes than this, and than half of the labelled rows, are measurements or identifiers. More
# than a thousand would exhaust memory.
_MOST: dict[LabelKind, int] = {"numbers": 20, "integers": 100, "values": 1000}


def read_texts(frame: pd.DataFrame, column: str) -> Any:
    """Return a column as a Series of texts, None where cells are empty or blank.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowrankgcn.files import read_texts
    >>> read_texts(pd.DataFrame({"class": ["a", " ", "b"]}), "class").tolist()
    ['a', None, 'b']
    """
    cells = Cells.read(frame[column], column).as_categories()
    texts = [text if text.strip() else None for text in spelled(cells)]
    values = np.array([*texts, None], dtype=object)[cells.codes]
    return pd.Series(values, index=frame.index, name=column, dtype=object)


def check_classes(labels: pd.Series, *, named: bool = False) -> None:
    """Raise ValueError unless texts, None in unlabelled rows, are two or more classes.

    Any number of numbers is allowed if the user has `named` the column as one of categories.
    """
    counts = labels.value_counts()
    with prefix_errors(f"column {labels.name!r}"):
        if len(counts) < 2:
            got = f"{counts.index[0]!r} only" if len(counts) else "empty cells only"
            advice = "label more rows; lowrankgcn suggest chooses some"
            raise ValueError(f"expected labels of at least two classes, got {got}; {advice}")
        column = TextColumn(Cells.read(labels, labels.name))
        kind: LabelKind = "values"
        if column.kind == "number" and not named:
            kind = "integers" if column.whole else "numbers"
        advice = f"--categorical {str(labels.name)!r} takes each number as a class"
        check_class_count(len(counts), int(counts.sum()), kind, advice)


def check_class_count(n_classes: int, n_labelled: int, kind: LabelKind, advice: str) -> None:
    """Raise ValueError if so many labels are measurements or identifiers instead of classes.

    Parameters
    ----------
    n_classes, n_labelled : int
    kind : {"numbers", "integers", "values"}
        Numbers with fractions, whole ones, or texts and all that the user calls categories.
    advice : str
        How to call numbers categories.
    """
    if n_classes > max(_MOST[kind], n_labelled / 2):
        got = f"{n_classes} different {kind} in {n_labelled} rows"
        if kind != "values":
            got += f"; put them into ranges, such as low and high, or {advice}"
        raise ValueError(f"expected classes, got {got}")

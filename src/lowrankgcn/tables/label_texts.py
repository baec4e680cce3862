"""The column of the classes: its texts, and whether they are classes.

>>> check_class_count(29, 29, fractions=True)
Traceback (most recent call last):
    ...
ValueError: expected classes, got 29 different numbers in 29 rows
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.tables.cells import Cells
from lowrankgcn.tables.texts import TextColumn, spelled

# More classes than this, and than half of the labelled rows, are measurements or identifiers.
_MAX_FLOAT_CLASSES = 20  # numbers with a fraction
_MAX_CLASSES = 1000  # other values; more would exhaust memory


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


def check_classes(labels: pd.Series) -> None:
    """Raise ValueError unless texts, None in unlabelled rows, are two or more classes."""
    counts = labels.value_counts()
    with prefix_errors(f"column {labels.name!r}"):
        if len(counts) < 2:
            got = f"{counts.index[0]!r} only" if len(counts) else "empty cells only"
            advice = "label more rows; lowrankgcn suggest chooses some"
            raise ValueError(f"expected labels of at least two classes, got {got}; {advice}")
        column = TextColumn(Cells.read(labels, labels.name))
        fractions = column.kind == "number" and not column.whole
        check_class_count(len(counts), int(counts.sum()), fractions=fractions)


def check_class_count(n_classes: int, n_labelled: int, *, fractions: bool = False) -> None:
    """Raise ValueError if so many labels are measurements or identifiers instead of classes."""
    what, most = ("numbers", _MAX_FLOAT_CLASSES) if fractions else ("values", _MAX_CLASSES)
    if n_classes > max(most, n_labelled / 2):
        got = f"{n_classes} different {what} in {n_labelled} rows"
        raise ValueError(f"expected classes, got {got}")

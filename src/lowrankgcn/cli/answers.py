"""Predictions as columns of the table that was read.

>>> import numpy as np, pandas as pd
>>> answers = Answers(np.array(["a", "b"]), np.array([[0.25, 0.75], [0.9, 0.1]]))
>>> answers.added_to(pd.DataFrame({"size": ["1", "2"]})).to_dict("list")
{'size': ['1', '2'], 'prediction': ['b', 'a'], 'probability': [0.75, 0.9]}
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from lowrankgcn.files import TableFile

__all__ = ["Answers", "arrow_type"]

_DIGITS = 6  # of probabilities


@final
@dataclass(frozen=True, eq=False)
class Answers:
    """The class of each row, and how probable it is.

    Attributes
    ----------
    classes : (C,) array of texts
    shares : (n, C) array
        Class distributions. A row whose classes are all equally probable has no prediction: nothing
        joins it to a labelled one.
    given : (n,) int array or None
        Labels as positions in `classes`, −1 for none; they are the prediction where there are any.
    type : str or None
        Arrow type of the predictions, that of the target column in Parquet; None for text.
    """

    classes: NDArray[Any]
    shares: NDArray[np.float64]
    given: NDArray[np.intp] | None = None
    type: str | None = None

    @classmethod
    def of(
        cls, classes: NDArray[Any], shares: Any, labels: pd.Series | None, type: str | None
    ) -> Answers:
        """With labels as texts, missing where there are none."""
        texts = np.array([str(name) for name in classes.tolist()], dtype=object)
        given = None
        if labels is not None:
            given = pd.Index(texts).get_indexer(pd.Index(labels, dtype=object))
        return cls(texts, shares, given, type)

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Which class each row gets, −1 for none, shape (n,)."""
        found = np.where(np.ptp(self.shares, axis=1) > 0, self.shares.argmax(axis=1), -1)
        return found if self.given is None else np.where(self.given >= 0, self.given, found)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Of the class that each row gets, NaN for none, shape (n,)."""
        own = self.shares[np.arange(len(self.codes)), self.codes]
        return np.where(self.codes >= 0, np.round(own, _DIGITS), np.nan)

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Rows without a given label, shape (n,)."""
        if self.given is None:
            return np.ones(len(self.shares), bool)
        return self.given < 0

    def names(self, columns: Any, *, each_class: bool = False) -> dict[str, str]:
        """Names of the new columns; with a number behind where the table has that name already."""
        wanted = ["prediction", "probability"]
        wanted += [f"probability_{name}" for name in self.classes if each_class]
        taken = set(columns)
        names = {}
        for name in wanted:
            free, number = name, 2
            while free in taken:
                free, number = f"{name}_{number}", number + 1
            taken.add(free)
            names[name] = free
        return names

    def added_to(self, frame: pd.DataFrame, *, each_class: bool = False) -> pd.DataFrame:
        """The table with "prediction", "probability" and, on request, a column for each class."""
        names = self.names(frame.columns, each_class=each_class)
        added: dict[str, Any] = {
            names["prediction"]: self._spelled.take(self.codes, allow_fill=True),
            names["probability"]: self.probabilities,
        }
        if each_class:
            for position, name in enumerate(self.classes):
                added[names[f"probability_{name}"]] = np.round(self.shares[:, position], _DIGITS)
        return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)

    @property
    def _spelled(self) -> Any:
        """The classes as a pandas array of an Arrow type."""
        values = pa.array(self.classes.tolist(), pa.string())
        if self.type is not None:
            try:
                values = values.cast(pa.type_for_alias(self.type))
            except (pa.ArrowException, ValueError):
                pass  # a model of other classes than its description says: they stay texts
        return pd.array(values.to_pylist(), dtype=pd.ArrowDtype(values.type))


def arrow_type(table: TableFile, column: str) -> str | None:
    """The type of integers and truth values in a column of Parquet, None for all else."""
    kind = table.frame[column].dtype.pyarrow_dtype
    return str(kind) if pa.types.is_integer(kind) or pa.types.is_boolean(kind) else None

"""Predictions as columns of the table.

>>> import numpy as np, pandas as pd
>>> shares = np.array([[0.25, 0.75], [0.9, 0.1]])
>>> predictions = Predictions.from_labels(np.array(["a", "b"]), shares)
>>> frame, notes = predictions.added_to(pd.DataFrame({"size": ["1", "2"]}))
>>> frame.to_dict("list")
{'size': ['1', '2'], 'prediction': ['b', 'a'], 'probability': [0.75, 0.9]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from lowrankgcn._progress import report_progress

if TYPE_CHECKING:
    from lowrankgcn.estimators.explanation import ExplainedRow

_REASONS = 3  # of a row
_EXPLAINED = 500  # rows explained at a time
_ROUGH = 200  # evaluations for the reasons of a row
DIGITS = 6  # decimals of probabilities


@final
@dataclass(frozen=True, eq=False)
class Predictions:
    """The class of each row and its probability.

    Attributes
    ----------
    classes : (C,) array of texts
    shares : (n, C) array
        Class distributions. A row of equal shares has no prediction: no path connects it to a
        labelled row.
    unlabelled : (n,) bool array
        Rows without a given label; labelled rows keep their label.
    codes : (n,) int array
        Class of each row as a position in `classes`, −1 for none.
    probabilities : (n,) array
        Probability of the class of each row, NaN for none.
    type : str or None
        Arrow type of the predictions, that of the target column in Parquet; None for text.
    level : float or None
        Probability with which the sets contain the true class; None without sets.
    sets : (n, C) bool array or None
        Classes that belong to the set of each row.
    unsure : (n,) bool array or None
        Rows that fit no labelled class.
    audit : DataFrame or None
        The labelled rows without their own label, see :func:`audit_labels`.
    reasons : list of ExplainedRow, or None
        Explanations of the unlabelled rows.
    """

    classes: NDArray[Any]
    shares: NDArray[np.float64]
    unlabelled: NDArray[np.bool_]
    codes: NDArray[np.intp]
    probabilities: NDArray[np.float64]
    type: str | None = None
    level: float | None = None
    sets: Any = None
    unsure: Any = None
    audit: Any = None
    reasons: Any = None

    @classmethod
    def from_labels(
        cls, classes: NDArray[Any], shares: Any, labels: Any = None, **attributes: Any
    ) -> Predictions:
        """Make predictions with given labels, texts that are missing in unlabelled rows."""
        texts = np.array([str(name) for name in classes.tolist()], dtype=object)
        known = pd.Index([None] * len(shares) if labels is None else labels, dtype=object)
        labels = pd.Index(texts).get_indexer(known)
        predicted = np.where(np.ptp(shares, axis=1) > 0, shares.argmax(axis=1), -1)
        codes = np.where(labels < 0, predicted, labels)
        of_codes = np.take_along_axis(shares, codes[:, None], axis=1)[:, 0]
        probabilities = np.where(codes >= 0, np.round(of_codes, DIGITS), np.nan)
        return cls(texts, shares, labels < 0, codes, probabilities, **attributes)

    def at(self, row: int) -> tuple[str | None, float | None]:
        """Return the class of a row and its probability, None without a prediction."""
        if self.codes[row] < 0:
            return None, None
        return str(self.classes[self.codes[row]]), float(self.probabilities[row])

    def _set_texts(self) -> list[str]:
        r"""Return the set of every row, classes with bars between; a labelled row has its label.

        Bars in the name of a class are written as \|.
        """
        patterns, where = np.unique(self.sets, axis=0, return_inverse=True)
        classes = np.array([name.replace("|", r"\|") for name in self.classes], dtype=object)
        names = np.array(["|".join(classes[members]) for members in patterns], dtype=object)
        return list(np.where(self.unlabelled, names[where.reshape(-1)], classes[self.codes]))

    def added_to(
        self, frame: pd.DataFrame, *, each_class: bool = False, audit: bool = True
    ) -> tuple[pd.DataFrame, list[str]]:
        """Add columns "prediction", "probability" and, on request, further ones.

        These are "loo_class" and "loo_probability" of the labelled rows, sets of classes, "unsure",
        and the probability of each class.

        A number is appended to a name that the table has already, with a note.
        """
        columns = {"prediction": self._typed(self.codes), "probability": self.probabilities}
        if audit and self.audit is not None:
            audited = self.audited()
            place = pd.Index(self.audit["row"]).get_indexer(np.arange(len(frame)))
            for name in ("loo_class", "loo_probability"):
                columns[name] = pd.Series(audited[name]).array.take(place, allow_fill=True)
        if self.level is not None:
            texts = pd.array(self._set_texts(), dtype=pd.ArrowDtype(pa.string()))
            columns[f"classes_{round(100 * self.level, 6):g}"] = texts
            marked = pa.array(self.unsure & self.unlabelled)
            columns["unsure"] = pd.array(marked, dtype=pd.ArrowDtype(pa.bool_()))
        if self.reasons is not None:
            rows = np.flatnonzero(self.unlabelled)
            columns |= reason_columns(self.reasons, rows, len(frame))
        for name, shares in zip(self.classes, self.shares.T, strict=True) if each_class else ():
            columns[f"probability_{name}"] = np.round(shares, DIGITS)
        return with_columns(frame, columns)

    def audited(self) -> dict[str, Any]:
        """Return columns about the labelled rows, in the order of the audit."""
        codes = pd.Index(self.classes).get_indexer(self.audit["loo_class"].map(str))
        return {
            "suspect": self.audit["suspect"].to_numpy(),
            "label_probability": self.audit["label_probability"].round(DIGITS).to_numpy(),
            "loo_class": self._typed(codes),
            "loo_probability": self.audit["loo_probability"].round(DIGITS).to_numpy(),
        }

    def _typed(self, codes: NDArray[np.integer[Any]]) -> Any:
        """Return the classes with these positions, in the type of the target; missing for −1."""
        values = pa.array(self.classes.tolist(), pa.string())
        if self.type is not None:
            # The model may have other classes than its description: these are texts.
            with suppress(pa.ArrowException, TypeError, ValueError):
                values = values.cast(pa.type_for_alias(self.type))
        classes = pd.array(values.to_pylist(), dtype=pd.ArrowDtype(values.type))
        return classes.take(codes, allow_fill=True)


def explain_rows(
    classifier: Any, features: Any, rows: Any = None, by: str = "auto", *, rough: bool = True
) -> list[ExplainedRow]:
    """Explain some rows of a table, by default all, in parts with progress.

    A rough explanation finds the largest contributions in a few milliseconds per row.
    """
    options = {"evaluations": _ROUGH} if rough else {}
    rows = np.arange(len(features)) if rows is None else rows
    explained: list[ExplainedRow] = []
    for start in range(0, len(rows), _EXPLAINED):
        report_progress("explaining", start, len(rows))
        part = features.take(rows[start : start + _EXPLAINED])
        explained += classifier.explain(part, by=by, **options)
    return explained


def reason_columns(explained: Sequence[ExplainedRow], rows: Any, n_rows: int) -> dict[str, Any]:
    """Return columns of reasons of `n_rows` rows: those of the explained ones, otherwise empty."""
    texts = np.full((_REASONS, n_rows), None, object)
    for row, one in zip(rows, explained, strict=True):
        reasons = one.reasons(_REASONS, first=1)
        texts[: len(reasons), row] = reasons
    kind = pd.ArrowDtype(pa.string())
    return {f"reason_{k + 1}": pd.array(column, kind) for k, column in enumerate(texts)}


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any]) -> tuple[pd.DataFrame, list[str]]:
    """Add columns to a table, with a note on each that has to be renamed."""
    added: dict[str, Any] = {}
    notes = []
    for name, column in columns.items():
        numbered = chain([name], (f"{name}_{number}" for number in count(2)))
        free = next(one for one in numbered if one not in {*frame.columns, *added})
        added[free] = column
        if free != name:
            notes.append(f"the table has a column {name!r}; the new one is {free!r}")
    return pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1), notes

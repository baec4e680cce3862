"""Results of a classified table, gathered for a report; ``pages`` lays them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import shorten
from lowrankgcn._validation import invalid, set_fields
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.files import Columns
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables.texts import MISSING_TEXTS

_SHOWN_ROWS, _MOST_SUSPECTS = 5, 50
_SHOWN_COLUMNS = 5

# Number of a row, counted from 1 without the header; some of its cells; two classes with their
# probabilities.
TableRow = tuple[int, list[str], list[tuple[str, float]]]


@final
@dataclass(frozen=True, eq=False)
class Classification:
    """A table, its classes predicted by a fitted classifier, and the evidence for them.

    Parameters
    ----------
    classifier : SpectralGPClassifier or GCNClassifier
        Fitted to all rows.
    frame : DataFrame or None
        The table with all of its columns, as it was read.
    labels : (n,) array
        The y of the fit.
    columns : Columns, optional
        Columns used by the classifier; by default all of the frame. An empty target means that it
        has no name.
    evidence : Evidence, optional
        By default that of the classifier, without the importance of columns; None for networks.
    source : str
        Name of the table.
    seconds : mapping from step to float, optional
        By default the timings of the classifier.
    warnings, notes : sequences of str
        Notes are about the table.
    facts : mapping from name to str
        Further results, such as the number of sets with one class.
    command : str
        Command line that reproduces the run; empty if there is none.
    numbers : (n,) int array, optional
        Numbers of the rows, counted from 0, if they are only some of the table.
    seed : int, optional
        Also chooses the rows to draw if there are many.

    Attributes
    ----------
    classes : tuple of str
    labelled, unplaced : (n,) bool arrays
        Rows with a label, and rows without a path to a labelled row.
    codes : (n,) int array
        Classes of the rows, their labels or predictions.
    certainty : (n,) array
        Probabilities of the most probable classes.
    asked : int array
        Rows with a prediction.
    given, predicted : tuples of int
        Numbers of labelled and of predicted rows of each class.

    Raises
    ------
    ValueError
        If labels or frame do not have as many rows as the classifier was fitted to.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> from lowrankgcn.report.classification import Classification
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    >>> result = Classification(classifier, None, y, source="two clouds")
    >>> result.classes, result.given, result.predicted
    (('0.0', '1.0'), (5, 5), (15, 15))
    """

    classifier: Any
    frame: Any
    labels: Any
    _: KW_ONLY
    columns: Columns = None  # type: ignore[assignment]  # replaced below
    evidence: Evidence | None = None
    source: str = "table"
    seconds: Mapping[str, float] | None = None
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    numbers: Any = None
    seed: int | None = None
    classes: tuple[str, ...] = field(init=False)
    labelled: NDArray[np.bool_] = field(init=False)
    unplaced: NDArray[np.bool_] = field(init=False)
    codes: NDArray[np.intp] = field(init=False)
    certainty: FloatArray = field(init=False)
    asked: NDArray[np.intp] = field(init=False)
    given: tuple[int, ...] = field(init=False)
    predicted: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        classifier, shares = self.classifier, self.classifier.label_distributions_
        n, n_classes = shares.shape
        for name, rows in (("labels", self.labels), ("frame", self.frame)):
            if rows is not None and len(rows) != n:
                raise invalid(name, f"{n} rows, as many as were fitted", len(rows))
        numbers = np.arange(n) if self.numbers is None else self.numbers
        frame = pd.DataFrame(index=range(n)) if self.frame is None else self.frame
        frame = frame.set_axis(frame.columns.map(str), axis=1)
        frame = frame.loc[:, ~frame.columns.duplicated()]
        kinds = {
            name: "number" if dtype.kind in "iuf" else "category"
            for name, dtype in frame.dtypes.items()
        }
        known = pd.Index(classifier.classes_.astype(object))
        labels = known.get_indexer(np.asarray(self.labels, dtype=object))  # −1 without a label
        codes = np.where(labels >= 0, labels, shares.argmax(axis=1))
        unplaced = getattr(classifier, "unplaced_", np.zeros(n, bool))
        asked = np.flatnonzero((labels < 0) & ~unplaced)
        set_fields(
            self,
            frame=frame,
            numbers=numbers,
            columns=self.columns or Columns("", kinds, {}),
            evidence=self.evidence or Evidence.from_classifier(classifier),
            seconds=classifier.timings_ if self.seconds is None else self.seconds,
            classes=tuple(map(str, classifier.classes_.tolist())),
            labelled=labels >= 0,
            unplaced=unplaced,
            codes=codes,
            certainty=np.asarray(shares.max(axis=1)),
            asked=asked,
            given=tuple(np.bincount(labels[labels >= 0], minlength=n_classes).tolist()),
            predicted=tuple(np.bincount(codes[asked], minlength=n_classes).tolist()),
        )

    @cached_property
    def overview(self) -> list[dict[str, Any]]:
        """The most important columns first, then those that are left out.

        A column has a "name" and a "kind", or a "reason" why it is left out; numbers of "missing"
        cells and "distinct" values; and an "importance", its share of all columns, or None.
        """
        shares = self.evidence.importance if self.evidence else {}
        columns = [(name, str(kind), "") for name, kind in self.columns.used.items()]
        columns.sort(key=lambda column: -shares.get(column[0], 0.0))
        columns += [(name, "", reason) for name, reason in self.columns.left_out.items()]
        return [
            {"name": name, "kind": kind, "reason": reason, "importance": shares.get(name)}
            | _count_cells(self.frame.get(name), kind)
            for name, kind, reason in columns
        ]

    @cached_property
    def shown_columns(self) -> tuple[str, ...]:
        """Columns whose cells are shown: an identifier and the most important ones."""
        used = [column["name"] for column in self.overview if column["kind"]]
        ids = [column["name"] for column in self.overview if column["reason"] == "identifier"]
        return tuple(name for name in (*ids[:1], *used) if name in self.frame)[:_SHOWN_COLUMNS]

    def cells(self, rows: Any) -> dict[str, list[str]]:
        """Return short texts of some rows by shown column."""
        return {name: cell_texts(self.frame[name].iloc[rows]) for name in self.shown_columns}

    @cached_property
    def suspicious(self) -> list[TableRow]:
        """Labelled rows that would clearly be predicted as another class, the clearest first.

        Their guesses are the label and that class.
        """
        if self.evidence is None:
            return []
        suspects = self.evidence.suspects[:_MOST_SUSPECTS]
        places = [place for place, _ in suspects]
        choices = [(int(self.evidence.codes[place]), other) for place, other in suspects]
        rows = np.flatnonzero(self.labelled)[places]
        return self._table_rows(rows, choices, self.evidence.distributions[places])

    @cached_property
    def least_certain(self) -> list[TableRow]:
        """Predicted rows with the least probable classes."""
        order = np.argsort(self.certainty[self.asked], kind="stable")
        rows = self.asked[order[:_SHOWN_ROWS]]
        shares = self.classifier.label_distributions_[rows]
        return self._table_rows(rows, np.argsort(-shares, axis=1, kind="stable")[:, :2], shares)

    def _table_rows(self, rows: Any, choices: Any, shares: FloatArray) -> list[TableRow]:
        texts = self.cells(rows).values()
        return [
            (
                int(self.numbers[row]) + 1,
                [column[place] for column in texts],
                [(self.classes[code], float(shares[place, code])) for code in choices[place]],
            )
            for place, row in enumerate(rows)
        ]


def cell_texts(column: pd.Series[Any]) -> list[str]:
    """Return short texts of the cells of a column; a missing cell gives an empty text."""
    texts = [f"{cell:.6g}" if isinstance(cell, float) else shorten(str(cell)) for cell in column]
    return ["" if missing else text for text, missing in zip(texts, column.isna(), strict=True)]


def _count_cells(column: pd.Series[Any] | None, kind: str) -> dict[str, int | None]:
    """Count missing cells and distinct values; None without the column."""
    if column is None:
        return {"missing": None, "distinct": None}
    present = column.dropna()
    if kind == "vector":
        return {"missing": len(column) - len(present), "distinct": None}
    if kind == "number" and pd.api.types.is_string_dtype(present):
        present = present[~present.isin(MISSING_TEXTS)]
    if present.dtype == object:
        present = present.astype(str)  # cells may be lists
    return {"missing": len(column) - len(present), "distinct": int(present.nunique())}

"""Results of a classified table, gathered for a report; ``pages`` lays them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import shorten
from lowrankgcn._validation import invalid, set_fields
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.files import Columns
from lowrankgcn.graphs import GraphDescription
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables.texts import MISSING_TEXTS

_SHOWN_ROWS = 5
_SHOWN_COLUMNS = 5


class TableRow(NamedTuple):
    """A row of the table with its prediction.

    Attributes
    ----------
    number : int
        Counted from 1, without the header.
    cells : tuple of str
        Some of its cells.
    guesses : tuple of (class, probability)
        Two classes with their probabilities.
    """

    number: int
    cells: tuple[str, ...]
    guesses: tuple[tuple[str, float], ...]


class ColumnSummary(NamedTuple):
    """A column of the table.

    Attributes
    ----------
    name : str
    kind : str
        "number", "date", "category" or "text"; empty if it is left out.
    reason : str
        Why it is left out; empty if it is used.
    missing, distinct : int or None
        Number of missing cells and of distinct values; None without the table.
    importance : float or None
        Share of all columns, if it was computed.
    """

    name: str
    kind: str
    reason: str
    missing: int | None
    distinct: int | None
    importance: float | None


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
    seed : int, optional
        Also chooses the rows to draw if there are many.

    Attributes
    ----------
    classes : tuple of str
    labelled, unplaced : (n,) bool arrays
        Rows with a label, and rows without a path to a labelled row.
    codes : (n,) int array
        Classes of the rows, given or predicted.
    certainty : (n,) array
        Probabilities of the most probable classes.

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
    seed: int | None = None
    classes: tuple[str, ...] = field(init=False)
    labelled: NDArray[np.bool_] = field(init=False)
    unplaced: NDArray[np.bool_] = field(init=False)
    codes: NDArray[np.intp] = field(init=False)
    certainty: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        classifier, frame, columns = self.classifier, self.frame, self.columns
        shares = classifier.label_distributions_
        for name, rows in (("labels", self.labels), ("frame", frame)):
            if rows is not None and len(rows) != len(shares):
                raise invalid(name, f"{len(shares)} rows, as many as were fitted", len(rows))
        if frame is not None:
            frame = frame.set_axis(frame.columns.map(str), axis=1)
            frame = frame.loc[:, ~frame.columns.duplicated()]
        if columns is None:
            types = {} if frame is None else frame.dtypes.map(lambda dtype: dtype.kind in "iuf")
            used: Any = {name: "number" if kind else "category" for name, kind in types.items()}
            columns = Columns("", used, {})
        known = pd.Index(classifier.classes_.astype(object))
        codes = known.get_indexer(np.asarray(self.labels, dtype=object))
        set_fields(
            self,
            frame=frame,
            columns=columns,
            evidence=self.evidence or Evidence.from_classifier(classifier),
            seconds=classifier.timings_ if self.seconds is None else self.seconds,
            classes=tuple(map(str, classifier.classes_.tolist())),
            labelled=codes >= 0,
            unplaced=getattr(classifier, "unplaced_", np.zeros(len(shares), bool)),
            codes=np.where(codes >= 0, codes, shares.argmax(axis=1)),
            certainty=shares.max(axis=1),
        )

    @cached_property
    def asked(self) -> NDArray[np.intp]:
        """Rows with a prediction."""
        return np.flatnonzero(~self.labelled & ~self.unplaced)

    @cached_property
    def given(self) -> tuple[int, ...]:
        """Number of labelled rows of each class."""
        return tuple(np.bincount(self.codes[self.labelled], minlength=len(self.classes)).tolist())

    @cached_property
    def predicted(self) -> tuple[int, ...]:
        """Number of predicted rows of each class."""
        return tuple(np.bincount(self.codes[self.asked], minlength=len(self.classes)).tolist())

    @cached_property
    def overview(self) -> tuple[ColumnSummary, ...]:
        """The most important columns first, then those that are left out."""
        importance = {} if self.evidence is None else self.evidence.importance
        shares = self.columns.column_sums(importance)
        columns = [(name, str(kind), "") for name, kind in self.columns.used.items()]
        columns += [(name, "", reason) for name, reason in self.columns.left_out.items()]
        summaries = [
            ColumnSummary(*column, *_count_cells(self.frame, *column[:2]), shares.get(column[0]))
            for column in columns
        ]
        summaries.sort(key=lambda column: (column.kind == "", -(column.importance or 0.0)))
        return tuple(summaries)

    @cached_property
    def shown_columns(self) -> tuple[str, ...]:
        """Columns whose cells are shown: an identifier and the most important ones."""
        if self.frame is None:
            return ()
        identifiers = [column.name for column in self.overview if column.reason == "identifier"]
        used = [column.name for column in self.overview if column.kind]
        return (*identifiers[:1], *used)[:_SHOWN_COLUMNS]

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
        doubtful = self.evidence.doubtful[: 2 * _SHOWN_ROWS]
        places = [place for place, _ in doubtful]
        both = [(int(self.evidence.codes[place]), other) for place, other in doubtful]
        rows = np.flatnonzero(self.labelled)[places]
        return self._table_rows(rows, both, self.evidence.distributions[places])

    @cached_property
    def least_certain(self) -> list[TableRow]:
        """Predicted rows with the least probable classes."""
        order = np.argsort(self.certainty[self.asked], kind="stable")
        rows = self.asked[order[:_SHOWN_ROWS]]
        shares = self.classifier.label_distributions_[rows]
        return self._table_rows(rows, np.argsort(-shares, axis=1, kind="stable")[:, :2], shares)

    def _table_rows(self, rows: Any, choices: Any, shares: FloatArray) -> list[TableRow]:
        texts = list(self.cells(rows).values())
        return [
            TableRow(
                int(row) + 1,
                tuple(column[place] for column in texts),
                tuple((self.classes[code], float(shares[place, code])) for code in choices[place]),
            )
            for place, row in enumerate(rows)
        ]


def describe_graphs(classifier: Any) -> dict[str, GraphDescription]:
    """Describe the graphs of a Gaussian process by name, or the one graph of a network."""
    if hasattr(classifier, "graphs_"):
        return {name: graph.description for name, graph in classifier.graphs_.items()}
    description = classifier.graph_.description
    return {description.name: description}


def describe_weighting(classifier: Any) -> str:
    """Describe class shares or class weights as a sentence; return "" for the default."""
    name = "class_shares" if hasattr(classifier, "class_shares") else "class_weight"
    weighting = getattr(classifier, name)
    if isinstance(weighting, Mapping):
        listed = ", ".join(f"{shorten(str(key))} {value:g}" for key, value in weighting.items())
        return f"{name} is given: {listed}."
    if weighting == "labels":
        return "The classes are assumed to be as frequent as among the labelled rows."
    if weighting in ("equal", "balanced"):
        return (
            "All classes count alike, however many labels they have: rare classes are found more "
            "often, at the cost of false alarms."
        )
    return ""


def cell_texts(column: Any) -> list[str]:
    """Return short texts of the cells of a column; a missing cell gives an empty text."""
    return [
        ""
        if pd.api.types.is_scalar(value) and pd.isna(value)
        else f"{value:.6g}"
        if isinstance(value, float)
        else shorten(str(value))
        for value in column
    ]


def _count_cells(frame: Any, name: str, kind: str) -> tuple[int | None, int | None]:
    """Count missing cells and distinct values."""
    if frame is None or name not in frame:
        return None, None
    present = frame[name].dropna()
    if kind == "number" and pd.api.types.is_string_dtype(present):
        present = present[~present.isin(MISSING_TEXTS)]
    if present.dtype == object:
        present = present.astype(str)  # cells may be lists
    return len(frame) - len(present), int(present.nunique())

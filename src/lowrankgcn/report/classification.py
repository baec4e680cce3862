"""Results of a classified table, gathered for a report.

A classification holds a few thousand plain values however long the table is; ``pages`` lays them
out.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple, final

import numpy as np
import pandas as pd

import lowrankgcn
from lowrankgcn._format import count, rounded_percent, shorten
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.estimators.semi_supervised import main_eigenpairs, unscaled_filters
from lowrankgcn.files import Columns
from lowrankgcn.files.cells import MISSING_TEXTS
from lowrankgcn.graphs import GraphDescription
from lowrankgcn.report.embedding import Embedding

_SHOWN_ROWS = 5
_SHOWN_COLUMNS = 5
_BINS = 20


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
        Columns used by the classifier; by default all of the frame.
    evidence : Evidence, optional
        By default that of the classifier, without the importance of columns.
    source : str
        Name of the table.
    seconds : mapping from step to float, optional
        By default the timings of the classifier.
    warnings, notes : iterables of str
        Notes are about the table.
    facts : mapping from name to str, optional
        Further results, such as the number of sets with one class.
    command : str
    seed : int, optional
        Also chooses the rows to draw if there are many.

    Attributes
    ----------
    source : str
        Name of the table.
    columns : Columns
        An empty target means that it has no name.
    overview : tuple of ColumnSummary
        The most important columns first, then those that are left out.
    n_rows : int
    classes : tuple of str
    given, predicted : tuples of int
        Labelled and predicted rows of each class; rows without a prediction count in neither.
    median : float
        Of the probabilities of the predicted classes; NaN without predicted rows.
    histogram : (counts, edges)
        Of the same probabilities.
    evidence : Evidence or None
        None for networks.
    graphs : mapping from name to GraphDescription
    filters
        Learned filters by graph, or filters of the network.
    eigenvalues : (r,) array or None
        Spectrum of the graph of a network; None at full rank.
    loss_curve : (T, s) array or None
        Losses of a network, one column for each restart.
    embedding : Embedding or None
        None if no eigenvectors were computed.
    descriptions : list of (name, texts)
        Row, class, probability and cells of each point of the embedding. An empty text is a missing
        cell, or does not apply.
    shown_columns : tuple of str
        Columns whose cells are shown: an identifier and the most important ones.
    suspicious : tuple of TableRow
        Labelled rows that would clearly be predicted as another class, the clearest first. Their
        guesses are the label and that class.
    least_certain : tuple of TableRow
    n_unplaced : int
        Number of rows without a path to a labelled row.
    seconds : mapping from step to float
    warnings, notes : tuples of str
    facts : mapping from name to str
    weighting : str
        How the classes are weighted, as a sentence; empty for the default.
    command : str
        Command line that reproduces the run; empty if there is none.
    seed : int or None

    Raises
    ------
    ValueError
        If labels or frame do not have as many rows as the classifier was fitted to.

    Notes
    -----
    Cost: O(n C) to count, O(r) for each of a few thousand rows that are drawn.

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

    def __init__(
        self,
        classifier: Any,
        frame: Any,
        labels: Any,
        *,
        columns: Columns | None = None,
        evidence: Evidence | None = None,
        source: str = "table",
        seconds: Mapping[str, float] | None = None,
        warnings: Iterable[str] = (),
        notes: Iterable[str] = (),
        facts: Mapping[str, str] | None = None,
        command: str = "",
        seed: int | None = None,
    ) -> None:
        shares = classifier.label_distributions_
        n, n_classes = shares.shape
        classes = tuple(map(str, classifier.classes_.tolist()))
        known = pd.Index(classifier.classes_.astype(object))
        given_codes = known.get_indexer(np.asarray(labels, dtype=object))  # −1: unlabelled
        for name, rows in (("labels", given_codes), ("frame", frame)):
            if rows is not None and len(rows) != n:
                raise invalid(name, f"{n} rows, as many as were fitted", len(rows))
        lost = getattr(classifier, "unplaced_", np.zeros(n, bool))
        given, certainty = given_codes >= 0, shares.max(axis=1)
        codes = np.where(given, given_codes, shares.argmax(axis=1))
        predicted = ~given & ~lost
        first = _BINS // n_classes  # no probability is below 1 / n_classes
        edges = np.linspace(first / _BINS, 1.0, _BINS - first + 1)
        ranked = pd.Series(np.clip(certainty, edges[0], 1.0))[predicted]
        if columns is None:
            kinds = {} if frame is None else frame.dtypes.map(lambda kind: kind.kind in "iuf")
            used: Any = {str(n): "number" if kind else "category" for n, kind in kinds.items()}
            columns = Columns("", used, {})
        evidence = evidence or Evidence.from_classifier(classifier)
        if frame is not None:
            frame = frame.set_axis(frame.columns.map(str), axis=1)
            frame = frame.loc[:, ~frame.columns.duplicated()]
        overview = _overview(frame, columns, {} if evidence is None else evidence.importance)
        shown: tuple[str, ...] = ()
        if frame is not None:
            names = [name for name, why in columns.left_out.items() if why == "identifier"]
            used = [column.name for column in overview if column.kind]
            shown = (*names[:1], *used)[:_SHOWN_COLUMNS]

        def table_row(row: int, likely: Sequence[int], own: Any) -> TableRow:
            guesses = tuple((classes[code], float(own[code])) for code in likely)
            cells = (cell_texts(frame[name].iloc[[row]])[0] for name in shown)
            return TableRow(row + 1, tuple(cells), guesses)

        suspicious = []
        if evidence is not None:
            labelled = np.flatnonzero(given).tolist()
            for k, other in evidence.doubtful[: 2 * _SHOWN_ROWS]:
                both = (int(evidence.codes[k]), other)
                suspicious.append(table_row(labelled[k], both, evidence.distributions[k]))
        embedding, described = None, []
        pairs, drawn = main_eigenpairs(classifier)
        if pairs is not None:
            own = codes[drawn], given[drawn], certainty[drawn]
            embedding = Embedding(pairs, *own, hidden=lost[drawn], seed=seed or 0)
            rows = np.arange(n)[drawn][embedding.rows]
            described = [
                ("row", [count(row) for row in (rows + 1).tolist()]),
                ("class", [classes[code] for code in codes[rows]]),
                *_probabilities(classes, rows, given, certainty, evidence),
                *((name, cell_texts(frame[name].iloc[rows])) for name in shown),
            ]
        networks = evidence is None
        self.source, self.command, self.seed = source, command, seed
        self.columns, self.n_rows, self.classes, self.shown_columns = columns, n, classes, shown
        self.given = tuple(np.bincount(codes[given], minlength=n_classes).tolist())
        self.predicted = tuple(np.bincount(codes[predicted], minlength=n_classes).tolist())
        self.median, self.histogram = float(ranked.median()), np.histogram(ranked, edges)
        self.evidence, self.embedding, self.descriptions = evidence, embedding, described
        self.overview = overview
        self.graphs = describe_graphs(classifier)
        self.filters = unscaled_filters(classifier.networks_) if networks else classifier.filter_
        self.eigenvalues = pairs.eigenvalues if networks and pairs is not None else None
        self.loss_curve = classifier.loss_curve_ if networks else None
        self.suspicious = tuple(suspicious)
        self.least_certain = tuple(
            table_row(row, np.argsort(-shares[row], kind="stable")[:2].tolist(), shares[row])
            for row in ranked.nsmallest(_SHOWN_ROWS).index
        )
        self.n_unplaced = int(lost.sum())
        self.seconds = dict(classifier.timings_ if seconds is None else seconds)
        self.warnings, self.notes, self.facts = tuple(warnings), tuple(notes), dict(facts or {})
        self.weighting = _weighting(classifier)

    @property
    def n_given(self) -> int:
        """Number of labelled rows."""
        return sum(self.given)

    @property
    def n_predicted(self) -> int:
        """Number of predicted rows."""
        return sum(self.predicted)


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


def _probabilities(
    classes: Sequence[str], rows: Any, given: Any, certainty: Any, evidence: Evidence | None
) -> list[tuple[str, list[str]]]:
    """Describe the probabilities of rows: of predictions, or of labelled rows without the label."""
    texts = ["" if given[row] else rounded_percent(certainty[row]) for row in rows]
    found = [("probability", texts)]
    if evidence is None:
        return [*found, ("label", ["given" if given[row] else "" for row in rows])]
    held_out, place = evidence.distributions, np.cumsum(given) - 1
    likely = [held_out[place[row]].argmax() if given[row] else 0 for row in rows]
    texts = [
        f"{shorten(classes[code])}, {rounded_percent(held_out[place[row], code])}"
        if given[row]
        else ""
        for row, code in zip(rows, likely, strict=True)
    ]
    return [*found, ("without its label", texts)]


def _overview(
    frame: Any, columns: Columns, importance: Mapping[str, float]
) -> tuple[ColumnSummary, ...]:
    """Describe used columns by importance, then those that are left out."""
    shares = columns.column_sums(importance)
    found = [
        ColumnSummary(name, kind, "", *_cells_of(frame, name, kind), shares.get(name))
        for name, kind in columns.used.items()
    ]
    found.sort(key=lambda column: -(column.importance or 0.0))
    for name, reason in columns.left_out.items():
        found.append(ColumnSummary(name, "", reason, *_cells_of(frame, name, ""), None))
    return tuple(found)


def _cells_of(frame: Any, name: str, kind: str) -> tuple[int | None, int | None]:
    """Count missing cells and distinct values."""
    if frame is None or name not in frame:
        return None, None
    present = frame[name].dropna()
    if kind == "number" and pd.api.types.is_string_dtype(present):
        present = present[~present.isin(MISSING_TEXTS)]
    if present.dtype == object:
        present = present.astype(str)  # cells may be lists
    return len(frame) - len(present), int(present.nunique())


def without_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON does not have, by None."""
    return {name: None if value != value else value for name, value in row.items()}


def versions() -> tuple[str, ...]:
    """Return the versions of Python and of the packages that affect results."""
    found = [f"lowrankgcn {lowrankgcn.__version__}", f"Python {platform.python_version()}"]
    for name in ("numpy", "scipy", "scikit-learn", "faiss-cpu", "finufft", "torch"):
        with suppress(PackageNotFoundError):  # torch is optional
            found.append(f"{name} {version(name)}")
    return tuple(found)


def describe_graphs(classifier: Any) -> dict[str, GraphDescription]:
    """Describe the graphs of a Gaussian process by name, or the one graph of a network."""
    if hasattr(classifier, "graphs_"):
        return {name: graph.description for name, graph in classifier.graphs_.items()}
    found = classifier.graph_.description
    return {found.name: found}


def _weighting(classifier: Any) -> str:
    """Describe class shares or class weights that differ from the default."""
    name = "class_shares" if hasattr(classifier, "class_shares") else "class_weight"
    given = getattr(classifier, name)
    if isinstance(given, Mapping):
        listed = ", ".join(f"{shorten(str(key))} {value:g}" for key, value in given.items())
        return f"{name} is given: {listed}."
    if given == "labels":
        return "The classes are assumed to be as frequent as among the labelled rows."
    if given in ("equal", "balanced"):
        return (
            "All classes count alike, however many labels they have: rare classes are found more "
            "often, at the cost of false alarms."
        )
    return ""

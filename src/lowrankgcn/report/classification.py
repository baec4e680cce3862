"""What a report tells about a table whose missing labels were filled in.

A classification holds results as plain values, a few thousand of them however long the table is;
how they look is the page's business. :meth:`Classification.numbers` gives them for JSON.

>>> import lowrankgcn as lg, numpy as np
>>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
>>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
>>> classifier = lg.GCNClassifier(random_state=0).fit(X, y)
>>> result = Classification.of(classifier, None, y, source="two clouds")
>>> result.classes, result.given, result.predicted
(('0.0', '1.0'), (5, 5), (15, 15))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.estimators import GCNClassifier, Validation
from lowrankgcn.files import Columns
from lowrankgcn.graphs import GraphDescription
from lowrankgcn.report.certainty import Certainty, extremes
from lowrankgcn.report.embedding import Embedding
from lowrankgcn.report.networks import plain_networks
from lowrankgcn.report.table_rows import RowNote, row_notes
from lowrankgcn.report.text import versions
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.filters.base import Scaled
from lowrankgcn.spectral.kernel import Kernel

__all__ = ["Classification"]

_SHOWN_ROWS = 5
_SHOWN_COLUMNS = 5


@final
@dataclass(frozen=True, eq=False)
class Classification:
    """A table, its classes, and how they came about.

    Attributes
    ----------
    source : str
        The file or whatever else the table is.
    target : str or None
        Column of the classes.
    n_rows : int
    used : mapping from column to {"number", "date", "category"}
    left_out : mapping from column to reason
    classes : tuple of str
    given, predicted : tuples of int
        How many rows of each class were labelled, and how many were put there. Rows that could not
        be placed count in neither.
    certainty : Certainty
        Of the rows that were put into a class.
    validation : Validation or None
    graph : GraphDescription
    eigenvalues : (r,) array or None
    filters : tuple of Filter
        Those of the networks that had a part in the answer and look at the graph.
    selection : tuple of mappings
        What was compared, see :class:`~lowrankgcn.estimators.selection.Selection`.
    embedding : Embedding or None
        None if no eigenvectors were computed.
    shown_columns : tuple of str
        Columns whose cells the following rows show.
    most_certain, least_certain, unplaced : tuples of RowNote
        Some rows each.
    n_unplaced : int
        Rows that no chain of likeness joins to a labelled one.
    seconds : mapping from step to float
    warnings : tuple of str
    command : str
        The command line, to repeat the run; empty if there was none.
    seed : int or None
    versions : tuple of str
    """

    source: str
    target: str | None
    n_rows: int
    used: Mapping[str, str]
    left_out: Mapping[str, str]
    classes: tuple[str, ...]
    given: tuple[int, ...]
    predicted: tuple[int, ...]
    certainty: Certainty
    validation: Validation | None
    graph: GraphDescription
    eigenvalues: NDArray[np.float64] | None
    filters: tuple[Filter, ...]
    selection: tuple[Mapping[str, Any], ...]
    embedding: Embedding | None
    shown_columns: tuple[str, ...]
    most_certain: tuple[RowNote, ...]
    least_certain: tuple[RowNote, ...]
    unplaced: tuple[RowNote, ...]
    n_unplaced: int
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    command: str
    seed: int | None
    versions: tuple[str, ...]

    @classmethod
    def of(
        cls,
        classifier: GCNClassifier,
        frame: pd.DataFrame | None,
        labels: Any,
        *,
        columns: Columns | None = None,
        validation: Validation | None = None,
        source: str = "table",
        seconds: Mapping[str, float] | None = None,
        warnings: Iterable[str] = (),
        command: str = "",
        seed: int | None = None,
    ) -> Classification:
        """Gather what a fitted classifier knows.

        Parameters
        ----------
        classifier : GCNClassifier
            Fitted to all rows.
        frame : DataFrame or None
            The table as it was read, with all of its columns; None without one.
        labels : (n,) array
            What the classifier was given as y.
        columns : Columns, optional
            Which columns it learned from; by default all of the frame.
        validation : Validation, optional
        source : str
            Name of the table.
        seconds : mapping from step to float, optional
            By default the classifier's own timings.
        warnings : iterable of str
        command : str
        seed : int, optional
            Also decides which rows are drawn where there are many.

        Raises
        ------
        ValueError
            If labels or frame do not have as many rows as the classifier was fitted to.

        Notes
        -----
        Cost: O(n C) to count, O(r) for each of a few thousand rows that are drawn.
        """
        shares = classifier.label_distributions_
        n, n_classes = shares.shape
        given_codes = _codes(labels, classifier.classes_)
        for name, count in [
            ("labels", len(given_codes)),
            ("frame", n if frame is None else len(frame)),
        ]:
            if count != n:
                raise invalid(name, f"{n} rows, as many as were fitted", count)
        classes = tuple(map(str, classifier.classes_.tolist()))
        given, lost = given_codes >= 0, classifier.unplaced_
        certainty = shares.max(axis=1)
        codes = np.where(given, given_codes, shares.argmax(axis=1))
        answered = np.flatnonzero(~given & ~lost)
        shown = _shown_columns(frame, columns)

        def notes(rows: NDArray[np.intp], *, placed: bool = True) -> tuple[RowNote, ...]:
            return row_notes(rows, shares, classes, frame, shown, placed=placed)

        pairs = classifier.eigenpairs_
        used, left_out = _roles(frame, columns)
        return cls(
            source=source,
            target=None if columns is None else columns.target,
            n_rows=n,
            used=used,
            left_out=left_out,
            classes=classes,
            given=tuple(np.bincount(codes[given], minlength=n_classes).tolist()),
            predicted=tuple(np.bincount(codes[answered], minlength=n_classes).tolist()),
            certainty=Certainty.of(certainty[answered], n_classes=n_classes),
            validation=validation,
            graph=classifier.graph_.description,
            eigenvalues=None if pairs is None else pairs.eigenvalues,
            filters=_filters(classifier),
            selection=tuple(classifier.selection_),
            embedding=None
            if pairs is None
            else Embedding.of(pairs, codes, given, certainty, hidden=lost, seed=seed or 0),
            shown_columns=tuple(map(str, shown)),
            most_certain=notes(answered[extremes(certainty[answered], _SHOWN_ROWS, largest=True)]),
            least_certain=notes(
                answered[extremes(certainty[answered], _SHOWN_ROWS, largest=False)]
            ),
            unplaced=notes(np.flatnonzero(lost)[:_SHOWN_ROWS], placed=False),
            n_unplaced=int(lost.sum()),
            seconds=dict(classifier.timings_ if seconds is None else seconds),
            warnings=tuple(warnings),
            command=command,
            seed=seed,
            versions=versions(),
        )

    @property
    def n_given(self) -> int:
        """Rows whose label was given."""
        return sum(self.given)

    @property
    def n_predicted(self) -> int:
        """Rows that were put into a class."""
        return sum(self.predicted)

    def numbers(self) -> dict[str, Any]:
        """Plain numbers and strings for JSON; everything but "seconds" repeats with the seed."""
        validation = self.validation
        return {
            "source": self.source,
            "target": self.target,
            "rows": self.n_rows,
            "columns": {"used": dict(self.used), "left_out": dict(self.left_out)},
            "classes": [
                {"class": name, "given": given, "predicted": predicted}
                for name, given, predicted in zip(
                    self.classes, self.given, self.predicted, strict=True
                )
            ],
            "unplaced": self.n_unplaced,
            "certainty": self.certainty.numbers(),
            "validation": None
            if validation is None
            else {name: value for name, value in asdict(validation).items() if name != "recalls"},
            "graph": {"kind": self.graph.name, **self.graph.facts},
            "eigenvalues": None if self.eigenvalues is None else self.eigenvalues.tolist(),
            "filters": list(map(str, self.filters)),
            "selection": plain_networks(self.selection),
            "most_certain": [row.numbers() for row in self.most_certain],
            "least_certain": [row.numbers() for row in self.least_certain],
            "warnings": list(self.warnings),
            "command": self.command,
            "seed": self.seed,
            "versions": list(self.versions),
            "seconds": dict(self.seconds),
        }


def _codes(labels: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Class of every labelled row, −1 for the others."""
    values = np.asarray(labels, dtype=object)
    codes: NDArray[np.intp] = pd.Index(classes.astype(object)).get_indexer(values)
    return codes


def _roles(
    frame: pd.DataFrame | None, columns: Columns | None
) -> tuple[dict[str, str], dict[str, str]]:
    if columns is not None:
        return dict(columns.used), dict(columns.left_out)
    if frame is None:
        return {}, {}
    numeric = pd.api.types.is_numeric_dtype
    return {str(name): "number" if numeric(frame[name]) else "category" for name in frame}, {}


def _shown_columns(frame: pd.DataFrame | None, columns: Columns | None) -> Sequence[Any]:
    """An identifier to find the row by, and the first columns that are used."""
    if frame is None:
        return ()
    if columns is None:
        return tuple(frame.columns[:_SHOWN_COLUMNS])
    names = [name for name, reason in columns.left_out.items() if reason == "identifier"][:1]
    return (*names, *columns.used)[:_SHOWN_COLUMNS]


def _filters(classifier: GCNClassifier) -> tuple[Filter, ...]:
    """Filters of the networks in use, without the factor that scales their kernels."""
    found: dict[str, Filter] = {}
    for network in classifier.networks_:
        for made in network.kernels:
            if isinstance(made, Kernel):
                phi = made.filter.filter if isinstance(made.filter, Scaled) else made.filter
                found.setdefault(str(phi), phi)
    return tuple(found.values())

"""Results of a classified table, gathered for a report.

A classification holds a few thousand plain values however long the table is. ``pages`` lays them
out; :meth:`Classification.numbers` returns them for JSON.

>>> import lowrankgcn as lg, numpy as np
>>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
>>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
>>> classifier = lg.GCNClassifier(random_state=0).fit(X, y)
>>> result = Classification.from_classifier(classifier, None, y, source="two clouds")
>>> result.classes, result.given, result.predicted
(('0.0', '1.0'), (5, 5), (15, 15))
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import lowrankgcn
from lowrankgcn._validation import invalid
from lowrankgcn.estimators import GCNClassifier, Validation
from lowrankgcn.files import Columns
from lowrankgcn.graphs import GraphDescription
from lowrankgcn.report.certainty import Certainty, TableRow, cell_texts, extremes
from lowrankgcn.report.embedding import Embedding
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.filters.base import Scaled
from lowrankgcn.spectral.kernel import Kernel

__all__ = ["Classification", "versions", "without_nan"]

_SHOWN_ROWS = 5
_SHOWN_COLUMNS = 5


@final
@dataclass(frozen=True, eq=False)
class Classification:
    """A table, its predicted classes, and the evidence for them.

    Attributes
    ----------
    source : str
        Name of the table.
    target : str or None
        Column of the classes.
    n_rows : int
    used : mapping from column to {"number", "date", "category"}
    left_out : mapping from column to reason
    classes : tuple of str
    given, predicted : tuples of int
        Labelled and predicted rows of each class; rows without a prediction count in neither.
    certainty : Certainty
        Probabilities of the predicted rows.
    validation : Validation or None
    graph : GraphDescription
    eigenvalues : (r,) array or None
    filters : tuple of Filter
        Filters of the graph networks that have a share in the prediction.
    selection : tuple of mappings
        The compared networks, see :class:`~lowrankgcn.estimators.selection.Selection`.
    embedding : Embedding or None
        None if no eigenvectors were computed.
    shown_columns : tuple of str
        Columns whose cells are shown in the following rows.
    most_certain, least_certain, unplaced : tuples of TableRow
        A few rows each.
    n_unplaced : int
        Number of rows without a path to a labelled row.
    seconds : mapping from step to float
    warnings : tuple of str
    command : str
        Command line that reproduces the run; empty if there is none.
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
    most_certain: tuple[TableRow, ...]
    least_certain: tuple[TableRow, ...]
    unplaced: tuple[TableRow, ...]
    n_unplaced: int
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    command: str
    seed: int | None
    versions: tuple[str, ...]

    @classmethod
    def from_classifier(
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
        """Gather the results of a fitted classifier.

        Parameters
        ----------
        classifier : GCNClassifier
            Fitted to all rows.
        frame : DataFrame or None
            The table with all of its columns, as it was read.
        labels : (n,) array
            The y of the fit.
        columns : Columns, optional
            Columns used by the classifier; by default all of the frame.
        validation : Validation, optional
        source : str
            Name of the table.
        seconds : mapping from step to float, optional
            By default the timings of the classifier.
        warnings : iterable of str
        command : str
        seed : int, optional
            Also chooses the rows to draw if there are many.

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
        classes = tuple(map(str, classifier.classes_.tolist()))
        known = pd.Index(classifier.classes_.astype(object))
        given_codes = known.get_indexer(np.asarray(labels, dtype=object))  # −1: unlabelled
        for name, rows in (("labels", given_codes), ("frame", frame)):
            if rows is not None and len(rows) != n:
                raise invalid(name, f"{n} rows, as many as were fitted", len(rows))
        given, lost = given_codes >= 0, classifier.unplaced_
        certainty = shares.max(axis=1)
        codes = np.where(given, given_codes, shares.argmax(axis=1))
        answered = np.flatnonzero(~given & ~lost)
        shown = _shown_columns(frame, columns)

        def table_rows(rows: NDArray[np.intp], *, placed: bool = True) -> tuple[TableRow, ...]:
            found = []
            for row in rows.tolist():
                likely = np.argsort(-shares[row], kind="stable")[:2].tolist() if placed else []
                guesses = tuple((classes[code], float(shares[row, code])) for code in likely)
                found.append(TableRow(row + 1, cell_texts(frame, row, shown), guesses))
            return tuple(found)

        def extreme_rows(*, largest: bool) -> tuple[TableRow, ...]:
            chosen = extremes(certainty[answered], _SHOWN_ROWS, largest=largest)
            return table_rows(answered[chosen])

        pairs = classifier.eigenpairs_
        embedding = None
        if pairs is not None:
            embedding = Embedding.from_eigenpairs(
                pairs, codes, given, certainty, hidden=lost, seed=seed or 0
            )
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
            certainty=Certainty.from_probabilities(certainty[answered], n_classes=n_classes),
            validation=validation,
            graph=classifier.graph_.description,
            eigenvalues=None if pairs is None else pairs.eigenvalues,
            filters=_filters(classifier),
            selection=tuple(classifier.selection_),
            embedding=embedding,
            shown_columns=tuple(map(str, shown)),
            most_certain=extreme_rows(largest=True),
            least_certain=extreme_rows(largest=False),
            unplaced=table_rows(np.flatnonzero(lost)[:_SHOWN_ROWS], placed=False),
            n_unplaced=int(lost.sum()),
            seconds=dict(classifier.timings_ if seconds is None else seconds),
            warnings=tuple(warnings),
            command=command,
            seed=seed,
            versions=versions(),
        )

    @property
    def n_given(self) -> int:
        """Number of labelled rows."""
        return sum(self.given)

    @property
    def n_predicted(self) -> int:
        """Number of predicted rows."""
        return sum(self.predicted)

    def numbers(self) -> dict[str, Any]:
        """Return plain values for JSON; all but "seconds" repeat with the seed."""
        counts = zip(self.classes, self.given, self.predicted, strict=True)
        validation = None if self.validation is None else asdict(self.validation)
        if validation is not None:
            del validation["recalls"]
        return {
            "source": self.source,
            "target": self.target,
            "rows": self.n_rows,
            "columns": {"used": dict(self.used), "left_out": dict(self.left_out)},
            "classes": [
                {"class": name, "given": given, "predicted": predicted}
                for name, given, predicted in counts
            ],
            "unplaced": self.n_unplaced,
            "certainty": self.certainty.numbers(),
            "validation": validation,
            "graph": {"kind": self.graph.name, **self.graph.facts},
            "eigenvalues": None if self.eigenvalues is None else self.eigenvalues.tolist(),
            "filters": list(map(str, self.filters)),
            "selection": [without_nan(row) for row in self.selection],
            "most_certain": [row.numbers() for row in self.most_certain],
            "least_certain": [row.numbers() for row in self.least_certain],
            "warnings": list(self.warnings),
            "command": self.command,
            "seed": self.seed,
            "versions": list(self.versions),
            "seconds": dict(self.seconds),
        }


def without_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON does not have, by None."""
    return {name: None if value != value else value for name, value in row.items()}


def versions() -> tuple[str, ...]:
    """Return the versions of Python and of the packages that affect results."""
    packages = ("numpy", "scipy", "torch", "finufft", "matplotlib")
    return (
        f"lowrankgcn {lowrankgcn.__version__}",
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in packages),
    )


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
    """Return an identifier of the rows and the first columns that are used."""
    if frame is None:
        return ()
    if columns is None:
        return tuple(frame.columns[:_SHOWN_COLUMNS])
    names = [name for name, reason in columns.left_out.items() if reason == "identifier"][:1]
    return (*names, *columns.used)[:_SHOWN_COLUMNS]


def _filters(classifier: GCNClassifier) -> tuple[Filter, ...]:
    """Return the filters of the networks, without the factor that scales their kernels."""
    found: dict[str, Filter] = {}
    for network in classifier.networks_:
        for kernel in network.kernels:
            if isinstance(kernel, Kernel):
                phi = kernel.filter.filter if isinstance(kernel.filter, Scaled) else kernel.filter
                found.setdefault(str(phi), phi)
    return tuple(found.values())

"""Results of a classified table, gathered for a report.

A classification holds a few thousand plain values however long the table is; ``pages`` lays them
out.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
from lowrankgcn.graphs.cells import ColumnKind
from lowrankgcn.report.certainty import Certainty, TableRow, cell_texts
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
        predicted = ~given & ~lost
        ranked = pd.Series(certainty)[predicted]
        target = None if columns is None else columns.target
        columns = columns or _all_columns(frame)
        shown: tuple[str, ...] = ()
        if frame is not None:
            frame = frame.set_axis(frame.columns.map(str), axis=1)
            names = [name for name, why in columns.left_out.items() if why == "identifier"]
            shown = (*names[:1], *columns.used)[:_SHOWN_COLUMNS]

        def table_rows(rows: Iterable[int]) -> tuple[TableRow, ...]:
            found = []
            for row in rows:
                likely = () if lost[row] else np.argsort(-shares[row], kind="stable")[:2]
                guesses = tuple((classes[code], float(shares[row, code])) for code in likely)
                found.append(TableRow(row + 1, cell_texts(frame, row, shown), guesses))
            return tuple(found)

        pairs = classifier.eigenpairs_
        embedding = None
        if pairs is not None:
            embedding = Embedding.from_eigenpairs(
                pairs, codes, given, certainty, hidden=lost, seed=seed or 0
            )
        return cls(
            source=source,
            target=target,
            n_rows=n,
            used=dict(columns.used),
            left_out=dict(columns.left_out),
            classes=classes,
            given=tuple(np.bincount(codes[given], minlength=n_classes).tolist()),
            predicted=tuple(np.bincount(codes[predicted], minlength=n_classes).tolist()),
            certainty=Certainty.from_probabilities(certainty[predicted], n_classes=n_classes),
            validation=validation,
            graph=classifier.graph_.description,
            eigenvalues=None if pairs is None else pairs.eigenvalues,
            filters=_filters(classifier),
            selection=tuple(classifier.selection_),
            embedding=embedding,
            shown_columns=shown,
            most_certain=table_rows(ranked.nlargest(_SHOWN_ROWS).index.tolist()),
            least_certain=table_rows(ranked.nsmallest(_SHOWN_ROWS).index.tolist()),
            unplaced=table_rows(np.flatnonzero(lost)[:_SHOWN_ROWS].tolist()),
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


def without_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    """Replace NaN, which JSON does not have, by None."""
    return {name: None if value != value else value for name, value in row.items()}


def versions() -> tuple[str, ...]:
    """Return the versions of Python and of the packages that affect results."""
    first = (f"lowrankgcn {lowrankgcn.__version__}", f"Python {platform.python_version()}")
    packages = ("numpy", "scipy", "torch", "finufft", "faiss-cpu", "matplotlib")
    return (*first, *(f"{name} {version(name)}" for name in packages))


def _all_columns(frame: pd.DataFrame | None) -> Columns:
    columns = () if frame is None else frame.items()
    numeric = pd.api.types.is_numeric_dtype
    used: dict[str, ColumnKind] = {
        str(name): "number" if numeric(column) else "category" for name, column in columns
    }
    return Columns("", used, {})


def _filters(classifier: GCNClassifier) -> tuple[Filter, ...]:
    """Return the filters of the networks, without the factor that scales their kernels."""
    kernels = (kernel for network in classifier.networks_ for kernel in network.kernels)
    filters = [kernel.filter for kernel in kernels if isinstance(kernel, Kernel)]
    unscaled = [phi.filter if isinstance(phi, Scaled) else phi for phi in filters]
    return tuple({str(phi): phi for phi in unscaled}.values())

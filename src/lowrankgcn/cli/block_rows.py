"""Rows that are classified and written block by block: a table in memory is one block."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import count
from lowrankgcn._parallel import map_in_order
from lowrankgcn._progress import report_progress
from lowrankgcn.cli.labelled_table import LabelledTable, open_output
from lowrankgcn.cli.predictions import Predictions, explain_rows
from lowrankgcn.cli.tally import Tally
from lowrankgcn.cli.terminal import one_line_errors
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.model_files import SavedClassifier, predictor, renumber
from lowrankgcn.exceptions import ColumnWarning, prefix_errors
from lowrankgcn.files import Columns, TableFile, read_texts
from lowrankgcn.tables import Table

#: Returns the columns to write of a block, its predictions and their counts.
Work = Callable[[pd.DataFrame], tuple[pd.DataFrame, Predictions, Tally]]


class FittedRows:
    """What classifies blocks of a table that a classifier was fitted to.

    Rows of the sample have the results of the fit, the others those of the model.

    Attributes
    ----------
    audit : DataFrame or None
        All labelled rows of the sample without their own label, with their numbers in the table.
    """

    def __init__(
        self, data: LabelledTable, classifier: Any, level: float | None, *, reasons: bool = False
    ) -> None:
        self._explainer = classifier if reasons else None
        self._data, self._level, self._classes = data, level, classifier.classes_
        self._fitted: list[Any] = [classifier.label_distributions_]
        if level is not None:
            self._fitted += [classifier.prediction_sets(level=level), classifier.unsure()]
        numbers = data.table.frame.index.to_numpy()
        self.audit: Any = None
        if hasattr(classifier, "audit"):
            self.audit = classifier.audit()
            self.audit = self.audit.assign(row=numbers[self.audit["row"]])
        if data.source is not None:
            renumber(classifier, numbers)
            self._model = _compile(predictor(classifier))

    def __call__(self, block: pd.DataFrame) -> tuple[pd.DataFrame, Predictions, Tally]:
        """Classify the rows of a block."""
        data, level = self._data, self._level
        frame, labels = data.labelled(block)
        found, tally, audit = self._fitted, Tally(_texts(self._classes)), self.audit
        features = data.features
        if data.source is not None:
            with prefix_errors(data.table.name):
                features = data.columns.features(
                    frame, decimal=data.table.decimal, unreadable=tally.unreadable
                )
            found = _results(self._model, features, labels, tally, level)
            places, rows = data.sampled(block)
            for values, of_sample in zip(found, self._fitted, strict=False):
                values[places] = of_sample[rows]
            if audit is not None:
                audit = audit[audit["row"].isin(block.index)]
                audit = audit.assign(row=audit["row"] - int(block.index[0]))
        predictions = _predictions(self._classes, found, labels, data.type, level)
        tally.add(predictions)
        reasons = None
        if self._explainer is not None:
            new = np.flatnonzero(predictions.unlabelled)
            reasons = explain_rows(self._explainer, features, new)
        return frame, replace(predictions, audit=audit, reasons=reasons), tally


def predicted_rows(
    model: SavedClassifier,
    columns: Columns,
    file: TableFile,
    whole: Table | None,
    dropped: list[str],
    level: float | None,
    explainer: Any = None,
    match: Callable[[pd.DataFrame], tuple[pd.DataFrame, list[str]]] | None = None,
) -> Work:
    """Return what classifies blocks of a table by a saved model.

    Parameters
    ----------
    whole : Table or None
        The columns of the only block, if there is one.
    dropped : list of str
        Columns that are not written.
    explainer : SpectralGPClassifier, optional
        Adds the reasons of the predictions.
    match : function of a block, optional
        Returns the block with the names of the columns that the model has, and notes.
    """
    kind = _compile(model).description.get("type")

    def work(block: pd.DataFrame) -> tuple[pd.DataFrame, Predictions, Tally]:
        tally, features = Tally(_texts(model.classes)), whole
        with prefix_errors(file.name):
            if features is None:
                named = block if match is None else match(block)[0]
                features = columns.features(
                    named, decimal=file.decimal, unreadable=tally.unreadable
                )
            known = read_texts(block, columns.target) if columns.target in block else None
        tally.unknown = _unknown_values(model, features)
        found = _results(model, features, None, tally, level)
        predictions = _predictions(model.classes, found, None, kind, level)
        tally.add(predictions)
        if explainer is not None:
            predictions = replace(predictions, reasons=explain_rows(explainer, features))
        if known is not None:
            tally.check(predictions, known)
        return block.drop(columns=dropped), predictions, tally

    return work


def _compile(model: SavedClassifier) -> SavedClassifier:
    """Compile the scores once, and not in every thread."""
    if isinstance(model.model, GPModel):
        _ = model.model.compiled
    return model


def _results(
    model: SavedClassifier, features: Table, labels: Any, tally: Tally, level: float | None
) -> list[Any]:
    """Return distributions, and with a level sets and unsure rows; count rows without cells."""
    results = list(model.classify(features, level))
    if isinstance(model.model, GPModel):
        empty = model.model.without_cells(features, len(features))
        tally.empty = int((empty if labels is None else empty & labels.isna().to_numpy()).sum())
    return results if level is not None else results[:1]


def _unknown_values(model: SavedClassifier, features: Table) -> Counter[tuple[str, str]]:
    """Count the cells of each column and value that the model was not fitted to."""
    unknown: Counter[tuple[str, str]] = Counter()
    for column in _fitted_columns(model):
        if column.limits is None and column.values != (None,):
            cells = features[column.name].as_categories()
            places = enumerate(column.positions(cells.values))
            for k in (k for k, place in places if place == len(column.values)):
                unknown[str(column.name), str(cells.values[k])] += int((cells.codes == k).sum())
    return +unknown


def _fitted_columns(classifier: SavedClassifier) -> Any:
    """Return the fitted columns of a table: categories have `values`, dates have a `unit`."""
    model: Any = classifier.model
    if model is None:
        return ()
    table = model.maps.features if hasattr(model, "maps") else model.extension.cross
    return getattr(getattr(table, "encoder", None), "columns", ())


def _texts(classes: Any) -> NDArray[Any]:
    return np.array([str(name) for name in classes.tolist()], dtype=object)


def _predictions(
    classes: Any, found: list[Any], labels: Any, type: str | None, level: float | None
) -> Predictions:
    """Return predictions from distributions and, with a level, sets and unsure rows."""
    more: dict[str, Any] = {}
    if level is not None:
        more = {"level": level, "sets": found[1], "unsure": found[2]}
    return Predictions.from_labels(classes, found[0], labels, type=type, **more)


def write_rows(
    blocks: Iterable[pd.DataFrame],
    work: Work,
    n_rows: int,
    out: Path | None,
    like: TableFile,
    *,
    each_class: bool = False,
    written: bool = True,
    new_only: bool = False,
    safe: bool = False,
) -> tuple[Tally, list[str]]:
    """Classify blocks in threads, and write their rows in order.

    Parameters
    ----------
    n_rows : int
        Number of rows of all blocks; 0 if unknown.
    out : path or None
        None for standard output.
    like : TableFile
    each_class : bool
        Whether to write the probability of each class.
    written : bool
        Whether to write anything.
    new_only : bool
        Whether to write rows without a label only.
    safe : bool
        See :func:`write_file`.

    Returns
    -------
    tally : Tally
    notes : list of str
        On the names of new columns, and on cells that could not be read.
    """
    tally: Tally | None = None
    notes: list[str] = []
    with (
        warnings.catch_warnings(),
        open_output(out, like, written=written, safe=safe) as sink,
        one_line_errors(),
    ):
        warnings.simplefilter("ignore", ColumnWarning)  # rows without cells are counted

        def finish(block: pd.DataFrame) -> tuple[Tally, list[str], Any]:
            frame, predictions, counted = work(block)
            if sink is None:
                return counted, [], None
            frame, renamed = predictions.added_to(frame, each_class=each_class, audit=not new_only)
            rows = frame[predictions.unlabelled] if new_only else frame
            return counted, renamed, sink.prepare(rows)

        for counted, renamed, lines in map_in_order(finish, blocks):
            if tally is None:
                tally, notes = counted, renamed
            else:
                tally.merge(counted)
            if sink is not None:
                with one_line_errors("--out", writing=out or "-"):
                    sink.write(lines)
            if n_rows:
                report_progress("classifying", tally.n_rows, n_rows)
        assert tally is not None
        notes += tally.notes()  # may raise, before the file gets its name
    return tally, notes


def totals(tally: Tally) -> dict[str, str]:
    """Return the number of rows of each class as a line of a report on a sample."""
    rows = {name: one["given"] + one["predicted"] for name, one in tally.counts().items()}
    named = f"all {count(tally.n_rows)} rows"
    return {named: ", ".join(f"{name} {count(number)}" for name, number in rows.items())}

"""Model files and the tables that fit them.

A model that ``classify --save`` wrote knows what its columns mean; one saved from Python tells it
by what it learned, if it was fitted to a table with names.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lowrankgcn.estimators import GCNClassifier, load
from lowrankgcn.estimators.inputs import TableInputs
from lowrankgcn.files import Columns
from lowrankgcn.graphs.cells import Categories, ColumnKind, read_cells
from lowrankgcn.graphs.columns import BinnedColumn, CategoryColumn, ColumnEncoding

__all__ = ["load_model", "unknown_values"]


def load_model(path: Path) -> tuple[GCNClassifier, Columns]:
    """A fitted classifier, and the columns that it needs.

    Raises
    ------
    ValueError
        If the file is damaged or something else, or the classifier knows no columns by name.
    OSError
        If it cannot be read.
    """
    classifier = load(path)
    described = classifier.description_.get("columns")
    try:
        if described is None:
            return classifier, _columns_of(classifier)
        return classifier, Columns.from_dict(described)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _columns_of(classifier: GCNClassifier) -> Columns:
    names = getattr(classifier, "feature_names_in_", None)
    if names is None:
        raise ValueError("expected a model of columns with names, got one of an array")
    used: dict[str, ColumnKind] = dict.fromkeys(names.tolist(), "number")
    for column in _encoded(classifier):
        used[str(column.name)] = _column_kind(column)
    return Columns("", used, {})


def _column_kind(column: ColumnEncoding) -> ColumnKind:
    if column.unit == "datetime":
        return "date"
    if isinstance(column, CategoryColumn):
        texts = any(isinstance(value, (str, bool)) for value in column.values)
        return "category" if texts else "number"
    return "number"


def unknown_values(classifier: GCNClassifier, features: Any) -> dict[str, tuple[int, list[str]]]:
    """By column: how many cells hold a value that was not there at fitting, and the values."""
    found = {}
    for column in _encoded(classifier):
        if isinstance(column, BinnedColumn) or not isinstance(column, CategoryColumn):
            continue
        cells = read_cells(features[column.name], column.name)
        cells = cells if isinstance(cells, Categories) else cells.as_categories()
        known = set(column.values)
        new = {k for k, value in enumerate(cells.values) if value not in known}
        count = sum(int((cells.codes == k).sum()) for k in new)
        if count:
            present = [k for k in sorted(new) if (cells.codes == k).any()]
            found[str(column.name)] = (count, [str(cells.values[k]) for k in present])
    return found


def _encoded(classifier: GCNClassifier) -> Iterable[ColumnEncoding]:
    inputs = None if classifier._model is None else classifier._model.inputs
    return inputs.encoder.columns if isinstance(inputs, TableInputs) else ()

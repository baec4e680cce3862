"""Model files, and the columns that their tables need.

``classify --save`` stores the columns; a model saved from Python has them if it was fitted to a
table with column names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lowrankgcn._codec import decode
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.model_files import SavedClassifier, read_model
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import Columns
from lowrankgcn.files.column_choice import Kind
from lowrankgcn.tables.cells import ColumnKind


def load_model(path: Path) -> tuple[SavedClassifier, Columns]:
    """Load a saved classifier and the columns it needs.

    Raises
    ------
    ValueError
        If the file is not a valid model, or the classifier has no column names.
    OSError
        If it cannot be read.
    """
    classifier = read_model(path)
    described = classifier.description.get("columns")
    with prefix_errors(path):
        if described is not None:
            try:
                return classifier, decode({}, described, Columns)
            except ValueError as error:
                advice = "fit and save the model again"
                raise ValueError(f"cannot read the stored columns ({error}); {advice}") from None
        names = classifier.feature_names_in
        if names is None:
            raise ValueError("the model has no column names; fit it to a table with column names")
    used: dict[str, Kind] = dict.fromkeys(names, "number")
    for column in _fitted_columns(classifier):
        used[str(column.name)] = _column_kind(column)
    return classifier, Columns("", used, {})


def _column_kind(column: Any) -> ColumnKind:
    if getattr(column, "unit", None) == "datetime":
        return "date"
    texts = any(isinstance(value, (str, bool)) for value in getattr(column, "values", ()))
    return "category" if texts else "number"


def unknown_values(classifier: SavedClassifier, features: Any) -> dict[str, tuple[int, list[str]]]:
    """Count the cells of each column with values that the model was not fitted to; list these."""
    unknown = {}
    for column in _fitted_columns(classifier):
        if column.limits is not None or column.values == (None,):
            continue
        cells = features[column.name].as_categories()
        places = column.positions(cells.values)
        new = {
            str(value): int(np.sum(cells.codes == k))
            for k, value in enumerate(cells.values)
            if places[k] == len(column.values)
        }
        if any(new.values()):
            values = [value for value, times in new.items() if times]
            unknown[str(column.name)] = (sum(new.values()), values)
    return unknown


def _fitted_columns(classifier: SavedClassifier) -> Any:
    """Return the fitted columns of a table: categories have `values`, dates have a `unit`."""
    model = classifier.model
    inputs = model.maps.features if isinstance(model, GPModel) else getattr(model, "inputs", None)
    return getattr(getattr(inputs, "encoder", None), "columns", ())

"""Arrays to draw from eigenpairs, fitted classifiers and others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._validation import expect_shape, invalid
from lowrankgcn.estimators.class_labels import labelled_cells
from lowrankgcn.estimators.semi_supervised import main_eigenpairs
from lowrankgcn.spectral.eigenpairs import Eigenpairs


def fitted_attribute(classifier: Any, name: str, argument: str, expected: str) -> Any:
    """Return an attribute of a fitted classifier; raise if it has none."""
    check_is_fitted(classifier)
    value = getattr(classifier, name, None)
    if value is None or (isinstance(value, dict) and not value):
        raise invalid(argument, expected, f"a {type(classifier).__name__} without {name}")
    return value


def pairs_by_graph(source: Any, argument: str) -> dict[str, Eigenpairs] | None:
    """Return the eigenpairs of a classifier or a mapping by graph; None for an array."""
    expected = "an array, eigenpairs, or a classifier with eigenpairs (files do not keep them)"
    if isinstance(source, BaseEstimator):
        source = fitted_attribute(source, "eigenpairs_", argument, expected)
    if isinstance(source, Eigenpairs):
        return {"": source}
    if not isinstance(source, Mapping):
        return None
    if not source or not all(isinstance(pairs, Eigenpairs) for pairs in source.values()):
        raise invalid(argument, expected, "a mapping of others")
    return dict(source)


def pairs_and_rows(classifier: Any, argument: str) -> tuple[Eigenpairs, NDArray[np.intp]]:
    """Return the eigenpairs of the first connected graph, and the rows of its nodes."""
    pairs_by_graph(classifier, argument)  # raises if there are none
    expected = "a classifier of rows in memory"
    classes = fitted_attribute(classifier, "transduction_", argument, expected)
    if not isinstance(classes, np.ndarray):
        raise invalid(argument, expected, "one fitted to a Dask collection")
    pairs, rows = main_eigenpairs(classifier)
    assert pairs is not None
    return pairs, np.arange(len(classes))[rows]


def class_column(values: Any, name: str, length: int | None) -> NDArray[Any]:
    """Return classes as objects, shape (n,)."""
    if values is None:
        raise invalid(name, "an array of classes", None)
    array = np.asarray(values, dtype=object)
    expect_shape(array, name, length)
    return array


def labelled_classes(
    labels: Any, name: str, length: int | None
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the labelled rows of a column and their classes."""
    class_column(labels, name, length)
    index, known, _ = labelled_cells(labels)
    return index, known.astype(object)

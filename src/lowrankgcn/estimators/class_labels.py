"""Validation of labels; −1, None, NaN and "" mark unlabelled rows.

>>> labels = read_labels(["red", None, "blue", "", "red"])
>>> labels.classes.tolist(), labels.index.tolist(), labels.codes.tolist()
(['blue', 'red'], [0, 2, 4], [1, 0, 1])
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.exceptions import LabelWarning, prefix_errors, warn_caller
from lowrankgcn.tables.label_texts import LabelKind, check_class_count

# Dtypes of labels given as objects, by the kind that pandas infers.
_DTYPES: dict[str, Any] = {
    "string": object,
    "boolean": bool,
    "integer": np.int64,
    "floating": np.float64,
    "mixed-integer-float": np.float64,
}


@final
@dataclass(frozen=True, eq=False)
class Labels:
    """Labelled rows and their classes.

    Attributes
    ----------
    classes : (C,) array
        The classes; sorted, or in the order of a categorical's categories.
    index : (p,) int array
        Labelled rows, ascending.
    codes : (p,) int array
        Classes of the labelled rows, as positions in `classes`.
    n_rows : int
        Number of rows, labelled or not.
    weights : (p,) array or None
        Positive weights of the labelled rows; None for ones.
    """

    classes: NDArray[Any]
    index: NDArray[np.intp]
    codes: NDArray[np.intp]
    n_rows: int
    weights: NDArray[np.float64] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return len(self.classes)

    def weighted(self, sample_weight: Any) -> Labels:
        """Return the labels with weights of all rows; a label of weight zero is none.

        A class without a label of positive weight is left out, with a warning.

        >>> labels = read_labels(["red", "blue", "", "blue"]).weighted([2, 0, 1, 0.5])
        >>> labels.index.tolist(), labels.weights.tolist()
        ([0, 3], [2.0, 0.5])
        """
        weights = read_weights(sample_weight, self.n_rows, self.index)[self.index]
        kept = weights > 0
        present, codes = np.unique(self.codes[kept], return_inverse=True)
        check_zero_weights(self, weights, "it is left out")
        index, classes = self.index[kept], self.classes[present]
        return Labels(classes, index, codes.astype(np.intp), self.n_rows, weights[kept])

    def within(self, sample: NDArray[np.intp]) -> Labels:
        """Return the labels of a sample of the rows, ascending, that holds all labelled ones."""
        return Labels(self.classes, np.searchsorted(sample, self.index), self.codes, len(sample))


def read_labels(y: Any, n_rows: int | None = None) -> Labels:
    """Validate a column of labels.

    Parameters
    ----------
    y : (n,) array, Series, list or Categorical
        Integers, texts, booleans, floats that are whole numbers, or objects of one such kind. −1,
        None, NaN, NA and the empty text mark unlabelled rows; every boolean is a label.
    n_rows : int, optional
        Number of rows of X.

    Returns
    -------
    Labels

    Raises
    ------
    ValueError
        If the number of labels is wrong, no row is labelled, all labels are of one class, or the
        labels are not classes.

    Examples
    --------
    >>> read_labels([2, -1, 0, 2]).classes
    array([0, 2])
    """
    if y is None:
        raise invalid("y", "labels", "None (requires y to be passed, but the target y is None)")
    index, labels, count = labelled_cells(y)
    if n_rows not in (None, count):
        raise invalid("y", f"{n_rows} labels, as many as X has rows", count)
    if not len(index):
        raise invalid("y", "at least one labelled row of each of two classes", "no label at all")
    texts = set(labels.tolist()) if labels.dtype.kind == "U" else set()
    # "-1" among words results from writing −1 into an array of texts.
    if "-1" in texts and not any(text[-1].isdigit() for text in texts - {"-1"}):
        raise invalid("y", "'' or None to mark unlabelled rows among texts", "'-1'")
    dtype: Any = getattr(y, "dtype", None)
    kind: LabelKind = "values"
    if isinstance(dtype, pd.CategoricalDtype):
        present = set(labels)
        ordered = [category for category in dtype.categories if category in present]
        classes = _validated_classes(np.fromiter(ordered, object, len(ordered)))
        codes = pd.Index(ordered, dtype=object).get_indexer(pd.Index(labels, dtype=object))
    else:
        classes, codes = np.unique(_validated_classes(labels), return_inverse=True)
        kind = "integers" if classes.dtype.kind in "iuf" else kind
    if len(classes) < 2:
        got = f"one class, {classes.tolist()[0]!r} (-1, None, NaN and '' mark unlabelled rows)"
        raise invalid("y", "labels of at least two classes", got)
    with prefix_errors("y"):
        advice = "pass pandas.Categorical(y) to take each number as a class"
        check_class_count(len(classes), len(index), kind, advice)
    return Labels(classes, index, codes.astype(np.intp), count)


def known_labels(y: Any) -> tuple[NDArray[np.intp], NDArray[Any], int]:
    """Return the labelled rows, their labels and the number of rows; one class is enough.

    >>> known_labels([2, -1, 2])
    (array([0, 2]), array([2, 2]), 3)
    """
    index, labels, n_rows = labelled_cells(y)
    if not len(index):
        raise invalid("y", "a labelled row", "no label at all")
    return index, _validated_classes(labels), n_rows


def validation_labels(y: Any, labels: Labels) -> Labels:
    """Return the labels of further rows, which must be of the classes of `labels`.

    >>> validation_labels(["", "red", ""], read_labels(["red", "", "blue"])).index
    array([1])
    """
    index, values, count = known_labels(y)
    if count != labels.n_rows:
        raise invalid("validation", f"{labels.n_rows} labels, as many as X has rows", count)
    if not np.isin(values, labels.classes).all():
        other = next(value for value in values if value not in labels.classes)
        raise invalid("validation", f"labels among {labels.classes.tolist()}", repr(other))
    codes = pd.Index(labels.classes).get_indexer(pd.Index(values))
    return Labels(labels.classes, index, codes.astype(np.intp), count)


def labelled_cells(y: Any) -> tuple[NDArray[np.intp], NDArray[Any], int]:
    """Return the labelled rows of a part of a column, their labels and the number of rows.

    >>> labelled_cells(["", "red"])
    (array([1]), array(['red'], dtype=object), 2)
    """
    values = _column(y)
    unlabelled: NDArray[np.bool_] = pd.isna(values)
    if values.dtype.kind == "O":
        present = np.flatnonzero(~unlabelled)  # few of many
        marks = (isinstance(v, (str, numbers.Real)) and v in ("", -1) for v in values[present])
        unlabelled[present] = np.fromiter(marks, bool, len(present))
    else:
        unlabelled |= values == ("" if values.dtype.kind == "U" else -1)
    index = np.flatnonzero(~unlabelled)
    return index, values[index], len(values)


def check_zero_weights(labels: Labels, weights: NDArray[np.float64], result: str) -> None:
    """Warn of classes all of whose labels have the weight zero; raise if one other is left.

    `weights` are those of the labels; `result` is what becomes of such a class.
    """
    positive = np.bincount(labels.codes, weights > 0, labels.n_classes) > 0
    if positive.sum() < 2:
        got = f"{labels.classes[positive][0]!r} only"
        raise invalid("sample_weight", "positive weights of labels of two classes", got)
    for name in labels.classes[~positive].tolist():
        advice = "give one of its rows a positive weight to predict it"
        text = f"class {name!r}: all labels have the sample_weight zero, so {result}; {advice}"
        warn_caller(text, LabelWarning)


def read_weights(
    sample_weight: Any, n_rows: int, labelled: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """Validate weights of rows, not all zero at the labelled ones; None stands for ones."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = finite_array(sample_weight, "sample_weight", ndim=1)
    if len(weights) != n_rows or weights.min(initial=0.0) < 0:
        got = f"shape {weights.shape}, minimum {weights.min(initial=np.inf):g}"
        raise invalid("sample_weight", f"{n_rows} numbers >= 0", got)
    if labelled is not None and not weights[labelled].any():
        raise invalid("sample_weight", "a labelled row of positive weight", "zero weights only")
    return weights


def _column(y: Any) -> NDArray[Any]:
    if isinstance(getattr(y, "dtype", None), pd.api.extensions.ExtensionDtype):
        y = np.asarray(y.astype(object))  # missing labels would turn integers into floats
    if np.ma.isMaskedArray(y):  # masked labels are missing
        entries = np.array(y.data, dtype=object)
        entries[np.ma.getmaskarray(y)] = None
        y = entries
    try:
        array = np.asarray(y)
    except ValueError:
        raise invalid("y", "a column of labels", "a ragged list") from None
    if array.dtype.kind == "U" and not isinstance(y, np.ndarray):
        # np.asarray turns [1, "a"] and ["a", None] into texts; keep the entries.
        array = np.array(y, dtype=object)
    if array.dtype.kind not in "biufUO":
        raise invalid("y", "integers, texts or objects", f"dtype {array.dtype}")
    if array.ndim != 1:
        from sklearn.utils import column_or_1d  # a saved model needs no scikit-learn to predict

        array = column_or_1d(array, warn=True)
    return array


def _validated_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Validate classes; convert objects that are all numbers or all booleans."""
    if labels.dtype.kind == "O":
        kind = pd.api.types.infer_dtype(labels)
        if kind not in _DTYPES:
            expected = "texts, integers or booleans, all of one kind (y.astype(str) makes texts)"
            types = " and ".join(sorted({type(label).__name__ for label in labels}))
            raise invalid("y", expected, f"labels of type {types}. Unknown label type: {kind}")
        try:
            labels = labels.astype(_DTYPES[kind])
        except OverflowError:
            raise invalid("y", "integers of at most 64 bits", max(labels, key=abs)) from None
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise invalid("y", "finite labels", "infinity")
        # scikit-learn's own check also warns if there are few labels per class.
        if (labels != np.floor(labels)).any():
            expected = "classes (pandas.cut makes them of ranges of numbers)"
            raise invalid("y", expected, "fractions. Unknown label type: continuous")
    return labels

"""Plots of the quality of predictions: calibration, confusion of classes, training losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.base import BaseEstimator

from lowrankgcn._format import plural, shorten
from lowrankgcn._validation import expect_shape, finite_array, invalid, positive_int
from lowrankgcn.estimators.class_labels import labelled_cells
from lowrankgcn.plotting import _style
from lowrankgcn.plotting._sources import fitted_attribute, held_out

_INTERVAL = 0.9
_ROWS_PER_BIN = 10
_LONGEST_NAME = 16
_SMALLEST_TEXT = 5.5  # points


def plot_reliability(
    probabilities: Any,
    truth: Any = None,
    *,
    classes: ArrayLike | None = None,
    bins: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the accuracy over the probability of the predicted class.

    Points on the diagonal are calibrated; below it, probabilities are too high.

    Parameters
    ----------
    probabilities : (n, C) array or fitted SpectralGPClassifier
        Class distributions. A classifier shows the leave-one-out distributions of its labelled
        rows.
    truth : (n,) array
        True classes; unlabelled rows (-1, None, NaN and "") are left out. Not with a classifier.
    classes : (C,) array, optional
        Classes in the order of the columns, such as ``classes_``. By default those in `truth` in
        sorted order, if there are C of them.
    bins : int
        Largest number of bins. They hold equally many rows, at least ten.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Bars are 90 % Clopper-Pearson intervals of the accuracy. Rows are treated as independent.

    Examples
    --------
    >>> from lowrankgcn.plotting import plot_reliability
    >>> ax = plot_reliability([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], ["no", "yes", "yes"])
    >>> ax.get_xlabel()
    'predicted probability'
    """
    if isinstance(probabilities, BaseEstimator):
        _expect_none(truth, "truth")
        shares, codes, _ = held_out(probabilities, "probabilities")
    else:
        shares = finite_array(probabilities, "probabilities", ndim=2)
        if shares.min(initial=0.0) < 0 or shares.max(initial=0.0) > 1 + 1e-6:
            got = f"{shares.min():g}..{shares.max():g}"
            raise invalid("probabilities", "numbers in 0..1", got)
        index, codes = _codes(truth, "truth", len(shares), classes, shares.shape[1])
        shares = shares[index]
    most = positive_int(bins, "bins")
    certainty, right = shares.max(axis=1), shares.argmax(axis=1) == codes
    order = np.argsort(certainty, kind="stable")
    ax = _style.new_or_given(ax)
    ax.plot([0, 1], [0, 1], color=_style.GREY, linestyle="--", linewidth=1, zorder=1)
    blue = _style.COLOURS[0]
    for rows in np.array_split(order, np.clip(len(order) // _ROWS_PER_BIN, 1, most)):
        test = binomtest(int(right[rows].sum()), len(rows))
        x, interval = certainty[rows].mean(), test.proportion_ci(_INTERVAL)
        ax.plot([x, x], interval, color=blue, linewidth=1.5, alpha=0.6, solid_capstyle="butt")
        ax.plot(x, test.statistic, marker="o", color=blue, markersize=6, linestyle="none")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    ax.set(xlabel="predicted probability", ylabel="accuracy")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    label = f"{plural(len(order), 'row')}, 90 % intervals"
    handles = [
        Line2D([], [], label=label, marker="o", color=blue, linewidth=1.5),
        Line2D([], [], label="calibrated", color=_style.GREY, linestyle="--", linewidth=1),
    ]
    _style.add_legend(ax, handles)
    return ax


def plot_confusion(
    truth: Any,
    predicted: Any = None,
    *,
    classes: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often each class is predicted for the rows of each true class.

    Parameters
    ----------
    truth : (n,) array or fitted SpectralGPClassifier
        True classes; unlabelled rows (-1, None, NaN and "") are left out. A classifier shows the
        labelled rows with their leave-one-out predictions.
    predicted : (n,) array
        Predicted classes. Not with a classifier.
    classes : (C,) array, optional
        The classes in the order of the picture; by default all in sorted order.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Colours are shares of the rows of a true class. Cells contain the numbers of rows if there is
    space, otherwise a colour bar is added.

    Examples
    --------
    >>> from lowrankgcn.plotting import plot_confusion
    >>> ax = plot_confusion(["a", "a", "b", ""], ["a", "b", "b", "b"])
    >>> [text.get_text() for text in ax.texts]
    ['1', '1', '1']
    """
    labels = ("true class", "predicted class")
    if isinstance(truth, BaseEstimator):
        _expect_none(predicted, "predicted")
        shares, codes, names = held_out(truth, "truth")
        found, labels = shares.argmax(axis=1), ("label", "prediction by leave-one-out")
    else:
        index, own, count = _labelled(truth, "truth")
        others = _column(predicted, "predicted")
        expect_shape(others, "predicted", count)
        if classes is None:
            classes = pd.factorize(np.concatenate([own, others[index]]), sort=True)[1]
        codes, found = (
            _positions(values, classes, name)
            for values, name in ((own, "truth"), (others[index], "predicted"))
        )
        names = [str(name) for name in np.asarray(classes, dtype=object)]
    counts = np.zeros((len(names), len(names)), np.int64)
    np.add.at(counts, (codes, found), 1)
    ax = _style.new_or_given(ax)
    ax.imshow(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), "Blues", vmin=0, vmax=1)
    return _finish_confusion(ax, counts, names, labels)


def _finish_confusion(
    ax: Axes, counts: NDArray[np.int64], names: list[str], labels: tuple[str, str]
) -> Axes:
    """Name the classes and write the counts, as large as the cells permit."""
    image, n = ax.images[-1], len(names)
    # Width of a cell in points; names and labels take a third of the space.
    cell = 0.65 * min(ax.bbox.width, ax.bbox.height) * 72 / ax.figure.dpi / n
    step = int(np.ceil(_SMALLEST_TEXT / cell))
    size = float(np.clip(0.9 * step * cell, _SMALLEST_TEXT, 10))
    texts = [shorten(name, _LONGEST_NAME) for name in names[::step]]
    upright = max(map(len, texts)) * 0.6 * size > step * cell
    ax.set_xticks(range(0, n, step), texts, rotation=90 if upright else 0, fontsize=size)
    ax.set_yticks(range(0, n, step), texts, fontsize=size)
    ax.set(xlabel=labels[1], ylabel=labels[0])
    size = min(10.0, 0.6 * cell, cell / (0.65 * len(str(counts.max(initial=0)))))
    if size < _SMALLEST_TEXT:
        ax.figure.colorbar(image, ax=ax, label="share of the true class")
        return ax
    shares = np.asarray(image.get_array())
    for i, j in np.argwhere(counts > 0).tolist():
        colour = "white" if shares[i, j] > 0.5 else "black"
        style: Any = {"ha": "center", "va": "center", "color": colour, "fontsize": size}
        ax.text(j, i, str(counts[i, j]), **style)
    return ax


def plot_loss(losses: Any, *, ax: Axes | None = None) -> Axes:
    """Draw training losses over iterations, one line for each restart.

    Parameters
    ----------
    losses : (T,) or (T, s) array, TrainingRecord or fitted GCNClassifier
        Losses of s restarts; NaN after a restart has stopped.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Its y-axis is logarithmic if all losses are positive.

    Examples
    --------
    >>> from lowrankgcn.plotting import plot_loss
    >>> plot_loss([1.0, 0.5, 0.3]).get_yscale()
    'log'
    """
    expected = "a loss curve of shape (T,) or (T, s), a training record or a GCNClassifier"
    if isinstance(losses, BaseEstimator):
        losses = fitted_attribute(losses, "loss_curve_", "losses", expected)
    given = getattr(losses, "loss_curve", losses)
    try:
        curve = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid("losses", expected, type(losses).__name__) from None
    curve = curve[:, None] if curve.ndim == 1 else curve
    curve[~np.isfinite(curve)] = np.nan
    if curve.ndim != 2 or np.isnan(curve).all():
        raise invalid("losses", expected, f"shape {np.shape(given)} without a finite number")
    ax = _style.new_or_given(ax)
    last = pd.DataFrame(curve).ffill().iloc[-1]
    best = int(last.idxmin())
    iterations = np.arange(1, len(curve) + 1)
    blue, orange, *_ = _style.COLOURS
    marker = "o" if len(curve) == 1 else None
    others = np.delete(curve, best, axis=1)
    if others.size:
        ax.plot(iterations, others, color=blue, linewidth=0.8, alpha=0.6, marker=marker)
    ax.plot(iterations, curve[:, best], color=orange, linewidth=1.6, marker=marker)
    ax.set(xlabel="iteration", ylabel="loss", yscale="log" if np.nanmin(curve) > 0 else "linear")
    handles = [Line2D([], [], color=orange, label=f"best restart: {last[best]:.3g}")]
    if others.size:
        rest = plural(others.shape[1], "other restart")
        handles.append(Line2D([], [], color=blue, label=rest, linewidth=0.8))
        _style.add_legend(ax, handles)
    return ax


def _expect_none(value: Any, name: str) -> None:
    if value is not None:
        raise invalid(name, "None, because the classifier has its own labels", "another value")


def _column(values: Any, name: str) -> NDArray[Any]:
    """Return classes as objects, shape (n,)."""
    if values is None:
        raise invalid(name, "an array of classes", None)
    array = np.asarray(values, dtype=object)
    expect_shape(array, name, None)
    return array


def _labelled(truth: Any, name: str) -> tuple[NDArray[np.intp], NDArray[Any], int]:
    """Return the labelled rows, their classes and the number of rows."""
    _column(truth, name)
    index, known, count = labelled_cells(truth)
    if not len(index):
        raise invalid(name, "at least one class", "no label at all")
    return index, known.astype(object), count


def _codes(
    truth: Any, name: str, count: int, classes: ArrayLike | None, n_classes: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the labelled rows and their classes as columns of probabilities."""
    index, known, length = _labelled(truth, name)
    if length != count:
        raise invalid(name, f"{count} classes, one for each row of probabilities", length)
    if classes is None:
        classes = pd.factorize(known, sort=True)[1]
    if (given := np.asarray(classes).size) != n_classes:
        raise invalid("classes", f"the {n_classes} classes of the columns of probabilities", given)
    return index, _positions(known, classes, name)


def _positions(values: NDArray[Any], classes: ArrayLike, name: str) -> NDArray[np.intp]:
    """Return the positions of values among the classes."""
    known = pd.Index(np.asarray(classes).tolist(), dtype=object)
    if not known.is_unique:
        raise invalid("classes", "distinct classes", f"{known.tolist()!r}"[:200])
    codes: NDArray[np.intp] = known.get_indexer(pd.Index(values, dtype=object))
    if (codes < 0).any():
        got = repr(values[codes < 0][0])
        raise invalid(name, f"classes among {known.tolist()!r}"[:200], got)
    return codes

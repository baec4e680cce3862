"""Plots of the quality of predictions: calibration, confusion of classes, training losses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest
from sklearn.base import BaseEstimator

from lowrankgcn._format import plural, shorten
from lowrankgcn._validation import finite_array, invalid, positive_int
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.operators import FloatArray
from lowrankgcn.plotting import drawing

_EXPECTED = "true classes and predictions, or a SpectralGPClassifier"
_OWN_LABELS = "the classifier has its own labels"
_HISTOGRAM_BINS = 20  # convention
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
        drawing.expect_none(_OWN_LABELS, truth=truth)
        evidence = drawing.fitted_attribute(probabilities, "evidence_", "probabilities", _EXPECTED)
    else:
        shares = finite_array(probabilities, "probabilities", ndim=2)
        if shares.min(initial=0.0) < 0 or shares.max(initial=0.0) > 1 + 1e-6:
            got = f"{shares.min():g}..{shares.max():g}"
            raise invalid("probabilities", "numbers in 0..1", got)
        index, known = drawing.labelled_classes(truth, "truth", len(shares))
        columns, codes = _class_codes(classes, truth=known)
        if len(columns) != shares.shape[1]:
            expected = f"the {shares.shape[1]} classes of the columns of probabilities"
            raise invalid("classes", expected, len(columns))
        evidence = Evidence(codes, shares[index])
    parts = evidence.reliability_bins(positive_int(bins, "bins"), same=0.0)
    ax = drawing.new_or_given(ax)
    draw_reliability(parts, ax)
    return ax


def draw_reliability(bins: Iterable[tuple[float, ...]], ax: Axes) -> None:
    """Draw bins of rows: mean probability, share of correct rows, number of rows."""
    probability, correct, rows = np.array([part[:3] for part in bins], np.float64).T
    tests = [binomtest(round(hits), int(n)) for hits, n in zip(correct * rows, rows, strict=True)]
    low, high = np.array([test.proportion_ci(0.9) for test in tests]).T
    label = f"{plural(int(rows.sum()), 'row')}, 90 % intervals"
    ax.vlines(probability, low, high, color=drawing.COLOURS[0], linewidth=1.5, alpha=0.6)
    ax.plot(probability, correct, "o", color=drawing.COLOURS[0], label=label)
    start = np.floor(10 * min(probability.min(), low.min(), 0.9)) / 10
    ax.axline((1, 1), slope=1, color=drawing.GREY, linestyle="--", linewidth=1, label="calibrated")
    limits = (start - 0.02 * (1 - start), 1 + 0.02 * (1 - start))
    ax.set(xlabel="predicted probability", ylabel="accuracy", xlim=limits, ylim=limits)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    drawing.add_legend(ax)


def draw_certainty(probabilities: FloatArray, n_classes: int, ax: Axes) -> None:
    """Draw the number of rows by the probability of their predicted class."""
    first = _HISTOGRAM_BINS // n_classes  # no probability is below 1 / n_classes
    edges = [k / _HISTOGRAM_BINS for k in range(first, _HISTOGRAM_BINS + 1)]
    shares = np.clip(probabilities, edges[0], 1.0)
    ax.hist(shares, edges, color=drawing.COLOURS[0], edgecolor="white")
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(xlabel="probability of the predicted class", ylabel="rows", xlim=(edges[0], 1.0))


def plot_confusion(
    truth: Any, predicted: Any = None, *, classes: ArrayLike | None = None, ax: Axes | None = None
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
        drawing.expect_none(_OWN_LABELS, predicted=predicted)
        counts = drawing.fitted_attribute(truth, "evidence_", "truth", _EXPECTED).confusion
        classes, labels = truth.classes_, ("label", "prediction by leave-one-out")
    else:
        index, known = drawing.labelled_classes(truth, "truth", None)
        others = drawing.class_column(predicted, "predicted", len(truth))[index]
        classes, *cells = _class_codes(classes, truth=known, predicted=others)
        counts = np.zeros((len(classes),) * 2, np.int64)
        np.add.at(counts, tuple(cells), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = drawing.new_or_given(ax)
    image = ax.imshow(shares, "Blues", vmin=0, vmax=1)
    ax.grid(visible=False)
    ax.set(xlabel=labels[1], ylabel=labels[0])
    # Width of a cell in points; names and labels take a third of the space.
    cell = 0.65 * min(ax.bbox.width, ax.bbox.height) * 72 / ax.figure.dpi / len(counts)
    step = int(np.ceil(_SMALLEST_TEXT / cell))
    size = float(np.clip(0.9 * step * cell, _SMALLEST_TEXT, 10))
    names = [shorten(str(name), 16) for name in np.asarray(classes, object)[::step]]
    places, upright = range(0, len(counts), step), max(map(len, names)) * 0.6 * size > step * cell
    ax.set_xticks(places, names, rotation=90 if upright else 0, fontsize=size)
    ax.set_yticks(places, names, fontsize=size)
    size = min(10.0, 0.6 * cell, cell / (0.65 * len(str(counts.max()))))
    if size < _SMALLEST_TEXT:
        ax.figure.colorbar(image, ax=ax, label="share of the true class")
        return ax
    for i, j in np.argwhere(counts > 0).tolist():
        colour = "white" if shares[i, j] > 0.5 else "black"
        ax.text(j, i, str(counts[i, j]), ha="center", va="center", color=colour, fontsize=size)
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
        losses = drawing.fitted_attribute(losses, "loss_curve_", "losses", expected)
    values = getattr(losses, "loss_curve", losses)
    try:
        curve = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid("losses", expected, type(losses).__name__) from None
    curve = curve[:, None] if curve.ndim == 1 else curve
    curve[~np.isfinite(curve)] = np.nan
    if curve.ndim != 2 or np.isnan(curve).all():
        raise invalid("losses", expected, f"shape {np.shape(values)} without a finite number")
    ax = drawing.new_or_given(ax)
    last = pd.DataFrame(curve).ffill().iloc[-1]
    best = int(last.idxmin())
    iterations = np.arange(1, len(curve) + 1)
    marker = "o" if len(curve) == 1 else "-"
    ax.set(xlabel="iteration", ylabel="loss", yscale="log" if np.nanmin(curve) > 0 else "linear")
    others = np.delete(curve, best, axis=1)
    rest = ax.plot(iterations, others, marker, color=drawing.COLOURS[0], linewidth=0.8, alpha=0.6)
    (line,) = ax.plot(iterations, curve[:, best], marker, color=drawing.COLOURS[1], linewidth=1.6)
    if rest:
        line.set_label(f"best restart: {last[best]:.3g}")
        rest[0].set_label(plural(len(rest), "other restart"))
        drawing.add_legend(ax, [line, rest[0]])
    return ax


def _class_codes(classes: ArrayLike | None, **columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the classes, by default those of all columns, and the codes of each column."""
    if classes is None:
        classes = pd.factorize(np.concatenate(list(columns.values())), sort=True)[1]
    known = pd.Index(np.asarray(classes).tolist(), dtype=object)
    if not known.is_unique:
        raise invalid("classes", "distinct classes", f"{known.tolist()!r}"[:200])
    codes = [known.get_indexer(pd.Index(values, dtype=object)) for values in columns.values()]
    for (name, values), positions in zip(columns.items(), codes, strict=True):
        if not len(values):
            raise invalid(name, "at least one class", "no label at all")
        if positions.min() < 0:
            expected = f"classes among {known.tolist()!r}"[:200]
            raise invalid(name, expected, repr(values[positions < 0][0]))
    return [known.to_numpy(), *codes]

"""Scatter plots of nodes by two eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from lowrankgcn._validation import (
    expect_shape,
    finite_array,
    invalid,
    positive_int,
    random_generator,
)
from lowrankgcn.estimators.class_labels import labelled_cells
from lowrankgcn.plotting._sources import pairs_and_rows
from lowrankgcn.plotting._style import COLOURS, GREY, MARKERS, add_legend, legend_mark, new_or_given
from lowrankgcn.spectral.eigenpairs import Eigenpairs

_MAX_LEGEND = 20


def plot_embedding(
    eigenvectors: Any,
    labels: ArrayLike | None = None,
    *,
    columns: tuple[int, int] | None = None,
    max_points: int = 20_000,
    random_state: Any = 0,
    ax: Axes | None = None,
) -> Axes:
    """Scatter the nodes by their entries in two eigenvectors, coloured by label.

    Parameters
    ----------
    eigenvectors : Eigenpairs, fitted classifier, or array_like of shape (n, k)
        In an array, one eigenvector per column, in ascending order of the eigenvalues. Of a
        classifier, the first connected graph is shown.
    labels : array_like, shape (n,), optional
        Classes; -1, None, NaN and "" mean unlabelled. Unlabelled nodes are grey, behind the others.
        For a classifier, one for each row given to fit; by default its predictions.
    columns : pair of int, optional
        The eigenvectors to show. The default skips trivial ones: on a graph of c components the
        first c; of an array the first.
    max_points : int
        Largest number of points. Beyond it, a random sample is drawn, labelled nodes first.
    random_state : int, numpy.random.Generator or None
        Chooses the sample and the order in which points overlap, so that no class hides another.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    See Also
    --------
    plot_spectrum : Eigenvalues and residuals.

    Examples
    --------
    >>> import numpy as np
    >>> from lowrankgcn.plotting import plot_embedding
    >>> ax = plot_embedding(np.eye(4), labels=["left", "left", "right", ""])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['left', 'right', 'unlabelled']
    """
    trivial = 1
    if isinstance(eigenvectors, BaseEstimator):
        predicted: Any = getattr(eigenvectors, "transduction_", None)
        eigenvectors, rows = pairs_and_rows(eigenvectors, "eigenvectors")
        column = pd.Series(predicted if labels is None else labels)
        expect_shape(column.to_numpy(), "labels", len(predicted))
        labels = column.iloc[rows]
    if isinstance(eigenvectors, Eigenpairs):
        trivial, eigenvectors = eigenvectors.n_components, eigenvectors.eigenvectors
    vectors = finite_array(eigenvectors, "eigenvectors", ndim=2)
    n, k = vectors.shape
    if columns is None:
        first = min(trivial, max(k - 2, 0))
        columns = (first, first + 1)
    pair = np.asarray(columns)
    if pair.shape != (2,) or pair.dtype.kind not in "iu":
        raise invalid("columns", "two column numbers", columns)
    if pair.min() < 0 or pair.max() >= k:
        raise invalid("columns", f"two columns of the {k} eigenvectors, 0..{k - 1}", columns)
    codes, names = _classes(labels, n)

    order = random_generator(random_state).permutation(n)
    # Labelled nodes first: a sample of millions keeps the few that have a label.
    order = order[np.argsort(codes[order] < 0, kind="stable")]
    order = order[: positive_int(max_points, "max_points")]
    points, codes = vectors[order][:, pair], codes[order]
    ax = new_or_given(ax)
    size = float(np.clip(12_000 / max(len(points), 1), 4, 30))
    # One scatter per marker and not per class: the random order mixes the classes.
    group = np.where(codes < 0, -1, codes // len(COLOURS))
    for number in np.unique(group):
        member = group == number
        colours = [_look(code)["color"] for code in codes[member]]
        style: dict[str, Any] = {"s": size, "linewidths": 0.0, "alpha": 0.8}
        if number >= 0 and -1 in group:  # few labels stand out by size and a white rim
            style = {"s": max(4 * size, 40.0), "linewidths": 0.6, "alpha": 1.0}
        x, y = points[member].T
        marker = _look(codes[member][0])["marker"]
        ax.scatter(x, y, c=colours, marker=marker, edgecolors="white", **style)
    ax.set(xlabel=f"eigenvector {pair[0] + 1}", ylabel=f"eigenvector {pair[1] + 1}")
    if labels is not None:
        add_legend(ax, _class_handles(names, unlabelled=bool((codes < 0).any())))
    return ax


def _classes(labels: ArrayLike | None, n: int) -> tuple[NDArray[np.intp], list[str]]:
    """Return class codes (n,), -1 for unlabelled, and the names of the classes."""
    if labels is None:
        return np.zeros(n, dtype=np.intp), []
    index, known, count = labelled_cells(labels)
    if count != n:
        raise invalid("labels", f"shape ({n},)", f"shape ({count},)")
    codes = np.full(n, -1, dtype=np.intp)
    classes, codes[index] = np.unique(np.asarray(known.tolist()), return_inverse=True)
    return codes, [str(name) for name in classes]


def _look(code: int) -> dict[str, str]:
    """Return colour and marker of a class, −1 for unlabelled nodes."""
    if code < 0:
        return {"color": GREY, "marker": MARKERS[0]}
    marker = MARKERS[code // len(COLOURS) % len(MARKERS)]
    return {"color": COLOURS[code % len(COLOURS)], "marker": marker}


def _class_handles(names: list[str], *, unlabelled: bool) -> list[Line2D]:
    shown = enumerate(names[:_MAX_LEGEND])
    handles = [legend_mark(name, **_look(code)) for code, name in shown]
    if len(names) > _MAX_LEGEND:
        handles.append(legend_mark(f"and {len(names) - _MAX_LEGEND} more"))
    if unlabelled:
        handles.append(legend_mark("unlabelled", **_look(-1)))
    return handles

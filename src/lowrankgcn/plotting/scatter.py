"""Scatter plots of nodes, by two eigenvectors or in any plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from lowrankgcn._validation import (
    expect_shape,
    finite_array,
    invalid,
    positive_int,
    random_generator,
)
from lowrankgcn.operators import FloatArray
from lowrankgcn.plotting._sources import labelled_classes, pairs_and_rows
from lowrankgcn.plotting._style import add_legend, class_mark, legend_mark, new_or_given
from lowrankgcn.spectral.eigenpairs import Eigenpairs

_MAX_LEGEND = 20
_LAYERS = 10


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
    first = min(trivial, max(k - 2, 0))
    pair = np.asarray((first, first + 1) if columns is None else columns)
    if pair.shape != (2,) or pair.dtype.kind not in "iu":
        raise invalid("columns", "two column numbers", columns)
    if pair.min() < 0 or pair.max() >= k:
        raise invalid("columns", f"two columns of the {k} eigenvectors, 0..{k - 1}", pair.tolist())
    codes, names = np.zeros(n, np.intp), []
    if labels is not None:
        index, known = labelled_classes(labels, "labels", n)
        codes[:] = -1
        codes[index], names = pd.factorize(known, sort=True)
    most = positive_int(max_points, "max_points")
    rows = choose_points(codes, codes >= 0, codes < 0, most, random_state=random_state)
    codes, partly = codes[rows], bool((codes[rows] < 0).any())
    ax = new_or_given(ax)
    axes = [f"eigenvector {column + 1}" for column in pair]
    draw_points(ax, vectors[rows][:, pair], codes, (codes >= 0) & partly, axes)
    if labels is not None:
        shown = enumerate(names[:_MAX_LEGEND])
        handles = [legend_mark(str(name), **class_mark(code)) for code, name in shown]
        if len(names) > _MAX_LEGEND:
            handles.append(legend_mark(f"and {len(names) - _MAX_LEGEND} more"))
        if partly:
            handles.append(legend_mark("unlabelled", **class_mark(-1)))
        add_legend(ax, handles)
    return ax


def choose_points(
    codes: NDArray[np.intp],
    labelled: NDArray[np.bool_],
    others: NDArray[np.bool_],
    most: int,
    *,
    most_labelled: int | None = None,
    random_state: Any = 0,
) -> NDArray[np.intp]:
    """Return rows to draw, in the order of drawing: random ones, the labelled rows last.

    The order consists of layers, and of one class after the other within a layer, so that no class
    hides another and the picture has few parts.
    """
    generator = random_generator(random_state)
    front = generator.permutation(np.flatnonzero(labelled))[:most][:most_labelled]
    back = generator.permutation(np.flatnonzero(others))[: most - len(front)]
    layers = [layer for rows in (back, front) for layer in np.array_split(rows, _LAYERS)]
    return np.concatenate([layer[np.argsort(codes[layer], kind="stable")] for layer in layers])


def draw_points(
    ax: Axes,
    points: FloatArray,
    codes: NDArray[np.intp],
    labelled: NDArray[np.bool_],
    axes: Sequence[str],
) -> None:
    """Draw points (m, 2) with the marks of their classes; labelled ones are large with an outline.

    Neighbours of one class in the given order are one group with the id ``class-CODE-NUMBER``.
    """
    n_labelled = int(labelled.sum())
    size = np.sqrt(np.clip(12_000 / max(len(points) - n_labelled, 1), 4, 30))
    large = max(size + 1, np.sqrt(np.clip(4_000 / max(n_labelled, 1), 20, 50)))
    looks = 2 * codes + labelled
    groups = np.cumsum(np.diff(looks, prepend=looks[:1]) != 0)
    for number in np.unique(groups):
        group = groups == number
        code = int(codes[group][0])
        style: dict[str, Any] = {"markersize": size, "markeredgewidth": 0.0, "alpha": 0.8}
        if labelled[group][0]:
            style = {"markersize": large, "markeredgewidth": 0.8, "markeredgecolor": "black"}
        style |= {**class_mark(code), "linestyle": "none", "gid": f"class-{code}-{number}"}
        ax.plot(*points[group].T, clip_on=False, **style)
    ax.set(xlabel=axes[0], ylabel=axes[1])

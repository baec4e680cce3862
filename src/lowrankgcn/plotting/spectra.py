"""Plots of filters, eigenvalues and eigenvectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from lowrankgcn._validation import (
    expect_shape,
    finite_array,
    invalid,
    positive_int,
    random_generator,
)
from lowrankgcn.estimators.gp_model import LearnedFilter
from lowrankgcn.estimators.semi_supervised import main_eigenpairs, unscaled_filters
from lowrankgcn.operators import FloatArray
from lowrankgcn.plotting import drawing
from lowrankgcn.spectral.eigenpairs import Eigenpairs
from lowrankgcn.spectral.filters import Filter, as_filters

# Conventions of the pictures.
_DASHES = ("-", "--", "-.", ":")
_SMALLEST_RESIDUAL = 1e-17
_ZERO = 1e-12  # smaller shares of the largest eigenvalue are zeros with rounding errors
_MAX_LEGEND = 20
_LAYERS = 10
_PAIRS = "an array, eigenpairs, or a classifier with eigenpairs (files do not keep them)"

# A peak at most this many grid points wide at half height is a pole, as λ₂/λ has at 0; it is cut at
# this multiple of the height that a tenth of the curve exceeds.
_POLE_WIDTH = 3
_POLE_HEIGHT = 3.0


def plot_filter(
    filters: Any,
    eigenvalues: ArrayLike | None = None,
    *,
    rank: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw responses φ(λ) as curves with the eigenvalues marked on them (paper, section A2.2).

    Parameters
    ----------
    filters : filter, name, function or list; LearnedFilter or mapping; fitted classifier
        One curve each. "auto" parameters are bound to the smallest non-zero and the largest of
        `eigenvalues`; if these are only a part of the spectrum, bind the filters before. Learned
        filters, those of a SpectralGPClassifier, are drawn at their own eigenvalues, relative to
        the largest response of each. Filters of a GCNClassifier are drawn over its eigenvalues.
    eigenvalues : array_like, shape (k,), optional
        Drawn as grey lines, with a mark on each curve. The picture covers their range, by default
        [0, 2].
    rank : int, optional
        Show the low-rank equivalents: for each filter the `rank` eigenvalues with the largest
        magnitude of φ(λ) are marked on the curve, the others at zero (equations 10 to 12).
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If there is a `rank`, or a filter with an "auto" parameter, but no eigenvalues; or if there
        are eigenvalues or a rank for learned filters.

    See Also
    --------
    plot_spectrum : Eigenvalues and residuals.

    Notes
    -----
    A curve is not drawn where it leaves the range of the responses on the spectrum, as a
    pseudoinverse does between 0 and the smallest non-zero eigenvalue.

    Examples
    --------
    >>> from lowrankgcn.plotting import plot_filter
    >>> ax = plot_filter("pseudoinverse", eigenvalues=[0.0, 0.3, 0.4, 1.0, 1.5])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['pseudoinverse (scale=0.3)']
    """
    if hasattr(filters, "loo_distributions_"):
        expected = "a classifier with graphs"
        filters = drawing.fitted_attribute(filters, "filter_", "filters", expected)
    elif isinstance(filters, BaseEstimator):
        expected = "filters, or a classifier that was fitted in this process"
        networks = drawing.fitted_attribute(filters, "networks_", "filters", expected)
        if eigenvalues is None and filters.eigenpairs_ is not None:
            eigenvalues = filters.eigenpairs_.eigenvalues
        filters = unscaled_filters(networks)
    if isinstance(filters, LearnedFilter):
        filters = {filters.graph: filters}
    if isinstance(filters, Mapping):
        drawing.expect_none("learned filters have their own", eigenvalues=eigenvalues, rank=rank)
        return _draw_learned(filters, drawing.new_or_given(ax))
    # Without eigenvalues only φ(0) is marked, because filters may jump there.
    spectrum = np.zeros(1) if eigenvalues is None else np.sort(_cleaned(eigenvalues))
    if rank is not None:
        if eigenvalues is None:
            raise invalid("eigenvalues", "a spectrum to apply the rank to", "None")
        rank = positive_int(rank, "rank", maximum=spectrum.size)
    functions = as_filters(filters)
    if positive := spectrum[spectrum > 0].tolist():
        functions = tuple(phi.bind(min(positive), max(positive)) for phi in functions)
    elif unbound := [phi.name for phi in functions if phi.needs]:
        expected = f"a positive one, which filter {unbound[0]!r} needs"
        raise invalid("eigenvalues", expected, "None" if eigenvalues is None else "zeros only")

    ax = drawing.new_or_given(ax)
    start, end = min(0.0, spectrum[0]), spectrum[-1]
    end = end if end > start else start + 2.0
    # A curve passes through its marks, however steep.
    grid = np.union1d(np.linspace(start, end, 1001), spectrum)
    ax.axhline(0.0, color="black", linewidth=0.8, zorder=1)
    if eigenvalues is not None:
        ax.xaxis.grid(visible=False)  # the lines of the eigenvalues are enough
        grey: Any = {"color": drawing.GREY, "linewidth": 0.6, "alpha": 0.5, "zorder": 0}
        # x in eigenvalues, y from 0 to 1 of the axes
        ax.vlines(np.unique(spectrum), 0, 1, transform=ax.get_xaxis_transform(), **grey)
    handles = []
    for number, phi in enumerate(functions):
        style: Any = drawing.class_mark(number) | {"markerfacecolor": "none"}
        style["linestyle"] = _DASHES[number % len(_DASHES)]
        handles.append(Line2D([], [], label=str(phi), **style))
        response = phi(spectrum)
        limit = None if eigenvalues is None else 1.05 * np.abs(response).max()
        ax.plot(grid, _curve(phi, grid, limit), **(style | {"marker": None, "linewidth": 1.2}))
        kept = np.argsort(-np.abs(response), kind="stable")[:rank]
        rest = np.delete(spectrum, kept)
        style["linestyle"] = "none"
        ax.plot(spectrum[kept], response[kept], **style)
        ax.plot(rest, np.zeros(rest.size), alpha=0.4, **style)
    margin = 0.02 * (end - start)
    label = "filter response φ(λ)" if rank is None else f"response φ(λ) at rank {rank}"
    ax.set(xlabel="eigenvalue λ", ylabel=label, xlim=(start - margin, end + margin))
    drawing.add_legend(ax, handles)
    return ax


def _draw_learned(filters: Mapping[str, LearnedFilter], ax: Axes) -> Axes:
    for number, (name, learned) in enumerate(filters.items()):
        if not isinstance(learned, LearnedFilter):
            raise invalid(f"filters[{name!r}]", "a LearnedFilter", type(learned).__name__)
        style: Any = drawing.class_mark(number) | {"markerfacecolor": "none", "markersize": 4}
        heights = learned.response / (learned.response.max(initial=0.0) or 1.0)
        ax.plot(learned.eigenvalues, heights, label=name.replace("-", " "), linewidth=1, **style)
    ax.set(xlabel="eigenvalue λ", ylabel="learned response φ(λ) / max φ", ylim=(0.0, 1.05))
    drawing.add_legend(ax)
    return ax


def _curve(phi: Filter, grid: FloatArray, limit: float | None) -> FloatArray:
    """Return φ on the grid, NaN (not drawn) beyond the limit, by default only at poles."""
    curve = phi(grid)
    zero, near = phi([0.0, 1e-9])
    if abs(near - zero) > 1e-3 * max(abs(zero), 1.0):  # as pseudoinverses and impulses jump
        curve[grid <= 0] = np.nan
    size = np.nan_to_num(np.abs(curve))
    if limit is None:
        pole = np.count_nonzero(size > size.max() / 2) <= _POLE_WIDTH
        limit = _POLE_HEIGHT * np.quantile(size, 0.9) if pole else np.inf
    return np.where(size <= limit, curve, np.nan)


def _cleaned(eigenvalues: ArrayLike) -> FloatArray:
    """Return the eigenvalues, with rounding errors of zeros removed."""
    values = finite_array(eigenvalues, "eigenvalues", ndim=1)
    if not values.size:
        raise invalid("eigenvalues", "at least one", "none")
    return np.where(np.abs(values) <= _ZERO * np.abs(values).max(), 0.0, values)


def plot_spectrum(
    eigenvalues: Any, *, residuals: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw eigenvalues and their residuals by index.

    Parameters
    ----------
    eigenvalues : Eigenpairs, fitted classifier, mapping of Eigenpairs, or array_like of shape (k,)
        Zeros, one per connected component, are drawn hollow. Several graphs, such as those of a
        SpectralGPClassifier, differ by colour and marker and are drawn without residuals.
    residuals : array_like, shape (k,), optional
        Residual norms ‖Lu − λu‖ of an array of eigenvalues; eigenpairs have their own. They are
        drawn against a logarithmic axis on the right; smaller ones than 1e-17, such as exact zeros,
        are drawn at 1e-17.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes of the eigenvalues.

    See Also
    --------
    plot_filter : Responses of filters.
    lowrankgcn.eigenpairs : Computes eigenpairs.

    Examples
    --------
    >>> from lowrankgcn.plotting import plot_spectrum
    >>> ax = plot_spectrum([0.0, 0.15, 0.41], residuals=[0.0, 1e-9, 3e-8])
    >>> ax.get_ylabel()
    'eigenvalue'
    """
    graphs: Any = eigenvalues
    if isinstance(graphs, BaseEstimator):
        graphs = drawing.fitted_attribute(graphs, "eigenpairs_", "eigenvalues", _PAIRS)
    graphs = graphs if isinstance(graphs, Mapping) else {"": graphs}
    known = {name: getattr(pairs, "residuals", None) for name, pairs in graphs.items()}
    if not known:
        raise invalid("eigenvalues", _PAIRS, "an empty mapping")
    if any(norms is not None for norms in known.values()):
        drawing.expect_none("eigenpairs have their own", residuals=residuals)
        (residuals,) = known.values() if len(known) == 1 else (None,)
    spectra = {name: _cleaned(getattr(one, "eigenvalues", one)) for name, one in graphs.items()}
    values = np.concatenate(list(spectra.values()))
    if residuals is not None:
        residuals = finite_array(residuals, "residuals", ndim=1)
        expect_shape(residuals, "residuals", values.size)
        if residuals.min() < 0:
            raise invalid("residuals", "norms >= 0", float(residuals.min()))

    ax = drawing.new_or_given(ax)
    longest = max(spectrum.size for spectrum in spectra.values())
    size = 6.0 if longest <= 60 else 2.5
    handles = []
    for number, (name, spectrum) in enumerate(spectra.items()):
        index, zero = np.arange(1, spectrum.size + 1), spectrum == 0
        style: dict[str, Any] = drawing.class_mark(number) | {"linestyle": "none"}
        ax.plot(index[~zero], spectrum[~zero], markersize=size, **style)
        ax.plot(index[zero], spectrum[zero], markersize=size, markerfacecolor="none", **style)
        handles.append(Line2D([], [], label=name.replace("-", " ") or "eigenvalue", **style))
    if (values == 0).any():
        hollow: Any = drawing.class_mark(0) | {"markerfacecolor": "none", "linestyle": "none"}
        handles.append(Line2D([], [], label="zero (component)", **hollow))
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    margin = max(0.5, 0.03 * longest)
    ax.set(xlabel="index", ylabel="eigenvalue", xlim=(1 - margin, longest + margin))
    if values.min() >= 0:
        top = values.max() or 1.0  # if all are zero
        ax.set_ylim(-0.04 * top, 1.06 * top)  # heights are compared with zero
    if residuals is not None:
        right, style = ax.twinx(), {"marker": "x", "color": drawing.COLOURS[1], "linestyle": "none"}
        norms = np.maximum(residuals, _SMALLEST_RESIDUAL)
        right.plot(np.arange(1, values.size + 1), norms, markersize=size, **style)
        right.set(yscale="log", ylabel="residual norm")
        handles.append(Line2D([], [], label="residual (right)", **style))
    drawing.add_legend(ax, handles)
    return ax


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
        classifier, expected = eigenvectors, "a classifier of rows in memory"
        drawing.fitted_attribute(classifier, "eigenpairs_", "eigenvectors", _PAIRS)
        classes = drawing.fitted_attribute(classifier, "transduction_", "eigenvectors", expected)
        if not isinstance(classes, np.ndarray):
            raise invalid("eigenvectors", expected, "one fitted to a Dask collection")
        eigenvectors, rows = main_eigenpairs(classifier)
        column = pd.Series(classes if labels is None else labels)
        drawing.class_column(column, "labels", len(classes))
        labels = column.iloc[rows]
    if isinstance(eigenvectors, Eigenpairs):
        trivial, eigenvectors = eigenvectors.n_components, eigenvectors.eigenvectors
    vectors = finite_array(eigenvectors, "eigenvectors", ndim=2)
    n, k = vectors.shape
    first = min(trivial, max(k - 2, 0))
    pair = np.asarray((first, first + 1) if columns is None else columns)
    integers = pair.shape == (2,) and pair.dtype.kind in "iu"
    if not integers or pair.min() < 0 or pair.max() >= k:
        raise invalid("columns", f"two columns of the {k} eigenvectors, 0..{k - 1}", columns)
    codes, names = np.full(n, 0 if labels is None else -1), []
    if labels is not None:
        index, known = drawing.labelled_classes(labels, "labels", n)
        codes[index], names = pd.factorize(known, sort=True)
    most = positive_int(max_points, "max_points")
    rows = choose_points(codes, codes >= 0, most, most, random_state)
    codes, partly = codes[rows], bool((codes[rows] < 0).any())
    ax = drawing.new_or_given(ax)
    axes = [f"eigenvector {column + 1}" for column in pair]
    draw_points(vectors[rows][:, pair], codes, (codes >= 0) & partly, axes, ax)
    if labels is not None:
        marks: list[Any] = [(str(name), drawing.class_mark(k)) for k, name in enumerate(names)]
        if len(names) > _MAX_LEGEND:
            marks[_MAX_LEGEND:] = [(f"and {len(names) - _MAX_LEGEND} more", {})]
        if partly:
            marks.append(("unlabelled", drawing.class_mark(-1)))
        drawing.add_legend(
            ax, [Line2D([], [], label=text, linestyle="none", **mark) for text, mark in marks]
        )
    return ax


def choose_points(
    codes: NDArray[Any], labelled: NDArray[Any], most: int, most_labelled: int, random_state: Any
) -> NDArray[np.intp]:
    """Return rows to draw, in the order of drawing: random ones, the labelled rows last.

    The order consists of layers, and of one class after the other within a layer, so that no class
    hides another and the picture has few parts.
    """
    generator = random_generator(random_state)
    front = generator.permutation(np.flatnonzero(labelled))[:most_labelled]
    back = generator.permutation(np.flatnonzero(~labelled))[: most - len(front)]
    layers = [layer for rows in (back, front) for layer in np.array_split(rows, _LAYERS)]
    return np.concatenate([layer[np.argsort(codes[layer], kind="stable")] for layer in layers])


def draw_points(
    points: FloatArray, codes: NDArray[Any], labelled: NDArray[Any], axes: Sequence[str], ax: Axes
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
        style |= {**drawing.class_mark(code), "linestyle": "none", "gid": f"class-{code}-{number}"}
        ax.plot(*points[group].T, clip_on=False, **style)
    ax.set(xlabel=axes[0], ylabel=axes[1])

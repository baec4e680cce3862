"""Plots of eigenvalues with residuals, of learned filters, and of filters over a spectrum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullFormatter
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from lowrankgcn._validation import expect_shape, finite_array, invalid, positive_int
from lowrankgcn.estimators.gp_model import LearnedFilter
from lowrankgcn.estimators.semi_supervised import unscaled_filters
from lowrankgcn.operators import FloatArray
from lowrankgcn.plotting._sources import fitted_attribute, pairs_by_graph
from lowrankgcn.plotting._style import COLOURS, GREY, add_legend, class_mark, new_or_given
from lowrankgcn.spectral.filters import Filter, as_filters

_FILTER_MARKERS = ("+", "x", "o", "s", "^", "D", "v")  # the paper's three first
_SMALLEST_RESIDUAL = 1e-17
_DASHES = ("-", "--", "-.", ":")
_ZERO = 1e-12  # smaller shares of the largest eigenvalue are zeros with rounding errors

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
        filters = fitted_attribute(filters, "filter_", "filters", "a classifier with graphs")
    elif isinstance(filters, BaseEstimator):
        expected = "filters, or a classifier that was fitted in this process"
        networks = fitted_attribute(filters, "networks_", "filters", expected)
        if eigenvalues is None and filters.eigenpairs_ is not None:
            eigenvalues = filters.eigenpairs_.eigenvalues
        filters = unscaled_filters(networks)
    if isinstance(filters, LearnedFilter):
        filters = {filters.graph: filters}
    if isinstance(filters, Mapping):
        for name, value in {"eigenvalues": eigenvalues, "rank": rank}.items():
            if value is not None:
                raise invalid(name, "None, because learned filters have their own", "another value")
        return _draw_learned(filters, new_or_given(ax))
    functions = as_filters(filters)
    spectrum = None if eigenvalues is None else np.sort(_cleaned(eigenvalues))
    if rank is not None:
        if spectrum is None:
            raise invalid("eigenvalues", "a spectrum to apply the rank to", "None")
        rank = positive_int(rank, "rank", maximum=spectrum.size)
    functions = tuple(_bound(phi, spectrum) for phi in functions)

    ax = new_or_given(ax)
    start, end = (0.0, 2.0) if spectrum is None else (min(0.0, spectrum[0]), spectrum[-1])
    end = end if end > start else start + 1.0
    grid = np.linspace(start, end, 1001)
    ax.axhline(0.0, color="black", linewidth=0.8, zorder=1)
    if spectrum is not None:
        grid = np.union1d(grid, spectrum)  # a curve passes through its marks, however steep
        style: Any = {"color": GREY, "linewidth": 0.6, "alpha": 0.5, "zorder": 0}
        ax.xaxis.grid(visible=False)  # the lines of the eigenvalues are enough
        # x in eigenvalues, y from 0 to 1 of the axes
        ax.vlines(np.unique(_merged(spectrum)), 0, 1, transform=ax.get_xaxis_transform(), **style)
    for number, phi in enumerate(functions):
        style = _marked(number, markersize=6, label=str(phi))
        if spectrum is not None:
            _draw_marks(ax, phi, grid, spectrum, rank, style)
            continue
        dashes = _DASHES[number % len(_DASHES)]
        (line,) = ax.plot(grid, _curve(phi, grid), dashes, linewidth=1.6, label=str(phi))
        line.set_color(style["color"])
        if _jumps_at_zero(phi):
            ax.plot(0.0, phi(0.0), marker="o", markersize=5, color=style["color"])
    margin = 0.02 * (end - start)
    label = "filter response φ(λ)" if rank is None else f"response φ(λ) at rank {rank}"
    ax.set(xlabel="eigenvalue λ", ylabel=label, xlim=(start - margin, end + margin))
    add_legend(ax)
    return ax


def _marked(number: int, **more: Any) -> dict[str, Any]:
    """Return the colour and the hollow marker of a filter."""
    marker = _FILTER_MARKERS[number % len(_FILTER_MARKERS)]
    colour = COLOURS[number % len(COLOURS)]
    return {"color": colour, "marker": marker, "markerfacecolor": "none", **more}


def _draw_learned(filters: Mapping[str, LearnedFilter], ax: Axes) -> Axes:
    for number, (name, learned) in enumerate(filters.items()):
        if not isinstance(learned, LearnedFilter):
            raise invalid(f"filters[{name!r}]", "a LearnedFilter", type(learned).__name__)
        style = _marked(number, markersize=4, linewidth=1, label=name.replace("-", " "))
        heights = learned.response / (learned.response.max(initial=0.0) or 1.0)
        ax.plot(learned.eigenvalues, heights, **style)
    ax.set(xlabel="eigenvalue λ", ylabel="learned response φ(λ) / max φ", ylim=(0.0, 1.05))
    add_legend(ax)
    return ax


def _draw_marks(
    ax: Axes, phi: Filter, grid: FloatArray, spectrum: FloatArray, rank: int | None, style: Any
) -> None:
    """Draw φ thinly and mark the eigenvalues, discarded ones at zero."""
    response = phi(spectrum)
    ax.plot(grid, _curve(phi, grid, response), color=style["color"], linewidth=1, alpha=0.6)
    dominant = np.argsort(-np.abs(response), kind="stable")[:rank]
    kept = np.isin(np.arange(response.size), dominant)
    for chosen, height, more in [
        (kept, response, {}),
        (~kept, 0.0 * response, {"alpha": 0.4, "label": None}),
    ]:
        marks = np.column_stack([_merged(spectrum), _merged(height)])[chosen]
        x, y = np.unique(marks, axis=0).T
        ax.plot(x, y, linestyle="none", **(style | more))


def _bound(phi: Filter, spectrum: FloatArray | None) -> Filter:
    if not phi.needs:
        return phi
    positive = np.empty(0) if spectrum is None else spectrum[spectrum > 0]
    if not positive.size:
        got = "None" if spectrum is None else "zeros only"
        raise invalid("eigenvalues", f"a positive one, which filter {phi.name!r} needs", got)
    return phi.bind(positive.min(), positive.max())


def _merged(values: FloatArray) -> FloatArray:
    """Round to 1/5000 of the range, finer than a picture, so that equal marks are drawn once."""
    step = np.ptp(values) / 5000
    return np.round(values / step) * step if step > 0 else values


def _jumps_at_zero(phi: Filter) -> bool:
    """Return whether φ is discontinuous at 0, as pseudoinverses and impulses are."""
    zero, near = phi([0.0, 1e-9])
    return bool(abs(near - zero) > 1e-3 * max(abs(zero), 1.0))


def _curve(phi: Filter, grid: FloatArray, response: FloatArray | None = None) -> FloatArray:
    """Return φ on the grid, NaN (not drawn) where a pole would flatten the other curves."""
    curve = phi(grid)
    if _jumps_at_zero(phi):
        curve[grid <= 0] = np.nan
    size = np.nan_to_num(np.abs(curve))
    limit = np.inf
    if response is not None:
        limit = 1.05 * np.abs(response).max()
    elif np.count_nonzero(size > size.max() / 2) <= _POLE_WIDTH:
        limit = _POLE_HEIGHT * np.quantile(size, 0.9)
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
    graphs = pairs_by_graph(eigenvalues, "eigenvalues")
    if graphs is None:
        spectra = {"": _cleaned(eigenvalues)}
    elif residuals is not None:
        raise invalid("residuals", "None, because eigenpairs have their own", "another value")
    else:
        spectra = {name: _cleaned(pairs.eigenvalues) for name, pairs in graphs.items()}
        residuals = next(iter(graphs.values())).residuals
    errors = None if len(spectra) > 1 else _norms(residuals, next(iter(spectra.values())))
    ax = new_or_given(ax)
    longest = max(values.size for values in spectra.values())
    size = 6.0 if longest <= 60 else 2.5
    handles = []
    for number, (name, spectrum) in enumerate(spectra.items()):
        index, zero = np.arange(1, spectrum.size + 1), spectrum == 0
        style: dict[str, Any] = {**class_mark(number), "linestyle": "none"}
        ax.plot(index[~zero], spectrum[~zero], markersize=size, **style)
        ax.plot(index[zero], spectrum[zero], markersize=size, markerfacecolor="none", **style)
        handles.append(Line2D([], [], label=name.replace("-", " ") or "eigenvalue", **style))
    if any((spectrum == 0).any() for spectrum in spectra.values()):
        hollow: Any = {**class_mark(0), "markerfacecolor": "none", "linestyle": "none"}
        handles.append(Line2D([], [], label="zero (component)", **hollow))
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    margin = max(0.5, 0.03 * longest)
    ax.set(xlabel="index", ylabel="eigenvalue", xlim=(1 - margin, longest + margin))
    if min(values.min() for values in spectra.values()) >= 0:
        top = max(values.max() for values in spectra.values()) or 1.0  # if all are zero
        ax.set_ylim(-0.04 * top, 1.06 * top)  # heights are compared with zero
    if errors is not None:
        right, colour = ax.twinx(), COLOURS[1]
        style = {"marker": "x", "color": colour, "linestyle": "none"}
        right.plot(np.arange(1, errors.size + 1), errors, markersize=size, **style)
        low, high = np.floor(np.log10(errors.min())), np.ceil(np.log10(errors.max()))
        right.set(yscale="log", ylim=(10 ** (low - 0.2), 10 ** (high + 0.2)))
        right.yaxis.set_minor_formatter(NullFormatter())
        right.set_ylabel("residual norm", color=colour)
        right.tick_params(axis="y", labelcolor=colour)
        handles.append(Line2D([], [], label="residual (right)", **style))
    add_legend(ax, handles)
    return ax


def _norms(residuals: ArrayLike | None, spectrum: FloatArray) -> FloatArray | None:
    """Return validated residuals for a logarithmic axis."""
    if residuals is None:
        return None
    errors = finite_array(residuals, "residuals", ndim=1)
    expect_shape(errors, "residuals", spectrum.size)
    if (errors < 0).any():
        raise invalid("residuals", "norms >= 0", float(errors.min()))
    return np.maximum(errors, _SMALLEST_RESIDUAL)

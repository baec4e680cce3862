"""Plots of eigenvalues and residuals by index."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.plotting import _style

__all__ = ["plot_spectrum"]

_SMALLEST_RESIDUAL = 1e-17


def plot_spectrum(
    eigenvalues: ArrayLike, *, residuals: ArrayLike | None = None, ax: Axes | None = None
) -> Axes:
    """Draw eigenvalues and, if given, their residuals by index.

    Parameters
    ----------
    eigenvalues : array_like, shape (k,)
        Zeros, one per connected component, are drawn hollow.
    residuals : array_like, shape (k,), optional
        Residual norms ‖Lu − λu‖, drawn against a logarithmic axis on the right; smaller ones than
        1e-17, such as exact zeros, are drawn at 1e-17.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes of the eigenvalues.

    Examples
    --------
    >>> ax = plot_spectrum([0.0, 0.15, 0.41], residuals=[0.0, 1e-9, 3e-8])
    >>> ax.get_ylabel()
    'eigenvalue'
    """
    spectrum = _style.clean_spectrum(eigenvalues)
    errors = None
    if residuals is not None:
        errors = finite_array(residuals, "residuals", ndim=1)
        if errors.shape != spectrum.shape:
            raise invalid("residuals", f"shape {spectrum.shape}", f"shape {errors.shape}")
        if (errors < 0).any():
            raise invalid("residuals", "norms >= 0", float(errors.min()))
    ax = _style.new_or_given(ax)
    index = np.arange(1, spectrum.size + 1)
    size = 6.0 if spectrum.size <= 60 else 2.5
    zero = spectrum == 0
    handles = []
    faces = [(~zero, "eigenvalue", _style.COLOURS[0]), (zero, "zero (component)", "none")]
    for mask, label, face in faces:
        if mask.any():
            style: dict[str, Any] = {
                "marker": "o",
                "color": _style.COLOURS[0],
                "markerfacecolor": face,
            }
            ax.plot(index[mask], spectrum[mask], linestyle="none", markersize=size, **style)
            handles.append(_style.legend_mark(label, **style))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_xlabel("index")
    ax.set_ylabel("eigenvalue")
    margin = max(0.5, 0.03 * spectrum.size)
    ax.set_xlim(1 - margin, spectrum.size + margin)
    if spectrum.min() >= 0:
        top = spectrum.max() or 1.0  # if all are zero
        ax.set_ylim(-0.04 * top, 1.06 * top)  # heights are compared with zero
    if errors is not None:
        right = ax.twinx()
        style = {"marker": "x", "color": _style.COLOURS[1]}
        errors = np.maximum(errors, _SMALLEST_RESIDUAL)
        right.plot(index, errors, linestyle="none", markersize=size, **style)
        right.set_yscale("log")
        decades = np.log10(errors)
        right.set_ylim(10 ** (np.floor(decades.min()) - 0.2), 10 ** (np.ceil(decades.max()) + 0.2))
        right.yaxis.set_minor_formatter(NullFormatter())
        right.set_ylabel("residual norm", color=_style.COLOURS[1])
        right.tick_params(axis="y", labelcolor=_style.COLOURS[1])
        handles.append(_style.legend_mark("residual (right)", **style))
    _style.add_legend(ax, handles)
    return ax

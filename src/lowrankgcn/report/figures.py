"""What the figures of reports show: spectra, filters, nodes as points, how sure the answer is.

Points are drawn as an embedded bitmap: ten thousand SVG circles would make a page of megabytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike, NDArray

from lowrankgcn.plotting import plot_filters, plot_spectrum
from lowrankgcn.plotting._style import COLOURS
from lowrankgcn.report.marks import Mark
from lowrankgcn.report.svg import INK, svg
from lowrankgcn.spectral.filters import Filter

__all__ = ["draw_filters", "draw_histogram", "draw_points", "draw_spectrum"]

FloatArray = NDArray[np.float64]

_LAYERS = 12  # points are drawn in so many rounds, each with all classes: none hides another


def draw_spectrum(eigenvalues: FloatArray, residuals: FloatArray | None, name: str) -> str:
    """The computed eigenvalues, with their residuals where these are given."""

    def draw(ax: Axes) -> None:
        plot_spectrum(eigenvalues, residuals=residuals, ax=ax)

    shown = "Eigenvalues" if residuals is None else "Eigenvalues and residuals"
    largest = f"{eigenvalues[-1]:.3g}"
    return svg(draw, name, f"{shown}: {len(eigenvalues)} values from 0 to {largest}")


def draw_filters(filters: Sequence[Filter], eigenvalues: FloatArray, name: str) -> str:
    """The filters over the known part of the spectrum."""

    def draw(ax: Axes) -> None:
        plot_filters(filters, eigenvalues, ax=ax)

    return svg(draw, name, "Filter responses over the eigenvalues")


def draw_points(
    points: FloatArray,
    codes: NDArray[np.intp],
    given: NDArray[np.bool_],
    marks: Sequence[Mark],
    *,
    axes: tuple[str, str],
    name: str,
    title: str,
) -> str:
    """Points by class, those with a given label larger and ringed.

    Parameters
    ----------
    points : (m, 2) array
    codes : (m,) int array
        Class of every point, an index into `marks`.
    given : (m,) bool array
        Points whose label was given.
    marks : sequence of Mark
    axes : pair of str
        What the axes are.
    name, title : str
        See :func:`~lowrankgcn.report.svg.svg`.
    """
    order = np.random.default_rng(0).permutation(np.flatnonzero(~given))
    labelled = np.flatnonzero(given)
    size = float(np.clip(24_000 / max(len(order), 1), 5, 34))
    ringed = float(np.clip(4_000 / max(len(labelled), 1), 14, 46))

    def draw(ax: Axes) -> None:
        for layer in np.array_split(order, min(_LAYERS, max(1, len(order) // 50))):
            _scatter(ax, points, codes, layer, marks, s=size, alpha=0.75, linewidths=0)
        _scatter(
            ax, points, codes, labelled, marks, s=ringed, edgecolors=INK, linewidths=1.2, zorder=3
        )
        ax.locator_params(nbins=5)  # long labels side by side
        ax.set_xlabel(axes[0])
        ax.set_ylabel(axes[1])

    return svg(draw, name, title)


def _scatter(
    ax: Axes,
    points: FloatArray,
    codes: NDArray[np.intp],
    chosen: NDArray[np.intp],
    marks: Sequence[Mark],
    **style: Any,
) -> None:
    looks = [(mark.shape, mark.colour) for mark in marks]
    for shape, colour in dict.fromkeys(looks):
        alike = np.array([look == (shape, colour) for look in looks])
        members = chosen[alike[codes[chosen]]]
        if len(members):
            x, y = points[members].T
            ax.scatter(x, y, c=colour, marker=shape, rasterized="edgecolors" not in style, **style)


def draw_histogram(edges: ArrayLike, counts: ArrayLike, *, name: str, title: str) -> str:
    """How many rows have which probability."""
    borders, heights = np.asarray(edges), np.asarray(counts)

    def draw(ax: Axes) -> None:
        width = np.diff(borders)
        ax.bar(borders[:-1], heights, 0.92 * width, align="edge", color=COLOURS[0])
        ax.set_xlim(borders[0], borders[-1])
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
        ax.set_xlabel("probability of the predicted class")
        ax.set_ylabel("rows")
        ax.locator_params(axis="y", integer=True)

    return svg(draw, name, title)

"""Figures of the reports as numbers in a frame; ``charts.html.j2`` writes them as SVG.

The style sheet of the page has the colours, light and dark.

>>> chart = histogram_chart(np.array([2, 5]), np.array([0.5, 0.75, 1.0]))
>>> [text for _, text in chart.y.ticks]
['0', '1', '2', '3', '4', '5']
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lowrankgcn._format import number
from lowrankgcn.estimators.evidence import ReliabilityBin
from lowrankgcn.report.embedding import Embedding

FloatArray = NDArray[np.float64]

_TICKS = 6  # at most
_LETTER = 6.2  # width of a digit
_LINE_POINTS = 200
_POLE = 3.0  # responses beyond this multiple of nine tenths of them are not drawn

# Corners, turn in degrees, and for stars the inner radius; no corners: a circle.
_SHAPES = (
    (0, 0, 1.0),
    (4, 45, 1.0),
    (3, 0, 1.0),
    (4, 0, 1.0),
    (3, 180, 1.0),
    (5, 0, 0.42),
    (4, 45, 0.35),
    (3, 90, 1.0),
    (4, 0, 0.35),
    (3, 270, 1.0),
    (6, 0, 0.5),
    (3, 180, 0.3),
)
N_COLOURS = 8  # of report.css


class Mark(NamedTuple):
    """Name, colour and shape of a class or curve.

    Attributes
    ----------
    name : str
    colour : int
        Position among the colours of the style sheet.
    outline : str
        SVG path of the shape around the origin, of radius 4 or less.
    hollow : bool
    """

    name: str
    colour: int
    outline: str
    hollow: bool


def class_marks(names: Iterable[str]) -> tuple[Mark, ...]:
    """Choose a mark for every name; 192 of them differ in colour, shape or filling.

    >>> first, second = class_marks(["no", "yes"])
    >>> first.colour != second.colour, first.outline != second.outline
    (True, True)
    """
    period = np.lcm(N_COLOURS, len(_SHAPES))
    most = N_COLOURS * len(_SHAPES)
    return tuple(
        Mark(
            name,
            place % N_COLOURS,
            _outline(*_SHAPES[(place + place // period) % len(_SHAPES)]),
            place // most % 2 == 1,
        )
        for place, name in enumerate(names)
    )


def _outline(corners: int, turn: float, inner: float) -> str:
    if not corners:
        return "M-3.5,0a3.5,3.5 0 1 0 7,0a3.5,3.5 0 1 0 -7,0z"
    radii = np.tile([4.4, 4.4 * inner], corners) if inner < 1 else np.full(corners, 4.4)
    angles = np.deg2rad(turn) + np.linspace(0, 2 * np.pi, len(radii), endpoint=False)
    points = np.column_stack([radii * np.sin(angles), -radii * np.cos(angles)])
    return _path(points) + "z"


@final
@dataclass(frozen=True)
class Axis:
    """A range of values with ticks.

    Attributes
    ----------
    label : str
    low, high : float
        Ends of the axis; their logarithms if it is logarithmic.
    ticks : tuple of (float, str)
        Positions between 0 and 1, and their texts.
    logarithmic : bool
    """

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False

    @classmethod
    def linear(
        cls, label: str, low: float, high: float, *, percent: bool = False, whole: bool = False
    ) -> Axis:
        """Make an axis with ticks at round numbers."""
        high = high if high > low else low + 1.0
        step = _step((high - low) / _TICKS)
        step = max(step, 1.0) if whole else step
        values = step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
        values = values + 0.0  # no negative zero
        texts = [f"{100 * v:.4g} %" if percent else number(v) for v in values]
        return cls(label, low, high, tuple(zip((values - low) / (high - low), texts, strict=True)))

    @classmethod
    def decades(cls, label: str, low: float, high: float) -> Axis:
        """Make a logarithmic axis from one power of ten to another, with ticks at powers of ten."""
        first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
        last = max(last, first + 1)
        every = -(-(last - first) // _TICKS)
        ticks = [(k / (last - first), number(10.0 ** (first + k))) for k in range(last - first + 1)]
        return cls(label, first, last, tuple(ticks[::every]), logarithmic=True)

    def shares(self, values: ArrayLike) -> FloatArray:
        """Return the positions of values between 0 and 1."""
        own = np.asarray(values, np.float64)
        shares: FloatArray = (np.log10(own) if self.logarithmic else own) - self.low
        return shares / (self.high - self.low)


@final
@dataclass(frozen=True)
class Chart:
    """A picture of `width` × `height` units with two axes; the origin is its upper left corner.

    Attributes
    ----------
    title : str
        Description for screen readers.
    x, y : Axis
    bars : list of (left, top, width, height)
    rules : list of (x, top, bottom)
        Thin vertical lines.
    lines : list of (int or None, str)
        Paths with the colour of a mark; None for a reference line.
    points : list of (mark, x, y)
    marks : sequence of Mark
        Explained in the legend.
    sizes : (float, float)
        Scale of points, and of those of labelled rows.
    """

    title: str
    x: Axis
    y: Axis
    bars: list[tuple[float, ...]] = field(default_factory=list)
    rules: list[tuple[float, ...]] = field(default_factory=list)
    lines: list[tuple[int | None, str]] = field(default_factory=list)
    points: list[tuple[str, float, float]] = field(default_factory=list)
    marks: Sequence[Mark] = ()
    sizes: tuple[float, float] = (1.0, 1.0)

    width, height, top, bottom, right = 360, 270, 8, 230, 343

    @property
    def left(self) -> float:
        """Position of the vertical axis: right of its label and the longest tick text."""
        return 26 + _LETTER * max(len(text) for _, text in self.y.ticks)

    def place(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return positions in the picture, shape (m, 2)."""
        across = self.left + self.x.shares(x) * (self.right - self.left)
        return np.column_stack([across, self.bottom - self.y.shares(y) * (self.bottom - self.top)])

    def add_line(self, mark: int | None, x: ArrayLike, y: ArrayLike) -> None:
        """Add a line through the points with a known y."""
        height = np.asarray(y, np.float64)
        known = np.isfinite(height)
        self.lines.append((mark, _path(self.place(np.asarray(x)[known], height[known]))))

    def add_points(self, names: Iterable[str], x: ArrayLike, y: ArrayLike) -> None:
        """Add points with the marks of the given ids."""
        places = self.place(x, y).round(1).tolist()
        self.points.extend((name, *place) for name, place in zip(names, places, strict=True))


def histogram_chart(counts: NDArray[Any], edges: FloatArray) -> Chart:
    """Draw numbers of rows by probability."""
    x = Axis.linear("probability of the predicted class", edges[0], edges[-1], percent=True)
    y = Axis.linear("rows", 0.0, float(max(counts.max(), 1)), whole=True)
    chart = Chart("Number of rows by the probability of their predicted class", x, y)
    corners = chart.place(edges[:-1], counts)
    sizes = chart.place(edges[1:], np.zeros(len(counts))) - corners
    chart.bars.extend(map(tuple, np.hstack([corners, sizes]).round(1).tolist()))
    return chart


def reliability_chart(bins: Sequence[ReliabilityBin]) -> Chart:
    """Draw the share of correct rows by probability, with the range of chance around equality."""
    mean, correct, _, chance = np.array(bins).T
    low, high = mean - chance, np.minimum(mean + chance, 1.0)
    start = np.clip(np.floor(10 * min(low.min(), correct.min()) + 1e-9) / 10, 0.0, 0.9)
    x = Axis.linear("mean probability of the predicted class", start, 1.0, percent=True)
    y = Axis.linear("correct", start, 1.0, percent=True)
    (mark,) = class_marks(["labelled rows"])
    chart = Chart("Share of correct rows by the probability of their class", x, y, marks=[mark])
    chart.add_line(None, [start, 1.0], [start, 1.0])
    ends = np.hstack([chart.place(mean, high), chart.place(mean, np.maximum(low, start))[:, 1:]])
    chart.rules.extend(map(tuple, ends.round(1).tolist()))
    chart.add_line(0, mean, correct)
    chart.add_points(["reliability-0"] * len(bins), mean, correct)
    return chart


def filter_chart(filters: Any, eigenvalues: FloatArray | None) -> Chart:
    """Draw learned filters, or filters of networks at the known eigenvalues."""
    if isinstance(filters, Mapping):
        label = "learned response φ(λ) / max φ"
        curves = {
            name.replace("-", " "): (
                found.eigenvalues,
                found.response / (found.response.max(initial=0.0) or 1.0),
            )
            for name, found in filters.items()
        }
    else:
        label = "filter response φ(λ)"
        values = np.linspace(0.0, 2.0, 101) if eigenvalues is None else eigenvalues
        curves = {str(phi): (values, phi(values)) for phi in filters}
        if eigenvalues is None:
            curves = {name: (values, _without_pole(own)) for name, (_, own) in curves.items()}
    across, heights = (np.concatenate(parts) for parts in zip(*curves.values(), strict=True))
    heights = np.append(heights[np.isfinite(heights)], 0.0)
    x = Axis.linear("eigenvalue λ", min(across.min(), 0.0), across.max())
    y = Axis.linear(label, heights.min(), heights.max())
    title = "Filter responses over the eigenvalues"
    chart = Chart(title, x, y, marks=class_marks(curves), sizes=(0.7, 0.7))
    for place, (own, response) in enumerate(curves.values()):
        chart.add_line(place, own, response)
        if isinstance(filters, Mapping) or eigenvalues is not None:
            # Many eigenvalues may be equal or nearly so: one mark is enough.
            spots = np.unique(chart.place(own, response).round(), axis=0, return_index=True)[1]
            chart.add_points([f"filters-{place}"] * len(spots), own[spots], response[spots])
    return chart


def _without_pole(response: FloatArray) -> FloatArray:
    size = np.abs(response)
    return np.where(size <= _POLE * np.quantile(size, 0.9), response, np.nan)


def loss_chart(curve: NDArray[Any]) -> Chart:
    """Draw the losses (T, s) of s restarts over T iterations."""
    shown = np.unique(np.linspace(0, len(curve) - 1, _LINE_POINTS).astype(int))
    losses = np.where(curve > 0, curve, np.nan)[shown]
    known = losses[np.isfinite(losses)]
    y = Axis.decades("loss", known.min(), known.max()) if known.size else Axis.linear("loss", 0, 1)
    chart = Chart(
        "Loss of every restart by iteration", Axis.linear("iteration", 1, len(curve), whole=True), y
    )
    for own in losses.T:
        chart.add_line(0, shown + 1, own)
    return chart


def map_chart(drawn: Embedding, marks: Sequence[Mark]) -> Chart:
    """Draw rows as points with the mark of their class; those of labelled rows have a ring."""
    low, high = drawn.coordinates.min(axis=0), drawn.coordinates.max(axis=0)
    margin = 0.04 * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    x, y = (Axis.linear(drawn.axes[k], low[k], high[k]) for k in (0, 1))
    n_labelled = int(drawn.given.sum())
    sizes = (
        float(np.clip(24 / np.sqrt(max(len(drawn.given) - n_labelled, 1)), 0.42, 1.0)),
        float(np.clip(9 / np.sqrt(max(n_labelled, 1)), 0.45, 1.1)),
    )
    chart = Chart("Rows by class", x, y, marks=marks, sizes=sizes)
    ids = np.where(drawn.given, "given", "map")
    names = [f"{kind}-{code}" for kind, code in zip(ids, drawn.codes, strict=True)]
    chart.add_points(names, *drawn.coordinates.T)
    return chart


def _step(smallest: float) -> float:
    """Return the smallest of 1, 2, 5, 10, … that is not below a number."""
    power = 10.0 ** np.floor(np.log10(smallest))
    return float(power * next(m for m in (1, 2, 5, 10) if m * power >= smallest * (1 - 1e-9)))


def _path(points: FloatArray) -> str:
    """Return an SVG path with one decimal."""
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points)

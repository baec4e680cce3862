"""Charts: round ticks, marks that differ, and colours that everybody can tell apart."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowrankgcn.estimators.evidence import ReliabilityBin
from lowrankgcn.report.figures import (
    N_COLOURS,
    Axis,
    class_marks,
    filter_chart,
    histogram_chart,
    loss_chart,
    map_chart,
    reliability_chart,
)
from tests.report.classified import of_kind

# Linear RGB as seen with red-green blindness (Machado, Oliveira and Fernandes, 2009), and OKLab.
_VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def colours(theme: str) -> dict[str, Any]:
    """Linear RGB of the variables of the style sheet."""
    sheet = (files("lowrankgcn.report") / "templates" / "report.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", sheet, flags=re.DOTALL)
    found = re.findall(r"--(\w+): #([0-9a-f]{6});", light if theme == "light" else dark)
    shares = {name: np.array(list(bytes.fromhex(text))) / 255 for name, text in found}
    return {
        name: np.where(own <= 0.04045, own / 12.92, ((own + 0.055) / 1.055) ** 2.4)
        for name, own in shares.items()
    }


def contrast(first: Any, second: Any) -> float:
    """Contrast ratio of WCAG."""
    low, high = sorted(own @ np.array([0.2126, 0.7152, 0.0722]) for own in (first, second))
    return float((high + 0.05) / (low + 0.05))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours(theme: str) -> None:
    own = colours(theme)
    for background in ("paper", "card"):
        assert all(
            contrast(own[name], own[background]) >= 4.5 for name in ("ink", "soft", "accent")
        )
        marks = [own[f"c{k}"] for k in range(N_COLOURS)]
        assert all(contrast(mark, own["paper"]) >= 3 for mark in [*marks, own["fill"]])
    for vision in _VISION.values():
        seen = [np.cbrt(np.clip(mark @ vision.T, 0, 1) @ _CONES.T) @ _LAB.T for mark in marks]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 0.1


def test_marks_differ() -> None:
    marks = class_marks(map(str, range(192)))
    assert len({mark[1:] for mark in marks}) == 192
    assert len({mark.colour for mark in marks[:8]}) == len({m.outline for m in marks[:8]}) == 8


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.booleans())
def test_ticks(low: float, length: float, whole: bool) -> None:
    axis = Axis.linear("", low, low + length, whole=whole)
    shares = [share for share, _ in axis.ticks]
    assert len(shares) <= 7 and shares == sorted(shares)
    assert all(-1e-6 <= share <= 1 + 1e-6 for share in shares)
    if whole:
        assert all("." not in text or "e" in text for _, text in axis.ticks)
    elif low + length > low and length > 1e-3 * abs(low):
        assert len(shares) >= 2
        values = [float(text) for _, text in axis.ticks]
        assert axis.shares(values) == pytest.approx(shares, abs=1e-2)


def test_tick_texts() -> None:
    def texts(axis: Axis) -> list[str]:
        return [text for _, text in axis.ticks]

    assert texts(Axis.linear("", -0.3, 1.0)) == ["0", "0.5", "1"]
    assert texts(Axis.linear("", 0.5, 1.0, percent=True))[:2] == ["50 %", "60 %"]
    assert texts(Axis.linear("", 0, 2, whole=True)) == ["0", "1", "2"]
    assert texts(Axis.linear("", 3, 3)) == ["3", "3.2", "3.4", "3.6", "3.8", "4"]
    assert texts(Axis.decades("", 0.02, 150.0)) == ["0.01", "0.1", "1", "10", "100", "1000"]
    assert texts(Axis.decades("", 1e-9, 1.0))[0] == "1e-09"


def test_bars_have_the_height_of_their_counts() -> None:
    chart = histogram_chart(np.array([0, 2, 8]), np.array([0.4, 0.6, 0.8, 1.0]))
    heights = [bar[3] for bar in chart.bars]
    assert heights[0] == 0 and heights[2] == pytest.approx(4 * heights[1], abs=0.2)
    assert chart.bars[2][1] == chart.top
    assert histogram_chart(np.zeros(2, int), np.array([0.0, 0.5, 1.0])).bars[0][3] == 0


def test_reliability() -> None:
    bins = [ReliabilityBin(0.7, 0.5, 10, 0.2), ReliabilityBin(0.95, 1.0, 10, 0.1)]
    chart = reliability_chart(bins)
    assert chart.x.low == chart.y.low == 0.5
    (_, x, y), (_, _, top) = chart.points
    assert (y, top) == (chart.bottom, chart.top)
    assert chart.rules[0][0] == x
    assert chart.rules[1][1] == chart.top  # not beyond one
    certain = reliability_chart([ReliabilityBin(1.0, 1.0, 9, 0.0)])
    assert np.isfinite(certain.points[0][1:]).all()


@pytest.mark.parametrize(
    "kind", ["table", "network", "full rank", "one eigenpair", "three filters"]
)
def test_filters(kind: str) -> None:
    result = of_kind(kind)
    chart = filter_chart(result.filters, result.eigenvalues)
    assert len(chart.lines) == len(chart.marks) == len(result.filters)
    assert all("nan" not in path for _, path in chart.lines)
    assert bool(chart.points) == (kind != "full rank")


def test_losses_are_thinned() -> None:
    curve = np.geomspace(1, 1e-3, 5000)[:, None] * [1.0, 2.0]
    curve[3000:, 1] = np.nan  # stopped
    chart = loss_chart(curve)
    first, second = (path.count("L") for _, path in chart.lines)
    assert first == 199 and 110 < second < 125
    assert [text for _, text in chart.y.ticks] == ["0.001", "0.01", "0.1", "1", "10"]
    assert loss_chart(np.zeros((3, 1))).lines[0][1] == "M"


def test_map() -> None:
    result = of_kind("table")
    assert result.embedding is not None
    chart = map_chart(result.embedding, class_marks(result.classes))
    names, x, y = zip(*chart.points, strict=True)
    assert chart.place(*result.embedding.coordinates.T) == pytest.approx(np.c_[x, y], abs=0.06)
    expected = zip(result.embedding.given, result.embedding.codes, strict=True)
    assert list(names) == [f"{'given' if own else 'map'}-{code}" for own, code in expected]
    # Labelled rows are drawn last, over the others.
    labelled = [name.startswith("given") for name in names]
    assert any(labelled) and labelled == sorted(labelled)

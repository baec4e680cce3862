"""Pictures in pages, marks that differ, and colours that everybody can tell apart."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lowrankgcn.plotting.drawing import COLOURS, class_key, class_mark, svg
from lowrankgcn.plotting.quality import draw_certainty, draw_reliability
from lowrankgcn.plotting.spectra import draw_points
from tests.report.page import Page

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
        marks = [own[f"c{k}"] for k in range(len(COLOURS))]
        assert all(contrast(mark, own["paper"]) >= 3 for mark in [*marks, own["fill"]])
    for vision in _VISION.values():
        seen = [np.cbrt(np.clip(mark @ vision.T, 0, 1) @ _CONES.T) @ _LAB.T for mark in marks]
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 0.1


def test_the_style_sheet_has_the_colours_of_the_pictures() -> None:
    sheet = (files("lowrankgcn.report") / "templates" / "report.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", sheet, flags=re.DOTALL)
    assert tuple(re.findall(r"--c\d: (#\w+);", light)) == COLOURS
    assert len(re.findall(r"--c\d: (#\w+);", dark)) == len(COLOURS)


def test_marks_differ() -> None:
    marks = [class_mark(code) for code in range(96)]
    assert len({tuple(mark.values()) for mark in marks}) == 96
    assert len({mark["color"] for mark in marks[:8]}) == len({m["marker"] for m in marks[:8]}) == 8
    assert len({class_key(code) for code in range(96)}) == 96


def everything(ax: Axes) -> None:
    """Draw text, marks of two classes, a line and an area."""
    labelled = np.array([False] * 3 + [True])
    draw_points(np.eye(4)[:, :2], np.array([0, 0, 1, 1]), labelled, ("", ""), ax)
    ax.plot([0, 1], [0.123456789, 1], color="black", label="<0.123456789>")
    ax.fill_between([0, 1], [0, 1], color="white")
    ax.set(xlabel="<probability> & 0.123456789")
    ax.legend(frameon=False)


def test_an_element_has_the_colours_and_the_font_of_the_page() -> None:
    drawing = svg(everything, "name", "<Two> classes")
    page = Page(drawing)
    (_, own), *_ = page.attributes
    assert own["viewbox"].startswith("0 0 ")
    assert not {"width", "height", "xmlns"} & set(own)
    assert (own["role"], own["aria-label"]) == ("img", "<Two> classes")
    assert not re.findall("#[0-9a-f]{6}|font-family|font:|xmlns|\n", drawing)
    for colour in ("var(--c0)", "var(--c1)", "var(--paper)", "currentColor", "var(--soft)"):
        assert colour in drawing, colour
    # Text stays text and is not rounded; coordinates are.
    assert "<probability> & 0.123456789" in page.text and "<0.123456789>" in page.text
    assert not re.search(r'd="[^"]*\.\d{3}', drawing)


def test_ids_are_unique_in_a_page_and_repeat() -> None:
    one, two = (svg(everything, name, "") for name in ("one", "two"))
    ids = [Page(drawing).ids for drawing in (one, two)]
    assert all(name.startswith("one-") for name in ids[0])
    assert len(set(ids[0] + ids[1])) == len(ids[0]) + len(ids[1])
    references = Page(one).references
    assert references and {name.removeprefix("#") for name in references} <= set(ids[0])
    assert svg(everything, "one", "") == one


def test_marks_of_a_group_have_one_style() -> None:
    page = Page(svg(everything, "name", ""))
    assert sum(tag == "use" for tag in page.tags) >= 4
    assert not any("style" in own for tag, own in page.attributes if tag == "use")
    groups = [own["id"] for tag, own in page.attributes if own.get("id", "").startswith("name-cl")]
    assert groups == ["name-class-0-0", "name-class-1-1", "name-class-1-2"]


def test_certainty() -> None:
    ax = Figure().subplots()
    draw_certainty(np.array([0.34, 0.5, 0.96, 1.0, 1.0]), 3, ax)
    heights = [bar.get_height() for bar in ax.patches]
    assert (heights[0], heights[-1], sum(heights)) == (1, 3, 5)
    assert ax.get_xlim() == (0.3, 1.0)


def test_reliability_bins() -> None:
    ax = Figure().subplots()
    draw_reliability([(0.7, 0.5, 10), (0.95, 1.0, 10)], ax)
    assert ax.lines[0].get_xydata().tolist() == [[0.7, 0.5], [0.95, 1.0]]
    assert ax.get_xlim() == ax.get_ylim() == pytest.approx((0.184, 1.016))  # 5 of 10: 22 to 78 %

"""The browser's eyes see what they should see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.browser import evaluate, measure, needs_browser, picture

_PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>t</title><style>
body {{ margin: 0; font: 16px/1.5 sans-serif }}
.at {{ position: absolute }} .at, .row {{ white-space: nowrap }}
</style></head><body>{}</body></html>"""
_SCROLLED = f'<div style="overflow-x:auto"><p class="row">{"long " * 99}</p></div>'
_ON_EACH_OTHER = '<p class="at" style="top:0">one</p><p class="at" style="top:8px">two</p>'
_IN_A_FIGURE = '<svg height="99"><text y="80">ab</text><text x="4" y="84">cd</text></svg>'


@needs_browser
@pytest.mark.parametrize(
    ("body", "wide", "overlapping"),
    [
        (f"<p>first</p><p>second</p>{_SCROLLED}", False, []),
        ('<p class="at" style="left:350px">reaches far out of the window</p>', True, []),
        (f"{_ON_EACH_OTHER}{_IN_A_FIGURE}", False, [["one", "two"], ["ab", "cd"]]),
    ],
)
def test_measure(body: str, wide: bool, overlapping: list[list[str]]) -> None:
    layout = measure(_PAGE.format(body), width=420)
    assert layout.width == 420
    assert layout.n_texts > 0
    assert bool(layout.overflowing) == (layout.scroll_width > 420) == wide
    assert layout.overlapping == overlapping


@needs_browser
def test_picture(tmp_path: Path) -> None:
    path = tmp_path / "page.png"
    picture(_PAGE.format("<p>text</p>"), path, width=420, height=100)
    assert path.read_bytes().startswith(b"\x89PNG")


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_evaluate(dark: bool) -> None:
    style = "<style>@media (prefers-color-scheme: dark) { p { color: #fff } }</style>"
    script = """
    window.console.log("a line");
    const colour = window.getComputedStyle(page.querySelector("p")).color;
    return [colour, window.innerWidth];
    """
    found, console = evaluate(_PAGE.format(f"{style}<p>text</p>"), script, width=390, dark=dark)
    assert found == ["rgb(255, 255, 255)" if dark else "rgb(0, 0, 0)", 390]
    assert len(console) == 1 and "a line" in console[0]

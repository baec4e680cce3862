"""The row first: what a person must see of a row to label it, and how the table shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.studio.devtools import Browser, Page
from tests.studio.page import Person
from tests.studio.running import Studio, studio
from tests.support.browser import needs_browser

pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
pytest.importorskip("uvicorn", reason="needs lowrankgcn[studio]")
pytestmark = [needs_browser, pytest.mark.filterwarnings("ignore::UserWarning")]  # of graphs

SIZES = [(1400, 900, False), (820, 700, False), (390, 844, True)]
_GOOD = [
    "The room was clean and quiet, although the street outside is a busy one.",
    "We slept well.",
]
_BAD = [
    "We waited for forty minutes at the desk and nobody apologised.",
    "The window did not close.",
]
_LINK = "https://hotel.example/rooms/12?a=1&b=2"
# Letters of every line of a text: a new line begins where the left edge of a letter jumps back.
_LINES = """(box => {
  const range = document.createRange(), lines = [0];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  let right = -Infinity;
  while (walker.nextNode()) for (let i = 0; i < walker.currentNode.length; i++) {
    range.setStart(walker.currentNode, i); range.setEnd(walker.currentNode, i + 1);
    const b = range.getBoundingClientRect();
    if (b.left < right - 40) lines.push(0);
    lines[lines.length - 1]++; right = b.right;
  }
  return lines;
})(document.querySelector('.prose'))"""
_PARTS = ".title, .headline, .prose, .cells, .evidence"
_ORDER = f"[...document.querySelectorAll('#row :is({_PARTS})')].map(e => e.classList[0])"
_PAIRS = (
    "[...document.querySelectorAll('.cells > div')].map(e => [...e.children].map(c => c.innerText))"
)
_LINKS = """[...document.querySelectorAll('#row a')]
  .map(a => [a.getAttribute('href'), a.target, a.rel, a.referrerPolicy])"""

_TOP = "[...document.querySelectorAll('header .bar:first-child > *')].filter(e => e.offsetWidth)"
_OUTSIDE = f"""{_TOP}.filter(e => {{
  const b = e.getBoundingClientRect();
  return b.left < 0 || b.right > innerWidth;
}}).map(e => e.outerHTML.slice(0, 80))"""
_OVERLAPPING = f"""{_TOP}.flatMap((e, i, all) => all.slice(i + 1).filter(f => {{
  const [a, b] = [e.getBoundingClientRect(), f.getBoundingClientRect()];
  return a.right > b.left + 1 && b.right > a.left + 1
    && a.bottom > b.top + 1 && b.bottom > a.top + 1;
}}).map(f => e.id + ' ' + f.id))"""


def hotels(folder: Path, n: int = 60) -> Path:
    """Write reviews of hotels: titles, texts of several sentences, numbers, dates and links."""
    rng = np.random.default_rng(0)
    good = rng.integers(2, size=n)
    frame = pd.DataFrame(
        {
            "id": [f"r{k:04d}-{rng.integers(10**6)}" for k in range(n)],
            "title": [
                f"Stay {k}: {'a pleasure' if one else 'never again'}" for k, one in enumerate(good)
            ],
            "review": [
                " ".join([*(_GOOD if one else _BAD) * 6, f"Room {k}, see {_LINK}."])
                for k, one in enumerate(good)
            ],
            "price (€)": rng.normal(120, 30, n).round(2),
            "city": rng.choice(["Chemnitz", "Lisboa", "Zürich"], n),
            "visited": [f"{1 + k % 28:02d}.03.2024" for k in range(n)],
            "page": [f"https://hotel.example/review/{k}" for k in range(n)],
        }
    )
    frame["opinion"] = [("bad", "good")[one] if k < 8 else None for k, one in enumerate(good)]
    path = folder / "hotels.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio of reviews that no test labels."""
    with studio(hotels(tmp_path_factory.mktemp("reviews")), "opinion") as running:
        yield running


def select(page: Page, row: int) -> None:
    """Select a row of the table and wait until the panel has all of it."""
    line, grid = (
        f"document.querySelector('.line[data-row=\"{row}\"]')",
        "document.getElementById('grid')",
    )
    page.run(f"{grid}.scrollTop = {row} * document.querySelector('.line').offsetHeight")
    page.wait(line)
    page.run(f"{line}.click()")
    panel = "document.getElementById('row')"
    page.wait(f"{panel}.dataset.row === '{row}' && {panel}.ariaBusy === 'false'")


@pytest.mark.parametrize(("width", "height", "phone"), SIZES)
def test_panel_opens_with_the_row(
    chromium: Browser, reviews: Studio, width: int, height: int, phone: bool
) -> None:
    page = Person(chromium, reviews, width=width, height=height).page
    page.resize(width, height, phone=phone)
    if phone:
        page.click_on("#tabs [data-tab=table]")
    select(page, 3)
    if phone:
        page.click_on("#tabs [data-tab=row]")
    assert page.run(_ORDER) == ["title", "headline", "prose", "cells", "evidence"]
    assert page.text(".headline").startswith("Stay 3: ")
    assert page.text("#row .prose").endswith(f"Room 3, see {_LINK}.")
    assert page.run("getComputedStyle(document.querySelector('.prose')).fontSize") == "16px"
    lines = page.run(_LINES)
    assert len(lines) > 5 and max(lines) <= 75, lines
    table = page.run(_PAIRS)
    assert [name for name, _ in table] == ["id", "price (€)", "city", "visited", "page"]
    assert dict(table)["visited"] == "4 March 2024"
    assert page.run("document.querySelector('time').dateTime") == "2024-03-04"
    links = page.run(_LINKS)
    safe = ["_blank", "noopener noreferrer", "no-referrer"]
    assert links == [[_LINK, *safe], ["https://hotel.example/review/3", *safe]]
    assert page.run("document.querySelector('.evidence').open") is not phone
    for dark in (False, True):
        page.dark(dark)
        inside = """[...document.querySelectorAll('#row *')].every(e => {
          const b = e.getBoundingClientRect();
          return !b.width || e.closest('.evidence') || (b.left >= 0 && b.right <= innerWidth);
        })"""
        assert page.run(inside)
    assert page.errors == []


def test_table_shows_two_lines_and_its_columns_are_resized_and_hidden(
    chromium: Browser, reviews: Studio
) -> None:
    page = Person(chromium, reviews).page
    page.run("localStorage.clear()")
    page.go(reviews.address)
    column = "#head [data-column='1']"
    shown = "[...document.querySelectorAll('#head [data-column]')].map(e => +e.dataset.column)"
    page.wait(f"({shown}).includes(2) && document.querySelector('.line .is-text')")
    lines = "parseFloat(getComputedStyle(document.querySelector('.line .is-text')).lineHeight)"
    assert page.box(".line .is-text")[3] == pytest.approx(2 * page.run(lines), abs=1)
    assert page.box(".line:nth-child(2)")[1] - page.box(".line")[1] == 48
    left, top, before, _ = page.box(column)
    x, y = left + before - 3, top + 10
    page.drag([(x, y), (x + 30, y), (x + 60, y)])
    assert page.box(column)[2] == page.box(".line .space + .cell + .cell")[2] == before + 60
    page.run(f'document.querySelector("{column} .edge").focus({{ preventScroll: true }})')
    page.key("ArrowLeft")
    assert page.box(column)[2] == before + 44
    assert page.text("#head [aria-sort=ascending]").strip() == "row"
    page.click_on("#columns summary")
    page.click_on("#columns li:nth-child(1) input")
    assert page.run(f"({shown})[0]") == 1 and page.text("#columns summary") == "Columns (1 hidden)"
    page.go(reviews.address)
    width = f'document.querySelector("{column}").offsetWidth'
    page.wait(f"({shown})[0] === 1 && {width} === {before + 44}")  # as it was left
    assert page.text("#head .fixed .cell:nth-child(2)").strip() == "opinion"
    page.click_on("#uncertain")
    page.wait("document.querySelector('#head [aria-sort=ascending]')?.textContent === 'certainty'")
    assert page.errors == []


def test_suggestions_have_the_numbers_of_the_map(chromium: Browser, reviews: Studio) -> None:
    draw = "CanvasRenderingContext2D.prototype.fillText"
    script = f"window.drawn = []; {draw} = function (text) {{ window.drawn.push(String(text)); }};"
    page = Person(chromium, reviews, script=script).page
    page.wait("document.querySelectorAll('#suggestions button').length >= 3")
    buttons = "[...document.querySelectorAll('#suggestions button')].map(b => b.ariaLabel)"
    rows = page.run("fetch('api/state').then(r => r.json()).then(s => s.suggestions)")
    expected = [f"Suggestion {k}: row {row + 1}" for k, row in enumerate(rows[:6], 1)]
    page.wait(f"JSON.stringify({buttons}) === JSON.stringify({expected})")
    page.wait("window.drawn.includes('1') && window.drawn.includes('10')")
    assert page.text("#suggestions b") == "1"
    assert page.text("#target") == "label: opinion"


@pytest.mark.parametrize(("width", "height", "phone"), [*SIZES, (721, 700, False)])
def test_long_names_fit(
    chromium: Browser, tmp_path: Path, width: int, height: int, phone: bool
) -> None:
    path = hotels(tmp_path)
    frame = pd.read_csv(path, dtype=object)
    names = {"good": "Verwaltungsgerichtsbarkeitszuständigkeit " * 4, "bad": "x" * 300}
    frame["opinion"] = frame["opinion"].map(names)
    target = "a target column whose name is long"
    frame.rename(columns={"opinion": target}).to_csv(path, index=False)
    with studio(path, target) as running:
        page = Person(chromium, running, width=width, height=height).page
        page.resize(width, height, phone=phone)
        away = (
            "document.getElementById('connection').textContent = 'The server is away. '.repeat(9)"
        )
        page.run(f"document.body.classList.add('away'); {away}")
        for dark in (False, True):
            page.dark(dark)
            assert page.run("document.documentElement.scrollWidth") <= width
            assert page.run(_OUTSIDE) == [] and page.run(_OVERLAPPING) == []
        assert page.box("#connection")[2] > 0.9 * width - 30  # a line of its own
        assert page.box("#row")[3] > 200 and page.errors == []

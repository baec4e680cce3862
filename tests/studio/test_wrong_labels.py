"""What a person sees is what a key labels: situations that led to wrong labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.studio.client import Client
from tests.studio.devtools import Browser
from tests.studio.page import Person
from tests.studio.running import iris, studio
from tests.support.browser import needs_browser

pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
pytest.importorskip("uvicorn", reason="needs lowrankgcn[studio]")
pytestmark = [needs_browser, pytest.mark.filterwarnings("ignore::UserWarning")]  # of graphs

_SLOW = """const quick = window.fetch;
window.held = /rows.*offset=[1-9]/;
window.fetch = async (path, ...more) => {
  while (window.held.test(path)) await new Promise(r => setTimeout(r, 20));
  return quick(path, ...more);
};"""
_MESSAGE = "document.getElementById('message')"
_PANEL = "document.getElementById('row')"


def _journal(path: Path) -> list[dict[str, Any]]:
    text = path.with_name(f"{path.name}.labels.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_keys_label_the_row_on_the_screen(chromium: Browser, tmp_path: Path) -> None:
    path, _ = iris(tmp_path)
    with studio(path, "species") as running:
        person = Person(chromium, running, script=_SLOW)
        page = person.page
        first = person.next()
        person.assign("a")
        person.labelled(1)
        page.run("new Promise(r => setTimeout(r, 500))")
        page.run("window.held = /rows.*offset=[1-9]|row[/]|reasons[/]/")
        page.key("n")
        # The next row is there although the server does not answer.
        shown = page.run(f"Number({_PANEL}.dataset.row)")
        cells = page.run(f"{_PANEL}.querySelector('.cells').textContent")
        values = path.read_text().splitlines()[shown + 1].split(",")[:4]
        assert shown != first and all(value in cells for value in values)
        page.key("1")
        person.labelled(2)
        # The cells of a row far down in the table, and not suggested, are not there.
        known = page.run("fetch('api/state').then(r => r.json()).then(s => s.suggestions)")
        places = np.array([person.place(row) for row in range(150)])
        gaps = np.linalg.norm(places[:, None] - places[[*known, *range(100)]], axis=2).min(axis=1)
        page.click(*person.place(int(gaps.argmax())))
        page.wait(f"{_PANEL}.textContent.includes('Loading')")
        assert page.run(f"{_PANEL}.querySelector('.cells')") is None
        for key in ("1", "Delete"):
            page.key(key)
            page.wait(f"{_MESSAGE}.textContent.includes('not on the screen yet')")
            page.run(f"{_MESSAGE}.textContent = ''")
        page.run("window.held = /^$/")
        row = person.focus
        page.key("1")
        person.labelled(3)
        assert page.errors == []
    assert [line["row"] - 1 for line in _journal(path)] == [first, shown, row]


def test_a_row_taken_out_of_the_selection_is_not_labelled(
    chromium: Browser, tmp_path: Path
) -> None:
    path, _ = iris(tmp_path)
    with studio(path, "species") as running:
        page = Person(chromium, running).page
        control = {"modifiers": 2, "button": "left", "buttons": 1, "clickCount": 1}
        for row in (1, 2, 2):
            box = f"document.querySelector('.line[data-row=\"{row}\"]').getBoundingClientRect()"
            x, y = page.run(f"(b => [b.x + 40, b.y + 10])({box})")
            for kind in ("Pressed", "Released"):
                page.mouse(kind, x, y, **control)
        page.wait(f"{_PANEL}.dataset.row === '1'")


def test_several_rows_are_counted_and_not_overwritten_unasked(
    chromium: Browser, tmp_path: Path
) -> None:
    path, _ = iris(tmp_path)
    asked = "document.getElementById('ask').open"
    counts = "[...document.querySelectorAll('.class b')].map(b => Number(b.textContent))"
    with studio(path, "species") as running:
        person = Person(chromium, running)
        page = person.page
        for row, name in ((1, "a"), (3, "b")):
            page.click_on(f".line[data-row='{row}']")
            page.wait(f"{_PANEL}.dataset.row === '{row}'")
            person.assign(name)
        person.labelled(2)
        page.click_on(".line[data-row='0']")
        for number in range(2, 9):
            page.key("ArrowDown", shift=True)
            page.wait(f"document.querySelectorAll('.line.selected').length === {number}")
        assert page.text("#selected") == "8 rows, 2 of them labelled"
        page.wait(f"{_PANEL}.dataset.row === '7'")  # keys need its cells on the screen
        page.key("1")
        page.wait(asked)
        assert "8 rows, 2 of them labelled" in page.text("#ask")
        assert "Replace 1 label by a?" in page.text("#ask")
        page.key("2")  # keys wait for the answer
        page.key("Escape")
        page.wait(f"!{asked}")
        person.labelled(2)
        page.key("1")
        page.wait(asked)
        # On a busy machine, the end of the first question comes now. It is not the answer.
        page.run("document.getElementById('ask').dispatchEvent(new Event('close')) ")
        page.click_on("#ask [value=others]")
        person.labelled(8)
        assert page.run(counts) == [7, 1]
        page.key("u")
        person.labelled(2)
        page.key("2")
        page.wait(asked)
        page.click_on("#ask [value=all]")
        person.labelled(8)
        assert page.run(counts) == [0, 8]
        page.key("u")  # one step takes all of it back
        person.labelled(2)
        assert page.run(counts) == [1, 1]
        page.key("Delete")
        page.wait(asked)
        assert "Remove 2 labels?" in page.text("#ask")
        page.key("Escape")
        person.labelled(2)
        assert page.errors == []


def test_accuracy_is_measured_on_random_rows(chromium: Browser, tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    with studio(path, "species") as running:
        client, person = Client(running), Person(chromium, running)
        page, shown = person.page, "document.getElementById('accuracy').innerText"
        for row in (0, 1, 60, 61, 120, 121, 2, 62, 122):  # chosen by the user
            client.label(row, truth[row])
        person.labelled(9)
        assert page.run(shown) == "accuracy: too few labels"
        for count in range(8):
            row = client.get("state")["random"][0]
            client.label(row, truth[row])
            person.labelled(10 + count)
        page.wait(f"{shown}.includes('%') && {shown}.includes('8 random rows')")
        box = "document.getElementById('goal')"
        for goal, text in ((99, "goal 99\\u202f%: not yet"), (20, "you can stop")):
            page.run(f"{box}.value = {goal}")
            page.run(f"{box}.dispatchEvent(new Event('input'))")
            page.wait(f"{shown}.includes('{text}')")
        assert len(client.get("state")["curve"]) == 1
        page.run("localStorage.removeItem('goal')")
        page.key("u")
        person.labelled(16)
        page.wait(f"{shown} === 'accuracy: too few labels'")
        assert page.errors == []
    assert [line.get("audited", False) for line in _journal(path)] == [False] * 9 + [True] * 8 + [
        False
    ]

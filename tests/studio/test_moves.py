"""Moves of everyday labelling on the page: skip, go on, filter, label many rows, change classes."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lowrankgcn.files import writing
from lowrankgcn.files.label_studio import Prediction, make_tasks
from tests.studio.client import Client
from tests.studio.devtools import Browser
from tests.studio.page import Person
from tests.studio.running import iris, studio
from tests.support.browser import needs_browser

pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
pytest.importorskip("uvicorn", reason="needs lowrankgcn[studio]")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of graphs

_STATIC = Path("src/lowrankgcn/studio/static")
_ROWS = "Number(document.getElementById('grid').ariaRowCount) - 1"
_COUNTS = "[...document.querySelectorAll('.class b')].map(b => Number(b.textContent))"
_FILTER = "document.getElementById('filter').textContent"
_PANEL = "document.getElementById('row')"


def _journal(path: Path) -> list[dict[str, Any]]:
    text = path.with_name(f"{path.name}.labels.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


@needs_browser
def test_skip_auto_advance_and_undo_by_keys(chromium: Browser, tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    with studio(path, "species") as running:
        person, client = Person(chromium, running), Client(running)
        page = person.page
        assert "token" not in page.run("location.href")
        first = person.next()
        person.assign(truth[first])
        page.wait(f"{_PANEL}.dataset.row !== '{first}'")  # goes on by itself
        second = person.focus
        page.key("0")
        page.wait(f"{_PANEL}.dataset.row !== '{second}'")
        third = person.focus
        page.key("s")
        page.wait(f"{_PANEL}.dataset.row !== '{third}'")
        page.wait(f"{_FILTER}.includes('skipped (2)')")
        person.labelled(1)
        assert not {second, third} & set(client.settled()["suggestions"])
        page.key("z", control=True)
        page.wait(f"{_FILTER}.includes('skipped (1)')")
        page.key("z", control=True, shift=True)
        page.wait(f"{_FILTER}.includes('skipped (2)')")
        person.select("skipped")
        page.wait(f"{_ROWS} === 2")
        person.row(second)
        assert "Skipped" in page.text("#row")
        page.key("1")  # a label takes the place of the mark, and the table goes on to its next row
        person.labelled(2)
        page.wait(f"{_ROWS} === 1")
        person.select("")
        page.wait("document.querySelector('.line[data-row=\"3\"]')")
        person.row(3)
        page.key("1")
        page.wait(f"{_PANEL}.dataset.row === '4'")
        page.click_on("#more summary")
        page.click_on("#advance")
        person.row(5)
        page.key("1")
        person.labelled(4)
        assert person.focus == 5
        assert page.errors == []
    skips = [line for line in _journal(path) if "skipped" in line]
    assert [line["skipped"] for line in skips] == [True, True, False, True, False]


@needs_browser
def test_filters_and_labels_of_all_shown_rows(chromium: Browser, tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    asked = "document.getElementById('ask').open"
    with studio(path, "species", "--classes", "setosa,versicolor,virginica") as running:
        person, client = Person(chromium, running), Client(running)
        page = person.page
        for row in (0, 1, 2, 60, 61, 120, 121, 122):
            client.label(row, truth[row])
        client.label(62, "setosa")  # wrong
        person.labelled(9)
        for name, count in (("labelled", 9), ("open", 141)):
            person.select(name)
            page.wait(f"{_ROWS} === {count}")
        person.select("suspect")
        page.wait("document.querySelector('.line[data-row=\"62\"]')")
        assert page.run(_ROWS) <= 4
        client.settled()  # predictions change no more
        person.select("class:setosa")
        total = int(client.get("rows?show=class:setosa")["total"])
        page.wait(f"{_ROWS} === {total}")
        matching = np.frombuffer(client.send("GET", "/api/search?show=class:setosa")[2], np.uint8)
        assert matching.sum() == total and 40 < total < 65
        assert page.text("#select-shown") == f"Select all {total}"
        page.key("a")
        page.wait(f"document.getElementById('selected').textContent.startsWith('{total} rows')")
        page.key("1")
        page.wait(asked)
        assert f"Label {total} rows as setosa?" in page.text("#ask")
        page.click_on("#ask [value=all]")
        person.labelled(total + 5)
        page.key("u")  # one step
        person.labelled(9)
        person.select("uncertain")
        page.wait(f"{_ROWS} === {client.get('rows?show=uncertain')['total']}")
        assert page.errors == []


@needs_browser
def test_sure_predictions_are_accepted_apart_from_labels(chromium: Browser, tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    with studio(path, "species") as running:
        person, client = Person(chromium, running), Client(running)
        page = person.page
        for row in range(0, 150, 6):
            client.label(row, truth[row])
        person.labelled(25)
        before = client.predictions()[1]
        page.click_on("#more summary")
        page.click_on("#accept")
        page.run("document.getElementById('sure').value = 90")
        page.run("document.getElementById('sure').dispatchEvent(new Event('input'))")
        shown = page.wait(
            "(t => t.includes('90') && t)(document.getElementById('accept-rows').textContent)"
        )
        count = int(re.search(r"\d+", shown)[0])  # type: ignore[index]
        assert count == client.get("sure?percent=90")["rows"] > 20
        page.click_on("#accept-rows")
        page.wait(f"{_FILTER}.includes('accepted predictions ({count})')")
        state = client.settled()
        assert state["labelled"] == 25 and state["filters"]["open"] == 125 - count
        np.testing.assert_array_equal(client.predictions()[1], before)  # no training data
        row = client.get("rows?show=accepted")["rows"][0]["row"]
        person.row(row)
        page.wait(f"{_PANEL}.innerText.includes('Accepted prediction')")
        page.key("Enter")  # confirms it
        person.labelled(26)
        assert client.get("state")["filters"]["accepted"] == count - 1
        for total in (25, 25):
            page.key("u")
            person.labelled(total)
        page.wait(f"!{_FILTER}.includes('accepted')")
        assert page.errors == []
    lines = _journal(path)
    accepted = [line for line in lines if line.get("accepted")]
    assert len(accepted) == count + 1 and all(line["species"] is None for line in accepted)


@needs_browser
def test_classes_are_renamed_merged_deleted_and_sorted(chromium: Browser, tmp_path: Path) -> None:
    path, _ = iris(tmp_path)
    rubric = tmp_path / "classes.csv"
    lines = ["class,description,key", "setosa,small petals,k"]
    rubric.write_text("\n".join(lines + [f"class {k},," for k in range(11)]))
    with studio(path, "species", "--classes", str(rubric)) as running:
        person, client = Person(chromium, running), Client(running)
        page = person.page
        assert len(person.classes()) == 12
        assert "small petals" in page.run("document.querySelector('.class').title")
        person.row(0)
        page.key("k")
        person.labelled(1)
        person.row(2)
        page.key("c")
        page.type("class 1")  # exact: not class 10
        page.wait(
            "document.getElementById('class-match').textContent.includes('new class') === false"
        )
        page.key("Enter")
        person.labelled(2)
        person.row(4)
        page.key("c")
        page.type("set")  # first letters
        page.wait("document.getElementById('class-match').textContent.includes('setosa')")
        page.key("Enter")
        person.labelled(3)
        assert client.get("state")["classes"][0] == {
            "name": "setosa",
            "labelled": 2,
            "predicted": 0,
        } | {"predicted": client.get("state")["classes"][0]["predicted"]}
        page.click_on("#more summary")
        page.click_on("#edit-classes")
        page.run(
            """(boxes => { boxes[0].value = 'Setosa'; boxes[2].value = 'class 3';
            for (const box of [boxes[0], boxes[2]]) box.dispatchEvent(new Event('input')); })
            ([...document.querySelectorAll('#class-list input')])"""
        )
        page.run(
            "document.querySelectorAll('#class-list li')[5].querySelector('[title=Delete]').click()"
        )
        entry = "document.querySelectorAll('#class-list li')[11]"
        page.run(f"{entry}.querySelector('[title=\"Move up\"]').click()")
        assert "deletes" in page.text("#class-summary")
        page.click_on("#class-dialog [value=save]")
        page.wait("document.querySelectorAll('.class').length === 10")
        names = person.classes()
        assert names[0] == "Setosa" and names[-2:] == ["class 10", "class 9"]
        assert "class 1" not in names and names[2] == "class 3" and "class 4" not in names
        assert [one["labelled"] for one in client.get("state")["classes"]][:3] == [2, 0, 1]
        page.key("u")
        page.wait("document.querySelectorAll('.class').length === 12")
        page.key("r")
        page.wait("document.querySelectorAll('.class').length === 10")
        assert page.errors == []
    with studio(path, "species") as running:
        state = Client(running).settled()
        assert [one["name"] for one in state["classes"]] == names and state["labelled"] == 3


@needs_browser
def test_history_and_notes(chromium: Browser, tmp_path: Path) -> None:
    path, _ = iris(tmp_path)
    with studio(path, "species", "--annotator", "anna") as running:
        person, client = Person(chromium, running), Client(running)
        page = person.page
        person.row(2)
        page.key("e")
        page.wait("document.getElementById('note-dialog').open")
        page.type("<b>odd</b> petals")
        page.click_on("#note-dialog [value=save]")
        page.wait(f"{_PANEL}.textContent.includes('<b>odd</b> petals')")
        person.assign("a")
        person.labelled(1)
        person.row(1)
        page.key("h")
        page.wait("document.querySelectorAll('#steps li').length === 2")
        assert "labelled a" in page.text("#steps") and "anna" in page.text("#steps")
        page.run("document.getElementById('annotator').value = 'ben'")
        page.run("document.getElementById('annotator').dispatchEvent(new Event('change'))")
        page.click_on("#steps li button")
        assert person.focus == 2
        page.key("Delete")
        person.labelled(0)
        newest = client.get("history?count=1")["steps"][0]
        assert (newest["by"], newest["row"]) == ("ben", 2) and newest["time"]
        assert "by ben" in page.text("#by")
        page.run("localStorage.clear()")
        assert page.errors == []
    text = path.with_name("iris.csv.anna.labels.jsonl").read_text("utf-8")
    assert [json.loads(line)["by"] for line in text.splitlines()] == ["anna", "anna", "ben"]


@needs_browser
def test_a_name_is_asked_once_if_several_people_share_a_studio(
    chromium: Browser, tmp_path: Path
) -> None:
    path, _ = iris(tmp_path)
    box = "document.getElementById('person-dialog')"
    with studio(path, "species") as running:
        person, client = Person(chromium, running), Client(running)
        page = person.page
        page.run("localStorage.removeItem('annotator ')")
        person.row(1)
        person.assign("a")  # one browser: no question
        person.labelled(1)
        client.open("/api/events?browser=x").close()
        assert client.get("state")["several"]
        client.label(70, "b")
        person.labelled(2)
        person.row(2)
        page.key("1")
        page.wait(f"{box}.open")
        assert client.get("state")["labelled"] == 2
        page.key("Escape")  # asked again
        page.wait(f"!{box}.open")
        page.key("1")
        page.wait(f"{box}.open")
        page.type("Zoë")
        page.key("Enter")
        person.labelled(3)  # the label was not lost
        assert "by Zoë" in page.text("#by")
        person.stay()
        person.row(4)
        page.key("0")
        page.wait("document.querySelector('#row').innerText.includes('Skipped')")
        steps = client.get("history")["steps"]
        assert [step["by"] for step in steps] == ["Zoë", "Zoë", None, None]
        page.run("localStorage.clear()")
        assert page.errors == []
    with studio(path, "species") as running:  # the journal knows several people
        assert Client(running).get("state")["several"]
    with studio(path, "species", "--annotator", "anna") as running:
        assert not Client(running).get("state")["several"]


@needs_browser
def test_imported_predictions_are_shown_until_there_are_others(
    chromium: Browser, tmp_path: Path
) -> None:
    path, truth = iris(tmp_path)
    frame = pd.read_csv(path, dtype=str)
    predictions = [Prediction(name, 0.5 + row / 300, "<b>m") for row, name in enumerate(truth)]
    tasks = make_tasks(frame, "species", [None] * 150, predictions, {})
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(list(tasks)))
    with studio(path, "species", "--labels", str(file)) as running:
        person, client = Person(chromium, running), Client(running)
        assert [one["predicted"] for one in client.get("state")["classes"]] == [50] * 3
        person.row(3)
        person.page.wait(f"{_PANEL}.innerText.includes('<b>m predicts setosa 51')")
        person.page.key("Enter")  # confirms it
        person.labelled(1)
        written = json.loads(Path(client.post("write", what="label-studio")["path"]).read_text())
        assert written[5]["predictions"][0]["model_version"] == "<b>m"
        assert client.get("sure?percent=99")["rows"] == 3
        client.label(140, "versicolor")  # wrong on purpose: now the studio predicts
        client.settled()
        person.labelled(2)
        assert client.get("state")["filters"]["differs"] > 0
        written = json.loads(Path(client.post("write", what="label-studio")["path"]).read_text())
        assert written[5]["predictions"][0]["model_version"] == "lowrankgcn"
        assert person.page.errors == []


@needs_browser
def test_the_page_shows_how_far_a_file_is_written(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = iris(tmp_path)
    held, write = threading.Event(), writing.TableSink.write

    def slow(sink: Any, block: Any) -> None:
        write(sink, block)
        if not held.is_set():
            held.wait(30)

    monkeypatch.setattr(writing, "_ROWS", 50)
    monkeypatch.setattr(writing.TableSink, "write", slow)
    with studio(path, "species") as running:
        page = Person(chromium, running).page
        page.click_on("#write summary")
        page.click_on("#write [data-what=labels]")
        page.wait("document.querySelector('#message progress')?.max === 150")
        assert Client(running).get("progress?what=labels") == {
            "step": "writing",
            "done": 0,
            "total": 150,
        }
        assert "Writing 0" in page.text("#message")
        held.set()
        page.wait("document.querySelector('#message').textContent.startsWith('Written')")
        assert page.run("document.querySelector('#message a').textContent") == "iris.labelled.csv"
        assert page.errors == []
    assert len(path.with_name("iris.labelled.csv").read_text().splitlines()) == 151


@needs_browser
def test_blind_predictions_are_hidden_until_answered(chromium: Browser, tmp_path: Path) -> None:
    path, truth = iris(tmp_path)
    with studio(path, "species", "--blind") as running:
        person, client = Person(chromium, running), Client(running)
        person.stay()
        for row in (0, 60, 120, 1, 61, 121):
            client.label(row, truth[row])
        person.labelled(6)
        client.settled()
        _, codes, certainty, flags = client.predictions()
        assert (codes[flags == 0] == 65535).all() and not certainty[flags == 0].any()
        assert client.get("row/5")["probabilities"] == client.get("reasons/5")["neighbours"] == []
        assert "cannot be accepted" in client.post("accept", above=0.9)["error"]
        person.row(5)
        assert "Predicted" not in person.page.text("#row")
        person.page.key("1")
        person.labelled(7)
        person.page.wait(f"{_PANEL}.textContent.includes('Predicted')")
        assert person.page.errors == []


@needs_browser
def test_a_click_is_not_lost_while_rows_are_drawn_anew(chromium: Browser, tmp_path: Path) -> None:
    path, _ = iris(tmp_path)
    with studio(path, "species") as running:
        person, client = Person(chromium, running), Client(running)
        page = person.page
        for selector, row in ((".line[data-row='3']", 3), ("#suggestions button", None)):
            wanted = row if row is not None else client.settled()["suggestions"][0]
            text = f"document.querySelector({json.dumps(selector)})"
            if row is None:
                page.wait(f"{text}.ariaLabel === 'Suggestion 1: row {wanted + 1}'")
            x, y = page.run(f"(b => [b.x + 9, b.y + 9])({text}.getBoundingClientRect())")
            page.mouse("Pressed", x, y, button="left", buttons=1, clickCount=1)
            labelled = client.get("state")["labelled"]
            client.label(100 + labelled, "a")  # the table is drawn anew
            page.wait(f"document.body.dataset.labelled === '{labelled + 1}'")
            page.mouse("Released", x, y, button="left", clickCount=1)
            page.wait(f"{_PANEL}.dataset.row === '{wanted}'")
        assert page.errors == []


@needs_browser
def test_eight_tabs_follow_one_stream_of_events(chromium: Browser, tmp_path: Path) -> None:
    path, _ = iris(tmp_path)
    with studio(path, "species") as running:
        client = Client(running)
        first = Person(chromium, running)
        others = [Person(chromium, running) for _ in range(7)]
        last = others[-1]
        last.row(3)
        last.assign("a")
        for person in (first, *others):
            person.labelled(1)
        assert client.get("state")["labelled"] == 1
        first.page.go("about:blank")  # another tab listens from now on
        client.label(7, "a")
        for person in others:
            person.labelled(2)


def _colours(dark: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the class colours of a scheme, and the papers behind them."""
    found = []
    for name in ("colours.css", "style.css"):
        text = (_STATIC / name).read_text("utf-8")
        light, _, rest = text.partition("@media (prefers-color-scheme: dark)")
        found.append(dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", rest if dark else light)))
    values = [
        np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        for text in (
            *(found[0][f"class-{k}"] for k in range(20)),
            *(found[1][name] for name in ("paper", "card", "map")),
        )
    ]
    return values[:20], values[20:]


@pytest.mark.parametrize("dark", [False, True])
def test_twenty_colours_have_contrast_and_differ(dark: bool) -> None:
    classes, papers = _colours(dark)

    def linear(colour: np.ndarray) -> np.ndarray:
        return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)

    def luminance(colour: np.ndarray) -> float:
        return float(linear(colour) @ [0.2126, 0.7152, 0.0722])

    for colour in classes:
        for paper in papers:
            low, high = sorted([luminance(colour), luminance(paper)])
            assert (high + 0.05) / (low + 0.05) >= 3
    to_cone = [[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.63]]
    to_lab = [[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    lab = np.array([to_lab @ np.cbrt(to_cone @ linear(colour)) for colour in classes])
    apart = np.linalg.norm(lab[:, None] - lab, axis=2) + np.eye(20)
    assert apart.min() > 0.09  # 0.02 is just noticeable

"""The page shows the rows before graphs and predictions are prepared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lowrankgcn.tables.text_vectors import TextVectors
from tests.cli.commands import call
from tests.studio.client import Client
from tests.studio.devtools import Browser
from tests.studio.running import iris, studio
from tests.studio.test_row import select
from tests.support.browser import needs_browser

pytest.importorskip("starlette", reason="needs lowrankgcn[studio]")
pytest.importorskip("uvicorn", reason="needs lowrankgcn[studio]")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of graphs


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Hold the preparation until the event is set."""
    from lowrankgcn.studio import engine

    event, real = threading.Event(), engine.Engine

    def slow(*arguments: Any) -> Any:
        event.wait(60)
        return real(*arguments)

    monkeypatch.setattr(engine, "Engine", slow)
    yield event
    event.set()


@needs_browser
def test_rows_are_shown_and_labelled_before_the_map(
    chromium: Browser, tmp_path: Path, held: threading.Event
) -> None:
    path, truth = iris(tmp_path)
    with ExitStack() as stack:
        running = stack.enter_context(studio(path, "species"))
        stack.callback(held.set)
        page = chromium.page(running.address)
        page.wait("document.querySelectorAll('.line[data-row]').length > 3")
        assert "being prepared" in page.text("#caption")
        for row, name in ((2, truth[2]), (1, truth[100])):
            page.run(f"document.querySelector('.line[data-row=\"{row}\"]').click()")
            page.wait("document.querySelector('#row .cells')")
            for key in "fl+l":  # the map is not there
                page.key(key)
            page.key("c")
            page.type(name)
            page.key("Enter")
            page.wait(
                f"[...document.querySelectorAll('.class bdi')].at(-1)?.textContent === '{name}'"
            )
        page.key("n")  # a random row, to measure the accuracy
        page.wait("document.querySelector('#row').innerText.includes('random row')")
        assert Client(running).get("reasons/3")["neighbours"] == []
        assert page.run("document.getElementById('map').dataset.drawn") is None
        held.set()
        page.wait("document.getElementById('map').dataset.drawn")
        page.wait("document.body.dataset.labelled === '2'")
        page.wait("document.querySelectorAll('#row .bars li').length === 2")
        select(page, 5)
        page.wait("document.querySelectorAll('#row .near li').length === 2")
        assert page.errors == []


def test_texts_are_read_after_the_rows_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, classes = tmp_path / "mail.csv", ["bill", "spam", "trip"]
    words = {"bill": "please pay invoice", "spam": "win money prize", "trip": "train hotel ticket"}
    kinds = [classes[k % 3] for k in range(60)]
    texts = [f"{words[kind]} of week {k} from office {k * k}" for k, kind in enumerate(kinds)]
    labels = [kind if k < 9 else None for k, kind in enumerate(kinds)]
    size = [k % 7 + 0.5 for k in range(60)]
    pd.DataFrame({"text": texts, "size": size, "kind": labels}).to_csv(path, index=False)
    held, fit = threading.Event(), TextVectors.fit

    def slow(cells: Any) -> Any:
        held.wait(60)
        return fit(cells)

    monkeypatch.setattr(TextVectors, "fit", slow)
    with ExitStack() as stack:
        running = stack.enter_context(studio(path, "kind"))
        stack.callback(held.set)
        client = Client(running)
        assert [one["show"] for one in client.get("table")["columns"]] == ["text", "number"]
        assert client.get("rows?search=hotel")["total"] == 20
        assert [row["row"] for row in client.get("rows?sort=column:text&count=2")["rows"]] == [
            0,
            12,
        ]
        client.post("write", what="labels")  # needs no predictions
        held.set()
        client.settled()
        written = Path(client.post("write", what="table")["path"])
        assert client.get("reasons/10")["reasons"][0]["column"] == "text"
    out = tmp_path / "out.csv"
    assert call("classify", str(path), "--target", "kind", "--out", str(out), "--quiet") == 0
    columns = ["prediction", "text"]
    same = [pd.read_csv(file)[columns] for file in (written, out)]
    pd.testing.assert_frame_equal(*same)


def test_a_failure_ends_the_studio(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lowrankgcn.studio import engine, server

    def fail(*arguments: Any) -> Any:
        raise ValueError("expected other rows")

    monkeypatch.setattr(engine, "Engine", fail)
    monkeypatch.setattr(server, "_FAREWELL", 0.0)
    path, _ = iris(tmp_path)
    assert call("studio", str(path), "--target", "species", "--no-browser") == 2
    assert "expected other rows" in capsys.readouterr().err

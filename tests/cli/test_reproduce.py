"""The command `lowrankgcn reproduce`."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lowrankgcn.cli.terminal import Run
from lowrankgcn.datasets import uci
from lowrankgcn.experiments import reproduction
from lowrankgcn.experiments.reproduction import reproduce
from tests.cli.commands import MODULE, call
from tests.report.page import Page
from tests.support.browser import measure, needs_browser


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five iterations instead of a thousand."""
    monkeypatch.setattr(reproduction, "reproduce", partial(reproduce, iterations=5))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty data directory, and an address that refuses connections."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("LOWRANKGCN_DATA", str(tmp_path / "empty"))
    nowhere = replace(uci.MUSHROOMS, address="http://127.0.0.1:9/file")
    monkeypatch.setattr(uci, "MUSHROOMS", nowhere)


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the cars and of the figures."""
    out = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "reproduce", partial(reproduce, iterations=5))
        patch.setattr(reproduction, "NAMES", ("cars", "filters"))
        assert call("reproduce", "all", "--runs", "2", "--out", str(out), "--quiet") == 0
    return (out / "reproduction.html").read_text("utf-8")


def test_cars(quick: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["reproduce", "cars", "--runs", "2", "--out", str(tmp_path / "new" / "out")]
    page = tmp_path / "page.md"
    assert call(*arguments, "--json", "--markdown", str(page)) == 0
    printed, said = capsys.readouterr()
    document = json.loads(printed)
    assert said == ""
    assert len(document["rows"]) == 11
    assert {row["runs"] for row in document["rows"]} == {2}
    naive, _, exact, *_ = document["rows"]
    assert naive["accuracy"] == exact["accuracy"]
    assert naive["training_seconds"] == exact["training_seconds"] > 0
    assert len(document["errata"]) == 9
    with (tmp_path / "new" / "out" / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["accuracy"]) for row in rows] == [r["accuracy"] for r in document["rows"]]
    assert [row["verdict"] for row in rows] == [r["verdict"] for r in document["rows"]]
    text = page.read_text("utf-8")
    assert text.startswith("# The paper, reproduced\n")
    assert "Written by `lowrankgcn reproduce cars --runs 2`" in text
    assert text.count("\n| ") == 2 + 11
    assert "### 3. Mushrooms, quadratic filter" in text

    # A second run uses the stored results.
    assert call(*arguments, "--json") == 0
    assert json.loads(capsys.readouterr().out) == document
    assert call(*arguments) == 0
    shown = capsys.readouterr().out
    assert "Table 2: cars" in shown
    assert "erratum 1" in shown
    assert "rows agree" in shown
    assert call(*arguments, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_figures_without_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert call("reproduce", "filters", "--out", str(out)) == 0
    printed, said = capsys.readouterr()
    assert said == ""
    assert str(out / "reproduction.html") in printed.replace("\n", "")
    assert sorted(path.name for path in out.iterdir()) == ["reproduction.html", "state"]
    page = Page((out / "reproduction.html").read_text("utf-8"))
    assert page.tags.count("svg") == 3


def test_missing_data_is_an_error(
    quick: None, offline: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert call("reproduce", "mushrooms", "--runs", "1", "--out", str(out)) == 2
    printed, said = capsys.readouterr()
    assert printed == ""
    assert len(said.splitlines()) == 1
    assert "no file agaricus-lepiota.data in" in said
    assert not (out / "reproduction.html").exists()


def test_unreadable_data_is_an_error(
    quick: None, offline: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty" / "agaricus-lepiota.data").mkdir()
    assert call("reproduce", "mushrooms", "--runs", "1", "--out", str(tmp_path / "out")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "agaricus-lepiota.data" in line and "cannot write" not in line


def test_all_continues_without_missing_data(
    quick: None,
    offline: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reproduction, "NAMES", ("cars", "mushrooms", "ranks"))
    assert call("reproduce", "all", "--runs", "1", "--out", str(tmp_path), "--json") == 0
    printed, said = capsys.readouterr()
    document = json.loads(printed)
    assert {row["table"] for row in document["rows"]} == {"cars"}
    assert sorted(document["missing"]) == ["mushrooms", "ranks"]
    (line,) = said.splitlines()
    assert line.startswith("left out (mushrooms, ranks): no file")
    assert "left out" not in printed
    assert "no file agaricus-lepiota.data" in (tmp_path / "reproduction.html").read_text("utf-8")


MALFORMED = [
    (["table3"], "table3"),
    (["cars", "--runs", "0"], "--runs"),
    (["cars", "--seed", "-1"], "--seed"),
    (["cars", "--out", "FILE"], "is a file, not a folder"),
    (["cars", "--out", "FILE/below"], "cannot write to"),
    (["cars", "--out", "OUT", "--markdown", "OUT"], "would overwrite OUT, which"),
    (["cars", "--out", ".", "--markdown", "rows.csv"], "would overwrite rows.csv, which"),
    (["cars", "--out", "OUT", "--markdown", "-"], "expected a file"),
    (["cars", "--out", "OUT", "--markdown", "."], "Is a directory"),
    (["cars", "--markdown", "no/such/place.md"], "there is no folder"),
]


def test_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("kept")
    for arguments, message in MALFORMED:
        assert call("reproduce", *arguments) == 2, arguments
        printed, said = capsys.readouterr()
        assert printed == "", arguments
        assert len(said.splitlines()) == 1, arguments
        assert message in said, arguments
        assert (tmp_path / "FILE").read_text() == "kept", arguments
        assert list(tmp_path.iterdir()) == [tmp_path / "FILE"], arguments


def test_a_page_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "reproduction.html").mkdir()
    assert call("reproduce", "cars", "--out", str(tmp_path)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Is a directory" in line


def test_a_damaged_state_is_reported(
    quick: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["reproduce", "cars", "--runs", "1", "--out", str(tmp_path), "--quiet"]
    assert call(*arguments) == 0
    path = sorted((tmp_path / "state").iterdir())[0]
    path.write_text("{")
    assert call(*arguments) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: {path} is damaged (")


def test_interrupted(tmp_path: Path) -> None:
    arguments = [*MODULE, "reproduce", "cars", "--runs", "40", "--out", str(tmp_path)]
    state = tmp_path / "state"
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not list(state.glob("cars*.json")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "interrupted"
    assert "Traceback" not in said
    assert not (tmp_path / "reproduction.html").exists()
    for path in state.iterdir():
        assert json.loads(path.read_text())["results"]["accuracies"]


def test_progress_counts_what_is_left(
    quick: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, float, float]] = []

    @contextmanager
    def watched(run: Run, text: str) -> Iterator[Any]:
        assert not run.quiet and text == "reproducing"
        yield lambda *step: steps.append(step)

    monkeypatch.setattr(Run, "progress", watched)
    arguments = ["reproduce", "cars", "--runs", "1", "--out", str(tmp_path), "--json"]
    assert call(*arguments) == 0
    (total,) = {total for _, _, total in steps}
    assert steps[-1][1] == pytest.approx(total)
    assert [done for _, done, _ in steps] == sorted(done for _, done, _ in steps)
    assert steps[-1][0].startswith("cars: R-GCN")
    steps.clear()
    assert call(*arguments) == 0
    assert steps == [("", 0, 0)]  # nothing is left


def test_links_resolve_and_nothing_is_loaded(html: str) -> None:
    page = Page(html)
    assert len(page.ids) == len(set(page.ids))
    inner = {r[1:] for r in page.references if r.startswith("#")}
    assert {"cars", "filters", "errata", "repeat"} <= inner
    assert inner <= set(page.ids)
    outer = {r for r in page.references if not r.startswith("#")}
    assert outer == {"https://arxiv.org/abs/1905.10224"}
    assert not {"script", "img", "image", "link", "iframe"} & set(page.tags)
    assert page.tags.count("figure") == page.tags.count("svg") == 3


@needs_browser
def test_in_a_browser(html: str) -> None:
    for width in (1200, 420):
        layout = measure(html, width=width)
        assert layout.n_texts > 150
        assert layout.overlapping == []
        assert layout.overflowing == []
        assert layout.scroll_width == width


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("reproduce", "--help") == 0
    text = capsys.readouterr().out
    assert "Examples:" in text and "lowrankgcn reproduce spiral --runs 10" in text
    for option in ("--runs", "--seed", "--out", "--json", "--markdown", "--quiet"):
        assert option in text

"""What the commands print: names stay readable, and nothing from the data reaches the terminal."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from lowrankgcn._progress import report_progress
from lowrankgcn.cli import step_display, terminal
from tests.cli.commands import call
from tests.report.page import check
from tests.support.each import each

_HEADER = ["class", "given", "predicted", "mean probability", "recall", "precision"]
_NUMBERS = ["8", "12", "98.2 %", "100.0 %", "100.0 %"]


def _run(width: int) -> terminal.Run:
    run = terminal.Run()
    run.console = Console(file=io.StringIO(), width=width, highlight=False)
    return run


def _printed(run: terminal.Run) -> str:
    assert isinstance(run.console.file, io.StringIO)
    return run.console.file.getvalue()


def _table(names: list[str], width: int) -> str:
    run = _run(width)
    rows = [[name, *_NUMBERS] for name in names]
    run.print_table(_HEADER, rows, range(1, 6), show_edge=False)
    return _printed(run)


class TestTables:
    @each("width", [26, 40, 60, 80, 200])
    def test_every_cell_is_complete(self, width: int) -> None:
        text = _table(["k_invertebrate"], width)
        assert max(map(len, text.splitlines())) <= width
        letters = sorted("".join([*_HEADER, "k_invertebrate", *_NUMBERS]).replace(" ", ""))
        assert sorted("".join(text.split()).replace("─", "")) == letters

    def test_wide_table(self) -> None:
        header, _, row = _table(["k_invertebrate"], 80).splitlines()
        assert header.split() == " ".join(_HEADER).split()
        assert row.split() == ["k_invertebrate", *" ".join(_NUMBERS).split()]

    def test_long_names(self) -> None:
        lines = _table(["many short words make up this name", "W" * 5000], 60).splitlines()
        words = [line[:11].strip() for line in lines[4:]]
        assert " ".join(words).startswith("many short words make up this name WWWW")
        assert "".join(words).endswith("WWWW…")
        assert f"{'W' * 59}…" in _table(["W" * 5000], 200)

    def test_unnamed_column_and_empty_cell(self) -> None:
        run = _run(80)
        run.print_table(["", "b"], [["x", ""]])
        assert _printed(run).split()[:2] == ["''", "b"]
        assert _printed(run).count("''") == 1

    @settings(max_examples=30)
    @given(st.lists(st.text(min_size=1), min_size=1, max_size=4), st.integers(26, 100))
    def test_any_name_takes_safe_lines(self, names: list[str], width: int) -> None:
        text = _table(names, width)
        assert max(map(cell_len, text.splitlines())) <= width
        assert all(c == "\n" or terminal.visible(c) == c for c in text)
        text.encode()  # lone surrogates would fail


class TestTexts:
    @pytest.mark.parametrize("width", [30, 51, 80])
    def test_facts_are_wrapped_at_words(self, width: int) -> None:
        facts = {
            "blocks": "random forest 28 %, hypergraph 28 %, radial 19 %, linear 7 %",
            "time": "2.1 s: loading 1.1 s, graphs 29 ms, blocks 247 ms, training 13 min",
        }
        run = _run(width)
        run.print_facts(facts)
        lines = _printed(run).splitlines()
        assert max(map(len, lines)) <= max(width, 32)
        assert all(line.startswith((" " * 12, "blocks      r", "time        2")) for line in lines)
        said = " ".join(" ".join(lines).split())
        assert said == " ".join(f"{name} {value}" for name, value in facts.items())

    def test_names_in_texts(self) -> None:
        assert terminal.shares_text({"": 0.5, "\x1b[31m": 0.3, "W" * 99: 0.2}) == (
            f"'' 50 %, \\x1b[31m 30 %, {'W' * 59}… 20 %"
        )
        run = _run(80)
        run.print_facts({"note": "classes 'b ', 'b' of x\x1b[2J"})
        assert _printed(run) == "note        classes 'b ', 'b' of x\\x1b[2J\n"

    def test_long_name_of_a_fact_is_apart_from_its_value(self) -> None:
        run = _run(80)
        run.print_facts({"99.9999 % sets": "3 of 4 rows"})
        assert _printed(run) == "99.9999 % sets 3 of 4 rows\n"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A table with control characters in classes and columns, and an unnamed column."""
    generator = np.random.default_rng(0)
    codes = np.arange(60) % 2
    names = np.array(["\x1b[31mred\x1b[0m", "two\nlines\tand " + "W" * 200])
    frame = pd.DataFrame(
        {
            "": codes + generator.normal(size=60).round(2),
            "a\x1b[2Jb": 3 * codes + generator.normal(size=60).round(2),
            "t\x07": np.where(np.arange(60) < 20, names[codes], ""),
        }
    )
    file = tmp_path / "hostile.csv"
    frame.to_csv(file, index=False)
    return file


@each("width", [40, 80])
@each("command", ["classify", "suggest", "compare"])
def test_commands_on_hostile_names(
    command: str,
    width: int,
    hostile: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(hostile.parent)
    options = {
        "classify": ["--level", "0.9", "--out", "out.csv"],
        "suggest": ["-k", "2"],
        "compare": ["--methods", "logistic,svc", "--splits", "2", "--labels-per-class", "3"],
    }[command]
    assert call(command, hostile.name, "--target", "t\x07", *options) == 0
    text = capsys.readouterr().out
    assert all(c == "\n" or terminal.visible(c) == c for c in text)
    assert "W" * 61 not in text
    if command == "classify":
        assert "t\\x07: 20 rows labelled" in text
        assert "'' " in text and "a\\x1b[2Jb " in text
        assert width < 80 or "\\x1b[31mred\\x1b[0m" in text
    if command == "compare":
        assert width < 80 or ("\nLogisticRegression " in text and "\nSVC " in text)
        assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("weighted", [True, False])
def test_report_has_the_sets_and_the_weighting(
    weighted: bool, hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = hostile.with_suffix(".html")
    options = ["--level", "0.9", "--class-shares", "equal"] if weighted else []
    assert call("classify", str(hostile), "--target", "t\x07", "--report", str(file), *options) == 0
    shown = " ".join(capsys.readouterr().out.split())
    page = check(file.read_text(encoding="utf-8"))
    assert ("All classes count alike" in page.words) == weighted
    assert ("fit no labelled class (unsure)" in page.words) == weighted
    if weighted:
        sets = shown[shown.index("90 % sets") : shown.index("(unsure)")]
        assert sets in page.words


def test_steps_that_take_long_are_reported_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_display, "FIRST", 0.01)
    monkeypatch.setattr(step_display, "EVERY", 0.01)
    for quiet in (False, True):
        with terminal.Run(quiet=quiet).step("reading"):
            report_progress("classifying", 50, 200)
            text = ""
            deadline = time.monotonic() + (0.1 if quiet else 60)
            while text.count("\n") < 3 and time.monotonic() < deadline:
                text += capsys.readouterr().err
        expected = (
            r"(reading: \d+ .?s\n)?(classifying: 50 of 200 rows, \d+ rows/s, \d+ .?s left\n)+"
        )
        pattern = "" if quiet else expected
        assert re.fullmatch(pattern, text.replace("\N{NO-BREAK SPACE}", "")), text

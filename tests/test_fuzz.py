"""A few damaged files and killed commands; ``python -m tests.fuzz`` runs thousands."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz import fuzz_models, fuzz_tables, kill


def test_damaged_tables(tmp_path: Path) -> None:
    ends = fuzz_tables(64, 1, tmp_path)
    assert ends[0] > 5 and ends[2] > 5


def test_damaged_models(tmp_path: Path) -> None:
    assert fuzz_models(30, 1, tmp_path)[2] > 20


def test_killed_commands(tmp_path: Path) -> None:
    assert kill(3, 1, tmp_path).total() == 12

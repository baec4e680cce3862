"""A few damaged files and killed commands; ``make soak`` runs thousands."""

from __future__ import annotations

from pathlib import Path

from tests.support.fuzz import fuzz_models, fuzz_tables, kill


def test_damaged_tables(tmp_path: Path) -> None:
    ends = fuzz_tables(24, 1, tmp_path)
    assert ends[0] > 2 and ends[2] > 2


def test_damaged_models(tmp_path: Path) -> None:
    assert fuzz_models(6, 1, tmp_path)[2] > 3


def test_killed_commands(tmp_path: Path) -> None:
    assert kill(1, 1, tmp_path).total() == 4

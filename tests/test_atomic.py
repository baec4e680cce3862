"""Atomic file writes."""

from __future__ import annotations

import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lowrankgcn._atomic import new_folder, replacing, write_bytes, write_text


def test_replaces_with_the_usual_permissions(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_bytes(path, b"old")
    write_text(path, "λ")
    assert path.read_bytes() == "λ".encode()
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plain", "report.html"]


@pytest.mark.parametrize("error", [OSError("full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("named", [False, True])
def test_an_error_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException, named: bool
) -> None:
    if named:  # a system without files that have no name yet
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        write_text(tmp_path / "first", "new")
        assert (tmp_path / "first").read_text() == "new"
        (tmp_path / "first").unlink()
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "file"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_is_complete_or_absent(tmp_path: Path) -> None:
    with new_folder(tmp_path / "parts") as temporary:
        (temporary / "first").write_text("one")
    assert (tmp_path / "parts" / "first").read_text() == "one"
    with pytest.raises(FileExistsError), new_folder(tmp_path / "parts"):
        pass
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "others") as temporary:
        (temporary / "first").write_text("one")
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == ["parts"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"missing'$"):
        write_text(tmp_path / "missing" / "file", "text")


def test_a_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_text(tmp_path, "text")


def test_undecodable_names_are_escaped(tmp_path: Path) -> None:
    write_text(tmp_path / "page", os.fsdecode(b"\xff.csv"))
    assert (tmp_path / "page").read_bytes() == b"\\udcff.csv"


def test_the_longest_possible_name(tmp_path: Path) -> None:
    path = tmp_path / ("\N{BLACK STAR}" * 85)
    write_text(path, "text")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names")
def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(path.read_text)
        write_text(path, "text")
        assert read.result(timeout=60) == "text"
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert list(tmp_path.iterdir()) == [path]

"""Run a test for every row of a table, as one test that reports each row that fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_Test = Callable[..., None]


def each(
    names: str | tuple[str, ...],
    rows: Iterable[Any],
    ids: Callable[[Any], Any] | Iterable[str] | None = None,
) -> Callable[[_Test], _Test]:
    """Call the test once per row, with the arguments of ``pytest.mark.parametrize``.

    Rows stay independent: each has a `tmp_path`, a `monkeypatch` and a `capsys` of its own. All
    rows are run, and every failure names its row. A row that is skipped is an error, because it
    would look like a row that passed: use ``parametrize`` there.
    """
    keys = [names] if isinstance(names, str) else list(names)
    table = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    if not table:
        raise ValueError("a table without rows tests nothing")
    describe = ids if callable(ids) else repr
    labels = [", ".join(str(describe(value)) for value in row)[:300] for row in table]
    if ids is not None and not callable(ids):
        labels = list(ids)

    def decorate(test: _Test) -> _Test:
        def every_row(*args: Any, **fixtures: Any) -> None:
            failures: list[BaseException] = []
            for number, (row, label) in enumerate(zip(table, labels, strict=True)):
                cells = dict(zip(keys, row, strict=True))
                try:
                    _run(test, args, fixtures, cells, number)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"in row {number} ({label})")
                    failures.append(error)
                except pytest.skip.Exception as skipped:
                    message = f"row {number} ({label}) was skipped: use parametrize"
                    raise RuntimeError(message) from skipped
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} rows failed", failures)

        every_row.__name__, every_row.__qualname__ = test.__name__, test.__qualname__
        every_row.__module__, every_row.__doc__ = test.__module__, test.__doc__
        every_row.pytestmark = list(getattr(test, "pytestmark", []))  # type: ignore[attr-defined]
        signature = inspect.signature(test)
        left = [value for name, value in signature.parameters.items() if name not in keys]
        every_row.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return every_row

    return decorate


def _run(
    test: _Test, args: tuple[Any, ...], fixtures: dict[str, Any], cells: dict[str, Any], number: int
) -> None:
    """Run one row with a folder, patches and captured output of its own."""
    fixtures = dict(fixtures)
    if "tmp_path" in fixtures:
        fixtures["tmp_path"] = fixtures["tmp_path"] / f"row-{number}"
        fixtures["tmp_path"].mkdir()
    if "capsys" in fixtures:
        fixtures["capsys"].readouterr()
    if "monkeypatch" in fixtures:
        with fixtures["monkeypatch"].context() as fixtures["monkeypatch"]:
            test(*args, **fixtures, **cells)
    else:
        test(*args, **fixtures, **cells)

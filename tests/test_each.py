"""Tables of rows in one test: no failing row is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.each import each


def test_every_failing_row_is_reported() -> None:
    seen = []

    @each("number", [1, 2, 3, 4])
    def one(number: int) -> None:
        seen.append(number)
        assert number != 3

    @each("number", [1, 2, 3, 4])
    @each(("add", "error"), [(1, ValueError), (2, TypeError)], ids=["first", "second"])
    def several(number: int, add: int, error: type[Exception]) -> None:
        seen.append(number + add)
        with pytest.raises(error):
            if number != 4 or add != 2:
                raise error

    with pytest.raises(AssertionError) as caught:
        one()
    assert seen == [1, 2, 3, 4] and caught.value.__notes__ == ["in row 2 (3)"]
    with pytest.raises(pytest.fail.Exception) as failed:
        several()
    assert len(seen) == 12 and failed.value.__notes__ == ["in row 1 (second)", "in row 3 (4)"]

    @each("number", [1, 2, 3])
    def most(number: int) -> None:
        assert number == 2

    with pytest.raises(ExceptionGroup, match="2 of 3 rows failed") as group:
        most()
    assert len(group.value.exceptions) == 2


def test_rows_that_would_not_be_tested() -> None:
    @each("number", [1, 2])
    def skipping(number: int) -> None:
        pytest.skip("no reason")

    with pytest.raises(RuntimeError, match=r"row 0 \(1\) was skipped"):
        skipping()
    with pytest.raises(ValueError, match="without rows"):
        each("number", [])


@each("number", [1, 2])
def test_rows_share_no_files_patches_or_output(
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert not list(tmp_path.iterdir()) and not hasattr(pytest, "row")
    (tmp_path / "file").touch()
    monkeypatch.setattr(pytest, "row", number, raising=False)
    print("before")
    assert capsys.readouterr().out == "before\n"
    print("after")

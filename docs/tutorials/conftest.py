"""Settings of the examples in the tutorials."""

import doctest
import re
from pathlib import Path

import pytest

_NUMBER = re.compile(r"\d+\.?\d*")


class _Checker(doctest.OutputChecker):
    """Allow numbers to differ a little: they depend on the processor and on other libraries."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if not super().check_output(_NUMBER.sub("#", want), _NUMBER.sub("#", got), optionflags):
            return False
        shown, found = ([float(text) for text in _NUMBER.findall(page)] for page in (want, got))
        return len(shown) != len(found) or found == pytest.approx(shown, rel=0.03, abs=0.03)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.path.parent == Path(__file__).parent:
            item.runner._checker = _Checker()


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples write their files to a temporary folder."""
    monkeypatch.chdir(tmp_path)

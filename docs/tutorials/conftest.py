"""Settings of the examples in the tutorials."""

import doctest
from pathlib import Path

import pytest

_NUMBER = doctest.register_optionflag("NUMBER")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Compare numbers to the digits that are shown; the last ones depend on the machine."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.path.parent == Path(__file__).parent:
            item.runner.optionflags |= _NUMBER


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples write their files to a temporary folder."""
    monkeypatch.chdir(tmp_path)

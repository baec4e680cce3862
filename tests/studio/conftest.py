"""One browser for all tests of the studio."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.studio.devtools import Browser, browser


@pytest.fixture(scope="session")
def running_browser() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture
def chromium(running_browser: Browser) -> Iterator[Browser]:
    """A browser without open tabs."""
    yield running_browser
    running_browser.close_pages()

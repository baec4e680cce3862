"""Fixtures of the report tests."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from lowrankgcn.report import figures


@pytest.fixture
def no_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave figures empty: drawing takes most of the time of a page."""
    monkeypatch.setattr(figures, "svg", lambda draw, name, title: Markup("<svg></svg>"))

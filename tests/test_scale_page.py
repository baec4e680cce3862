"""The extrapolation to a billion rows agrees with the stored measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "benchmarks" / "scale_passes.json"


@pytest.mark.skipif(not MEASURED.is_file(), reason="benchmarks are not part of the package")
def test_the_page_shows_the_output_of_the_script() -> None:
    from benchmarks.billion import markdown, steps

    measured = json.loads(MEASURED.read_text())
    assert markdown(measured, 1e9, 100) in (ROOT / "docs" / "scale.md").read_text()
    half, whole = (list(steps(measured, rows, 10)) for rows in (5e8, 1e9))
    for one, two in zip(half, whole, strict=True):
        if "read" in one:
            assert two["seconds"] == pytest.approx(2 * one["seconds"])
            assert two["sent between workers"] == pytest.approx(
                2 * one["sent between workers"], rel=0.01
            )

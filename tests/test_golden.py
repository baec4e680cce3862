"""Classifiers and spectra compared with stored results of an earlier state."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from tests.support.stored import golden

TOLERANCE = 1.5e-6  # results agree to 1e-6; rounding to six decimals may move one more unit


def differences(expected: Any, got: Any, path: str = "") -> list[str]:
    """Return the paths at which two documents differ."""
    if isinstance(expected, dict) and isinstance(got, dict):
        if set(expected) != set(got):
            return [f"{path}: keys {sorted(set(expected) ^ set(got))}"]
        return [
            d for key in expected for d in differences(expected[key], got[key], f"{path}/{key}")
        ]
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        pairs = enumerate(zip(expected, got, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{path}/{i}")]
    if isinstance(expected, int | float) and isinstance(got, int | float):
        near = abs(expected - got) <= TOLERANCE * max(1.0, abs(expected))
        return [] if near else [f"{path}: {expected} -> {got}"]
    return [] if expected == got else [f"{path}: {expected!r} -> {got!r}"]


@pytest.mark.parametrize("part", golden.PARTS)
def test_results_are_those_stored(part: str) -> None:
    expected = json.loads(golden.STORED.read_text("utf-8"))[part]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = json.loads(json.dumps(getattr(golden, part)()))
    assert not differences(expected, got)

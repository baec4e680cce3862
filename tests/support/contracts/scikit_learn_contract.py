"""The checks of scikit-learn for estimators."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import check_estimator


def assert_passes_checks(estimator: Any, expected_failures: dict[str, str]) -> None:
    """Run all checks; exactly those in `expected_failures`, by name, may and must fail."""
    results = check_estimator(
        estimator, expected_failed_checks=expected_failures, on_fail=None, on_skip=None
    )
    failures = [result["exception"] for result in results if result["status"] == "failed"]
    for result in results:
        if result["exception"] is not None:
            result["exception"].add_note(f"in {result['check_name']}")
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(results)} checks failed", failures)
    failed_as_expected = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert failed_as_expected == set(expected_failures)
    assert sum(result["status"] == "passed" for result in results) > 40

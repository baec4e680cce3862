"""Which warnings fail the test suite: see ``filterwarnings`` in ``pyproject.toml``."""

from __future__ import annotations

import warnings

import pytest


@pytest.mark.parametrize("module", ["lowrankgcn", "lowrankgcn.nn.layers", "tests.nn", "__main__"])
def test_deprecations_in_our_modules_are_errors(module: str) -> None:
    for category in (DeprecationWarning, PendingDeprecationWarning):
        with pytest.raises(category):
            warnings.warn_explicit("old", category, "file.py", 1, module)


@pytest.mark.parametrize("module", ["torch_geometric.nn", "sklearn", "testsuite", "lowrankgcnx"])
def test_only_deprecations_in_other_modules_are_ignored(module: str) -> None:
    for category in (DeprecationWarning, PendingDeprecationWarning):
        warnings.warn_explicit("old", category, "file.py", 1, module)
    for other in (UserWarning, RuntimeWarning, FutureWarning):
        with pytest.raises(other):
            warnings.warn_explicit("wrong", other, "file.py", 1, module)

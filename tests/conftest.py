"""Shared set-up: one deterministic hypothesis profile and the data files that tests may use.

``HYPOTHESIS_PROFILE=thorough`` searches further with fresh random examples. Data is looked for in
the folder named by ``LOWRANKGCN_DATA``; tests that need it are skipped without it.
"""

from __future__ import annotations

import csv
import os
import signal
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support.contracts.operator_contract")

_CALM = (HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=20, suppress_health_check=_CALM
)
settings.register_profile(
    "thorough", deadline=None, max_examples=500, print_blob=True, suppress_health_check=_CALM
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell that starts the tests in the background has them, and all that they start, ignore Ctrl-C.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class SpiralData:
    """The paper's spiral: points (10000, 3), labels 1..5 (10000,), training mask (10000,)."""

    points: np.ndarray
    labels: np.ndarray
    training: np.ndarray


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """Folder of the data files; skips when LOWRANKGCN_DATA does not name one."""
    value = os.environ.get("LOWRANKGCN_DATA")
    if not value:
        pytest.skip("LOWRANKGCN_DATA is not set: no data files to test with")
    if not Path(value).is_dir():
        pytest.skip(f"LOWRANKGCN_DATA={value} is not a folder")
    return Path(value)


def _data_file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        pytest.skip(f"LOWRANKGCN_DATA has no file {name}")
    return folder / name


@pytest.fixture(scope="session")
def spiral_points(data_directory: Path) -> SpiralData:
    """Points, labels and training nodes of the paper (columns x, y, z, label, training)."""
    table = np.loadtxt(_data_file(data_directory, "spiral-paper.csv"), delimiter=",", skiprows=1)
    arrays = (table[:, :3].copy(), table[:, 3].astype(int), table[:, 4] == 1)
    for array in arrays:
        array.flags.writeable = False  # one copy serves the whole session
    return SpiralData(*arrays)


@pytest.fixture(scope="session")
def mushroom_rows(data_directory: Path) -> list[list[str]]:
    """UCI Mushroom: 8124 rows of 23 one-letter cells, the class first, "?" where unknown."""
    path = _data_file(data_directory, "agaricus-lepiota.data")
    with path.open(newline="") as file:
        return [row for row in csv.reader(file) if row]

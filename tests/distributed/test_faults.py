"""Killed workers and a lost scheduler: the same result, or a clear error.

A block whose trap is set kills the worker that reads it, once.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_allclose

from tests.distributed.tables import in_blocks, some_labels, texts
from tests.distributed.test_adapter import CLASSIFIERS, Make

import dask  # isort: skip
from distributed import Client, LocalCluster  # isort: skip
from distributed.utils import get_mp_context  # isort: skip
from lowrankgcn.distributed import dask_adapter  # isort: skip

TEXTS, HIDDEN = texts(200, 0)
LABELS = some_labels(HIDDEN, 30, 0)
TABLE = in_blocks(TEXTS, [50, 100, 150])

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask warns of the faults


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Let the client of a test run its tasks."""
    with dask.config.set({"dataframe.convert-string": False}):
        yield


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    config = {
        # A fork server starts workers, and restarts killed ones, without new imports.
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.comm.timeouts.connect": "3s",  # for connections to a killed worker
    }
    with dask.config.set(config):
        get_mp_context().set_forkserver_preload(["distributed", "lowrankgcn.distributed"])
        with LocalCluster(**options, dashboard_address=None) as cluster, Client(cluster) as client:
            yield client


def die_once(block: Any, trap: Path) -> Any:
    """Return the block, or end the process if the trap is set."""
    try:
        trap.unlink()
    except FileNotFoundError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)


STARTED = threading.Event()


def slow(block: Any) -> Any:
    """Tell the test, which runs in the same process, that a task has started."""
    STARTED.set()
    time.sleep(0.5)
    return block


def test_a_lost_scheduler_is_reported() -> None:
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    cluster = LocalCluster(**options, dashboard_address=None)
    client = Client(cluster, set_as_default=True)

    def close() -> None:
        STARTED.wait(60)
        client.close()

    STARTED.clear()
    stop = threading.Thread(target=close)
    stop.start()
    try:
        with pytest.raises(ConnectionError, match="Dask scheduler was lost"):
            CLASSIFIERS[0]().fit(TABLE.map_partitions(slow, meta=TEXTS.iloc[:0]), LABELS)
        stop.join()
    finally:
        client.close()
        cluster.close()


@pytest.mark.parametrize(
    ("make", "large"),
    zip(CLASSIFIERS, (False, True), strict=True),
    ids=["gcn in the graph", "gp sent once"],
)
def test_killed_workers_change_nothing(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make, large: bool
) -> None:
    monkeypatch.setattr(dask_adapter, "_LARGE", 0 if large else 2**30)
    trap = tmp_path / "trap"
    table = TABLE.map_partitions(die_once, trap, meta=TEXTS.iloc[:0])
    classifier = make()
    classifier.fit_rows = 120
    client.wait_for_workers(2, timeout=60)
    trap.touch()
    classifier.fit(table, LABELS)
    assert not trap.exists()
    client.wait_for_workers(2, timeout=60)
    trap.touch()
    disturbed = classifier.label_distributions_.compute()
    assert not trap.exists()
    with dask.config.set(scheduler="synchronous"):
        alone = make()
        alone.fit_rows = 120
        expected = alone.fit(TABLE, LABELS).label_distributions_.compute()
    assert_allclose(disturbed, expected, rtol=0, atol=1e-6)


def deadly(block: Any) -> Any:
    """End the process that reads a block with rows."""
    if len(block):
        os._exit(1)
    return block


def test_a_block_that_kills_every_worker_is_reported(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    client.wait_for_workers(2, timeout=60)
    with pytest.raises(ConnectionError, match=r"workers died .* use smaller partitions"):
        CLASSIFIERS[0]().fit(TABLE.map_partitions(deadly, meta=TEXTS.iloc[:0]), LABELS)

"""Killed workers and a lost scheduler: the same result, or a clear error.

All tests but the first share one cluster of two processes. A fault happens in a chosen step: a
block whose trap is set kills the worker that reads it, once.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn._progress import listening
from tests.distributed.clouds import LABELS as POINT_LABELS
from tests.distributed.clouds import POINTS, in_chunks
from tests.distributed.tables import in_blocks, some_labels, texts

import dask  # isort: skip
from distributed import Client, LocalCluster  # isort: skip
from distributed.utils import get_mp_context  # isort: skip
from lowrankgcn.distributed import fitting, nodes  # isort: skip

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


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """File whose presence kills the next worker that reads a block."""
    return tmp_path / "trap"


def die_once(block: Any, trap: Path) -> Any:
    """Return the block, or end the process if the trap is set."""
    try:
        trap.unlink()
    except FileNotFoundError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)


def at_step(wanted: str, action: Callable[[], Any]) -> Any:
    """Call `action` when a fit first reports the step `wanted`."""
    waiting = [action]

    def listen(step: str, done: int, total: int) -> None:
        if step == wanted and waiting:
            waiting.pop()()

    return listening(listen)


def fit(X: Any) -> lg.GCNClassifier:
    options: dict[str, Any] = {"architecture": "reduced", "filter": "heat", "max_iter": 20}
    return lg.GCNClassifier(random_state=0, **options).fit(X, LABELS)


def test_a_lost_scheduler_is_reported() -> None:
    def slow(block: Any) -> Any:
        time.sleep(0.05)
        return block

    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    cluster = LocalCluster(**options, dashboard_address=None)
    client = Client(cluster, set_as_default=True)
    stop = threading.Thread(target=cluster.close)
    try:
        with (
            at_step("counting shared values", stop.start),
            pytest.raises(ConnectionError, match="Dask scheduler was lost"),
        ):
            fit(TABLE.map_partitions(slow, meta=TEXTS.iloc[:0]))
        stop.join()
    finally:
        client.close()
        cluster.close()


def test_killed_workers_change_nothing(client: Client, trap: Path) -> None:
    table = TABLE.map_partitions(die_once, trap, meta=TEXTS.iloc[:0])
    with at_step("counting shared values", trap.touch):
        classifier = fit(table)
    assert not trap.exists()
    client.wait_for_workers(2, timeout=60)
    trap.touch()
    result = classifier.transduction_.compute()
    assert not trap.exists()
    with dask.config.set(scheduler="synchronous"):
        alone = fit(TABLE)
        assert_allclose(
            classifier.eigenpairs_.eigenvalues,
            alone.eigenpairs_.eigenvalues,
            rtol=1e-12,
            atol=1e-14,
        )
        assert_array_equal(result, alone.transduction_.compute())


def test_workers_killed_in_training_change_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MANY_ROWS", 0)
    monkeypatch.setattr(nodes, "_ROWS", 50)  # both workers keep some of the pieces
    options: dict[str, Any] = {"preset": "paper", "early_stopping": True, "max_iter": 24}
    client.wait_for_workers(2, timeout=60)
    pids = list(client.run(os.getpid).values())
    # Training reports its progress after twenty iterations.
    with at_step("training", lambda: os.kill(pids[0], signal.SIGKILL)):
        disturbed = lg.GCNClassifier(random_state=0, **options).fit(TABLE, LABELS)
    assert set(client.run(os.getpid).values()) != set(pids)
    with dask.config.set(scheduler="synchronous"):
        alone = lg.GCNClassifier(random_state=0, **options).fit(TABLE, LABELS)
        assert_array_equal(disturbed.transduction_.compute(), alone.transduction_.compute())
    assert len(alone.loss_curve_) > 20
    assert_allclose(disturbed.loss_curve_, alone.loss_curve_, rtol=1e-12)


def test_workers_killed_in_the_set_up_of_points_change_nothing(
    client: Client, trap: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MANY_ROWS", 20)
    options: dict[str, Any] = {"architecture": "reduced", "filter": "heat", "rank": 7}
    options |= {"bandwidth": 3.0, "tol": 1e-3, "max_iter": 5, "dtype": "float64"}
    X = in_chunks(POINTS, [200])
    with dask.config.set(scheduler="synchronous"):
        alone = lg.GCNClassifier(random_state=0, **options).fit(X, POINT_LABELS)
        expected = alone.label_distributions_.compute()
    client.wait_for_workers(2, timeout=60)
    trapped = X.map_blocks(die_once, trap, dtype=X.dtype, meta=np.empty((0, 0)))
    with at_step("summing the kernel", trap.touch):
        disturbed = lg.GCNClassifier(random_state=0, **options).fit(trapped, POINT_LABELS)
    assert not trap.exists()
    eigenvalues = disturbed.eigenpairs_.eigenvalues
    assert_allclose(eigenvalues, alone.eigenpairs_.eigenvalues, rtol=0, atol=1e-12)
    assert_allclose(disturbed.label_distributions_.compute(), expected, rtol=0, atol=1e-9)


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
    with pytest.raises(ConnectionError, match=r"workers died .* use smaller blocks"):
        fit(TABLE.map_partitions(deadly, meta=TEXTS.iloc[:0]))

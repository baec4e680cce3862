"""Killed workers and a lost scheduler: the same result, or a clear error."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lowrankgcn as lg
from lowrankgcn._progress import listening
from tests.distributed.clouds import LABELS as POINT_LABELS
from tests.distributed.clouds import POINTS, in_chunks
from tests.distributed.tables import in_blocks, some_labels, texts

import dask  # isort: skip
from distributed import Client, LocalCluster  # isort: skip
from lowrankgcn.distributed import fitting, nodes  # isort: skip

TEXTS, HIDDEN = texts(400, 0)
LABELS = some_labels(HIDDEN, 30, 0)

pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask, about what is done to it here


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Here the client decides who works."""
    with dask.config.set({"dataframe.convert-string": False}):
        yield


def slowly(block: Any) -> Any:
    """The block itself, after a while in which its worker may die."""
    time.sleep(0.2)
    return block


def slow_table() -> Any:
    return in_blocks(TEXTS, range(50, 400, 50)).map_partitions(slowly, meta=TEXTS.iloc[:0])


def fit(X: Any) -> lg.GCNClassifier:
    options: dict[str, Any] = {"architecture": "reduced", "filter": "heat", "max_iter": 20}
    return lg.GCNClassifier(random_state=0, **options).fit(X, LABELS)


@pytest.fixture(scope="module")
def expected() -> tuple[Any, Any]:
    classifier = fit(in_blocks(TEXTS, [100]))
    return classifier.eigenpairs_.eigenvalues, classifier.transduction_.compute()


def test_a_lost_scheduler_is_an_error_of_its_own() -> None:
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    cluster = LocalCluster(**options, dashboard_address=None)
    client = Client(cluster, set_as_default=True)
    try:
        timer = threading.Timer(0.5, cluster.close)
        timer.start()
        with pytest.raises(ConnectionError, match="Dask scheduler was lost"):
            fit(slow_table())
        timer.join()
    finally:
        client.close()
        cluster.close()


def deadly(block: Any) -> Any:
    """No block at all: whoever reads it dies."""
    if len(block):
        os._exit(1)
    return block


def test_a_block_that_kills_its_workers_is_an_error_of_its_own() -> None:
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 1, "processes": True}
    table = in_blocks(TEXTS, [100]).map_partitions(deadly, meta=TEXTS.iloc[:0])
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(**options, dashboard_address=None) as cluster,
        Client(cluster),
        pytest.raises(ConnectionError, match=r"workers died .* use smaller blocks"),
    ):
        fit(table)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**options, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def kill_one_worker(client: Client, after: float) -> threading.Thread:
    """End the process of a worker while others work; its supervisor starts another."""
    pids = list(client.run(os.getpid).values())
    timer = threading.Timer(after, os.kill, (pids[0], signal.SIGKILL))
    timer.start()
    return timer


def test_killed_workers_change_nothing(client: Client, expected: tuple[Any, Any]) -> None:
    eigenvalues, transduction = expected
    killed = kill_one_worker(client, after=0.6)  # in one of the passes of the set-up
    classifier = fit(slow_table())
    killed.join()
    assert_array_equal(classifier.eigenpairs_.eigenvalues, eigenvalues)
    client.wait_for_workers(2, timeout=60)
    killed = kill_one_worker(client, after=0.5)  # while all rows are classified
    result = classifier.transduction_.compute()
    killed.join()
    assert_array_equal(result, transduction)


def test_workers_killed_in_training_change_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MANY_ROWS", 0)
    monkeypatch.setattr(nodes, "_ROWS", 100)  # both workers keep some of the pieces
    options: dict[str, Any] = {"preset": "paper", "early_stopping": True, "max_iter": 30}
    table = in_blocks(TEXTS, range(50, 400, 50))
    client.wait_for_workers(2, timeout=60)
    pids = list(client.run(os.getpid).values())
    killed = []

    def kill_once(step: str, done: int, total: int) -> None:
        if step == "training" and not killed:  # told after twenty iterations
            killed.append(os.kill(pids[0], signal.SIGKILL))

    with listening(kill_once):
        disturbed = lg.GCNClassifier(random_state=0, **options).fit(table, LABELS)
    assert killed and set(client.run(os.getpid).values()) != set(pids)
    with dask.config.set(scheduler="synchronous"):
        alone = lg.GCNClassifier(random_state=0, **options).fit(table, LABELS)
        assert_array_equal(disturbed.transduction_.compute(), alone.transduction_.compute())
    assert len(alone.loss_curve_) > 20
    assert_array_equal(disturbed.loss_curve_, alone.loss_curve_)


def test_workers_killed_in_the_set_up_of_points_change_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "MANY_ROWS", 20)
    options: dict[str, Any] = {"architecture": "reduced", "filter": "heat", "rank": 7}
    options |= {"bandwidth": 3.0, "tol": 1e-3, "max_iter": 5, "dtype": "float64"}
    X = in_chunks(POINTS, [200])
    with dask.config.set(scheduler="synchronous"):
        alone = lg.GCNClassifier(random_state=0, **options).fit(X, POINT_LABELS)
        expected = alone.label_distributions_.compute()
    client.wait_for_workers(2, timeout=60)
    killed = kill_one_worker(client, after=0.3)  # in one of the passes of the set-up
    disturbed = lg.GCNClassifier(random_state=0, **options).fit(X, POINT_LABELS)
    killed.join()
    eigenvalues = disturbed.eigenpairs_.eigenvalues
    assert_allclose(eigenvalues, alone.eigenpairs_.eigenvalues, rtol=0, atol=1e-12)
    assert_allclose(disturbed.label_distributions_.compute(), expected, rtol=0, atol=1e-9)

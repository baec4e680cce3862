"""Row chunks: cover, order, errors, threads and the BLAS setting."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

from lowrankgcn import _parallel
from lowrankgcn._parallel import (
    available_threads,
    chunks,
    inline_chunks,
    map_chunks,
    single_threaded_blas,
    single_threaded_blas_if_small,
    worthwhile_threads,
)
from tests.support.cases.input_problems import LABELS, POINTS, quick


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    """Set the BLAS to two threads, and allow any thread to limit it."""
    release = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    limiter = threadpool_limits(limits=2, user_api="blas")
    release(force=True)
    yield
    release(force=True)
    limiter.restore_original_limits()
    release(force=True)


@given(n=st.integers(0, 200), size=st.integers(1, 60))
def test_chunks_cover_every_row_once(n, size):
    spans = chunks(n, size)
    assert [i for start, stop in spans for i in range(start, stop)] == list(range(n))
    assert all(0 < stop - start <= size for start, stop in spans)


@given(
    n=st.integers(0, 100),
    size=st.integers(1, 30),
    n_threads=st.one_of(st.none(), st.integers(1, 4)),
)
def test_results_come_in_row_order(n, size, n_threads):
    assert map_chunks(lambda a, b: (a, b), n, size, n_threads=n_threads) == chunks(n, size)


def test_order_does_not_depend_on_speed():
    def slow_first(start, stop):
        time.sleep(0.02 if start == 0 else 0)
        return start

    assert map_chunks(slow_first, 5, 1, n_threads=3) == [0, 1, 2, 3, 4]


def test_several_threads_run():
    barrier = threading.Barrier(2, timeout=10)
    map_chunks(lambda start, stop: barrier.wait(), 2, 1, n_threads=2)  # one thread would time out


def test_one_chunk_and_nested_calls_run_inline():
    here = threading.get_ident()
    assert map_chunks(lambda start, stop: threading.get_ident(), 3, 3, n_threads=4) == [here]

    def outer(start, stop):
        inner = map_chunks(lambda a, b: threading.get_ident(), 4, 1, n_threads=2)
        return set(inner) == {threading.get_ident()}

    assert map_chunks(outer, 4, 1, n_threads=2) == [True] * 4


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_first_failing_chunk_is_reported(n_threads):
    def fail(start, stop):
        if start >= 2:
            raise ValueError(f"chunk {start}")

    with pytest.raises(ValueError, match="chunk 2"):
        map_chunks(fail, 50, 1, n_threads=n_threads)
    assert map_chunks(lambda a, b: a, 3, 1, n_threads=n_threads) == [0, 1, 2]


def test_error_state_reaches_the_threads():
    def divide(start, stop):
        time.sleep(0.005)
        return np.float64(1.0) / np.float64(0.0)

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        map_chunks(divide, 4, 1, n_threads=2)
    with np.errstate(divide="ignore"):
        assert map_chunks(divide, 4, 1, n_threads=2) == [np.inf] * 4


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_is_limited_to_one_thread_and_restored():
    before = blas_threads()
    assert set(map_chunks(lambda a, b: max(blas_threads()), 2, 1, n_threads=2)) == {1}
    assert blas_threads() == before
    with pytest.raises(RuntimeError, match="stop"), single_threaded_blas():
        raise RuntimeError("stop")
    assert blas_threads() == before


@pytest.mark.usefixtures("two_blas_threads")
def test_overlapping_limits_of_two_threads_restore_the_first_setting():
    """The first thread leaves before the second, and the limit holds until the second leaves."""
    before = blas_threads()
    assert set(before) == {2}
    first_inside, second_inside, first_left = (threading.Event() for _ in range(3))
    during = []

    def first():
        with single_threaded_blas():
            first_inside.set()
            assert second_inside.wait(10)
        first_left.set()

    def second():
        assert first_inside.wait(10)
        with single_threaded_blas():
            second_inside.set()
            assert first_left.wait(10)
            during.append(max(blas_threads()))

    with ThreadPoolExecutor(2) as pool:
        for done in (pool.submit(first), pool.submit(second)):
            done.result(timeout=30)
    assert during == [1]
    assert blas_threads() == before


@pytest.mark.usefixtures("two_blas_threads")
def test_a_limit_that_cannot_be_applied_is_not_held(monkeypatch):
    before = blas_threads()

    def fail(libraries):
        if libraries:
            raise RuntimeError("no such library")
        return []

    with monkeypatch.context() as patched:
        patched.setattr(_parallel, "_limit", fail)
        with pytest.raises(RuntimeError, match="no such library"), single_threaded_blas():
            pass
    with single_threaded_blas():
        assert max(blas_threads()) == 1
    assert blas_threads() == before


@pytest.mark.usefixtures("two_blas_threads")
def test_two_fits_at_once_restore_the_numbers_of_threads():
    def counts():
        return [torch.get_num_threads(), *blas_threads()]

    def fit(seed):
        before = torch.get_num_threads()
        started.wait()
        quick(random_state=seed).fit(POINTS, LABELS)
        return before, torch.get_num_threads()

    original = torch.get_num_threads()
    torch.set_num_threads(2)
    started = threading.Barrier(2, timeout=30)
    try:
        before = counts()
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(fit, (0, 1))) == [(2, 2), (2, 2)]
        assert counts() == before
        with ThreadPoolExecutor(1) as pool:  # the default of new threads
            assert pool.submit(torch.get_num_threads).result() == 2
    finally:
        torch.set_num_threads(original)


def test_small_problems_and_small_work_use_one_thread(monkeypatch):
    monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", "3")
    assert worthwhile_threads(1000) == 1
    assert worthwhile_threads(10**8) == 3
    before = blas_threads()
    with single_threaded_blas_if_small(1000):
        assert max(blas_threads()) == 1
    with single_threaded_blas_if_small(10**6):
        assert blas_threads() == before
    here = threading.get_ident()
    with inline_chunks():
        assert set(map_chunks(lambda a, b: threading.get_ident(), 3, 1)) == {here}


def test_environment_overrides_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", "3")
    assert available_threads() == 3
    monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", "")
    assert available_threads() >= 1
    for bad in ("0", "-1", "many"):
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", bad)
        with pytest.raises(ValueError, match="LOWRANKGCN_NUM_THREADS"):
            available_threads()

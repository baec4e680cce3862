"""Row chunks: cover, order, errors, threads and the BLAS setting."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from lowrankgcn._parallel import available_threads, chunks, map_chunks, single_threaded_blas


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@given(n=st.integers(0, 200), size=st.integers(1, 60))
def test_chunks_cover_every_row_once(n, size):
    spans = chunks(n, size)
    assert [i for start, stop in spans for i in range(start, stop)] == list(range(n))
    assert all(0 < stop - start <= size for start, stop in spans)


@pytest.mark.parametrize(("n", "size", "name"), [(-1, 2, "n:"), (3, 0, "size:"), (2.5, 1, "n:")])
def test_chunks_refuse_bad_arguments(n, size, name):
    with pytest.raises(ValueError, match=name):
        chunks(n, size)


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


def test_blas_is_held_to_one_thread_and_restored():
    before = blas_threads()
    assert set(map_chunks(lambda a, b: max(blas_threads()), 2, 1, n_threads=2)) == {1}
    assert blas_threads() == before
    with pytest.raises(RuntimeError, match="stop"), single_threaded_blas():
        raise RuntimeError("stop")
    assert blas_threads() == before


def test_overlapping_calls_restore_the_first_setting():
    before = blas_threads()
    started = threading.Barrier(2, timeout=10)

    def run():
        def work(start, stop):
            if start == 0:
                started.wait()  # both calls are inside before either leaves

        map_chunks(work, 4, 1, n_threads=2)

    thread = threading.Thread(target=run)
    thread.start()
    run()
    thread.join()
    assert blas_threads() == before


def test_environment_overrides_the_number_of_threads(monkeypatch):
    monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", "3")
    assert available_threads() == 3
    monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", "")
    assert available_threads() >= 1
    for bad in ("0", "-1", "many"):
        monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", bad)
        with pytest.raises(ValueError, match="LOWRANKGCN_NUM_THREADS"):
            available_threads()


def test_bad_number_of_threads_is_refused():
    with pytest.raises(ValueError, match="n_threads"):
        map_chunks(lambda a, b: a, 3, 1, n_threads=0)

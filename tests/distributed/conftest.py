from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Run tasks one after the other, unless a test brings a cluster."""
    dask = pytest.importorskip("dask", reason="Dask is not installed")
    with dask.config.set({"scheduler": "synchronous", "dataframe.convert-string": False}):
        yield

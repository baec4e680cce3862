"""A table of more rows than a fit uses needs little memory and is classified well."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.commands import installed

N = 150_000
LABELLED = 150
GIGABYTE = 2**30


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """Six columns of categories, four of numbers and the target, with few labels."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, N)
    columns: dict[str, pa.Array] = {}
    for j in range(6):
        values = 2 + j % 7
        limits = rng.dirichlet(np.full(values, 0.4), 3).cumsum(axis=1)
        codes = (rng.random(N)[:, None] > limits[truth, :-1]).sum(axis=1)
        names = pa.array([f"value {k}" for k in range(values)])
        columns[f"category {j}"] = names.take(pa.array(codes))
    for j in range(4):
        columns[f"number {j}"] = pa.array(rng.standard_normal(N) + truth * rng.standard_normal())
    labels = np.full(N, None, dtype=object)
    labelled = rng.choice(N, LABELLED, replace=False)
    labels[labelled] = np.array(["one", "two", "three"], dtype=object)[truth[labelled]]
    columns["kind"] = pa.array(labels, pa.string())
    path = tmp_path_factory.mktemp("many") / "many.parquet"
    pq.write_table(pa.table(columns), path)
    return path, truth


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no measure of a child's memory")
def test_many_rows(many_rows: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    path, truth = many_rows
    out = tmp_path / "out.parquet"
    done = subprocess.run(
        [*installed(), "classify", str(path), "--target", "kind", "--out", str(out), "--json"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Peak of the largest child so far, in kilobytes, but in bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    assert peak < 2 * GIGABYTE
    document = json.loads(done.stdout)
    assert document["rows"] == N
    assert document["labelled"] == LABELLED
    assert len(document["columns"]) == 10
    written = pq.read_table(out, columns=["prediction", "probability"])
    names = np.array(["one", "two", "three"])[truth]
    assert np.mean(written["prediction"].to_numpy(zero_copy_only=False) == names) > 0.9
    assert written["probability"].null_count == 0

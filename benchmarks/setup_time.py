"""Set-up time, accuracy and peak memory of eigenpairs, for points and for tables.

asv finds the classes below; ``python -m benchmarks speed`` prints them. A speed-up is the
ratio of the fastest calls of two implementations that alternate in one process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import lowrankgcn as lg
from benchmarks import peers

BANDWIDTH = 3.5
POINT_PAIRS = 11
TABLE_PAIRS = 20
TOL = 1e-3


def alternate(ours: Callable[[], Any], peer: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Return the fastest seconds of both, run in turn so that other load affects both."""
    times = [(best(ours, 1), best(peer, 1)) for _ in range(rounds)]
    return min(pair[0] for pair in times), min(pair[1] for pair in times)


def best(function: Callable[[], Any], rounds: int) -> float:
    """Return the seconds of the fastest call; a round repeats short calls."""
    fastest = math.inf
    for _ in range(rounds):
        spent = 0.0
        while spent < 1.5:
            start = time.perf_counter()
            function()
            seconds = time.perf_counter() - start
            spent += seconds
            fastest = min(fastest, seconds)
    return fastest


def point_pairs(points: np.ndarray, dtype: str = "float32", tol: float = TOL) -> lg.Eigenpairs:
    """Compute eigenpairs of the Gaussian graph from raw points."""
    laplacian = lg.Laplacian(lg.GaussianGraph(points, BANDWIDTH), tol=tol)
    return lg.eigenpairs(laplacian, POINT_PAIRS, dtype=dtype)


def table(n: int) -> pd.DataFrame:
    """Return the synthetic table as a frame of categorical columns."""
    columns = peers.table_codes(n)
    names = zip(columns, peers.MUSHROOM_VALUES, strict=True)
    return pd.DataFrame(
        {
            f"column{j}": pd.Categorical.from_codes(codes, [f"value{v}" for v in range(values)])
            for j, (codes, values) in enumerate(names)
        }
    )


def table_pairs(graph: lg.Hypergraph, dtype: str = "float32") -> lg.Eigenpairs:
    """Compute eigenpairs of a table's hypergraph, without results cached by earlier runs."""
    fresh = lg.Hypergraph.from_codes(graph.incidence.codes, graph.n_hyperedges)
    return lg.eigenpairs(lg.Laplacian(fresh), TABLE_PAIRS, dtype=dtype)


class Points:
    """Spiral points, compared with ARPACK on the dense matrix and on sums by FINUFFT."""

    params = ((10_000, 100_000, 1_000_000),)
    param_names = ("n",)
    timeout = 1200

    def setup(self, n: int) -> None:
        """Draw the points."""
        self.points = peers.spiral(n)

    def time_setup(self, n: int) -> None:
        """Eigenpairs to an error of 1e-3."""
        point_pairs(self.points)

    def peakmem_setup(self, n: int) -> None:
        """Peak memory of the same."""
        point_pairs(self.points)

    def track_dense_speedup(self, n: int) -> float:
        """Times faster than the dense matrix, if it fits in memory."""
        if n > 10_000:
            raise NotImplementedError
        ours, peer = alternate(
            lambda: point_pairs(self.points),
            lambda: peers.dense_arpack(self.points, BANDWIDTH, POINT_PAIRS),
            rounds=5,
        )
        return peer / ours

    def track_fourier_speedup(self, n: int) -> float:
        """Times faster than FINUFFT with ARPACK."""
        ours, peer = alternate(
            lambda: point_pairs(self.points),
            lambda: peers.fourier_arpack(self.points, BANDWIDTH, POINT_PAIRS),
            rounds=3,
        )
        return peer / ours

    def track_error(self, n: int) -> float:
        """Largest difference to eigenvalues computed to 1e-9."""
        exact = peers.fourier_arpack(self.points, BANDWIDTH, POINT_PAIRS, eps=1e-9, tol=1e-9)
        return float(np.abs(point_pairs(self.points).eigenvalues - exact).max())


class Tables:
    """Tables of 21 columns with 112 values, compared with svds of the sparse incidence."""

    params = ((10_000, 1_000_000, 10_000_000),)
    param_names = ("n",)
    timeout = 1200

    def setup(self, n: int) -> None:
        """Draw and encode the table."""
        self.graph = lg.Hypergraph.from_table(table(n))

    def time_setup(self, n: int) -> None:
        """Eigenpairs from integer codes."""
        table_pairs(self.graph)

    def peakmem_setup(self, n: int) -> None:
        """Peak memory with eigenvectors in float32."""
        table_pairs(self.graph, dtype="float32")

    def track_svds_speedup(self, n: int) -> float:
        """Times faster than svds, up to a million rows."""
        if n > 1_000_000:
            raise NotImplementedError
        columns = peers.table_codes(n)
        ours, peer = alternate(
            lambda: table_pairs(self.graph),
            lambda: peers.sparse_svds(columns, TABLE_PAIRS),
            rounds=3,
        )
        return peer / ours

    def track_error(self, n: int) -> float:
        """Largest difference to the eigenvalues of svds."""
        if n > 1_000_000:
            raise NotImplementedError
        exact = peers.sparse_svds(peers.table_codes(n), TABLE_PAIRS)
        return float(np.abs(table_pairs(self.graph).eigenvalues - exact).max())

"""Eigenpairs of nearest-neighbour graphs, compared with SciPy's ``eigsh`` in one run.

``python -m benchmarks.eigensolver 50000 500000`` prints seconds, their ratio and the largest
residuals. The points have 16 columns: uniform, or ten Gaussian clusters.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import lowrankgcn as lg

TOL = 1e-4
PAIRS = {30: 80, 100: 201}  # number of pairs: length of the basis of eigsh


def points(kind: str, n: int, columns: int = 16, seed: int = 0) -> np.ndarray:
    """Draw the points."""
    generator = np.random.default_rng(seed)
    if kind == "uniform":
        return generator.uniform(size=(n, columns))
    centres = 8 * generator.normal(size=(10, columns)) / np.sqrt(columns)
    return centres[generator.integers(10, size=n)] + generator.normal(size=(n, columns))


def compared(laplacian: lg.Laplacian, k: int) -> Iterator[tuple[float, float]]:
    """Yield seconds and largest residual of `eigenpairs`, then of `eigsh`."""
    start = time.perf_counter()
    pairs = lg.eigenpairs(laplacian, k, tol=TOL)
    yield time.perf_counter() - start, float(pairs.residuals.max())
    scale = sp.diags_array(laplacian.scale)
    matrix = sp.csr_array(scale @ laplacian.affinity.operator.matrix @ scale)  # type: ignore[attr-defined]
    first = np.random.default_rng(0).normal(size=laplacian.n)
    start = time.perf_counter()
    values, vectors = spla.eigsh(matrix, k, which="LA", tol=TOL, ncv=PAIRS[k], v0=first)
    seconds = time.perf_counter() - start
    yield seconds, float(np.linalg.norm(matrix @ vectors - vectors * values, axis=0).max())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eigensolver", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[50_000], help="numbers of rows")
    print("points           rows  pairs  seconds  eigsh  ratio  residual  of eigsh")
    for n in parser.parse_args().sizes:
        for kind in ("clusters", "uniform"):
            laplacian = lg.Laplacian(lg.AdjacencyGraph.knn(points(kind, n), 10))
            for k in PAIRS:
                (ours, residual), (peer, other) = compared(laplacian, k)
                print(
                    f"{kind:10} {n:10,} {k:6} {ours:8.2f} {peer:6.2f} {peer / ours:6.1f} "
                    f"{residual:9.0e} {other:9.0e}",
                    flush=True,
                )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lg.DisconnectedGraphWarning)
        warnings.simplefilter("ignore", lg.DegenerateCutWarning)
        main()

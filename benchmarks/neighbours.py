"""Compare the time of nearest-neighbour graphs with scikit-learn's search: one line per size.

    python -m benchmarks.neighbours [--quick]

Ours finds the neighbours, weights them and measures the recall; scikit-learn only finds them. Both
run once, one after the other, with the threads that they choose themselves.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.neighbors import NearestNeighbors

import lowrankgcn as lg

SIZES = ((10_000, 20), (50_000, 16), (200_000, 16))
NEIGHBOURS = 10


def clusters(n: int, dimension: int) -> np.ndarray:
    """Twenty clusters of different width in each column."""
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(20, dimension))
    return centres[np.arange(n) % 20] + rng.random(dimension) * rng.normal(size=(n, dimension))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neighbours", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only sizes up to 50,000")
    sizes = SIZES[:-1] if parser.parse_args().quick else SIZES
    for n, dimension in sizes:
        points = clusters(n, dimension)
        start = time.perf_counter()
        graph = lg.AdjacencyGraph.knn(points, NEIGHBOURS)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        NearestNeighbors(n_neighbors=NEIGHBOURS).fit(points).kneighbors()
        peer = time.perf_counter() - start
        print(
            f"{n:,} x {dimension}: {ours:.2f} s, recall {graph.recall:.3f}; "
            f"scikit-learn {peer:.2f} s; {peer / ours:.1f} times faster",
            flush=True,
        )


if __name__ == "__main__":
    main()

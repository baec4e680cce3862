"""Training time compared with the paper's formulas in plain PyTorch and with torch-geometric.

asv finds the classes below; ``python -m benchmarks speed`` prints them. A speed-up is the
ratio of the fastest of several runs that alternate in one process with one thread. It counts only
if both implementations report the same losses. Only the iterations are timed, as in the paper; the
set-up, which includes 𝒦X and the labelled rows, is reported by ``track_setup_seconds``.

The mushrooms are read from ``agaricus-lepiota.data`` in the directory ``LOWRANKGCN_DATA``. Without
this file, a synthetic table of the same shape is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import lowrankgcn as lg
from benchmarks import peers, training_peers
from lowrankgcn.nn import TrainingRecord, train

SEED = 1
ROUNDS = 5
# Tolerance for the losses of float32 runs with different orders of summation.
AGREEMENT = 1e-3

# Section A4.6, counted from one.
MUSHROOM_TRAINING = """
    224 610 939 1430 1743 2442 2559 3129 4268 4286
    4354 4713 5602 5615 5845 6434 6486 6744 7515 7954
"""


def mushrooms() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return a table of 21 columns, the classes and the labelled rows."""
    index = np.array(MUSHROOM_TRAINING.split(), int) - 1
    path = Path(os.environ.get("LOWRANKGCN_DATA", "")) / "agaricus-lepiota.data"
    if path.is_file():
        raw = pd.read_csv(path, header=None, dtype="category")
        return raw.drop(columns=[0, 11]), (raw[0] == "e").to_numpy().astype(int), index
    codes = peers.table_codes(8124)
    frame = pd.DataFrame({f"column{j}": pd.Categorical(column) for j, column in enumerate(codes)})
    return frame, (codes[4] > 2).astype(int), index


def start(network: lg.nn.Network) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial weights that training draws, for the other implementation."""
    network.reset_parameters(torch.Generator().manual_seed(SEED))
    first, second = (conv.weight.detach().numpy()[0].copy() for conv in network.convs)
    return first, second


def tensor(array: Any) -> torch.Tensor:
    """Convert to single precision."""
    return torch.tensor(np.asarray(array), dtype=torch.float32)


class OneThread:
    """Limit both implementations to one thread."""

    def __enter__(self) -> None:
        self.before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        torch.set_num_threads(self.before)


def speedup(
    ours: Callable[[], TrainingRecord],
    peer: Callable[[int], tuple[float, np.ndarray]],
    iterations: int,
    *,
    agree: bool = True,
    rounds: int = ROUNDS,
) -> tuple[float, float, float]:
    """Return the speed-up and the seconds per 1000 iterations of both implementations."""
    fastest = [np.inf, np.inf]
    with OneThread():
        for _ in range(rounds):
            seconds, losses = peer(iterations)
            record = ours()
            taken = record.training_seconds / len(record.loss_curve)
            fastest[0] = min(fastest[0], taken * 1000)
            fastest[1] = min(fastest[1], seconds / iterations * 1000)
            gap = np.abs(record.loss_curve[:iterations, 0] - losses).max()
            if agree and gap > AGREEMENT:
                raise ValueError(f"losses differ by {gap:.1e}: this is not the same training")
    return fastest[1] / fastest[0], fastest[0], fastest[1]


class Mushrooms:
    """n = 8124, 112 features, 16 hidden units, 20 labels, rank 20; as in section 4.3."""

    timeout = 600

    def setup(self) -> None:
        """Build kernels and networks."""
        table, self.classes, self.index = mushrooms()
        graph = lg.Hypergraph.from_table(table)
        self.X = graph.incidence.to_dense()
        self.widths = (self.X.shape[1], 16, 2)
        laplacian = lg.Laplacian(graph)
        self.kernel = lg.kernel(laplacian, "pseudoinverse", rank=20)
        self.full = lg.kernel(laplacian, "pseudoinverse")
        self.low_rank = lg.nn.GCN(self.kernel, self.widths)
        self.reduced = lg.nn.ReducedOrderGCN(self.kernel, self.widths)
        self.full_rank = lg.nn.GCN(self.full, self.widths)

    def train(self, network: lg.nn.Network, **options: Any) -> TrainingRecord:
        """1000 iterations of the paper's gradient descent."""
        options = {"seeds": [SEED]} | options
        return train(network, self.X, self.index, self.classes[self.index], **options)

    def paper(
        self, network: lg.nn.Network, forward: training_peers.Forward
    ) -> Callable[[int], tuple[float, np.ndarray]]:
        """The same by autograd."""
        weights = start(network)
        labels = self.classes[self.index]
        return lambda iterations: training_peers.timed(
            lambda: training_peers.paper_training(
                forward, weights, self.index, labels, iterations=iterations
            )
        )

    def eigenvectors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """U, φ(Λ) and X in single precision."""
        pairs = self.kernel.eigenpairs
        assert pairs is not None
        return tensor(pairs.eigenvectors), tensor(self.kernel.response), tensor(self.X)

    def time_low_rank(self) -> None:
        """L-GCN."""
        self.train(self.low_rank)

    def time_reduced(self) -> None:
        """R-GCN."""
        self.train(self.reduced)

    def time_full_rank(self) -> None:
        """Full-rank pseudoinverse in its structured form."""
        self.train(self.full_rank)

    def track_setup_seconds(self) -> float:
        """𝒦X and labelled rows of the L-GCN."""
        return min(self.train(self.low_rank, max_iter=1).setup_seconds for _ in range(ROUNDS))

    def track_low_rank_speedup(self) -> float:
        """Target 7."""
        return self.low_rank_speedup()[0]

    def low_rank_speedup(self) -> tuple[float, float, float]:
        """L-GCN compared with the paper's formulas."""
        peer = self.paper(self.low_rank, training_peers.low_rank(*self.eigenvectors()))
        return speedup(lambda: self.train(self.low_rank), peer, 200)

    def track_reduced_speedup(self) -> float:
        """Target 25."""
        return self.reduced_speedup()[0]

    def reduced_speedup(self) -> tuple[float, float, float]:
        """R-GCN compared with the paper's formulas."""
        peer = self.paper(self.reduced, training_peers.reduced(*self.eigenvectors()))
        return speedup(lambda: self.train(self.reduced), peer, 200, rounds=2 * ROUNDS)

    def track_full_rank_speedup(self) -> float:
        """Target 7."""
        return self.full_rank_speedup()[0]

    def full_rank_speedup(self) -> tuple[float, float, float]:
        """Full-rank pseudoinverse compared with the paper's formulas, also in structured form."""
        operator: Any = self.full.operator
        forward = training_peers.structured(
            float(operator.offset[0]),
            tensor(operator.factor.to_dense()),
            tensor(operator.core),
            tensor(self.X),
        )
        return speedup(lambda: self.train(self.full_rank), self.paper(self.full_rank, forward), 100)

    def track_hypergraph_conv_speedup(self) -> float:
        """Target 10."""
        return self.hypergraph_conv_speedup()[0]

    def hypergraph_conv_speedup(self) -> tuple[float, float, float]:
        """L-GCN compared with HypergraphConv layers of the same widths; losses are not compared."""
        network = training_peers.HypergraphNetwork(self.X, self.X.astype(np.float32), self.widths)
        labels = self.classes[self.index]

        def peer(iterations: int) -> tuple[float, np.ndarray]:
            return training_peers.timed(
                lambda: network.train(self.index, labels, iterations=iterations)
            )

        return speedup(lambda: self.train(self.low_rank), peer, 30, agree=False)

    def track_restarts_seconds(self) -> float:
        """100 restarts of the R-GCN, 1000 iterations each; target 1."""
        with OneThread():
            runs = [self.train(self.reduced, seeds=range(100)) for _ in range(3)]
        return min(run.setup_seconds + run.training_seconds for run in runs)


class Spiral:
    """n = 10 000 points, 3 features, 4 hidden units, 10 labels."""

    timeout = 600

    def setup(self) -> None:
        """Build the dense kernel, as a stored matrix for the other implementation."""
        spiral = lg.datasets.load_spiral(2000)
        self.X, self.index = spiral.data, spiral.training
        self.labels = spiral.target[self.index]
        laplacian = lg.Laplacian(lg.GaussianGraph(self.X, bandwidth=3.5), tol=1e-6)
        self.kernel = lg.kernel(laplacian, "linear")
        self.network = lg.nn.GCN(self.kernel, (3, 4, 5))
        self.low_rank = lg.nn.GCN(lg.kernel(laplacian, "pseudoinverse", rank=10), (3, 4, 5))

    def train(self, network: lg.nn.Network) -> TrainingRecord:
        """1000 iterations of the paper's gradient descent."""
        return train(network, self.X, self.index, self.labels, seeds=[SEED])

    def time_dense(self) -> None:
        """Full-rank linear filter."""
        self.train(self.network)

    def time_low_rank(self) -> None:
        """L-GCN of rank 10."""
        self.train(self.low_rank)

    def track_dense_speedup(self) -> float:
        """Target 1000."""
        return self.dense_speedup()[0]

    def dense_speedup(self) -> tuple[float, float, float]:
        """Full-rank linear filter compared with a stored 10 000 × 10 000 matrix."""
        matrix = training_peers.linear_kernel(self.X, 3.5)
        forward = training_peers.dense(matrix, tensor(self.X))
        weights = start(self.network)

        def peer(iterations: int) -> tuple[float, np.ndarray]:
            return training_peers.timed(
                lambda: training_peers.paper_training(
                    forward, weights, self.index, self.labels, iterations=iterations
                )
            )

        return speedup(lambda: self.train(self.network), peer, 5)

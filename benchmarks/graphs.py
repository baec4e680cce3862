"""Accuracy on graphs and hypergraphs with features, beside trained networks.

    python -m benchmarks graphs [PART ...] [--splits 20] [--peers NAME ...] [--markdown FILE]

=============== ==================================================================================
``public``      Planetoid's splits of Cora and Citeseer
``random``      20 labels per class, random splits
``few``         1, 2, 5 and 10 labels per class, random splits
``hypergraphs`` HyperGCN's ten splits of co-citation and co-authorship
``heterophily`` ten splits of texas, wisconsin, cornell and chameleon
``new``         20 % of the nodes are removed with their edges and added again
``scale``       seconds and memory of a random graph with 10⁵ or 10⁶ nodes
=============== ==================================================================================

Files ``graphs/*.npz`` are read from the folder ``LOWRANKGCN_DATA``. GCN, SGC and APPNP of PyTorch
Geometric are trained in the same run on the same splits, for 200 steps without validation labels;
logistic regression sees the features only, label propagation the graph only. ``--peers`` chooses
some of them, or none. Figures are means and standard errors over splits; ECE in ten bins.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import LogisticRegression

import lowrankgcn as lg

COLUMNS = ("part", "graph", "method", "accuracy", "log-loss", "ECE", "seconds", "target")
TARGETS = {
    ("public", "cora"): 82.5,
    ("public", "citeseer"): 73.0,
    ("random", "cora"): 83.0,
    ("random", "citeseer"): 71.5,
    ("hypergraphs", "cocit_cora"): 75.0,
    ("hypergraphs", "cocit_citeseer"): 69.5,
    ("hypergraphs", "coauth_cora"): 78.0,
    ("heterophily", "texas"): 85.0,
    ("heterophily", "wisconsin"): 84.0,
    ("heterophily", "cornell"): 76.0,
}
_STEPS = 200  # of the peers


class Problem(NamedTuple):
    """A graph with features, classes of all nodes, and splits: 1 is training, 3 is test."""

    X: sp.csr_array
    graph: Any
    weights: sp.csr_array
    y: np.ndarray
    splits: list[np.ndarray]


def load(name: str) -> Problem:
    """Read a file of the data folder."""
    file = np.load(Path(os.environ["LOWRANKGCN_DATA"]) / "graphs" / f"{name}.npz")

    def matrix(key: str) -> sp.csr_array:
        indices = file[f"{key}_indices"]
        values = np.broadcast_to(file[f"{key}_values"].astype(float), indices.shape)
        parts = (values, indices, file[f"{key}_indptr"])
        return sp.csr_array(parts, shape=tuple(file[f"{key}_shape"]))

    splits = [file[key] for key in sorted(file.files) if key.startswith("split")]
    if "weights_indices" in file.files:
        weights = matrix("weights")
        graph: Any = lg.AdjacencyGraph(weights)
    else:
        H = matrix("incidence")
        graph = lg.Hypergraph(H)
        weights = H @ sp.diags_array(1.0 / np.maximum(H.sum(axis=0), 1.0)) @ H.T
        weights.setdiag(0.0)
        weights.eliminate_zeros()
    return Problem(matrix("features"), graph, sp.csr_array(weights), file["labels"], splits)


def random_splits(y: np.ndarray, labels: int, count: int) -> list[np.ndarray]:
    """Draw labels class by class; all other nodes are tested."""
    splits = []
    for seed in range(count):
        generator = np.random.default_rng((seed, labels))
        split = np.full(len(y), 3)
        for one in range(y.max() + 1):
            split[generator.choice(np.flatnonzero(y == one), labels, replace=False)] = 1
        splits.append(split)
    return splits


def ours(problem: Problem, split: np.ndarray) -> np.ndarray:
    """Fit the Gaussian process."""
    y = np.where(split == 1, problem.y, -1)
    fitted = lg.SpectralGPClassifier(graph=problem.graph, random_state=0).fit(problem.X, y)
    shares = np.zeros((len(y), problem.y.max() + 1))
    shares[:, fitted.classes_] = fitted.label_distributions_
    return shares


def logistic_regression(problem: Problem, split: np.ndarray) -> np.ndarray:
    """Fit the features only."""
    known = split == 1
    model = LogisticRegression(max_iter=1000).fit(problem.X[known], problem.y[known])
    shares = np.zeros((len(split), problem.y.max() + 1))
    shares[:, model.classes_] = model.predict_proba(problem.X)
    return shares


def label_propagation(problem: Problem, split: np.ndarray) -> np.ndarray:
    """Spread labels by personalised PageRank with α = 0.9 over the edges."""
    roots = 1.0 / np.sqrt(np.maximum(problem.weights.sum(axis=1), 1e-12))
    S = sp.diags_array(roots) @ problem.weights @ sp.diags_array(roots)
    start = np.eye(problem.y.max() + 1)[problem.y] * (split == 1)[:, None]
    spread = start
    for _ in range(50):
        spread = 0.9 * (S @ spread) + 0.1 * start
    spread = spread + 1e-6
    return spread / spread.sum(axis=1, keepdims=True)


def network(kind: str) -> Callable[[Problem, np.ndarray], np.ndarray]:
    """Return the training of a network of PyTorch Geometric with its authors' settings."""

    def train(problem: Problem, split: np.ndarray) -> np.ndarray:
        import torch
        from torch.nn.functional import cross_entropy, dropout
        from torch_geometric.nn import APPNP, GCNConv, SGConv

        torch.manual_seed(0)
        rows = sp.diags_array(1.0 / np.maximum(problem.X.sum(axis=1), 1e-12)) @ problem.X
        rows, listed = rows.tocoo(), problem.weights.tocoo()
        edges, places = (torch.tensor(np.array(part.coords, np.int64)) for part in (listed, rows))
        weights, values = (torch.tensor(part.data, dtype=torch.float32) for part in (listed, rows))
        d, C = rows.shape[1], int(problem.y.max()) + 1
        layers: list[Any] = {
            "GCN": lambda: [GCNConv(d, 16), GCNConv(16, C)],
            "SGC": lambda: [SGConv(d, C, K=2, cached=True)],
            "APPNP": lambda: [torch.nn.Linear(d, 64), torch.nn.Linear(64, C), APPNP(10, 0.1)],
        }[kind]()

        def features(dropped: Any) -> Any:
            return torch.sparse_coo_tensor(places, dropped, rows.shape, check_invariants=True)

        def output(training: bool) -> Any:
            if kind == "SGC":
                return layers[0](features(values).to_dense(), edges, weights)
            X = features(dropout(values, 0.5, training))
            if kind == "GCN":
                hidden = layers[0](X, edges, weights).relu()
                return layers[1](dropout(hidden, 0.5, training), edges, weights)
            hidden = (X @ layers[0].weight.T + layers[0].bias).relu()
            return layers[2](layers[1](dropout(hidden, 0.5, training)), edges, weights)

        rate, penalty = {"GCN": (0.01, 5e-4), "SGC": (0.2, 5e-6), "APPNP": (0.01, 5e-3)}[kind]
        groups: list[Any] = [
            {"params": list(layer.parameters()), "weight_decay": 0.0 if k else penalty}
            for k, layer in enumerate(layers)
        ]
        optimizer = torch.optim.Adam(groups, lr=rate)
        known = torch.tensor(split == 1)
        target = torch.tensor(problem.y, dtype=torch.long)[known]
        for _ in range(_STEPS):
            optimizer.zero_grad()
            cross_entropy(output(True)[known], target).backward()
            optimizer.step()
        with torch.no_grad():
            return np.asarray(output(False).softmax(dim=1), np.float64)

    return train


METHODS: dict[str, Callable[[Problem, np.ndarray], np.ndarray]] = {
    "SpectralGPClassifier": ours,
    "GCN": network("GCN"),
    "SGC": network("SGC"),
    "APPNP": network("APPNP"),
    "logistic regression": logistic_regression,
    "label propagation": label_propagation,
}


def measures(shares: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Return accuracy in per cent, log-loss and expected calibration error in per cent."""
    top, right = shares.max(axis=1), shares.argmax(axis=1) == y
    bins = np.minimum((10 * top).astype(int), 9)
    gaps = np.abs(np.bincount(bins, top - right, minlength=10))
    loss = -np.log(np.maximum(shares[np.arange(len(y)), y], 1e-12)).mean()
    return 100 * float(right.mean()), float(loss), 100 * float(gaps.sum()) / len(y)


def compare(part: str, name: str, splits: Any, methods: list[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each method, over the same splits."""
    problem = load(name)
    problem = problem._replace(splits=splits(problem))
    for method in methods:
        results, begin = [], time.perf_counter()
        for split in problem.splits:
            shares = METHODS[method](problem, split)
            results.append(measures(shares[split == 3], problem.y[split == 3]))
        seconds = (time.perf_counter() - begin) / len(results)
        mean = np.mean(results, axis=0)
        error = (
            np.std(results, axis=0, ddof=1)[0] / np.sqrt(len(results)) if len(results) > 1 else 0
        )
        yield {
            "part": part,
            "graph": name,
            "method": method,
            "accuracy": f"{mean[0]:.1f} ± {error:.1f}",
            "log-loss": f"{mean[1]:.3f}",
            "ECE": f"{mean[2]:.1f}",
            "seconds": f"{seconds:.2f}",
            "target": str(TARGETS.get((part, name), "")) if method == methods[0] else "",
        }


def new_nodes(name: str, splits: Any) -> dict[str, Any]:
    """Compare new nodes, with all their edges, with a fit that has seen them."""
    problem, results = load(name), []
    n = len(problem.y)
    for seed, split in enumerate(splits(problem)):
        generator = np.random.default_rng(seed)
        free = np.flatnonzero(split == 3)
        removed = np.sort(generator.choice(free, n // 5, replace=False))
        order = np.concatenate([np.setdiff1d(np.arange(n), removed), removed])
        W, X, y = problem.weights[order][:, order], problem.X[order], problem.y[order]
        known, labels = n - n // 5, np.where(split[order] == 1, y, -1)
        whole = lg.SpectralGPClassifier(graph=lg.AdjacencyGraph(W), random_state=0).fit(X, labels)
        part = lg.AdjacencyGraph(W[:known, :known])
        fitted = lg.SpectralGPClassifier(graph=part, random_state=0).fit(X[:known], labels[:known])
        predicted = fitted.predict(X[known:], edges=W[known:])
        results.append([np.mean(p == y[known:]) for p in (predicted, whole.transduction_[known:])])
    new, fit = 100 * np.mean(results, axis=0)
    return {
        "part": "new",
        "graph": name,
        "method": "new nodes",
        "accuracy": f"{new:.1f} (fitted {fit:.1f})",
        "target": f"≥ {fit - 1.5:.1f}",
    }


def scale(n: int, n_edges: int, d: int, m: int = 200) -> dict[str, Any]:
    """Time a random graph of ten communities whose nodes have ten words each."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 10, n)
    order = np.argsort(y, kind="stable")
    starts = np.searchsorted(y[order], np.arange(11))
    ends = generator.integers(0, n, n_edges)
    inside = generator.integers(starts[y[ends]], starts[y[ends] + 1])
    other = np.where(
        generator.random(n_edges) < 0.7, order[inside], generator.integers(0, n, n_edges)
    )
    weights = sp.csr_array((np.ones(n_edges), (ends, other)), shape=(n, n))
    weights = weights.maximum(weights.T)
    words = generator.integers(0, d // 10, (n, 10)) * 10
    words += np.where(
        generator.random((n, 10)) < 0.4, y[:, None], generator.integers(0, 10, (n, 10))
    )
    rows = np.repeat(np.arange(n), 10)
    X = sp.csr_array((np.ones(10 * n), (rows, words.ravel())), shape=(n, d))
    labels = np.full(n, -1)
    known = generator.choice(n, m, replace=False)
    labels[known] = y[known]
    graph = lg.AdjacencyGraph(weights)
    begin = time.perf_counter()
    fitted = lg.SpectralGPClassifier(graph=graph, random_state=0).fit(X, labels)
    seconds = time.perf_counter() - begin
    right = np.delete(fitted.transduction_ == y, known).mean()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "part": "scale",
        "graph": f"{n:,} nodes, {n_edges:,} edges, {d} words",
        "method": "SpectralGPClassifier",
        "accuracy": f"{100 * right:.1f}",
        "seconds": f"{seconds:.1f} ({memory:.1f} GB)",
        "target": "≤ 15 s" if n <= 10**5 else "≤ 150 s, 8 GB",
    }


def rows(parts: list[str], count: int, methods: list[str]) -> Iterator[dict[str, Any]]:
    """Yield all rows of some parts."""
    own: Any = lambda problem: problem.splits  # noqa: E731
    planetoid = ("cora", "citeseer")

    def drawn(labels: int) -> Any:
        return lambda problem: random_splits(problem.y, labels, count)

    for part in parts:
        if part in ("public", "random"):
            for name in planetoid:
                yield from compare(part, name, own if part == "public" else drawn(20), methods)
        elif part == "few":
            for name in planetoid:
                for labels in (1, 2, 5, 10):
                    for row in compare(part, name, drawn(labels), methods):
                        yield row | {"graph": f"{name}, {labels} per class"}
        elif part == "hypergraphs":
            for name in ("cocit_cora", "cocit_citeseer", "coauth_cora"):
                yield from compare(part, name, own, methods)
        elif part == "heterophily":
            for name in ("texas", "wisconsin", "cornell", "chameleon_filtered"):
                yield from compare(part, name, own, methods)
        elif part == "new":
            for name in planetoid:
                yield new_nodes(name, lambda problem: random_splits(problem.y, 20, min(count, 5)))
        else:
            yield scale(10**5, 10**6, 1000)
            yield scale(10**6, 10**7, 1000)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks graphs", description=__doc__)
    choices = ["public", "random", "few", "hypergraphs", "heterophily", "new", "scale"]
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(choices))
    parser.add_argument("--splits", type=int, default=20, help="random splits")
    peers = list(METHODS)[1:]
    parser.add_argument("--peers", nargs="*", choices=peers, default=peers, metavar="NAME")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="also write the table")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - set(choices):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    methods = [next(iter(METHODS)), *options.peers]
    console, table, lines = Console(), Table(*COLUMNS, box=None), [list(COLUMNS)]
    lines.append(["---"] * len(COLUMNS))
    for row in rows(options.parts or choices, options.splits, methods):
        lines.append([row.get(column, "") for column in COLUMNS])
        table.add_row(*lines[-1])
        console.print(" ".join(lines[-1]), style="dim")
    console.print(table)
    if options.markdown:
        options.markdown.write_text("".join(f"| {' | '.join(line)} |\n" for line in lines))


if __name__ == "__main__":
    main()

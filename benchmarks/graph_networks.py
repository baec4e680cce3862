"""Networks on citation graphs: ``GCNClassifier`` beside torch-geometric's GCN on the same splits.

``python -m benchmarks graph-networks [--seeds N]`` prints accuracy on the test nodes, log-loss and
processor time of training, means over seeds with standard errors. The graphs are read by
``lowrankgcn.datasets.fetch_planetoid``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch.nn import functional

import lowrankgcn as lg

SETTINGS: dict[str, dict[str, Any]] = {
    "GCNClassifier()": {},
    'GCNClassifier(preset="kipf"), validation': {"preset": "kipf"},
    'GCNClassifier(architecture="low-rank")': {"architecture": "low-rank"},
    "... rank=100": {"architecture": "low-rank", "rank": 100},
    "... rank=300": {"architecture": "low-rank", "rank": 300},
}
Distributions = Callable[[Any, int], Any]


def classifier_shares(settings: dict[str, Any]) -> Distributions:
    """Return a function of nodes and seed, which gives the class distributions of all nodes."""

    def fit(nodes: Any, seed: int) -> Any:
        classifier = lg.GCNClassifier(graph=nodes.graph, random_state=seed, **settings)
        validation = nodes.labels(part=2) if "preset" in settings else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return classifier.fit(
                nodes.data, nodes.labels(), validation=validation
            ).label_distributions_

    return fit


def pyg_gcn(nodes: Any, seed: int) -> Any:
    """Train torch-geometric's GCN as its example does: the epoch of the best validation counts."""
    from torch_geometric.nn import GCNConv

    torch.manual_seed(seed)
    sums = np.maximum(nodes.data.sum(axis=1), 1e-12)
    X = torch.tensor((sp.diags_array(1 / sums) @ nodes.data).toarray(), dtype=torch.float32)
    edges = torch.tensor(np.stack(sp.coo_array(nodes.adjacency).coords)).long()
    y, split = torch.tensor(nodes.target), nodes.splits[0]
    first = GCNConv(X.shape[1], 16, cached=True)
    last = GCNConv(16, len(nodes.target_names), cached=True)
    groups = [{"params": first.parameters(), "weight_decay": 5e-4}, {"params": last.parameters()}]
    optimizer, best, kept = torch.optim.Adam(groups, lr=0.01), -1.0, X
    for _ in range(200):
        optimizer.zero_grad()
        hidden = functional.dropout(first(functional.dropout(X, 0.5), edges).relu(), 0.5)
        functional.cross_entropy(last(hidden, edges)[split == 1], y[split == 1]).backward()
        optimizer.step()
        with torch.no_grad():
            logits = last(first(X, edges).relu(), edges)
        accuracy = (logits.argmax(1) == y)[split == 2].float().mean().item()
        if accuracy > best:
            best, kept = accuracy, logits
    return kept.softmax(1).numpy()


def rows(name: Any, seeds: int) -> Iterator[tuple[str, str, Any, Any, float]]:
    """Yield graph, method, accuracies, log-losses and median processor time."""
    nodes = lg.datasets.fetch_planetoid(name)
    test = np.flatnonzero(nodes.splits[0] == 3)  # type: ignore[index]
    methods = {key: classifier_shares(value) for key, value in SETTINGS.items()}
    for key, method in {**methods, "torch-geometric GCN, validation": pyg_gcn}.items():
        accuracies, losses, seconds = [], [], []
        for seed in range(seeds):
            begin = time.process_time()
            shares = method(nodes, seed)[test]
            seconds.append(time.process_time() - begin)
            accuracies.append((shares.argmax(axis=1) == nodes.target[test]).mean())
            chances = shares[np.arange(len(test)), nodes.target[test]]
            losses.append(-np.log(np.maximum(chances, 1e-6)).mean())
        yield name, key, np.array(accuracies), np.array(losses), float(np.median(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print("| graph | method | accuracy % | log-loss | processor time |\n|---|---|--:|--:|--:|")
    for name in ("cora", "citeseer"):
        for _, key, accuracies, losses, seconds in rows(name, arguments.seeds):
            error = 100 * accuracies.std(ddof=1) / np.sqrt(len(accuracies))
            mean = f"{100 * accuracies.mean():.1f} ± {error:.1f}"
            print(
                f"| {name} | {key} | {mean} | {losses.mean():.2f} | {seconds:.2f} s |", flush=True
            )


if __name__ == "__main__":
    main()

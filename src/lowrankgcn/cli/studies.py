"""Studies of the demo: a table as a hypergraph and points as a Gaussian graph.

A study consists of numbers, which are plain values for terminal and JSON, and of the report of a
classification.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

import lowrankgcn as lg
from lowrankgcn.cli.errors import collect_warnings
from lowrankgcn.cli.progress import Stopwatch
from lowrankgcn.report.classification import Classification
from lowrankgcn.report.evidence import Evidence

__all__ = ["Study", "study_cars", "study_spiral"]

_FILTERS = ("linear", "quadratic", "pseudoinverse")  # the paper's three
_BANDWIDTH = 3.5  # the paper's
_EQUAL = 1e-9  # eigenvalues closer than this are one multiple eigenvalue
_SPIRAL_PAIRS = 11  # the trivial one and ten others

_CARS_REMARKS: dict[Literal["acceptability", "buying"], str] = {
    "acceptability": "The original target of this table: how acceptable a car is. It depends on "
    "combinations of columns, which twenty labels hardly show.",
    "buying": "The target of the published results: the buying price. It is itself a column of the "
    "table, so predicting it only shows that the computation works.",
}
_SPIRAL_REMARK = (
    "Two labels per class; the clouds overlap, and the class of a point is the centre "
    "nearest to it."
)


class Study(NamedTuple):
    """Name and numbers of a study, and the classification to report; numbers repeat with the seed.

    The keys of the numbers are "title", "graph", "eigenpairs", "spectrum" (the distinct
    eigenvalues with their multiplicities, None if the solver computed only some), "kernels",
    "tasks", "warnings" and "seconds".
    """

    name: str
    numbers: dict[str, Any]
    classification: Classification


def study_cars(seed: int = 0) -> Study:
    """Study the cars: 1728 rows, six columns, and a hyperedge for each of 21 values."""
    watch = Stopwatch()
    with collect_warnings() as messages:
        cars = lg.datasets.load_cars(as_frame=True)
        with watch.timing("graph"):
            graph = lg.Hypergraph.from_table(cars.data)
            laplacian = lg.Laplacian(graph)
        # The rank is at most the number of hyperedges; the solver finds it.
        found = _spectral(laplacian, graph.n_hyperedges, seed, watch, full_rank=True)
        tasks = []
        for target, remark in _CARS_REMARKS.items():
            given = lg.datasets.load_cars(target, as_frame=True)
            tasks.append(_classify("cars", target, remark, given, seed, watch))
    values = [f"{name} {count}" for name, count in cars.data.nunique().items()]
    numbers = {
        "title": "A table: cars (UCI Car Evaluation)",
        "graph": {
            "rows": graph.n_nodes,
            "hyperedges": graph.n_hyperedges,
            "values per column": ", ".join(values),
            "components": graph.n_components,
            "isolated nodes": int(graph.isolated.sum()),
            "numerical rank": len(found["eigenpairs"]["eigenvalues"]),
        },
        **found,
        "tasks": [task for task, _ in tasks],
        "warnings": messages,
        "seconds": watch.seconds,
    }
    return Study("cars", numbers, tasks[0][1])


def study_spiral(seed: int = 0, n_per_orb: int = 2000) -> Study:
    """Study the spiral: by default 10,000 points in space, all pairs connected."""
    watch = Stopwatch()
    with collect_warnings() as messages:
        spiral = lg.datasets.load_spiral(n_per_orb, random_state=seed, as_frame=True)
        with watch.timing("graph"):
            graph = lg.GaussianGraph(spiral.data, bandwidth=_BANDWIDTH, random_state=seed)
            laplacian = lg.Laplacian(graph)
        found = _spectral(laplacian, _SPIRAL_PAIRS, seed, watch)
        target = "nearest of the five centres"
        task, classification = _classify("spiral", target, _SPIRAL_REMARK, spiral, seed, watch)
    n, error = graph.n_nodes, found["eigenpairs"]["fast_sum_error"]
    numbers = {
        "title": "A point cloud: the spiral",
        "graph": {
            "points": graph.n_nodes,
            "edges, none stored": n * (n - 1) // 2,
            "dimensions": spiral.data.shape[1],
            "bandwidth": graph.bandwidth,
            "components": graph.n_components,
            "isolated nodes": int(graph.isolated.sum()),
            "fast sums": laplacian.affinity.method,
            "their measured error": max(laplacian.affinity.error, error),
        },
        **found,
        "tasks": [task],
        "warnings": messages,
        "seconds": watch.seconds,
    }
    return Study("spiral", numbers, classification)


def _spectral(
    laplacian: lg.Laplacian, count: int, seed: int, watch: Stopwatch, *, full_rank: bool = False
) -> dict[str, Any]:
    """Return the numbers of eigenpairs and kernels."""
    with watch.timing("eigenpairs"), warnings.catch_warnings():
        warnings.simplefilter("ignore", lg.RankWarning)
        pairs = lg.eigenpairs(laplacian, count, random_state=seed)
    spectrum = None
    if pairs.spectrum is not None:
        values, counts = pairs.spectrum.values, pairs.spectrum.counts
        starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > _EQUAL)
        merged = zip(values[starts].tolist(), np.add.reduceat(counts, starts).tolist(), strict=True)
        spectrum = [{"eigenvalue": value, "multiplicity": times} for value, times in merged]
    kernels = []
    with watch.timing("kernels"):
        for kernel in lg.kernel(laplacian, list(_FILTERS), rank=pairs.rank, random_state=seed):
            error = kernel.truncation_error(random_state=seed)
            form = lg.kernel(laplacian, kernel.filter).form if full_rank else None
            kernels.append(
                {
                    "filter": kernel.filter.name,
                    "description": str(kernel.filter),
                    "rank": int(np.count_nonzero(kernel.response)),
                    "truncation_error": error.value,
                    "standard_error": error.standard_error,
                    "full_rank_form": form,
                }
            )
    eigenpairs = {
        "method": pairs.method,
        "products": pairs.iterations,
        "fast_sum_error": pairs.fast_sum_error,
        "eigenvalues": pairs.eigenvalues.tolist(),
        "residuals": pairs.residuals.tolist(),
    }
    return {"eigenpairs": eigenpairs, "spectrum": spectrum, "kernels": kernels}


def _classify(
    source: str, target: str, remark: str, data: Any, seed: int, watch: Stopwatch
) -> tuple[dict[str, Any], Classification]:
    """Return the accuracies on the unlabelled rows, and the first classification."""
    names = np.array(data.target_names, dtype=object)[data.target]
    labels = np.full(len(names), "", dtype=object)
    labels[data.training] = names[data.training]
    tested = labels == ""
    classifiers = [lg.SpectralGPClassifier(random_state=seed)]
    if find_spec("torch") is not None:
        classifiers.append(lg.GCNClassifier(random_state=seed))
    methods = {}
    for classifier in classifiers:
        with watch.timing("classification"):
            right = classifier.fit(data.data, labels).transduction_[tested] == names[tested]
        methods[type(classifier).__name__] = {
            "accuracy": float(right.mean()),
            "balanced_accuracy": float(pd.Series(right).groupby(names[tested]).mean().mean()),
        }
    shares = pd.Series(names[tested]).value_counts(normalize=True)
    numbers = {
        "target": target,
        "remark": remark,
        "labels": len(data.training),
        "methods": methods,
        "largest_class": str(shares.index[0]),
        "largest_class_share": float(shares.iloc[0]),
    }
    codes = pd.Index(classifiers[0].classes_).get_indexer(labels)  # −1: unlabelled
    evidence = Evidence.from_classifier(classifiers[0], codes, importance=True)
    return numbers, Classification.from_classifier(
        classifiers[0], data.data, labels, evidence=evidence, source=source, seed=seed
    )

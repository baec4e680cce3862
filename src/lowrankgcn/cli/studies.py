"""Studies of the demo: a table as a hypergraph and points as a Gaussian graph."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np

import lowrankgcn as lg
from lowrankgcn._format import count
from lowrankgcn.cli.errors import collect_warnings
from lowrankgcn.cli.progress import Stopwatch
from lowrankgcn.exceptions import torch_installed
from lowrankgcn.report.embedding import class_plane, spectral_embedding
from lowrankgcn.report.study import KernelSummary, Study, TargetResult

_FILTERS = ("linear", "quadratic", "pseudoinverse")  # the paper's three
_BANDWIDTH = 3.5  # the paper's
_SPIRAL_PAIRS = 11  # the trivial one and ten others

_CARS_CODE = """
cars = lg.datasets.load_cars(as_frame=True)
laplacian = lg.Laplacian(lg.Hypergraph.from_table(cars.data))
pairs = lg.eigenpairs(laplacian, 16)
kernel = lg.kernel(laplacian, "pseudoinverse", rank=15)
kernel.truncation_error()
y = [""] * len(cars.data)
for row in cars.training:
    y[row] = cars.target_names[cars.target.iloc[row]]
classes = lg.SpectralGPClassifier(random_state={seed}).fit(cars.data, y).transduction_
"""
_SPIRAL_CODE = """
spiral = lg.datasets.load_spiral({n_per_orb}, random_state={seed})
laplacian = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
pairs = lg.eigenpairs(laplacian, 11)
kernel = lg.kernel(laplacian, "pseudoinverse", rank=10)
kernel.truncation_error()
y = [-1] * len(spiral.data)
for row in spiral.training:
    y[row] = spiral.target[row]
classes = lg.SpectralGPClassifier(random_state={seed}).fit(spiral.data, y).transduction_
"""

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
        embedding = spectral_embedding(found["pairs"])
        targets = []
        for target, remark in _CARS_REMARKS.items():
            given = lg.datasets.load_cars(target)
            # In a multiple eigenspace, two single eigenvectors are an arbitrary choice.
            plane = class_plane(embedding, given.target, given.training)
            names = ("first direction of the class means", "second direction")
            with watch.timing("classification"):
                targets.append(_classify(target, remark, cars.data, given, plane, names, seed))
    values = [f"{name} {count}" for name, count in cars.data.nunique().items()]
    return Study(
        name="cars",
        title="A table: cars (UCI Car Evaluation)",
        source="1728 cars, all combinations of the values of six properties. Every value of every "
        "column is a hyperedge that connects its rows; pairs of rows are never stored.",
        header=cars.feature_names,
        sample=tuple(tuple(cars.data.iloc[row]) for row in _rows(graph.n_nodes)),
        facts={
            "rows": graph.n_nodes,
            "hyperedges": graph.n_hyperedges,
            "values per column": ", ".join(values),
            "components": graph.n_components,
            "isolated nodes": int(graph.isolated.sum()),
            "numerical rank": found["pairs"].rank,
        },
        targets=tuple(targets),
        seconds=watch.seconds,
        warnings=tuple(messages),
        code=_CARS_CODE.format(seed=seed),
        **found,
    )


def study_spiral(seed: int = 0, n_per_orb: int = 2000) -> Study:
    """Study the spiral: by default 10,000 points in space, all pairs connected."""
    watch = Stopwatch()
    with collect_warnings() as messages:
        spiral = lg.datasets.load_spiral(n_per_orb, random_state=seed)
        with watch.timing("graph"):
            graph = lg.GaussianGraph(spiral.data, bandwidth=_BANDWIDTH, random_state=seed)
            laplacian = lg.Laplacian(graph)
        found = _spectral(laplacian, _SPIRAL_PAIRS, seed, watch)
        pairs, names = found["pairs"], ("eigenvector 2", "eigenvector 3")
        target, remark = "nearest of the five centres", _SPIRAL_REMARK
        plane = pairs.eigenvectors[:, 1:3]
        with watch.timing("classification"):
            result = _classify(target, remark, spiral.data, spiral, plane, names, seed)
    n = graph.n_nodes
    return Study(
        name="spiral",
        title="A point cloud: the spiral",
        source=f"{count(n)} points around five centres on a spiral in space. All pairs of points "
        f"are connected with weight exp(−‖x − y‖² / bandwidth²): {count(n * (n - 1) // 2)} edges, "
        "none of them stored.",
        header=spiral.feature_names,
        sample=tuple(tuple(f"{x:.4f}" for x in spiral.data[row]) for row in _rows(n)),
        facts={
            "points": graph.n_nodes,
            "dimensions": spiral.data.shape[1],
            "bandwidth": graph.bandwidth,
            "components": graph.n_components,
            "isolated nodes": int(graph.isolated.sum()),
            "fast sums": laplacian.affinity.method,
            "their measured error": max(laplacian.affinity.error, pairs.fast_sum_error),
        },
        targets=(result,),
        seconds=watch.seconds,
        warnings=tuple(messages),
        code=_SPIRAL_CODE.format(n_per_orb=n_per_orb, seed=seed),
        points=spiral.data[:, [0, 2]],
        point_names=("x", "z"),
        **found,
    )


def _spectral(
    laplacian: lg.Laplacian, count: int, seed: int, watch: Stopwatch, *, full_rank: bool = False
) -> dict[str, Any]:
    """Return eigenpairs, filters bound to the spectrum, and summaries of the kernels."""
    with watch.timing("eigenpairs"), warnings.catch_warnings():
        warnings.simplefilter("ignore", lg.RankWarning)
        pairs = lg.eigenpairs(laplacian, count, random_state=seed)
    with watch.timing("kernels"):
        kernels = lg.kernel(laplacian, list(_FILTERS), rank=pairs.rank, random_state=seed)
        full = lg.kernel(laplacian, list(_FILTERS), random_state=seed) if full_rank else [None] * 3
        summaries = [
            KernelSummary.from_kernel(kernel, full=whole, seed=seed)
            for kernel, whole in zip(kernels, full, strict=True)
        ]
    filters = tuple(kernel.filter for kernel in kernels)
    return {"pairs": pairs, "filters": filters, "kernels": tuple(summaries)}


def _classify(
    name: str,
    remark: str,
    X: Any,
    data: lg.datasets.Dataset,
    coordinates: Any,
    axis_names: tuple[str, str],
    seed: int,
) -> TargetResult:
    given = np.full(len(data.target), -1)
    given[data.training] = data.target[data.training]
    classifiers = [lg.SpectralGPClassifier(random_state=seed)]
    if torch_installed():
        classifiers.append(lg.GCNClassifier(random_state=seed))
    return TargetResult(
        name=name,
        remark=remark,
        classes=data.target,
        class_names=data.target_names,
        training=data.training,
        predictions={type(one).__name__: one.fit(X, given).transduction_ for one in classifiers},
        coordinates=coordinates,
        axis_names=axis_names,
    )


def _rows(n: int) -> tuple[int, ...]:
    """Return four rows from the first to the last."""
    return tuple(np.linspace(0, n - 1, 4).astype(int).tolist())

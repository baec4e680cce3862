"""Malformed calls of fit of both classifiers: each raises one clear error and no warning."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from lowrankgcn import AdjacencyGraph, GCNClassifier, SpectralGPClassifier
from tests.support.cases.input_problems import (
    FRAME,
    LABELS,
    POINTS,
    TABLE,
    WEIGHTS,
    N,
    assert_refused,
    changed,
    quick,
)


@dataclass(frozen=True)
class Fit:
    """A call of fit that cannot work."""

    message: str
    X: Any = field(default_factory=lambda: POINTS)
    y: Any = field(default_factory=lambda: LABELS)
    options: dict[str, Any] = field(default_factory=dict)
    sample_weight: Any = None
    error: type[Exception] = ValueError


def option(message: str, **options: Any) -> Fit:
    return Fit(message, options=options)


def network(**options: Any) -> GCNClassifier:
    return quick(**options)


def process(**options: Any) -> SpectralGPClassifier:
    return SpectralGPClassifier(**({"blocks": ["linear", "given-6"], "random_state": 0} | options))


DATA: dict[str, Fit] = {
    "infinity": Fit(
        r"Input X contains infinity|column 1: expected finite numbers",
        changed(POINTS, (3, 1), np.inf),
    ),
    "infinity in a table": Fit(
        r"column 'weight': expected finite numbers, got inf",
        TABLE.assign(weight=changed(POINTS[:, 0], 3, np.inf)),
    ),
    "no rows": Fit(r"0 sample\(s\)", POINTS[:0], LABELS[:0]),
    "no columns": Fit(r"0 feature\(s\)", POINTS[:, :0]),
    "one row": Fit(r"1 sample\(s\)", POINTS[:1], [1]),
    "one row of a table": Fit(r"at least 2 rows, got 1 sample", TABLE[:1], ["a"]),
    "table without columns": Fit(r"0 feature\(s\)", TABLE[[]], options={"graph": "hypergraph"}),
    "one dimension": Fit(r"Expected 2D array, got 1D array|Reshape your data", POINTS[:, 0]),
    "one dimension of texts": Fit(r"Reshape your data", np.array(["a", "b"]), [0, 1]),
    "three dimensions": Fit(r"3", POINTS[None]),
    "a scalar": Fit(r"X: expected a table with rows and columns", 3.0),
    "None": Fit(r"X: expected rows, got None", None),
    "ragged lists": Fit(r"X: expected a table with rows and columns", [[1.0], [2.0, 3.0]], [0, 1]),
    "complex": Fit(r"Complex data not supported", POINTS + 0j),
    "tensor with gradients": Fit(
        r"X: expected an array .* requires grad", torch.tensor(POINTS, requires_grad=True)
    ),
    "sparse table": Fit(
        r"incidence: expected entries 0 and 1, got -",
        sp.csr_array(POINTS - 10),
        options={"graph": "hypergraph"},
    ),
    "columns of one name": Fit(
        r"X: expected columns of different names, got several named 'a'",
        TABLE.set_axis(["a", "a", "b"], axis=1),
    ),
    "numeric columns of one name": Fit(
        r"X: expected columns of different names, got several named 'a'",
        FRAME.set_axis(["a", "a", "b"], axis=1),
    ),
    "names of several kinds": Fit(
        r"all input features to have string names|feature names.* str",
        FRAME.set_axis(["a", 1, "b"], axis=1),
        error=TypeError,
    ),
    "y longer than X": Fit(r"y: expected 24 labels, .* got 25", y=[*LABELS, 1]),
    "y shorter than X": Fit(r"y: expected 24 labels, .* got 23", y=LABELS[1:]),
    "y is None": Fit(r"requires y to be passed, but the target y is None", y=None),
    "y has two columns": Fit(r"y should be a 1d array", y=np.eye(N)),
    "y is continuous": Fit(r"Unknown label type: continuous", y=POINTS[:, 0]),
    "no label": Fit(r"y: expected at least one labelled row", y=np.full(N, -1)),
    "one class": Fit(r"y: expected labels of at least two classes", y=np.zeros(N, int)),
}
OF_POINTS: dict[str, Fit] = {
    "infinite sparse features": Fit(
        r"Input X contains infinity", sp.csr_array(np.full((N, 60), np.inf))
    ),
    "text column of neighbours": Fit(
        r"X: expected numbers only \(graph='hypergraph' supports categories\), got column "
        r"'colour' of kind category",
        TABLE,
        options={"graph": "knn"},
    ),
    "texts in a Gaussian graph": Fit(
        r"X: expected numbers only .* got column 0 of kind category",
        TABLE.to_numpy(),
        options={"graph": "gaussian"},
    ),
    "table of missing cells": Fit(
        r"X: expected a cell that is not missing, got missing cells only",
        pd.DataFrame({"a": [None] * N, "b": [None] * N}, dtype=object),
        options={"graph": "hypergraph"},
    ),
}
WEIGHTED: dict[str, Fit] = {
    "too few weights": Fit(
        r"sample_weight: expected 24 numbers >= 0, got shape \(3,\)", sample_weight=[1, 1, 1]
    ),
    "negative weight": Fit(
        r"sample_weight: expected 24 numbers >= 0, .*minimum -1",
        sample_weight=changed(np.ones(N), 2, -1.0),
    ),
    "NaN as weight": Fit(
        r"sample_weight: expected finite entries, got nan",
        sample_weight=changed(np.ones(N), 2, np.nan),
    ),
    "weights of two dimensions": Fit(
        r"sample_weight: expected .* 1 dimension, got shape \(24, 1\)",
        sample_weight=np.ones((N, 1)),
    ),
    "texts as weights": Fit(r"sample_weight: expected a real numeric", sample_weight=["a"] * N),
    "zero weights": Fit(r"sample_weight: .* zero weights only", sample_weight=np.zeros(N)),
    "no weights": Fit(
        r"sample_weight: expected 24 numbers >= 0, got shape \(0,\)", sample_weight=[]
    ),
}
OPTIONS: dict[str, Fit] = {
    "graph unknown": option(r"graph: expected one of 'auto', .*got 'gausian'", graph="gausian"),
    "graph is a number": option(r"graph: expected a graph or one of .*got int", graph=3),
    "graph of another size": option(
        r"graph: expected 24 nodes, as many as rows, got 3", graph=AdjacencyGraph(np.ones((3, 3)))
    ),
    "graph twice": Fit(
        r"X: expected features, because graph is given",
        AdjacencyGraph(WEIGHTS),
        options={"graph": AdjacencyGraph(WEIGHTS)},
    ),
    "graph twice by name": Fit(
        r"X: expected features, because graph is given, got AdjacencyGraph",
        AdjacencyGraph(WEIGHTS),
        options={"graph": "knn"},
    ),
    "precomputed, not square": Fit(
        r"X: expected a square matrix with graph='precomputed', got \(24, 3\)",
        options={"graph": "precomputed"},
    ),
    "precomputed, not symmetric": Fit(
        r"symmetric", changed(WEIGHTS, (0, 1), 7.0), options={"graph": "precomputed"}
    ),
    "precomputed, negative": Fit(r">= 0", WEIGHTS - 1.0, options={"graph": "precomputed"}),
    "precomputed, NaN": Fit(
        r"Input X contains NaN",
        changed(WEIGHTS, (0, 0), np.nan),
        options={"graph": "precomputed"},
    ),
    "precomputed, texts": Fit(
        r"X: expected numbers only .* got column 'colour'",
        TABLE,
        options={"graph": "precomputed"},
    ),
    "rank 0": option(r"rank: expected an integer >= 1, got 0", rank=0),
    "rank negative": option(r"rank: expected an integer >= 1, got -4", rank=-4),
    "rank fraction": option(r"rank: expected an integer >= 1, got 2.5", rank=2.5),
    "rank True": option(r"rank: expected an integer >= 1, got True", rank=True),
    "rank text": option(r"rank: expected an integer >= 1, got 'large'", rank="large"),
    "seed": option(r"random_state: expected None, an integer .* got -1", random_state=-1),
    "tol": option(r"tol: expected a finite number > 0", tol=0.0),
    "tol too large": option(r"tol: expected .* <= 0.1, got 0.5", tol=0.5),
    "random_state": option(r"random_state: expected None, .* got 'seed'", random_state="seed"),
    "fit_rows": option(r"fit_rows: expected an integer >= 2, got 1", fit_rows=1),
}
NETWORK: dict[str, Fit] = {
    "graph without features at full rank": Fit(
        r"X: expected features for architecture='full', got a graph alone",
        AdjacencyGraph(WEIGHTS),
        options={"architecture": "full"},
    ),
    "architecture unknown": option(
        r"architecture: expected one of 'low-rank'", architecture="deep"
    ),
    "architecture None": option(r"architecture: expected one of .* got None", architecture=None),
    "filter unknown": option(r"filter: expected .*'nothing'", filter="nothing"),
    "filter is a number": option(r"filter: expected ", filter=3),
    "no filter": option(r"filters?: expected ", filter=[]),
    "rank too large": option(r"rank: expected at most 24, the number of rows, got 25", rank=25),
    "bandwidth negative": option(r"bandwidth: expected a finite number > 0", bandwidth=-1.0),
    "bandwidth zero": option(r"bandwidth: expected a finite number > 0", bandwidth=0.0),
    "bandwidth infinite": option(r"bandwidth: expected a finite number > 0", bandwidth=np.inf),
    "bandwidth text": option(
        r"bandwidth: expected a finite number > 0, got 'wide'", bandwidth="wide"
    ),
    "bandwidth of neighbours": option(
        r"bandwidth: expected 'auto' with graph='knn', got 2.0", bandwidth=2.0, graph="knn"
    ),
    "smoother unknown": option(r"smoother: expected ", smoother="loops"),
    "smoother negative": option(r"smoother: expected a finite number >= 0", smoother=-1.0),
    "smoother too short": option(r"smoother: expected ", smoother=np.ones(3)),
    "hidden_widths zero": option(r"hidden_widths: expected an integer >= 1", hidden_widths=(0,)),
    "hidden_widths text": option(r"hidden_widths: expected a sequence", hidden_widths="wide"),
    "hidden_widths None": option(r"hidden_widths: expected a sequence", hidden_widths=None),
    "n_restarts": option(r"n_restarts: expected an integer >= 1, got 0", n_restarts=0),
    "optimizer": option(r"optimizer: expected one of .* got 'sgd'", optimizer="sgd"),
    "learning_rate": option(r"learning_rate: expected a finite number > 0", learning_rate=0.0),
    "learning_rate overflow": option(r"learning_rate: expected .* <= 1e\+30", learning_rate=1e300),
    "penalty overflow": option(r"l2_penalty: expected .* <= 1e\+30", l2_penalty=1e39),
    "learning_rate text": option(r"learning_rate: expected ", learning_rate="fast"),
    "max_iter": option(r"max_iter: expected an integer >= 1, got 0", max_iter=0),
    "l2_penalty": option(r"l2_penalty: expected a finite number >= 0", l2_penalty=-1e-3),
    "bias": option(r"bias: expected True or False, got 1", bias=1),
    "dropout": option(r"dropout: expected a finite number >= 0 and < 1, got 1.0", dropout=1.0),
    "early_stopping": option(r"early_stopping: expected True or False", early_stopping="yes"),
    "class_weight unknown": option(
        r"class_weight: expected weights of the classes \[0, 1\], got 7", class_weight={7: 1.0}
    ),
    "class_weight negative": option(
        r"class_weight\[0\]: expected a finite number >= 0", class_weight={0: -1.0}
    ),
    "class_weight NaN": option(
        r"class_weight\[0\]: expected a finite number >= 0", class_weight={0: np.nan}
    ),
    "class_weight text": option(
        r"class_weight\[0\]: expected a finite number >= 0", class_weight={0: "much"}
    ),
    "class_weight word": option(r"class_weight: expected .*got 'even'", class_weight="even"),
    "class_weight array": option(r"class_weight: expected ", class_weight=np.ones(2)),
    "class_weight zero": option(r"weight", class_weight={0: 0.0, 1: 0.0}),
    "preset": option(r"preset: expected one of 'default', 'paper'", preset="fast"),
    "dtype": option(r"dtype: expected one of 'float32', 'float64'", dtype="float16"),
    "dtype type": option(r"dtype: expected one of ", dtype=np.float32),
    "device": option(r"device: expected a device of torch", device="abacus"),
    "device without data": option(r"device: expected a device of torch", device="meta"),
    "device absent": option(r"device: expected a device of torch", device="cuda:7"),
    "verbose": option(r"verbose: expected True or False", verbose="loud"),
}
PROCESS: dict[str, Fit] = {
    "blocks, a text": option(r"blocks: expected 'auto' or a list", blocks="linear"),
    "no blocks": option(r"blocks: expected 'auto' or a list", blocks=[]),
    "unknown blocks": option(r"blocks: expected one of", blocks=["cubic"]),
    "numbers of blocks": option(r"blocks: expected one of", blocks=[6]),
    "blocks of another graph": option(r"blocks: expected a block that these", blocks=["given-6"]),
    "class_shares, a text": option(
        r"class_shares: expected one of .'auto'", class_shares="balanced"
    ),
    "class_shares, a list": option(
        r"class_shares: expected one of .'auto'", class_shares=[0.5, 0.5]
    ),
    "class_shares without a class": option(
        r"class_shares: expected a share of each of the classes", class_shares={0: 1.0}
    ),
    "class_shares, zero": option(
        r"class_shares\[1\]: expected a finite number > 0", class_shares={0: 1.0, 1: 0.0}
    ),
    "unhashable cells": Fit(r"column 'a': expected hashable values", pd.DataFrame({"a": [{}] * N})),
    "incidence": Fit(
        r"incidence: expected entries 0 and 1",
        sp.csr_array((POINTS > 0) * 2.0),
        options={"graph": "hypergraph"},
    ),
}


@pytest.mark.parametrize(
    ("calls", "make"),
    [
        pytest.param(DATA | OPTIONS, network, id="both, network"),
        pytest.param(DATA | OPTIONS, process, id="both, process"),
        pytest.param(OF_POINTS | WEIGHTED | NETWORK, network, id="network"),
        pytest.param(PROCESS, process, id="process"),
    ],
)
def test_malformed_calls_of_fit(calls: dict[str, Fit], make: Any) -> None:
    for name, call in calls.items():
        classifier = make(**call.options)
        weights = {} if call.sample_weight is None else {"sample_weight": call.sample_weight}
        fit = partial(classifier.fit, call.X, call.y, **weights)
        assert_refused(name, fit, call.message, call.error)
        assert not hasattr(classifier, "classes_"), name

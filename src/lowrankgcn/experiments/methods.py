"""The methods that can be compared, in the order of the tables.

To add a method, write a function of (task, labels, seed) that returns the class probabilities of
every row, and append an entry to ``METHODS``.

>>> [method.key for method in choose(["svc", "gcn"])]
['gcn', 'svc']
>>> choose(["gnc"])
Traceback (most recent call last):
    ...
ValueError: method: expected one of 'gp', 'gcn', ..., 'propagation', got 'gnc'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import softmax
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import lowrankgcn
from lowrankgcn._validation import choice, invalid
from lowrankgcn.tables import TableEncoder

if TYPE_CHECKING:
    from lowrankgcn.experiments.comparison import ComparisonTask

_NEIGHBOURS = 10  # convention
_SAMPLE = 2000  # rows from which the scale of a Gaussian kernel is estimated
_LARGE = 50_000  # rows; a search among all pairs or 200 epochs over all rows take minutes
_DENSE = 10_000  # rows; n×n matrices would take more than 2 GB

Labels = NDArray[np.intp]


class Method(NamedTuple):
    """A method that classifies all rows of a table from few labels.

    Attributes
    ----------
    key : str
        Name for ``--methods``.
    title : str
        Name in tables.
    settings : str
        Description and settings in one line.
    classify : callable (task, labels, seed) -> (n, C) array of float, or (n,) array of int
        Return the probabilities of the classes for every row, or the classes of a method without
        probabilities; labels (n,) are −1 where they are unknown.
    packages : tuple of str
        Optional packages to import; pip's names for them have hyphens instead of underscores.
    limit : float
        Number of rows beyond which the method is skipped.
    on_graph : bool
        Whether the method needs a given graph.
    """

    key: str
    title: str
    settings: str
    classify: Callable[[ComparisonTask, Labels, int], NDArray[Any]]
    packages: tuple[str, ...] = ()
    limit: float = math.inf
    on_graph: bool = False

    def obstacle(self, n_rows: int = 0, graph: bool = True) -> str | None:
        """Return why the method cannot run on a table of this size, or None."""
        if self.on_graph and not graph:
            return "needs a graph of the rows; use --edges or --hyperedges"
        for package in self.packages:
            if find_spec(package) is None:
                extra = "nn" if self.packages == ("torch",) else "peers"
                name = package.replace("_", "-")
                return f"{name} is not installed; pip install 'lowrankgcn[{extra}]'"
        too_large = f"more than {self.limit} rows take too much time or memory"
        return too_large if n_rows > self.limit else None


def _ours(name: str, task: ComparisonTask, labels: Labels, seed: int, **settings: Any) -> Any:
    settings |= {} if task.graph is None else {"graph": task.graph}
    model = getattr(lowrankgcn, name)(random_state=seed, **settings)
    return model.fit(task.rows, labels).label_distributions_


def _supervised(build: Any, task: ComparisonTask, labels: Labels, seed: int) -> Any:
    """Classify all rows with a classifier that learns from the labelled rows only."""
    known = labels >= 0
    model = build(random_state=seed).fit(task.numbers[known], labels[known])
    if hasattr(model, "predict_proba"):
        return model.predict_proba(task.numbers)
    scores = model.decision_function(task.numbers)
    return softmax(scores if scores.ndim == 2 else np.stack([-scores, scores], 1), axis=1)


def _catboost(task: ComparisonTask, labels: Labels, seed: int) -> Any:
    from catboost import CatBoostClassifier

    silent = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    return _supervised(partial(CatBoostClassifier, iterations=200, **silent), task, labels, seed)


def _nearest(rows: NDArray[np.float64]) -> Any:
    """Return distances and indices of every row itself and its ten nearest rows, (n, 11) each."""
    return NearestNeighbors(n_neighbors=min(_NEIGHBOURS + 1, len(rows))).fit(rows).kneighbors(rows)


def _spreading(kernel: str, task: ComparisonTask, labels: Labels, seed: int) -> Any:
    count = min(_NEIGHBOURS, task.n_rows)
    model = LabelSpreading(kernel=kernel, n_neighbors=count, max_iter=100)
    if kernel == "rbf":  # the scale is the median distance to the tenth neighbour
        size = min(_SAMPLE, task.n_rows)
        chosen = np.random.default_rng(seed).choice(task.n_rows, size, replace=False)
        distances = _nearest(task.numbers[chosen])[0][:, -1]
        scale = float(np.median(distances)) or float(distances.max()) or 1.0
        model.set_params(gamma=2 / scale**2)
    return model.fit(task.numbers, labels).label_distributions_


def _poisson(task: ComparisonTask, labels: Labels, seed: int) -> Any:
    import graphlearning

    # The package's own search in many columns is approximate and needs another package.
    distances, nearest = _nearest(task.numbers)
    # Gaussian weights divide by the distance to the last neighbour.
    kernel = "gaussian" if distances[:, -1].all() else "uniform"
    search = {"kernel": kernel, "knn_data": (nearest, distances)}
    weights = graphlearning.weightmatrix.knn(None, nearest.shape[1] - 1, **search)
    # On a disconnected graph the equation may have no solution; conjugate gradients would stall.
    connected = connected_components(weights, directed=False)[0] == 1
    solver = "conjugate_gradient" if connected else "gradient_descent"
    index = np.flatnonzero(labels >= 0)
    return graphlearning.ssl.poisson(weights, solver=solver).fit_predict(index, labels[index])


def hyperedges(task: ComparisonTask) -> NDArray[np.int64]:
    """Return the members of the hyperedges that a user would build, as (row, hyperedge), (2, m).

    There is one for every value of every column (numbers in five bins) if the table has
    categories and no vectors, otherwise one for every row and its ten nearest rows.

    >>> import pandas as pd
    >>> from lowrankgcn.experiments.comparison import ComparisonTask
    >>> frame = pd.DataFrame({"colour": ["red", "blue", "red", "blue"]})
    >>> hyperedges(ComparisonTask("things", frame, [0, 1, 0, 1]))
    array([[0, 1, 2, 3],
           [1, 0, 1, 0]])
    """
    if task.categorical:
        encoder, codes = TableEncoder.fit_transform(task.rows)
        rows, columns = np.nonzero(codes < encoder.n_hyperedges)
        return np.stack([rows, codes[rows, columns]]).astype(np.int64)
    _, members = _nearest(task.numbers)
    owners = np.repeat(np.arange(task.n_rows), members.shape[1])
    return np.stack([members.ravel(), owners]).astype(np.int64)


def given_weights(graph: Any) -> Any:
    """Return the weights of a given graph, or of the clique expansion of a hypergraph, as csr.

    >>> given_weights(lowrankgcn.Hypergraph([[1, 0], [1, 1], [0, 1]])).toarray()
    array([[0. , 0.5, 0. ],
           [0.5, 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    if not isinstance(graph, lowrankgcn.Hypergraph):
        return sp.csr_array(graph.adjacency + sp.diags_array(graph.loop_weights))
    incidence: Any = graph.incidence
    H = incidence.matrix
    weights = sp.csr_array(
        H @ sp.diags_array(graph.hyperedge_weights / graph.hyperedge_sizes) @ H.T
    )
    return sp.csr_array(weights - sp.diags_array(weights.diagonal()))


def _propagation(task: ComparisonTask, labels: Labels, seed: int) -> Any:
    """Propagate labels, Y ← 0.9 S Y + 0.1 Y₀; rows without a label in reach get equal shares."""
    W, known = given_weights(task.graph), np.flatnonzero(labels >= 0)
    roots = np.sqrt(np.maximum(W.sum(axis=1), 1e-300))
    S = sp.diags_array(1 / roots) @ W @ sp.diags_array(1 / roots)
    start = np.zeros((task.n_rows, len(task.class_names)))
    start[known, labels[known]] = 1.0
    shares = start
    for _ in range(50):
        shares = 0.9 * (S @ shares) + 0.1 * start
    shares += np.where(shares.sum(axis=1, keepdims=True) > 0, 0.0, 1.0)
    return shares / shares.sum(axis=1, keepdims=True)


def _hypergraph_conv(task: ComparisonTask, labels: Labels, seed: int) -> Any:
    """Classify all rows with two layers of torch-geometric's HypergraphConv."""
    from torch_geometric.nn import HypergraphConv

    def layers(n_columns: int, n_classes: int, nn: Any) -> list[Any]:
        first, last = HypergraphConv(n_columns, 16), HypergraphConv(16, n_classes)
        return [(first, "X, edges -> X"), nn.ReLU(), nn.Dropout(0.5), (last, "X, edges -> X")]

    return _trained(layers, task, labels, seed, hyperedges(task))


def _pyg(kind: str, task: ComparisonTask, labels: Labels, seed: int) -> Any:
    """Classify the nodes of a given graph with a network of torch-geometric."""
    from torch_geometric import nn as pyg

    pairs = sp.coo_array(given_weights(task.graph))

    def layers(n_columns: int, n_classes: int, nn: Any) -> list[Any]:
        on_graph = "X, edges, weights -> X"
        if kind == "sgc":
            return [(pyg.SGConv(n_columns, n_classes, K=2), on_graph)]
        middle = [nn.ReLU(), nn.Dropout(0.5)]
        if kind == "gcn":
            first, last = pyg.GCNConv(n_columns, 16), pyg.GCNConv(16, n_classes)
            return [nn.Dropout(0.5), (first, on_graph), *middle, (last, on_graph)]
        dense = [nn.Dropout(0.5), nn.Linear(n_columns, 64), *middle, nn.Linear(64, n_classes)]
        return [*dense, (pyg.APPNP(K=10, alpha=0.1), on_graph)]

    rate, decay = (0.2, 0.005) if kind == "sgc" else (0.01, 0.0005)
    edges = np.stack(pairs.coords).astype(np.int64)
    return _trained(layers, task, labels, seed, edges, pairs.data, rate=rate, decay=decay)


def _trained(
    layers: Callable[[int, int, Any], list[Any]],
    task: ComparisonTask,
    labels: Labels,
    seed: int,
    edges: NDArray[np.int64],
    weights: Any = None,
    *,
    rate: float = 0.01,
    decay: float = 0.0005,
) -> Any:
    """Train a network of torch-geometric with Adam, as in the examples of that project.

    Without validation rows the last of 200 epochs counts.
    """
    import torch
    from torch_geometric.nn import Sequential

    X, classes = torch.as_tensor(task.numbers, dtype=torch.float32), torch.as_tensor(labels)
    inputs, names = [X, torch.as_tensor(edges)], "X, edges"
    if weights is not None:
        inputs, names = [*inputs, torch.as_tensor(weights, dtype=X.dtype)], f"{names}, weights"
    loss_of = torch.nn.CrossEntropyLoss(ignore_index=-1)
    with torch.random.fork_rng(devices=[]):  # the package draws from torch's global generator
        torch.manual_seed(seed)
        made = [
            (one, "X -> X") if isinstance(one, torch.nn.Module) else one
            for one in layers(X.shape[1], len(task.class_names), torch.nn)
        ]
        network = Sequential(names, made).train()
        optimizer = torch.optim.Adam(network.parameters(), lr=rate, weight_decay=decay)
        for _ in range(200):
            optimizer.zero_grad()
            loss_of(network(*inputs), classes).backward()
            optimizer.step()
        return network.eval()(*inputs).softmax(dim=1).detach().numpy()


_GP = "default arguments: Gaussian process with a learned spectral filter"
_GCN = "default arguments: L-GCN, or a GCN on a given graph"
_R_GCN = 'architecture="reduced"'
_PAPER = 'preset="paper": L-GCN of rank 20 with the pseudoinverse, 1000 steps of gradient descent'
_DEFAULTS = "scikit-learn's defaults"
_FOREST = f"{_DEFAULTS}: 100 trees"
_SVC = f"{_DEFAULTS}: Gaussian kernel, C = 1; probabilities: softmax of its scores"
_BOOSTING = f"{_DEFAULTS}, but leaves of at least 5 rows; 20 allow no split with few labels"
_KNN = "ten neighbours, more accurate on average than the default of seven; α = 0.2"
_RBF = "γ = 2 over the squared median distance to the tenth neighbour, not 20 at any scale; α = 0.2"
_CONV = (
    "torch-geometric, two layers; hypergraph of the columns' values, or of ten neighbours; 16 "
    "hidden units, dropout 0.5, 200 epochs of Adam at 0.01, weight decay 0.0005"
)
_POISSON = "graphlearning's defaults, ten neighbours; gradient descent if they are not connected"
_KIPF = "torch-geometric: 16 hidden units, dropout 0.5, 200 epochs of Adam at 0.01"
_SGC = "torch-geometric: two steps, 200 epochs of Adam at 0.2, weight decay 0.005"
_APPNP = "torch-geometric: 64 hidden units, ten steps, α = 0.1, 200 epochs of Adam at 0.01"
_PROPAGATION = "on the given graph, without columns: α = 0.9, 50 steps"
_NN, _PYG = ("torch",), ("torch", "torch_geometric")
_gcn = partial(_ours, "GCNClassifier")
_reduced = partial(_gcn, architecture="reduced")
_logistic = partial(LogisticRegression, max_iter=5000)
_boosting = partial(HistGradientBoostingClassifier, min_samples_leaf=5)

METHODS = (
    Method("gp", "SpectralGPClassifier", _GP, partial(_ours, "SpectralGPClassifier")),
    Method("gcn", "GCNClassifier", _GCN, _gcn, _NN),
    Method("gcn-reduced", "GCNClassifier, R-GCN", _R_GCN, _reduced, _NN),
    Method("gcn-paper", "GCNClassifier, paper", _PAPER, partial(_gcn, preset="paper"), _NN),
    Method("logistic", "LogisticRegression", _DEFAULTS, partial(_supervised, _logistic)),
    Method("forest", "RandomForest", _FOREST, partial(_supervised, RandomForestClassifier)),
    Method("svc", "SVC", _SVC, partial(_supervised, SVC)),
    Method("boosting", "HistGradientBoosting", _BOOSTING, partial(_supervised, _boosting)),
    Method("catboost", "CatBoost", "200 iterations, one thread", _catboost, ("catboost",)),
    Method("spreading-knn", "LabelSpreading, kNN", _KNN, partial(_spreading, "knn"), (), _LARGE),
    Method("spreading-rbf", "LabelSpreading, rbf", _RBF, partial(_spreading, "rbf"), (), _DENSE),
    Method("hypergraph-conv", "HypergraphConv", _CONV, _hypergraph_conv, _PYG, _LARGE),
    Method("poisson", "Poisson learning", _POISSON, _poisson, ("graphlearning",), _LARGE),
    Method("pyg-gcn", "GCN", _KIPF, partial(_pyg, "gcn"), _PYG, _LARGE, True),
    Method("pyg-sgc", "SGC", _SGC, partial(_pyg, "sgc"), _PYG, _LARGE, True),
    Method("pyg-appnp", "APPNP", _APPNP, partial(_pyg, "appnp"), _PYG, _LARGE, True),
    Method("propagation", "Label propagation", _PROPAGATION, _propagation, on_graph=True),
)
REFERENCE = METHODS[0]


def choose(keys: Sequence[str] | None = None) -> tuple[Method, ...]:
    """Return the methods with these keys, in the order of ``METHODS``; all of them for None.

    Raises
    ------
    ValueError
        If a key is unknown or the package of a method is not installed.
    """
    if keys is None:
        return METHODS
    wanted = {choice(key, "method", [method.key for method in METHODS]) for key in keys}
    chosen = tuple(method for method in METHODS if method.key in wanted)
    for method in chosen:
        if (obstacle := method.obstacle()) is not None:
            raise invalid("method", "methods that are installed", f"{method.key!r}: {obstacle}")
    return chosen

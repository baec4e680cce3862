"""The methods that can be compared, in the order of the tables.

To add a method, write a function of (task, labels, seed) that returns the class probabilities of
every row, and append an entry to ``METHODS``.

>>> [method.key for method in choose(["svc", "gcn"])]
['gcn', 'svc']
>>> choose(["gnc"])
Traceback (most recent call last):
    ...
ValueError: method: expected one of 'gp', 'gcn', ..., 'poisson', got 'gnc'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
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
from lowrankgcn.experiments.comparison.task import ComparisonTask
from lowrankgcn.tables import TableEncoder

_NEIGHBOURS = 10
_SAMPLE = 2000
# HypergraphConv is trained as in the examples of its project; without validation rows the last
# epoch counts.
_HIDDEN, _DROPOUT, _EPOCHS = 16, 0.5, 200

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
    limit : int or None
        Number of rows beyond which the method is skipped.
    """

    key: str
    title: str
    settings: str
    classify: Callable[[ComparisonTask, Labels, int], NDArray[Any]]
    packages: tuple[str, ...] = ()
    limit: int | None = None

    def obstacle(self, n_rows: int = 0) -> str | None:
        """Return why the method cannot run on a table of this size, or None."""
        for package in self.packages:
            if find_spec(package) is None:
                return f"{package.replace('_', '-')} is not installed"
        if self.limit is not None and n_rows > self.limit:
            return f"more than {self.limit} rows take too much time or memory"
        return None


def _spreading_knn(task: ComparisonTask, labels: Labels, seed: int) -> Any:
    count = min(_NEIGHBOURS, task.n_rows)
    return _spread(task, labels, kernel="knn", n_neighbors=count)


def _spreading_rbf(task: ComparisonTask, labels: Labels, seed: int) -> Any:
    # The scale is the median distance to the tenth neighbour among at most 2000 rows.
    size = min(_SAMPLE, task.n_rows)
    chosen = np.random.default_rng(seed).choice(task.n_rows, size, replace=False)
    search = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, size - 1)).fit(task.numbers[chosen])
    distances = search.kneighbors()[0][:, -1]
    scale = float(np.median(distances)) or float(distances.max()) or 1.0
    return _spread(task, labels, kernel="rbf", gamma=2 / scale**2)


def _spread(task: ComparisonTask, labels: Labels, **settings: Any) -> Any:
    return LabelSpreading(max_iter=100, **settings).fit(task.numbers, labels).label_distributions_


def _nearest(task: ComparisonTask) -> Any:
    """Return distances and indices of every row itself and its ten nearest rows, (n, 11) each."""
    search = NearestNeighbors(n_neighbors=min(_NEIGHBOURS + 1, task.n_rows)).fit(task.numbers)
    return search.kneighbors(task.numbers)


def _poisson(task: ComparisonTask, labels: Labels, seed: int) -> Any:
    import graphlearning

    # The package's own search in many columns is approximate and needs another package.
    distances, nearest = _nearest(task)
    count = nearest.shape[1] - 1
    # Gaussian weights divide by the distance to the last neighbour.
    kernel = "gaussian" if distances[:, -1].all() else "uniform"
    weights = graphlearning.weightmatrix.knn(
        None, count, kernel=kernel, knn_data=(nearest, distances)
    )
    # On a disconnected graph the equation may have no solution; conjugate gradients would stall.
    connected = connected_components(weights, directed=False)[0] == 1
    solver = "conjugate_gradient" if connected else "gradient_descent"
    index = np.flatnonzero(labels >= 0)
    model = graphlearning.ssl.poisson(weights, solver=solver)
    return model.fit_predict(index, labels[index])


def hyperedges(task: ComparisonTask) -> NDArray[np.int64]:
    """Return the members of the hyperedges that a user would build, as (row, hyperedge), (2, m).

    There is one for every value of every column (numbers in five bins) if the table has
    categories, otherwise one for every row and its ten nearest rows.

    >>> import pandas as pd
    >>> from lowrankgcn.experiments.comparison.task import ComparisonTask
    >>> frame = pd.DataFrame({"colour": ["red", "blue", "red", "blue"]})
    >>> hyperedges(ComparisonTask("things", frame, [0, 1, 0, 1]))
    array([[0, 1, 2, 3],
           [1, 0, 1, 0]])
    """
    if task.categorical:
        encoder, codes = TableEncoder.fit_transform(task.rows)
        rows, columns = np.nonzero(codes < encoder.n_hyperedges)
        return np.stack([rows, codes[rows, columns]]).astype(np.int64)
    _, members = _nearest(task)
    owners = np.repeat(np.arange(task.n_rows), members.shape[1])
    return np.stack([members.ravel(), owners]).astype(np.int64)


def _hypergraph_conv(task: ComparisonTask, labels: Labels, seed: int) -> Any:
    """Classify all rows with two layers of torch-geometric's HypergraphConv, trained with Adam."""
    import torch
    from torch_geometric.nn import HypergraphConv, Sequential

    index = np.flatnonzero(labels >= 0)
    known, classes = torch.as_tensor(index), torch.as_tensor(labels[index])
    X = torch.as_tensor(task.numbers, dtype=torch.float32)
    hypergraph = torch.as_tensor(hyperedges(task))
    with torch.random.fork_rng(devices=[]):  # the package draws from torch's global generator
        torch.manual_seed(seed)
        layers = [
            (HypergraphConv(X.shape[1], _HIDDEN), "X, index -> X"),
            torch.nn.ReLU(),
            torch.nn.Dropout(_DROPOUT),
            (HypergraphConv(_HIDDEN, len(task.class_names)), "X, index -> X"),
        ]
        network = Sequential("X, index", layers).train()
        optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=0.0005)
        for _ in range(_EPOCHS):
            optimizer.zero_grad()
            loss: Any = torch.nn.functional.cross_entropy(network(X, hypergraph)[known], classes)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            return network.eval()(X, hypergraph).softmax(dim=1).numpy()


def _ours(key: str, title: str, note: str, packages: tuple[str, ...], **settings: Any) -> Method:
    """Return the classifier of this library whose name begins the title."""
    name = title.partition(",")[0]

    def classify(task: ComparisonTask, labels: Labels, seed: int) -> Any:
        model = getattr(lowrankgcn, name)(random_state=seed, **settings)
        return model.fit(task.rows, labels).label_distributions_

    text = ", ".join(f'{argument}="{value}"' for argument, value in settings.items())
    return Method(key, title, text + note, classify, packages)


def _supervised(
    key: str, title: str, note: str, build: Callable[..., Any], packages: tuple[str, ...] = ()
) -> Method:
    """Return a classifier that uses labelled rows only; `build` creates it."""

    def classify(task: ComparisonTask, labels: Labels, seed: int) -> Any:
        known = labels >= 0
        model = build(random_state=seed).fit(task.numbers[known], labels[known])
        if hasattr(model, "predict_proba"):
            return model.predict_proba(task.numbers)
        scores = model.decision_function(task.numbers)
        return softmax(scores if scores.ndim == 2 else np.stack([-scores, scores], 1), axis=1)

    return Method(key, title, note, classify, packages)


def _catboost(**settings: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=200, thread_count=1, verbose=False, allow_writing_files=False, **settings
    )


_GP = "default arguments: Gaussian process with a learned spectral filter"
_GCN = "default arguments: L-GCN"
_PAPER = ": L-GCN of rank 20 with the pseudoinverse, 1000 steps of gradient descent"
_DEFAULTS = "scikit-learn's defaults"
_SVC = ": Gaussian kernel, C = 1; probabilities: softmax of its scores"
_LEAVES = ", but leaves of at least 5 rows; the default of 20 allows no split with few labels"
_LOGISTIC = partial(LogisticRegression, max_iter=5000)
_BOOSTING = partial(HistGradientBoostingClassifier, min_samples_leaf=5)
_KNN = "ten neighbours, more accurate on average than the default of seven; α = 0.2"
_RBF = (
    "γ = 2 over the squared median distance to the tenth neighbour, because the default of 20 "
    "fits one scale only; α = 0.2"
)
_PYG = ("torch", "torch_geometric")
_CONV = (
    "torch-geometric, two layers; hypergraph of the columns' values, or of ten neighbours; "
    f"{_HIDDEN} hidden units, dropout {_DROPOUT}, {_EPOCHS} epochs of Adam at 0.01, weight decay "
    "0.0005"
)
_POISSON = (
    "graphlearning's defaults on ten neighbours with Gaussian weights; gradient descent if "
    "their graph is not connected"
)
_LARGE = 50_000  # rows; a search among all pairs or 200 epochs over all rows take minutes
_DENSE = 10_000  # rows; n×n matrices would take more than 2 GB

REFERENCE = _ours("gp", "SpectralGPClassifier", _GP, ())
METHODS = (
    REFERENCE,
    _ours("gcn", "GCNClassifier", _GCN, ("torch",)),
    _ours("gcn-reduced", "GCNClassifier, R-GCN", "", ("torch",), architecture="reduced"),
    _ours("gcn-paper", "GCNClassifier, paper", _PAPER, ("torch",), preset="paper"),
    _supervised("logistic", "LogisticRegression", _DEFAULTS, _LOGISTIC),
    _supervised("forest", "RandomForest", f"{_DEFAULTS}: 100 trees", RandomForestClassifier),
    _supervised("svc", "SVC", f"{_DEFAULTS}{_SVC}", SVC),
    _supervised("boosting", "HistGradientBoosting", f"{_DEFAULTS}{_LEAVES}", _BOOSTING),
    _supervised("catboost", "CatBoost", "200 iterations, one thread", _catboost, ("catboost",)),
    Method("spreading-knn", "LabelSpreading, kNN", _KNN, _spreading_knn, limit=_LARGE),
    Method("spreading-rbf", "LabelSpreading, rbf", _RBF, _spreading_rbf, limit=_DENSE),
    Method("hypergraph-conv", "HypergraphConv", _CONV, _hypergraph_conv, _PYG, _LARGE),
    Method("poisson", "Poisson learning", _POISSON, _poisson, ("graphlearning",), _LARGE),
)


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
            extra = "nn" if method.packages == ("torch",) else "peers"
            got = f"{method.key!r}: {obstacle}; pip install 'lowrankgcn[{extra}]'"
            raise invalid("method", "methods that are installed", got)
    return chosen

"""The return value of every loader: samples, classes and training nodes.

>>> from lowrankgcn.datasets import load_cars
>>> load_cars()
<Dataset: 1728 rows, 6 features, 4 classes, 20 training nodes>
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._validation import invalid, positive_int


@final
@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Samples, their classes, and training nodes.

    Attributes
    ----------
    data : ndarray, pandas.DataFrame or csr_array, shape (n, n_features)
    target : ndarray of int64 or pandas.Series, shape (n,)
        Class of each row, an index into ``target_names``.
    feature_names : tuple of str
    target_names : tuple of str
    training : ndarray of intp
        Sorted 0-based indices of the training nodes.
    DESCR : str
        Description and origin of the data.
    adjacency : (n, n) csr_array or None
        Weights of a given graph.
    incidence : (n, m) csr_array or None
        Memberships of nodes in the hyperedges of a given hypergraph.
    splits : (s, n) int8 array or None
        Published splits: 1 for training nodes, 2 for validation, 3 for test, 0 for others.

    See Also
    --------
    load_spiral, load_cars, load_mushrooms : Loaders.
    fetch_planetoid, fetch_hypergraph, fetch_heterophilous : Nodes of graphs.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> cars = lg.datasets.load_cars()
    >>> cars
    <Dataset: 1728 rows, 6 features, 4 classes, 20 training nodes>
    >>> cars.target_names[cars.target[0]]
    'unacc'
    """

    data: Any
    target: Any
    feature_names: tuple[str, ...]
    target_names: tuple[str, ...]
    training: NDArray[np.intp]
    DESCR: str
    adjacency: Any = None
    incidence: Any = None
    splits: NDArray[np.int8] | None = None

    @cached_property
    def graph(self) -> Any:
        """The given graph, an AdjacencyGraph or a Hypergraph; None for tables and points."""
        graphs = import_module("lowrankgcn.graphs")  # which is built on this package
        if self.incidence is not None:
            return graphs.Hypergraph(self.incidence)
        return None if self.adjacency is None else graphs.AdjacencyGraph(self.adjacency)

    def labels(self, split: int = 0, part: int = 1) -> NDArray[np.int64]:
        """Return the classes of one part of a published split, −1 for all other nodes.

        Parameters
        ----------
        split : int
            Number of the split.
        part : {1, 2, 3}
            1 for training nodes, 2 for validation, 3 for test.
        """
        if self.splits is None:
            raise invalid("split", "a dataset with published splits", repr(self))
        chosen = self.splits[positive_int(split, "split", minimum=0, maximum=len(self.splits) - 1)]
        return np.where(chosen == part, np.asarray(self.target), -1)

    def __repr__(self) -> str:
        n, d = self.data.shape
        classes, training = len(self.target_names), len(self.training)
        return f"<Dataset: {n} rows, {d} features, {classes} classes, {training} training nodes>"


def assemble(
    name: str,
    data: NDArray[Any],
    target: NDArray[Any],
    feature_names: tuple[str, ...],
    target_names: tuple[str, ...],
    training: NDArray[Any],
    frame_target: str | None,
) -> Dataset:
    """Assemble arrays, or with `frame_target` (the target's name) a DataFrame and a Series.

    The description is the file of the given `name` in the folder ``descriptions``.
    """
    rows: Any = data
    classes: Any = target.astype(np.int64)
    if frame_target is not None:
        rows = pd.DataFrame(data, columns=list(feature_names))
        classes = pd.Series(classes, name=frame_target)
    text = files("lowrankgcn.datasets").joinpath("descriptions", f"{name}.txt").read_text("utf-8")
    return Dataset(rows, classes, feature_names, target_names, training.astype(np.intp), text)

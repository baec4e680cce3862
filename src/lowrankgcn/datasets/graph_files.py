"""Readers of the benchmark graphs and hypergraphs of the field, in their original files.

The readers follow the published formats. Their tests write small files in these formats; the
original files were not available when they were written. ``checksums.txt`` has the SHA-256 of the
files of Planetoid and of two heterophilous graphs, at the commits that are downloaded, on which
three public repositories agree. Those of other files are not published: the first download is
trusted, and later ones are compared with it.

Repacked files ``graphs/<name>.npz`` in the data directory are read first: arrays ``labels``,
``split_0``, ``split_1``, … (1 training, 2 validation, 3 test, 0 none), and ``features_*`` with
``weights_*`` or ``incidence_*`` for csr arrays (``indptr``, ``indices``, ``shape``, and ``values``,
of length one if all are equal).
"""

from __future__ import annotations

import io
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._validation import choice, invalid
from lowrankgcn.datasets.dataset import Dataset
from lowrankgcn.datasets.download import RemoteFile, data_directory
from lowrankgcn.datasets.pickles import read_pickle

_LARGEST_FILE = 2**29  # bytes, of files with unknown size
_PLANETOID = ("cora", "citeseer", "pubmed")
_N_VALIDATION = 500  # nodes after the training nodes, in Planetoid's public split
_HYPERGRAPHS = {
    "cocit_cora": "cocitation/cora",
    "cocit_citeseer": "cocitation/citeseer",
    "cocit_pubmed": "cocitation/pubmed",
    "coauth_cora": "coauthorship/cora",
    "coauth_dblp": "coauthorship/dblp",
}
_GEOM_GCN = ("texas", "wisconsin", "cornell")
_FILTERED = ("chameleon_filtered", "squirrel_filtered", "roman_empire", "amazon_ratings")
_N_SPLITS = 10
_GITHUB = "https://raw.githubusercontent.com/"
_PLANETOID_COMMIT = "af6abf468a772cc055bec88c52e4d6f51b7c37e3"
_HETEROPHILOUS_COMMIT = "a431395582e929d88271309716bea4fe24ce6318"
_ADDRESSES = {
    "planetoid": f"{_GITHUB}kimiyoung/planetoid/{_PLANETOID_COMMIT}/data/",
    "hypergcn": f"{_GITHUB}malllabiisc/HyperGCN/master/data/",
    "geom-gcn": f"{_GITHUB}graphdml-uiuc-jlu/geom-gcn/master/",
    "heterophilous": f"{_GITHUB}yandex-research/heterophilous-graphs/{_HETEROPHILOUS_COMMIT}/data/",
}


def fetch_planetoid(name: Literal["cora", "citeseer", "pubmed"], *, fetch: bool = True) -> Dataset:
    """Load a citation graph of Planetoid with its public split.

    Nodes are documents, features are their words, edges are citations in either direction. Loops
    and repetitions of edges are left out.

    Parameters
    ----------
    name : {"cora", "citeseer", "pubmed"}
    fetch : bool
        False: do not use the network; fail if the files are not in the data directory.

    Returns
    -------
    Dataset
        ``data`` and ``adjacency`` are csr arrays, ``graph`` is an AdjacencyGraph. ``splits`` has
        20 training nodes per class, 500 validation nodes and 1000 test nodes. ``target`` is −1 for
        the 15 nodes of Citeseer without a class.

    Raises
    ------
    DataUnavailableError
        If a file ``planetoid/ind.<name>.*`` is missing and cannot be downloaded.
    ValueError
        If a file is not as expected.

    See Also
    --------
    fetch_hypergraph, fetch_heterophilous : Other graphs.

    Notes
    -----
    Without ``graphs/<name>.npz``, the original files ind.<name>.x, tx, allx, y, ty, ally, graph and
    test.index are read. This was tried with small files of the same format only.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> available = (lg.datasets.data_directory() / "graphs" / "cora.npz").is_file()
    >>> lg.datasets.fetch_planetoid("cora").data.shape if available else (2708, 1433)
    (2708, 1433)
    """
    choice(name, "name", _PLANETOID)
    if (packed := _read_packed(name)) is not None:
        return packed
    parts = {
        part: _pickled("planetoid", f"ind.{name}.{part}", fetch)
        for part in ("tx", "allx", "y", "ty", "ally", "graph")
    }
    file = _file("planetoid", f"ind.{name}.test.index")
    test = np.array(file.read(fetch=fetch).split(), np.int64)
    known = parts["allx"].shape[0]
    if parts["tx"].shape[0] != len(test) or test.min(initial=known) < known:
        raise invalid(file.name, f"{parts['tx'].shape[0]} nodes from {known} on", len(test))
    rows, n = np.append(np.arange(known), test), int(test.max()) + 1
    words = sp.coo_array(sp.vstack([parts["allx"], parts["tx"]]))
    X = sp.csr_array((words.data, (rows[words.row], words.col)), shape=(n, words.shape[1]))
    target, one_hot = np.full(n, -1), np.vstack([parts["ally"], parts["ty"]])
    target[rows] = np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    split, n_training = np.zeros((1, n), np.int8), len(parts["y"])
    split[0, test], split[0, :n_training] = 3, 1
    split[0, n_training : min(n_training + _N_VALIDATION, known)] = 2
    edges = [(i, j) for i, others in parts["graph"].items() for j in others]
    return _assemble(name, X, target, split, adjacency=_adjacency(edges, n))


def fetch_hypergraph(name: str, *, fetch: bool = True) -> Dataset:
    """Load a hypergraph of documents with the ten splits of HyperGCN.

    Parameters
    ----------
    name : {"cocit_cora", "cocit_citeseer", "cocit_pubmed", "coauth_cora", "coauth_dblp"}
        Documents cited together, or by one author.
    fetch : bool
        False: do not use the network; fail if the files are not in the data directory.

    Returns
    -------
    Dataset
        ``data`` and ``incidence`` are csr arrays, ``graph`` is a Hypergraph.

    Raises
    ------
    DataUnavailableError
        If a file ``hypergcn/<kind>/<name>/*.pickle`` is missing and cannot be downloaded.
    ValueError
        If a file is not as expected.

    See Also
    --------
    fetch_planetoid, fetch_heterophilous : Other graphs.

    Notes
    -----
    Without ``graphs/<name>.npz``, the original files features, labels, hypergraph and
    splits/1 … 10 are read. This was tried with small files of the same format only.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> available = (lg.datasets.data_directory() / "graphs" / "cocit_cora.npz").is_file()
    >>> lg.datasets.fetch_hypergraph("cocit_cora").splits.shape if available else (10, 2708)
    (10, 2708)
    """
    folder = _HYPERGRAPHS[choice(name, "name", _HYPERGRAPHS)]
    if (packed := _read_packed(name)) is not None:
        return packed
    features, labels, sets = (
        _pickled("hypergcn", f"{folder}/{part}.pickle", fetch)
        for part in ("features", "labels", "hypergraph")
    )
    X = sp.csr_array(features, dtype=np.float64)
    n, splits = X.shape[0], np.zeros((_N_SPLITS, X.shape[0]), np.int8)
    for number, split in enumerate(splits, start=1):
        nodes = _pickled("hypergcn", f"{folder}/splits/{number}.pickle", fetch)
        split[np.array(list(nodes["train"]), np.int64)] = 1
        split[np.array(list(nodes["test"]), np.int64)] = 3
    members = [(node, edge) for edge, nodes in enumerate(sets.values()) for node in set(nodes)]
    incidence = _binary(members, (n, len(sets)))
    target = np.unique(np.asarray(labels), return_inverse=True)[1]
    return _assemble(name, X, target, splits, incidence=incidence)


def fetch_heterophilous(name: str, *, fetch: bool = True) -> Dataset:
    """Load a graph whose neighbours mostly belong to different classes, with ten splits.

    Parameters
    ----------
    name : str
        "texas", "wisconsin" and "cornell" (web pages, from Geom-GCN); "chameleon_filtered",
        "squirrel_filtered", "roman_empire" and "amazon_ratings" (Platonov et al., 2023). Links in
        one direction count for both.
    fetch : bool
        False: do not use the network; fail if the files are not in the data directory.

    Returns
    -------
    Dataset
        ``data`` and ``adjacency`` are csr arrays, ``graph`` is an AdjacencyGraph.

    Raises
    ------
    DataUnavailableError
        If a file ``geom-gcn/…`` or ``heterophilous/<name>.npz`` is missing and cannot be
        downloaded.
    ValueError
        If a file is not as expected.

    See Also
    --------
    fetch_planetoid, fetch_hypergraph : Other graphs.

    Notes
    -----
    Without ``graphs/<name>.npz``, the original files are read. This was tried with small files of
    the same format only.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> available = (lg.datasets.data_directory() / "graphs" / "texas.npz").is_file()
    >>> lg.datasets.fetch_heterophilous("texas").adjacency.shape if available else (183, 183)
    (183, 183)
    """
    choice(name, "name", (*_GEOM_GCN, *_FILTERED))
    if (packed := _read_packed(name)) is not None:
        return packed
    if name in _FILTERED:
        arrays = _arrays(_file("heterophilous", f"{name}.npz").read(fetch=fetch))
        X, target = sp.csr_array(arrays["node_features"], dtype=np.float64), arrays["node_labels"]
        masks = [arrays[f"{part}_masks"] for part in ("train", "val", "test")]
        edges = arrays["edges"]
    else:
        nodes, links = (
            _file("geom-gcn", f"new_data/{name}/out1_{part}.txt").read(fetch=fetch).decode()
            for part in ("node_feature_label", "graph_edges")
        )
        cells = sorted(
            (line.split("\t") for line in nodes.splitlines()[1:]), key=lambda c: int(c[0])
        )
        X = sp.csr_array(np.array([cell[1].split(",") for cell in cells], np.float64))
        target = np.array([int(cell[2]) for cell in cells])
        edges = np.array([line.split() for line in links.splitlines()[1:]], np.int64)
        files = (f"splits/{name}_split_0.6_0.2_{i}.npz" for i in range(_N_SPLITS))
        splits = [_arrays(_file("geom-gcn", file).read(fetch=fetch)) for file in files]
        masks = [
            np.stack([one[f"{part}_mask"] for one in splits]) for part in ("train", "val", "test")
        ]
    numbers = sum(k * np.asarray(mask, np.int8) for k, mask in enumerate(masks, start=1))
    return _assemble(name, X, target, numbers, adjacency=_adjacency(edges, X.shape[0]))


@cache
def _checksums() -> dict[str, str]:
    """Return the known SHA-256 of files by name."""
    lines = files(__package__).joinpath("checksums.txt").read_text("utf-8").splitlines()
    return {name: digest for digest, name in map(str.split, lines)}


def _file(source: str, name: str) -> RemoteFile:
    address, digest = _ADDRESSES[source] + name, _checksums().get(f"{source}/{name}")
    return RemoteFile(f"{source}/{name}", address, _LARGEST_FILE, digest)


def _pickled(source: str, name: str, fetch: bool) -> Any:
    file = _file(source, name)
    return read_pickle(file.read(fetch=fetch), file.name)


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return dict(stored)


def _read_packed(name: str) -> Dataset | None:
    """Read ``graphs/<name>.npz`` in the data directory, None if it is missing."""
    path = data_directory() / "graphs" / f"{name}.npz"
    if not path.is_file():
        return None
    arrays = _arrays(path.read_bytes())

    def matrix(prefix: str) -> Any:
        if f"{prefix}_indptr" not in arrays:
            return None
        indices, values = arrays[f"{prefix}_indices"], arrays[f"{prefix}_values"]
        values = np.broadcast_to(values, len(indices)) if len(values) == 1 else values
        parts = (values.astype(np.float64), indices, arrays[f"{prefix}_indptr"])
        return sp.csr_array(parts, shape=arrays[f"{prefix}_shape"])

    count = sum(key.startswith("split_") for key in arrays)
    splits = np.stack([arrays[f"split_{i}"] for i in range(count)])
    X, adjacency, incidence = (matrix(part) for part in ("features", "weights", "incidence"))
    return _assemble(name, X, arrays["labels"], splits, adjacency=adjacency, incidence=incidence)


def _binary(pairs: Any, shape: tuple[int, int]) -> sp.csr_array:
    rows, columns = np.asarray(pairs, np.int64).reshape(-1, 2).T
    matrix = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    matrix.data[:] = 1.0
    return matrix


def _adjacency(edges: Any, n: int) -> sp.csr_array:
    """Return weights one for edges in either direction, without loops."""
    pairs = np.asarray(edges, np.int64).reshape(-1, 2)
    listed = _binary(pairs[pairs[:, 0] != pairs[:, 1]], (n, n))
    return sp.csr_array(listed.maximum(listed.T))


def _assemble(name: str, X: Any, target: Any, splits: Any, **graph: Any) -> Dataset:
    target = np.asarray(target, np.int64)
    classes = tuple(f"class {k}" for k in range(int(target.max()) + 1))
    features, training = tuple(map(str, range(X.shape[1]))), np.flatnonzero(splits[0] == 1)
    text = f"{name}: nodes of a benchmark graph with features, classes and published splits."
    return Dataset(X, target, features, classes, training, text, splits=splits, **graph)

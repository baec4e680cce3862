"""Readers of benchmark graphs: small files in the original formats, and the repacked ones."""

from __future__ import annotations

import os
import pickle
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowrankgcn.datasets import (
    Dataset,
    data_directory,
    fetch_heterophilous,
    fetch_hypergraph,
    fetch_planetoid,
)
from lowrankgcn.datasets.pickles import read_pickle
from lowrankgcn.exceptions import DataUnavailableError

FEATURES = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [0, 2, 0], [3, 0, 0]], float)
TARGET = np.array([0, 1, 0, 1, 1, 0])
EDGES = [(0, 1), (1, 0), (1, 2), (2, 2), (2, 3), (2, 3), (4, 0), (5, 3)]
ADJACENCY = np.zeros((6, 6))
for _i, _j in EDGES:
    ADJACENCY[_i, _j] = ADJACENCY[_j, _i] = _i != _j


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOWRANKGCN_DATA", str(tmp_path))
    monkeypatch.setattr("lowrankgcn.datasets.graph_files._checksums", dict)  # of the originals
    return tmp_path


def store(path: Path, value: Any, protocol: int = 2) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol))


def check(made: Dataset, splits: Any) -> None:
    np.testing.assert_array_equal(made.data.toarray(), FEATURES)
    np.testing.assert_array_equal(made.target, TARGET)
    np.testing.assert_array_equal(made.splits, splits)
    np.testing.assert_array_equal(made.training, np.flatnonzero(np.asarray(splits)[0] == 1))
    assert made.graph.n_nodes == 6 and len(made.target_names) == 2


def store_planetoid(folder: Path, test: list[int], protocol: int = 2) -> None:
    """Write allx (two training nodes, one of validation), and the test nodes in another order."""
    one_hot = np.eye(2, dtype=np.int32)[TARGET]
    graph = defaultdict(list)
    for i, j in EDGES:
        graph[i].append(j)
    parts = {
        "x": sp.csr_matrix(FEATURES[:2].astype(np.float32)),
        "allx": sp.csr_matrix(FEATURES[:3].astype(np.float32)),
        "tx": sp.csr_matrix(FEATURES[test].astype(np.float32)),
        "y": one_hot[:2],
        "ally": one_hot[:3],
        "ty": one_hot[test],
        "graph": graph,
        "test.index": "".join(f"{node}\n" for node in test).encode(),
    }
    for part, value in parts.items():
        store(folder / "planetoid" / f"ind.cora.{part}", value, protocol)


@pytest.mark.parametrize("protocol", [2, 5])
def test_planetoid(folder: Path, protocol: int) -> None:
    store_planetoid(folder, [5, 3, 4], protocol)
    made = fetch_planetoid("cora", fetch=False)
    check(made, [[1, 1, 2, 3, 3, 3]])
    np.testing.assert_array_equal(made.adjacency.toarray(), ADJACENCY)
    assert made.labels().tolist() == [0, 1, -1, -1, -1, -1]
    assert made.labels(part=3).tolist() == [-1, -1, -1, 1, 1, 0]


def test_planetoid_nodes_without_features_and_class(folder: Path) -> None:
    store_planetoid(folder, [5, 3])
    made = fetch_planetoid("cora", fetch=False)
    assert made.target.tolist() == [0, 1, 0, 1, -1, 0] and made.splits is not None
    assert made.data.toarray()[4].tolist() == [0, 0, 0] and made.splits[0, 4] == 0


def test_pickles_of_an_old_python(folder: Path) -> None:
    """Names of modules that NumPy, SciPy and Python had when the files were written."""
    store_planetoid(folder, [5, 3, 4])
    for path in (folder / "planetoid").iterdir():
        content = path.read_bytes().replace(b"scipy.sparse._csr", b"scipy.sparse.csr")
        content = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        path.write_bytes(content)
    check(fetch_planetoid("cora", fetch=False), [[1, 1, 2, 3, 3, 3]])


def test_reconstructed_objects_of_protocol_0() -> None:
    matrix = read_pickle(pickle.dumps(sp.csr_matrix(FEATURES), 0), "file")
    np.testing.assert_array_equal(matrix.toarray(), FEATURES)


def test_hypergraph(folder: Path) -> None:
    path = folder / "hypergcn" / "cocitation" / "cora"
    store(path / "features.pickle", sp.csr_matrix(FEATURES), 4)
    store(path / "labels.pickle", TARGET.tolist(), 4)
    store(path / "hypergraph.pickle", {"a": {0, 1, 2}, "b": [np.int64(3), 3, 5]}, 4)
    for number in range(1, 11):
        nodes = {"train": list(np.arange(2) + number % 2), "test": [4, 5]}
        store(path / "splits" / f"{number}.pickle", nodes, 4)
    made = fetch_hypergraph("cocit_cora", fetch=False)
    check(made, [[0, 1, 1, 0, 3, 3], [1, 1, 0, 0, 3, 3]] * 5)
    expected = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 0], [0, 1]]
    np.testing.assert_array_equal(made.incidence.toarray(), expected)
    assert made.graph.n_hyperedges == 2


MASKS = {
    "train": np.array([[1, 1, 0, 0, 0, 0]] * 10, bool),
    "val": np.array([[0, 0, 1, 0, 0, 0]] * 10, bool),
    "test": np.array([[0, 0, 0, 1, 1, 1]] * 10, bool),
}
SPLITS = [[1, 1, 2, 3, 3, 3]] * 10


def test_geom_gcn(folder: Path) -> None:
    path = folder / "geom-gcn" / "new_data" / "texas"
    rows = [
        f"{i}\t{','.join(str(int(x)) for x in FEATURES[i])}\t{TARGET[i]}"
        for i in (3, 0, 1, 2, 5, 4)
    ]
    nodes = "\n".join(["node_id\tfeature\tlabel", *rows])
    store(path / "out1_node_feature_label.txt", nodes.encode())
    links = "\n".join(["node_id\tnode_id", *(f"{i}\t{j}" for i, j in EDGES)])
    store(path / "out1_graph_edges.txt", links.encode())
    (folder / "geom-gcn" / "splits").mkdir()
    for i in range(10):
        masks: dict[str, Any] = {f"{part}_mask": mask[i] for part, mask in MASKS.items()}
        np.savez(folder / "geom-gcn" / "splits" / f"texas_split_0.6_0.2_{i}.npz", **masks)
    made = fetch_heterophilous("texas", fetch=False)
    check(made, SPLITS)
    np.testing.assert_array_equal(made.adjacency.toarray(), ADJACENCY)


def test_filtered_graphs(folder: Path) -> None:
    (folder / "heterophilous").mkdir()
    arrays: dict[str, Any] = {f"{part}_masks": mask for part, mask in MASKS.items()}
    arrays |= {"node_features": FEATURES, "node_labels": TARGET, "edges": np.array(EDGES)}
    np.savez(folder / "heterophilous" / "roman_empire.npz", **arrays)
    made = fetch_heterophilous("roman_empire", fetch=False)
    check(made, SPLITS)
    np.testing.assert_array_equal(made.adjacency.toarray(), ADJACENCY)


def test_missing_files_and_unknown_names(folder: Path) -> None:
    for fetcher, name in (
        (fetch_planetoid, "cora"),
        (fetch_hypergraph, "coauth_dblp"),
        (fetch_heterophilous, "texas"),
        (fetch_heterophilous, "roman_empire"),
    ):
        with pytest.raises(DataUnavailableError, match=r"no file .* put it there from https://"):
            fetcher(name, fetch=False)  # type: ignore[operator]
        with pytest.raises(ValueError, match="name: expected one of"):
            fetcher("karate", fetch=False)  # type: ignore[operator]
    with pytest.raises(
        ValueError, match=r"ind\.cora\.test\.index: expected 3 nodes from 3 on, got 2"
    ):
        store_planetoid(folder, [5, 3, 4])
        (folder / "planetoid" / "ind.cora.test.index").write_text("3\n4\n")
        fetch_planetoid("cora", fetch=False)


def test_contents_are_compared_with_published_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of another content is refused before it is read."""
    monkeypatch.setenv("LOWRANKGCN_DATA", str(tmp_path))
    store_planetoid(tmp_path, [5, 3, 4])
    with pytest.raises(ValueError, match=r"ind\.cora\.tx: expected SHA-256 b9afbaa4\.\.\., got"):
        fetch_planetoid("cora", fetch=False)


class Attack:
    """A pickle of it calls a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def test_pickles_cannot_run_code(tmp_path: Path) -> None:
    target = tmp_path / "made"
    for value in (
        Attack(os.mkdir, str(target)),
        [np.zeros(2), Attack(eval, "1 + 1")],
        np.array([Attack(os.mkdir, str(target))], dtype=object),
        Attack(getattr, "text", "upper"),
        Attack(np.load, "file"),
        sp.csc_matrix(FEATURES),
    ):
        for protocol in range(6):
            with pytest.raises(
                ValueError, match=r"file: expected a pickle of arrays, got .*allowed"
            ):
                read_pickle(pickle.dumps(value, protocol), "file")
    assert not target.exists()
    for content in (b"", b"text", pickle.dumps([1, 2])[:-3]):
        with pytest.raises(ValueError, match="file: expected a pickle of arrays"):
            read_pickle(content, "file")


REPACKED = {
    "cora": (fetch_planetoid, (2708, 1433), 1),
    "citeseer": (fetch_planetoid, (3327, 3703), 1),
    "cocit_cora": (fetch_hypergraph, (2708, 1433), 10),
    "texas": (fetch_heterophilous, (183, 1703), 10),
}


@pytest.mark.parametrize("name", REPACKED)
def test_repacked_files(name: str) -> None:
    if not (data_directory() / "graphs" / f"{name}.npz").is_file():
        pytest.skip(f"no graphs/{name}.npz in the data directory (LOWRANKGCN_DATA)")
    fetcher, shape, n_splits = REPACKED[name]
    made = fetcher(name, fetch=False)  # type: ignore[operator]
    assert made.data.shape == shape and made.splits.shape == (n_splits, shape[0])
    assert made.graph.n_nodes == shape[0] and set(made.data.data) == {1.0}

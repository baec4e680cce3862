"""Leaves of random forests as hyperedges: two rows are alike if trees put them in the same leaf.

The trees are scikit-learn's, stored as arrays. They are fitted to the labelled rows on bootstrap
samples, so a tree can be left out for the rows that it was fitted to.

>>> import numpy as np
>>> rows, classes = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
>>> block, out_of_bag = LeafBlock.fit("trees", "standard", rows, classes, n_trees=20)
>>> leaves = block.represent({"standard": rows})
>>> kernel = block.kernel(leaves, leaves)
>>> bool(kernel[0, 1] > 0.5 > kernel[0, 3])
True
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks
from lowrankgcn._validation import invalid
from lowrankgcn.gp.blocks import Block, Views
from lowrankgcn.gp.joint_tables import JointTables
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import FittedTable

_CHUNK = 512  # rows that pass through all trees at a time
_STEPS = 3  # down the trees, before those in a leaf are left out
_UNPACKED = 64  # rows whose sets of leaves are unpacked at a time
# Leaves times classes, and leaves of a tree on average, up to which products of all leaves are
# faster than sums over one leaf of each tree.
_DENSE, _DENSE_TREE = 150_000, 32
# Costs for a row in nanoseconds: a step down a tree, a look-up, and a word of it.
_STEP, _LOOK_UP, _WORD = 4.0, 40.0, 1.0
_MOST_BYTES = 2**26  # of all sets of leaves


@saved
@final
@dataclass(frozen=True, eq=False)
class LeafBlock(Block):
    """Share of trees in which two rows meet in a leaf.

    Attributes
    ----------
    name, view : str
    roots : (T,) int array
        Number of each tree's first node.
    depth : int
        Largest depth.
    column : (N,) int array
        Column that a node compares.
    threshold : (N,) array
    children : (N, 2) int array
        The nodes that follow up to the threshold and above it. A leaf is followed by itself.
    bags : (m, T) bool array
        Whether a tree was fitted to a labelled row.
    """

    name: str
    view: str
    roots: Annotated[NDArray[np.int32], "t"]
    depth: int
    column: Annotated[NDArray[np.int32], "n"]
    threshold: Annotated[FloatArray, "n"]
    children: Annotated[NDArray[np.int32], "n 2"]
    bags: Annotated[NDArray[np.bool_], "m t"]

    def __post_init__(self) -> None:
        self.check(self.roots)
        self.check(self.children)

    @classmethod
    def fit(
        cls,
        name: str,
        view: str,
        labelled: FloatArray,
        classes: NDArray[np.intp],
        *,
        n_trees: int,
        random_state: int = 0,
        weights: FloatArray | None = None,
    ) -> tuple[LeafBlock, FloatArray]:
        """Fit trees to labelled rows.

        Parameters
        ----------
        name, view : str
        labelled : (m, d) array
        classes : (m,) int array
        n_trees : int
        random_state : int
        weights : (m,) array, optional
            Weights of the rows in every tree.

        Returns
        -------
        block : LeafBlock
        out_of_bag : (m, C) array
            Class distributions by the trees that were not fitted to a row; uniform without any.
        """
        from sklearn import config_context  # a saved model needs no scikit-learn to predict
        from sklearn.tree import DecisionTreeClassifier

        m, n_classes = len(classes), int(classes.max()) + 1
        generator = np.random.default_rng(random_state)
        rows = np.ascontiguousarray(labelled, np.float32)
        draws = generator.integers(m, size=(n_trees, m))
        counts = np.stack([np.bincount(draw, minlength=m) for draw in draws])
        seeds = generator.integers(2**31 - 1, size=n_trees)
        of_rows = np.ones(m) if weights is None else weights
        trees = []
        votes = np.zeros((m, n_classes))
        for drawn, seed in zip(counts, seeds.tolist(), strict=True):
            model = DecisionTreeClassifier(max_features="sqrt", random_state=seed)
            # Validation would take longer than fitting the tree.
            options = config_context(skip_parameter_validation=True, assume_finite=True)
            with options, warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The number of unique classes")  # few labels
                model.fit(rows, classes, sample_weight=drawn * of_rows, check_input=False)
            trees.append(model.tree_)
            free = drawn == 0
            votes[free] += model.tree_.predict(rows[free])[:, :n_classes]
        sizes = [tree.node_count for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        first = np.repeat(roots, sizes)
        left, right, column, threshold = (
            np.concatenate([getattr(tree, part) for tree in trees])
            for part in ("children_left", "children_right", "feature", "threshold")
        )
        leaf = (left < 0)[:, None]
        following = np.where(
            leaf, np.arange(len(first))[:, None], np.c_[left, right] + first[:, None]
        )
        block = cls(
            name,
            view,
            roots.astype(np.int32),
            max(tree.max_depth for tree in trees),
            np.where(leaf[:, 0], 0, column).astype(np.int32),
            np.where(leaf[:, 0], 0.0, threshold),
            following.astype(np.int32),
            counts.T > 0,
        )
        votes[~votes.any(axis=1)] = 1.0  # all trees were fitted to the row
        return block, votes / votes.sum(axis=1, keepdims=True)

    def represent(self, views: Views) -> NDArray[np.int32]:
        """Return the leaf of every row in every tree, shape (q, T)."""
        rows = np.asarray(views[self.view], np.float32)  # as at fitting
        result = np.empty((len(rows), len(self.roots)), np.int32)
        children = self.children.ravel()
        for start, stop in chunks(len(rows), _CHUNK):
            part = np.ascontiguousarray(rows[start:stop])
            first = np.arange(len(part), dtype=np.int32) * np.int32(part.shape[1])
            flat, nodes = part.ravel(), np.repeat(self.roots[:, None], len(part), axis=1)
            nodes, first = nodes.ravel(), np.tile(first, len(self.roots))
            inside = np.arange(len(nodes))  # pairs of a tree and a row that are in no leaf yet
            at = nodes
            for step in range(self.depth):
                above = flat.take(first + self.column.take(at)) > self.threshold.take(at)
                at = children.take(2 * at + above)
                if step % _STEPS == _STEPS - 1 or step == self.depth - 1:
                    nodes[inside] = at
                    left = np.flatnonzero(children.take(2 * at) != at)
                    inside, first, at = inside[left], first[left], at[left]
            result[start:stop] = nodes.reshape(-1, len(part)).T
        return result

    def check(self, nodes: NDArray[Any]) -> None:
        """Raise if an array has other nodes than this forest: sparse products do not check them."""
        if nodes.dtype.kind not in "iu" or nodes.min() < 0 or nodes.max() >= len(self.column):
            raise invalid(self.name, f"nodes in 0..{len(self.column) - 1}", "other values")

    def kernel(self, A: NDArray[np.int32], B: NDArray[np.int32]) -> FloatArray:
        """Return the shares of trees, shape (p, q)."""
        alike = self._indicators(A) @ self._indicators(B).T
        kernel: FloatArray = alike.toarray().astype(np.float64) / len(self.roots)
        return kernel

    def out_of_bag_kernel(
        self, labelled: NDArray[np.int32], index: NDArray[np.int64]
    ) -> FloatArray:
        """Return the kernel of labelled rows by the trees that were not fitted to the first row.

        `index` holds their positions among all labelled rows. A row that all trees were fitted to
        has its ordinary kernel.
        """
        free = ~self.bags[index]
        free[~free.any(axis=1)] = True
        left = self._indicators(labelled, free.astype(np.float32))
        product = (left @ self._indicators(labelled).T).toarray().astype(np.float64)
        shares: FloatArray = product / free.sum(axis=1)[:, None]
        return shares

    def readout(self, labelled: NDArray[np.int32], alpha: FloatArray) -> FloatArray:
        """Return the sum of alpha over each leaf, divided by the number of trees, shape (N, C)."""
        sums: FloatArray = self._indicators(labelled).T @ alpha
        return sums / len(self.roots)

    def scores(self, A: NDArray[np.int32], readout: FloatArray) -> FloatArray:
        """Add the sums of the leaves of every row."""
        product: FloatArray = self._indicators(A) @ readout
        return product

    def _indicators(self, leaves: NDArray[np.int32], values: Any = None) -> sp.csr_array:
        """Return the incidence of rows and leaves, shape (q, N)."""
        return _incidence(leaves, len(self.column), values)


def _incidence(leaves: NDArray[Any], count: int, values: Any = None) -> sp.csr_array:
    """Return the incidence of rows and leaves (q, T) among `count`, with ones by default."""
    q, n_trees = leaves.shape
    data = np.ones(leaves.size, np.float32) if values is None else values.ravel()
    pointers = np.arange(0, leaves.size + 1, n_trees)
    return sp.csr_array((data, leaves.ravel(), pointers), shape=(q, count))


@final
class LeafSums:
    """Sums of values over the leaves of rows, by sets of leaves as bits.

    Every cell excludes leaves: those above the thresholds that it does not exceed, and those up to
    the thresholds that it does. What the cells of a row leave over is one leaf of each tree
    (QuickScorer). Large forests of many columns are walked from the roots instead.

    Parameters
    ----------
    block : LeafBlock
        On standard scores.
    values : (N, C) array
        Values of the leaves, by node.
    features : FittedTable

    References
    ----------
    Lucchese et al., QuickScorer: a fast algorithm to rank documents with additive ensembles of
    regression trees, SIGIR 2015.
    """

    def __init__(self, block: LeafBlock, values: FloatArray, features: FittedTable) -> None:
        self._block, self._nodes, self._features = block, values, features
        nodes = np.arange(len(block.column))
        leaf = block.children[:, 0] == nodes
        inner = np.flatnonzero(~leaf)
        count, n_trees = int(leaf.sum()), len(block.roots)
        self._aligned = count * values.shape[1] > _DENSE or count > _DENSE_TREE * n_trees
        low, high, words = self._spans(leaf, inner)
        used = len(np.unique(features.owners[block.column[inner]]))
        walk = n_trees * block.depth * _STEP
        self._masked = used * (_LOOK_UP + _WORD * words) <= walk
        self._masked &= 8 * words * (len(inner) + used) <= _MOST_BYTES
        if not self._masked:
            return
        self._values = np.zeros((64 * words, values.shape[1]), np.float32)
        self._values[low[leaf]] = values[leaf]
        every = np.zeros(64 * words, bool)
        every[low[leaf]] = True
        columns = block.column[inner]
        by_column = {int(c): inner[columns == c] for c in np.unique(columns)}
        tables = []
        for j, at, shares in features.indicators:
            X = (np.eye(len(shares) + 1, len(shares)) - shares).astype(np.float32)
            sets = np.tile(every, (len(X), 1))
            for v in range(len(shares)):
                for node in by_column.get(at + v, ()):
                    self._exclude(sets, X[:, v] > block.threshold[node], node, low, high)
            if (sets != every).any():
                tables.append((j, _packed(sets)))
        self._of_values = JointTables.of(tables, np.bitwise_and)
        self._limits: list[tuple[int, FloatArray]] = []
        tables = []
        for k, at in enumerate(features.number_places.tolist()):
            if at in by_column:
                limits = np.unique(block.threshold[by_column[at]])
                sets = np.tile(every, (len(limits) + 1, 1))
                bins = np.arange(len(sets))
                for node in by_column[at]:
                    above = bins > np.searchsorted(limits, block.threshold[node])
                    self._exclude(sets, above, node, low, high)
                tables.append((len(self._limits), _packed(sets)))
                self._limits.append((k, limits))
        self._of_numbers = JointTables.of(tables, np.bitwise_and)

    def _spans(self, leaf: NDArray[np.bool_], inner: NDArray[np.intp]) -> tuple[Any, Any, int]:
        """Return the place of the first leaf below every node, the end, and the number of words.

        Trees are depth-first. If the leaves are aligned, each tree begins with a word.
        """
        block = self._block
        low: NDArray[np.intp] = np.cumsum(leaf) - leaf
        high: NDArray[np.intp] = np.empty_like(low)
        high[block.roots] = np.append(low[block.roots[1:]], leaf.sum())
        left, right = block.children[inner].T
        for _ in range(block.depth):
            high[left], high[right] = low[right], high[inner]
        if not self._aligned:
            return low, high, -(-int(leaf.sum()) // 64)
        words = -(-(high - low)[block.roots] // 64)
        moved = 64 * (np.cumsum(words) - words) - low[block.roots]
        moves = np.repeat(moved, np.diff(np.append(block.roots, len(leaf))))
        return low + moves, high + moves, int(words.sum())

    def _exclude(self, sets: Any, above: Any, node: int, low: Any, high: Any) -> None:
        left, right = self._block.children[node]
        sets[above, low[left] : high[left]] = False
        sets[~above, low[right] : high[right]] = False

    def at(self, cells: Mapping[str, NDArray[Any]], places: NDArray[np.intp]) -> FloatArray:
        """Return the sums (q, C) of rows by :meth:`FittedTable.cells` and the places of values."""
        if not self._masked:
            leaves = self._block.represent(self._features.expanded(cells))
            return self._block.scores(leaves, self._nodes)
        scores, left = cells["numbers"], self._of_values.at(places)
        if self._limits:
            bins = np.empty((len(scores), len(self._limits)), np.intp, order="F")
            for j, (k, limits) in enumerate(self._limits):
                numbers = scores[:, k].astype(np.float32)  # as at fitting; limits are exact
                bins[:, j] = np.searchsorted(limits, numbers.astype(np.float64), side="left")
            of_numbers = self._of_numbers.at(bins)
            left = of_numbers if left is None else np.bitwise_and(left, of_numbers, out=left)
        if left is None:  # no tree has a second leaf
            return np.tile(self._values.sum(axis=0).astype(float), (len(scores), 1))
        if self._aligned:
            return np.asarray(_incidence(_places(left), len(self._values)) @ self._values, float)
        sums = np.empty((len(scores), self._values.shape[1]))
        for start, stop in chunks(len(scores), _UNPACKED):
            bits = np.unpackbits(left[start:stop].view(np.uint8), axis=1, bitorder="little")
            sums[start:stop] = bits.astype(np.float32) @ self._values
        return sums


def _packed(sets: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return sets as bits of words."""
    return np.packbits(sets, axis=1, bitorder="little").view("<u8")


def _places(words: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the places of the bits of rows whose words have at most one bit, shape (q, T).

    All rows have T bits. The number of zeros below a bit is the number of ones in x − 1.
    """
    used = np.flatnonzero(words)
    zeros = np.bitwise_count(words.ravel()[used] - np.uint64(1))
    places: NDArray[np.intp] = (64 * (used % words.shape[1]) + zeros).astype(np.intp)
    return places.reshape(len(words), -1)

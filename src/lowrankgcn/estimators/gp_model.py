"""The part of a fitted Gaussian process classifier that is saved, and its read-outs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Annotated, Any, final

import numpy as np
import scipy  # loads its parts when they are used
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._format import empty_text, plural
from lowrankgcn._parallel import chunks
from lowrankgcn._validation import positive_float
from lowrankgcn.estimators.explanation import By, Contribution, ExplainedRow, Explanation, Nearest
from lowrankgcn.estimators.rows import map_rows
from lowrankgcn.exceptions import ColumnWarning, warn_caller
from lowrankgcn.gp.attribution import (
    EVALUATIONS,
    by_blocks,
    by_columns,
    by_features,
    by_rows,
    log_odds,
)
from lowrankgcn.gp.blocks import LinearBlock, RadialBlock
from lowrankgcn.gp.compiled import CompiledScores
from lowrankgcn.gp.conformal import Novelty, prediction_sets, tail_limit
from lowrankgcn.gp.graph_filters import PROPAGATIONS
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.shares import apply_factors
from lowrankgcn.gp.views import RowViews
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import Table

_NEAREST = 3  # labelled rows shown for a vector
_CHUNK = 8192  # rows read at a time
_GRID = 101  # eigenvalues at which filters of propagated features are shown
_CELLS = 1_000_000  # of permuted rows that are classified together
_PERMUTED_CELLS, _FEWEST_PERMUTED, _MOST_PERMUTED = 9000, 30, 300


@final
@dataclass(frozen=True, eq=False)
class LearnedFilter:
    r"""The learned filter of one graph: its blocks have the covariance U φ(Λ)² Uᵀ.

    Attributes
    ----------
    graph : str
    eigenvalues : (r,) array
    response : (r,) array
        φ(λ) at the eigenvalues. For features that are propagated on a graph,
        :math:`\varphi(\lambda)^2 = \sum_b s_b \varphi_b(\lambda)^2 / \max \varphi_b^2` with the
        shares s of the blocks in the scores, on an even grid: "graph" for the blocks on the graph,
        with neighbours joined to it or not, and "near" for that on neighbours alone.

    See Also
    --------
    lowrankgcn.SpectralGPClassifier : Its attribute ``filter_``.
    lowrankgcn.plotting.plot_filter : Plots filters.

    Examples
    --------
    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> classifier = lg.SpectralGPClassifier(graph="knn", random_state=0).fit(X, y)
    >>> classifier.filter_
    {'neighbours': LearnedFilter('neighbours', 40 eigenvalues)}
    """

    graph: str
    eigenvalues: FloatArray
    response: FloatArray

    def __repr__(self) -> str:
        """Show the graph and the number of eigenvalues."""
        return f"LearnedFilter({self.graph!r}, {plural(len(self.eigenvalues), 'eigenvalue')})"


def learned_filters(shares: Mapping[str, float]) -> dict[str, LearnedFilter]:
    """Return the filters of propagated features, given the shares of the blocks in the scores."""
    grid = np.linspace(0.0, 2.0, _GRID)
    squares: dict[str, Any] = {}
    for name, (place, phi, _) in PROPAGATIONS.items():
        if name in shares:
            graph, response = "near" if place == "near" else "graph", phi(grid)
            total = squares.get(graph, 0.0)
            squares[graph] = total + shares[name] * (response / np.abs(response).max()) ** 2
    return {name: LearnedFilter(name, grid, np.sqrt(square)) for name, square in squares.items()}


@saved
@final
@dataclass(frozen=True, eq=False)
class GPModel:
    """A process with the maps of its rows.

    Attributes
    ----------
    maps : RowViews
    process : GaussianProcess
    labelled : (m,) int array
        Labelled rows among those given to fit.
    codes : (m,) int array
        Their classes.
    held_out : (m, C) array
        Their class distributions by leave-one-out.
    promised : (C, 2) array
        Share and mean probability of the unlabelled rows that are predicted as each class.
    block_shares : dict from block to float
        Mean share of each block in the scores of the fitted rows.
    background : dict from part to array
        Fitted rows that explanations by columns start from, as :meth:`RowViews.parts` returns them.
        Empty without columns.
    """

    maps: RowViews
    process: GaussianProcess
    labelled: Annotated[NDArray[np.int64], "m"]
    codes: Annotated[NDArray[np.int64], "m"]
    held_out: Annotated[FloatArray, "m c"]
    promised: Annotated[FloatArray, "c 2"]
    block_shares: dict[str, float]
    background: dict[str, NDArray[Any]]

    def distributions(self, X: Any, edges: Any = None) -> FloatArray:
        """Return class distributions of new rows, shape (q, C)."""
        return self.with_class_shares(self._of_parts(self._distributions, X, edges), X)

    @cached_property
    def compiled(self) -> CompiledScores:
        """Scores of rows."""
        return CompiledScores(self.process, self.maps)

    def __getstate__(self) -> dict[str, Any]:
        # Compiled scores are several times as large as the model; a copy compiles its own.
        return {name: value for name, value in vars(self).items() if name != "compiled"}

    def _distributions(self, parts: Any) -> FloatArray:
        return self.process.distributions(self.compiled.at(parts))

    def _of_parts(
        self, function: Callable[[Any], FloatArray], X: Any, edges: Any = None
    ) -> FloatArray:
        """Apply a function to the parts of new rows in chunks; new nodes are read together."""
        if self.maps.nodes is not None or edges is not None:
            return function(self.maps.parts(X, edges))
        return map_rows(lambda rows: function(self.maps.parts(rows)), X, _CHUNK)

    def without_cells(self, X: Any, count: int) -> NDArray[np.bool_]:
        """Return which rows have neither a cell nor a node, shape (q,)."""
        graph = self.maps.nodes is not None or "given" in self.maps.embeddings
        return X.empty_rows.copy() if isinstance(X, Table) and not graph else np.zeros(count, bool)

    def with_class_shares(self, distributions: FloatArray, X: Any, known: Any = ()) -> FloatArray:
        """Give rows without a cell, except the `known` ones, the class shares, with a warning."""
        empty = self.without_cells(X, len(distributions))
        empty[np.asarray(known, np.intp)] = False
        if empty.any():
            shares = np.bincount(self.codes, minlength=distributions.shape[1])
            distributions[empty] = apply_factors(
                shares[None] / len(self.codes), self.process.factors
            )
            warn_caller(empty_text(int(empty.sum())), ColumnWarning)
        return distributions

    @cached_property
    def novelty(self) -> Novelty:
        """How far rows are from the labelled ones."""
        return Novelty.fit(self.process)

    def distributions_and_novelty(self, X: Any, edges: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return class distributions (q, C) and measures of novelty (q,), reading rows once."""
        novelty = self.novelty

        def both(parts: Any) -> FloatArray:
            measures = novelty.measures(self.maps.views(parts))
            return np.column_stack([self._distributions(parts), measures])

        columns = self._of_parts(both, X, edges)
        return self.with_class_shares(columns[:, :-1], X), columns[:, -1]

    def unsure(self, measures: FloatArray, level: float = 0.95) -> NDArray[np.bool_]:
        """Return whether rows with these measures of novelty fit no class, shape (q,)."""
        level = positive_float(level, "level", below=1.0)
        marked: NDArray[np.bool_] = measures > tail_limit(self.novelty.held_out, level)
        return marked

    def prediction_sets(self, distributions: FloatArray, level: float) -> NDArray[np.bool_]:
        """Return the sets of classes of rows with these distributions, shape (q, C)."""
        plain = apply_factors(distributions, 1.0 / self.process.factors)
        level = positive_float(level, "level", below=1.0)
        return prediction_sets(plain, self.held_out, self.codes, level)

    def filters(self) -> dict[str, LearnedFilter]:
        """Return the learned filter of every graph."""
        filters = {}
        for name, embedding in self.maps.embeddings.items():
            squares = np.zeros_like(embedding.eigenvalues)
            for block, amplitude in zip(self.process.blocks, self.process.amplitudes, strict=True):
                if isinstance(block, LinearBlock) and block.view == name:
                    response = (block.weights / block.scale) ** 2
                    squares[: len(response)] += amplitude * response
            filters[name] = LearnedFilter(name, embedding.eigenvalues, np.sqrt(squares))
        return filters | learned_filters(self.block_shares)

    def node_importance(self, parts: Any, names: Any) -> dict[Any, float]:
        """Return the mean size of the contributions of columns to these rows, in total one."""
        pair = most_probable(self.process.distributions(self.compiled.at(parts)))
        amounts = by_features(self.compiled, self.background, parts, pair)[1]
        sizes = np.abs(amounts[:, : len(names)]).mean(axis=0)
        total = float(sizes.sum()) or 1.0
        order = np.argsort(-sizes, kind="stable").tolist()
        return {names[k]: float(sizes[k]) / total for k in order}

    def column_importance(self, X: Any, random_state: int) -> dict[Any, float]:
        """Return the mean change of distributions if a column is permuted, in total one.

        Without rows X, these are the rows of `background`.
        """
        assert self.maps.features is not None
        names = self.maps.features.used
        generator = np.random.default_rng(random_state)
        wanted = np.clip(_PERMUTED_CELLS // max(1, len(names)), _FEWEST_PERMUTED, _MOST_PERMUTED)
        if X is None:
            parts = self.background
        else:
            count = min(int(wanted), len(X))
            parts = self.maps.parts(X.take(np.sort(generator.choice(len(X), count, replace=False))))
        count = len(next(iter(parts.values())))
        order = generator.permutation(count)
        before = self._distributions(parts)
        changes: list[float] = []
        for start, stop in chunks(len(names), max(1, _CELLS // max(1, count * len(names)))):
            permuted = {}  # classified together, each with one permuted column
            for name, owners in self.maps.owners.items():
                of_column = owners == np.arange(start, stop)[:, None, None]
                mixed = np.where(of_column, parts[name][order], parts[name])
                permuted[name] = mixed.reshape((stop - start) * count, len(owners))
            after = self._distributions(permuted)
            moved = np.abs(after.reshape(-1, *before.shape) - before)
            changes += moved.sum(axis=(1, 2)).tolist()
        total = sum(changes) or 1.0
        ranked = sorted(zip(names, changes, strict=True), key=lambda pair: -pair[1])
        return {name: change / total for name, change in ranked}

    def _nearest(self, standard: FloatArray, classes: NDArray[Any]) -> dict[Any, list[Any]]:
        """Return the nearest labelled rows by column of vectors, for each row as a Nearest."""
        features = self.maps.features
        blocks = zip(self.process.blocks, self.process.labelled, strict=True)
        known = [rows / b.weights for b, rows in blocks if isinstance(b, RadialBlock)]
        if features is None or not features.vectors or not known:
            return {}
        index, near = self.labelled[self.process.index], {}
        labels = classes[self.codes[self.process.index]]
        for vector in features.vectors:
            entries = features.owners == features.used.index(vector.name)
            distances = scipy.spatial.distance.cdist(standard[:, entries], known[0][:, entries])
            order = np.argsort(distances, axis=1, kind="stable")[:, :_NEAREST]
            near[vector.name] = [
                Nearest(tuple(index[rows].tolist()), tuple(labels[rows].tolist())) for rows in order
            ]
        return near

    def explain(
        self,
        X: Any,
        classes: NDArray[Any],
        by: By,
        parts: Any = None,
        linked: Any = None,
        names: Any = (),
        evaluations: int = EVALUATIONS,
    ) -> Explanation:
        """Split the log-odds of the two most probable classes of every row.

        Parameters
        ----------
        X : rows
        classes : (C,) array
        by : {"columns", "rows", "blocks"}
        parts : mapping, optional
            Parts of the rows, otherwise of X.
        linked : (q, C) array, optional
            Number of linked nodes by their predicted class.
        names : sequence
            Of the columns of wide features.
        evaluations : int
            Of mixed rows, to explain a row of a table by columns.
        """
        parts = self.maps.parts(X) if parts is None else parts
        scores = self.compiled.at(parts)
        shares = self.with_class_shares(self.process.distributions(scores), X)
        pair = most_probable(shares)
        errors: Any = None
        named: Any  # kind, name, value and level of the contributions to each row
        if by == "rows":
            baselines, amounts = by_rows(self.process, self.maps.views(parts), pair)
            labels = classes[self.codes[self.process.index]]
            index = self.labelled[self.process.index].tolist()
            named = repeat([("row", *one) for one in zip(index, labels, strict=True)])
        elif by == "blocks":
            baselines, amounts = by_blocks(self.process, self.maps.views(parts), pair)
            named = repeat([("block", block.name, None) for block in self.process.blocks])
        else:
            if self.maps.nodes is None:
                baselines, amounts, errors = by_columns(
                    self.compiled, self.background, parts, pair, evaluations
                )
            else:
                baselines, amounts, errors = by_features(
                    self.compiled, self.background, parts, pair
                )
            if self.maps.features is None:
                named = _named_words(X, names, amounts)
            else:
                table = self.maps.features.match(X.toarray() if sp.issparse(X) else X)
                near = self._nearest(self.maps.views(parts)["standard"], classes)
                fitted = {one.name: one for one in self.maps.features.scores}
                columns = []
                for name in table.names:
                    texts: Any = near[name] if name in near else table[name].texts()
                    known = fitted.get(name) if name not in near else None
                    levels = [""] * len(texts) if known is None else known.levels(table[name])
                    pairs = zip(texts, levels, strict=True)
                    columns.append([("column", name, *one) for one in pairs])
                named = zip(*columns, repeat(("block", "given", None)), strict=False)
        errors = np.zeros_like(amounts) if errors is None else errors
        odds = log_odds(self.process, scores, pair)
        if by != "columns":  # in double precision, to add up
            odds = baselines + amounts.sum(axis=1)
        empty = self.without_cells(X, len(shares))  # the class shares are all there is
        rows, first, second = np.flatnonzero(empty), pair[0][empty], pair[1][empty]
        odds[rows] = baselines[rows] = np.log(shares[rows, first] / shares[rows, second])
        amounts[rows] = 0.0
        explained = []
        for i, (first, second, about) in enumerate(zip(*pair, named, strict=False)):
            order = np.argsort(-np.abs(amounts[i]), kind="stable")
            figures = np.column_stack([amounts[i], errors[i]]).tolist()
            contributions = (
                Contribution(*(*about[k][:3], *figures[k], *about[k][3:]))
                for k in order
                if amounts[i, k] != 0
            )
            row = ExplainedRow(
                row=i,
                predicted=classes[first],
                probability=float(shares[i, first]),
                runner_up=classes[second],
                runner_up_probability=float(shares[i, second]),
                log_odds=float(odds[i]),
                baseline=float(baselines[i]),
                contributions=tuple(contributions),
                linked=None if linked is None else (int(linked[i, first]), int(linked[i].sum())),
            )
            explained.append(row)
        return Explanation(tuple(explained), by)


def _named_words(X: Any, names: Any, amounts: FloatArray) -> Iterator[Any]:
    """Yield kind, name and value of the columns that contribute to each row, by position."""
    X = X if sp.issparse(X) or isinstance(X, np.ndarray) else Table.read(X, "X").as_matrix()
    for i, row in enumerate(amounts):
        cells = X[[i]].toarray()[0] if sp.issparse(X) else X[i]
        yield {k: ("column", names[k], f"{cells[k]:g}") for k in np.flatnonzero(row).tolist()}


def most_probable(distributions: FloatArray) -> tuple[Any, Any]:
    """Return the two most probable classes of each row, the first one first."""
    first, second = np.argsort(-distributions, axis=1, kind="stable")[:, :2].T
    return first, second

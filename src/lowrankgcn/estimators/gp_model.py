"""The part of a fitted Gaussian process classifier that is saved, and its read-outs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Annotated, Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn._format import plural
from lowrankgcn._html import card, curve
from lowrankgcn._parallel import chunks
from lowrankgcn._validation import expect_shape, invalid, positive_float
from lowrankgcn.estimators.explanation import By, Contribution, ExplainedRow, Explanation
from lowrankgcn.estimators.rows import map_rows
from lowrankgcn.gp.attribution import by_blocks, by_columns, by_rows, log_odds
from lowrankgcn.gp.blocks import LinearBlock
from lowrankgcn.gp.conformal import prediction_sets
from lowrankgcn.gp.novelty import Novelty
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.shares import apply_factors
from lowrankgcn.gp.views import RowViews
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import Table

_CHUNK = 8192  # rows read at a time
_CELLS = 1_000_000  # of permuted tables that are read together
_PERMUTED_CELLS, _FEWEST_PERMUTED, _MOST_PERMUTED = 9000, 30, 300


@final
@dataclass(frozen=True, eq=False)
class LearnedFilter:
    """The learned filter of one graph: its blocks have the covariance U φ(Λ)² Uᵀ.

    Attributes
    ----------
    graph : str
    eigenvalues : (r,) array
    response : (r,) array
        φ(λ) at the eigenvalues.

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

    def _repr_html_(self) -> str:
        """Show the response in a notebook as a curve."""
        chart = curve(self.eigenvalues, self.response, "λ", "φ(λ)")
        return card(repr(self), {}, figure=chart)


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
    block_shares : dict from block to float
        Mean share of each block in the scores of the fitted rows.
    extends : bool
        Whether new rows can be classified.
    background : dict from part to array
        Fitted rows that explanations by columns start from, as :meth:`RowViews.parts` returns them.
        Empty without columns.
    """

    maps: RowViews
    process: GaussianProcess
    labelled: Annotated[NDArray[np.int64], "m"]
    codes: Annotated[NDArray[np.int64], "m"]
    held_out: Annotated[FloatArray, "m c"]
    block_shares: dict[str, float]
    extends: bool
    background: dict[str, NDArray[Any]]

    def __post_init__(self) -> None:
        m, n_classes = len(self.labelled), len(self.process.factors)
        expect_shape(self.held_out, "held_out", m, n_classes)
        if m and not (self.codes.min() >= 0 and self.codes.max() < n_classes):
            raise invalid("codes", f"classes in 0..{n_classes - 1}", "others")
        if self.process.index.min() < 0 or self.process.index.max() >= m:
            raise invalid("index", f"positions in 0..{m - 1}", "others")
        known = {"standard", "ranks", *self.maps.embeddings}
        for block in self.process.blocks:
            if block.view not in known:
                raise invalid("blocks", f"views among {sorted(known)}", repr(block.view))
        self._check_background()

    def _check_background(self) -> None:
        owners = self.maps.owners if self.extends else {}
        if set(self.background) != set(owners):
            raise invalid("background", f"the parts {sorted(owners)}", sorted(self.background))
        count = max(1, len(next(iter(self.background.values()), ())))
        for name, rows in self.background.items():
            expect_shape(rows, f"background.{name}", count, len(owners[name]))

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return len(self.process.factors)

    def views(self, X: Any) -> dict[str, FloatArray]:
        """Return the views of new rows."""
        return self.maps.views(self._parts(X))

    def _parts(self, X: Any) -> dict[str, FloatArray]:
        if not self.extends:
            expected = "the fitted rows (see label_distributions_)"
            raise invalid("X", expected, "new rows, but the graph was not built from X")
        return self.maps.parts(X)

    def distributions(self, X: Any) -> FloatArray:
        """Return class distributions of new rows, shape (q, C), reading rows in chunks."""
        return map_rows(lambda part: self.process.distributions(self.views(part)), X, _CHUNK)

    @cached_property
    def novelty(self) -> Novelty:
        """How far rows are from the labelled ones."""
        return Novelty.fit(self.process)

    def classify(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return class distributions (q, C) and measures of novelty (q,), reading rows once."""
        novelty = self.novelty

        def both(part: Any) -> FloatArray:
            views = self.views(part)
            return np.column_stack([self.process.distributions(views), novelty.measures(views)])

        found = map_rows(both, X, _CHUNK)
        return found[:, :-1], found[:, -1]

    def unsure(self, measures: FloatArray, level: float) -> NDArray[np.bool_]:
        """Return whether rows with these measures of novelty fit no class, shape (q,)."""
        marked: NDArray[np.bool_] = measures > self.novelty.limit(_level(level))
        return marked

    def prediction_sets(self, distributions: FloatArray, level: float) -> NDArray[np.bool_]:
        """Return the sets of classes of rows with these distributions, shape (q, C)."""
        plain = apply_factors(distributions, 1.0 / self.process.factors)
        return prediction_sets(plain, self.held_out, self.codes, _level(level))

    def filters(self) -> dict[str, LearnedFilter]:
        """Return the learned filter of every graph."""
        found = {}
        for name, embedding in self.maps.embeddings.items():
            squares = np.zeros(embedding.rank)
            for block, amplitude in zip(self.process.blocks, self.process.amplitudes, strict=True):
                if isinstance(block, LinearBlock) and block.view == name:
                    own = (block.weights / block.scale) ** 2
                    squares[: len(own)] += amplitude * own
            found[name] = LearnedFilter(name, embedding.eigenvalues, np.sqrt(squares))
        return found

    def column_importance(self, X: Any, random_state: int) -> dict[Any, float]:
        """Return the mean change of distributions if a column is permuted, in total one."""
        assert self.maps.features is not None
        columns = self.maps.features.used
        generator = np.random.default_rng(random_state)
        wanted = np.clip(_PERMUTED_CELLS // max(1, len(columns)), _FEWEST_PERMUTED, _MOST_PERMUTED)
        count = min(int(wanted), len(X))
        table = X.take(np.sort(generator.choice(len(X), count, replace=False)))
        found: dict[Any, float] = {}
        order = generator.permutation(count)
        before = self.distributions(table)
        for start, stop in chunks(len(columns), max(1, _CELLS // (count * len(table.names)))):
            names = columns[start:stop]
            rows = np.tile(np.arange(count), (len(names), 1))
            copies = dict(table.take(rows.ravel()).items())  # classified together
            for k, name in enumerate(names):  # each with a permuted column
                permuted = rows.copy()
                permuted[k] = order
                copies[name] = table[name].take(permuted.ravel())
            after = self.distributions(Table(copies, rows.size, table.named))
            changes = np.abs(after.reshape(-1, *before.shape) - before).sum(axis=(1, 2)).tolist()
            found |= dict(zip(names, changes, strict=True))
        total = sum(found.values()) or 1.0
        ranked = sorted(found.items(), key=lambda pair: -pair[1])
        return {name: value / total for name, value in ranked}

    def explain(self, X: Any, classes: NDArray[Any], by: By) -> Explanation:
        """Split the log-odds of the two most probable classes of every row."""
        parts = self._parts(X)
        views = self.maps.views(parts)
        scores = self.process.scores(views)
        shares = self.process.from_scores(scores)
        pair = tuple(np.argsort(-shares, axis=1, kind="stable")[:, :2].T)
        errors: Any = repeat(None)  # of the contributions to each row
        names: Any  # kind, name and value of the contributions to each row
        if by == "rows":
            baseline, amounts = by_rows(self.process, views, pair)
            names = repeat(
                [("row", int(self.labelled[i]), classes[self.codes[i]]) for i in self.process.index]
            )
        elif by == "blocks":
            baseline, amounts = by_blocks(self.process, views, pair)
            names = repeat([("block", block.name, None) for block in self.process.blocks])
        else:
            own = self.background, parts, pair
            baseline, amounts, errors = by_columns(self.process, self.maps, *own)
            names = ([*cells, ("block", "given", None)] for cells in self._cells(X))
        odds = log_odds(self.process, scores, pair)
        explained = []
        for i, (first, second, named, error) in enumerate(zip(*pair, names, errors, strict=False)):
            high, low = float(shares[i, first]), float(shares[i, second])
            told = classes[first], high, classes[second], low, float(odds[i]), float(baseline[i])
            explained.append(ExplainedRow(i, *told, tuple(_sorted(named, amounts[i], error))))
        return Explanation(tuple(explained), by)

    def _cells(self, X: Any) -> list[list[tuple[str, Any, Any]]]:
        """Return kind, name and text of the cells of every row."""
        assert self.maps.features is not None
        table = self.maps.features.encoder.match(X, "X")
        texts = {name: table[name].texts() for name in table.names}
        rows = range(table.n_rows)
        return [[("column", name, cells[i]) for name, cells in texts.items()] for i in rows]


def _level(level: float) -> float:
    return positive_float(level, "level", below=1.0)


def _sorted(
    named: list[tuple[Any, Any, Any]], amounts: FloatArray, errors: FloatArray | None
) -> list[Contribution]:
    """Return the contributions that are not zero, the largest first."""
    errors = np.zeros_like(amounts) if errors is None else errors
    order = np.argsort(-np.abs(amounts), kind="stable")
    chosen = [(named[k], float(amounts[k]), float(errors[k])) for k in order if amounts[k] != 0]
    return [Contribution(*name, *own) for name, *own in chosen]

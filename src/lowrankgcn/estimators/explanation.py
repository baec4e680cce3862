"""Explanations of predictions, as text and as tables.

>>> colour = Contribution("column", "colour", "red", 1.5)
>>> size = Contribution("column", "size", "9", -0.5)
>>> weight = Contribution("column", "weight", "80", 0.3)
>>> row = ExplainedRow(0, "apple", 0.8, "pear", 0.2, 1.4, 0.1, (colour, size, weight))
>>> print(Explanation((row,), "columns"))
row 0: apple (80.0 %) rather than pear (20.0 %), log-odds +1.40
  +1.50  colour = red
  +0.30  weight = 80
  -0.50  size = 9
  +0.10  average row
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, final

import pandas as pd

from lowrankgcn._format import plural

By = Literal["columns", "rows", "blocks"]

_SHOWN = 10
#: Blocks of the covariance by what they compare, in words; numbers and variants are left out.
_BLOCK_WORDS = {
    "linear": "trends of the columns",
    "radial": "rows with close values",
    "neighbours": "similar rows",
    "gaussian": "nearby points",
    "hypergraph": "shared values",
    "given": "the graph",
    "ego": "the columns",
    "high": "differences from linked rows",
    "conv": "linked rows",
    "graph": "linked rows",
    "joint": "linked and similar rows",
    "near": "similar rows",
    "random-forest": "decision trees",
}
_ABOUT = ("row", "predicted", "probability", "runner_up", "log_odds")
_BASELINES = {"columns": "average row", "rows": "baseline", "blocks": "baseline"}


class Nearest(NamedTuple):
    """The labelled rows that are most similar in a column of vectors, nearest first.

    Attributes
    ----------
    rows : tuple of int
        Their numbers among the rows given to fit.
    classes : tuple
        Their labels.

    See Also
    --------
    Contribution : Has it as the value of a vector.

    Examples
    --------
    >>> from lowrankgcn.estimators import Nearest
    >>> Nearest((3, 8), ("cat", "dog")).text(first=1)
    '4 (cat), 9 (dog)'
    """

    rows: tuple[int, ...]
    classes: tuple[Any, ...]

    def text(self, first: int = 0) -> str:
        """Return the rows, counted from `first`, and their classes."""
        pairs = zip(self.rows, self.classes, strict=True)
        return ", ".join(f"{row + first} ({label})" for row, label in pairs)


@final
@dataclass(frozen=True)
class Contribution:
    """One contribution to the log-odds of a prediction.

    Attributes
    ----------
    kind : {"column", "row", "block"}
    name : str or int
        The column, the number of the labelled row among those given to fit, or the block.
    value : object
        The row's value in this column, as text, or :class:`Nearest` for vectors and free text; the
        label of the labelled row; None for blocks.
    amount : float
        Contribution; positive values favour the predicted class.
    error : float
        Standard error of the amount. It is zero unless the amount is that of one of many columns,
        which is a mean over random orders.
    level : {"high", "average", "low", "late", "early", ""}
        Which third of the fitted numbers or dates the value is in; empty for other kinds.

    See Also
    --------
    ExplainedRow : The contributions of a row.

    Examples
    --------
    >>> from lowrankgcn.estimators import Contribution
    >>> Contribution("column", "colour", "red", 1.5)
    Contribution(kind='column', name='colour', value='red', amount=1.5, error=0.0)
    """

    kind: Literal["column", "row", "block"]
    name: str | int
    value: Any
    amount: float
    error: float = 0.0
    level: str = field(default="", repr=False)

    def words(self, first: int = 0) -> str:
        """Say in plain words what supports the class, counting rows from `first`.

        >>> from lowrankgcn.estimators import Contribution, Nearest
        >>> Contribution("column", "size", "5.1", 1.0, level="high").words()
        'size 5.1 is high'
        >>> Contribution("column", "note", Nearest((3,), ("cat",)), 1.0).words(first=1)
        'note like that of labelled rows 4 (cat)'
        >>> Contribution("row", 16, "setosa", 0.3).words(first=1)
        'similar to row 17 (setosa)'
        """
        if self.kind == "row":
            return f"similar to row {int(self.name) + first} ({self.value})"
        if self.kind == "block":
            return block_words(str(self.name))
        name = f"column {self.name}" if isinstance(self.name, int) else self.name
        if isinstance(self.value, Nearest):
            return f"{name} like that of labelled rows {self.value.text(first)}"
        return f"{name} {self.value} is {self.level}" if self.level else f"{name} is {self.value}"


@final
@dataclass(frozen=True)
class ExplainedRow:
    """Explanation of the prediction of one row.

    Attributes
    ----------
    row : int
        Position among the explained rows.
    predicted : object
        Predicted class.
    probability : float
    runner_up : object
        The second most probable class.
    runner_up_probability : float
    log_odds : float
        Logarithm of the ratio of the two probabilities, at least zero. It equals the baseline plus
        the sum of the contributions.
    baseline : float
        By columns, the mean log-odds of background rows; otherwise the part that does not depend on
        the values of the row, or on labelled rows.
    contributions : tuple of Contribution
        Sorted by absolute amount, largest first.
    linked : pair of int, or None
        For a node of a graph with features: how many of the linked nodes have the same predicted
        class, and their number.

    See Also
    --------
    Explanation : Several rows.

    Examples
    --------
    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    >>> row = classifier.explain(X[[7]])[0]
    >>> row.predicted, sorted(part.name for part in row.contributions)
    (np.float64(0.0), [0, 1])
    >>> total = row.baseline + sum(part.amount for part in row.contributions)
    >>> bool(np.isclose(total, row.log_odds))
    True
    """

    row: int
    predicted: Any
    probability: float
    runner_up: Any
    runner_up_probability: float
    log_odds: float
    baseline: float
    contributions: tuple[Contribution, ...] = field(repr=False)
    linked: tuple[int, int] | None = field(default=None, repr=False)

    def reasons(self, count: int = 3, first: int = 0) -> list[str]:
        """Return the strongest contributions to the class in plain words, the strongest first.

        There are at most `count`; contributions against the class are not among them, and neither
        are rows of other classes.
        """
        support = [
            one
            for one in self.contributions
            if one.amount > 0 and (one.kind != "row" or one.value == self.predicted)
        ]
        return [one.words(first) for one in support[:count]]

    def lines(self, by: By, top: int | None = _SHOWN, first: int = 0) -> list[str]:
        """Return the prediction and the `top` contributions as text, counting rows from `first`.

        Contributions that support the class come first, then those against it.
        """
        lines = [
            f"row {self.row + first}: {self.predicted} ({100 * self.probability:.1f} %) rather "
            f"than {self.runner_up} ({100 * self.runner_up_probability:.1f} %), "
            f"log-odds {self.log_odds:+.2f}"
        ]
        if self.linked is not None:
            same, count = self.linked
            those = f"{same} of {plural(count, 'linked node')} predicted {self.predicted}"
            lines.append(f"  {those if count else 'no linked nodes'}")
        shown = sorted(self.contributions[:top], key=lambda one: one.amount < 0)
        lines += [f"  {one.amount:+.2f}  {_reason(one, first)}" for one in shown]
        rest = self.contributions[len(shown) :]
        if rest:
            others = "1 other" if len(rest) == 1 else f"{len(rest)} others"
            lines.append(f"  {sum(one.amount for one in rest):+.2f}  {others}")
        return [*lines, f"  {self.baseline:+.2f}  {_BASELINES[by]}"]


def block_words(name: str) -> str:
    """Return what a block compares, in words.

    >>> block_words("weighted-linear"), block_words("neighbours-20")
    ('trends of the columns', 'similar rows')
    """
    kind = re.sub(r"^weighted-|-(ranks|inverse|\d+)$", "", name)
    return _BLOCK_WORDS.get(kind, kind)


def _reason(one: Contribution, first: int) -> str:
    if one.kind == "row":
        return f"labelled row {int(one.name) + first}: {one.value}"
    if one.kind == "block":
        return f"{one.name} ({block_words(str(one.name))})"
    name = f"column {one.name}" if isinstance(one.name, int) else one.name
    if isinstance(one.value, Nearest):
        return f"{name} like that of labelled rows {one.value.text(first)}"
    return f"{name} = {one.value}"


@final
@dataclass(frozen=True)
class Explanation(Sequence[ExplainedRow]):
    """Explanations of some rows; prints as text, ``to_frame`` makes a table.

    Attributes
    ----------
    rows : tuple of ExplainedRow
    by : {"columns", "rows", "blocks"}

    See Also
    --------
    lowrankgcn.SpectralGPClassifier.explain : Explains predictions.

    Examples
    --------
    >>> from lowrankgcn.estimators import Contribution, ExplainedRow, Explanation
    >>> colour = Contribution("column", "colour", "red", 1.5)
    >>> row = ExplainedRow(0, "apple", 0.8, "pear", 0.2, 1.4, -0.1, (colour,))
    >>> explanation = Explanation((row,), "columns")
    >>> print(explanation)
    row 0: apple (80.0 %) rather than pear (20.0 %), log-odds +1.40
      +1.50  colour = red
      -0.10  average row
    >>> explanation.to_frame().amount.tolist()
    [1.5, -0.1]
    """

    rows: tuple[ExplainedRow, ...]
    by: By

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        """Return the explanation of a row, or of several."""
        return self.rows[index]

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each part; the amounts of a row add up to its log-odds.

        Kinds are those of :class:`Contribution`, and "baseline".
        """
        lines = []
        for one in self.rows:
            about = {name: getattr(one, name) for name in _ABOUT}
            lines += [about | asdict(part) for part in one.contributions]
            baseline = {"kind": "baseline", "name": None, "value": None, "amount": one.baseline}
            lines.append({**about, **baseline, "error": 0.0})
        columns = [*_ABOUT, "kind", "name", "value", "amount", "error"]
        frame = pd.DataFrame(lines, columns=columns, dtype=object)
        return frame.astype(dict.fromkeys(("probability", "log_odds", "amount", "error"), float))

    def __repr__(self) -> str:
        return f"Explanation({plural(len(self), 'row')}, by={self.by!r})"

    def __str__(self) -> str:
        """Show the ten largest contributions of each row."""
        return "\n".join(line for one in self.rows for line in one.lines(self.by))

"""Explanations of predictions, as text and as tables.

>>> pulls = (Contribution("value", "colour", "red", 1.5), Contribution("value", "size", "XL", -0.2))
>>> row = ExplainedRow(0, "apple", 0.9, "pear", 0.1, True, 1.4, 0.1, pulls, 0.0)
>>> print(Explanation((row,), "values"))
row 0: apple (90.0 %) rather than pear (10.0 %), margin +1.40
  +1.50  colour = red
  -0.20  size = XL
  +0.10  average row
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import pandas as pd

__all__ = ["Contribution", "ExplainedRow", "Explanation"]

By = Literal["values", "rows"]

_SHOWN = 10


@final
@dataclass(frozen=True)
class Contribution:
    """One contribution to the margin of a prediction.

    Attributes
    ----------
    kind : {"value", "hyperedge", "row"}
    name : str or int
        The column or hyperedge, or the number of the labelled row among those given to fit.
    value : object
        The row's value in this column, as text; or the label of the labelled row.
    amount : float
        Contribution to the margin; positive values favour the predicted class.
    """

    kind: Literal["value", "hyperedge", "row"]
    name: str | int
    value: Any
    amount: float


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
    placed : bool
        False if the row has no affinity to a labelled component; there are no contributions then.
    margin : float
        Logit of the class minus logit of the runner-up, averaged over the networks.
    baseline : float
        The part that does not depend on the values of the row, or on labelled rows.
    contributions : tuple of Contribution
        Sorted by absolute amount, largest first.
    remainder : float
        margin − baseline − sum of the amounts.
    """

    row: int
    predicted: Any
    probability: float
    runner_up: Any
    runner_up_probability: float
    placed: bool
    margin: float
    baseline: float
    contributions: tuple[Contribution, ...]
    remainder: float

    def lines(self, by: By, top: int | None = _SHOWN, first: int = 0) -> list[str]:
        """Return the prediction and the `top` contributions as text, counting rows from `first`."""
        number = self.row + first
        if not self.placed:
            return [f"row {number}: no affinity to any labelled part of the graph, no class"]
        lines = [
            f"row {number}: {self.predicted} ({100 * self.probability:.1f} %) rather than "
            f"{self.runner_up} ({100 * self.runner_up_probability:.1f} %), "
            f"margin {self.margin:+.2f}"
        ]
        shown = self.contributions[:top]
        lines += [f"  {one.amount:+.2f}  {_reason(one, first)}" for one in shown]
        rest = self.contributions[len(shown) :]
        if rest:
            others = "1 other" if len(rest) == 1 else f"{len(rest)} others"
            lines.append(f"  {sum(one.amount for one in rest):+.2f}  {others}")
        base = "average row" if by == "values" else "bias"
        lines.append(f"  {self.baseline:+.2f}  {base}")
        if by == "rows":
            lines.append(f"  {self.remainder:+.2f}  not explained by labelled rows")
        return lines


def _reason(one: Contribution, first: int) -> str:
    if one.kind == "row":
        return f"labelled row {int(one.name) + first}: {one.value}"
    name = f"column {one.name}" if isinstance(one.name, int) else one.name
    return f"{name} = {one.value}" if one.kind == "value" else f"{one.value} hyperedge {one.name}"


@final
@dataclass(frozen=True)
class Explanation(Sequence[ExplainedRow]):
    """Explanations of some rows; prints as text, :meth:`to_frame` makes a table.

    Attributes
    ----------
    rows : tuple of ExplainedRow
    by : {"values", "rows"}
        Whether contributions belong to values of the row or to labelled rows.
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
        """Return one line for each part of each margin; the amounts of a row add up to its margin.

        Kinds are those of :class:`Contribution`, and "baseline" and "remainder".
        """
        lines: list[tuple[Any, ...]] = []
        for one in self.rows:
            about = (one.row, one.predicted, one.probability, one.runner_up, one.margin)
            if one.placed:
                lines += [(*about, c.kind, c.name, c.value, c.amount) for c in one.contributions]
                lines.append((*about, "baseline", None, None, one.baseline))
                lines.append((*about, "remainder", None, None, one.remainder))
        names = ("row", "predicted", "probability", "runner_up", "margin")
        return pd.DataFrame(lines, columns=[*names, "kind", "name", "value", "amount"])

    def __str__(self) -> str:
        """Show the ten largest contributions of each row."""
        return "\n".join(line for one in self.rows for line in one.lines(self.by))

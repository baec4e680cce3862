r"""Confidence and prediction intervals, and tables of them.

>>> interval([0.5, 0.75, 1.0])
(0.75, 0.6210...)
>>> plus_minus(0.75, 0.621)
'0.75 ± 0.62'
>>> print(markdown_table(("method", "accuracy"), [("a|b", "0.75")], numeric=[1]))
| method | accuracy |
| --- | --: |
| a\|b | 0.75 |
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


def interval(values: Any) -> tuple[float, float]:
    """Return the mean and half the width of its 95 % interval (Student's t).

    Parameters
    ----------
    values : (m,) array
        NaN is ignored. The half width is NaN for fewer than two values, and so is the mean for
        none.
    """
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    if known.size < 2:
        return (float(known[0]) if known.size else math.nan), math.nan
    quantile = float(stats.t.ppf((1 + CONFIDENCE) / 2, known.size - 1))
    return float(known.mean()), quantile * float(stats.sem(known))


def prediction_interval(values: Any) -> tuple[float, float]:
    r"""Return the bounds within which one more value lies in 95 of 100 cases.

    .. math:: \bar m \pm t_{k-1}\, s \sqrt{1 + 1/k}

    Examples
    --------
    >>> prediction_interval([90.0, 91.0, 92.0])
    (86.0..., 95.9...)
    """
    mean, half_width = interval(values)
    reach = half_width * math.sqrt(len(values) + 1)
    return mean - reach, mean + reach


def plus_minus(mean: float, half_width: float | None, form: str = ".2f") -> str:
    """Format a mean and half the width of its interval, if that is known."""
    if half_width is None or math.isnan(half_width):
        return format(mean, form)
    return f"{mean:{form}} ± {half_width:{form.lstrip('+')}}"


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Collection[int]
) -> str:
    """Return a table in Markdown; `numeric` columns are aligned to the right."""
    rule = ["--:" if column in numeric else "---" for column in range(len(header))]
    escaped = ([cell.replace("|", r"\|") for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *escaped))

"""Dates in texts: ISO 8601, and days, months and years between points, slashes or hyphens.

>>> import pyarrow as pa
>>> dates = parse_dates(pa.array(["31/12/2024", "1/2/2025 2:30 pm"]))
>>> dates.order, dates.times.to_pylist()[1].isoformat()
('day first', '2025-02-01T14:30:00')
>>> parse_dates(pa.array(["1/2/2025"])).ambiguous
True
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DateOrder = Literal["day first", "month first"]
_Order = Literal["year first", "day first", "month first"]

_DATE = re.compile(
    r"([0-9]{1,4})([./-])([0-9]{1,2})\2([0-9]{1,4})"
    r"(?:(?:,?\s+|T)([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?\s*([AaPp][Mm])?)?"
)


class Dates(NamedTuple):
    """Times of texts, in UTC where these have a time zone.

    Attributes
    ----------
    times : Arrow array of microseconds
    order : {"day first", "month first"} or None
        None if the year comes first.
    ambiguous : bool
        Whether the other order would give other dates.
    """

    times: Any
    order: DateOrder | None = None
    ambiguous: bool = False


def parse_dates(
    texts: Any, order: DateOrder | None = None, *, prefer_day: bool = False
) -> Dates | None:
    """Parse all texts as dates; return None if some text is not a date.

    Parameters
    ----------
    texts : Arrow array
        Nulls are missing.
    order : {"day first", "month first"}, optional
        By default the one in which all texts are dates. If both are, the day is first between
        points, and the month otherwise.
    prefer_day : bool
        Whether the day is first in all these cases.
    """
    texts = pc.utf8_trim_whitespace(texts)
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            times = pc.cast(texts, kind).cast(pa.timestamp("us"), safe=False)
        except pa.ArrowInvalid:
            continue
        years = pc.min_max(pc.year(times)).as_py()
        inside = years["min"] is None or 1 <= years["min"] <= years["max"] <= 9999
        return Dates(times) if inside else None
    sample = _DATE.fullmatch(texts.drop_null()[0].as_py())
    if sample is None:
        return None
    orders: list[_Order] = ["month first", "day first"]
    if len(sample[1]) == 4:
        orders = ["year first"]
    elif order is not None:
        orders = [order]
    elif prefer_day or sample[2] == ".":
        orders.reverse()
    matches = _matches(texts)
    kept = [
        Dates(times, None if one == "year first" else one)
        for one in orders
        if (times := _times(matches, one)).null_count == texts.null_count
    ]
    if not kept:
        return None
    return kept[0]._replace(ambiguous=len(kept) == 2 and not kept[0].times.equals(kept[1].times))


def are_dates(texts: Any) -> Any:
    """Return which texts are dates, in the order of day, month and year that fits most of them."""
    matches = _matches(texts)
    orders: tuple[_Order, ...] = ("year first", "day first", "month first")
    return max((_times(matches, one).is_valid() for one in orders), key=np.count_nonzero)


def _matches(texts: Any) -> list[re.Match[str] | None]:
    return [None if text is None else _DATE.fullmatch(text) for text in texts.to_pylist()]


def _times(matches: list[re.Match[str] | None], order: _Order) -> Any:
    """Return timestamps, null where a text is no date or the date does not exist."""
    times = [None if match is None else _time(match, order) for match in matches]
    return pa.array(times, pa.timestamp("us"))


def _time(match: re.Match[str], order: _Order) -> datetime | None:
    first, _, middle, last, hour, minute, second, fraction, half = match.groups()
    year, month, day = {
        "year first": (first, middle, last),
        "day first": (last, middle, first),
        "month first": (last, first, middle),
    }[order]
    hours = int(hour or 0)
    if len(year) < 4 or (half and not 1 <= hours <= 12):
        return None
    if half:  # hours 12, 1, …, 11 before or after noon
        hours = hours % 12 + 12 * (half.lower() == "pm")
    rest = int(minute or 0), int(second or 0), int((fraction or "").ljust(6, "0"))
    try:
        return datetime(int(year), int(month), int(day), hours, *rest)
    except ValueError:
        return None

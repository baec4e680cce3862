"""Dates in texts.

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

_CLOCK = (
    r"(?:(?:,?\s+|T)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,6}))?)?\s*(?P<half>[AaPp][Mm])?)?"
)
_DATED = "^[0-9]+[./-][0-9]+[./-][0-9]"
_YEAR, _MONTH, _DAY = "(?P<year>[0-9]{4})", "(?P<month>[0-9]{1,2})", "(?P<day>[0-9]{1,2})"
_PARTS = ("year", "month", "day", "hour", "minute", "second")
_DATES = {
    order: re.compile(rf"{first}(?P<mark>[./-]){second}(?P=mark){third}{_CLOCK}")
    for order, first, second, third in (
        ("year first", _YEAR, _MONTH, _DAY),
        ("month first", _MONTH, _DAY, _YEAR),
        ("day first", _DAY, _MONTH, _YEAR),
    )
}

_DAY_NAMED = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_MONTH_NAMED, _GAP = r"(?P<month>[A-Za-z]{3,9})\.?", r"(?:[ .-]|, ) *"
_NAMED = [
    re.compile(rf"(?:[A-Z][a-z]{{2,8}},? +)?{pattern}(?P<clock>(?:[ ,T].*)?)")
    for pattern in (
        rf"{_MONTH_NAMED} +{_DAY_NAMED},? +{_YEAR}",
        rf"{_DAY_NAMED}{_GAP}{_MONTH_NAMED}{_GAP}{_YEAR}",
        rf"{_YEAR}{_GAP}{_MONTH_NAMED}{_GAP}{_DAY_NAMED}",
        rf"{_MONTH_NAMED}{_GAP}{_YEAR}(?P<day>)",
    )
]
_MONTHS = (
    "january february march april may june july august september october november december".split()
)


class Dates(NamedTuple):
    """Times of texts, in UTC where these have a time zone.

    Attributes
    ----------
    times : Arrow array of microseconds
        Null where texts are missing or not dates.
    order : {"day first", "month first"} or None
        None if the year comes first.
    ambiguous : bool
        Whether the other order would give other dates.
    """

    times: Any
    order: DateOrder | None = None
    ambiguous: bool = False


def parse_dates(texts: Any, order: DateOrder | None = None, *, prefer_day: bool = False) -> Dates:
    """Parse texts as dates.

    Dates are in ISO 8601, or have day, month and year between points, slashes or hyphens, or the
    English name of the month, such as "Mar 05, 2023" or "5 March 2023".

    Parameters
    ----------
    texts : Arrow array
        Nulls are missing.
    order : {"day first", "month first"}, optional
        By default the one in which most texts are dates. If both are the same, the day is first
        between points, and the month otherwise.
    prefer_day : bool
        Whether the day is first in all these cases.
    """
    texts = _with_numbered_months(texts)
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            times = pc.cast(texts, kind).cast(pa.timestamp("us"), safe=False)
        except pa.ArrowInvalid:
            continue
        years = pc.min_max(pc.year(times)).as_py()
        if years["min"] is None or 1 <= years["min"] <= years["max"] <= 9999:
            return Dates(times)
    nothing = pa.scalar(None, pa.string())
    dated = pc.if_else(pc.match_substring_regex(texts, _DATED), texts, nothing)
    orders: list[Any] = ["month first", "day first"] if order is None else [order]
    if prefer_day or pc.any(pc.match_substring_regex(dated, r"^[0-9]+\.")).as_py():
        orders.reverse()
    dates = [Dates(_times(dated, one), one) for one in orders]
    dates.append(Dates(_times(dated, "year first")))
    complete = [one.times for one in dates if one.times.null_count == texts.null_count]
    best = min(dates, key=lambda one: one.times.null_count)
    return best._replace(ambiguous=bool(complete) and not complete[0].equals(complete[-1]))


def _with_numbered_months(texts: Any) -> Any:
    """Return texts with the names of months as year/month/day.

    >>> _with_numbered_months(pa.array(["Mar 05, 2023", "5 Sept 2023 10:30", "Mar"])).to_pylist()
    ['2023/3/05', '2023/9/5 10:30', 'Mar']
    """
    named = pc.match_substring_regex(texts, r"[A-Za-z]{3}.*[0-9]{4}|[0-9]{4}.*[A-Za-z]{3}")
    if not pc.any(named).as_py():
        return texts
    return pa.array([text and _numbered_month(text) for text in texts.to_pylist()], pa.string())


def _numbered_month(text: str) -> str:
    for date in filter(None, (pattern.fullmatch(text) for pattern in _NAMED)):
        for number, name in enumerate(_MONTHS, 1):
            if name.startswith(date["month"].lower()):
                return f"{date['year']}/{number}/{date['day'] or 1}{date['clock']}"
    return text


def each_date(texts: Any, order: DateOrder | None) -> Any:
    """Return the times of texts, each read on its own in the given order."""
    dates = parse_dates(texts, order)
    if dates.times.null_count == texts.null_count and dates.order in (None, order):
        return dates.times
    times = pc.coalesce(_times(texts, order or "year first"), _times(texts, "year first"))
    others = np.flatnonzero(np.asarray(times.is_null()) & np.asarray(texts.is_valid()))
    found = [parse_dates(texts.take(pa.array([k])), order) for k in others]
    known = [one.times[0].as_py() if one.order in (None, order) else None for one in found]
    places = np.asarray(times.is_null()) & np.asarray(texts.is_valid())
    return pc.replace_with_mask(times, pa.array(places), pa.array(known, pa.timestamp("us")))


def _times(texts: Any, order: str) -> Any:
    """Return timestamps, null where a text is no date or the date does not exist."""
    times = [None if text is None else _time(text, order) for text in texts.to_pylist()]
    return pa.array(times, pa.timestamp("us"))


def _time(text: str, order: str) -> datetime | None:
    if (date := _DATES[order].fullmatch(text)) is None:
        return None
    year, month, day, hour, minute, second = [int(part or 0) for part in date.group(*_PARTS)]
    if half := date["half"]:  # hours 12, 1, …, 11 before or after noon
        hour = hour % 12 + 12 * (half.lower() == "pm") if 1 <= hour <= 12 else 24
    fraction = int((date["fraction"] or "").ljust(6, "0"))
    try:
        return datetime(year, month, day, hour, minute, second, fraction)
    except ValueError:
        return None

"""Dates in texts: ISO 8601, and days, months and years between points, slashes or hyphens.

>>> import pyarrow as pa
>>> found = parse_dates(pa.array(["31/12/2024", "1/2/2025 2:30 pm"]))
>>> found.order, found.times.to_pylist()[1].isoformat()
('day first', '2025-02-01T14:30:00')
>>> parse_dates(pa.array(["1/2/2025"])).ambiguous
True
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

DateOrder = Literal["day first", "month first"]

_TIME = (
    r"(?:(?:,?\s+|T)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:\.[0-9]"
    r"{1,6})?))?\s*(?P<half>[AaPp][Mm])?)?\s*$"
)
_MARK = r"(?P<mark{}>[./-])"
_DAY = r"^\s*(?P<first>[0-9]{1,2})"
_YEAR_LAST = (
    _DAY + _MARK.format(1) + r"(?P<last>[0-9]{1,2})" + _MARK.format(2) + r"(?P<year>[0-9]{4})"
)
_YEAR_FIRST = (
    r"^\s*(?P<year>[0-9]{4})"
    + _MARK.format(1)
    + r"(?P<first>[0-9]{1,2})"
    + _MARK.format(2)
    + r"(?P<last>[0-9]{1,2})"
)
_DATE = r"^(?P<date>[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4})(?:[ T,].*)?$"


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
    sample = texts.drop_null()[0].as_py()
    if re.match(_YEAR_FIRST + _TIME, sample):
        parts = _parts(texts, _YEAR_FIRST)
        times = None if parts is None else _times(parts, "first", "last")
        return None if times is None else Dates(times)
    found = re.match(_YEAR_LAST + _TIME, sample)
    parts = _parts(texts, _YEAR_LAST) if found else None
    if found is None or parts is None:
        return None
    orders: tuple[DateOrder, ...] = ("month first", "day first")
    if prefer_day or found["mark1"] == ".":
        orders = ("day first", "month first")
    places = {"day first": ("last", "first"), "month first": ("first", "last")}
    kept = [
        Dates(times, one)
        for one in ((order,) if order else orders)
        if (times := _times(parts, *places[one])) is not None
    ]
    if not kept:
        return None
    return kept[0]._replace(ambiguous=len(kept) == 2 and not kept[0].times.equals(kept[1].times))


def are_dates(texts: Any) -> Any:
    """Return which texts are dates, in the order of day, month and year that fits most of them.

    Times of day are not checked.
    """
    days = pc.struct_field(pc.extract_regex(texts, _DATE), "date")
    if 2 * days.null_count > len(days):  # too few to be a column of dates
        return pa.nulls(len(days)).is_valid()
    spelled = pd.Series(pc.replace_substring_regex(days, "[./]", "-").to_pylist(), dtype=object)
    found = [
        pd.to_datetime(spelled, format=order, errors="coerce").notna().to_numpy()
        for order in ("%Y-%m-%d", "%d-%m-%Y", "%m-%d-%Y")
    ]
    return pa.array(max(found, key=np.count_nonzero))


def _parts(texts: Any, pattern: str) -> Any:
    """Return the parts of all texts by name; None if the pattern does not match one of them."""
    parts = pc.extract_regex(texts.cast(pa.string()), pattern + _TIME)
    return None if parts.null_count > texts.null_count else parts


def _times(parts: Any, month: str, day: str) -> Any:
    """Return timestamps, or None if a date does not exist."""

    def part(name: str) -> Any:
        return pc.struct_field(parts, name)

    def digits(name: str) -> Any:
        return pc.utf8_lpad(part(name), 2, "0")

    half, hours = pc.utf8_lower(part("half")), pc.cast(digits("hour"), pa.int32())
    twelve = pc.not_equal(half, "")  # hours 12, 1, …, 11 before or after noon
    impossible = pc.and_(twelve, pc.or_(pc.equal(hours, 0), pc.greater(hours, 12)))
    mixed = pc.not_equal(part("mark1"), part("mark2"))
    if pc.any(pc.or_(impossible, pc.or_(mixed, pc.equal(part("year"), "0000")))).as_py():
        return None
    noon = pc.if_else(pc.equal(half, "pm"), 12, 0)
    hours = pc.if_else(twelve, pc.add(pc.if_else(pc.equal(hours, 12), 0, hours), noon), hours)
    hour = pc.utf8_lpad(hours.cast(pa.string()), 2, "0")
    date = pc.binary_join_element_wise(part("year"), digits(month), digits(day), "-")
    seconds = pc.if_else(pc.equal(part("second"), ""), "00", part("second"))
    time = pc.binary_join_element_wise(hour, digits("minute"), seconds, ":")
    try:
        return pc.cast(pc.binary_join_element_wise(date, time, " "), pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None

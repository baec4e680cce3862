"""Numbers and texts formatted for people, the same on the terminal and in reports.

>>> percent(0.93503), scientific(4.5e-7), number(0.833333333)
('93.5 %', '4.5e-07', '0.833333')
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

# Also the filters of the templates of reports.
__all__ = ["count", "duration", "percent", "plural", "rounded_percent", "shorten", "value_text"]


def percent(share: float | None, decimals: int = 1) -> str:
    """Format a share as a percentage, None as a dash."""
    return "–" if share is None else f"{100 * share:.{decimals}f} %"


def rounded_percent(share: float) -> str:
    r"""Format a share as a whole percentage, with 0 and 100 for exactly 0 and 1 only.

    >>> rounded_percent(0.934), rounded_percent(0.9991), rounded_percent(1.0)
    ('93\xa0%', 'over 99\xa0%', '100\xa0%')
    """
    text = f"{100 * share:.0f}"
    if 0 < share < 1:
        text = {"0": "under 1", "100": "over 99"}.get(text, text)
    return f"{text}\N{NO-BREAK SPACE}%"


def plural(n: int, one: str, many: str | None = None) -> str:
    r"""Format a number of things with the singular or plural noun.

    >>> plural(1, "row"), plural(20000, "row"), plural(2, "class", "classes")
    ('1 row', '20\xa0000 rows', '2 classes')
    """
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Format a time in milliseconds, seconds or minutes.

    >>> duration(0.0094), duration(3.217), duration(754.0)
    ('9 ms', '3.2 s', '13 min')
    """
    if seconds >= 600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.1f} s" if seconds >= 0.9995 else f"{1000 * seconds:.0f} ms"


def count(n: int) -> str:
    """Format an integer, from 10 000 on in groups of three digits."""
    return f"{n:,}".replace(",", "\N{NO-BREAK SPACE}") if n >= 10_000 else str(n)


def listed(texts: Iterable[object], most: int) -> str:
    """Return the first texts of a list, and a mark if there are more.

    >>> listed([1, 2, 3], 2)
    '1, 2, …'
    """
    every = list(map(str, texts))
    return ", ".join([*every[:most], *(["…"] if len(every) > most else [])])


def scientific(value: float) -> str:
    """Format a residual or an error by its order of magnitude."""
    return f"{value:.1e}" if value else "0"


def number(value: float) -> str:
    """Format a number to six significant digits, without trailing zeros."""
    return f"{value:.6g}"


def value_text(value: str | int | float) -> str:
    """Format a text, a count or a measured number."""
    if isinstance(value, float):
        return number(value) if abs(value) >= 1e-3 else scientific(value)
    return count(value) if isinstance(value, int) else value


def shorten(text: str, longest: int = 40) -> str:
    r"""Return the text on one line without control characters, of at most `longest` characters.

    >>> shorten("a" * 100)[-5:], shorten("line\nbreak"), shorten("")
    ('aaaa…', 'line break', '')
    """
    begin = text[: 4 * longest]  # cells may be very long
    line = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in begin)
    line = " ".join(line.split())
    return line if len(line) <= longest and len(text) == len(begin) else line[: longest - 1] + "…"


def empty_text(n_rows: int) -> str:
    """Return the warning on rows without any cell.

    >>> empty_text(1)
    'the probabilities of 1 row without any cell are the class shares'
    """
    rows = plural(n_rows, "row")
    return f"the probabilities of {rows} without any cell are the class shares"

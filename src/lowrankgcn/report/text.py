"""Numbers as people read them, the same on the terminal and in the page.

>>> percent(0.93503), small(4.5e-7), number(0.833333333)
('93.5 %', '4.5e-07', '0.833333')
"""

from __future__ import annotations

import platform
import unicodedata
from importlib.metadata import version

import lowrankgcn

__all__ = [
    "count",
    "duration",
    "number",
    "percent",
    "plural",
    "rough",
    "short",
    "small",
    "versions",
]

_LONGEST = 40


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def rough(share: float) -> str:
    r"""A share as a percentage without decimals, but never 0 or 100 where it is not.

    >>> rough(0.934), rough(0.9991), rough(1.0), rough(0.0004)
    ('93\xa0%', 'over 99\xa0%', '100\xa0%', 'under 1\xa0%')
    """
    if 0.995 < share < 1:
        text = "over 99"
    elif 0 < share < 0.005:
        text = "under 1"
    else:
        text = f"{100 * share:.0f}"
    return f"{text}\N{NO-BREAK SPACE}%"


def plural(n: int, one: str, many: str | None = None) -> str:
    r"""A number of things with their name.

    >>> plural(1, "row"), plural(20000, "row"), plural(2, "class", "classes")
    ('1 row', '20\xa0000 rows', '2 classes')
    """
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Milliseconds below a second, minutes above ten of them, seconds between.

    >>> duration(0.0094), duration(3.217), duration(754.0)
    ('9 ms', '3.2 s', '13 min')
    """
    if seconds >= 600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.1f} s" if seconds >= 0.9995 else f"{1000 * seconds:.0f} ms"


def count(n: int) -> str:
    """A number of things, long ones in groups of three."""
    return f"{n:,}".replace(",", "\N{NO-BREAK SPACE}") if n >= 10_000 else str(n)


def small(value: float) -> str:
    """A residual or an error, of which the order of magnitude matters."""
    return f"{value:.1e}" if value else "0"


def number(value: float) -> str:
    """An eigenvalue to six digits, without trailing zeros."""
    return f"{value:.6g}"


def short(text: str, longest: int = _LONGEST) -> str:
    r"""The text in one line without control characters, cut after `longest` characters.

    >>> short("a" * 100)[-5:], short("line\nbreak"), short("")
    ('aaaa…', 'line break', '')
    """
    begin = text[: 4 * longest]  # a cell may be a book
    line = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in begin)
    line = " ".join(line.split())
    return line if len(line) <= longest and len(text) == len(begin) else line[: longest - 1] + "…"


def versions() -> tuple[str, ...]:
    """Versions of Python and of the packages that decide the digits."""
    packages = ("numpy", "scipy", "torch", "finufft", "matplotlib")
    return (
        f"lowrankgcn {lowrankgcn.__version__}",
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in packages),
    )

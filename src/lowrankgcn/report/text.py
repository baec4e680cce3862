"""Numbers as people read them, the same on the terminal and in the page.

>>> percent(0.93503), duration(0.0094), duration(3.217), small(4.5e-7), number(0.833333333)
('93.5 %', '9 ms', '3.2 s', '4.5e-07', '0.833333')
"""

from __future__ import annotations

import math
import platform
from importlib.metadata import version

import lowrankgcn
from lowrankgcn.report.study import KernelSummary, Task

__all__ = [
    "accuracy_line",
    "count",
    "cut_text",
    "duration",
    "error_text",
    "number",
    "percent",
    "plural",
    "rough",
    "small",
    "spectrum_text",
    "versions",
]


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def rough(share: float) -> str:
    """A share as a percentage without decimals, but never 0 or 100 where it is not.

    >>> rough(0.934), rough(0.9991), rough(1.0), rough(0.0004)
    ('93 %', 'over 99 %', '100 %', 'under 1 %')
    """
    if share > 0.995 and share < 1:
        return "over 99 %"
    if 0 < share < 0.005:
        return "under 1 %"
    return f"{100 * share:.0f} %"


def plural(n: int, one: str, many: str | None = None) -> str:
    r"""A number of things with their name.

    >>> plural(1, "row"), plural(20000, "row"), plural(2, "class", "classes")
    ('1 row', '20\xa0000 rows', '2 classes')
    """
    return f"{count(n)} {one if n == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Milliseconds below a second, seconds above."""
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


def spectrum_text(spectrum: tuple[tuple[float, int], ...]) -> str:
    """Distinct eigenvalues with their multiplicities.

    >>> spectrum_text(((0.0, 1), (5 / 6, 15), (1.0, 1712)))
    '0 ×1, 0.833333 ×15, 1 ×1712'
    """
    return ", ".join(f"{number(value)} ×{count}" for value, count in spectrum)


def error_text(kernel: KernelSummary) -> str:
    """A truncation error, with its standard error when it is an estimate."""
    value, spread = kernel.truncation_error, kernel.standard_error
    if not spread:
        return f"{value:.4g}"
    digits = max(0, 1 - math.floor(math.log10(spread)))  # two significant ones of the spread
    return f"{value:.{digits}f} ± {spread:.{digits}f}"


def cut_text(kernel: KernelSummary) -> str:
    """The response at the first eigenvalue left out."""
    if kernel.first_cut is None:
        return "–"
    return f"{kernel.first_cut:.3g}" if abs(kernel.first_cut) > 1e-12 else "0"


def accuracy_line(task: Task) -> str:
    """The accuracy of a task in one line."""
    return (
        f"GCNClassifier, {task.n_labels} labels: {percent(task.accuracy)} of the other rows right"
    )


def versions() -> tuple[str, ...]:
    """Versions of Python and of the packages that decide the digits."""
    packages = ("numpy", "scipy", "torch", "finufft", "matplotlib")
    return (
        f"lowrankgcn {lowrankgcn.__version__}",
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in packages),
    )

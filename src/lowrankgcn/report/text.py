"""Numbers as people read them, the same on the terminal and in the page.

>>> percent(0.93503), duration(0.0094), duration(3.217), small(4.5e-7), number(0.833333333)
('93.5 %', '9 ms', '3.2 s', '4.5e-07', '0.833333')
"""

from __future__ import annotations

import math

from lowrankgcn.report.study import KernelSummary, Task

__all__ = [
    "accuracy_line",
    "count",
    "cut_text",
    "duration",
    "error_text",
    "number",
    "percent",
    "small",
    "spectrum_text",
]


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


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

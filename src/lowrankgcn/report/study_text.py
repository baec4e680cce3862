"""What a study found out, in a few characters each; the same on the terminal and in the page."""

from __future__ import annotations

import math

from lowrankgcn.report.study import KernelSummary, Task
from lowrankgcn.report.text import number, percent

__all__ = ["accuracy_line", "cut_text", "error_text", "spectrum_text"]


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

"""A graph from the data to the accuracy, as the demo shows it.

A study holds results; :meth:`Study.numbers` returns them for JSON, and its texts are the same on
the terminal and in the report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import number, scientific
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.spectral.spectrum import Eigenpairs, WholeSpectrum

__all__ = ["KernelSummary", "Study", "TargetResult", "multiplicities"]

FloatArray = NDArray[np.float64]

_EQUAL = 1e-9  # eigenvalues closer than this are one multiple eigenvalue


@final
@dataclass(frozen=True)
class KernelSummary:
    """A low-rank kernel and its truncation error."""

    filter: str
    description: str  # the filter with its parameters
    rank: int  # number of eigenpairs with a nonzero response
    truncation_error: float  # ‖𝒦 − 𝒦̃‖_F
    standard_error: float  # standard error of an estimated truncation error, else 0
    first_cut: float | None  # φ at the first discarded eigenvalue, if known
    full_rank_form: str | None = None  # form of the kernel without truncation

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, *, full: Kernel | None = None, seed: int = 0
    ) -> KernelSummary:
        """Summarise a low-rank kernel; `full` is the full-rank kernel of the same filter."""
        pairs = kernel.eigenpairs
        assert pairs is not None
        following = pairs.next_eigenvalue
        if pairs.spectrum is not None:
            beyond = pairs.spectrum.values[pairs.spectrum.values > pairs.eigenvalues[-1] + _EQUAL]
            following = float(beyond[0]) if len(beyond) else math.nan
        error = kernel.truncation_error(random_state=seed)
        return cls(
            filter=kernel.filter.name,
            description=str(kernel.filter),
            rank=int(np.count_nonzero(kernel.response)),
            truncation_error=error.value,
            standard_error=error.standard_error,
            first_cut=float(kernel.filter([following])[0]) if math.isfinite(following) else None,
            full_rank_form=None if full is None else full.form,
        )

    @property
    def error_text(self) -> str:
        """The truncation error, with its standard error if it is an estimate."""
        value, spread = self.truncation_error, self.standard_error
        if not spread:
            return f"{value:.4g}"
        digits = max(0, 1 - math.floor(math.log10(spread)))  # two significant ones of the spread
        return f"{value:.{digits}f} ± {spread:.{digits}f}"

    @property
    def cut_text(self) -> str:
        """The response at the first discarded eigenvalue."""
        if self.first_cut is None:
            return "–"
        return f"{self.first_cut:.3g}" if abs(self.first_cut) > 1e-12 else "0"


@final
@dataclass(frozen=True, eq=False)
class TargetResult:
    """Classes of the nodes, the labelled nodes, and the predictions for all nodes.

    Attributes
    ----------
    name : str
        Name of the target.
    remark : str
        Context for judging the accuracy.
    classes : (n,) int array
        Index into `class_names`.
    training : int array
        The labelled nodes.
    predictions : mapping from classifier to (n,) int array
        The main classifier first.
    coordinates : (n, 2) array
        Positions of the nodes in the figure.
    axis_names : pair of str
    """

    name: str
    remark: str
    classes: NDArray[np.int64]
    class_names: tuple[str, ...]
    training: NDArray[np.intp]
    predictions: Mapping[str, NDArray[np.int64]]
    coordinates: FloatArray
    axis_names: tuple[str, str]

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Mask of the labelled nodes, shape (n,)."""
        return np.isin(np.arange(len(self.classes)), self.training)

    @property
    def accuracies(self) -> dict[str, tuple[float, float]]:
        """Accuracy on the unlabelled nodes, and its mean over the classes, by classifier."""
        found = {}
        for name, predicted in self.predictions.items():
            right = pd.Series(predicted == self.classes)[~self.labelled]
            balanced = right.groupby(self.classes[~self.labelled]).mean().mean()
            found[name] = float(right.mean()), float(balanced)
        return found

    @property
    def largest_class(self) -> tuple[str, float]:
        """The most frequent class and its share, the accuracy of always predicting it."""
        counts = np.bincount(self.classes[~self.labelled])
        return self.class_names[int(counts.argmax())], float(counts.max() / counts.sum())

    def numbers(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        name, share = self.largest_class
        return {
            "target": self.name,
            "remark": self.remark,
            "labels": len(self.training),
            "methods": {
                method: {"accuracy": accuracy, "balanced_accuracy": balanced}
                for method, (accuracy, balanced) in self.accuracies.items()
            },
            "largest_class": name,
            "largest_class_share": share,
        }


@final
@dataclass(frozen=True, eq=False)
class Study:
    """One graph from the data to the accuracy.

    Attributes
    ----------
    name, title, source : str
        Short name, heading, and a description of the data.
    header, sample
        Names of the columns and a few rows of the data.
    facts : mapping
        Properties of the graph: texts or numbers by name.
    pairs : Eigenpairs
    filters : tuple of Filter
        Bound to the spectrum.
    kernels : tuple of KernelSummary
    targets : tuple of TargetResult
    points : (n, 2) array or None
        The data as a picture, if they are points, with `point_names` for the axes.
    seconds : mapping
        Time of every step.
    warnings : tuple of str
    code : str
        The same computation in Python.
    """

    name: str
    title: str
    source: str
    header: tuple[str, ...]
    sample: tuple[tuple[str, ...], ...]
    facts: Mapping[str, str | int | float]
    pairs: Eigenpairs
    filters: tuple[Filter, ...]
    kernels: tuple[KernelSummary, ...]
    targets: tuple[TargetResult, ...]
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    code: str
    points: FloatArray | None = None
    point_names: tuple[str, str] = ("", "")

    @property
    def spectrum(self) -> tuple[tuple[float, int], ...] | None:
        """All eigenvalues with multiplicity, if the solver computed them."""
        whole = self.pairs.spectrum
        return None if whole is None else multiplicities(whole)

    @property
    def spectrum_text(self) -> str:
        """The distinct eigenvalues with their multiplicities."""
        return ", ".join(f"{number(value)} ×{times}" for value, times in self.spectrum or ())

    @property
    def eigenvalue_rows(self) -> list[tuple[str, str, str]]:
        """Index, eigenvalue and residual."""
        pairs = zip(self.pairs.eigenvalues.tolist(), self.pairs.residuals.tolist(), strict=True)
        return [
            (str(index), f"{value:.6f}" if value else "0", scientific(residual))
            for index, (value, residual) in enumerate(pairs, 1)
        ]

    def numbers(self) -> dict[str, Any]:
        """Return plain values for JSON; all but "seconds" repeat with the seed."""
        pairs, spectrum = self.pairs, self.spectrum
        return {
            "title": self.title,
            "source": self.source,
            "graph": dict(self.facts),
            "eigenpairs": {
                "method": pairs.method,
                "products": pairs.iterations,
                "fast_sum_error": pairs.fast_sum_error,
                "eigenvalues": pairs.eigenvalues.tolist(),
                "residuals": pairs.residuals.tolist(),
            },
            "spectrum": None
            if spectrum is None
            else [{"eigenvalue": value, "multiplicity": m} for value, m in spectrum],
            "kernels": [vars(kernel) for kernel in self.kernels],
            "tasks": [target.numbers() for target in self.targets],
            "warnings": list(self.warnings),
            "seconds": dict(self.seconds),
        }


def multiplicities(spectrum: WholeSpectrum) -> tuple[tuple[float, int], ...]:
    """Return the distinct eigenvalues and their multiplicities.

    >>> values, counts = np.array([0.0, 0.5, 0.5 + 1e-15, 1.0]), np.array([1, 1, 1, 7])
    >>> multiplicities(WholeSpectrum(values, counts))
    ((0.0, 1), (0.5, 2), (1.0, 7))
    """
    starts = np.flatnonzero(np.diff(spectrum.values, prepend=-np.inf) > _EQUAL)
    counts = np.add.reduceat(spectrum.counts, starts)
    return tuple(zip(spectrum.values[starts].tolist(), counts.tolist(), strict=True))

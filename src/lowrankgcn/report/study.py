"""What a report tells about one graph: what was read, the spectrum, the kernels, the accuracy.

A study holds results, no opinions on how they look; :meth:`Study.numbers` gives them as plain
numbers and strings for JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.report.networks import plain_networks
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.spectral.spectrum import Eigenpairs, WholeSpectrum

__all__ = ["KernelSummary", "Study", "Task", "multiplicities"]

FloatArray = NDArray[np.float64]

_EQUAL = 1e-9  # eigenvalues closer than this are one multiple eigenvalue


@final
@dataclass(frozen=True)
class KernelSummary:
    """A kernel of low rank and what the rank leaves out."""

    filter: str
    description: str  # the filter with its parameters
    rank: int  # eigenpairs on which the filter does not vanish
    truncation_error: float  # ‖𝒦 − 𝒦̃‖_F
    standard_error: float  # of that, when it is an estimate
    first_cut: float | None  # φ at the first eigenvalue left out, where that is known
    full_rank_form: str | None = None  # how the same kernel is held without truncation

    @classmethod
    def of(cls, kernel: Kernel, *, full: Kernel | None = None, seed: int = 0) -> KernelSummary:
        """Summarise a kernel of given rank; `full` is the same filter's kernel of full rank."""
        assert kernel.eigenpairs is not None
        following = _first_left_out(kernel.eigenpairs)
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


@final
@dataclass(frozen=True, eq=False)
class Task:
    """Classes of the nodes, the few that are given, and how well the classifier finds the others.

    Attributes
    ----------
    name : str
        What the classes are.
    remark : str
        What a reader must know to judge the accuracy.
    classes : (n,) int array
        Index into `class_names`.
    training : int array
        The labelled nodes.
    predicted : (n,) int array
    coordinates : (n, 2) array
        Where the nodes are drawn.
    axis_names : pair of str
    selection : sequence of mappings
        What the classifier compared, see :class:`~lowrankgcn.estimators.Selection`.
    """

    name: str
    remark: str
    classes: NDArray[np.int64]
    class_names: tuple[str, ...]
    training: NDArray[np.intp]
    predicted: NDArray[np.int64]
    coordinates: FloatArray
    axis_names: tuple[str, str]
    selection: Sequence[Mapping[str, Any]] = ()

    @property
    def n_labels(self) -> int:
        """Number of labelled nodes."""
        return len(self.training)

    @property
    def _others(self) -> NDArray[np.bool_]:
        others = np.ones(len(self.classes), bool)
        others[self.training] = False
        return others

    @property
    def accuracy(self) -> float:
        """Share of the nodes without a label whose class is guessed."""
        return float((self.predicted == self.classes)[self._others].mean())

    @property
    def balanced_accuracy(self) -> float:
        """The same share within every class, averaged over the classes."""
        right, classes = (self.predicted == self.classes)[self._others], self.classes[self._others]
        return float(np.mean([right[classes == c].mean() for c in np.unique(classes)]))

    @property
    def largest_class(self) -> tuple[str, float]:
        """The most frequent class and its share, which always guessing it would score."""
        counts = np.bincount(self.classes[self._others])
        return self.class_names[int(counts.argmax())], float(counts.max() / counts.sum())

    def numbers(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        name, share = self.largest_class
        return {
            "target": self.name,
            "remark": self.remark,
            "method": "GCNClassifier",
            "selection": plain_networks(self.selection),
            "labels": self.n_labels,
            "accuracy": self.accuracy,
            "balanced_accuracy": self.balanced_accuracy,
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
        Short name, heading, and what was read in a sentence or two.
    header, sample
        Names of the columns and a few rows of the data.
    facts : mapping
        What to know about the graph, in order: text or numbers by name.
    pairs : Eigenpairs
    filters : tuple of Filter
        Bound to the spectrum, to be drawn.
    kernels : tuple of KernelSummary
    tasks : tuple of Task
    points : (n, 2) array or None
        The data themselves as a picture, where they are points, with `point_names` for the axes.
    seconds : mapping
        Time of every step.
    warnings : tuple of str
        What the library warned of on the way.
    code : str
        The same in Python.
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
    tasks: tuple[Task, ...]
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    code: str
    points: FloatArray | None = None
    point_names: tuple[str, str] = ("", "")

    @property
    def spectrum(self) -> tuple[tuple[float, int], ...] | None:
        """All eigenvalues with multiplicity, where the solver knows them."""
        whole = self.pairs.spectrum
        return None if whole is None else multiplicities(whole)

    def numbers(self) -> dict[str, Any]:
        """Plain numbers and strings for JSON; everything but "seconds" repeats with the seed."""
        pairs = self.pairs
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
            if self.spectrum is None
            else [{"eigenvalue": value, "multiplicity": m} for value, m in self.spectrum],
            "kernels": [vars(kernel) for kernel in self.kernels],
            "tasks": [task.numbers() for task in self.tasks],
            "warnings": list(self.warnings),
            "seconds": dict(self.seconds),
        }


def _first_left_out(pairs: Eigenpairs) -> float:
    """The first eigenvalue beyond those kept, NaN if unknown."""
    if pairs.spectrum is None:
        return pairs.next_eigenvalue
    beyond = pairs.spectrum.values[pairs.spectrum.values > pairs.eigenvalues[-1] + _EQUAL]
    return float(beyond[0]) if len(beyond) else math.nan


def multiplicities(spectrum: WholeSpectrum) -> tuple[tuple[float, int], ...]:
    """Distinct eigenvalues and their multiplicities.

    >>> values, counts = np.array([0.0, 0.5, 0.5 + 1e-15, 1.0]), np.array([1, 1, 1, 7])
    >>> multiplicities(WholeSpectrum(values, counts))
    ((0.0, 1), (0.5, 2), (1.0, 7))
    """
    found: list[tuple[float, int]] = []
    for value, count in zip(spectrum.values.tolist(), spectrum.counts.tolist(), strict=True):
        if found and value - found[-1][0] <= _EQUAL:
            found[-1] = (found[-1][0], found[-1][1] + count)
        else:
            found.append((value, count))
    return tuple(found)

"""Candidate networks on one decomposition of the Laplacian.

By default the estimator compares a linear model and a perceptron of the features, which ignore the
graph, with the low-rank and reduced-order networks of the paper with the filter φ(λ) = 1/(λ + ε).
ε is the C-th positive eigenvalue for C classes: eigenvectors up to there separate the classes, and
their responses lie within a factor of two.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from lowrankgcn._validation import invalid
from lowrankgcn.estimators.candidates import Candidate, truncated
from lowrankgcn.estimators.settings import Settings
from lowrankgcn.exceptions import DegenerateCutWarning, DisconnectedGraphWarning, RankWarning
from lowrankgcn.spectral.eigenpairs import eigenpairs
from lowrankgcn.spectral.filters import (
    Constant,
    Filter,
    Linear,
    Pseudoinverse,
    Quadratic,
    RegularizedInverse,
)
from lowrankgcn.spectral.kernel import Kernel, kernel, low_rank_kernels
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs

__all__ = [
    "MANY_ROWS",
    "Proposals",
    "eigengap",
    "filter_choices",
    "list_candidates",
    "propose",
    "rank_for",
    "suppress_rank_warnings",
]

DEFAULT_RANK = 30

# Prior odds; the graph is assumed to be informative.
_PRIORS = {"full": 10.0, "low-rank": 10.0, "reduced": 3.0}
#: Low-rank networks, whose training costs O(n), are not default candidates beyond this many rows.
MANY_ROWS = 50_000
_STORED_SINGLE = 200_000


@final
@dataclass(frozen=True, eq=False)
class Proposals:
    """Candidates with the kernels of their filters, and the eigenpairs they share.

    Attributes
    ----------
    candidates : tuple of Candidate
    kernels : tuple of tuples of Kernel
        Empty for candidates that ignore the graph.
    pairs : Eigenpairs or None
        None if only kernels of full rank are wanted.
    """

    candidates: tuple[Candidate, ...]
    kernels: tuple[tuple[Kernel, ...], ...]
    pairs: Eigenpairs | None


def propose(laplacian: Laplacian, settings: Settings, n_classes: int, seed: int) -> Proposals:
    """Decompose the Laplacian and list the candidates."""
    rank = rank_for(laplacian.n, laplacian.graph.max_rank, settings)
    if settings.architecture == "full":
        return _full(laplacian, settings)
    with suppress_rank_warnings(settings):
        if settings.filters is None:
            pairs = eigenpairs(
                laplacian, rank, tol=settings.tol, random_state=seed, dtype=_dtype(laplacian)
            )
            choices = filter_choices(pairs, settings, n_classes)
        else:
            kernels = kernel(
                laplacian, list(settings.filters), rank, tol=settings.tol, random_state=seed
            )
            assert kernels[0].eigenpairs is not None
            pairs = kernels[0].eigenpairs
            choices = [(pairs, tuple(made.filter for made in kernels))]
    return list_candidates(laplacian, settings, pairs, choices, laplacian.n)


Choices = list[tuple[Eigenpairs, tuple[Filter, ...]]]


def filter_choices(pairs: Eigenpairs, settings: Settings, n_classes: int) -> Choices:
    """Return the filters to compare, on all pairs and on those before an eigengap."""
    choices = [(pairs, filters) for filters in _filters(pairs, settings, n_classes)]
    gap = eigengap(pairs.eigenvalues, n_classes)
    if settings.rank is None and gap is not None:
        choices.append((truncated(pairs, gap), choices[0][1]))
    return choices


def list_candidates(
    laplacian: Laplacian, settings: Settings, pairs: Eigenpairs, choices: Choices, n_rows: int
) -> Proposals:
    """List the candidates for given pairs and filters."""
    found: list[tuple[Candidate, tuple[Kernel, ...]]] = []
    if settings.architecture == "auto" and settings.filters is None:
        found += [(candidate, ()) for candidate in _without_graph(settings)]
    for architecture in _architectures(n_rows, settings):
        for kept, filters in choices:
            candidate = Candidate(
                architecture,
                filters,
                settings.hidden_widths,
                kept.rank,
                _PRIORS[architecture] / len(choices),
            )
            found.append((candidate, low_rank_kernels(laplacian, filters, kept)))
    candidates = tuple(candidate for candidate, _ in found)
    return Proposals(candidates, tuple(made for _, made in found), pairs)


def eigengap(eigenvalues: Any, n_classes: int) -> int | None:
    """Return the number of eigenvalues before the widest relative gap, None without a clear one.

    The gap lies between the number of classes and three quarters of the eigenvalues; it is clear if
    λ increases by half.

    Examples
    --------
    >>> eigengap([0.0, 0.01, 0.02, 0.03, 0.4, 0.41, 0.42, 0.43], 3)
    4
    """
    values = np.asarray(eigenvalues)
    first, last = max(n_classes, 2), (3 * len(values)) // 4
    if last <= first:
        return None
    low, high = values[first - 1 : last - 1], values[first:last]
    ratio = high / np.maximum(low, 1e-12)
    best = int(ratio.argmax())
    return first + best if ratio[best] > 1.5 else None


def rank_for(n_rows: int, n_hyperedges: int | None, settings: Settings) -> int:
    """Return the number of eigenpairs: as given, or 30, at most the rows and hyperedges."""
    if settings.rank is not None:
        if settings.rank > n_rows:
            raise invalid("rank", f"at most {n_rows}, the number of rows", settings.rank)
        return settings.rank
    limit = n_rows if n_hyperedges is None else min(n_rows, n_hyperedges)
    return max(1, min(DEFAULT_RANK, limit))


def _dtype(laplacian: Laplacian) -> str:
    return "float32" if laplacian.n > _STORED_SINGLE else "float64"


def _filters(pairs: Eigenpairs, settings: Settings, n_classes: int) -> list[tuple[Filter, ...]]:
    positive = pairs.eigenvalues[pairs.eigenvalues > 1e-9]
    epsilon = float(positive[min(n_classes, len(positive)) - 1]) if len(positive) else 1.0
    inverse = RegularizedInverse(epsilon)
    if settings.architecture == "auto":
        return [(inverse,)]
    # With a given architecture, filters are compared.
    others: list[tuple[Filter, ...]] = [(Constant(),)]
    if len(positive):
        others.append((Pseudoinverse(float(positive[0])),))
    return [(inverse,), *others]


def _architectures(n_rows: int, settings: Settings) -> tuple[Any, ...]:
    if settings.architecture != "auto":
        return (settings.architecture,)
    return ("reduced",) if n_rows > MANY_ROWS else ("reduced", "low-rank")


def _without_graph(settings: Settings) -> list[Candidate]:
    linear = Candidate("full", (), ())
    if not settings.hidden_widths:
        return [linear]
    return [linear, Candidate("full", (), settings.hidden_widths)]


def _full(laplacian: Laplacian, settings: Settings) -> Proposals:
    wanted: Sequence[tuple[Filter, ...]] = (
        [(Linear("auto"),), (Quadratic("auto"),)]
        if settings.filters is None
        else [settings.filters]
    )
    kernels = [kernel(laplacian, list(filters), tol=settings.tol) for filters in wanted]
    candidates = tuple(
        Candidate("full", tuple(k.filter for k in made), settings.hidden_widths) for made in kernels
    )
    return Proposals(candidates, tuple(kernels), None)


@contextmanager
def suppress_rank_warnings(settings: Settings) -> Iterator[None]:
    """Ignore warnings about several components, and about the cut of a default rank."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        if settings.rank is None:
            warnings.simplefilter("ignore", RankWarning)
            warnings.simplefilter("ignore", DegenerateCutWarning)
        yield

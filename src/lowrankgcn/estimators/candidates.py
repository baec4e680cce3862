"""Candidate networks on one decomposition, and their scaling.

A candidate is an architecture with filters, a rank and hidden widths. Kernels are scaled so that
‖𝒦‖²_F = n, and features so that the input of the first layer has unit mean square. One step size
then suits every n, unit and bandwidth.

>>> import lowrankgcn as lg
>>> print(Candidate("low-rank", (lg.filters.Heat(time=4.0),), (32,), rank=20))
low-rank GCN, rank 20, heat (time=4), 32 hidden
>>> print(Candidate("full", (), ()))
linear model of the features
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, final

import numpy as np
import torch
from torch import Tensor

from lowrankgcn.estimators.features import ScaledFeatures
from lowrankgcn.nn import GCN, Network, ReducedOrderGCN
from lowrankgcn.operators import FloatArray, IdentityOperator, SymmetricOperator
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.kernel import Kernel, low_rank_kernels
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs, flip_signs
from lowrankgcn.training import Features

__all__ = [
    "Architecture",
    "Candidate",
    "Prepared",
    "orient",
    "overlap_signs",
    "prepare",
    "truncated",
]

Architecture = Literal["full", "low-rank", "reduced"]

# Overlaps with the features below this share of the largest count as zero.
_COMMON = 1e-8


@final
@dataclass(frozen=True)
class Candidate:
    """A network to compare.

    Attributes
    ----------
    architecture : {"full", "low-rank", "reduced"}
    filters : tuple of Filter
        Basis functions φ_k, bound to the spectrum. Empty for a network that ignores the graph (its
        kernel is the identity).
    hidden_widths : tuple of int
    rank : int or None
        Number of eigenpairs; None at full rank.
    prior : float
        Prior odds.
    """

    architecture: Architecture
    filters: tuple[Filter, ...]
    hidden_widths: tuple[int, ...]
    rank: int | None = None
    prior: float = 1.0

    @property
    def ignores_graph(self) -> bool:
        """Whether the only kernel is the identity."""
        return not self.filters

    @property
    def name(self) -> str:
        """Name of the architecture."""
        if self.ignores_graph:
            return "perceptron" if self.hidden_widths else "linear model"
        return {"full": "full GCN", "low-rank": "low-rank GCN", "reduced": "reduced GCN"}[
            self.architecture
        ]

    @property
    def filter_name(self) -> str:
        """Names of the filters."""
        return " & ".join(map(str, self.filters)) or "identity"

    def __str__(self) -> str:
        """Describe the candidate in one line."""
        if self.ignores_graph and not self.hidden_widths:
            return "linear model of the features"
        rank = "" if self.rank is None else f", rank {self.rank}"
        widths = "×".join(map(str, self.hidden_widths)) + " hidden" if self.hidden_widths else ""
        parts = [f"{self.name}{rank}", self.filter_name, widths]
        return ", ".join(part for part in parts if part)


@final
@dataclass(frozen=True, eq=False)
class Prepared:
    """A candidate with scaled kernels.

    Attributes
    ----------
    candidate : Candidate
    kernels : tuple of SymmetricOperator
    feature_scale : float
        Factor for the features.
    pairs : Eigenpairs or None
        Eigenpairs of the kernels, None at full rank.
    inner : (r, N_0) array or None
        UᵀX before scaling.
    """

    candidate: Candidate
    kernels: tuple[SymmetricOperator, ...]
    feature_scale: float
    pairs: Eigenpairs | None = None
    inner: FloatArray | None = None

    def scale_features(self, features: Features, like: Tensor) -> ScaledFeatures:
        """Return the scaled features, in the dtype and device of `like`."""
        return ScaledFeatures(features, self.feature_scale, self.inner, like)

    def network(
        self, n_features: int, n_classes: int, *, bias: bool, dropout: float, dtype: torch.dtype
    ) -> Network:
        """Build the network with random weights."""
        reduced = self.candidate.architecture == "reduced"
        kind: Callable[..., Network] = ReducedOrderGCN if reduced else GCN
        widths = (n_features, *self.candidate.hidden_widths, n_classes)
        return kind(self.kernels, widths, bias=bias, dropout=dropout, dtype=dtype)


def prepare(
    candidate: Candidate,
    laplacian: Laplacian,
    features: Features,
    kernels: Sequence[Kernel] = (),
    inner: FloatArray | None = None,
    *,
    scaled: bool = True,
    n_rows: int | None = None,
    square_sum: float | None = None,
) -> Prepared:
    """Scale kernels and features of a candidate.

    Parameters
    ----------
    candidate : Candidate
    laplacian : Laplacian
    features : Features
    kernels : sequence of Kernel
        Kernels of the filters; empty for the identity.
    inner : (R, N_0) array, optional
        UᵀX of all eigenvectors; low-rank kernels use the first of them.
    scaled : bool
        False leaves kernels and features as they are, as in the paper.
    n_rows, square_sum : int and float, optional
        Number of rows and sum of squares of their features, if `features` and `kernels` represent
        more rows than they hold.
    """
    n = laplacian.n if n_rows is None else n_rows
    if candidate.ignores_graph:
        total = features.square_sum() if square_sum is None else square_sum
        scale = _inverse_rms(total, n * features.shape[1])
        # A linear model is convex, and its penalty applies to standardised columns.
        keep = not scaled or not candidate.hidden_widths
        return Prepared(candidate, (IdentityOperator(features.shape[0]),), 1.0 if keep else scale)
    pairs = kernels[0].eigenpairs
    if pairs is None:
        scale = _full_scale(kernels, features) if scaled else 1.0
        return Prepared(candidate, tuple(kernels), scale)
    assert inner is not None
    inner = inner[: pairs.rank]
    if not scaled:
        return Prepared(candidate, tuple(kernels), 1.0, pairs, inner)
    responses = np.stack([kernel.response for kernel in kernels])  # (K, r)
    norm = math.sqrt(float(np.square(responses).sum(axis=1).max()))
    factor = math.sqrt(n) / norm if norm > 0 else 1.0
    filters = [factor * kernel.filter for kernel in kernels]
    if candidate.architecture == "reduced":
        pairs, inner = _oriented(pairs, inner)
    scaled_kernels = low_rank_kernels(laplacian, filters, pairs)
    square = float((np.square(factor * responses) @ np.square(inner).sum(axis=1)).sum())
    rows = pairs.rank if candidate.architecture == "reduced" else n
    size = rows * features.shape[1] * len(kernels)
    return Prepared(candidate, scaled_kernels, _inverse_rms(square, size), pairs, inner)


def orient(pairs: Eigenpairs, inner: FloatArray) -> FloatArray:
    """Flip eigenvectors, in place, by the sign of their overlap with the features; return UᵀX.

    Reduced-order networks depend on the signs. Those of :func:`lowrankgcn.eigenpairs` depend on the
    largest entry of each vector, which a few more rows may change; a sum over all rows is stable.
    """
    signs = overlap_signs(inner)
    flip_signs(pairs.eigenvectors, signs)
    return inner * signs[:, None]


def _oriented(pairs: Eigenpairs, inner: FloatArray) -> tuple[Eigenpairs, FloatArray]:
    """Do the same for a copy, unless the signs are right already."""
    signs = overlap_signs(inner)
    if (signs > 0).all():
        return pairs, inner
    vectors = pairs.eigenvectors * signs.astype(pairs.eigenvectors.dtype)
    return replace(pairs, eigenvectors=vectors), inner * signs[:, None]


def overlap_signs(inner: FloatArray) -> FloatArray:
    """Return signs (r,) that make a fixed mixture of the columns of UᵀX (r, N_0) positive."""
    mixed = inner @ np.random.default_rng(0).normal(size=inner.shape[1])
    negligible = _COMMON * float(np.abs(mixed).max(initial=0.0))  # rounding must not decide
    return np.where(mixed < -negligible, -1.0, 1.0)


def _full_scale(kernels: Sequence[Kernel], features: Features) -> float:
    whole = features.dense().numpy()
    square = sum(float(np.square(kernel @ whole).sum()) for kernel in kernels)
    return _inverse_rms(square, whole.size * len(kernels))


def _inverse_rms(square: float, size: int) -> float:
    return math.sqrt(size / square) if square > 0 else 1.0


def truncated(pairs: Eigenpairs, rank: int) -> Eigenpairs:
    """Return the first `rank` pairs."""
    if rank >= pairs.rank:
        return pairs
    return replace(
        pairs,
        eigenvalues=pairs.eigenvalues[:rank],
        eigenvectors=pairs.eigenvectors[:, :rank],
        residuals=pairs.residuals[:rank],
        next_eigenvalue=float(pairs.eigenvalues[rank]),
    )

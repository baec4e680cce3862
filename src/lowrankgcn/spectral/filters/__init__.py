"""Spectral filters: scalar functions φ that a kernel applies to the Laplacian's eigenvalues.

A filter says how strongly the kernel 𝒦 = U φ(Λ) Uᵀ keeps each eigenvector. Small non-zero
eigenvalues belong to clusters, large ones to noise, and 0 to whole connected components, so a good
filter is large for small λ > 0 and small for large λ (paper, section 2.3, principle DP3):

>>> eigenvalues = [0.0, 0.2, 1.0]
>>> Linear()(eigenvalues)
array([1. , 0.8, 0. ])
>>> Pseudoinverse().bind(smallest_nonzero=0.2)(eigenvalues)
array([0. , 1. , 0.2])

The map (λ₂ the smallest non-zero, λₙ the largest eigenvalue; "auto" takes them from the spectrum):

=========================== ============================ ===========================================
filter                      φ(λ)                         keeps
=========================== ============================ ===========================================
:class:`Linear`             1 − λ/λₙ                     low frequencies, gently (the classical GCN)
:class:`Quadratic`          (1 − λ/λₙ)²                  low frequencies, more strictly
:class:`Polynomial`         a₀ + a₁λ + a₂λ² + …          anything, without eigenvalues
:class:`Pseudoinverse`      λ₂/λ, 0 at λ = 0             clusters, most strictly; drops components
:class:`RegularizedInverse` 1/(λ + ε)                    clusters and components
:class:`Heat`               exp(−tλ)                     low frequencies, over diffusion time t
:class:`Constant`           c                            everything alike (c = 1: the identity)
:class:`HighPass`           1 for λ > cutoff, else 0     everything above the cutoff
:class:`ZeroImpulse`        1 at λ = 0, else 0           connected components only
:class:`Custom`             any function                 what you decide
:class:`Sum`                φ₁(λ) + φ₂(λ) + …            ``f + g``
:class:`Scaled`             c φ(λ)                       ``c * f``
=========================== ============================ ===========================================

Laplacians are positive semidefinite, so an eigenvalue below zero is a zero with a rounding error,
and filters that treat 0 apart treat it as 0.
"""

from lowrankgcn.spectral.filters.base import Filter, Scaled, Sum
from lowrankgcn.spectral.filters.library import (
    Constant,
    Custom,
    Heat,
    HighPass,
    Linear,
    Polynomial,
    Pseudoinverse,
    Quadratic,
    RegularizedInverse,
    ZeroImpulse,
)
from lowrankgcn.spectral.filters.named import FilterLike, as_filter, as_filters

__all__ = [
    "Constant",
    "Custom",
    "Filter",
    "FilterLike",
    "Heat",
    "HighPass",
    "Linear",
    "Polynomial",
    "Pseudoinverse",
    "Quadratic",
    "RegularizedInverse",
    "Scaled",
    "Sum",
    "ZeroImpulse",
    "as_filter",
    "as_filters",
]

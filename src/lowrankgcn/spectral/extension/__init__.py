"""Rows that were not there at set-up: their affinities, and eigenvectors continued to them.

A new row x has normalised weights w̃(x, ·) to the fitted nodes, which continue the rows of I − 𝓛.
Eigenvectors follow by the Nyström formula u(x) = w̃(x, ·) U (I − Λ)^{-1}, and so does every kernel:
with ψ(λ) = (φ(λ) − φ(1))/(1 − λ), 𝒦 = φ(1) I + (I − 𝓛) ψ(𝓛), and row x of 𝒦H is
φ(1) h(x) + w̃(x, ·) ψ(𝓛) H.
"""

from lowrankgcn.spectral.extension.base import CrossAffinity
from lowrankgcn.spectral.extension.build import (
    compress_eigenvectors,
    cross_affinity,
    extend_eigenvectors,
)

__all__ = [
    "CrossAffinity",
    "compress_eigenvectors",
    "cross_affinity",
    "extend_eigenvectors",
]

"""The sign rule of eigenvectors over rows in blocks.

Among the entries of a vector within a relative 1e-6 of the largest magnitude, the first is positive
(:mod:`lowrankgcn.spectral.spectrum`). One pass finds the largest magnitudes. If positive and
negative entries tie, a second pass finds the first of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.vectors import EigenvectorRows
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.spectrum import SIGN_TOL

__all__ = ["rule_signs"]

Extremes = tuple[FloatArray, FloatArray]


def rule_signs(blocks: Blocks, vectors: EigenvectorRows) -> FloatArray:
    """Return the signs by the rule, shape (r,)."""
    high, low = blocks.reduce(_extremes, _join, vectors)
    threshold = (1 - SIGN_TOL) * np.maximum(high, -low)
    signs = np.where(high < threshold, -1.0, 1.0)
    tied = np.flatnonzero((high >= threshold) & (-low >= threshold) & (threshold > 0))
    if len(tied):
        signs[tied] = blocks.reduce(_first_signs, _first, vectors, threshold, tied)
    return signs


def _extremes(block: Any, vectors: EigenvectorRows) -> Extremes:
    rows = vectors.rows(block)
    return rows.max(axis=0, initial=0.0), rows.min(axis=0, initial=0.0)


def _join(one: Extremes, other: Extremes) -> Extremes:
    return np.maximum(one[0], other[0]), np.minimum(one[1], other[1])


def _first_signs(
    block: Any, vectors: EigenvectorRows, threshold: FloatArray, tied: NDArray[np.intp]
) -> FloatArray:
    """Return the sign of the first large entry of each tied column, 0 if there is none."""
    rows = vectors.rows(block)[:, tied]
    large = np.abs(rows) >= threshold[tied]
    if not len(large):
        return np.zeros(len(tied))
    signs: FloatArray = np.sign(rows[large.argmax(axis=0), np.arange(len(tied))])
    return np.where(large.any(axis=0), signs, 0.0)


def _first(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.where(one != 0, one, other)

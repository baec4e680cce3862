"""Coordinates of nodes in a plane, computed from a few eigenpairs."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.spectral.eigenpairs import Eigenpairs, fix_signs

FloatArray = NDArray[np.float64]

_POINTS = 4000
_LABELLED = 400
_APART = 3.0  # distance of components, in units of the root mean square of an eigenvector
_DAMPING = 0.25  # the plane shows classes apart more often than with 0, 0.5 or 1
_SAME = 1e-9  # class means closer than this share of the largest distance coincide


def spectral_embedding(pairs: Eigenpairs, rows: NDArray[np.intp] | None = None) -> FloatArray:
    """Return some or all rows of U_r, weighted by (λ₂/λ)^¼, with a mean square of at most one.

    The weights damp oscillating eigenvectors. The constant eigenvector of a connected graph is
    omitted. Several zero eigenvalues separate their components by equal distances.
    """
    values, n = pairs.eigenvalues, len(pairs.eigenvectors)
    vectors = np.asarray(pairs.eigenvectors[slice(None) if rows is None else rows], np.float64)
    zero, positive = values == 0, values > 0
    parts = []
    if zero.sum() > 1 or not positive.any():
        largest = np.abs(vectors[:, zero]).max(axis=0)
        parts.append(_APART * vectors[:, zero] / np.where(largest > 0, largest, 1.0))
    if positive.any():
        weights = (values[positive][0] / values[positive]) ** _DAMPING
        parts.append(vectors[:, positive] * (weights * np.sqrt(n)))
    return np.hstack(parts)


def class_plane(
    embedding: FloatArray, classes: NDArray[Any], training: NDArray[np.intp]
) -> FloatArray:
    """Project onto the plane with the largest distances between class means, shape (n, 2).

    Unlike two single eigenvectors, the plane does not depend on the basis of a multiple eigenvalue.
    Two means span only a line; the second direction is then the orthogonal one of largest variance.

    Parameters
    ----------
    embedding : (n, q) array, q ≥ 2
    classes : (n,) array
    training : int array
        Nodes that define the class means.
    """
    names, codes = np.unique(classes[training], return_inverse=True)
    members = codes == np.arange(len(names))[:, None]
    means = members @ embedding[training] / members.sum(axis=1, keepdims=True)
    _, spread, directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    directions = directions[:2][spread[:2] > _SAME * spread[0]]
    if len(directions) < 2:
        rest = embedding - embedding.mean(axis=0)
        rest = rest - rest @ directions.T @ directions
        values, vectors = np.linalg.eigh(rest.T @ rest)
        directions = np.vstack([directions, vectors[:, np.argsort(-values)].T])[:2]
    coordinates: FloatArray = embedding @ directions.T
    fix_signs(coordinates)
    return coordinates


@final
class Embedding:
    """Up to 4000 rows of a table as points in a plane, up to 400 of them labelled.

    Parameters
    ----------
    pairs : Eigenpairs
    codes : (n,) int array
        Classes, given or predicted.
    given : (n,) bool array
        True for labelled rows.
    certainty : (n,) array
        Probabilities of the classes; the second coordinate if there is only one eigenvector.
    hidden : (n,) bool array, optional
        Unlabelled rows that are not drawn.
    seed : int
        Seed of the sample, if there are more rows.

    Attributes
    ----------
    rows : (m,) int array
        In a random order that ends with the labelled ones: they are drawn over the others.
    coordinates : (m, 2) array
    codes : (m,) int array
    given : (m,) bool array
    axes : pair of str
        Labels of the axes.
    n_outside : int
        Number of distant points, drawn at the edge.

    Notes
    -----
    Cost: O(n) for the sample, O(m r) for the coordinates.
    """

    def __init__(
        self,
        pairs: Eigenpairs,
        codes: NDArray[np.intp],
        given: NDArray[np.bool_],
        certainty: FloatArray,
        *,
        hidden: NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> None:
        generator = np.random.default_rng(seed)
        labelled = generator.permutation(np.flatnonzero(given))[:_LABELLED]
        free = ~given if hidden is None else ~(given | hidden)
        others = generator.permutation(np.flatnonzero(free))[: _POINTS - len(labelled)]
        rows = np.concatenate([others, labelled])
        points = spectral_embedding(pairs, rows)
        self.axes = ("direction 1", "direction 2")
        if points.shape[1] == 1:
            points = np.column_stack([points[:, 0], certainty[rows]])
            self.axes = ("entry in the only eigenvector", "probability of the class")
        else:
            points = class_plane(points, codes[rows], np.flatnonzero(given[rows]))
        low, high = _frame(points)
        outside = ((points < low) | (points > high)).any(axis=1)
        self.coordinates, self.n_outside = np.clip(points, low, high), int(outside.sum())
        self.rows, self.codes, self.given = rows, codes[rows], given[rows]


def _frame(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the range of all points, or of most points if a few are distant."""
    low, high = np.quantile(points, [0.01, 0.99], axis=0)
    low, high = 2 * low - high, 2 * high - low  # a margin as wide as the range of most points
    return np.maximum(points.min(axis=0), low), np.minimum(points.max(axis=0), high)

"""Where the nodes are drawn: coordinates made of a few eigenpairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.spectral.filters import FilterLike, as_filter
from lowrankgcn.spectral.spectrum import Eigenpairs, fix_signs

__all__ = ["Embedding", "class_plane", "spectral_embedding"]

FloatArray = NDArray[np.float64]

_POINTS = 4000
_LABELLED = 400
_APART = 3.0  # distance of components, in units of an eigenvector's mean square
_PLANE = ("direction 1", "direction 2")
_SAME = 1e-9  # of the largest distance of class means: less tells nothing apart


def spectral_embedding(pairs: Eigenpairs, filter: FilterLike = "pseudoinverse") -> FloatArray:
    """Place node i at the i-th row of U_r φ(Λ_r), without the columns where φ vanishes, (n, q).

    The pseudoinverse λ₂/λ leaves out the trivial eigenvectors and shortens the rough ones.
    """
    smallest, largest = pairs.smallest_nonzero, float(pairs.eigenvalues[-1])
    response = as_filter(filter).bind(smallest, largest)(pairs.eigenvalues)
    seen = response != 0
    scaled: FloatArray = pairs.eigenvectors[:, seen] * response[seen]
    return scaled


def class_plane(
    embedding: FloatArray, classes: NDArray[Any], training: NDArray[np.intp]
) -> FloatArray:
    """Coordinates (n, 2) in the plane that shows the class means farthest apart.

    Unlike two single eigenvectors it does not depend on the basis chosen within a multiple
    eigenvalue. Two means span a line only: the other direction is then the one across it along
    which the nodes differ most.

    Parameters
    ----------
    embedding : (n, q) array, q ≥ 2
    classes : (n,) array
    training : int array
        The nodes whose means are taken.
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
@dataclass(frozen=True, eq=False)
class Embedding:
    """Some or all rows of a table as points in a plane.

    Attributes
    ----------
    coordinates : (m, 2) array
    codes : (m,) int array
        Classes, given or predicted.
    given : (m,) bool array
        Rows whose label was given.
    axes : pair of str
        What the coordinates are.
    n_rows : int
        Of which these are all or a random choice.
    n_outside : int
        Points so far away that they are drawn at the edge.
    """

    coordinates: FloatArray
    codes: NDArray[np.intp]
    given: NDArray[np.bool_]
    axes: tuple[str, str]
    n_rows: int
    n_outside: int

    @property
    def is_plane(self) -> bool:
        """Whether both coordinates are mixtures of eigenvectors."""
        return self.axes == _PLANE

    @classmethod
    def of(
        cls,
        pairs: Eigenpairs,
        codes: NDArray[np.intp],
        given: NDArray[np.bool_],
        certainty: FloatArray,
        *,
        hidden: NDArray[np.bool_] | None = None,
        seed: int = 0,
    ) -> Embedding:
        """Place up to 4000 rows, of which up to 400 have a given label; a random choice of more.

        Parameters
        ----------
        pairs : Eigenpairs
        codes : (n,) int array
        given : (n,) bool array
        certainty : (n,) array
            Probabilities of the classes; the second coordinate if only one eigenvector tells
            rows apart.
        hidden : (n,) bool array, optional
            Rows that are not to be drawn; none of them has a given label.
        seed : int
            Decides the choice.

        Notes
        -----
        Cost: O(n) for the choice, O(m r) for the coordinates.
        """
        generator = np.random.default_rng(seed)
        labelled = _some(np.flatnonzero(given), _LABELLED, generator)
        free = ~given if hidden is None else ~(given | hidden)
        others = _some(np.flatnonzero(free), _POINTS - len(labelled), generator)
        rows = np.sort(np.concatenate([labelled, others]))
        points = _weighted(pairs, rows)
        axes = _PLANE
        if points.shape[1] == 1:
            points = np.column_stack([points[:, 0], certainty[rows]])
            axes = ("entry in the only eigenvector", "probability of the class")
        else:
            points = class_plane(points, codes[rows], np.flatnonzero(given[rows]))
        low, high = _frame(points)
        outside = ((points < low) | (points > high)).any(axis=1)
        points = np.clip(points, low, high)
        n_rows = int((given | free).sum())
        return cls(points, codes[rows], given[rows], axes, n_rows, int(outside.sum()))


def _some(rows: NDArray[np.intp], most: int, generator: np.random.Generator) -> NDArray[np.intp]:
    return rows if len(rows) <= most else generator.choice(rows, most, replace=False)


def _weighted(pairs: Eigenpairs, rows: NDArray[np.intp]) -> FloatArray:
    """Some rows of U_r, smooth eigenvectors longest, with a mean square of at most one.

    The eigenvector of a connected graph's zero is the same everywhere and left out; those of
    several zeros tell the components apart, each by the same whatever its size.
    """
    values = pairs.eigenvalues
    vectors = np.asarray(pairs.eigenvectors[rows], np.float64)
    zero, positive = values == 0, values > 0
    parts = []
    if zero.sum() > 1 or not positive.any():
        largest = np.abs(vectors[:, zero]).max(axis=0)
        parts.append(_APART * vectors[:, zero] / np.where(largest > 0, largest, 1.0))
    if positive.any():
        weights = values[positive][0] / values[positive] * np.sqrt(len(pairs.eigenvectors))
        parts.append(vectors[:, positive] * weights)
    return np.hstack(parts)


def _frame(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The range of all points, or of most of them where a few lie far away."""
    low, high = np.quantile(points, [0.01, 0.99], axis=0)
    margin = high - low
    return np.maximum(points.min(axis=0), low - margin), np.minimum(
        points.max(axis=0), high + margin
    )

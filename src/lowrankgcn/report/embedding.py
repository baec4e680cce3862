"""How much a few eigenpairs carry: nodes as points, and each put to the nearest class mean.

>>> import numpy as np
>>> X = np.array([[0.0, 0.1], [0.1, 0.0], [1.0, 1.1], [1.1, 1.0]])
>>> nearest_class_mean(X, classes=np.array([0, 0, 7, 7]), training=np.array([0, 3]))
array([0, 0, 7, 7])
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.filters import FilterLike, as_filter
from lowrankgcn.spectrum import Eigenpairs, fix_signs

__all__ = ["class_plane", "nearest_class_mean", "spectral_embedding"]

FloatArray = NDArray[np.float64]

_TIE = 1e-9  # distances that differ by less, relative to the means, are equal


def spectral_embedding(pairs: Eigenpairs, filter: FilterLike = "pseudoinverse") -> FloatArray:
    """Place node i at the i-th row of U_r φ(Λ_r), without the columns where φ vanishes, (n, q).

    The pseudoinverse λ₂/λ leaves out the trivial eigenvectors and shortens the rough ones.
    """
    smallest, largest = pairs.smallest_nonzero, float(pairs.eigenvalues[-1])
    response = as_filter(filter).bind(smallest, largest)(pairs.eigenvalues)
    seen = response != 0
    scaled: FloatArray = pairs.eigenvectors[:, seen] * response[seen]
    return scaled


def _class_means(
    embedding: FloatArray, classes: NDArray[Any], training: NDArray[np.intp]
) -> tuple[NDArray[Any], FloatArray]:
    """The classes present in the training nodes, and their mean positions (classes, q)."""
    names, codes = np.unique(classes[training], return_inverse=True)
    members = codes == np.arange(len(names))[:, None]
    return names, members @ embedding[training] / members.sum(axis=1, keepdims=True)


def nearest_class_mean(
    embedding: FloatArray, classes: NDArray[Any], training: NDArray[np.intp]
) -> NDArray[Any]:
    """Class of the nearest mean of the training nodes' positions, for every node, shape (n,).

    Between means at the same distance the smaller class is taken.

    Parameters
    ----------
    embedding : (n, q) array
    classes : (n,) array
        Only those of the training nodes are looked at.
    training : array of int
        The labelled nodes.

    Returns
    -------
    (n,) array

    Notes
    -----
    O(n q) for each class.
    """
    names, means = _class_means(embedding, classes, training)
    # ‖x − m‖² is smallest where x·m − ‖m‖²/2 is largest.
    score = embedding @ means.T - (means**2).sum(axis=1) / 2
    # Rows of a table often lie exactly between two means; rounding must not decide between them.
    close = score >= score.max(axis=1, keepdims=True) - _TIE * (means**2).sum(axis=1).max()
    nearest: NDArray[Any] = names[close.argmax(axis=1)]
    return nearest


def class_plane(
    embedding: FloatArray, classes: NDArray[Any], training: NDArray[np.intp]
) -> FloatArray:
    """Coordinates (n, 2) in the plane that shows the means of three or more classes farthest apart.

    Unlike two single eigenvectors it does not depend on the basis chosen within a multiple
    eigenvalue.
    """
    _, means = _class_means(embedding, classes, training)
    directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][:2]
    coordinates: FloatArray = embedding @ directions.T
    fix_signs(coordinates)
    return coordinates

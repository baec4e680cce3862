"""Where the nodes are drawn: coordinates made of a few eigenpairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.filters import FilterLike, as_filter
from lowrankgcn.spectrum import Eigenpairs, fix_signs

__all__ = ["class_plane", "spectral_embedding"]

FloatArray = NDArray[np.float64]


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
    """Coordinates (n, 2) in the plane that shows the means of three or more classes farthest apart.

    Unlike two single eigenvectors it does not depend on the basis chosen within a multiple
    eigenvalue.
    """
    names, codes = np.unique(classes[training], return_inverse=True)
    members = codes == np.arange(len(names))[:, None]
    means = members @ embedding[training] / members.sum(axis=1, keepdims=True)
    directions = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)[2][:2]
    coordinates: FloatArray = embedding @ directions.T
    fix_signs(coordinates)
    return coordinates

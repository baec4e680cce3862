"""Eigenpairs with their evidence, in one order and with one sign rule.

Eigenvalues ascend; zeros come first, one eigenvector per connected component in the order of the
components' first nodes. Every other eigenvector is signed so that, among the entries whose
magnitude is within a millionth of the largest, the first is positive: rounding cannot flip it.
Inside a multiple eigenvalue the basis is the solver's; GCNs do not depend on it, reduced-order GCNs
do.

>>> import numpy as np
>>> U = np.array([[0.5, 0.1], [-0.5, -0.9]])
>>> fix_signs(U)
>>> U
array([[ 0.5, -0.1],
       [-0.5,  0.9]])
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.exceptions import DegenerateCutWarning
from lowrankgcn.operators import FloatArray

__all__ = ["Eigenpairs", "WholeSpectrum", "fix_signs", "warn_degenerate_cut"]

_SIGN_TOL = 1e-6
_CUT_TOL = 1e-8


@final
@dataclass(frozen=True, eq=False)
class WholeSpectrum:
    """All n eigenvalues, those of one value counted instead of listed.

    Attributes
    ----------
    values : (p,) array
        Ascending; may list a value several times.
    counts : (p,) int array
        Multiplicities, adding up to n.
    """

    values: FloatArray
    counts: NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenpairs of a Laplacian, and how good they are.

    Attributes
    ----------
    eigenvalues : (k,) array
        Ascending; exactly 0.0 for the null space.
    eigenvectors : (n, k) array
        Orthonormal columns.
    residuals : (k,) array
        ‖𝓛u − λu‖ for the operator that was solved. Together with `fast_sum_error` it bounds the
        distance to a true eigenvalue.
    method : {"dense", "lanczos", "svd", "krylov"}
        The solver.
    iterations : int
        Products of the operator with a vector that the solver used.
    n_components : int
        Multiplicity of the eigenvalue zero in the graph, whether or not all of it is here.
    fast_sum_error : float
        Measured error ‖(𝓛̃ − 𝓛)u‖ of the operator's products, the largest over the pairs; 0 when
        products are exact.
    next_eigenvalue : float
        The first eigenvalue left out, NaN if unknown or if none is left.
    spectrum : WholeSpectrum or None
        All eigenvalues, where the solver knows them.
    """

    eigenvalues: FloatArray
    eigenvectors: NDArray[Any]
    residuals: FloatArray
    method: str
    iterations: int
    n_components: int
    fast_sum_error: float = 0.0
    next_eigenvalue: float = float("nan")
    spectrum: WholeSpectrum | None = field(default=None, repr=False)

    @property
    def rank(self) -> int:
        """Number of pairs k."""
        return len(self.eigenvalues)

    @property
    def smallest_nonzero(self) -> float:
        """The smallest eigenvalue here that is not zero; NaN if there is none."""
        nonzero = self.eigenvalues[self.eigenvalues > 0]
        return float(nonzero[0]) if len(nonzero) else float("nan")


def fix_signs(vectors: NDArray[Any]) -> None:
    """Apply the sign rule to every column, in place."""
    for column in range(vectors.shape[1]):
        vector = vectors[:, column]
        largest = max(vector.max(initial=0.0), -vector.min(initial=0.0))
        if largest > 0:
            leader = int(np.argmax(np.abs(vector) >= (1 - _SIGN_TOL) * largest))
            if vector[leader] < 0:
                np.negative(vector, out=vector)


def warn_degenerate_cut(last: float, following: float, uncertainty: float, stacklevel: int) -> None:
    """Warn when the last eigenvalue kept cannot be told from the first one left out."""
    if abs(following - last) <= max(_CUT_TOL, uncertainty):
        warnings.warn(
            f"the cut goes through a multiple eigenvalue: {last:.6g} is kept and {following:.6g} "
            "is left out, so the last eigenvectors are an arbitrary choice within its eigenspace; "
            "choose another number of eigenpairs",
            DegenerateCutWarning,
            stacklevel=stacklevel,
        )

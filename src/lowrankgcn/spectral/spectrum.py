"""The type `Eigenpairs`, its order and its sign rule.

Eigenvalues ascend; zeros come first, one eigenvector per connected component in the order of the
components' first nodes. Every other eigenvector is signed so that, among the entries whose
magnitude is within a millionth of the largest, the first is positive: rounding cannot flip it.
Inside a multiple eigenvalue the basis is the solver's; GCNs do not depend on it, reduced-order GCNs
do.

>>> import numpy as np
>>> from lowrankgcn.spectral.spectrum import fix_signs
>>> U = np.array([[0.5, 0.1], [-0.5, -0.9]])
>>> fix_signs(U)
>>> U
array([[ 0.5, -0.1],
       [-0.5,  0.9]])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import number, scientific
from lowrankgcn._html import card
from lowrankgcn._parallel import map_chunks
from lowrankgcn.exceptions import DegenerateCutWarning, warn_caller
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.laplacian import CHUNK_ROWS

_SIGN_TOL = 1e-6
_CUT_TOL = 1e-8


@final
@dataclass(frozen=True, eq=False)
class WholeSpectrum:
    """All n eigenvalues with multiplicities.

    Attributes
    ----------
    values : (p,) array
        Ascending; may list a value several times.
    counts : (p,) int array
        Multiplicities, adding up to n.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> path = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> spectrum = lg.eigenpairs(lg.Laplacian(path), 2).spectrum
    >>> spectrum
    WholeSpectrum(3 eigenvalues 0..2)
    >>> spectrum.values.round(6).tolist(), spectrum.counts.tolist()
    ([0.0, 1.0, 2.0], [1, 1, 1])
    """

    values: FloatArray
    counts: NDArray[np.int64]

    def __repr__(self) -> str:
        """Show the number and the range of the eigenvalues."""
        return f"WholeSpectrum({self.counts.sum()} eigenvalues {_range(self.values)})"


@final
@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Eigenpairs of a Laplacian with evidence of their accuracy.

    Attributes
    ----------
    eigenvalues : (k,) array
        Ascending; exactly 0.0 for the null space.
    eigenvectors : (n, k) array
        Orthonormal columns.
    residuals : (k,) array
        ‖𝓛u − λu‖ for the operator that was solved; a true eigenvalue of it is no further away.
    method : {"dense", "svd", "block", "null space"}
        The solver; "null space" if only zero eigenvalues were requested.
    iterations : int
        Products of the operator with a vector that the solver used.
    n_components : int
        Multiplicity of the eigenvalue zero in the graph.
    fast_sum_error : float
        Where products are approximated: ‖𝓛u − λu‖ with exact weights, estimated from sampled rows,
        the largest over the pairs. It includes the error of the fast sum and the residual; 0 if
        products are exact.
    next_eigenvalue : float
        The first eigenvalue left out, NaN if unknown or if none is left.
    spectrum : WholeSpectrum or None
        All eigenvalues, if the solver computes them.

    See Also
    --------
    eigenpairs : Computes eigenpairs.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> path = lg.AdjacencyGraph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> pairs = lg.eigenpairs(lg.Laplacian(path), 2)
    >>> pairs.eigenvalues.round(6).tolist(), round(pairs.next_eigenvalue, 6)
    ([0.0, 1.0], 2.0)
    >>> pairs.eigenvectors.shape, bool(pairs.residuals.max() < 1e-12)
    ((3, 2), True)
    """

    eigenvalues: FloatArray
    eigenvectors: NDArray[Any]
    residuals: FloatArray
    method: str
    iterations: int
    n_components: int
    fast_sum_error: float = 0.0
    next_eigenvalue: float = float("nan")
    spectrum: WholeSpectrum | None = None

    @property
    def rank(self) -> int:
        """Number of pairs k."""
        return len(self.eigenvalues)

    def __repr__(self) -> str:
        """Show the number, range and accuracy of the pairs."""
        largest = scientific(self.residuals.max(initial=0.0))
        return (
            f"Eigenpairs({self.rank} of {len(self.eigenvectors)}, eigenvalues "
            f"{_range(self.eigenvalues)}, residuals <= {largest}, method={self.method!r})"
        )

    def _repr_html_(self) -> str:
        """Show eigenvalues and residuals in a notebook."""
        pairs = zip(self.eigenvalues, self.residuals, strict=True)
        rows = [(number(value), scientific(residual)) for value, residual in pairs]
        table = pd.DataFrame(rows, range(1, self.rank + 1), ["eigenvalue", "residual"])
        return card(repr(self), table)


def _range(values: FloatArray) -> str:
    return f"{number(values[0])}..{number(values[-1])}" if len(values) else "(none)"


def fix_signs(vectors: NDArray[Any]) -> None:
    """Apply the sign rule to every column, in place."""
    n, count = vectors.shape
    if not count:
        return
    extremes = map_chunks(lambda start, stop: _extremes(vectors[start:stop]), n, CHUNK_ROWS)
    high = np.max([pair[0] for pair in extremes], axis=0)
    low = np.min([pair[1] for pair in extremes], axis=0)
    threshold = (1 - _SIGN_TOL) * np.maximum(high, -low)
    signs = np.ones(count, vectors.dtype)
    # Only where the largest positive and negative entries tie, the first of them decides.
    signs[high < threshold] = -1
    for column in np.flatnonzero((high >= threshold) & (-low >= threshold) & (threshold > 0)):
        vector = vectors[:, column]
        signs[column] = np.sign(vector[np.argmax(np.abs(vector) >= threshold[column])])
    flip_signs(vectors, signs)


def flip_signs(vectors: NDArray[Any], signs: NDArray[Any]) -> None:
    """Multiply the columns by signs, in place."""
    if (signs < 0).any():
        vectors *= signs.astype(vectors.dtype)


def _extremes(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    columns = np.ascontiguousarray(rows.T)  # reductions along short rows are eight times slower
    return columns.max(axis=1), columns.min(axis=1)


def first_left_out(rest: FloatArray, kept: FloatArray) -> float:
    """Return the first of `rest`, or one that equals a value kept; NaN if none is left."""
    if not len(rest):
        return float("nan")
    # The null space is exact: no other eigenvalue is its copy, however small.
    apart = np.where((rest[:, None] == 0) == (kept == 0), np.abs(rest[:, None] - kept), np.inf)
    distances = apart.min(axis=1, initial=np.inf)
    nearest = int(distances.argmin())
    return float(rest[nearest] if distances[nearest] <= _CUT_TOL else rest[0])


def warn_if_cut_degenerate(
    eigenvalues: FloatArray, residuals: FloatArray, following: float
) -> None:
    """Warn if the first eigenvalue left out cannot be distinguished from one that is kept."""
    alike = np.flatnonzero((eigenvalues == 0) == (following == 0))  # the null space is exact
    if np.isnan(following) or not len(alike):
        return
    nearest = alike[np.abs(eigenvalues[alike] - following).argmin()]
    last = float(eigenvalues[nearest])
    if abs(following - last) <= max(_CUT_TOL, float(residuals[nearest])):
        warn_caller(
            f"the cut goes through a multiple eigenvalue: {last:.6g} is kept and {following:.6g} "
            "is left out, so the last eigenvectors are an arbitrary choice within its eigenspace; "
            "choose another number of eigenpairs",
            DegenerateCutWarning,
        )

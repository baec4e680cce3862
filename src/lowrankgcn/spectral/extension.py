r"""Extension of eigenvectors to new rows by the Nyström formula.

Both classifiers place new rows with :class:`Extension`.

A new row x has normalised weights w̃(x, ·) to the fitted nodes
(:class:`lowrankgcn.graphs.cross_affinity.CrossAffinity`), which continue the rows of I − 𝓛.
Eigenvectors follow by u(x) = w̃(x, ·) U (I − Λ)^{-1}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import saved
from lowrankgcn.graphs.cross_affinity import CrossAffinity
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.eigenpairs import Eigenpairs
from lowrankgcn.spectral.laplacian import Laplacian

_UNDEFINED = 1e-6  # neighbours do not determine eigenvectors with |1 − λ| below this


@saved
@final
@dataclass(frozen=True, eq=False)
class Extension:
    """Roots of degrees and eigenvectors of a graph as functions of rows.

    Attributes
    ----------
    cross : CrossAffinity
    basis : (m, 1 + r) array
        Extensions of √degree and of the eigenvectors, over the columns of `cross`.

    Examples
    --------
    The eigenvectors at a new point, halfway between two fitted ones:

    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.spectral.extension import Extension
    >>> points = np.linspace(0.0, 1.0, 50)[:, None]
    >>> L = lg.Laplacian(lg.GaussianGraph(points, bandwidth=0.3))
    >>> pairs = lg.eigenpairs(L, 2)
    >>> _, vectors = Extension.fit(L, pairs).at((points[:1] + points[1:2]) / 2)
    >>> vectors.shape, bool(np.abs(vectors - pairs.eigenvectors[0]).max() < 0.02)
    ((1, 2), True)
    """

    cross: CrossAffinity
    basis: FloatArray

    @property
    def rank(self) -> int:
        """Number r of eigenvectors."""
        return len(self.basis.T) - 1

    @classmethod
    def fit(
        cls,
        laplacian: Laplacian,
        pairs: Eigenpairs,
        *,
        reached: NDArray[np.bool_] | None = None,
    ) -> Extension:
        """Compress the eigenvectors of a graph for new rows.

        Parameters
        ----------
        laplacian : Laplacian
        pairs : Eigenpairs
            Eigenpairs of `laplacian`.
        reached : (n,) boolean array, optional
            Nodes that new rows can be joined to, such as those of components with a label; all by
            default. The root of a row is zero if it has no affinity to any of them.
        """
        cross = cross_affinity(laplacian)
        roots = np.sqrt(laplacian.degrees)
        if reached is not None:
            roots[~reached] = 0.0
        vectors = compress_eigenvectors(cross, pairs)
        return cls(cross, np.hstack([cross.compress(roots[:, None]), vectors]))

    def at(self, rows: Any) -> tuple[FloatArray, FloatArray]:
        """Return √degree, shape (q,), and the eigenvectors, shape (q, r), at new rows.

        Parameters
        ----------
        rows : table, points, incidence rows or weights
            q rows like those the graph was built from. Both results are zero for rows without
            affinity to any fitted node.
        """
        extended = self.cross.product(rows, self.basis)
        return extended[:, 0], extended[:, 1:]


def cross_affinity(laplacian: Laplacian) -> CrossAffinity:
    r"""Return the normalised weights between new rows and the nodes of a graph.

    ============== ============================================== =========== ==================
    class          graph                                          rows        stores
    ============== ============================================== =========== ==================
    TableCross     ``Hypergraph.from_table``                      tables      the encoder
    IncidenceCross other hypergraphs                              incidences  hyperedge weights
    LandmarkCross  Gaussian graphs summed by "low-rank"           points      m landmarks
    PointCross     Gaussian graphs summed in any other way        points      all points
    NeighbourCross ``AdjacencyGraph.knn``                         points      all points
    WeightCross    other adjacency graphs                         weights     n
    ============== ============================================== =========== ==================

    In addition to the loops of a hypergraph itself, a new row has a loop s(x) of the weight that
    the smoother adds to all nodes: its mean if the smoother is an array.

    See Also
    --------
    Extension : Extends eigenvectors.

    Examples
    --------
    Fitted rows of a table are reproduced exactly:

    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.spectral.extension import compress_eigenvectors, cross_affinity
    >>> table = lg.datasets.load_cars(as_frame=True).data
    >>> L = lg.Laplacian(lg.Hypergraph.from_table(table))
    >>> cross, pairs = cross_affinity(L), lg.eigenpairs(L, 16)
    >>> extended = cross.product(table.iloc[:5], compress_eigenvectors(cross, pairs))
    >>> bool(np.abs(extended - pairs.eigenvectors[:5]).max() < 1e-12)
    True
    """
    graph, smoother = laplacian.graph, laplacian.smoother
    if smoother is None or isinstance(smoother, str):
        loop = 1.0 if smoother in ("identity", "combined") else 0.0
    elif np.ndim(smoother):
        loop = max(0.0, float(np.mean(laplacian.loop_weights - graph.loop_weights)))
    else:
        loop = float(smoother)
    return graph.cross_affinity(laplacian.affinity, laplacian.degrees, loop)


def compress_eigenvectors(cross: CrossAffinity, pairs: Eigenpairs) -> FloatArray:
    """Return Q = Cᵀ U (I − Λ)^{-1}, shape (m, r), which extends eigenvectors without the graph.

    Fitted nodes satisfy (1−λ) u_i = Σ_j (I − 𝓛)_ij u_j; ``cross.product(X, Q)`` is the same
    equation for new rows.

    1/(1−λ) is replaced by (1−λ)/δ² if abs(1−λ) < δ, the `least_divisor` of the cross-affinity, and
    by zero if abs(1−λ) < 1e-6.

    See Also
    --------
    cross_affinity : Weights between new rows and nodes.

    Notes
    -----
    O(n m r). The degrees of the fitted graph do not include the new rows. Measured with 50 new
    points beside 500 in two clusters, against five eigenvectors of the graph of all 550, over eight
    draws: relative differences of 0.03 to 0.06 and 0.05 to 0.15 for Gaussian graphs of bandwidth
    1.5 and 0.7, 0.10 to 0.13 for ten nearest neighbours, 0.12 to 0.14 for twenty with weights of 1.
    Eigenvectors of the 500 points themselves change as much in Gaussian graphs, and by 0.06 to 0.10
    in those of neighbours. For tables of 500 rows it is 0.01 if groups are clear, and up to 0.4 if
    they are not and the eigenvalues lie close together.
    """
    rest = 1.0 - pairs.eigenvalues
    rest[np.abs(rest) < _UNDEFINED] = 0.0
    inverse = rest / np.maximum(rest**2, cross.least_divisor**2)
    return cross.compress(pairs.eigenvectors) * inverse

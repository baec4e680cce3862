"""Eigensolvers as small values: direct ones know every eigenvalue, iterative ones one end.

The null space is known exactly (:class:`~lowrankgcn.spectral.laplacian.NullSpace`) and taken out
beforehand; all solvers work on its complement.

========= ============================================== ===========================================
solver    for                                            cost
========= ============================================== ===========================================
dense     small n: LAPACK                                n³
svd       𝓛 = I − Z Zᵀ: Gram matrix ZᵀZ (section A3.1)    two passes over Z, and m³ for m columns
modes     Gaussian graphs summed by N Fourier modes      three passes over points, and N log N
lanczos   any operator: ARPACK                           some 2k … 10k products, one vector each
krylov    any operator, costly products, good start      products with blocks of vectors
========= ============================================== ===========================================

>>> import numpy as np, lowrankgcn as lg
>>> cycle = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
>>> DenseEigh.decompose(lg.Laplacian(lg.AdjacencyGraph(cycle))).values.round(6)
array([0.5, 0.5, 1.5, 1.5, 2. ])
"""

from lowrankgcn.spectral.solvers.base import DirectSolution, Solution
from lowrankgcn.spectral.solvers.direct import DenseEigh, ThinSVD, gram_solution
from lowrankgcn.spectral.solvers.iterative import BlockKrylov, Lanczos
from lowrankgcn.spectral.solvers.mode_space import ModePairs, mode_pairs
from lowrankgcn.spectral.solvers.modes import FourierModes

__all__ = [
    "BlockKrylov",
    "DenseEigh",
    "DirectSolution",
    "FourierModes",
    "Lanczos",
    "ModePairs",
    "Solution",
    "ThinSVD",
    "gram_solution",
    "mode_pairs",
]

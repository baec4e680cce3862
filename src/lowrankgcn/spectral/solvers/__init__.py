"""Eigensolvers with one call shape: ``solver(laplacian, request) -> Solution``.

Direct solvers compute every eigenvalue, iterative ones those at one end of the spectrum. The null
space is known exactly (:class:`~lowrankgcn.spectral.laplacian.NullSpace`); all solvers work on its
complement. ``nearly`` returns None if it cannot compute the requested pairs.

========= ============================================== ===========================================
solver    for                                            cost
========= ============================================== ===========================================
dense     small n: LAPACK                                n³
svd       𝓛 = I − Z Zᵀ: Gram matrix ZᵀZ (section A3.1)    two passes over Z, and m³ for m columns
nearly    𝓛 = diag(shift) − Z Zᵀ, nearly constant shift  the same
block     any operator: filtered blocks of vectors        some 20k … 60k products, of blocks
========= ============================================== ===========================================

>>> import numpy as np, lowrankgcn as lg
>>> from lowrankgcn.spectral.solvers.solution import Request
>>> from lowrankgcn.spectral.solvers.direct import solve_dense
>>> cycle = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
>>> solve_dense(lg.Laplacian(lg.AdjacencyGraph(cycle)), Request(tol=1e-9)).values.round(6)
array([0.5, 0.5, 1.5, 1.5, 2. ])
"""

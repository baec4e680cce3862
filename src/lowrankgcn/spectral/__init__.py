"""Laplacians, eigenpairs, filters and convolution kernels.

In reading order: ``laplacian``, ``filters``, ``spectrum`` (the result type), ``solvers``,
``dominance`` (which pairs), ``eigenpairs``, ``truncation``, ``kernel``, ``extension`` (new rows).
"""

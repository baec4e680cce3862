"""Laplacians, eigenpairs, filters and convolution kernels.

In reading order: ``laplacian``, ``filters``, ``spectrum`` (the result type), ``solvers``,
``decompose``, ``eigenpairs``, ``truncation``, ``kernel`` and ``extension`` (new rows).
"""

"""Laplacians, eigenpairs, filters and convolution kernels.

In reading order: ``laplacian``, ``filters``, ``solvers``, ``dominant``, ``eigenpairs``, ``kernel``,
``extension`` (new rows).
"""

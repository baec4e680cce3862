"""Laplacians, eigenpairs, filters and convolution kernels.

In reading order: ``laplacian``, ``filters``, ``solvers``, ``eigenpairs``, ``kernel``, ``extension``
(new rows).
"""

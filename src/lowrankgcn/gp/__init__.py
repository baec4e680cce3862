"""Gaussian process classification on spectral blocks.

A graph convolution with Gaussian weights is a Gaussian process: with Laplacian eigenvectors U and a
filter φ its covariance is U φ(Λ)² Uᵀ. The covariance of this package is a sum of such blocks, of
linear and radial kernels, and of the leaves of forests. The amplitudes minimise the leave-one-out
loss, which has a closed form. Those of the spectral blocks form a learned filter.

=============== ========================================================================
``embedding``   spectral coordinates on a graph, with their extension to new rows
``views``       all representations of the rows: features and coordinates
``blocks``      linear and radial kernels on a view
``leaves``      kernels of forests
``recipe``      the blocks of a table, before and after the labels are known; their prior
``likelihood``  leave-one-out loss and its minimum
``process``     the fitted process: scores, leave-one-out scores, covariances, class shares
``conformal``   prediction sets, and rows that fit no class
``attribution`` contributions of blocks, labelled rows and columns to a prediction
``suggestion``  choice of the rows to label next
=============== ========================================================================

Amplitudes, temperatures and gates (``prior.json``) were learned by ``benchmarks/prior.py``.
``process.UNSEEN_SHARE`` was chosen by ``benchmarks/few_labels.py``. All other constants are
conventions without a benchmark, or limits of time and memory.
"""

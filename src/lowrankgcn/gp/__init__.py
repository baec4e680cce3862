"""Gaussian process classification on spectral blocks.

A graph convolution with Gaussian weights is a Gaussian process: with Laplacian eigenvectors U and a
filter φ its covariance is U φ(Λ)² Uᵀ. The covariance of this package is a sum of such blocks, of
linear and radial kernels, and of the leaves of forests. The amplitudes minimise the leave-one-out
loss, which has a closed form. Those of the spectral blocks form a learned filter.

==================== ===================================================================
``embedding``        spectral coordinates on a graph, with their extension to new rows
``graph_filters``    filters of full rank that propagate features over a given graph
``node_features``    features of the nodes of a given graph
``node_graph``       the given graph with its features, and its new nodes
``views``            all representations of the rows: features and coordinates
``blocks``           linear and radial kernels on a view
``leaves``           kernels of forests
``propagated_block`` linear kernels of propagated features
``recipe``           the blocks, before and after the labels are known; their prior
``likelihood``       leave-one-out loss and its minimum
``process``          the fitted process: scores, leave-one-out scores, covariances
``shares``           class shares of the unlabelled rows
``conformal``        prediction sets, and rows that fit no class
``attribution``      contributions of blocks, labelled rows and columns to a prediction
``suggestion``       choice of the rows to label next
==================== ===================================================================

Amplitudes, temperatures and gates (``prior.json``) were learned by ``benchmarks/prior.py``.
The constants of few labels in ``recipe`` and ``shares`` were chosen by
``benchmarks/few_labels.py``, and ``graph_prior.json`` by ``python -m benchmarks graphs``. All other
constants are conventions without a benchmark, or limits of time and memory.
"""

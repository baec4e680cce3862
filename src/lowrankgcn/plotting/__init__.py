"""Plots of filters, spectra, eigenvectors and the quality of predictions.

Every function takes arrays or an object that has them, such as a fitted classifier. It draws on the
given Matplotlib Axes, or on a new figure, and returns the Axes. The functions use no global state
of Matplotlib, so threads and servers can call them:

>>> from lowrankgcn.plotting import plot_filter
>>> ax = plot_filter(["linear", "quadratic"], eigenvalues=[0.0, 0.3, 0.7, 1.0], rank=2)
>>> ax.get_xlabel()
'eigenvalue λ'
>>> ax.figure.savefig("filters.png")  # doctest: +SKIP

Colour-blind readers can distinguish the colours; classes and filters also differ by marker.
``drawing.svg`` turns pictures into elements of the pages of ``lowrankgcn.report``.
"""

from lowrankgcn.plotting.quality import plot_confusion, plot_loss, plot_reliability
from lowrankgcn.plotting.spectra import plot_embedding, plot_filter, plot_spectrum

__all__ = [
    "plot_confusion",
    "plot_embedding",
    "plot_filter",
    "plot_loss",
    "plot_reliability",
    "plot_spectrum",
]

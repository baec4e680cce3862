"""Pictures of filters, spectra and eigenvectors.

Every function draws on the given Matplotlib Axes, or on a new figure, and returns the Axes. The
functions use no global state of Matplotlib, so threads and servers can call them:

>>> ax = plot_filter(["linear", "quadratic"], eigenvalues=[0.0, 0.3, 0.7, 1.0], rank=2)
>>> ax.get_xlabel()
'eigenvalue λ'
>>> ax.figure.savefig("filters.png")  # doctest: +SKIP

The colours are those of Okabe and Ito, which colour-blind readers can distinguish; filters and many
classes also differ by marker.
"""

from lowrankgcn.plotting.embedding import plot_embedding
from lowrankgcn.plotting.spectra import plot_filter, plot_spectrum

__all__ = ["plot_embedding", "plot_filter", "plot_spectrum"]

"""Pictures of filters, spectra and eigenvectors.

Every function draws on the given Matplotlib Axes, or on a new figure of its own, and returns the
Axes; no global state is touched, so the pictures can be made in threads and servers alike:

>>> ax = plot_filters(["linear", "quadratic"], eigenvalues=[0.0, 0.3, 0.7, 1.0], rank=2)
>>> ax.get_xlabel()
'eigenvalue λ'
>>> ax.figure.savefig("filters.png")  # doctest: +SKIP

Colours are those of Okabe and Ito, which remain distinct under the common colour-blindnesses;
filters and large sets of classes also differ by marker.
"""

from lowrankgcn.plotting.embedding import plot_embedding
from lowrankgcn.plotting.responses import plot_filters
from lowrankgcn.plotting.spectra import plot_spectrum

__all__ = ["plot_embedding", "plot_filters", "plot_spectrum"]

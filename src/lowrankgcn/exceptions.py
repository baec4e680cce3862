"""Errors and warnings; each message names a remedy.

Bad arguments raise :class:`ValueError`. The classes here cover situations that only the computation
reveals, such as a solver that does not converge or a disconnected graph.
"""

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

#: How to decide about columns in Python; commands have options for it.
COLUMN_ADVICE = "; to decide it yourself, convert columns to floats, dates or pandas' type category"
TORCH_MISSING = "networks need torch: pip install 'lowrankgcn[nn]'"
#: The end of a note that commands leave out, because they ask before they fit.
MARKER_ADVICE = "if it marks unlabelled rows, replace it by None"


class ColumnWarning(UserWarning):
    """Columns of a table were left out, or their texts may be read in another way.

    Examples
    --------
    >>> import warnings
    >>> import lowrankgcn as lg, pandas as pd
    >>> table = pd.DataFrame({"name": ["Ann", "Bo", "Cy", "Di"], "size": ["1.5", "1.6", "7", "8"]})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", lg.ColumnWarning)
    ...     lg.SpectralGPClassifier().fit(table, ["small", "", "large", ""])
    Traceback (most recent call last):
        ...
    lowrankgcn.exceptions.ColumnWarning: column 'name' is left out: its values ...
    """


class LabelWarning(UserWarning):
    """A class may be a mistake, or a column of the table may be another name of the class.

    Classes differ by spelling only, or one is a text such as "?" and all rows are labelled.

    Examples
    --------
    >>> import warnings
    >>> import lowrankgcn as lg
    >>> X, y = [[0.0], [0.1], [1.0], [1.1], [2.0]], ["elm", "Elm", "oak", "oak", ""]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", lg.LabelWarning)
    ...     lg.SpectralGPClassifier().fit(X, y)
    Traceback (most recent call last):
        ...
    lowrankgcn.exceptions.LabelWarning: classes 'Elm', 'elm' differ only by blanks, case or zeros...
    """


class DataUnavailableError(OSError):
    """A data file is missing and cannot be downloaded.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> try:
    ...     dataset = lg.datasets.load_mushrooms(fetch=False)
    ... except lg.exceptions.DataUnavailableError:  # the file has not been downloaded
    ...     dataset = lg.datasets.load_cars()
    """


class EigensolverError(RuntimeError):
    """An eigensolver did not reach the requested tolerance.

    See Also
    --------
    eigenpairs : Its parameters tol and max_iter.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> spiral = lg.datasets.load_spiral()
    >>> laplacian = lg.Laplacian(lg.GaussianGraph(spiral.data, bandwidth=3.5))
    >>> lg.eigenpairs(laplacian, 5, method="block", max_iter=1)
    Traceback (most recent call last):
        ...
    lowrankgcn.exceptions.EigensolverError: block iteration reached residuals of ...
    """


class FastSumError(RuntimeError):
    """The requested fast summation method cannot represent the Gaussian kernel.

    See Also
    --------
    GaussianGraph.affinity : Its parameter method.

    Examples
    --------
    >>> import numpy as np
    >>> import lowrankgcn as lg
    >>> points = np.random.default_rng(0).normal(size=(3000, 3))
    >>> lg.GaussianGraph(points, bandwidth=0.01).affinity(method="fourier")
    Traceback (most recent call last):
        ...
    lowrankgcn.exceptions.FastSumError: method='fourier' cannot represent this kernel: ...
    """


class UnlabelledComponentWarning(UserWarning):
    """A connected component has no labelled row, so its predictions are arbitrary.

    See Also
    --------
    GCNClassifier : Issues this warning.
    SpectralGPClassifier : Issues this warning for graphs without features.

    Examples
    --------
    Rows 2 and 3 are joined to each other only, and neither has a label:

    >>> import warnings
    >>> import lowrankgcn as lg
    >>> graph = lg.AdjacencyGraph([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", lg.UnlabelledComponentWarning)
    ...     lg.GCNClassifier(graph="precomputed", max_iter=5).fit(graph, [0, 1, -1, -1])
    Traceback (most recent call last):
        ...
    lowrankgcn.exceptions.UnlabelledComponentWarning: 2 of 4 rows belong to parts of the graph ...
    """


class AccuracyWarning(UserWarning):
    """A measured error exceeds the requested tolerance.

    See Also
    --------
    eigenpairs : Issues this warning.

    Examples
    --------
    Raise an error instead of continuing with less accurate eigenpairs:

    >>> import warnings
    >>> import lowrankgcn as lg
    >>> graph = lg.GaussianGraph(lg.datasets.load_spiral(500).data, bandwidth=3.5)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", lg.AccuracyWarning)
    ...     pairs = lg.eigenpairs(lg.Laplacian(graph), 4)
    >>> pairs.fast_sum_error < 1e-6
    True
    """


class RankWarning(UserWarning):
    """The operator has fewer eigenpairs than requested; fewer are returned.

    See Also
    --------
    eigenpairs : Issues this warning.

    Examples
    --------
    >>> import warnings
    >>> import lowrankgcn as lg
    >>> laplacian = lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", lg.RankWarning)
    ...     pairs = lg.eigenpairs(laplacian, 3)
    >>> pairs.rank
    2
    """


class DisconnectedGraphWarning(UserWarning):
    """The graph has several components, so zero is a multiple eigenvalue.

    See Also
    --------
    eigenpairs : Issues this warning.

    Examples
    --------
    >>> import warnings
    >>> import lowrankgcn as lg
    >>> graph = lg.AdjacencyGraph([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", lg.DisconnectedGraphWarning)
    ...     pairs = lg.eigenpairs(lg.Laplacian(graph), 2)
    >>> pairs.eigenvalues.tolist(), pairs.n_components
    ([0.0, 0.0], 2)
    """


class DirectedGraphWarning(UserWarning):
    """A directed graph was given; its edges count in both directions.

    The weight of an edge is the larger one of both directions.

    See Also
    --------
    AdjacencyGraph.from_edge_index, AdjacencyGraph.from_networkx : Issue this warning.

    Examples
    --------
    >>> import warnings
    >>> import lowrankgcn as lg
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", lg.DirectedGraphWarning)
    ...     graph = lg.AdjacencyGraph.from_edge_index([[0, 1], [1, 0]], [1.0, 2.0])
    >>> graph.adjacency.toarray()
    array([[0., 2.],
           [2., 0.]])
    """


class DegenerateCutWarning(UserWarning):
    """The last eigenvalue kept equals the first one left out: the subspace is arbitrary.

    See Also
    --------
    eigenpairs : Issues this warning.

    Examples
    --------
    A triangle has the eigenvalues 0, 3/2 and 3/2:

    >>> import warnings
    >>> import lowrankgcn as lg
    >>> laplacian = lg.Laplacian(lg.AdjacencyGraph([[0, 1, 1], [1, 0, 1], [1, 1, 0]]))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", lg.DegenerateCutWarning)
    ...     lg.eigenpairs(laplacian, 2)
    Traceback (most recent call last):
        ...
    lowrankgcn.exceptions.DegenerateCutWarning: the cut goes through a multiple eigenvalue: ...
    """


@contextmanager
def prefix_errors(name: object) -> Iterator[None]:
    """Put the name of a file or a column before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name}: {' '.join(str(error).split())}") from None


def without_options(note: str) -> str:
    """Return a note without the options of commands, which it has in brackets at the end."""
    return re.sub(r" \(--.*\)$", "", note)


def torch_installed() -> bool:
    """Return whether networks can be used."""
    return find_spec("torch") is not None


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the line of user code that called the package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

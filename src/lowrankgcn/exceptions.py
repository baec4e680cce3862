"""Errors and warnings, each naming what the user can do about it.

Bad arguments raise :class:`ValueError`; the classes here are for situations that only the numbers
reveal: a solver that does not converge, a rank that the data does not have, a graph in several
pieces, a cut through a multiple eigenvalue.
"""

import sys
import warnings

__all__ = [
    "AccuracyWarning",
    "DataUnavailableError",
    "DegenerateCutWarning",
    "DisconnectedGraphWarning",
    "EigensolverError",
    "FastSumError",
    "RankWarning",
    "UnlabelledComponentWarning",
    "warn_caller",
]


class DataUnavailableError(OSError):
    """A data file is neither at hand nor to be fetched; the message says where to put it."""


class EigensolverError(RuntimeError):
    """An eigensolver did not reach the requested tolerance; the message says what to change."""


class FastSumError(RuntimeError):
    """The named way of summing a Gaussian kernel cannot represent it; the message says why."""


class UnlabelledComponentWarning(UserWarning):
    """A part of the graph has no label, so nothing can be said about its rows."""


class AccuracyWarning(UserWarning):
    """A measured error is larger than the tolerance asked for; the result says how large."""


class RankWarning(UserWarning):
    """More eigenpairs were asked for than the operator determines; fewer are returned."""


class DisconnectedGraphWarning(UserWarning):
    """The graph has several components, so zero is a multiple eigenvalue."""


class DegenerateCutWarning(UserWarning):
    """The last eigenvalue kept equals the first one left out: the subspace is arbitrary."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's own code that called into the package, however deep we are."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

"""Errors and warnings, each naming what the user can do about it.

Bad arguments raise :class:`ValueError` (see :mod:`lowrankgcn._validation`); the classes here are
for situations that only the numbers reveal: a solver that does not converge, a rank that the data
does not have, a graph in several pieces, a cut through a multiple eigenvalue.
"""

__all__ = [
    "AccuracyWarning",
    "DegenerateCutWarning",
    "DisconnectedGraphWarning",
    "EigensolverError",
    "FastSumError",
    "RankWarning",
]


class EigensolverError(RuntimeError):
    """An eigensolver did not reach the requested tolerance; the message says what to change."""


class FastSumError(RuntimeError):
    """The named way of summing a Gaussian kernel cannot represent it; the message says why."""


class AccuracyWarning(UserWarning):
    """A measured error is larger than the tolerance asked for; the result says how large."""


class RankWarning(UserWarning):
    """More eigenpairs were asked for than the operator determines; fewer are returned."""


class DisconnectedGraphWarning(UserWarning):
    """The graph has several components, so zero is a multiple eigenvalue."""


class DegenerateCutWarning(UserWarning):
    """The last eigenvalue kept equals the first one left out: the subspace is arbitrary."""

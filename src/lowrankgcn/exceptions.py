"""Errors and warnings; each message names a remedy.

Bad arguments raise :class:`ValueError`. The classes here cover situations that only the computation
reveals, such as a solver that does not converge or a disconnected graph.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

__all__ = [
    "TORCH_MISSING",
    "AccuracyWarning",
    "DataUnavailableError",
    "DegenerateCutWarning",
    "DisconnectedGraphWarning",
    "EigensolverError",
    "FastSumError",
    "RankWarning",
    "UnlabelledComponentWarning",
    "prefix_errors",
    "torch_installed",
    "warn_caller",
]

TORCH_MISSING = "networks need torch: pip install 'lowrankgcn[nn]'"


class DataUnavailableError(OSError):
    """A data file is missing and cannot be downloaded."""


class EigensolverError(RuntimeError):
    """An eigensolver did not reach the requested tolerance."""


class FastSumError(RuntimeError):
    """The requested fast summation method cannot represent the Gaussian kernel."""


class UnlabelledComponentWarning(UserWarning):
    """A connected component has no labelled row, so its predictions are arbitrary."""


class AccuracyWarning(UserWarning):
    """A measured error exceeds the requested tolerance."""


class RankWarning(UserWarning):
    """The operator has fewer eigenpairs than requested; fewer are returned."""


class DisconnectedGraphWarning(UserWarning):
    """The graph has several components, so zero is a multiple eigenvalue."""


class DegenerateCutWarning(UserWarning):
    """The last eigenvalue kept equals the first one left out: the subspace is arbitrary."""


@contextmanager
def prefix_errors(name: object) -> Iterator[None]:
    """Put the name of a file or a column before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name}: {' '.join(str(error).split())}") from None


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

"""All methods that can be compared, in the order of the tables.

>>> [method.key for method in choose(["svc", "gcn"])]
['gcn', 'svc']
>>> choose(["gnc"])
Traceback (most recent call last):
    ...
ValueError: method: expected one of 'gcn', 'gcn-best', ..., 'poisson', got 'gnc'
"""

from __future__ import annotations

from collections.abc import Sequence

from lowrankgcn._validation import choice, invalid
from lowrankgcn.experiments.comparison.methods.base import Method
from lowrankgcn.experiments.comparison.methods.hypernets import HYPERNETS
from lowrankgcn.experiments.comparison.methods.ours import OURS, REFERENCE
from lowrankgcn.experiments.comparison.methods.poisson import POISSON
from lowrankgcn.experiments.comparison.methods.standard import STANDARD

__all__ = ["METHODS", "REFERENCE", "Method", "choose"]

METHODS: tuple[Method, ...] = OURS + STANDARD + HYPERNETS + POISSON


def choose(keys: Sequence[str] | None = None) -> tuple[Method, ...]:
    """The methods of these names, in the order of the registry; all of them without names.

    Raises
    ------
    ValueError
        If a name is unknown, or the package of a method that was asked for is not there.
    """
    if keys is None:
        return METHODS
    wanted = {choice(key, "method", [method.key for method in METHODS]) for key in keys}
    chosen = tuple(method for method in METHODS if method.key in wanted)
    for method in chosen:
        missing = method.missing()
        if missing is not None:
            raise invalid("method", "methods that are installed", f"{method.key!r}: {missing}")
    return chosen

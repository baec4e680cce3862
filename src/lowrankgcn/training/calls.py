"""An iteration as a list of calls, made once and repeated.

All arrays of a training stay where they are, so that every iteration makes the same calls with the
same arguments. Small networks spend more time on finding these than on computing:

>>> import torch
>>> a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
>>> calls = [call(torch.add, a, b, out=a), call(torch.relu_, a)]
>>> repeat(calls)
>>> repeat(calls)
>>> a
tensor([ 7., 10.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial as call

__all__ = ["Call", "call", "repeat"]

Call = Callable[[], object]


def repeat(calls: Sequence[Call]) -> None:
    """Make all the calls, in their order."""
    for one in calls:
        one()

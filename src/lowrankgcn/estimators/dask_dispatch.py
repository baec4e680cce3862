"""Dispatch of Dask collections to :mod:`lowrankgcn.distributed`.

Dask is an optional dependency, and `lowrankgcn.distributed` imports this package. The module is
therefore imported only when an argument is a Dask collection.

>>> import numpy as np
>>> print(distributed_module(np.zeros((3, 2)), None))
None
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["distributed_module"]


def distributed_module(*values: Any) -> Any:
    """Return the module that handles lazy collections, None if no argument is one."""
    for value in values:
        # Dask's own mark for its collections.
        if hasattr(type(value), "__dask_graph__") and value.__dask_graph__() is not None:
            return import_module("lowrankgcn.distributed")
    return None

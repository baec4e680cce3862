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

_MODULE = "lowrankgcn.distributed"


def distributed_module(*values: Any) -> Any:
    """Return the module that handles lazy collections, None if no argument is one."""
    if not any(_is_lazy(value) for value in values):
        return None
    return import_module(_MODULE)


def _is_lazy(value: Any) -> bool:
    # Dask's own mark for its collections.
    graph = getattr(type(value), "__dask_graph__", None)
    return graph is not None and value.__dask_graph__() is not None

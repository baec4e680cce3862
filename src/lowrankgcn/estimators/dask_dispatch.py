"""Where rows that do not lie in memory go: to the module that reads them block by block.

Dask is an optional dependency and `lowrankgcn.distributed` an outer room that imports this package.
Only a collection of Dask itself, which nobody has without Dask, leads there.

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
    """The module with ``fit``, ``predict`` and so on for lazy collections; None without any."""
    if not any(_is_lazy(value) for value in values):
        return None
    return import_module(_MODULE)


def _is_lazy(value: Any) -> bool:
    # Dask's own mark for its collections.
    graph = getattr(type(value), "__dask_graph__", None)
    return graph is not None and value.__dask_graph__() is not None

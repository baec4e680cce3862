"""The command line: ``run`` is the command ``lowrankgcn``, each of its commands has a module.

Modules that import torch, Matplotlib or Dask are imported when a command runs, so that ``--help``
is fast.
"""

from lowrankgcn.cli import classify, compare, demo, explain, predict, reproduce, suggest
from lowrankgcn.cli.app import app, run

__all__ = [
    "app",
    "classify",
    "compare",
    "demo",
    "explain",
    "predict",
    "reproduce",
    "run",
    "suggest",
]

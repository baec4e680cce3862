"""Collect the package for Dask collections only if Dask is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("dask") else ["src/lowrankgcn/distributed"]

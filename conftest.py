"""Collect the modules of optional packages only if these are installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("dask") else ["src/lowrankgcn/distributed"]
collect_ignore += [] if find_spec("uvicorn") else ["src/lowrankgcn/studio/server.py"]

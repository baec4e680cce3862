"""What pytest may look at: the package for Dask collections only where Dask is installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("dask") else ["src/lowrankgcn/distributed"]

"""The command line: ``lowrankgcn demo``.

Commands read their arguments here and leave the work to modules that are imported only when the
command runs, so that ``--help`` does not wait for them.
"""

from lowrankgcn.cli.main import app

__all__ = ["app"]

"""The command line.

``app`` is the command ``lowrankgcn``, ``commands`` its commands with their options; each command's
work is in a module of its own.
"""

from lowrankgcn.cli import commands as commands
from lowrankgcn.cli.app import app

__all__ = ["app"]

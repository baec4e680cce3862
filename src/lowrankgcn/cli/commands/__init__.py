"""Commands as users see them: names, options and help, in the order of ``lowrankgcn --help``.

Each leaves the work to a module that is imported only when the command runs, so that ``--help``
does not wait for torch.
"""

from lowrankgcn.cli.commands.compare import compare
from lowrankgcn.cli.commands.demo import demo

__all__ = ["compare", "demo"]

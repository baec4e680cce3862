"""Commands as users see them: names, options and help, in the order of ``lowrankgcn --help``.

Each leaves the work to a module that is imported only when the command runs, so that ``--help``
does not wait for torch.
"""

from lowrankgcn.cli.commands.classify import classify
from lowrankgcn.cli.commands.predict import predict

from lowrankgcn.cli.commands.demo import demo  # isort: skip  # the order of the help

__all__ = ["classify", "demo", "predict"]

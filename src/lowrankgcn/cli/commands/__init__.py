"""Commands as users see them: names, options and help, in the order of ``lowrankgcn --help``.

Each leaves the work to a module that is imported only when the command runs, so that ``--help``
does not wait for torch.
"""

from lowrankgcn.cli.commands.classify import classify
from lowrankgcn.cli.commands.predict import predict

from lowrankgcn.cli.commands.explain import explain  # isort: skip  # the order of the help
from lowrankgcn.cli.commands.suggest import suggest  # isort: skip
from lowrankgcn.cli.commands.demo import demo  # isort: skip

__all__ = ["classify", "demo", "explain", "predict", "suggest"]

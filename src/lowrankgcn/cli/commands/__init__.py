"""Commands as users see them: names, options and help.

Each leaves the work to a module that is imported only when the command runs, so that ``--help``
does not wait for torch.
"""

from lowrankgcn.cli.commands.classify import classify
from lowrankgcn.cli.commands.compare import compare
from lowrankgcn.cli.commands.demo import demo
from lowrankgcn.cli.commands.explain import explain
from lowrankgcn.cli.commands.predict import predict
from lowrankgcn.cli.commands.reproduce import reproduce
from lowrankgcn.cli.commands.suggest import suggest

__all__ = ["classify", "compare", "demo", "explain", "predict", "reproduce", "suggest"]

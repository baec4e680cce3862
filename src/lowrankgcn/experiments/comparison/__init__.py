"""A table classified by ``GCNClassifier`` and by what people take instead, on the same splits.

``task`` and ``datasets`` say what is compared on, ``splits`` which rows are labelled, ``methods``
who takes part; ``running`` does the work and ``statistics``, ``summary`` and ``text`` tell what
came out.
"""

from lowrankgcn.experiments.comparison.datasets import NAMES, file_task, load_task
from lowrankgcn.experiments.comparison.methods import METHODS, Method, choose
from lowrankgcn.experiments.comparison.running import Comparison, Step, compare
from lowrankgcn.experiments.comparison.summary import as_document, as_frame, summarise
from lowrankgcn.experiments.comparison.task import Task, make_task
from lowrankgcn.experiments.comparison.text import as_markdown

__all__ = [
    "METHODS",
    "NAMES",
    "Comparison",
    "Method",
    "Step",
    "Task",
    "as_document",
    "as_frame",
    "as_markdown",
    "choose",
    "compare",
    "file_task",
    "load_task",
    "make_task",
    "summarise",
]

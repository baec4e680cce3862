"""The paper's tables and figures, computed again and put beside the published numbers.

The way of the data, and the modules in reading order: ``grid`` (the paper's rows, from
``paper.toml``) → ``plan`` (what to compute for them) → ``setting`` (data, graphs, networks) →
``measure`` and ``naive`` (accuracies and times) → ``store`` and ``runner`` (resumable) →
``verdict``, ``errata`` and ``results`` → ``figures``, ``page``, ``markdown``.

>>> results = reproduce(("filters",), runs=1)
>>> results.rows
()
"""

from lowrankgcn.experiments.reproduction.errata import ERRATA, Erratum
from lowrankgcn.experiments.reproduction.grid import Case, Row, paper_rows, paper_tables
from lowrankgcn.experiments.reproduction.machine import machine
from lowrankgcn.experiments.reproduction.markdown import as_markdown
from lowrankgcn.experiments.reproduction.page import render_reproduction
from lowrankgcn.experiments.reproduction.plan import plan
from lowrankgcn.experiments.reproduction.reproduce import TABLES, reproduce
from lowrankgcn.experiments.reproduction.results import Results, RowResult, collect
from lowrankgcn.experiments.reproduction.runner import Job, compute
from lowrankgcn.experiments.reproduction.store import Settings, Store

__all__ = [
    "ERRATA",
    "TABLES",
    "Case",
    "Erratum",
    "Job",
    "Results",
    "Row",
    "RowResult",
    "Settings",
    "Store",
    "as_markdown",
    "collect",
    "compute",
    "machine",
    "paper_rows",
    "paper_tables",
    "plan",
    "render_reproduction",
    "reproduce",
]

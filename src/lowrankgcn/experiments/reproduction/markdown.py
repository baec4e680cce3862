"""The reproduction as a page of the documentation."""

from __future__ import annotations

from lowrankgcn.experiments.reproduction.errata import ERRATA
from lowrankgcn.experiments.reproduction.grid import paper_tables
from lowrankgcn.experiments.reproduction.results import Results
from lowrankgcn.experiments.reproduction.text import HEADER, HOW, NUMERIC, cells, summary

__all__ = ["as_markdown"]

_INTRO = """\
# The paper, reproduced

Written by `{command}`; do not edit.

Every row of the tables of D. Alfke and M. Stoll, *Semi-Supervised Classification on Non-Sparse
Graphs Using Low-Rank Graph Convolutional Networks*, 2019
([arXiv:1905.10224](https://arxiv.org/abs/1905.10224)), computed with this library, beside the
published figure. Some published rows cannot be trusted: the errata at the end say which and why,
each shown by a run. The same with the figures redrawn is in the page that the command writes.
"""


def as_markdown(results: Results, *, machine: str, command: str) -> str:
    """Tables, errata and how to repeat them."""
    parts = [_INTRO.format(command=command), f"**{summary(results)}**", HOW]
    parts.append(f"Times were measured on {machine}.")
    for table in paper_tables():
        if table.name in results.missing:
            parts += [f"## {table.title}", results.missing[table.name]]
        elif table.name in results.tables:
            parts += [f"## {table.title}", table.about]
            parts.append(_table([cells(row) for row in results.tables[table.name]]))
    parts.append("## What the paper gets wrong")
    for name, erratum in ERRATA.items():
        parts += [f"### {erratum.number}. {erratum.title}", erratum.text]
        parts += [
            f"*Shown by a run:* {shown.text}"
            for shown in results.demonstrations
            if shown.erratum == name
        ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _table(rows: list[tuple[str, ...]]) -> str:
    def line(texts: tuple[str, ...]) -> str:
        return (
            "| " + " | ".join(text.replace("*", "\\*").replace("|", "\\|") for text in texts) + " |"
        )

    rule = "|" + "|".join("---:" if j in NUMERIC else "---" for j in range(len(HEADER))) + "|"
    return "\n".join([line(HEADER), rule, *map(line, rows)])

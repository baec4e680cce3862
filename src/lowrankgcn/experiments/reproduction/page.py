"""The reproduction as one HTML page, tables and figures next to each other."""

from __future__ import annotations

from typing import Any

from lowrankgcn.experiments.reproduction.errata import ERRATA
from lowrankgcn.experiments.reproduction.figures import (
    EXAMPLE_RANK,
    draw_filters,
    draw_ranks,
    draw_spiral,
)
from lowrankgcn.experiments.reproduction.grid import paper_tables
from lowrankgcn.experiments.reproduction.results import Results, RowResult
from lowrankgcn.experiments.reproduction.text import HEADER, HOW, NUMERIC, cells, summary
from lowrankgcn.report import render_page

__all__ = ["render_reproduction"]


def render_reproduction(
    results: Results, *, version: str, machine: str, command: str, filters: bool
) -> str:
    """Render the results as a page.

    Parameters
    ----------
    results : Results
    version, machine, command : str
        Version of the library, the machine that measured the times, and the command to repeat.
    filters : bool
        Whether to draw the figures that need no training.

    Returns
    -------
    str
        A complete HTML document.
    """
    tables: list[dict[str, Any]] = []
    for table in paper_tables():
        shown = {"name": table.name, "title": table.title, "about": table.about}
        if table.name in results.missing:
            tables.append(shown | {"missing": results.missing[table.name]})
        elif table.name in results.tables:
            rows = results.tables[table.name]
            figures = []
            if table.name == "ranks":
                figures = [draw_ranks(rows, times=times) for times in (False, True)]
            texts = [(cells(row)[:-1], _verdict(row)) for row in rows]
            tables.append(shown | {"missing": "", "rows": texts, "figures": figures})
    sections = {table["name"]: table["title"] for table in tables}
    pictures: dict[str, Any] = {}
    if filters:
        sections["filters"] = "Figures 3 and 4: filters and points"
        pictures = {"full": draw_filters(None), "low": draw_filters(EXAMPLE_RANK)}
        pictures |= {"rank": EXAMPLE_RANK, "spiral": draw_spiral()}
    if results.rows:
        sections["errata"] = "Errors in the paper"
    unexplained = len(results.unexplained)
    return render_page(
        "reproduction.html.j2",
        title="The paper, reproduced",
        subtitle=f"lowrankgcn {version}, seed {results.seed}",
        sections={**sections, "repeat": "How to reproduce"},
        results=results,
        summary=summary(results) if results.rows else "",
        cards=[
            (results.count(agrees=True), "rows agree with the published accuracy"),
            (results.count(agrees=False) - unexplained, "rows differ, explained by an erratum"),
            (unexplained, "rows differ without an explanation"),
            (results.runs, "runs for every row"),
        ],
        how=HOW,
        tables=tables,
        header=HEADER,
        numeric=NUMERIC,
        filters=pictures,
        errata=ERRATA,
        command=command,
        machine=machine,
    )


def _verdict(row: RowResult) -> tuple[str, ...]:
    """Return the verdict, split around the number of its erratum, which becomes a link."""
    text = cells(row)[-1]
    if row.explained is None:
        return (text,)
    number = ERRATA[row.explained].number
    before, _, after = text.partition(f"erratum {number}")
    return before, str(number), after

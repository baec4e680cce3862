"""The reproduction as one HTML page, tables and figures next to each other."""

from __future__ import annotations

import lowrankgcn
from lowrankgcn.experiments.reproduction import figures, text
from lowrankgcn.experiments.reproduction.grid import paper_tables
from lowrankgcn.experiments.reproduction.results import Results
from lowrankgcn.report import render_page

__all__ = ["render_reproduction"]


def render_reproduction(results: Results, *, command: str, filters: bool) -> str:
    """Render the results as a page.

    Parameters
    ----------
    results : Results
    command : str
        Command to repeat the reproduction.
    filters : bool
        Whether to draw the figures that need no training.

    Returns
    -------
    str
        A complete HTML document.
    """
    shown = [t for t in paper_tables() if t.name in (*results.missing, *results.tables)]
    sections = {table.name: table.title for table in shown}
    if filters:
        sections["filters"] = "Figures 3 and 4: filters and points"
    if results.rows:
        sections["errata"] = "Errors in the paper"
    agree, explained, unexplained = text.count_verdicts(results.rows)
    return render_page(
        "reproduction.html.j2",
        title="The paper, reproduced",
        subtitle=f"lowrankgcn {lowrankgcn.__version__}, seed {results.seed}",
        sections={**sections, "repeat": "How to reproduce"},
        results=results,
        summary=text.summary(results),
        cards=[
            (agree, "rows agree with the published accuracy"),
            (explained, "rows differ, explained by an erratum"),
            (unexplained, "rows differ without an explanation"),
            (results.runs, "runs for every row"),
        ],
        how=text.HOW,
        tables=shown,
        header=text.HEADER,
        numeric=text.NUMERIC,
        cells=text.cells,
        figures=figures,
        command=command,
        machine=text.machine(),
    )

"""The reproduction as one HTML page, tables and figures next to each other."""

from __future__ import annotations

from collections.abc import Sequence

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
from lowrankgcn.report import layout

__all__ = ["render_reproduction"]

_ARXIV = "https://arxiv.org/abs/1905.10224"


def render_reproduction(
    results: Results, *, version: str, machine: str, command: str, filters: bool
) -> str:
    """Lay the results out.

    Parameters
    ----------
    results : Results
    version, machine, command : str
        Of the library; what the times were measured on; what to type for the same.
    filters : bool
        Whether the figures that need no training are wanted.

    Returns
    -------
    str
        A complete HTML document.
    """
    blocks: list[tuple[str, str, list[str]]] = []
    for table in paper_tables():
        if table.name in results.missing:
            blocks.append((table.name, table.title, [layout.note(results.missing[table.name])]))
        elif table.name in results.tables:
            rows = results.tables[table.name]
            blocks.append((table.name, table.title, _table(table.about, rows, table.name)))
    if filters:
        blocks.append(("filters", "Figures 3 and 4: filters and points", [_pictures()]))
    if results.rows:
        blocks.append(("errata", "What the paper gets wrong", _errata(results)))
    blocks.append(("repeat", "How to repeat this", _repeat(machine, command)))
    cards = _cards(results)
    intro = [
        layout.navigation((name, title) for name, title, _ in blocks),
        *([layout.note(summary(results)), layout.cards(cards)] if results.rows else []),
        *([layout.paragraph(HOW, soft=True)] if results.rows else []),
    ]
    sections = [layout.section(name, title, *inside) for name, title, inside in blocks]
    return layout.page(
        "The paper, reproduced", f"lowrankgcn {version}, seed {results.seed}", [*intro, *sections]
    )


def _cards(results: Results) -> list[tuple[str, str]]:
    unexplained = len(results.unexplained)
    differing = results.count(agrees=False) - unexplained
    return [
        (str(results.count(agrees=True)), "rows agree with the published accuracy"),
        (str(differing), "rows differ, and an erratum says why"),
        (str(unexplained), "rows differ, and nothing explains it"),
        (str(results.runs), "runs for every row"),
    ]


def _table(about: str, rows: Sequence[RowResult], name: str) -> list[str]:
    body = layout.table(
        HEADER,
        [(*cells(row)[:-1], _linked(row)) for row in rows],
        numeric=NUMERIC,
        wrapped=(len(HEADER) - 1,),
        named=True,
        label=name,
    )
    blocks = [layout.paragraph(about), body]
    if name == "ranks":
        blocks.append(
            layout.columns(
                layout.figure(
                    draw_ranks(rows, times=False),
                    "Accuracy over the rank with 95 % intervals; dotted: published.",
                ),
                layout.figure(
                    draw_ranks(rows, times=True),
                    "Set-up and training of one run over the rank; dotted: published.",
                ),
            )
        )
    return blocks


def _linked(row: RowResult) -> str:
    """The verdict, with a link to its erratum."""
    text = cells(row)[-1]
    if row.explained is None:
        return text
    number = ERRATA[row.explained].number
    before, _, after = text.partition(f"erratum {number}")
    link = layout.markup(f'<a href="#erratum-{number}">erratum {number}</a>')
    return layout.sentence(before, link, after)


def _pictures() -> str:
    full = layout.figure(
        draw_filters(None), "The three filters of full rank on an example spectrum (grey lines)."
    )
    low = layout.figure(
        draw_filters(EXAMPLE_RANK),
        f"Their equivalents of rank {EXAMPLE_RANK}: all but the dominant responses are zero.",
    )
    spiral = layout.figure(
        draw_spiral(), "The spiral with 400 points per orb, coloured by the nearest centre."
    )
    return "\n".join([layout.columns(full, low), spiral])


def _errata(results: Results) -> list[str]:
    shown: dict[str, list[str]] = {}
    for demonstration in results.demonstrations:
        shown.setdefault(demonstration.erratum, []).append(demonstration.text)
    blocks = []
    for name, erratum in ERRATA.items():
        title = layout.markup(f'<span id="erratum-{erratum.number}">{erratum.number}.</span> ')
        blocks.append(layout.heading(layout.sentence(title, erratum.title)))
        blocks.append(layout.paragraph(erratum.text))
        blocks += [layout.paragraph(f"Shown by a run: {text}") for text in shown.get(name, ())]
    return blocks


def _repeat(machine: str, command: str) -> list[str]:
    link = layout.markup(f'<a href="{_ARXIV}">arXiv:1905.10224</a>')
    paper = layout.sentence(
        "Published figures: D. Alfke and M. Stoll, Semi-Supervised Classification on Non-Sparse "
        "Graphs Using Low-Rank Graph Convolutional Networks, 2019, ",
        link,
        ".",
    )
    return [
        layout.code(command, wrapped=True),
        layout.paragraph(paper),
        layout.paragraph(f"Times were measured on {machine}.", soft=True),
    ]

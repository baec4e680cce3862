"""The technical end of a classification's page: graph, spectrum, networks, how to repeat it."""

from __future__ import annotations

from lowrankgcn.report import layout
from lowrankgcn.report.classification import Classification
from lowrankgcn.report.figures import draw_filters, draw_spectrum
from lowrankgcn.report.networks import network_table
from lowrankgcn.report.text import count, duration, number, plural

__all__ = ["computed", "repeated"]


def computed(result: Classification) -> list[str]:
    """Blocks on the graph, its spectrum, the filters and the networks."""
    facts = [(name, _fact(value)) for name, value in result.graph.facts.items()]
    blocks = [
        layout.heading(f"The graph: {result.graph.name}"),
        layout.columns(layout.paragraph(result.graph.meaning), layout.facts(facts, numeric=True)),
    ]
    figures = _figures(result)
    if figures:
        blocks += [layout.heading("Spectrum and filter"), layout.columns(*figures)]
    text = (
        "Several small networks were compared on labels hidden from them; the answer is their "
        "average, weighted by their shares. Those named perceptron and linear model look at the "
        "columns alone, the others at the graph as well."
    )
    if len(result.selection) == 1:
        text = "One network was trained; nothing was compared."
    table = network_table(result.selection)
    return [*blocks, layout.heading("The networks"), layout.paragraph(text), table]


def _fact(value: int | float) -> str:
    return count(value) if isinstance(value, int) else number(value)


def _figures(result: Classification) -> list[str]:
    values = result.eigenvalues
    if values is None:
        return []
    parts = result.graph.facts["separate parts"]
    text = (
        f"{plural(len(values), 'eigenvalue')} of the graph’s Laplacian. Those near zero belong to "
        "patterns that change little between rows that are joined. "
    )
    text += (
        "The one that is zero says that the graph is all in one piece."
        if parts == 1
        else f"The graph is in {count(int(parts))} separate parts, each with an eigenvalue zero."
    )
    figures = [layout.figure(draw_spectrum(values, None, "spectrum"), text)]
    if result.filters:
        text = (
            "How strongly the networks use the pattern of each eigenvalue (grey lines): the "
            "higher the curve, the more."
        )
        figures.append(layout.figure(draw_filters(result.filters, values, "filters"), text))
    else:
        text = "No network that looks at the graph has a share in the answer: no filter is used."
        figures.append(layout.paragraph(text))
    return figures


def repeated(result: Classification) -> list[str]:
    """Blocks with the command, the versions and where the time went."""
    left = []
    if result.command:
        left = [layout.heading("The command"), layout.code(result.command, wrapped=True)]
    rows = [("versions", ", ".join(result.versions))]
    if result.seed is not None:
        rows.append(("seed", str(result.seed)))
    left += [layout.heading("Made with"), layout.facts(rows)]
    times = [(step, duration(value)) for step, value in result.seconds.items()]
    times.append(("total", duration(sum(result.seconds.values()))))
    right = [layout.heading("Where the time went"), layout.facts(times, numeric=True)]
    return [layout.columns("\n".join(left), "\n".join(right))]

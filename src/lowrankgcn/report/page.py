"""A report as one HTML file: no script, no network, figures inside."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

from lowrankgcn.report.figures import draw_filters, draw_points, draw_spectrum, draw_task
from lowrankgcn.report.study import Study
from lowrankgcn.report.text import (
    count,
    cut_text,
    duration,
    error_text,
    number,
    percent,
    small,
    spectrum_text,
)

__all__ = ["render"]

_PAGE = Template(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
$css</style>
</head>
<body>
<header>
<h1>$title</h1>
<p class="soft">$subtitle</p>
</header>
<main>
$main
</main>
</body>
</html>
"""
)


def render(
    studies: Sequence[Study], *, title: str, subtitle: str, note: str, command: str, seconds: float
) -> str:
    """Lay the studies out as a page.

    Parameters
    ----------
    studies : sequence of Study
    title, subtitle : str
    note : str
        What the reader must know before the numbers.
    command : str
        The command line that made the report.
    seconds : float
        Time of the whole computation.

    Returns
    -------
    str
        A complete HTML document.
    """
    blocks = [f'<p class="note">{escape(note)}</p>', _cards(studies, seconds)]
    blocks += [_study(study) for study in studies]
    blocks.append(_repeat(studies, command, seconds))
    return _PAGE.substitute(
        title=escape(title),
        subtitle=escape(subtitle),
        css=files("lowrankgcn.report").joinpath("report.css").read_text("utf-8"),
        main="\n".join(blocks),
    )


def _cards(studies: Sequence[Study], seconds: float) -> str:
    cards = [
        (
            percent(task.accuracy),
            f"{study.name}, {task.name}: GCNClassifier, "
            f"{task.n_labels} labels for {count(len(task.classes))} rows "
            f"(always “{task.largest_class[0]}”: {percent(task.largest_class[1])})",
        )
        for study in studies
        for task in study.tasks
    ]
    cards.append((duration(seconds), "for everything computed on this page, figures aside"))
    inside = "".join(
        f'<div class="card"><b>{escape(value)}</b><span>{escape(text)}</span></div>\n'
        for value, text in cards
    )
    return f'<div class="cards">\n{inside}</div>'


def _study(study: Study) -> str:
    read = f"<h3>What was read</h3>\n{_table(study.header, study.sample)}"
    graph = f"<h3>The graph</h3>\n{_facts((k, _plain(v)) for k, v in study.facts.items())}"
    if study.points is not None:
        caption = f"The points from the side ({study.point_names[0]}, {study.point_names[1]}), "
        left = [f"<div>{read}\n{graph}</div>", _figure(draw_points(study), caption + _ring_text())]
    else:
        left = [f"<div>{read}</div>", f"<div>{graph}</div>"]
    parts = [
        f'<section id="{study.name}">',
        f"<h2>{escape(study.title)}</h2>",
        f"<p>{escape(study.source)}</p>",
        _columns(*left),
        "<h3>Eigenpairs of the Laplacian</h3>",
        _columns(_figure(draw_spectrum(study), _spectrum_caption(study)), _eigenvalues(study)),
        "<h3>Filters and kernels</h3>",
        _columns(_figure(draw_filters(study), _filters_caption(study)), _kernels(study)),
        "<h3>What the few eigenpairs carry</h3>",
        _columns(*(_task(study, number) for number in range(len(study.tasks)))),
    ]
    parts += [f'<p class="note">Warning: {escape(text)}</p>' for text in study.warnings]
    return "\n".join([*parts, "</section>"])


def _spectrum_caption(study: Study) -> str:
    pairs = study.pairs
    text = (
        f"The {pairs.rank} smallest eigenvalues (blue) and the residual norms ‖Lu − λu‖ of their "
        f"eigenvectors (orange, right), by the solver “{pairs.method}”"
    )
    if pairs.fast_sum_error:
        text += f"; measured error of the fast sums on them {small(pairs.fast_sum_error)}"
    if study.spectrum is not None:
        text += f". The whole spectrum is {spectrum_text(study.spectrum)}"
    return text + "."


def _filters_caption(study: Study) -> str:
    known = "all eigenvalues" if study.spectrum is not None else "the eigenvalues computed"
    return f"Responses φ(λ) of the filters, marked at {known} (grey lines)."


def _ring_text() -> str:
    return "coloured by class; ringed: the labelled ones."


def _eigenvalues(study: Study) -> str:
    pairs = study.pairs
    rows: list[tuple[str, str, str]] = []
    groups: list[tuple[int, int]] = []
    for index, value in enumerate(pairs.eigenvalues):
        # A multiple eigenvalue takes one row.
        if groups and value - pairs.eigenvalues[groups[-1][0]] <= 1e-9 and value > 0:
            groups[-1] = (groups[-1][0], index)
        else:
            groups.append((index, index))
    for first, last in groups:
        indices = f"{first + 1}" if first == last else f"{first + 1} … {last + 1}"
        largest = float(pairs.residuals[first : last + 1].max())
        value = "0" if pairs.eigenvalues[first] == 0 else f"{pairs.eigenvalues[first]:.6f}"
        rows.append((indices, value, small(largest)))
    if study.spectrum is not None and pairs.rank < sum(m for _, m in study.spectrum):
        value, multiplicity = study.spectrum[-1]
        rows.append((f"{pairs.rank + 1} … {pairs.rank + multiplicity}", f"{value:.6f}", "–"))
    return _table(("index", "eigenvalue", "residual"), rows, numeric=(0, 1, 2))


def _kernels(study: Study) -> str:
    header = ["filter φ", "rank", "‖K − K̃‖", "φ cut"]
    exact = any(kernel.full_rank_form for kernel in study.kernels)
    rows = []
    for kernel in study.kernels:
        row = [kernel.filter, str(kernel.rank), error_text(kernel), cut_text(kernel)]
        rows.append([*row, kernel.full_rank_form or "–"] if exact else row)
    text = (
        "The kernel K = φ(L) cut to the eigenpairs above, the Frobenius norm of what is cut off, "
        "and the response at the first eigenvalue that is cut off."
    )
    if exact:
        header.append("exact form")
        text += (
            " Here nothing need be cut: all other eigenvalues are equal, so that every kernel is "
            "diagonal plus low rank exactly, in the form named last."
        )
    table = _table(header, rows, numeric=(1, 2, 3))
    return f'<div>{table}\n<p class="soft">{escape(text)}</p></div>'


def _task(study: Study, index: int) -> str:
    task = study.tasks[index]
    name, share = task.largest_class
    caption = f"Target “{task.name}”: {count(len(task.classes))} nodes "
    rows = [
        (f"GCNClassifier, {task.n_labels} labels", percent(task.accuracy)),
        ("the same, averaged over the classes", percent(task.balanced_accuracy)),
        (f"always guessing “{name}”", percent(share)),
    ]
    return (
        f"<div>{_figure(draw_task(study, index), caption + _ring_text())}\n"
        f"{_facts(rows)}\n<p>{escape(task.remark)}</p>"
        f"<pre>{escape(task.selection)}</pre></div>"
    )


def _repeat(studies: Sequence[Study], command: str, seconds: float) -> str:
    packages = ("numpy", "scipy", "finufft", "matplotlib")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    rows = [
        (f"{study.name}: {step}", duration(value))
        for study in studies
        for step, value in study.seconds.items()
    ]
    code = "\n\n".join(study.code.strip() for study in studies)
    code = f"import lowrankgcn as lg\n\n{code}"
    left = (
        f"<div><h3>On the command line</h3>\n<pre><code>{escape(command)}</code></pre>\n"
        f"<h3>In Python</h3>\n<pre><code>{escape(code)}</code></pre></div>"
    )
    right = (
        f"<div><h3>Where the time went</h3>\n{_facts([*rows, ('total', duration(seconds))])}\n"
        f'<p class="soft">Python {escape(platform.python_version())}, {escape(versions)}.</p></div>'
    )
    return f"<section>\n<h2>How to repeat this</h2>\n{_columns(left, right)}\n</section>"


def _plain(value: str | int | float) -> str:
    if isinstance(value, float):
        return number(value) if abs(value) >= 1e-3 else small(value)
    return count(value) if isinstance(value, int) else value


def _columns(*blocks: str) -> str:
    return '<div class="columns">\n' + "\n".join(blocks) + "\n</div>"


def _figure(svg: str, caption: str) -> str:
    return f"<figure>\n{svg}\n<figcaption>{escape(caption)}</figcaption>\n</figure>"


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    inside = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>\n" for name, value in rows
    )
    return f'<div class="wide"><table class="facts">\n{inside}</table></div>'


def _table(
    header: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[int] = ()
) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        inside = "".join(
            f'<{tag} class="number">{escape(cell)}</{tag}>'
            if column in numeric
            else f"<{tag}>{escape(cell)}</{tag}>"
            for column, cell in enumerate(cells)
        )
        return f"<tr>{inside}</tr>\n"

    body = "".join(line("td", row) for row in rows)
    return f'<div class="wide"><table>\n{line("th", header)}{body}</table></div>'

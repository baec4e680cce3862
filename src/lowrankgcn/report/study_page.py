"""The page of studies: graphs from the data to the accuracy, as the paper has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowrankgcn.report import layout
from lowrankgcn.report.figures import draw_filters, draw_points, draw_spectrum
from lowrankgcn.report.marks import legend, marks_of
from lowrankgcn.report.networks import network_table
from lowrankgcn.report.study import Study, Task
from lowrankgcn.report.study_text import cut_text, error_text, spectrum_text
from lowrankgcn.report.text import count, duration, number, percent, small, versions

__all__ = ["render"]


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
    blocks = [layout.note(note), _cards(studies, seconds)]
    blocks += [_study(study) for study in studies]
    blocks.append(_repeat(studies, command, seconds))
    return layout.page(title, subtitle, blocks)


def _cards(studies: Sequence[Study], seconds: float) -> str:
    shown = [
        (
            percent(task.accuracy),
            f"{study.name}, {task.name}: GCNClassifier, "
            f"{task.n_labels} labels for {count(len(task.classes))} rows "
            f"(always “{task.largest_class[0]}”: {percent(task.largest_class[1])})",
        )
        for study in studies
        for task in study.tasks
    ]
    shown.append((duration(seconds), "for everything computed on this page, figures aside"))
    return layout.cards(shown)


def _study(study: Study) -> str:
    rows = layout.table(study.header, study.sample, label="A few rows")
    read = f"{layout.heading('What was read')}\n{rows}"
    known = layout.facts((name, _plain(value)) for name, value in study.facts.items())
    graph = f"{layout.heading('The graph')}\n{known}"
    left = [read, graph]
    if study.points is not None:
        caption = f"The points from the side ({study.point_names[0]}, {study.point_names[1]}), "
        drawn = _draw(study, study.tasks[0], study.points, study.point_names, "points")
        left = [
            f"{read}\n{graph}",
            layout.figure(drawn, caption + _COLOURED, legend=_legend(study, 0)),
        ]
    pairs = study.pairs
    whole = study.spectrum
    eigenvalues = pairs.eigenvalues if whole is None else np.array([value for value, _ in whole])
    spectrum = draw_spectrum(pairs.eigenvalues, pairs.residuals, f"{study.name}-spectrum")
    filters = draw_filters(study.filters, eigenvalues, f"{study.name}-filters")
    return layout.section(
        study.name,
        study.title,
        layout.paragraph(study.source),
        layout.columns(*left),
        layout.heading("Eigenpairs of the Laplacian"),
        layout.columns(layout.figure(spectrum, _spectrum_caption(study)), _eigenvalues(study)),
        layout.heading("Filters and kernels"),
        layout.columns(layout.figure(filters, _filters_caption(study)), _kernels(study)),
        layout.heading("What the few eigenpairs carry"),
        layout.columns(*(_task(study, index) for index in range(len(study.tasks)))),
        *(layout.note(f"Warning: {text}") for text in study.warnings),
    )


_COLOURED = "coloured by class."


def _draw(study: Study, task: Task, points: Any, axes: tuple[str, str], name: str) -> str:
    given = np.zeros(len(task.classes), bool)
    given[task.training] = True
    return draw_points(
        points,
        task.classes,
        given,
        _marks(task),
        axes=axes,
        name=f"{study.name}-{name}",
        title=f"Points of {study.name} by {task.name}",
    )


def _marks(task: Task) -> Any:
    return marks_of(task.class_names, np.bincount(task.classes, minlength=len(task.class_names)))


def _legend(study: Study, index: int) -> str:
    return legend(_marks(study.tasks[index]))


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
    return layout.table(("index", "eigenvalue", "residual"), rows, numeric=(0, 1, 2))


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
    return f"{layout.table(header, rows, numeric=(1, 2, 3))}\n{layout.paragraph(text, soft=True)}"


def _task(study: Study, index: int) -> str:
    task = study.tasks[index]
    name, share = task.largest_class
    caption = f"Target “{task.name}”: {count(len(task.classes))} nodes, {_COLOURED}"
    rows = [
        (f"GCNClassifier, {task.n_labels} labels", percent(task.accuracy)),
        ("the same, averaged over the classes", percent(task.balanced_accuracy)),
        (f"always guessing “{name}”", percent(share)),
    ]
    drawn = _draw(study, task, task.coordinates, task.axis_names, f"task{index}")
    return "\n".join(
        [
            layout.figure(drawn, caption, legend=_legend(study, index)),
            layout.facts(rows),
            layout.paragraph(task.remark),
            network_table(task.selection),
        ]
    )


def _repeat(studies: Sequence[Study], command: str, seconds: float) -> str:
    rows = [
        (f"{study.name}: {step}", duration(value))
        for study in studies
        for step, value in study.seconds.items()
    ]
    code = "\n\n".join(study.code.strip() for study in studies)
    left = [
        layout.heading("On the command line"),
        layout.code(command, wrapped=True),
        layout.heading("In Python"),
        layout.code(f"import lowrankgcn as lg\n\n{code}"),
    ]
    right = [
        layout.heading("Where the time went"),
        layout.facts([*rows, ("total", duration(seconds))], numeric=True),
        layout.paragraph(f"{', '.join(versions())}.", soft=True),
    ]
    return layout.section(
        "repeat", "How to repeat this", layout.columns("\n".join(left), "\n".join(right))
    )


def _plain(value: str | int | float) -> str:
    if isinstance(value, float):
        return number(value) if abs(value) >= 1e-3 else small(value)
    return count(value) if isinstance(value, int) else value

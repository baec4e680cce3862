"""The rows of a classification: those to look at, and a map of all or some of them."""

from __future__ import annotations

from collections.abc import Sequence

from lowrankgcn.report import layout
from lowrankgcn.report.classification import Classification
from lowrankgcn.report.figures import draw_points
from lowrankgcn.report.marks import legend, marks_of
from lowrankgcn.report.table_rows import RowNote
from lowrankgcn.report.text import count, plural, rough, short

__all__ = ["remarkable", "rows_map"]


def remarkable(result: Classification) -> list[str]:
    """Blocks with the least and most certain rows, and those that could not be placed."""
    blocks = []
    if result.least_certain:
        blocks += [
            layout.heading("Least certain"),
            layout.paragraph("Look at these first: a label given by hand tells most here."),
            _row_table(result, result.least_certain, "Least certain rows"),
            layout.heading("Most certain"),
            layout.paragraph("If one of these is wrong, something is wrong with the table."),
            _row_table(result, result.most_certain, "Most certain rows"),
        ]
    if result.n_unplaced:
        some = "" if len(result.unplaced) == result.n_unplaced else " Some of them:"
        text = (
            f"{plural(result.n_unplaced, 'row')} could not be placed: nothing joins "
            f"{'it' if result.n_unplaced == 1 else 'them'} to a labelled row, not even through "
            f"other rows. All classes are equally likely there.{some}"
        )
        blocks += [
            layout.heading("Not placed"),
            layout.paragraph(text),
            _row_table(result, result.unplaced, "Rows that could not be placed"),
        ]
    if result.shown_columns and not set(result.used) <= set(result.shown_columns):
        text = "Rows are counted from 1, the header not counted; only some columns are shown."
    else:
        text = "Rows are counted from 1, the header not counted."
    return [*blocks, layout.paragraph(text, soft=True)]


def _row_table(result: Classification, notes: Sequence[RowNote], label: str) -> str:
    header = ["row"]
    if notes[0].guesses:
        header += ["class", "probability", "or else", "probability"]
    rows = []
    for note in notes:
        row = [count(note.number)]
        for name, probability in note.guesses:
            row += [layout.name(name), rough(probability)]
        rows.append([*row, *(_cell(text) for text in note.cells)])
    numeric = [0, 2, 4] if notes[0].guesses else [0]
    for name in result.shown_columns:
        if result.used.get(name) == "number":
            numeric.append(len(header))
        header.append(layout.name(name))
    return layout.table(header, rows, numeric=numeric, named=True, label=label)


def _cell(text: str) -> str:
    return layout.markup('<span class="soft">empty</span>') if not text else layout.name(text)


def rows_map(result: Classification) -> list[str]:
    """Blocks with the rows as points."""
    embedding = result.embedding
    if embedding is None:
        text = "No eigenvectors were computed, as networks of full rank need none: there is no map."
        return [layout.paragraph(text)]
    counts = [given + put for given, put in zip(result.given, result.predicted, strict=True)]
    marks = marks_of([short(name) or "(empty)" for name in result.classes], counts)
    drawn = draw_points(
        embedding.coordinates,
        embedding.codes,
        embedding.given,
        marks,
        axes=embedding.axes,
        name="map",
        title="Rows as points, by class",
    )
    texts = [
        "Every point is a row. Rows that the graph finds alike lie close together, so classes that "
        "lie apart are easy to tell apart, and those that mix are not.",
        "Colour and shape tell the class; rings mark the rows whose label was given.",
    ]
    if embedding.is_plane:
        texts.append(
            "Directions 1 and 2 are the mixtures of eigenvectors that show the labelled rows of "
            "different classes farthest apart."
        )
    if len(embedding.codes) < embedding.n_rows:
        texts.append(
            f"Drawn are {count(len(embedding.codes))} of the {plural(embedding.n_rows, 'row')}, "
            "chosen at random."
        )
    if result.n_unplaced:
        texts.append("Rows that could not be placed are not drawn.")
    if embedding.n_outside:
        texts.append(
            f"{plural(embedding.n_outside, 'point lies', 'points lie')} far outside and "
            f"{'is' if embedding.n_outside == 1 else 'are'} drawn at the edge."
        )
    figure = layout.figure(drawn, "The spectral embedding of the rows.", legend=legend(marks))
    return [layout.columns(figure, "\n".join(map(layout.paragraph, texts)))]

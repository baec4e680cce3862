"""The page of a classified table: the answer first, then why it may be believed.

It is written for people who have a table and a question, and need no Python.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowrankgcn.report import layout
from lowrankgcn.report.classification import Classification
from lowrankgcn.report.classification_method import computed, repeated
from lowrankgcn.report.figures import draw_histogram, draw_points
from lowrankgcn.report.layout import quoted, sentence
from lowrankgcn.report.marks import legend, marks_of
from lowrankgcn.report.table_rows import RowNote, short
from lowrankgcn.report.text import count, duration, plural, rough

__all__ = ["render_classification"]

_MOST_CLASSES = 100
_MOST_COLUMNS = 100
_ROLES = {"category": "used as categories", "number": "used as numbers", "date": "used as dates"}
_LEFT_OUT = {
    "identifier": "nearly every row has its own value, which names the row and tells no more",
    "constant": "the same value in all rows",
    "empty": "no values",
    "dropped": "as asked for",
}


def render_classification(classification: Classification) -> str:
    """Lay a classification out as a page.

    Parameters
    ----------
    classification : Classification

    Returns
    -------
    str
        A complete HTML document, the same to the byte for the same classification. It is below two
        megabytes however many rows there are.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> classifier = lg.GCNClassifier(random_state=0).fit(X, y)
    >>> page = render_classification(Classification.of(classifier, None, y))
    >>> "<h1><bdi>table: classes of 30 rows</bdi></h1>" in page
    True
    """
    result = classification
    what = "classes" if result.target is None else short(result.target)
    parts = [
        ("answer", "The answer", _answer(result)),
        ("trust", "How far to trust it", _trust(result)),
        ("rows", "Rows to look at", _rows(result)),
        ("map", "Where the rows lie", _map(result)),
        ("read", "What was read", _read(result)),
        ("method", "How it was computed", computed(result)),
        ("repeat", "How to repeat it", repeated(result)),
    ]
    links = layout.navigation((name, title) for name, title, _ in parts)
    return layout.page(
        f"{short(result.source, 60)}: {what} of {plural(result.n_predicted, 'row')}",
        f"A report of {result.versions[0]}",
        [links, *(layout.section(name, title, *blocks) for name, title, blocks in parts)],
    )


def _answer(result: Classification) -> list[str]:
    target = "label" if result.target is None else quoted(short(result.target))
    others = result.n_rows - result.n_given
    given = f"the other {count(others)} were given"
    if result.n_unplaced:
        given = f"{count(result.n_predicted)} of the other {count(others)} were given"
    lead = sentence(
        f"{count(result.n_given)} of the {plural(result.n_rows, 'row')} came with a ",
        target,
        f". From these, {given} one:",
    )
    cards = [(count(result.n_predicted), f"rows classified, from {result.n_given} labelled ones")]
    if result.validation is not None:
        low, high = rough(result.validation.low), rough(result.validation.high)
        text = f"of labels that were hidden came out right; 95 % interval {low} to {high}"
        cards.append((rough(result.validation.accuracy), text))
    if result.n_predicted:
        text = "is the probability in the middle: half of the rows have a higher one"
        cards.append((rough(result.certainty.median), text))
    if result.n_unplaced:
        cards.append((count(result.n_unplaced), "rows could not be placed, see below"))
    cards.append((duration(sum(result.seconds.values())), "for the whole computation"))
    warned = [layout.note(f"Warning: {text}") for text in result.warnings]
    return [layout.paragraph(lead), layout.cards(cards), *warned, _class_table(result)]


def _class_table(result: Classification) -> str:
    order = sorted(range(len(result.classes)), key=lambda code: -result.predicted[code])
    total = max(result.n_predicted, 1)
    rows = [
        (
            _name(result.classes[code]),
            count(result.predicted[code]),
            rough(result.predicted[code] / total),
            count(result.given[code]),
            layout.bar(result.predicted[code] / total),
        )
        for code in order[:_MOST_CLASSES]
    ]
    if len(order) > _MOST_CLASSES:
        rest = order[_MOST_CLASSES:]
        predicted, given = (sum(n[code] for code in rest) for n in (result.predicted, result.given))
        name = plural(len(rest), "other class", "other classes")
        share = predicted / total
        rows.append((name, count(predicted), rough(share), count(given), layout.bar(share)))
    header = ("class", "rows put there", "share", "labels given", "")
    return layout.table(header, rows, numeric=(1, 2, 3), named=True, label="Rows of each class")


def _trust(result: Classification) -> list[str]:
    certainty = result.certainty
    measured = [layout.heading("Labels that were hidden"), *_accuracy(result)]
    blocks = ["\n".join(measured)]
    if certainty.n_rows:
        shares = [
            (f"below {rough(value)}", count(rows), rough(rows / certainty.n_rows))
            for value, rows in certainty.below
        ]
        blocks[0] += "\n".join(
            [
                layout.heading("Rows the model is less sure of"),
                layout.table(("probability", "rows", "share"), shares, numeric=(1, 2), named=True),
            ]
        )
        drawn = draw_histogram(
            certainty.edges,
            certainty.counts,
            name="certainty",
            title="How many rows have which probability of their predicted class",
        )
        caption = (
            "Each row is put into its most likely class. The more rows stand on the right, the "
            "surer the model is; how often it is right, hidden labels tell better."
        )
        blocks.append(layout.figure(drawn, caption))
    return [layout.columns(*blocks)]


def _accuracy(result: Classification) -> list[str]:
    found = result.validation
    if found is None:
        text = (
            "How often the answer is right was not measured. Cross-validation would hide some of "
            "the given labels and see whether they come out right."
        )
        return [layout.paragraph(text)]
    texts = [
        f"Given labels were hidden in turn and predicted from the others: "
        f"{rough(found.accuracy)} of {plural(found.n_rows, 'label')} came out right. "
        f"For further rows like these, expect between {rough(found.low)} and "
        f"{rough(found.high)} (95 % interval); more labels would narrow this down."
    ]
    if found.low <= found.largest_class:
        texts.append(
            f"Beware: always naming the most frequent label would have been right for "
            f"{rough(found.largest_class)}, which lies "
            f"{'within' if found.high > found.largest_class else 'above'} this interval."
        )
    else:
        texts.append(
            f"Always naming the most frequent label would have been right for "
            f"{rough(found.largest_class)}."
        )
    return [layout.paragraph(text) for text in texts]


def _rows(result: Classification) -> list[str]:
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
    if result.shown_columns and len(result.used) + 1 > len(result.shown_columns):
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
            row += [_name(name), rough(probability)]
        rows.append([*row, *(_cell(text) for text in note.cells)])
    numeric = [0, 2, 4] if notes[0].guesses else [0]
    for name in result.shown_columns:
        if result.used.get(name) == "number":
            numeric.append(len(header))
        header.append(_name(name))
    return layout.table(header, rows, numeric=numeric, named=True, label=label)


def _cell(text: str) -> str:
    return layout.markup('<span class="soft">empty</span>') if not text else _name(text)


def _name(text: str) -> str:
    """A name or cell from the data, its direction of writing kept to itself."""
    return layout.markup(f"<bdi>{sentence(short(text) or '(empty)')}</bdi>")


def _map(result: Classification) -> list[str]:
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
        "Directions 1 and 2 are the mixtures of eigenvectors that show the labelled rows of "
        "different classes farthest apart.",
    ]
    if len(embedding.codes) < embedding.n_rows:
        texts.append(
            f"Drawn are {count(len(embedding.codes))} of the {plural(embedding.n_rows, 'row')}, "
            "chosen at random."
        )
    if embedding.n_outside:
        texts.append(
            f"{plural(embedding.n_outside, 'point lies', 'points lie')} far outside and "
            f"{'is' if embedding.n_outside == 1 else 'are'} drawn at the edge."
        )
    figure = layout.figure(drawn, "The spectral embedding of the rows.", legend=legend(marks))
    return [layout.columns(figure, "\n".join(map(layout.paragraph, texts)))]


def _read(result: Classification) -> list[str]:
    rows: list[tuple[str, str]] = [
        ("table", short(result.source, 200)),
        ("rows", count(result.n_rows)),
        ("with a label", count(result.n_given)),
        ("without", count(result.n_rows - result.n_given)),
        ("classes", count(len(result.classes))),
    ]
    if result.target is not None:
        rows.insert(1, ("column of the classes", short(result.target)))
    for role, title in _ROLES.items():
        names = [name for name, own in result.used.items() if own == role]
        if names:
            rows.append((f"{title} ({count(len(names))})", _listed(names)))
    for reason in dict.fromkeys(result.left_out.values()):
        names = [name for name, own in result.left_out.items() if own == reason]
        text = sentence(_listed(names), f" – {_LEFT_OUT.get(reason, reason)}")
        rows.append((f"left out ({count(len(names))})", text))
    return [layout.facts(rows)]


def _listed(names: Sequence[str]) -> str:
    """Names with commas; of very many the first."""
    parts = [part for name in names[:_MOST_COLUMNS] for part in (", ", _name(name))][1:]
    if len(names) > _MOST_COLUMNS:
        parts.append(f" and {count(len(names) - _MOST_COLUMNS)} more")
    return sentence(*parts)

"""The page of a classified table: the answer first, then why it may be believed.

It is written for people who have a table and a question, and need no Python.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowrankgcn.report import layout
from lowrankgcn.report.classification import Classification
from lowrankgcn.report.classification_method import computed, repeated
from lowrankgcn.report.classification_rows import remarkable, rows_map
from lowrankgcn.report.classification_trust import trust
from lowrankgcn.report.layout import sentence
from lowrankgcn.report.text import count, duration, plural, rough, short

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
        ("trust", "How far to trust it", trust(result)),
        ("rows", "Rows to look at", remarkable(result)),
        ("map", "Where the rows lie", rows_map(result)),
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
    target = "the label"
    if result.target is not None:
        target = sentence("“", layout.name(result.target), "”")
    others = result.n_rows - result.n_given
    given = f"the other {count(others)} were given"
    if result.n_unplaced:
        given = f"{count(result.n_predicted)} of the other {count(others)} were given"
    lead = sentence(
        f"In {count(result.n_given)} of {plural(result.n_rows, 'row')} ",
        target,
        f" was filled in; from these, {given} one:",
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
    rows: list[Sequence[str]] = [
        (
            layout.name(result.classes[code]),
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
    parts = [part for name in names[:_MOST_COLUMNS] for part in (", ", layout.name(name))][1:]
    if len(names) > _MOST_COLUMNS:
        parts.append(f" and {count(len(names) - _MOST_COLUMNS)} more")
    return sentence(*parts)

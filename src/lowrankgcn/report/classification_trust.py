"""How far the answer of a classification may be trusted: hidden labels, and its own certainty."""

from __future__ import annotations

from lowrankgcn.estimators import Validation
from lowrankgcn.report import layout
from lowrankgcn.report.classification import Classification
from lowrankgcn.report.figures import draw_histogram
from lowrankgcn.report.text import count, plural, rough

__all__ = ["trust"]

_SQUARE = 8  # classes whose confusions are shown as a square table
_WORST = 10


def trust(result: Classification) -> list[str]:
    """Blocks on accuracy and certainty."""
    certainty = result.certainty
    left = [layout.heading("How often it is right"), *_accuracy(result)]
    if not certainty.n_rows:
        return left
    drawn = draw_histogram(
        certainty.edges,
        certainty.counts,
        name="certainty",
        title="How many rows have which probability of their predicted class",
    )
    caption = (
        "Each row is put into its most likely class. The more rows stand on the right, the surer "
        "the model is; how often it is right, hidden labels tell better."
    )
    shares = [
        (f"below {rough(value)}", count(rows), rough(rows / certainty.n_rows))
        for value, rows in certainty.below
    ]
    header = ("probability", "rows", "share")
    right = [
        layout.heading("How sure it is of itself"),
        layout.figure(drawn, caption),
        layout.table(header, shares, numeric=(1, 2), named=True, label="Less certain rows"),
    ]
    return [layout.columns("\n".join(left), "\n".join(right))]


def _accuracy(result: Classification) -> list[str]:
    found = result.validation
    if found is None:
        text = (
            "How often the answer is right was not measured. Cross-validation would hide some of "
            "the given labels and see whether they come out right"
        ) + (": add --validate to the command." if result.command else ".")
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
    return [*map(layout.paragraph, texts), *_confusions(result, found)]


def _confusions(result: Classification, found: Validation) -> list[str]:
    """Which class was taken for which: a square table for few classes, else the worst cases."""
    times = {(str(own), str(put)): rows for own, put, rows in found.confusions}
    totals = {str(name): rows for name, (_, rows) in found.recalls.items()}
    if len(result.classes) <= _SQUARE:
        header = ["hidden label", *map(layout.name, result.classes)]
        rows = [
            [
                layout.name(own),
                *(_part(times.get((own, put), 0.0), total) for put in result.classes),
            ]
            for own, total in totals.items()
        ]
        text = "What became of the hidden labels of each class:"
        numeric = range(1, len(header))
        label = "Hidden labels and predicted classes"
    else:
        wrong = sorted((-rows, own, put) for (own, put), rows in times.items() if own != put)
        if not wrong:
            return []
        header = ["hidden label", "taken for", "of its labels"]
        rows = [
            [layout.name(own), layout.name(put), _part(-minus, totals[own])]
            for minus, own, put in wrong[:_WORST]
        ]
        text, numeric, label = "The most frequent mistakes:", range(2, 3), "Mistakes"
    return [
        layout.paragraph(text),
        layout.table(header, rows, numeric=numeric, named=True, label=label),
    ]


def _part(rows: float, total: int) -> str:
    return rough(rows / total) if rows else "–"

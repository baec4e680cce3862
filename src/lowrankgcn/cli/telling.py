"""What ``classify`` and ``predict`` tell: a few lines, or one JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import lowrankgcn
from lowrankgcn.cli.answers import Answers
from lowrankgcn.estimators import Validation
from lowrankgcn.report.text import duration, percent

__all__ = ["Told", "class_table", "line", "validation_line"]


@final
@dataclass(frozen=True, eq=False)
class Told:
    """What is worth telling, in the order in which it is told."""

    facts: Mapping[str, str]
    answers: Answers
    notes: Sequence[str]
    files: Mapping[str, str]
    seconds: Mapping[str, float]
    warnings: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)  # for JSON only

    def show(self, console: Console) -> None:
        """Print it."""
        for name, text in self.facts.items():
            line(console, f"{name:<12}{text}")
        for text in self.notes:
            line(console, f"{'note':<12}{text}")
        console.print()
        console.print(class_table(self.answers))
        console.print()
        for name, path in self.files.items():
            line(console, f"{name:<12}{path}")
        steps = ", ".join(f"{name} {duration(taken)}" for name, taken in self.seconds.items())
        line(console, f"{'time':<12}{duration(sum(self.seconds.values()))}: {steps}")

    def document(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "version": lowrankgcn.__version__,
            **self.more,
            "classes": class_counts(self.answers),
            "without_prediction": int((self.answers.codes < 0).sum()),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "files": dict(self.files),
            "seconds": dict(self.seconds),
        }


def line(console: Console, text: str) -> None:
    """Print a line as it is, however long."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def validation_line(validation: Validation) -> str:
    """The cross-validated accuracy."""
    stayed = validation.n_labelled - validation.n_rows
    kept = f" ({stayed} were never hidden, the only ones of their class)" if stayed else ""
    return (
        f"{percent(validation.accuracy)} of {validation.n_rows} hidden labels found{kept}; 95 % "
        f"interval {percent(validation.low)} to {percent(validation.high)}; always naming the "
        f"largest class {percent(validation.largest_class)}"
    )


def class_counts(answers: Answers) -> dict[str, dict[str, Any]]:
    """Given labels, predictions and their mean probability, by class."""
    counts = {}
    asked = answers.asked
    for position, name in enumerate(answers.classes):
        own = answers.codes == position
        found = own & asked
        mean = float(np.mean(answers.probabilities[found])) if found.any() else None
        counts[str(name)] = {
            "given": int((own & ~asked).sum()),
            "predicted": int(found.sum()),
            "mean_probability": mean,
        }
    return counts


def class_table(answers: Answers) -> Table:
    """The counts as a table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("class")
    titles = ["predicted", "mean probability"]
    given = answers.given is not None
    for title in ["given", *titles] if given else titles:
        table.add_column(title, justify="right")
    for name, counts in class_counts(answers).items():
        mean = counts["mean_probability"]
        cells = [str(counts["predicted"]), "–" if mean is None else percent(mean)]
        table.add_row(escape(name), *([str(counts["given"])] if given else []), *cells)
    lost = int((answers.codes < 0).sum())
    if lost:
        table.add_row("[dim]none[/dim]", *(["–"] if given else []), str(lost), "–")
    return table

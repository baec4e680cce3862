"""Counts of classified rows, added up over blocks and printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import empty_text, percent, plural
from lowrankgcn.cli.predictions import DIGITS, Predictions
from lowrankgcn.cli.terminal import Run, name_text
from lowrankgcn.tables.cells import lower_boolean

if TYPE_CHECKING:
    from lowrankgcn.estimators.evidence import Evidence

_SUSPECTS, _MOST_ROWS = 5, 20  # suspicious rows on the console, of classify and of audit


@final
class Tally:
    """Counts of predictions, added up over blocks of rows.

    Attributes
    ----------
    classes : (C,) array of texts
    n_rows : int
    n_labelled : int
        Rows with a given label.
    level : float or None
        That of the sets of classes, if there are any.
    audit : DataFrame or None
        All labelled rows without their own label, see :func:`audit_labels`.
    right, checked : int
        Rows of :meth:`check` that are predicted correctly, and all of them.
    other_labels : Counter
        Labels of these rows that are no class of the model.
    empty : int
        Rows without a label and without any cell.
    unreadable : Counter
        Cells of each column that are not numbers or dates like the others.
    unknown : Counter
        Cells of each column and value that the model was not fitted to.
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self.classes = classes
        self.level: float | None = None
        self.audit: Any = None
        self.n_rows = self.n_labelled = self.right = self.checked = self.empty = 0
        self.other_labels: Counter[str] = Counter()
        self.unreadable: Counter[Any] = Counter()
        self.unknown: Counter[tuple[str, str]] = Counter()
        self._missing = self._single = self._several = self._unsure = 0
        self._given = np.zeros(len(classes), np.intp)
        self._predicted = np.zeros(len(classes), np.intp)
        self._probability = np.zeros(len(classes))

    def merge(self, other: Tally) -> None:
        """Add the counts of other rows."""
        self.level = other.level
        for name, value in vars(other).items():
            if name not in ("classes", "level", "audit"):
                setattr(self, name, getattr(self, name) + value)

    @classmethod
    def of(cls, predictions: Predictions) -> Tally:
        """Count the rows of a whole table."""
        tally = cls(predictions.classes)
        tally.add(predictions)
        tally.audit = predictions.audit
        return tally

    @property
    def unsure(self) -> int | None:
        """Rows without a label that fit no labelled class; None if sets were not asked for."""
        return None if self.level is None else self._unsure

    def add(self, predictions: Predictions) -> None:
        """Count the rows of a block."""
        new, codes = predictions.unlabelled, predictions.codes
        placed, count = new & (codes >= 0), partial(np.bincount, minlength=len(self.classes))
        self.n_rows += len(codes)
        self.n_labelled += int((~new).sum())
        self._missing += int((codes < 0).sum())
        self._given += count(codes[~new])
        self._predicted += count(codes[placed])
        self._probability += count(codes[placed], weights=predictions.probabilities[placed])
        if predictions.level is not None:
            self.level, sizes = predictions.level, predictions.sets[new].sum(axis=1)
            self._single += int((sizes == 1).sum())
            self._several += int((sizes != 1).sum())
            self._unsure += int(predictions.unsure[new].sum())

    def check(self, predictions: Predictions, labels: pd.Series) -> None:
        """Count the rows with one of `labels`, and those among them predicted correctly."""
        classes = np.array([*map(lower_boolean, self.classes), None], dtype=object)
        named = labels.map(lower_boolean)
        right = labels.notna() & (named == classes[predictions.codes])
        self.other_labels.update(labels[labels.notna() & ~named.isin(classes)])
        self.checked += int(labels.notna().sum())
        self.right += int(right.sum())

    def suspects(self) -> list[dict[str, Any]]:
        """Return the suspicious rows, counted from 1, with label and class without the label."""
        if self.audit is None:
            return []
        chosen = self.audit[self.audit["suspect"]].drop(columns="suspect")
        chosen = chosen.assign(row=chosen["row"] + 1).round(DIGITS)
        chosen = chosen.assign(**{name: chosen[name].map(str) for name in ("label", "loo_class")})
        suspects: list[dict[str, Any]] = chosen.to_dict("records")
        return suspects

    def notes(self) -> list[str]:
        """Return notes on cells that are missing because they differ from the others.

        Raises
        ------
        ValueError
            If these are most of a column.
        """
        for name, cells in self.unreadable.items():
            if 2 * cells > self.n_rows:
                got = f"others in {cells} of {self.n_rows} rows"
                raise ValueError(
                    f"column {name!r}: expected numbers or dates as at first, got {got}"
                )
        return [
            f"column {name!r}: {plural(cells, 'cell')} that are not numbers or dates like the "
            "others are read as missing"
            for name, cells in self.unreadable.items()
            if cells
        ]

    def warnings(self) -> list[str]:
        """Return a warning on rows without any cell."""
        return [empty_text(self.empty)] if self.empty else []

    def counts(self) -> dict[str, dict[str, Any]]:
        """Count labels and predictions of each class, with the mean probability."""
        means = self._probability / np.maximum(1, self._predicted)
        columns = self._given.tolist(), self._predicted.tolist(), means.tolist()
        return {
            str(name): {
                "given": given,
                "predicted": predicted,
                "mean_probability": mean if predicted else None,
            }
            for name, given, predicted, mean in zip(self.classes, *columns, strict=True)
        }

    def set_counts(self) -> dict[str, int]:
        """Return how many sets have one class or several, and how many rows fit no class."""
        counts = {"one_class": self._single, "several_classes": self._several}
        return {} if self.level is None else {**counts, "unsure": self._unsure}

    def set_facts(self) -> dict[str, str]:
        """Return how many sets have one class, and how many rows fit no class, as a line."""
        if self.level is None:
            return {}
        total = self._single + self._several
        text = f"{self._single} of {total} rows have one class, {self._several} several; "
        text += f"{self._unsure} fit no labelled class (unsure), up to about 5 % are expected"
        return {f"{100 * self.level:.4g} % sets": text}

    def print_summary(
        self,
        run: Run,
        facts: Mapping[str, str],
        document: Mapping[str, Any],
        evidence: Evidence | None = None,
        cells: Callable[[Any], Any] | None = None,
    ) -> None:
        """Print the result of a command: a few lines, or one JSON document.

        Parameters
        ----------
        run : Run
        facts, document : mappings
            Lines of the text, and entries of the JSON document.
        evidence : Evidence, optional
            Adds the scores of each class.
        cells : callable, optional
            Returns cells of rows as texts, for a table of the suspicious rows.
        """
        counts, missing = self.counts(), self._missing
        scores: dict[str, list[Any]] = {}
        if evidence is not None:
            scores = {**evidence.scores, "recall_interval": evidence.recall_intervals}
        for place, row in enumerate(counts.values()):
            row |= {name: values[place] for name, values in scores.items()}
        if run.as_json:
            results: dict[str, Any] = {"classes": counts, "without_prediction": missing}
            if self.audit is not None:
                results["suspects"] = self.suspects()
            results["notes"] = run.notes
            more = {
                "warnings": run.warnings,
                "files": run.files,
                "seconds": run.seconds | {"total": run.total()},
            }
            run.print_json({**document, **results, **more})
            return
        suspects = self.suspects()
        lines = suspect_lines(suspects, _SUSPECTS if cells is None else 0)
        run.print_facts({**facts, **self.set_facts(), **lines, "note": run.notes})
        header, rows = self._class_table(counts, missing, evidence)
        run.console.print()
        run.print_table(header, rows, range(1, 6), show_edge=False)
        if cells is not None and suspects:
            _print_suspects(run, suspects, cells)
        else:
            run.console.print()
        for name, path in run.files.items():
            run.print_line(f"{name:<12}{path}")
        run.print_times()

    def _class_table(
        self, counts: Mapping[str, Mapping[str, Any]], missing: int, evidence: Evidence | None
    ) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of the table of the classes."""
        columns: dict[str, list[str]] = {"class": [*counts]}
        if self.n_labelled:
            columns["given"] = [str(row["given"]) for row in counts.values()]
        if self.n_labelled < self.n_rows:
            columns["predicted"] = [str(row["predicted"]) for row in counts.values()]
            shares = [percent(row["mean_probability"]) for row in counts.values()]
            columns["mean probability"] = shares
        if evidence is not None:
            columns["recall"] = evidence.recall_texts
            columns["precision"] = [percent(share) for share in evidence.scores["precision"]]
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        if missing:
            none = {"class": "none", "predicted": str(missing)}
            rows.append([none.get(name, "–") for name in columns])
        return [*columns], rows


def _print_suspects(
    run: Run, suspects: Sequence[Mapping[str, Any]], cells: Callable[[Any], Any]
) -> None:
    """Print the first suspicious rows with their cells."""
    first = suspects[:_MOST_ROWS]
    columns = [
        ("row", [str(one["row"]) for one in first]),
        ("label", [one["label"] for one in first]),
        ("probability", [percent(one["label_probability"], 0) for one in first]),
        ("looks like", [one["loo_class"] for one in first]),
        ("probability", [percent(one["loo_probability"], 0) for one in first]),
    ]
    run.print_rows(columns, cells(np.array([one["row"] - 1 for one in first])))
    if more := len(suspects) - len(first):
        run.print_line(f"and {plural(more, 'other')}; --out writes all of them")


def suspect_lines(suspects: Sequence[Mapping[str, Any]], shown: int) -> dict[str, Any]:
    """Return lines on the first suspicious rows, and how many there are."""
    if not shown:
        return {"suspects": f"{plural(len(suspects), 'row')}, whose label may be a mistake"}
    texts = [
        f"row {one['row']}: {name_text(str(one['label']))} "
        f"({percent(one['label_probability'], 0)}), looks like "
        f"{name_text(str(one['loo_class']))} ({percent(one['loo_probability'], 0)})"
        for one in suspects[:shown]
    ]
    if more := suspects[shown:]:
        texts.append(f"and {plural(len(more), 'other')}; lowrankgcn audit lists them")
    return {"suspects": texts} if texts else {}

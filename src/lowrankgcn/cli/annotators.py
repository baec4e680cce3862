"""Labels of several people: how far they agree, and one label for each row.

>>> opinions = {"anna": {0: "oak", 1: "elm", 2: "oak"}, "ben": {0: "oak", 1: "oak", 2: "oak"}}
>>> agreement = compare_people(opinions)
>>> agreement.rows, round(agreement.share, 3), agreement.disputed
(3, 0.667, {1: {'anna': 'elm', 'ben': 'oak'}})
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
import pandas as pd

from lowrankgcn._format import listed, percent, plural
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files.journal import Journal
from lowrankgcn.files.label_studio import (
    Prediction,
    labels_of_tasks,
    predictions_of_tasks,
    read_tasks,
)

_LISTED = 5  # rows in a note


@final
@dataclass(frozen=True)
class Agreement:
    """How far the labels of several people agree.

    Attributes
    ----------
    people : tuple of str
    rows : int
        Rows that at least two of them labelled.
    share : float
        Share of the pairs of labels of one row that are equal.
    kappa : float or None
        The share beyond chance: Cohen's kappa of two people, Fleiss' kappa of more. None if all
        labels are of one class.
    classes : dict from str to float
        Of the pairs with one label of a class, the share in which the other one is the same.
    disputed : dict from row to a dict from person to class
        Rows, counted from 0, whose labels differ and are not settled.
    """

    people: tuple[str, ...]
    rows: int
    share: float
    kappa: float | None
    classes: dict[str, float]
    disputed: dict[int, dict[str, str]]

    @property
    def measure(self) -> str:
        """Name of the kappa."""
        return "Cohen's kappa" if len(self.people) == 2 else "Fleiss' kappa"

    def document(self) -> dict[str, Any]:
        """Return an entry of the JSON document; rows count from 1."""
        disputed = [{"row": row + 1, "labels": given} for row, given in self.disputed.items()]
        return asdict(self) | {"measure": self.measure, "disputed": disputed}

    def notes(self) -> list[str]:
        """Return what the user should know."""
        who = ", ".join(self.people)
        if not self.rows:
            return [f"{who} labelled no row in common, so their agreement is not known"]
        kappa = "not defined" if self.kappa is None else f"{self.kappa:.2f}"
        pairs = sorted(self.classes.items(), key=lambda pair: pair[1])
        least = ", ".join(f"{name!r} {percent(share, 0)}" for name, share in pairs[:_LISTED])
        notes = [
            f"{who} agree in {percent(self.share)} of the labels of {plural(self.rows, 'row')} "
            f"({self.measure} {kappa}); by class, the least first: {least}"
        ]
        if self.disputed:
            rows = listed((row + 1 for row in self.disputed), _LISTED)
            notes.append(
                f"their labels of {plural(len(self.disputed), 'row')} differ ({rows}): the "
                "majority counts, and without one the row has no label; studio with the same "
                "--labels lists these rows to settle them"
            )
        return notes


@final
@dataclass(frozen=True)
class Opinions:
    """The labels in journals and tasks.

    Attributes
    ----------
    labels : dict from row to class
        None removes the label of the table.
    names : str
        Names of the files.
    notes : list of str
    agreement : Agreement or None
        None with fewer than two people.
    imported : dict from row to Prediction
        Predictions in tasks, which are no labels.
    """

    labels: dict[int, str | None]
    names: str
    notes: list[str]
    agreement: Agreement | None
    imported: dict[int, Prediction] = field(default_factory=dict)

    def added_to(self, labels: pd.Series) -> tuple[pd.Series, list[str]]:
        """Return labels with these ones, and notes."""
        rows = list(self.labels)
        new = labels.copy()
        new.iloc[rows] = list(self.labels.values())
        before, after = labels.iloc[rows], new.iloc[rows]
        n_replaced = int(
            (before.notna().to_numpy() & (before.to_numpy() != after.to_numpy())).sum()
        )
        notes = list(self.notes)
        if n_replaced:
            notes.append(f"{self.names} replaces {plural(n_replaced, 'label')} of the table")
        return new, notes


def compare_people(
    opinions: Mapping[str, Mapping[int, str]], settled: Mapping[int, str] | None = None
) -> Agreement:
    """Compare the labels of several people.

    Parameters
    ----------
    opinions : mapping from person to a mapping from row to class
    settled : mapping from row to class, optional
        Rows whose class is decided.
    """
    table = pd.DataFrame({who: pd.Series(given, dtype=object) for who, given in opinions.items()})
    table = table.sort_index()
    several = table[table.notna().sum(axis=1) > 1]
    classes = sorted({name for given in opinions.values() for name in given.values()})
    counts = np.array([(several == name).sum(axis=1) for name in classes], np.float64).T
    differ = several[several.nunique(axis=1) > 1]
    disputed = {
        int(row): {str(who): name for who, name in given.items() if isinstance(name, str)}
        for row, given in differ.to_dict("index").items()
        if row not in (settled or {})
    }
    people = tuple(opinions)
    if not len(several):
        return Agreement(people, 0, 0.0, None, {}, disputed)
    n = counts.sum(axis=1)
    equal, pairs = counts * (counts - 1), counts * (n - 1)[:, None]
    share = float((equal.sum(axis=1) / (n * (n - 1))).mean())
    if len(people) == 2:
        from sklearn.metrics import cohen_kappa_score

        with np.errstate(invalid="ignore", divide="ignore"):
            one_class = (counts.sum(axis=0) > 0).sum() == 1
            kappa = None if one_class else float(cohen_kappa_score(*several.T.to_numpy(str)))
    else:  # Fleiss, for a number of labels that differs between rows
        chance = float(((counts / n[:, None]).mean(axis=0) ** 2).sum())
        kappa = (share - chance) / (1 - chance) if chance < 1 else None
    by_class = {
        name: float(equal[:, k].sum() / pairs[:, k].sum())
        for k, name in enumerate(classes)
        if pairs[:, k].sum()
    }
    return Agreement(people, len(several), share, kappa, by_class, disputed)


def read_opinions(
    paths: list[Path],
    frame: pd.DataFrame,
    target: str,
    key: str | None = None,
    by_position: bool = False,
) -> Opinions:
    """Read journals and tasks of Label Studio.

    A journal is the opinion of one person.

    Parameters
    ----------
    paths : list of Path
    frame : DataFrame
        The table.
    target, key, by_position
        See :class:`lowrankgcn.files.journal.Journal`.
    """
    opinions: dict[str, dict[int, str]] = {}
    removed, settled = dict[int, str | None](), dict[int, str]()
    imported = dict[int, Prediction]()
    notes, names = list[str](), list[str]()
    identifier = key if key in frame.columns else None

    def opinion(who: str, path: Path, given: dict[int, str]) -> None:
        opinions[who if who not in opinions else f"{who} ({path.name})"] = given

    for path in paths:
        if (tasks := read_tasks(path)) is not None:
            with prefix_errors(path.name):
                people, more = labels_of_tasks(tasks, frame, target, identifier)
                predicted = predictions_of_tasks(tasks, frame, target, identifier)
            imported |= predicted
            if predicted:
                count = plural(len(predicted), "prediction")
                more.append(f"{count} are no labels; the studio shows them to confirm")
            for who, labels_of_one in people.items():
                opinion(who, path, labels_of_one)
            notes += [f"{path.name}: {note}" for note in more]
            names.append(path.name)
            continue
        journal = Journal(path, target, frame, key=identifier, by_position=by_position)
        given, authors = dict[int, str | None](), Counter[str]()
        marks: dict[str, set[int]] = {"skipped": set(), "accepted": set(), "note": set()}
        for step in journal.parse(path.read_bytes()):
            given |= dict(step.changes)
            authors.update([step.by] if step.by else [])
            if step.settled:
                settled |= {row: name for row, name in step.changes if name is not None}
            for row, what, value in step.marks:
                (marks[what].add if value is not None else marks[what].discard)(row)
        known = {row: name for row, name in given.items() if name is not None}
        opinion(next(iter(authors)) if len(authors) == 1 else path.name, path, known)
        removed |= {row: None for row, name in given.items() if name is None}
        notes += journal.notes
        names.append(path.name)
        if marks["skipped"]:
            notes.append(f"{path.name}: {plural(len(marks['skipped']), 'row')} skipped, no label")
        if marks["accepted"]:
            count = plural(len(marks["accepted"]), "accepted prediction")
            notes.append(f"{path.name}: {count} are no labels until they are confirmed")
    agreement = compare_people(opinions, settled) if len(opinions) > 1 else None
    labels: dict[int, str | None] = dict(removed)
    for row in {row for given in opinions.values() for row in given}:
        votes = Counter(one[row] for one in opinions.values() if row in one).most_common(2)
        tied = len(votes) == 2 and votes[0][1] == votes[1][1]
        labels[row] = settled.get(row, None if tied else votes[0][0])
    notes += agreement.notes() if agreement else []
    return Opinions(labels, ", ".join(names), notes, agreement, imported)


def holds_opinions(path: Path) -> bool:
    """Return whether a file is a journal or has tasks of Label Studio; pipes are not read."""
    if read_tasks(path) is not None:
        return True
    if not path.is_file():
        return False
    with open(path, "rb") as file, suppress(ValueError, RecursionError):
        first = json.loads(file.readline())
        # The names of the table's columns get an underscore.
        keys = {str(key).rstrip("_") for key in first} if isinstance(first, dict) else set()
        return bool(keys & {"cells", "classes", "written"})
    return False

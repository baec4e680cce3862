"""The state of a session at one moment: labels and marks of the rows, and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.files.journal import Change, Mark
from lowrankgcn.files.label_studio import Prediction
from lowrankgcn.studio.answer import Answer
from lowrankgcn.studio.stopping import Point, added, expected_gain

NO_CLASS = 65535
_SUGGESTED = 10
_AUDIT_EVERY = 4  # one of so many suggestions is a random row, from which accuracy is estimated
_UNCERTAIN = 0.7  # predictions with less than this probability are listed as uncertain
Marks = Mapping[str, Mapping[int, str]]
_NO_MARKS: Marks = {"skipped": {}, "accepted": {}, "note": {}}


@final
@dataclass(frozen=True, eq=False)
class State:
    """Labels and predictions at one moment; methods return the next state.

    A change of labels is first followed by an immediate answer (:meth:`updated`), then by that of a
    fit (:meth:`settled`). Both belong to the version of the labels that they were computed from.

    Attributes
    ----------
    labels : (n,) int array
        Positions in `classes`, −1 without a label.
    classes : tuple of str
        In the order of their first label, unless the user has changed it.
    answer : Answer
        The predictions shown.
    base : Answer
        The last fitted answer, from which immediate answers start.
    version : int
        Grows with every change of labels, marks or predictions.
    label_version, update_version, fit_version, answer_version : int
        Versions of the labels: the newest, those of the last immediate answer, of `base`, and of
        `answer`.
    message : str or None
        Why the last answer could not be computed.
    undo, redo : bool
        Whether there is something to undo or redo.
    order : (n,) int array
        All rows in random order. The first ones without a label are suggested now and then.
    audited : frozenset of int
        Rows that were labelled because of that order.
    pause : int
        Steps since the last audited one.
    marks : mapping from kind to a mapping from row to text
        Rows that were skipped, rows with an accepted prediction, and notes.
    disputed : mapping from row to a mapping from person to class
        Labels of several people that differ and are not settled.
    blind : bool
        Whether predictions of rows without a label are hidden.
    curve : tuple of Point
        The accuracy on random rows, as the labels grew.
    imported : mapping from row to Prediction
        Predictions of another program, shown as long as there are no others.
    """

    labels: NDArray[np.int32]
    classes: tuple[str, ...]
    answer: Answer
    base: Answer
    version: int = 1
    label_version: int = 1
    update_version: int = 0
    fit_version: int = 0
    answer_version: int = 0
    message: str | None = None
    undo: bool = False
    redo: bool = False
    order: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    audited: frozenset[int] = frozenset()
    pause: int = 0
    marks: Marks = field(default_factory=lambda: _NO_MARKS)
    disputed: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    blind: bool = False
    curve: tuple[Point, ...] = ()
    imported: Mapping[int, Prediction] = field(default_factory=dict)

    @classmethod
    def first(cls, names: Sequence[str | None], classes: Iterable[str]) -> State:
        """Return the state before the first answer, with these labels of the rows."""
        classes = tuple(classes)
        codes: dict[str | None, int] = {name: code for code, name in enumerate(classes)}
        labels = np.array([codes.get(name, -1) for name in names], np.int32)
        unanswered = Answer(np.full(len(labels), None))
        order = np.random.default_rng(0).permutation(len(labels))
        return cls(labels, classes, unanswered, unanswered, order=order)

    def labelled(self, changes: Iterable[Change]) -> State:
        """Change labels."""
        labels, classes = self.labels.copy(), list(self.classes)
        for row, name in changes:
            if name is not None and name not in classes:
                classes.append(name)
            labels[row] = -1 if name is None else classes.index(name)
        version = self.version + 1
        state = replace(self, version=version, label_version=version)
        return replace(state, labels=labels, classes=tuple(classes))

    def marked(self, marks: Iterable[Mark]) -> State:
        """Change marks; other rows are suggested when some are skipped."""
        new = {what: dict(rows) for what, rows in self.marks.items()}
        for row, what, value in marks:
            if value is None:
                new[what].pop(row, None)
            else:
                new[what][row] = value
        version = self.version + 1
        skips = new["skipped"].keys() != self.marks["skipped"].keys()
        label_version = version if skips else self.label_version
        return replace(self, version=version, label_version=label_version, marks=new)

    def with_classes(self, classes: Iterable[str]) -> State:
        """Change the order of the classes; those that are gone have no labels any more."""
        classes = tuple(classes)
        places = {name: code for code, name in enumerate(classes)}
        codes = np.array([*(places.get(name, -1) for name in self.classes), -1], np.int32)
        version = self.version + 1
        state = replace(self, version=version, label_version=version)
        return replace(state, labels=codes[self.labels], classes=classes)

    def updated(self, label_version: int, answer: Answer | None, message: str | None) -> State:
        """Show an immediate answer; there is none after a failure or to too many labels."""
        state = replace(self, update_version=label_version, message=message)
        return state if answer is None else state._showing(answer, label_version)

    def settled(self, label_version: int, answer: Answer | None, message: str | None) -> State:
        """Show the answer of a fit; if labels have changed meanwhile, update from this base."""
        base = answer or self.base
        state = replace(self, fit_version=label_version, base=base, message=message)
        if label_version < self.label_version:
            return replace(state, update_version=min(self.update_version, label_version))
        if answer is None:
            return state._showing(self.answer, self.answer_version)
        if answer.accuracy is not None:
            point = Point(int((self.labels >= 0).sum()), **answer.accuracy)
            state = replace(state, curve=added(self.curve, point))
        return state._showing(answer, label_version)

    def _showing(self, answer: Answer, version: int) -> State:
        return replace(self, answer=answer, answer_version=version, version=self.version + 1)

    def needs_update(self) -> bool:
        """Return whether there is no immediate answer to the newest labels."""
        return self.update_version < self.label_version

    def needs_fit(self) -> bool:
        """Return whether the newest labels are to be fitted; their immediate answer comes first."""
        return self.refreshing and not self.needs_update()

    @property
    def refreshing(self) -> bool:
        """Whether a better answer is being computed."""
        return self.fit_version < self.label_version

    def name(self, code: int) -> str | None:
        """Return the name of a class, None for −1."""
        return None if code < 0 else self.classes[code]

    def names(self) -> NDArray[Any]:
        """Return the label of every row, None without one, shape (n,)."""
        return np.array([*self.classes, None], dtype=object)[self.labels]

    def shares(self, row: int) -> list[tuple[str, float]]:
        """Return classes and their probabilities, the largest first."""
        if self.answer.distributions is None or self.hides(row):
            return []
        pairs = zip(self.answer.classes, self.answer.distributions[row].tolist(), strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])

    def hides(self, row: int) -> bool:
        """Return whether the prediction of a row is hidden until the row is labelled."""
        return self.blind and self.labels[row] < 0

    @cached_property
    def answered(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The most probable class of every row and its probability; −1 and zero for none."""
        shares = self.answer.distributions
        known = {name: code for code, name in enumerate(self.classes)}
        if shares is None:
            codes, sure = np.full(len(self.labels), -1, np.int32), np.zeros(len(self.labels))
            for row, (name, score, _) in self.imported.items():
                codes[row], sure[row] = known.get(name, -1), score or 0.0
            return codes, sure
        places = np.array([known.get(name, -1) for name in self.answer.classes], np.int32)
        codes = np.where(np.ptp(shares, axis=1) > 0, places[shares.argmax(axis=1)], -1)
        return codes.astype(np.int32), np.where(codes >= 0, shares.max(axis=1), 0.0)

    def prediction(self, row: int) -> Prediction | None:
        """Return the prediction of a row; that of another program if there are no others."""
        if self.answer.distributions is None:
            return self.imported.get(row)
        code, share = (values[row] for values in self.answered)
        return None if code < 0 else Prediction(self.classes[code], float(share), "lowrankgcn")

    @cached_property
    def accepted(self) -> NDArray[np.int32]:
        """Accepted class of every row, −1 without one, shape (n,)."""
        known = {name: code for code, name in enumerate(self.classes)}
        codes = np.full(len(self.labels), -1, np.int32)
        rows = self.marks["accepted"]
        codes[list(rows)] = [known.get(name, -1) for name in rows.values()]
        return codes

    @cached_property
    def predicted(self) -> NDArray[np.int32]:
        """Class of every row: label, accepted class, or prediction; −1 for none, shape (n,)."""
        known = self.labels >= 0
        if self.blind:
            return self.labels
        codes = np.where(self.accepted >= 0, self.accepted, self.answered[0])
        return np.where(known, self.labels, codes).astype(np.int32)

    @cached_property
    def certainty(self) -> NDArray[np.float64]:
        """Probability of the class of every row: one for labels, zero for none, shape (n,)."""
        known = self.labels >= 0
        if self.blind:
            return known.astype(np.float64)
        return np.where(known, 1.0, np.where(self.predicted >= 0, self.answered[1], 0.0))

    @cached_property
    def open(self) -> NDArray[np.bool_]:
        """Whether a row has neither a label nor a mark that takes its place, shape (n,)."""
        free = self.labels < 0
        free[list(self.marks["skipped"])] = False
        free[list(self.marks["accepted"])] = False
        return free

    def sure(self, above: float) -> NDArray[np.intp]:
        """Return the open rows whose prediction has at least a probability."""
        return np.flatnonzero(self.open & (self.answered[0] >= 0) & (self.answered[1] >= above))

    def suspects(self) -> list[tuple[int, str, float]]:
        """Return rows whose label may be wrong, with the class that is predicted without it."""
        return [
            (row, name, share)
            for row, given, name, share in self.answer.suspects
            if self.name(self.labels[row]) == given
        ]

    def matching(self, shown: str) -> NDArray[np.bool_]:
        """Return which rows a filter shows, shape (n,).

        Parameters
        ----------
        shown : str
            One of :meth:`filters`, ``class:NAME``, or empty for all rows.
        """
        n = len(self.labels)
        kind, _, name = shown.partition(":")
        if kind == "class" and name in self.classes:
            of_class: NDArray[np.bool_] = self.predicted == self.classes.index(name)
            return of_class
        rows: Iterable[int]
        match shown:
            case "":
                return np.ones(n, bool)
            case "open":
                return self.open
            case "labelled":
                return self.labels >= 0
            case "uncertain":
                return self.open & (self.predicted >= 0) & (self.certainty < _UNCERTAIN)
            case "suspect":
                rows = [row for row, _, _ in self.suspects()]
            case "skipped" | "accepted" | "note":
                rows = self.marks[shown]
            case "disputed":
                rows = self.disputed
            case "differs":
                codes, _ = self.answered
                rows = [] if self.blind else self.imported
                rows = [k for k in rows if self.imported[k].name != self.name(codes[k])]
            case _:
                raise invalid("show", "a filter or a class", repr(shown[:50]))
        chosen = np.zeros(n, bool)
        chosen[list(rows)] = True
        return chosen

    def filters(self) -> dict[str, int]:
        """Return the filters and how many rows they show."""
        names = "open labelled uncertain suspect skipped accepted note disputed differs"
        return {name: int(self.matching(name).sum()) for name in names.split()}

    @cached_property
    def audits(self) -> list[int]:
        """The next rows to label that are drawn at random from those without a label."""
        skipped = self.marks["skipped"]
        known = int((self.labels >= 0).sum()) + len(skipped)
        some = self.order[: known + _SUGGESTED]
        free = [row for row in some[self.labels[some] < 0].tolist() if row not in skipped]
        return free[: _SUGGESTED // _AUDIT_EVERY + 1]

    def suggestions(self) -> list[int]:
        """Return the rows to label next; every fourth one is drawn at random."""
        rows = [row for row in self.answer.suggestions if self.open[row] and row not in self.audits]
        first = max(0, _AUDIT_EVERY - 1 - self.pause)
        for k, row in enumerate(self.audits):
            rows.insert(first + k * _AUDIT_EVERY, row)
        return rows[:_SUGGESTED]

    def describe(self) -> dict[str, Any]:
        """Return the state without its rows."""
        known, size = self.labels >= 0, len(self.classes)
        counts = zip(
            self.classes,
            np.bincount(self.labels[known], minlength=size).tolist(),
            np.bincount(self.predicted[~known] + 1, minlength=size + 1)[1:].tolist(),
            strict=True,
        )
        fields = ("version", "undo", "redo", "refreshing", "message", "blind")
        return {
            **{name: getattr(self, name) for name in fields},
            "fitted": self.answer_version,
            "classes": [{"name": c, "labelled": m, "predicted": n} for c, m, n in counts],
            "labelled": int(known.sum()),
            "accuracy": self.answer.accuracy,
            "audited": int(known[list(self.audited)].sum()),
            "suggestions": self.suggestions(),
            "random": self.audits,
            "filters": self.filters(),
            "curve": [point._asdict() for point in self.curve],
            "gain": expected_gain(self.curve),
        }

    def packed(self) -> bytes:
        """Return version, codes, certainties and flags of all rows as bytes."""
        codes = np.where(self.predicted < 0, NO_CLASS, self.predicted)
        head = np.array([self.version, len(codes)], "<u4")
        certainty = np.rint(255 * self.certainty).astype(np.uint8)
        flags = (self.labels >= 0).astype(np.uint8)
        for bit, what in ((2, "skipped"), (4, "accepted"), (8, "note")):
            flags[list(self.marks[what])] |= bit
        parts = head, codes.astype("<u2"), certainty, flags
        return b"".join(part.tobytes() for part in parts)

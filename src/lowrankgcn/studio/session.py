"""A session: labels of a table, their history, and the answers that follow from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.studio.answer import Answer
from lowrankgcn.studio.journal import Change, Journal, Step

if TYPE_CHECKING:
    from lowrankgcn.studio.engine import Engine

NO_CLASS = 65535
_MOST_CLASSES = 1000
_LONGEST_NAME = 1000
_SUGGESTED = 10
_AUDIT_EVERY = 4  # one of so many suggestions is a random row, from which accuracy is estimated


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
        In the order of their first label.
    answer : Answer
        The predictions shown.
    base : Answer
        The last fitted answer, from which immediate answers start.
    version : int
        Grows with every change of labels or predictions.
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
        if self.answer.distributions is None:
            return []
        pairs = zip(self.answer.classes, self.answer.distributions[row].tolist(), strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])

    @cached_property
    def predicted(self) -> NDArray[np.int32]:
        """Class of every row, its label if it has one, −1 for none, shape (n,)."""
        shares = self.answer.distributions
        if shares is None:
            return self.labels
        places = np.array([self.classes.index(name) for name in self.answer.classes], np.int32)
        probable = np.where(np.ptp(shares, axis=1) > 0, places[shares.argmax(axis=1)], -1)
        return np.where(self.labels >= 0, self.labels, probable).astype(np.int32)

    @cached_property
    def certainty(self) -> NDArray[np.float64]:
        """Probability of the class of every row: one for labels, zero for none, shape (n,)."""
        shares = self.answer.distributions
        top = 0.0 if shares is None else shares.max(axis=1)
        return np.where(self.labels >= 0, 1.0, np.where(self.predicted >= 0, top, 0.0))

    @cached_property
    def audits(self) -> list[int]:
        """The next rows to label that are drawn at random from those without a label."""
        known = int((self.labels >= 0).sum())
        some = self.order[: known + _SUGGESTED]
        return list(some[self.labels[some] < 0][: _SUGGESTED // _AUDIT_EVERY + 1].tolist())

    def suggestions(self) -> list[int]:
        """Return the rows to label next; every fourth one is drawn at random."""
        rows = [
            row
            for row in self.answer.suggestions
            if self.labels[row] < 0 and row not in self.audits
        ]
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
        fields = ("version", "undo", "redo", "refreshing", "message")
        return {
            **{name: getattr(self, name) for name in fields},
            "fitted": self.answer_version,
            "classes": [{"name": c, "labelled": m, "predicted": n} for c, m, n in counts],
            "labelled": int(known.sum()),
            "accuracy": self.answer.accuracy,
            "audited": int(known[list(self.audited)].sum()),
            "suggestions": self.suggestions(),
            "random": self.audits,
        }

    def packed(self) -> bytes:
        """Return version, codes, certainties and flags of all rows as bytes."""
        codes = np.where(self.predicted < 0, NO_CLASS, self.predicted)
        head = np.array([self.version, len(codes)], "<u4")
        certainty = np.rint(255 * self.certainty).astype(np.uint8)
        flags = (self.labels >= 0).astype(np.uint8)
        parts = head, codes.astype("<u2"), certainty, flags
        return b"".join(part.tobytes() for part in parts)


@final
class Session:
    """Labels with undo and redo, and threads that keep the predictions up to date.

    Parameters
    ----------
    labels : sequence of str or None
        Labels of the table.
    journal : Journal
        Its labels replace those of the table.
    engine : Engine

    Attributes
    ----------
    state : State
        Replaced as a whole after every change.
    """

    def __init__(self, labels: Sequence[str | None], journal: Journal, engine: Engine) -> None:
        self._journal = journal
        self._changed = threading.Condition()
        self._undo: list[Step] = []  # the way back of each step
        self._redo: list[Step] = []
        names, classes = list(labels), sorted({name for name in labels if name is not None})
        audited = set[int]()
        for step in journal.read():
            audited |= {row for row, _ in step.changes if step.audited}
            self._remember(step, [(row, names[row]) for row, _ in step.changes])
            for row, name in step.changes:
                names[row] = name
                classes += [] if name is None else [name]
        self.notes = journal.notes
        state = State.first(names, dict.fromkeys(classes))
        with self._changed:
            self._publish(replace(state, audited=frozenset(audited)))
        for steps in (
            (State.needs_update, lambda s: engine.update(s.base, s.names()), State.updated),
            (State.needs_fit, lambda s: engine.settle(s.names(), s.audited), State.settled),
        ):
            threading.Thread(target=self._answer, args=steps, daemon=True, name="studio").start()

    def label(self, rows: Sequence[int], name: str | None) -> int:
        """Label rows, or remove their labels; return the new version.

        Raises
        ------
        ValueError
            If a row does not exist, or the name cannot be a class.
        OSError
            If the journal cannot be written; nothing has changed.
        """
        n = len(self.state.labels)
        for row in rows:
            if type(row) is not int or not 0 <= row < n:
                raise invalid("rows", f"row numbers from 0 to {n - 1}", repr(row))
        with self._changed:
            if name is not None and name not in self.state.classes:
                name = _checked_name(name)  # classes of the table have any name
                if len({*self.state.classes, name}) > _MOST_CLASSES:
                    raise invalid("class", f"at most {_MOST_CLASSES} classes", "one more")
            changes = [(row, name) for row in dict.fromkeys(rows)]
            drawn = name is not None and len(changes) == 1 and changes[0][0] in self.state.audits
            return self._record(Step(changes, audited=drawn))

    def undo(self) -> int:
        """Take back the last change; return the new version."""
        return self._step("undo", self._undo)

    def redo(self) -> int:
        """Repeat the change that was taken back last; return the new version."""
        return self._step("redo", self._redo)

    def _step(self, kind: Literal["undo", "redo"], history: list[Step]) -> int:
        with self._changed:
            if not history:
                return self.state.version
            return self._record(Step(history[-1].changes, kind))

    def _record(self, step: Step) -> int:
        """Write a step to the journal and show its state; return the version."""
        names = {row: self.state.name(self.state.labels[row]) for row, _ in step.changes}
        step = step._replace(changes=[(r, name) for r, name in step.changes if names[r] != name])
        if not step.changes:
            return self.state.version
        self._journal.append(step)
        self._remember(step, [(row, names[row]) for row, _ in step.changes])
        state = self.state.labelled(step.changes)
        if step.audited:
            state = replace(state, audited=state.audited | {row for row, _ in step.changes})
        return self._publish(state)

    def _remember(self, step: Step, back: list[Change]) -> None:
        """Keep the way back of a step; a journal may have lost the step that is undone."""
        source, target = self._undo, self._redo
        if step.kind == "redo":
            source, target = target, source
        if step.kind == "label" or not source:
            self._undo.append(step._replace(changes=back))
            self._redo.clear()
        else:
            target.append(source.pop()._replace(changes=back))

    def _publish(self, state: State) -> int:
        """Show a state; return its version."""
        steps = reversed(self._undo)
        pause = next((k for k, step in enumerate(steps) if step.audited), len(self._undo))
        undo, redo = bool(self._undo), bool(self._redo)
        self.state = replace(state, undo=undo, redo=redo, pause=pause)
        self._changed.notify_all()
        return state.version

    def _answer(
        self, needed: Callable[[State], bool], compute: Any, show: Callable[..., State]
    ) -> None:
        """Compute answers whenever they are needed; the page shows the message of a failure."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: needed(self.state))
                state = self.state
            answer, message = None, None
            try:
                answer = compute(state)
            except Exception as error:
                message = f"{type(error).__name__}: {error}"
            with self._changed:
                self._publish(show(self.state, state.label_version, answer, message))

    def settled(self) -> State:
        """Wait until the answer belongs to the labels, and return both."""
        with self._changed:
            self._changed.wait_for(lambda: not self.state.refreshing)
            return self.state


def _checked_name(name: Any) -> str:
    """Return a class name without blanks around it."""
    text = name.strip() if isinstance(name, str) else ""
    if not text or len(text) > _LONGEST_NAME or not text.isprintable():
        expected = f"a name of 1 to {_LONGEST_NAME} printable characters, or null"
        raise invalid("class", expected, repr(name)[:100])
    return text

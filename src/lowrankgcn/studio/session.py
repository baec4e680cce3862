"""A session: labels of a table, their history, and the answers that follow from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid
from lowrankgcn.studio.engine import Answer, Engine
from lowrankgcn.studio.journal import Change, Journal

NO_CLASS = 65535
_MOST_CLASSES = 1000
_LONGEST_NAME = 1000


@final
@dataclass(frozen=True, eq=False)
class State:
    """Labels and predictions at one moment.

    Attributes
    ----------
    version : int
        Grows with every change of labels or predictions.
    classes : tuple of str
        In the order of their first label.
    labels : (n,) int array
        Positions in `classes`, −1 without a label.
    answer : Answer
    fitted : int
        Version of the labels that the answer takes into account.
    refreshing : bool
        Whether a better answer is being computed.
    undo, redo : bool
        Whether there is something to undo or redo.
    message : str or None
    """

    version: int
    classes: tuple[str, ...]
    labels: NDArray[np.int32]
    answer: Answer
    fitted: int
    refreshing: bool
    undo: bool
    redo: bool
    message: str | None

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
        found = np.where(np.ptp(shares, axis=1) > 0, places[shares.argmax(axis=1)], -1)
        return np.where(self.labels >= 0, self.labels, found).astype(np.int32)

    @cached_property
    def certainty(self) -> NDArray[np.float64]:
        """Probability of the class of every row: one for labels, zero for none, shape (n,)."""
        shares = self.answer.distributions
        top = 0.0 if shares is None else shares.max(axis=1)
        return np.where(self.labels >= 0, 1.0, np.where(self.predicted >= 0, top, 0.0))

    def describe(self) -> dict[str, Any]:
        """Return the state without its rows."""
        known = self.labels >= 0
        size = len(self.classes) + 1
        labelled = np.bincount(self.labels[known], minlength=size)
        predicted = np.bincount(self.predicted[~known] + 1, minlength=size)[1:]
        classes = [
            {"name": name, "labelled": int(labelled[k]), "predicted": int(predicted[k])}
            for k, name in enumerate(self.classes)
        ]
        free = [row for row in self.answer.suggestions if self.labels[row] < 0]
        return {
            "version": self.version,
            "fitted": self.fitted,
            "classes": classes,
            "labelled": int(known.sum()),
            "accuracy": self.answer.accuracy,
            "suggestions": free,
            "undo": self.undo,
            "redo": self.redo,
            "refreshing": self.refreshing,
            "message": self.message,
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
    """Labels with undo and redo, and a thread that keeps the predictions up to date.

    Parameters
    ----------
    labels : sequence of str or None
        Labels of the table.
    journal : Journal
        Its labels replace those of the table.
    engine : Engine
    """

    def __init__(self, labels: Sequence[str | None], journal: Journal, engine: Engine) -> None:
        self._journal, self._engine = journal, engine
        self._lock = threading.Condition()  # of all that follows; notified of every change
        self._listeners: set[Callable[[], None]] = set()
        self._classes = sorted({name for name in labels if name is not None})
        index: dict[str | None, int] = {name: k for k, name in enumerate(self._classes)}
        self._labels = np.array([index.get(name, -1) for name in labels], np.int32)
        self._undo: list[list[Change]] = []
        self._redo: list[list[Change]] = []
        for changes in journal.read():
            self._undo.append(self._apply(changes, self._labels))
        self.notes = journal.notes
        self._version = 1
        self._failure: str | None = None
        self._answer = self._base = Answer(np.full(len(labels), None))
        # Versions of the labels: the newest, those of the answer shown, those of the base.
        self._wanted, self._shown, self._settled = 1, 0, 0
        self._fitted = 0  # labels that the answer takes into account
        with self._lock:
            self._publish()
        for work in (self._update, self._settle):
            threading.Thread(target=work, daemon=True, name="studio").start()

    def label(self, rows: Sequence[int], name: str | None) -> int:
        """Label rows, or remove their labels; return the new version.

        Raises
        ------
        ValueError
            If a row does not exist, or the name cannot be a class.
        OSError
            If the journal cannot be written; nothing has changed.
        """
        n = len(self._labels)
        for row in rows:
            if type(row) is not int or not 0 <= row < n:
                raise invalid("rows", f"row numbers from 0 to {n - 1}", repr(row))
        if name is not None and name not in self._classes:  # classes of the table have any name
            name = _checked_name(name)
        with self._lock:
            if name is not None and len({*self._classes, name}) > _MOST_CLASSES:
                raise invalid("class", f"at most {_MOST_CLASSES} classes", "one more")
            return self._change([(row, name) for row in dict.fromkeys(rows)], self._undo, new=True)

    def undo(self) -> int:
        """Take back the last change; return the new version."""
        return self._step(self._undo, self._redo)

    def redo(self) -> int:
        """Repeat the change that was taken back last; return the new version."""
        return self._step(self._redo, self._undo)

    def _step(self, source: list[list[Change]], target: list[list[Change]]) -> int:
        with self._lock:
            if not source:
                return self._version
            changes = source.pop()
            try:
                return self._change(changes, target)
            except OSError:
                source.append(changes)
                raise

    def _change(
        self, changes: list[Change], history: list[list[Change]], *, new: bool = False
    ) -> int:
        """Write changes to the journal, apply them and keep the way back in a history."""
        changes = [(row, name) for row, name in changes if self._name(row) != name]
        if not changes:
            return self._version
        self._journal.append(changes)
        labels = self._labels.copy()  # published states keep theirs
        history.append(self._apply(changes, labels))
        self._labels = labels
        if new:
            self._redo.clear()
        self._version += 1
        self._wanted = self._version
        self._publish()
        return self._version

    def _apply(self, changes: list[Change], labels: NDArray[np.int32]) -> list[Change]:
        """Apply changes to labels; return those that take them back."""
        before = [(row, self._name(row)) for row, _ in changes]
        for row, name in changes:
            if name is not None and name not in self._classes:
                self._classes.append(name)
            labels[row] = -1 if name is None else self._classes.index(name)
        return before

    def _name(self, row: int) -> str | None:
        code = self._labels[row]
        return None if code < 0 else self._classes[code]

    def _publish(self) -> None:
        self.state = State(
            self._version,
            tuple(self._classes),
            self._labels,
            self._answer,
            self._fitted,
            self._settled < self._wanted,
            bool(self._undo),
            bool(self._redo),
            self._failure,
        )
        self._lock.notify_all()
        for listener in tuple(self._listeners):
            listener()

    def _update(self) -> None:
        """Show an immediate answer after every change of the labels."""
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._shown < self._wanted)
                wanted, base, labels = self._wanted, self._base, self._names()
            answer, failure = _attempt(self._engine.update, base, labels)
            with self._lock:
                if self._settled < wanted:
                    self._shown, self._failure = wanted, failure
                    self._lock.notify_all()
                    if answer is not None:
                        self._show(answer, wanted)

    def _settle(self) -> None:
        """Replace immediate answers by fitted ones."""
        while True:
            with self._lock:
                # The immediate answer first: both need the processor.
                self._lock.wait_for(lambda: self._settled < self._wanted == self._shown)
                wanted, labels = self._wanted, self._names()
            answer, failure = _attempt(self._engine.settle, labels)
            with self._lock:
                self._settled, self._failure = wanted, failure
                self._base = answer or self._base
                if wanted == self._wanted:
                    self._show(answer or self._answer, wanted if answer else self._fitted)
                else:  # labels have changed: update from the new base
                    self._shown = min(self._shown, wanted)
                    self._lock.notify_all()

    def _show(self, answer: Answer, fitted: int) -> None:
        self._answer, self._fitted = answer, fitted
        self._version += 1
        self._publish()

    def labels(self) -> NDArray[Any]:
        """Return the label of every row, None without one."""
        with self._lock:
            return self._names()

    def _names(self) -> NDArray[Any]:
        return np.array([*self._classes, None], dtype=object)[self._labels]

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call a function after every change, in any thread; return how to stop that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    def settled(self) -> State:
        """Wait until the answer belongs to the labels, and return both."""
        with self._lock:
            self._lock.wait_for(lambda: self._settled == self._wanted)
            return self.state


def _checked_name(name: Any) -> str:
    """Return a class name without blanks around it."""
    text = name.strip() if isinstance(name, str) else ""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = ""
    if not text or len(text) > _LONGEST_NAME or not text.isprintable():
        expected = f"a name of 1 to {_LONGEST_NAME} printable characters, or null"
        raise invalid("class", expected, repr(name)[:100])
    return text


def _attempt(
    function: Callable[..., Answer | None], *arguments: Any
) -> tuple[Answer | None, str | None]:
    """Compute an answer, or say why it failed; the page shows that, and the labels are safe."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"

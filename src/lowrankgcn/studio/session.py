"""A session: labels of a table, their history, and the answers that follow from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, final

from lowrankgcn._validation import invalid, is_unicode
from lowrankgcn.files.journal import Change, Journal, Mark, Step, What
from lowrankgcn.files.label_studio import Prediction
from lowrankgcn.studio.state import State

if TYPE_CHECKING:
    from lowrankgcn.studio.engine import Engine

_MOST_CLASSES = 1000
_LONGEST_NAME = 1000
_LONGEST_NOTE = 10_000
_REPLACED: tuple[What, ...] = ("skipped", "accepted")  # marks that a label takes back
_LEAST_SURE = 0.5  # accepted predictions are at least this probable


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
    classes : sequence of str
        Classes that are there from the beginning, in their order.
    annotator : str, optional
        Who labels, unless a change names somebody else.
    blind : bool
        Whether predictions of rows without a label are hidden.
    disputed : mapping from row to a mapping from person to class
        Labels of several people that differ.
    imported : mapping from row to Prediction
        Predictions of another program.

    Attributes
    ----------
    annotator : str or None
    state : State
        Replaced as a whole after every change.
    """

    def __init__(
        self,
        labels: Sequence[str | None],
        journal: Journal,
        engine: Engine,
        *,
        classes: Sequence[str] = (),
        annotator: str | None = None,
        blind: bool = False,
        disputed: Mapping[int, Mapping[str, str]] | None = None,
        imported: Mapping[int, Prediction] | None = None,
    ) -> None:
        self.journal, self.annotator = journal, annotator
        self._changed = threading.Condition()
        self._undo: list[Step] = []  # the way back of each step
        self._redo: list[Step] = []
        self._history: list[Step] = []
        self._all_disputed = dict(disputed or {})
        self._browser, self._shared = "", False
        known = sorted({name for name in labels if name is not None})
        others = sorted({prediction.name for prediction in (imported or {}).values()})
        state = State.first(labels, dict.fromkeys([*classes, *known, *others]))
        state = replace(state, blind=blind, disputed=self._all_disputed, imported=imported or {})
        for step in journal.read():
            self._remember(step, _back(state, step))
            state = self._after(state, step)
        missing = [name for name in classes if name not in state.classes]
        state = replace(state, classes=(*state.classes, *missing), version=1, label_version=1)
        self.notes = journal.notes
        with self._changed:
            self._publish(state)
        for steps in (
            (State.needs_update, lambda s: engine.update(s.base, s.names()), State.updated),
            (
                State.needs_fit,
                lambda s: engine.settle(s.names(), s.audited, s.marks["skipped"]),
                State.settled,
            ),
        ):
            threading.Thread(target=self._answer, args=steps, daemon=True, name="studio").start()

    def label(self, rows: Sequence[int], name: str | None, by: str | None = None) -> int:
        """Label rows, or remove their labels and what else replaces a label; return the version.

        Raises
        ------
        ValueError
            If a row does not exist, or the name cannot be a class.
        OSError
            If the journal cannot be written; nothing has changed.
        """
        rows = self._checked(rows)
        with self._changed:
            if name is not None:
                name = self._checked_class(name)
            return self._record(self._labelling([(row, name) for row in rows], by))

    def confirm(self, rows: Sequence[int], by: str | None = None) -> int:
        """Label rows with their accepted or predicted classes; return the version."""
        rows = self._checked(rows)
        with self._changed:
            state = self.state
            names = [(row, state.name(state.predicted[row])) for row in rows]
            changes: list[Change] = [(row, name) for row, name in names if name is not None]
            return self._record(self._labelling(changes, by))

    def skip(self, rows: Sequence[int], skipped: bool = True, by: str | None = None) -> int:
        """Remember that the class of rows is not known; return the version."""
        rows, value = self._checked(rows), "true" if skipped else None
        marks = [Mark(row, "skipped", value) for row in rows]
        marks += [Mark(row, "accepted", None) for row in rows if skipped]
        changes: list[Change] = [(row, None) for row in rows if skipped]
        with self._changed:
            return self._record(Step(changes, marks=marks, by=self._person(by)))

    def annotate(self, row: int, text: str, by: str | None = None) -> int:
        """Write a note on a row, or remove it; return the version."""
        (row,) = self._checked([row])
        if not isinstance(text, str) or len(text) > _LONGEST_NOTE or not is_unicode(text):
            raise invalid("note", f"a text of at most {_LONGEST_NOTE} characters", repr(text)[:50])
        with self._changed:
            mark = Mark(row, "note", text.strip() or None)
            return self._record(Step([], marks=[mark], by=self._person(by)))

    def accept(self, above: float, by: str | None = None) -> tuple[int, int]:
        """Accept the predictions of the open rows above a probability as labels of the machine.

        They are no training data. Return the version, and the number of rows.
        """
        with self._changed:
            state = self.state
            if type(above) not in (int, float) or not _LEAST_SURE <= above <= 1:
                raise invalid("above", f"a probability from {_LEAST_SURE} to 1", repr(above)[:20])
            if state.blind:
                raise ValueError("predictions are hidden (--blind), so they cannot be accepted")
            rows, codes = state.sure(above), state.answered[0]
            marks = [Mark(row, "accepted", state.name(codes[row])) for row in rows.tolist()]
            return self._record(Step([], marks=marks, by=self._person(by))), len(marks)

    def revise(
        self, order: Sequence[str], renamed: Mapping[str, str | None], by: str | None = None
    ) -> int:
        """Change the classes; return the version.

        Parameters
        ----------
        order : sequence of str
            All classes from now on, in the order of their keys.
        renamed : mapping from str to str or None
            New names of classes. Two classes with the same new name become one; None deletes a
            class and its labels.
        by : str, optional
            Who does it.
        """
        with self._changed:
            state = self.state
            texts = isinstance(order, list) and isinstance(renamed, dict)
            if not (texts and all(isinstance(t, str | None) for t in [*order, *renamed.values()])):
                raise ValueError("expected a list of classes and an object of new names")
            order = [name if name in state.classes else _checked_name(name) for name in order]
            kept = [renamed.get(name, name) for name in state.classes]
            missing = {name for name in kept if name is not None} - set(order)
            unknown = set(renamed) - set(state.classes)
            if missing or unknown or len(set(order)) < len(order) or len(order) > _MOST_CLASSES:
                raise ValueError(f"expected each of at most {_MOST_CLASSES} classes once")
            names = enumerate(state.names().tolist())
            changes = [(row, renamed[name]) for row, name in names if name in renamed]
            accepted = state.marks["accepted"].items()
            marks = [Mark(row, "accepted", renamed[n]) for row, n in accepted if n in renamed]
            step = Step(changes, marks=marks, classes=tuple(order), by=self._person(by))
            return self._record(step)

    def undo(self, by: str | None = None) -> int:
        """Take back the last change; return the new version."""
        return self._step("undo", self._undo, by)

    def redo(self, by: str | None = None) -> int:
        """Repeat the change that was taken back last; return the new version."""
        return self._step("redo", self._redo, by)

    def meet(self, browser: str) -> None:
        """Remember that a browser shows the page."""
        self._shared |= "" not in (browser, self._browser) and browser != self._browser
        self._browser = self._browser or browser

    @property
    def several(self) -> bool:
        """Whether several people may share this studio, so that each is asked for a name."""
        named = any(step.by not in (None, self.annotator) for step in self._history)
        return self.annotator is None and (self._shared or named)

    def remember_file(self, name: str, digest: str) -> None:
        """Remember that a file was written, so that this studio or a later one may replace it."""
        with self._changed:
            self.journal.append_written(name, digest)

    def history(self, offset: int, count: int) -> dict[str, Any]:
        """Return a part of what has been done, the newest first."""
        with self._changed:
            total = len(self._history)
            steps = self._history[max(0, total - offset - count) : total - offset]
        return {"total": total, "steps": [_described(step) for step in reversed(steps)]}

    def _step(self, kind: Literal["undo", "redo"], steps: list[Step], by: str | None) -> int:
        with self._changed:
            if not steps:
                return self.state.version
            step = steps[-1]._replace(kind=kind, audited=False, by=self._person(by), settled=False)
            return self._record(step)

    def _labelling(self, changes: list[Change], by: str | None) -> Step:
        """Return the step that labels rows: marks that take the place of labels go."""
        state = self.state
        drawn = len(changes) == 1 and changes[0][1] is not None and changes[0][0] in state.audits
        settled = any(row in state.disputed for row, name in changes if name is not None)
        marks = [Mark(row, what, None) for row, _ in changes for what in _REPLACED]
        person = self._person(by)
        return Step(changes, audited=drawn, marks=marks, settled=settled, by=person)

    def _record(self, step: Step) -> int:
        """Write a step to the journal and show its state; return the version."""
        state = self.state
        if step.kind == "label":
            known = state.marks
            classes = None if step.classes == state.classes else step.classes
            step = step._replace(
                # A label may confirm one that several people dispute.
                changes=[
                    (row, name)
                    for row, name in step.changes
                    if state.name(state.labels[row]) != name
                    or (step.settled and row in state.disputed)
                ],
                marks=tuple(m for m in step.marks if known[m.what].get(m.row) != m.value),
                classes=classes,
            )
            if not (step.changes or step.marks or classes is not None):
                return state.version
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        step = step._replace(time=now)
        self.journal.append(step)
        self._remember(step, _back(state, step))
        return self._publish(self._after(state, step))

    def _after(self, state: State, step: Step) -> State:
        """Return the state after a step."""
        if step.classes is not None:
            state = state.with_classes(step.classes)
        if step.changes:
            state = state.labelled(step.changes)
        if step.marks:
            state = state.marked(step.marks)
        if step.audited:
            state = replace(state, audited=state.audited | {row for row, _ in step.changes})
        if self._all_disputed and step.changes:
            done = {row for row, name in step.changes if step.settled and name is not None}
            again = {row for row, name in step.changes if not step.settled}
            open_now = (state.disputed.keys() - done) | (again & self._all_disputed.keys())
            state = replace(state, disputed={row: self._all_disputed[row] for row in open_now})
        return state

    def _remember(self, step: Step, back: Step) -> None:
        """Keep the way back of a step; a journal may have lost the step that is undone."""
        self._history.append(step)
        source, target = self._undo, self._redo
        if step.kind == "redo":
            source, target = target, source
        if step.kind == "label" or not source:
            self._undo.append(back)
            self._redo.clear()
        else:
            target.append(back._replace(audited=source.pop().audited))

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

    def _checked(self, rows: Iterable[Any]) -> list[int]:
        n = len(self.state.labels)
        for row in rows if isinstance(rows, list) else [None]:
            if type(row) is not int or not 0 <= row < n:
                raise invalid("rows", f"row numbers from 0 to {n - 1}", repr(row))
        return list(dict.fromkeys(rows))

    def _checked_class(self, text: str) -> str:
        if text in self.state.classes:
            return text  # classes of the table have any name
        name = _checked_name(text)
        if len({*self.state.classes, name}) > _MOST_CLASSES:
            raise invalid("class", f"at most {_MOST_CLASSES} classes", "one more")
        return name

    def _person(self, by: str | None) -> str | None:
        return self.annotator if by is None else _checked_name(by, "by")


def _back(state: State, step: Step) -> Step:
    """Return the changes that take a step back."""
    return Step(
        [(row, state.name(state.labels[row])) for row, _ in step.changes],
        audited=step.audited,
        marks=[Mark(m.row, m.what, state.marks[m.what].get(m.row)) for m in step.marks],
        classes=None if step.classes is None else state.classes,
    )


def _described(step: Step) -> dict[str, Any]:
    """Return one entry of the history."""
    rows, names = step.rows, {name for _, name in step.changes}
    texts = {mark.what: mark.value for mark in step.marks if mark.value is not None}
    return {
        "kind": step.kind,
        "by": step.by,
        "time": step.time,
        "rows": len(rows),
        "row": rows[0] if rows else None,
        "class": next(iter(names)) if len(names) == 1 else None,
        "labels": len(step.changes),
        "marks": texts,
        "classes": step.classes,
        "audited": step.audited,
    }


def _checked_name(name: Any, what: str = "class") -> str:
    """Return a class name without blanks around it."""
    text: str = name.strip() if isinstance(name, str) else ""
    if not text or len(text) > _LONGEST_NAME or not text.isprintable():
        expected = f"a name of 1 to {_LONGEST_NAME} printable characters, or null"
        raise invalid(what, expected, repr(name)[:100])
    return text

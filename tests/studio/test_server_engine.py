"""Answers of the studio beside a fresh fit, and its parts without a server."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowrankgcn as lg
from lowrankgcn.cli.annotators import read_opinions
from lowrankgcn.estimators import first_rows
from lowrankgcn.files import Columns
from lowrankgcn.files.journal import Journal, Step
from lowrankgcn.studio import engine as engines
from lowrankgcn.studio.engine import Answer, Engine
from lowrankgcn.studio.layout import map_positions
from lowrankgcn.studio.session import Session
from lowrankgcn.studio.state import State
from lowrankgcn.studio.view import View
from lowrankgcn.tables import Table


def mixed_table(n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """Three classes in numbers with gaps, categories and dates."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n)
    frame = pd.DataFrame(
        {"size": truth + rng.normal(scale=0.5, size=n), "weight": rng.normal(size=n)}
    )
    frame.loc[::7, "weight"] = np.nan
    frame["colour"] = pd.Categorical(np.array(["red", "green", "blue"])[truth])
    frame.loc[::5, "colour"] = "red"
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(
        truth * 30 + rng.integers(20, size=n), "D"
    )
    return frame, np.array(["ash", "elm", "oak"], object)[truth]


FRAME, TRUTH = mixed_table()
TABLE = Table.read(FRAME)


def some_labels(rows: Any) -> np.ndarray:
    labels = np.full(len(TRUTH), None)
    labels[rows] = TRUTH[rows]
    return labels


@pytest.mark.parametrize("more", [{}, {"fit_rows": 100}, {"graph": "hypergraph"}])
def test_settled_answers_equal_a_fresh_fit(more: dict[str, Any]) -> None:
    parameters = {"random_state": 5, "rank": 20, **more}
    engine = Engine(TABLE, parameters)
    base = engine.settle(some_labels([]))
    assert len(set(base.suggestions)) == 10 and base.distributions is None
    agreement, stale = [], []
    for count in (3, 4, 6, 8, 9, 10, 15, 17):
        labels = some_labels(range(count))
        last, quick = base, engine.update(base, labels)
        base = engine.settle(labels)
        fresh = lg.SpectralGPClassifier(**parameters).fit(FRAME, labels)
        assert base.classes == tuple(fresh.classes_)
        if "fit_rows" in more:  # the sample of a fit includes the labelled rows
            own = base.distributions.argmax(axis=1)
            assert (own == fresh.label_distributions_.argmax(axis=1)).mean() > 0.8
            written = engine.fitted(base).label_distributions_
            np.testing.assert_allclose(written, fresh.label_distributions_, atol=1e-6)
            continue
        np.testing.assert_allclose(base.distributions, fresh.label_distributions_, atol=1e-6)
        assert base.suggestions == tuple(fresh.suggest(10).tolist())
        assert quick is not None and quick.distributions is not None
        np.testing.assert_allclose(quick.distributions.sum(axis=1), 1, atol=1e-5)
        agreement.append(_agreement(quick, fresh))
        stale.append(0 if last.distributions is None else _agreement(last, fresh))
    if agreement:  # the first labels change the amplitudes, which an update keeps
        assert min(agreement) > 0.5 and agreement[2] > 0.85 and min(agreement[3:]) > 0.93
        assert all(now > before - 0.03 for now, before in zip(agreement, stale, strict=True))
        assert np.mean(agreement[1:]) > np.mean(stale[1:])  # better than no update


def _agreement(answer: Answer, fitted: lg.SpectralGPClassifier) -> float:
    """Return the share of rows that both put in the same class."""
    assert answer.distributions is not None
    names = np.array(answer.classes, object)[answer.distributions.argmax(axis=1)]
    return float(np.mean(names == fitted.transduction_))


def test_accuracy_is_that_of_random_rows_alone() -> None:
    engine = Engine(TABLE, {"random_state": 5, "rank": 20})
    labels = some_labels(range(30))
    fitted = lg.SpectralGPClassifier(random_state=5, rank=20).fit(FRAME, labels)
    assert engine.settle(labels).accuracy is None
    assert engine.settle(labels, range(7)).accuracy is None
    accuracy = engine.settle(labels, [*range(2, 12), 200]).accuracy  # row 200 has no label
    hits = fitted.loo_distributions_.argmax(axis=1) == np.searchsorted(fitted.classes_, TRUTH[:30])
    assert accuracy is not None and accuracy["value"] == pytest.approx(hits[2:12].mean())
    assert accuracy["low"] < accuracy["value"] <= accuracy["high"]
    labels[29] = "yew"  # one label of a class is always wrong without itself
    assert engine.settle(labels, range(2, 12)).accuracy is None


def test_every_fourth_suggestion_is_random(tmp_path: Path) -> None:
    frame = _table(100)

    class Fixed(Slow):
        def settle(self, labels: np.ndarray, audited: Any = (), skipped: Any = ()) -> Answer:
            return Answer(labels, suggestions=tuple(range(10)))

    def opened() -> tuple[Session, Journal]:
        journal = Journal(tmp_path / "j", "class", frame)
        return Session([None] * 100, journal, Fixed()), journal  # type: ignore[arg-type]

    session, journal = opened()
    chosen = []
    for _ in range(12):
        state = session.settled()
        chosen.append(state.suggestions()[0])
        session.label(chosen[-1:], "a")
    audited = set(session.state.audited)
    assert [k for k, row in enumerate(chosen) if row in audited] == [3, 7, 11]
    assert session.state.describe()["audited"] == 3 and max(audited) > 9
    session.label(session.state.audits, "b")  # labels of many rows at once are no audit
    session.undo()
    session.undo()
    assert session.state.describe()["audited"] == 2
    journal.close()
    again, _ = opened()
    assert again.state.audited == audited and again.state.pause == session.state.pause == 3
    assert again.settled().suggestions()[0] == chosen[-1]
    text = (tmp_path / "j").read_text()
    assert text.count('"audited": true') == 3


def test_first_suggestions_leave_out_labelled_rows() -> None:
    engine = Engine(TABLE, {"random_state": 5})
    for labelled in ([], [0], [0, 3]):  # no class, or one
        labels = np.full(len(FRAME), None)
        labels[labelled] = "elm"
        options: Any = {"labelled": labelled, "random_state": engine.prepared.seed}
        assert engine.settle(labels).suggestions == tuple(first_rows(FRAME, 10, **options).tolist())
    assert engine.settle(np.full(len(FRAME), "elm", object)).suggestions == ()


def test_updates_are_exact_without_blocks_that_know_the_labels() -> None:
    """With fixed amplitudes, an update is the solution for the new labels."""
    blocks = ["linear", "linear-ranks", "radial", "radial-ranks", "hypergraph-6", "neighbours-20"]
    engine = Engine(TABLE, {"random_state": 0, "blocks": blocks, "class_shares": "labels"})
    base = engine.settle(some_labels(range(20)))
    for rows in (range(30), range(5, 20), [*range(3, 15), 50]):  # more, fewer, others
        labels = some_labels(rows)
        labels[rows[0]] = "elm"
        quick = engine.update(base, labels)
        assert base.classifier is not None and quick is not None
        process = base.classifier._model.process
        index, codes = quick.coded()
        known = process.represent(engine._views_at(index))
        G = process.kernel(known, known) + np.eye(len(index))
        Y = np.eye(3)[codes] - 1 / 3
        every = process.represent(engine._views_at(np.arange(len(FRAME))))
        scores = process.temperature * process.kernel(every, known) @ np.linalg.solve(G, Y)
        odds = np.exp(scores) * process.factors
        expected = odds / odds.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(quick.distributions, expected, atol=1e-5)


def test_a_new_class_and_too_many_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(TABLE, {"random_state": 0, "rank": 20})
    two = [row for row in range(30) if TRUTH[row] != "oak"]
    base = engine.settle(some_labels(two))
    labels = some_labels(range(30))
    quick = engine.update(base, labels)
    assert quick is not None and quick.classes == ("ash", "elm", "oak")
    names = np.array(quick.classes, object)[quick.distributions.argmax(axis=1)]
    assert (names == TRUTH)[TRUTH == "oak"].mean() > 0.5
    assert engine.update(base, some_labels([])).distributions is None
    many = some_labels(range(60))
    base, more = engine.settle(many), some_labels(range(61))
    exact = engine.update(base, more)
    monkeypatch.setattr(engines, "_MOST_LABELS", 10)
    assert engine.update(base, labels) is None  # too many changes
    monkeypatch.setattr(engines, "_MOST_LABELS", 50)
    near = engine.update(base, more)  # from the rows that are most like the changed one
    assert exact is not None and near is not None
    change = np.abs(exact.distributions - base.distributions).max()
    assert np.abs(near.distributions - exact.distributions).max() < change


def test_explanations_follow_the_class_shown() -> None:
    engine = Engine(TABLE, {"random_state": 0, "rank": 20})
    answer = engine.settle(some_labels(range(20)))
    assert engine.explain(Answer(answer.labels), 0) is None
    for row in range(40):
        told = engine.explain(answer, row)
        assert told is not None
        against, reasons = told
        order = np.argsort(-answer.distributions[row])
        assert against != answer.classes[order[0]] and len(reasons) == len(FRAME.columns)
        near = engine.neighbours(answer, row)
        assert len(near) == 5 and row not in [other for other, _ in near]
        assert [value for _, value in near] == sorted([value for _, value in near], reverse=True)


def test_positions_are_framed_and_do_not_depend_on_labels() -> None:
    for more in ({}, {"fit_rows": 100}, {"graph": "gaussian"}):
        prepared = Engine(TABLE, {"random_state": 0, "rank": 20, **more}).prepared
        points = map_positions(TABLE, prepared)
        assert points.shape == (240, 2) and np.abs(points).max() <= 1 and points.std() > 0.1
        np.testing.assert_array_equal(points, map_positions(TABLE, prepared))
    cloud = pd.DataFrame(
        np.random.default_rng(0).normal(size=(60, 3)) * [1, 1, 2], columns=[*"xyz"]
    )
    cloud.iloc[0] = [np.nan, 1e9, 0]
    points = Table.read(cloud)
    own = map_positions(points, Engine(points, {"random_state": 0}).prepared)
    assert own.shape == (60, 3) and own[0, 1] == 1
    order = np.argsort(cloud["x"].to_numpy()[1:])
    assert (np.diff(own[1:, 0][order]) >= 0).all()
    tiny = Table.read({"a": ["x", "y", "z"], "b": ["u", "u", "v"], "c": ["1", "2", "2"]})
    assert map_positions(tiny, Engine(tiny, {"random_state": 0}).prepared).shape == (3, 2)


def _table(n: int) -> pd.DataFrame:
    return pd.DataFrame({"x": [f"{k}.0" for k in range(n)], "class": None})


class Slow:
    """An engine that answers nothing, or fails."""

    def update(self, base: Answer, labels: np.ndarray) -> Answer | None:
        return None

    def settle(self, labels: np.ndarray, audited: Any = (), skipped: Any = ()) -> Answer:
        if (labels == "bad").any():
            raise ValueError("no such luck")
        return Answer(labels)


changes = st.lists(
    st.one_of(
        st.tuples(st.lists(st.integers(0, 5), max_size=4), st.sampled_from(["a", "b", "é", None])),
        st.sampled_from(["undo", "redo"]),
    ),
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(steps=changes)
def test_journals_and_undo_agree_with_a_plain_list(
    steps: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("journal") / "t.csv.labels.jsonl"
    frame = pd.DataFrame({"row": range(6), "class": None})
    journal = Journal(path, "class", frame)
    start: list[str | None] = ["a", None, None, "b", None, None]
    session = Session(start, journal, Slow())  # type: ignore[arg-type]
    now, past, future = list(start), [], []
    for step in steps:
        if step == "undo":
            session.undo()
            if past:
                future.append(now)
                now = past.pop()
        elif step == "redo":
            session.redo()
            if future:
                past.append(now)
                now = future.pop()
        else:
            rows, name = step
            session.label(rows, name)
            new = [name if row in rows else own for row, own in enumerate(now)]
            if new != now:
                past, future, now = [*past, now], [], new
        assert session.state.names().tolist() == now
        assert (session.state.undo, session.state.redo) == (bool(past), bool(future))
    journal.close()
    again = Session(start, Journal(path, "class", frame), Slow())  # type: ignore[arg-type]
    assert again.state.names().tolist() == now
    # A restart remembers what was undone.
    assert (again.state.undo, again.state.redo) == (bool(past), bool(future))
    for then in reversed(past):
        again.undo()
        assert again.state.names().tolist() == then
    for then in [*past[1:], now, *reversed(future)] if past else reversed(future):
        again.redo()
        assert again.state.names().tolist() == then
    assert all('"row_"' in line for line in (path.read_text("utf-8").splitlines() if past else []))


def test_a_failure_is_shown_and_labels_go_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "class", _table(3))
    session = Session([None] * 3, journal, Slow())  # type: ignore[arg-type]
    session.label([0], "bad")
    assert session.settled().message == "ValueError: no such luck"
    session.label([0], "good")
    assert session.settled().message is None and session.state.labels.tolist() == [1, -1, -1]


def test_answers_belong_to_versions_of_the_labels() -> None:
    first, second, fitted = (Answer(np.array([name])) for name in ("1", "2", "fitted"))
    state = State.first(["b", None], ["b", "c"])
    assert state.needs_update() and not state.needs_fit() and state.refreshing
    state = state.updated(1, None, "failed")  # no immediate answer: the fit is next
    assert state.needs_fit() and state.message == "failed" and state.answer_version == 0
    state = state.updated(1, first, None)
    assert state.answer is first and state.answer_version == 1 and state.version == 2
    state = state.labelled([(1, "a"), (0, None)])  # while the fit is computed
    assert state.classes == ("b", "c", "a") and state.names().tolist() == [None, "a"]
    state = state.updated(state.label_version, second, None)
    assert state.needs_fit() and state.answer is second
    old = state.settled(1, fitted, None)  # the fit of the first labels: update from it
    assert old.base is fitted and old.answer is second and old.needs_update()
    new = state.settled(state.label_version, fitted, None)
    assert new.answer is fitted and not new.refreshing and not new.needs_update()
    failed = state.settled(state.label_version, None, "failed")
    assert failed.answer is second and not failed.refreshing and failed.version > state.version


def test_states_are_set_under_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []

    def noted(session: Any, name: str, value: Any) -> None:
        if name == "state":
            held.append(session._changed._is_owned())
        object.__setattr__(session, name, value)

    monkeypatch.setattr(Session, "__setattr__", noted)
    session = Session([None] * 3, Journal(tmp_path / "j", "class", _table(3)), Slow())  # type: ignore[arg-type]
    for name in ("good", "bad"):
        session.label([0], name)
        session.settled()
    assert len(held) >= 3 and all(held)


def test_wrong_lines_of_a_journal_are_skipped_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    for line in (
        '{"row": 4, "class": "a"}',
        '{"row": 0, "class": "a"}',
        '{"row": "1", "class": "a"}',
        '{"row": true, "class": "a"}',
        '{"row": 1, "class": null}',
        '{"row": 1, "class": "\\ud800"}',
        '{"row": 1, "class": ' + "[" * 100_000,
        '{"row": 1}',
        "[]",
        "{",
    ):
        text = '{"row": 1, "class": "a"}\n' + line + '\n{"row": 2, "class": "b"}\n'
        path.write_text(text)
        journal = Journal(path, "class", _table(3))
        assert [step.changes for step in journal.read()] == [[(0, "a")], [(1, "b")]]
        assert len(journal.notes) == 1 and journal.notes[0].endswith(": 2"), journal.notes
        journal.append(Step([(2, "c")]))
        journal.close()
        assert path.read_text().startswith(text) and path.read_text().count("\n") == 4
        path.write_text(line + "\n")
        with pytest.raises(ValueError, match="line 1: expected"):
            Journal(path, "class", _table(3)).read()


def test_half_characters_in_names_of_people_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text('{"row": 1, "class": "a", "by": "\\ud800", "time": "\\udfff"}\n')
    session = Session([None] * 3, Journal(path, "class", _table(3)), Slow())  # type: ignore[arg-type]
    (step,) = session.history(0, 10)["steps"]
    assert (step["class"], step["by"], step["time"]) == ("a", None, None)


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "j", "class", _table(3))
    session = Session([None] * 3, journal, Slow())  # type: ignore[arg-type]
    session.label([0], "a")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lowrankgcn.files.journal.os.fsync", full)
    for change in (lambda: session.label([1], "b"), session.undo):
        with pytest.raises(OSError, match="No space"):
            change()
    assert session.state.labels.tolist() == [0, -1, -1] and session.state.undo
    assert [step.changes for step in journal.read()] == [[(0, "a")]]


def _written(path: Path, *groups: list[tuple[int, str | None]]) -> Path:
    journal = Journal(path, "class", _table(6))
    for group in groups:
        journal.append(Step(group))
    journal.close()
    return path


def test_labels_follow_rows_that_were_sorted_changed_or_deleted(tmp_path: Path) -> None:
    path = _written(tmp_path / "j", [(0, "a"), (3, "b")], [(5, "c")])
    expected = [[(0, "a"), (3, "b")], [(5, "c")]]
    table = _table(6)

    def read(frame: pd.DataFrame) -> tuple[list[Any], str]:
        journal = Journal(path, "class", frame)
        found = [step.changes for step in journal.read()]
        journal.close()
        labels = pd.Series([None] * len(frame), dtype=object, name="class")
        more = labels.copy()
        opinions = read_opinions([path], frame, "class")
        merged, notes = opinions.added_to(labels)  # as classify does
        for row, name in (change for group in found for change in group):
            more[row] = name
        assert merged.tolist() == more.tolist()
        assert [Path(note).name for note in notes] == journal.notes
        return found, " ".join(journal.notes)

    assert read(table) == (expected, "")
    spelled = table.assign(x=["0", "1.00", "2", "3", "4", "5e0"])
    assert read(spelled) == (expected, "")
    moved, note = read(table.iloc[::-1].reset_index(drop=True))
    assert moved == [[(5, "a"), (2, "b")], [(0, "c")]]
    assert note == "j: labels that moved with their rows: 3"
    assert read(table.iloc[::-1].reset_index(drop=True).assign(new=1)) == (moved, note)
    longer = pd.concat([table, table.assign(x="9")], ignore_index=True)
    assert read(longer) == (expected, "")
    fewer, note = read(table.drop(index=3).reset_index(drop=True))
    assert fewer == [[(0, "a")], [(4, "c")]]
    assert "moved with their rows: 1" in note and "are gone: 1" in note
    edited, note = read(table.assign(x=["0", "1", "2", "x", "4", "5"]))
    assert edited == expected and "changed since" in note and note.endswith(": 1")


def test_journals_are_not_harmed(tmp_path: Path) -> None:
    path = _written(tmp_path / "j.jsonl", [(0, "a")])
    line = path.read_bytes()
    for rest, kept in ((b'{"row": 2, "cl', b""), (b'{"ro', b""), (line[:-1], line)):
        path.write_bytes(line + b"\n" + rest)  # an editor may leave out the end of the last line
        journal = Journal(path, "class", _table(6))
        assert journal.read() == [Step([(0, "a")])] * (1 + bool(kept))
        assert path.read_bytes() == line + b"\n" + kept
        journal.close()
    path.write_bytes(b"a picture")
    with pytest.raises(ValueError, match="line 1"):
        Journal(path, "class", _table(6)).read()
    assert path.read_bytes() == b"a picture"
    journal = Journal(_written(tmp_path / "other", [(0, "a")]), "class", _table(6))
    journal.read()
    journal.path.unlink()
    journal.append(Step([(1, "b")]))  # deleted meanwhile: all labels are written again
    both = journal.path.read_bytes()
    assert len(both.splitlines()) == 2
    saved = tmp_path / "saved"  # editors write a new file and rename it
    saved.write_bytes(both)
    saved.replace(journal.path)
    for content in (both, line):
        with pytest.raises(OSError, match="restart the studio"):
            journal.append(Step([(1, "b")]))
        assert journal.path.read_bytes() == content
        journal.path.write_bytes(line)


def test_rows_are_ordered_by_meaning() -> None:
    frame = pd.DataFrame(
        {
            "number": ["10", "9", None, "-1"],
            "text": ["b", "a", "c", None],
            "day": ["2020-01-02", "2019-01-01", None, "2021-01-01"],
            "id": ["x10", "x9", "x1", "x3"],
        }
    ).convert_dtypes(dtype_backend="pyarrow")
    features = pd.DataFrame(
        {
            "number": [10.0, 9.0, np.nan, -1.0],
            "text": pd.Categorical(["b", "a", "c", None]),
            "day": pd.to_datetime(frame["day"].astype(object)),
        }
    )
    kinds: Any = {"number": "number", "text": "category", "day": "date"}
    data = SimpleNamespace(
        graph=None,
        table=SimpleNamespace(frame=frame.assign(tree=None)),
        columns=Columns("tree", kinds, {"id": "identifier"}),
        features=Table.read(features),
    )
    session: Any = SimpleNamespace(state=State.first([None] * 4, []), notes=[], annotator=None)
    engine: Any = SimpleNamespace(prepared=None)
    view = View(Path("t.csv"), data, session, engine, lambda *args: None)

    def ordered(name: str, search: str = "") -> list[int]:
        part = view.rows(f"column:{name}", False, 0, 4, search)
        return [row["row"] for row in part["rows"]]

    for name, order in (("number", [3, 1, 0, 2]), ("text", [1, 0, 2, 3]), ("day", [1, 0, 3, 2])):
        assert ordered(name) == order
    assert ordered("id") == [2, 0, 3, 1] and ordered("id", "X1") == [2, 0]
    assert view.search("X1") == bytes([True, False, True, False])
    assert view._texts([3], 5) == [["-1", None, "2021…", "x3"]]

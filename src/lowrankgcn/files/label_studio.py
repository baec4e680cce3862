"""Label Studio's JSON: tasks with annotations and predictions, written and read.

>>> frame = pd.DataFrame({"width": ["0.2", "1.4"], "species": [None] * 2})
>>> predictions = [None, Prediction("virginica", 0.9, "model")]
>>> tasks = list(make_tasks(frame, "species", ["setosa", None], predictions, {}))
>>> tasks[0]["annotations"][0]["result"][0]["value"], tasks[1]["predictions"][0]["score"]
({'choices': ['setosa']}, 0.9)
>>> labels_of_tasks(tasks, frame, "species")
({'label studio': {0: 'setosa'}}, [])
>>> predictions_of_tasks(tasks, frame, "species")
{1: Prediction(name='virginica', score=0.9, model='model')}
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from lowrankgcn._validation import is_unicode
from lowrankgcn.files.row_matching import RowMatcher, free_name

_NOBODY = "label studio"
_SOURCE = "annotator"  # in the meta of a task: Label Studio refuses people whom it does not know


class Prediction(NamedTuple):
    """A predicted class, its probability if that is known, and the model."""

    name: str
    score: float | None
    model: str


def make_tasks(
    frame: pd.DataFrame,
    target: str,
    labels: Sequence[str | None],
    predictions: Sequence[Prediction | None],
    notes: Mapping[int, str],
    skipped: Collection[int] = (),
    *,
    by: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield one task for each row.

    Parameters
    ----------
    frame : DataFrame
        The table; its cells are the data of the tasks.
    target : str
        Column of the classes, and name of the choice.
    labels : sequence of str or None
        Classes of the annotations.
    predictions : sequence of Prediction or None
    notes : mapping from row to str
        Stored as ``meta`` of the annotated task.
    skipped : collection of int
        Rows with a cancelled annotation.
    by : str, optional
        Who labelled. An address of e-mail names a member of Label Studio, who must exist there;
        other names are stored in ``meta``.
    """
    cells = frame.drop(columns=target)
    texts = {
        str(name): pa.array(column, from_pandas=True).cast(pa.large_string()).to_pylist()
        for name, column in cells.items()
    }
    number, source = free_name("row", texts), next(iter(texts), "row")
    skips = set(skipped)

    def result(name: str) -> list[dict[str, Any]]:
        about = {"id": "1", "from_name": target, "to_name": source, "type": "choices"}
        return [about | {"value": {"choices": [name]}}]

    for row, (name, predicted) in enumerate(zip(labels, predictions, strict=True)):
        data = {column: values[row] or "" for column, values in texts.items()}
        task: dict[str, Any] = {"id": row + 1, "data": data | {number: row + 1}}
        task["annotations"], task["predictions"] = [], []
        meta: dict[str, str] = {}
        if name is not None or row in skips:
            member = by is not None and "@" in by
            person = {"completed_by": {"email": by}} if member else {}
            meta |= {_SOURCE: by} if by and not member else {}
            made = {"result": [] if name is None else result(name), "was_cancelled": name is None}
            task["annotations"].append(made | person)
        if predicted is not None:
            score = {} if predicted.score is None else {"score": predicted.score}
            shown = {"model_version": predicted.model} | score
            task["predictions"].append(shown | {"result": result(predicted.name)})
        if row in notes:
            meta["note"] = notes[row]
        yield task | ({"meta": meta} if meta else {})


def read_tasks(path: Path) -> list[dict[str, Any]] | None:
    """Return the tasks in a file; None if it is another one."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    with suppress(ValueError, RecursionError):
        tasks = json.loads(path.read_bytes())
        if isinstance(tasks, list) and tasks and all(_is_task(task) for task in tasks):
            return tasks
    return None


def _is_task(task: Any) -> bool:
    if not (isinstance(task, dict) and isinstance(task.get("data"), dict)):
        return False
    parts = [task.get(name, []) for name in ("annotations", "predictions")]
    known = "annotations" in task or "predictions" in task
    return known and all(
        isinstance(part, list) and all(isinstance(one, dict) for one in part) for part in parts
    )


def labels_of_tasks(
    tasks: Sequence[Mapping[str, Any]], frame: pd.DataFrame, target: str, key: str | None = None
) -> tuple[dict[str, dict[int, str]], list[str]]:
    """Return the labels of each person, by row, and notes.

    The last annotation of a person counts. Rows are found by their number or `key` in the data of
    the task, or else by their cells.

    Raises
    ------
    ValueError
        If tasks are not rows of the table, or there is no annotation with a choice.
    """
    labels: dict[str, dict[int, str]] = {}
    rows, notes = _rows_of_tasks(tasks, frame, target, key)
    ignored = 0
    for task, row in zip(tasks, rows, strict=True):
        for annotation in task.get("annotations", []):
            if row is None or annotation.get("was_cancelled"):
                continue
            name = _choice(annotation)
            if name is None:
                ignored += 1
                continue
            meta = task.get("meta")
            nobody = meta.get(_SOURCE, _NOBODY) if isinstance(meta, dict) else _NOBODY
            who = annotation.get("completed_by", nobody)
            who = who.get("email", who.get("id", _NOBODY)) if isinstance(who, dict) else who
            labels.setdefault(str(who), {})[row] = name
    if ignored:
        notes.append(f"annotations without exactly one choice are left out: {ignored}")
    if not labels and not any(task.get("predictions") for task in tasks):
        raise ValueError("expected annotations or predictions with a choice, got none")
    return labels, notes


def predictions_of_tasks(
    tasks: Sequence[Mapping[str, Any]], frame: pd.DataFrame, target: str, key: str | None = None
) -> dict[int, Prediction]:
    """Return the predictions by row; the last one of a task counts."""
    predictions = {}
    for task, row in zip(tasks, _rows_of_tasks(tasks, frame, target, key)[0], strict=True):
        for shown in task.get("predictions") or []:
            name = _choice(shown)
            if row is not None and name is not None:
                score = shown.get("score")
                known = isinstance(score, int | float) and 0 <= score <= 1
                model = str(shown.get("model_version") or _NOBODY)
                predictions[row] = Prediction(name, float(score) if known else None, model)
    return predictions


def _choice(content: Any) -> str | None:
    """Return the class of an annotation or a prediction; None without exactly one."""
    choices: list[Any] = []
    for one in content.get("result") or []:
        if isinstance(one, dict) and one.get("type") == "choices":
            value = one.get("value")
            chosen = value.get("choices") if isinstance(value, dict) else None
            choices += chosen if isinstance(chosen, list) else [None]
    name = choices[0] if len(choices) == 1 else None
    return name if isinstance(name, str) and name.strip() and is_unicode(name) else None


def _rows_of_tasks(
    tasks: Sequence[Mapping[str, Any]], frame: pd.DataFrame, target: str, key: str | None
) -> tuple[list[int | None], list[str]]:
    number = free_name("row", [name for name in frame.columns if name != target])
    data = [task["data"] for task in tasks]
    numbers = [cells.get(number) for cells in data]
    at = list(range(len(data)))
    if key is None and all(type(one) is int and 1 <= one <= len(frame) for one in numbers):
        at = [one - 1 for one in numbers]
    names = [name for name in frame.columns if name != target and any(name in c for c in data)]
    if not names:
        raise ValueError("expected tasks whose data have columns of the table")
    texts = [[_text(cells.get(name)) for cells in data] for name in names]
    cells = pd.DataFrame(dict(zip(names, texts, strict=True)), dtype=object)
    then = RowMatcher(cells, target, key=key)
    every = list(range(len(data)))
    hashes = [then.hashes(every), then.column_hashes(every)]
    return RowMatcher(frame, target, key=key).find(at, *hashes)


def _text(cell: Any) -> str | None:
    return cell if cell is None or isinstance(cell, str) else json.dumps(cell)

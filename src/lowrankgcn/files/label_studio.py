"""Label Studio's JSON: tasks with annotations and predictions, written and read.

>>> frame = pd.DataFrame({"width": ["0.2", "1.4"], "species": [None] * 2})
>>> tasks = make_tasks(frame, "species", ["setosa", None], [None, ("virginica", 0.9)], {})
>>> tasks[0]["annotations"][0]["result"][0]["value"], tasks[1]["predictions"][0]["score"]
({'choices': ['setosa']}, 0.9)
>>> labels_of_tasks(tasks, frame, "species")
({'label studio': {0: 'setosa'}}, [])
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from lowrankgcn.files.row_matching import RowMatcher, free_name

_NOBODY = "label studio"


def make_tasks(
    frame: pd.DataFrame,
    target: str,
    labels: Sequence[str | None],
    predictions: Sequence[tuple[str, float] | None],
    notes: Mapping[int, str],
    skipped: Collection[int] = (),
    *,
    by: str | None = None,
) -> list[dict[str, Any]]:
    """Return one task for each row.

    Parameters
    ----------
    frame : DataFrame
        The table; its cells are the data of the tasks.
    target : str
        Column of the classes, and name of the choice.
    labels : sequence of str or None
        Classes of the annotations.
    predictions : sequence of (class, probability) or None
    notes : mapping from row to str
        Stored as ``meta`` of the annotated task.
    skipped : collection of int
        Rows with a cancelled annotation.
    by : str, optional
        Who labelled.
    """
    cells = frame.drop(columns=target)
    texts = {
        str(name): pa.array(column, from_pandas=True).cast(pa.large_string()).to_pylist()
        for name, column in cells.items()
    }
    number, source = free_name("row", texts), next(iter(texts), "row")
    skips = set(skipped)

    def result(name: str) -> list[dict[str, Any]]:
        about = {"from_name": target, "to_name": source, "type": "choices"}
        return [about | {"value": {"choices": [name]}}]

    tasks = []
    for row, (name, predicted) in enumerate(zip(labels, predictions, strict=True)):
        data = {column: values[row] for column, values in texts.items()}
        task: dict[str, Any] = {"id": row + 1, "data": data | {number: row + 1}}
        task["annotations"], task["predictions"] = [], []
        if name is not None or row in skips:
            person = {"completed_by": by} if by else {}
            made = {"result": [] if name is None else result(name), "was_cancelled": name is None}
            task["annotations"].append(made | person)
        if predicted is not None:
            shown = {"model_version": "lowrankgcn", "score": predicted[1]}
            task["predictions"].append(shown | {"result": result(predicted[0])})
        if row in notes:
            task["meta"] = {"note": notes[row]}
        tasks.append(task)
    return tasks


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
    return (
        isinstance(task, dict)
        and isinstance(task.get("data"), dict)
        and isinstance(task.get("annotations", task.get("predictions")), list)
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
            choices = [
                name
                for one in annotation.get("result", [])
                if isinstance(one, dict) and one.get("type") == "choices"
                for name in one.get("value", {}).get("choices", [])
            ]
            if len(choices) != 1 or not isinstance(choices[0], str) or not choices[0].strip():
                ignored += 1
                continue
            who = annotation.get("completed_by", _NOBODY)
            who = who.get("email", who.get("id", _NOBODY)) if isinstance(who, dict) else who
            labels.setdefault(str(who), {})[row] = choices[0]
    if ignored:
        notes.append(f"annotations without exactly one choice are left out: {ignored}")
    if not labels:
        raise ValueError("expected annotations with a choice, got none")
    return labels, notes


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

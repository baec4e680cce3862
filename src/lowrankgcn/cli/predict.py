"""``lowrankgcn predict``: a saved model and another table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console

from lowrankgcn.cli.answers import Answers
from lowrankgcn.cli.failures import bad_input, check_apart, check_writable, noted_warnings, writing
from lowrankgcn.cli.models import load_model, unknown_values
from lowrankgcn.cli.progress import Stopwatch, progress
from lowrankgcn.cli.telling import Told
from lowrankgcn.estimators import GCNClassifier
from lowrankgcn.files import Columns, TableFile, read_file, write_file
from lowrankgcn.files.columns import read_texts
from lowrankgcn.report.text import percent, plural

__all__ = ["run"]

_SHOWN = 3  # unknown values in a note


def run(
    model: Path,
    table: Path,
    *,
    out: Path | None,
    probabilities: bool,
    encoding: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Classify the rows of a table with a saved model."""
    check_writable(out, "--out", dash=True)
    check_apart({"--out": out}, {"the model": model})
    to_stdout = str(out) == "-" or not (out or as_json or quiet)
    console = Console(highlight=False, quiet=quiet or as_json, stderr=to_stdout)
    shown, watch = not quiet, Stopwatch()
    with progress("reading", shown=shown), watch.timing("reading"), bad_input():
        classifier, columns = load_model(model)
        file = read_file(table, encoding=encoding)
        features = _features(file, columns)
        given = _given(file, columns)
    with progress("predicting", shown=shown), watch.timing("prediction"), bad_input():
        with noted_warnings() as warned:
            shares = classifier.predict_proba(features)
    kind = classifier.description_.get("type")
    answers = Answers.of(classifier.classes_, shares, None, kind if isinstance(kind, str) else None)
    files = {}
    if out is not None or to_stdout:
        path = out or Path("-")
        format = "csv" if out is None and file.format == "parquet" else file.format
        with progress("writing", shown=shown), watch.timing("writing"), writing(path):
            frame = answers.added_to(file.frame, each_class=probabilities)
            write_file(frame, path, format, delimiter=file.delimiter)
        files = {} if str(path) == "-" else {"written": str(path)}
    if shown:
        for text in warned:
            typer.echo(f"warning: {text}", err=True)
    told = _told(model, classifier, columns, file, features, given, answers, warned, watch, files)
    if as_json:
        text = json.dumps(told.document(), ensure_ascii=False, indent=2, allow_nan=False)
        typer.echo(text, err=to_stdout)
    else:
        told.show(console)


def _features(file: TableFile, columns: Columns) -> pd.DataFrame:
    try:
        return columns.features(file.frame, decimal=file.decimal)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None


def _given(file: TableFile, columns: Columns) -> pd.Series | None:
    """The classes that rows have already, None if the table has no such column."""
    if columns.target not in file.frame.columns:
        return None
    try:
        return read_texts(file.frame, columns.target)
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from None


def _told(
    model: Path,
    classifier: GCNClassifier,
    columns: Columns,
    file: TableFile,
    features: pd.DataFrame,
    given: pd.Series | None,
    answers: Answers,
    warned: list[str],
    watch: Stopwatch,
    files: dict[str, str],
) -> Told:
    unknown = unknown_values(classifier, features)
    expected = {columns.target, *columns.used, *columns.left_out}
    extra = [name for name in file.frame.columns if name not in expected]
    notes = []
    if extra:
        notes.append("the model does not know and passes over: " + ", ".join(map(repr, extra)))
    for name, (count, values) in unknown.items():
        listed = ", ".join(map(repr, values[:_SHOWN])) + (", …" if len(values) > _SHOWN else "")
        notes.append(
            f"column {name!r}: {plural(count, 'cell')} with values unknown to the model ({listed})"
        )
    notes += [
        f"the table has a column {name!r}; the new one is {free!r}"
        for name, free in answers.names(file.frame.columns).items()
        if free != name
    ]
    facts = {
        "model": f"{model}, {plural(len(columns.used), 'column')}, classes "
        + ", ".join(map(str, answers.classes)),
        "table": f"{file.name}: {plural(len(file.frame), 'row')}",
    }
    agreed = None if given is None else _agreement(given, answers)
    if agreed is not None:
        right, count = agreed
        facts["agreement"] = (
            f"{percent(right / count)} of {plural(count, 'row')} with a class already"
        )
    more: dict[str, Any] = {
        "model": str(model),
        "table": file.name,
        "rows": len(file.frame),
        "unknown_values": {name: count for name, (count, _) in unknown.items()},
        "passed_over": extra,
        "agreement": None if agreed is None else {"right": agreed[0], "rows": agreed[1]},
    }
    return Told(facts, answers, notes, files, watch.seconds, warned, more)


def _agreement(labels: pd.Series, answers: Answers) -> tuple[int, int] | None:
    """How many rows have the predicted class in the target column, of how many that have any."""
    present = labels.notna().to_numpy()
    found = np.array([*answers.classes, None], dtype=object)[answers.codes]
    count = int(present.sum())
    return (int((labels.to_numpy()[present] == found[present]).sum()), count) if count else None

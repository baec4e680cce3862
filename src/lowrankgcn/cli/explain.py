"""``lowrankgcn explain``: a saved model, a table, and the numbers of some rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

import lowrankgcn
from lowrankgcn.cli.failures import bad_input
from lowrankgcn.cli.models import load_model
from lowrankgcn.cli.progress import progress
from lowrankgcn.cli.telling import line
from lowrankgcn.estimators import ExplainedRow, Explanation
from lowrankgcn.files import TableFile, read_file
from lowrankgcn.report.text import plural

__all__ = ["run"]


def run(
    model: Path,
    table: Path,
    *,
    rows: Sequence[int],
    by: str,
    top: int,
    encoding: str | None,
    as_json: bool,
) -> None:
    """Explain rows of a table, which are counted from 1."""
    with progress("reading", shown=True):
        with bad_input():
            classifier, columns = load_model(model)
            file = read_file(table, encoding=encoding)
        _check(rows, file)
        with bad_input():
            try:
                chosen = file.frame.iloc[[row - 1 for row in rows]]
                features = columns.features(chosen, decimal=file.decimal)
            except ValueError as error:
                raise ValueError(f"{file.name}: {error}") from None
    with progress("explaining", shown=True), bad_input():
        found = classifier.explain(features, by=by)
    explanation = Explanation(
        tuple(replace(one, row=row - 1) for one, row in zip(found, rows, strict=True)), found.by
    )
    source = classifier.description_.get("source")
    if as_json:
        document = {
            "version": lowrankgcn.__version__,
            "model": str(model),
            "table": file.name,
            "learned_from": source if isinstance(source, str) else None,
            "by": explanation.by,
            "rows": [_document(one, top) for one in explanation],
        }
        typer.echo(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))
        return
    console = Console(highlight=False)
    for one in explanation:
        for text in one.lines(explanation.by, top, first=1):
            line(console, text)
    if explanation.by == "rows":
        where = source if isinstance(source, str) else "the table that the model learned from"
        line(console, f"labelled rows are those of {where}")


def _check(rows: Sequence[int], file: TableFile) -> None:
    count = len(file.frame)
    for row in rows:
        if row > count:
            message = f"{file.name} has {plural(count, 'row')}, there is no row {row}"
            raise typer.BadParameter(message, param_hint="--row")


def _document(one: ExplainedRow, top: int) -> dict[str, Any]:
    shown = one.contributions[:top]
    return {
        "row": one.row + 1,
        "prediction": one.predicted,
        "probability": one.probability,
        "runner_up": one.runner_up,
        "runner_up_probability": one.runner_up_probability,
        "placed": one.placed,
        "margin": one.margin,
        "contributions": [
            asdict(part) | ({"name": int(part.name) + 1} if part.kind == "row" else {})
            for part in shown
        ],
        "others": sum(part.amount for part in one.contributions[top:]),
        "baseline": one.baseline,
        "remainder": one.remainder,
    }

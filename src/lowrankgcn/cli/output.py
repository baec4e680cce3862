"""Output of the commands: lines, tables, files and JSON documents."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, final

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import lowrankgcn
from lowrankgcn._format import duration, percent
from lowrankgcn.cli.errors import exit_on_write_error
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.files import TableFile, write_file

_MOST, _LARGEST = 0.9, 5  # share that is listed, and number of names
_INSTANT = 5e-4  # seconds; shorter steps are not listed


def print_line(console: Console, text: str) -> None:
    """Print a line of any length without wrapping."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def print_facts(console: Console, facts: Mapping[str, Any], *, width: int = 12) -> None:
    """Print names, in a column of the given width, with values, one pair per line."""
    for name, value in facts.items():
        print_line(console, f"{name:<{width}}{value}")


def print_json(document: Mapping[str, Any], *, err: bool = False) -> None:
    """Print a JSON document that begins with the version of the library."""
    whole = {"version": lowrankgcn.__version__, **document}
    typer.echo(json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False), err=err)


def print_warnings(texts: Sequence[str], *, shown: bool) -> None:
    """Print warnings to standard error."""
    for text in texts if shown else ():
        typer.echo(f"warning: {text}", err=True)


def share_text(share: float | None) -> str:
    """Format a share as a percentage, None as a dash."""
    return "–" if share is None else percent(share)


def text_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    numeric: Collection[int] = (),
    **style: Any,
) -> Table:
    """Arrange texts in columns; the columns with the positions `numeric` are right-aligned."""
    table = Table(box=box.SIMPLE_HEAD, **style)
    for position, title in enumerate(header):
        side: Any = "right" if position in numeric else "left"
        table.add_column(escape(title), justify=side, no_wrap=side == "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def write_table(frame: pd.DataFrame, out: Path | None, source: TableFile) -> dict[str, str]:
    """Write a table in the format of its source; None prints it as text. Return the new file."""
    path = out or Path("-")
    format = "csv" if out is None and source.format == "parquet" else source.format
    with exit_on_write_error(path):
        write_file(frame, path, format, delimiter=source.delimiter)
    return {} if str(path) == "-" else {"written": str(path)}


def shares_text(shares: Mapping[str, float]) -> str:
    """Return the largest shares, given first, that make up nine tenths; at most five.

    >>> shares_text({"linear": 0.72, "radial": 0.2, "neighbours": 0.08})
    'linear 72 %, radial 20 %'
    """
    before = dict(zip(shares, accumulate(shares.values(), initial=0.0), strict=False))
    shown = (f"{name} {percent(shares[name], 0)}" for name in shares if before[name] < _MOST)
    return ", ".join(islice(shown, _LARGEST))


@final
@dataclass(frozen=True, eq=False)
class RunSummary:
    """Summary of ``classify`` and ``predict``: a few lines, or one JSON document."""

    facts: Mapping[str, str]
    predictions: Predictions
    notes: Sequence[str]
    files: Mapping[str, str]
    seconds: Mapping[str, float]
    warnings: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)  # in JSON only
    scores: Mapping[str, Sequence[float | None]] = field(default_factory=dict)  # of each class

    def print(self, console: Console, *, as_json: bool, err: bool) -> None:
        """Print the summary to the console, or as JSON."""
        if as_json:
            document = {
                **self.more,
                "classes": self._counts(),
                "without_prediction": self.predictions.n_missing,
                "notes": list(self.notes),
                "warnings": list(self.warnings),
                "files": dict(self.files),
                "seconds": dict(self.seconds),
            }
            print_json(document, err=err)
            return
        print_facts(console, self.facts)
        for text in self.notes:
            print_facts(console, {"note": text})
        console.print()
        console.print(self._class_table())
        console.print()
        long = {name: taken for name, taken in self.seconds.items() if taken >= _INSTANT}
        steps = ", ".join(f"{name} {duration(taken)}" for name, taken in long.items())
        total = duration(sum(self.seconds.values()))
        print_facts(console, {**self.files, "time": f"{total}: {steps}"})

    def _counts(self) -> dict[str, dict[str, Any]]:
        counts = self.predictions.counts()
        for place, own in enumerate(counts.values()):
            own |= {name: values[place] for name, values in self.scores.items()}
        return counts

    def _class_table(self) -> Table:
        header = ["class", "given", "predicted", "mean probability", *self.scores]
        rows = []
        for name, counts in self._counts().items():
            shares = [share_text(counts[key]) for key in ("mean_probability", *self.scores)]
            rows.append([name, str(counts["given"]), str(counts["predicted"]), *shares])
        if self.predictions.n_missing:
            rows.append(
                ["none", "–", str(self.predictions.n_missing), "–", *("–" for _ in self.scores)]
            )
        if self.predictions.given is None:
            for row in (header, *rows):
                del row[1]
        return text_table(header, rows, range(1, 6), pad_edge=False, show_edge=False)

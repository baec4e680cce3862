"""Output of the commands: lines, tables and JSON documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import lowrankgcn
from lowrankgcn._format import duration, percent
from lowrankgcn.cli.predictions import Predictions

__all__ = ["RunSummary", "print_facts", "print_json", "print_line", "print_warnings"]


def print_line(console: Console, text: str) -> None:
    """Print a line of any length without wrapping."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def print_facts(console: Console, facts: Mapping[str, Any]) -> None:
    """Print names with values, one pair per line."""
    for name, value in facts.items():
        print_line(console, f"{name:<12}{value}")


def print_json(document: Mapping[str, Any], *, err: bool = False, version: bool = True) -> None:
    """Print a JSON document that begins with the version of the library."""
    whole = {"version": lowrankgcn.__version__, **document} if version else document
    typer.echo(json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False), err=err)


def print_warnings(texts: Sequence[str], *, shown: bool) -> None:
    """Print warnings to standard error."""
    for text in texts if shown else ():
        typer.echo(f"warning: {text}", err=True)


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

    def print(self, console: Console, *, as_json: bool, err: bool) -> None:
        """Print the summary to the console, or as JSON."""
        if as_json:
            print_json(self.document(), err=err)
            return
        print_facts(console, self.facts)
        for text in self.notes:
            print_facts(console, {"note": text})
        console.print()
        console.print(self._class_table())
        console.print()
        steps = ", ".join(f"{name} {duration(taken)}" for name, taken in self.seconds.items())
        total = duration(sum(self.seconds.values()))
        print_facts(console, {**self.files, "time": f"{total}: {steps}"})

    def document(self) -> dict[str, Any]:
        """Return the contents of the JSON document."""
        return {
            **self.more,
            "classes": self.predictions.counts(),
            "without_prediction": self.predictions.n_missing,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "files": dict(self.files),
            "seconds": dict(self.seconds),
        }

    def _class_table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column("class")
        given = self.predictions.given is not None
        for title in [*(["given"] if given else []), "predicted", "mean probability"]:
            table.add_column(title, justify="right")
        for name, counts in self.predictions.counts().items():
            mean = counts["mean_probability"]
            cells = [str(counts["predicted"]), "–" if mean is None else percent(mean)]
            table.add_row(escape(name), *([str(counts["given"])] if given else []), *cells)
        missing = self.predictions.n_missing
        if missing:
            table.add_row("[dim]none[/dim]", *(["–"] if given else []), str(missing), "–")
        return table

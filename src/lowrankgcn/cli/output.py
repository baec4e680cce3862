"""Output of the commands: lines, tables, files and JSON documents."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import lowrankgcn
from lowrankgcn._format import duration, percent
from lowrankgcn.cli.progress import Stopwatch

if TYPE_CHECKING:
    from lowrankgcn.cli.predictions import Predictions

_MOST, _LARGEST = 0.9, 5  # share that is listed, and number of names
_INSTANT = 5e-4  # seconds; shorter steps are not listed


def print_line(console: Console, text: str) -> None:
    """Print a line of any length without wrapping."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def print_facts(console: Console, facts: Mapping[str, Any], *, width: int = 12) -> None:
    """Print names, in a column of the given width, with values; long ones continue below."""
    space = max(console.width - width, 20)
    for name, value in facts.items():
        # A word, such as a path, is never cut.
        lines = textwrap.wrap(str(value), space, break_long_words=False, break_on_hyphens=False)
        for k, text in enumerate(lines or [""]):
            print_line(console, f"{'' if k else name:<{width}}{text}")


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


def shares_text(shares: Mapping[str, float]) -> str:
    """Return the largest shares, given first, that make up nine tenths; at most five.

    >>> shares_text({"linear": 0.72, "radial": 0.2, "neighbours": 0.08})
    'linear 72 %, radial 20 %'
    """
    before = dict(zip(shares, accumulate(shares.values(), initial=0.0), strict=False))
    shown = (f"{name} {percent(shares[name], 0)}" for name in shares if before[name] < _MOST)
    return ", ".join(islice(shown, _LARGEST))


def times_text(watch: Stopwatch) -> str:
    """Return the time since the command was started, and that of its steps."""
    long = {name: taken for name, taken in watch.seconds.items() if taken >= _INSTANT}
    steps = ", ".join(f"{name} {duration(taken)}" for name, taken in long.items())
    return f"{duration(watch.total())}: {steps}"


def command_line(context: typer.Context, *, without: Sequence[str] = ()) -> str:
    """Return the command line of a run: given arguments, and the seed in any case.

    Parameters
    ----------
    context : typer.Context
        Context of the command.
    without : sequence of str
        Names of parameters to omit.
    """
    words = ["lowrankgcn", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        value = context.params.get(name)
        source = context.get_parameter_source(name)
        given = source is not None and source.name == "COMMANDLINE"
        if name in without or not (given or name == "seed"):
            continue
        option = max(parameter.opts, key=len)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [option] if parameter.param_type_name == "option" else []
            words += [] if one is True else [str(one)]
    return shlex.join(words)


def print_summary(
    console: Console,
    predictions: Predictions,
    facts: Mapping[str, str],
    more: Mapping[str, Any],
    notes: Sequence[str],
    warnings: Sequence[str],
    files: Mapping[str, str],
    watch: Stopwatch,
    scores: Mapping[str, Sequence[float | None]] | None = None,
    *,
    as_json: bool,
) -> None:
    """Print the summary of ``classify`` or ``predict``: a few lines, or one JSON document.

    Parameters
    ----------
    facts, more : mappings
        Lines of the text, and entries of the JSON document.
    scores : mapping from name to one number for each class, optional
    """
    counts, missing, scores = predictions.counts(), predictions.n_missing, scores or {}
    for place, own in enumerate(counts.values()):
        own |= {name: values[place] for name, values in scores.items()}
    if as_json:
        document = {
            **more,
            "classes": counts,
            "without_prediction": missing,
            "notes": list(notes),
            "warnings": list(warnings),
            "files": dict(files),
            "seconds": watch.seconds | {"total": watch.total()},
        }
        print_json(document, err=console.stderr)
        return
    print_facts(console, facts)
    for text in notes:
        print_facts(console, {"note": text})
    numbers = ["given", "predicted"] if (predictions.given >= 0).any() else ["predicted"]
    listed = [name for name in ("recall", "precision") if name in scores]
    shares = ["mean_probability", *listed]
    rows = [
        [name, *(str(own[key]) for key in numbers), *(share_text(own[key]) for key in shares)]
        for name, own in counts.items()
    ]
    if missing:
        rows.append(["none", *"–" * (len(numbers) - 1), str(missing), *"–" * len(shares)])
    header = ["class", *numbers, "mean probability", *listed]
    table = text_table(header, rows, range(1, 6), pad_edge=False, show_edge=False)
    for part in ("", table, ""):
        console.print(part)
    for name, path in files.items():
        print_line(console, f"{name:<12}{path}")
    print_facts(console, {"time": times_text(watch)})

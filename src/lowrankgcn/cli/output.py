"""Output of the commands: lines, tables and JSON documents; rich does the layout."""

from __future__ import annotations

import json
import shlex
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, final

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import lowrankgcn
from lowrankgcn._format import duration, percent, shorten
from lowrankgcn.cli.progress import Run

if TYPE_CHECKING:
    from lowrankgcn.cli.predictions import Predictions

_MOST, _LARGEST = 0.9, 5  # share that is listed, and number of names
_INSTANT = 5e-4  # seconds; shorter steps are not listed
_LONGEST = 60  # characters of a name
_UNSEEN = {"Cc", "Cs", "Zl", "Zp"}  # control characters, lone surrogates, ends of lines
_DIRECTIONS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: str) -> str:
    r"""Return a text with escapes for characters that move the cursor or change the terminal.

    >>> print(visible("red \x1b[31m\tline\n"))
    red \x1b[31m\tline\n
    """
    return "".join(
        c.encode("unicode_escape").decode()
        if unicodedata.category(c) in _UNSEEN or c in _DIRECTIONS
        else c
        for c in text
    )


def _short(text: str) -> str:
    return shorten(visible(text), _LONGEST)


def name_text(name: str) -> str:
    """Return a name from the data on one line, shortened; an empty one as two quotes."""
    return _short(name) or "''"


def print_line(console: Console, text: str) -> None:
    """Print a line of any length without wrapping."""
    console.print(visible(text), soft_wrap=True, markup=False)


def print_text(console: Console, text: str, style: str = "", *, head: str = "") -> None:
    """Print a text, wrapped below its `head`."""
    width = max(console.width - len(head), 20)
    for line in Text(visible(text), style).wrap(console, width):
        line.rstrip()
        console.print(Text(head).append_text(line), soft_wrap=True)
        head = " " * len(head)


def print_facts(console: Console, facts: Mapping[str, Any], *, width: int = 12) -> None:
    """Print names, in a column of the given width, with values."""
    for name, value in facts.items():
        print_text(console, str(value), head=f"{name:<{width - 1}} ")


def print_json(document: Mapping[str, Any], *, err: bool = False) -> None:
    """Print a JSON document that begins with the version of the library."""
    whole = {"version": lowrankgcn.__version__, **document}
    typer.echo(json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False), err=err)


def share_text(share: float | None) -> str:
    """Format a share as a percentage, None as a dash."""
    return "–" if share is None else percent(share)


def print_table(
    console: Console,
    header: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    numeric: Collection[int] = (),
    **style: Any,
) -> None:
    """Print texts in columns; those with the positions `numeric` are right-aligned."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, **style)
    for k, title in enumerate(header):
        side: Any = "right" if k in numeric else "left"
        table.add_column(Text(name_text(title)), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_short(cell)) if isinstance(cell, str) else cell for cell in row))
    console.print(table)


def shares_text(shares: Mapping[str, float]) -> str:
    """Return the largest shares, given first, that make up nine tenths; at most five.

    >>> shares_text({"linear": 0.72, "radial": 0.2, "neighbours": 0.08})
    'linear 72 %, radial 20 %'
    """
    before = dict(zip(shares, accumulate(shares.values(), initial=0.0), strict=False))
    shown = (
        f"{name_text(name)} {percent(shares[name], 0)}" for name in shares if before[name] < _MOST
    )
    return ", ".join(islice(shown, _LARGEST))


def times_text(run: Run) -> str:
    """Return the time since the command was started, and that of its steps."""
    long = {name: taken for name, taken in run.seconds.items() if taken >= _INSTANT}
    steps = ", ".join(f"{name} {duration(taken)}" for name, taken in long.items())
    return f"{duration(run.total())}: {steps}"


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
        typed = source is not None and source.name == "COMMANDLINE"
        if name in without or not (typed or name == "seed"):
            continue
        option = max(parameter.opts, key=len)
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += [option] if parameter.param_type_name == "option" else []
            words += [] if one is True else [str(one)]
    return shlex.join(words)


@final
@dataclass(frozen=True, eq=False)
class Summary:
    """The result of ``classify`` or ``predict``: a few lines, or one JSON document.

    Attributes
    ----------
    predictions : Predictions
    facts, document : dict
        Lines of the text, and entries of the JSON document.
    notes : list of str
    files : dict from kind to path
        Files that were written.
    scores : dict from name to one number for each class
    """

    predictions: Predictions
    facts: Mapping[str, str]
    document: Mapping[str, Any]
    notes: Sequence[str]
    files: Mapping[str, str]
    scores: Mapping[str, Sequence[float | None]] = field(default_factory=dict)

    def print(self, run: Run) -> None:
        """Print the summary to the console of a run."""
        counts, missing = self.predictions.counts(), self.predictions.n_missing
        for place, row in enumerate(counts.values()):
            row |= {name: values[place] for name, values in self.scores.items()}
        if run.as_json:
            document = {
                **self.document,
                "classes": counts,
                "without_prediction": missing,
                "notes": list(self.notes),
                "warnings": run.warnings,
                "files": dict(self.files),
                "seconds": run.seconds | {"total": run.total()},
            }
            print_json(document, err=run.console.stderr)
            return
        print_facts(run.console, self.facts)
        for text in self.notes:
            print_facts(run.console, {"note": text})
        labelled = not self.predictions.unlabelled.all()
        numbers = ["given", "predicted"] if labelled else ["predicted"]
        shares = ["mean_probability", *(s for s in ("recall", "precision") if s in self.scores)]
        rows = [
            [name, *(str(row[key]) for key in numbers), *(share_text(row[key]) for key in shares)]
            for name, row in counts.items()
        ]
        if missing:
            rows.append(["none", *"–" * (len(numbers) - 1), str(missing), *"–" * len(shares)])
        header = ["class", *numbers, *(name.replace("_", " ") for name in shares)]
        run.console.print()
        print_table(run.console, header, rows, range(1, 6), show_edge=False)
        run.console.print()
        for name, path in self.files.items():
            print_line(run.console, f"{name:<12}{path}")
        print_facts(run.console, {"time": times_text(run)})

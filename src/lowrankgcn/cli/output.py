"""Output of the commands: lines, tables, files and JSON documents."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

import lowrankgcn
from lowrankgcn._format import duration, percent, shorten
from lowrankgcn.cli.progress import Stopwatch

if TYPE_CHECKING:
    from lowrankgcn.cli.predictions import Predictions

_MOST, _LARGEST = 0.9, 5  # share that is listed, and number of names
_INSTANT = 5e-4  # seconds; shorter steps are not listed
_LONGEST = 60  # characters of a name
_NARROWEST = 20  # width that a column of longer names has at least
_WHOLE = 40  # names up to this width are wrapped only if titles and gaps cannot give way
_QUOTED = re.compile(r"""(?<!\w)(['"])(.*?)\1(?!\w)""")
_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min)(?!\w))")
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


def name_text(name: str) -> str:
    """Return a name from the data on one line, shortened; an empty one as two quotes."""
    return shorten(visible(name), _LONGEST) or "''"


def print_line(console: Console, text: str, style: str | None = None) -> None:
    """Print a line of any length without wrapping."""
    console.print(visible(text), style=style, soft_wrap=True, markup=False, highlight=False)


def print_text(console: Console, text: str, style: str | None = None) -> None:
    """Print a text, wrapped at words."""
    for line in _wrapped(text, console.width):
        print_line(console, line, style)


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap a text at words; numbers stay with their units, and quoted names are shortened."""

    def quoted(found: re.Match[str]) -> str:
        name = found[2] if len(found[2]) <= _LONGEST else shorten(found[2], _LONGEST)
        return f"{found[1]}{name}{found[1]}"

    text = _UNIT.sub("\0", _QUOTED.sub(quoted, visible(text)))
    # A word, such as a path, is never cut.
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines] or [""]


def print_facts(console: Console, facts: Mapping[str, Any], *, width: int = 12) -> None:
    """Print names, in a column of the given width, with values; long ones continue below."""
    for name, value in facts.items():
        for k, text in enumerate(_wrapped(str(value), max(console.width - width, 20))):
            print_line(console, f"{'' if k else name:<{width - 1}} {text}")


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


def print_table(
    console: Console,
    header: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    numeric: Collection[int] = (),
    **style: Any,
) -> None:
    """Print texts in columns; those with the positions `numeric` are right-aligned.

    In a narrow terminal, names are wrapped. Columns at the right that still do not fit are named
    below the table.
    """
    titles = [name_text(title) for title in header]
    lines = [
        [Text(shorten(visible(cell), _LONGEST)) if isinstance(cell, str) else cell for cell in row]
        for row in rows
    ]
    cells = [max((line[k].cell_len for line in lines), default=0) for k in range(len(titles))]
    edges = 2 if style.get("show_edge", True) else 0
    for gap, longest in ((3, _WHOLE), (2, _WHOLE), (1, _WHOLE), (1, _NARROWEST)):
        widths = [
            max(width, *map(cell_len, title.split("\n")))
            for width, title in zip(cells, titles, strict=True)
        ]
        least = [w if k in numeric else min(w, longest) for k, w in enumerate(widths)]
        ends = accumulate(width + gap for width in least)
        shown = max(sum(end - gap + edges <= console.width for end in ends), 1)
        if shown == len(titles):
            break
        titles = [
            title.replace(" ", "\n") if k in numeric and cell_len(title) > cells[k] else title
            for k, title in enumerate(titles)
        ]
    padding = (0, gap // 2, 0, gap // 3)
    table = Table(box=box.SIMPLE_HEAD, padding=padding, pad_edge=False, **style)
    for k, (title, width) in enumerate(zip(titles[:shown], least, strict=False)):
        side: Any = "right" if k in numeric else "left"
        table.add_column(
            Text(title),
            justify=side,
            no_wrap=k in numeric,
            min_width=width,
            overflow="ellipsis",
        )
    for line in lines:
        table.add_row(*line[:shown])
    console.print(table)
    if shown < len(titles):
        hidden = ", ".join(map(name_text, header[shown:]))
        print_text(console, f"columns that do not fit into the window: {hidden}")


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
    console.print()
    print_table(console, header, rows, range(1, 6), show_edge=False)
    console.print()
    for name, path in files.items():
        print_line(console, f"{name:<12}{path}")
    print_facts(console, {"time": times_text(watch)})

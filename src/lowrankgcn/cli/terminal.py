"""A run of a command: progress, printed lines, tables and JSON, and errors in one line."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from glob import glob
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

import lowrankgcn
from lowrankgcn._atomic import is_stream, write_text
from lowrankgcn._format import duration, percent, shorten
from lowrankgcn._progress import listening
from lowrankgcn.cli.options import PARAMETERS
from lowrankgcn.cli.step_display import bar, lines
from lowrankgcn.exceptions import (
    COLUMN_ADVICE,
    MARKER_ADVICE,
    EigensolverError,
    FastSumError,
    without_options,
)

Files = Mapping[str, Path | None]  # from an option or a description

_ANOTHER = "name another file"
OVERWRITE = f"{_ANOTHER}, or add --overwrite"

_MOST, _LARGEST = 0.9, 5  # share that is listed, and number of names
_INSTANT = 5e-4  # seconds; shorter steps are not listed
_LONGEST = 60  # characters of a name
# Control characters, ends of lines, directions of writing, and lone surrogates.
_UNSEEN = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Parameters in messages, by the names that options have, too
_NAMES = "|".join(PARAMETERS)
_PARAMETER = re.compile(rf"(^|: )({_NAMES}): expected")
_SETTING = re.compile(rf"\b({_NAMES})='([^']*)'")


class Run:
    """A run of a command.

    Parameters
    ----------
    quiet, as_json : bool
        The options of the command; the console is silent then.
    rows_printed : bool
        Whether standard output has rows of a table, so that the console is standard error.

    Attributes
    ----------
    console : Console
    notes, warnings : lists of str
        What the user should know about the table, and about the computation.
    files : dict from kind to path
        Files that were written.
    seconds : dict from step to float
        In the order of the steps.

    Examples
    --------
    >>> run = Run(quiet=True)
    >>> with run.step("reading"):
    ...     pass
    >>> list(run.seconds)
    ['reading']
    """

    process_begin: ClassVar[float | None] = None  # if the process runs one command only

    def __init__(
        self, *, quiet: bool = False, as_json: bool = False, rows_printed: bool = False
    ) -> None:
        self.quiet, self.as_json = quiet, as_json
        self.console = Console(highlight=False, quiet=quiet or as_json, stderr=rows_printed)
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self.files: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self._begin = self.process_begin or time.perf_counter()

    def total(self) -> float:
        """Return the seconds since the process, or else this run, began."""
        return time.perf_counter() - self._begin

    @contextmanager
    def progress(self, text: str) -> Iterator[Callable[[str, float, float], None]]:
        """Show the current step of the library, at first `text`, and how far it is.

        The display is on standard error: a bar on a terminal, otherwise lines about steps of more
        than three seconds. The yielded function shows a step, the amount of work done, and the
        total amount.
        """
        console = Console(stderr=True)
        display: Any = bar(console, text) if console.is_terminal else lines(text)
        if self.quiet:
            display = nullcontext(lambda *_: None)
        with display as show, listening(None if self.quiet else show):
            yield show

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show a step, and add the time of the block to it."""
        begin = time.perf_counter()
        try:
            with self.progress(name):
                yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin

    @contextmanager
    def computing(self, name: str, *, timed: bool = False) -> Iterator[None]:
        """Show a computation, report invalid input in one line, and print its warnings."""
        show = self.step if timed else self.progress
        with show(name), one_line_errors(), collect_warnings() as texts:
            yield
        noted = {without_options(note) for note in self.notes}
        texts = [t.removesuffix(COLUMN_ADVICE) for t in texts if not t.endswith(MARKER_ADVICE)]
        self.warn([text for text in texts if text not in noted])  # a fit repeats notes on labels

    def about(self, context: typer.Context) -> dict[str, Any]:
        """Return what a report says about the run."""
        about = {"seconds": self.seconds, "warnings": self.warnings, "notes": self.notes}
        return about | {"command": command_line(context, "as_json", "quiet")}

    def warn(self, texts: Sequence[str]) -> None:
        """Keep warnings, and print them."""
        self.warnings += texts
        for warning in () if self.quiet else texts:
            typer.echo(f"warning: {warning}", err=True)

    def print_line(self, text: str) -> None:
        """Print a line of any length without wrapping."""
        self.console.print(visible(text), soft_wrap=True, markup=False)

    def print_text(self, text: str, style: str = "", *, head: str = "") -> None:
        """Print a text, wrapped below its `head`."""
        width = max(self.console.width - len(head), 20)
        for line in Text(visible(text), style).wrap(self.console, width):
            line.rstrip()
            self.console.print(Text(head).append_text(line), soft_wrap=True)
            head = " " * len(head)

    def print_facts(self, facts: Mapping[str, Any], *, width: int = 12) -> None:
        """Print names, in a column of the given width, with values; a list has several."""
        for name, value in facts.items():
            for text in value if isinstance(value, list) else [value]:
                self.print_text(str(text), head=f"{name:<{width - 1}} ")

    def print_table(
        self,
        header: Sequence[str],
        rows: Iterable[Any],
        numeric: Collection[int] = (),
        **style: Any,
    ) -> None:
        """Print texts in columns; those with the positions `numeric` are right-aligned."""
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, **style)
        for k, title in enumerate(header):
            side: Any = "right" if k in numeric else "left"
            table.add_column(Text(name_text(title)), justify=side, overflow="fold")
        for row in rows:
            texts = (shorten(visible(c), _LONGEST) if isinstance(c, str) else c for c in row)
            table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in texts))
        self.console.print(table)

    def print_rows(
        self, columns: list[tuple[str, list[str]]], cells: Sequence[Mapping[str, str | None]]
    ) -> None:
        """Print rows of a table: columns, numbers in every other one, and the cells that fit."""
        numeric = range(0, len(columns), 2)
        more = [(name, [row[name] or "" for row in cells]) for name in (cells[0] if cells else ())]
        widths = accumulate(
            2 + max(map(cell_len, (name, *texts))) for name, texts in [*columns, *more]
        )
        fitting = sum(width <= self.console.width for width in widths)
        header, texts = zip(*[*columns, *more][: max(len(columns), fitting)], strict=True)
        self.print_table(header, zip(*texts, strict=True), numeric)

    def print_json(self, document: Mapping[str, Any]) -> None:
        """Print a JSON document that begins with the version of the library."""
        whole = {"version": lowrankgcn.__version__, **document}
        text = json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False)
        typer.echo(text, err=self.console.stderr)

    def print_times(self) -> None:
        """Print the time since the command was started, and that of its steps."""
        long = {name: taken for name, taken in self.seconds.items() if taken >= _INSTANT}
        steps = ", ".join(f"{name} {duration(taken)}" for name, taken in long.items())
        self.print_facts({"time": f"{duration(self.total())}: {steps}"})


def visible(text: str) -> str:
    r"""Return a text with escapes for characters that move the cursor or change the terminal.

    >>> print(visible("red \x1b[31m\tline\n"))
    red \x1b[31m\tline\n
    """
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def name_text(name: str) -> str:
    """Return a name from the data on one line, shortened; an empty one as two quotes."""
    return shorten(visible(name), _LONGEST) or "''"


def shares_text(shares: Mapping[str, float]) -> str:
    """Return the largest shares, given first, that make up nine tenths; at most five.

    >>> shares_text({"linear": 0.72, "radial": 0.2, "neighbours": 0.08})
    'linear 72 %, radial 20 %'
    """
    before = accumulate(shares.values(), initial=0.0)
    shown = [name for name, total in zip(shares, before, strict=False) if total < _MOST]
    return ", ".join(f"{name_text(name)} {percent(shares[name], 0)}" for name in shown[:_LARGEST])


def command_line(context: typer.Context, *without: str) -> str:
    """Return the command line of a run: arguments of the user, and the seed in any case."""
    words = ["lowrankgcn", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in without or (name != "seed" and not is_from(context, name, "COMMANDLINE")):
            continue
        value = context.params[name]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            names = parameter.secondary_opts if one is False else parameter.opts
            words += [max(names, key=len)] if parameter.param_type_name == "option" else []
            words += [] if isinstance(one, bool) else [str(one)]
    return shlex.join(words)


def is_from(context: typer.Context, parameter: str, source: str) -> bool:
    """Return whether a parameter is from the source "COMMANDLINE" or "DEFAULT"."""
    return str(context.get_parameter_source(parameter)).endswith(source)


def option_error(option: str | None, message: str) -> typer.BadParameter:
    """Return an error about an option; the command prints it in one line and exits with code 2.

    Parameters in a message of the library become options.

    >>> option_error(None, "cars.csv: rank: expected 'auto' with graph='knn'").message
    "cars.csv: --rank: expected 'auto' with --graph knn"
    """
    message = _PARAMETER.sub(r"\1--\2: expected", message)
    return typer.BadParameter(_SETTING.sub(r"--\1 \2", message), param_hint=option)


@contextmanager
def one_line_errors(option: str | None = None, *, writing: Any = None) -> Iterator[None]:
    """Report invalid input, files that fail and lack of memory in one line, with exit code 2.

    Use it only around calls that check what the user gave or that write the file `writing`:
    elsewhere a ValueError is a bug, whose traceback is wanted.
    """
    try:
        yield
    except BrokenPipeError:  # the reader of standard output has ended, and so does the command
        raise typer.Exit from None  # Typer would exit with code 1
    except OSError as error:
        name = "" if error.filename is None else f"{error.filename}: "
        name = name if writing is None else f"cannot write to {os.fspath(writing)}: "
        raise option_error(option, f"{name}{error.strerror or error}") from None
    except (ValueError, EigensolverError, FastSumError) as error:
        raise option_error(option, str(error)) from None
    except MemoryError as error:
        raise option_error(option, f"not enough memory: {error}") from None


def write_output(path: Path | None, text: str, option: str) -> None:
    """Write a text to the file of an option, if it is given."""
    if path is not None:
        with one_line_errors(option, writing=path):
            write_text(path, text)


def check_outputs(files: Files, taken: Files | None = None, advice: str = _ANOTHER) -> None:
    """Check before the work that files can be written, and overwrite nothing of the command.

    Parameters
    ----------
    files : mapping from option to path
        Outputs; None is skipped; "-", standard output, is allowed for ``--out`` only.
    taken : mapping from description to path
        Other files of the command; None and "-" are skipped.
    advice : str
        What to do if two files are the same.

    Raises
    ------
    typer.BadParameter
        If a path is a folder, its folder is missing or not writable, or two of the files are the
        same.
    """
    known = {os.path.realpath(path): name for name, path in (taken or {}).items() if path}
    for option, path in files.items():
        if path is None or (option == "--out" and str(path) == "-"):
            continue
        if str(path) == "-":
            raise option_error(option, "expected a file, got '-'")
        place, stream = os.path.realpath(path), is_stream(path)
        if not stream and (other := known.setdefault(place, option)) != option:
            raise option_error(option, f"{path} would overwrite {other}; {advice}")
        folder = os.path.dirname(place)
        with one_line_errors(option, writing=path):
            if path.is_dir():
                raise IsADirectoryError(21, os.strerror(21))
            if not os.path.isdir(folder):
                raise FileNotFoundError(2, f"there is no folder {folder}")
            if not os.access(path if stream else folder, os.W_OK if stream else os.W_OK | os.X_OK):
                raise PermissionError(13, os.strerror(13))


def prepare_folder(folder: Path) -> None:
    """Make an output folder, and check that it is writable."""
    if folder.exists() and not folder.is_dir():
        raise option_error("--out", f"{folder} is a file, not a folder")
    with one_line_errors("--out", writing=folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13))


def refuse(parameters: Mapping[str, Any], names: str, message: str) -> None:
    """Raise an error about the first of the named options that is in the command line."""
    for name in names.split():
        # Without the option, the parameter is None, or empty if it may be repeated.
        if parameters[name] not in (None, "auto", (), []) and parameters[name] is not False:
            option = name.rstrip("_").replace("_", "-")
            raise option_error(f"--{option}", message)


def given_graph(parameters: Mapping[str, Any], names: str = "graph") -> Path | None:
    """Return the file of a given graph; refuse another one, and options that do not suit it."""
    edges, hyperedges = parameters["edges"], parameters["hyperedges"]
    if edges is not None:
        refuse(parameters, f"hyperedges {names}", "not with --edges")
    elif hyperedges is not None:
        refuse(parameters, names, "not with --hyperedges")
    path: Path | None = hyperedges if edges is None else edges
    return path


def inputs(tables: Iterable[Path], labels: Any = None, graph: Path | None = None) -> Files:
    """Return the files that a command reads, patterns expanded, by a description of each."""
    files = {"the table": tables, "--labels": labels or (), "the graph": [graph] if graph else ()}
    return {
        f"{name} {file}": Path(file)
        for name, paths in files.items()
        for path in paths
        for file in ([] if path.exists() else glob(str(path), recursive=True)) or [str(path)]
    }


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the texts of UserWarnings, each once, instead of printing them."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield texts
        finally:
            users = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
            texts += dict.fromkeys(" ".join(text.split()) for text in users)

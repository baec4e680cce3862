"""The command ``lowrankgcn``: invalid input ends with exit code 2 and one line."""

from __future__ import annotations

import errno
import inspect
import os
import re
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from lowrankgcn import __version__, cli
from lowrankgcn.cli import (
    audit,
    classify,
    compare,
    demo,
    explain,
    predict,
    reproduce,
    studio,
    suggest,
)

#: Words of Typer's messages, as patterns, and those of this library.
_WORDS = {
    "Value error, ": "",
    "Input should be greater than or equal to": "expected a number of at least",
    "Input should be less than or equal to": "expected a number of at most",
    "Input should be a valid integer.*": "expected an integer",
    "Input should be a valid number.*": "expected a number",
}


class _OneLineErrors(TyperGroup):
    """Prints errors in one line instead of a usage screen."""

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and exit with its code."""

        def fail(message: str) -> None:
            typer.echo(f"{options.get('prog_name') or 'lowrankgcn'}: {message}", err=True)

        sys.stdin = sys.stdin or open(os.devnull)  # None if the stream is closed
        sys.stdout = sys.stdout or open(os.devnull, "w")
        if hasattr(sys.stdout, "reconfigure"):  # file names may be invalid text
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **options | {"standalone_mode": False})
            sys.stdout.flush()  # a failure at exit could not be reported
        except (typer.Abort, KeyboardInterrupt):
            code = cli.INTERRUPTED
        except OSError as error:
            code = 0 if isinstance(error, BrokenPipeError) else 2  # the reader closed the pipe
            if code and error.errno != errno.ENOSPC:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discards the rest of the buffer
            if code:
                fail(f"cannot write to standard output: {error.strerror}")
        except Exception as error:
            # Typer raises exceptions of Click or, in newer versions, of its own copy.
            if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
                raise
            fail(_plain(" ".join(str(error.format_message()).split())))
            code = error.exit_code
        if code == cli.INTERRUPTED:
            typer.echo("interrupted", err=True)
        sys.exit(code if isinstance(code, int) else 0)


def _plain(message: str) -> str:
    """Return a message of Typer about a value in the words of this library.

    >>> _plain("Invalid value for '--seed': Input should be greater than or equal to 0")
    "Invalid value for '--seed': expected a number of at least 0"
    """
    found = re.fullmatch(r"(.*: )(?:Value error, )?('.*?') is not one of ([^.]*)\.?", message)
    if found is None:
        for words, plain in _WORDS.items():
            message = re.sub(words, plain, message)
        return message
    choices = found[3].replace("'", "")
    return f"{found[1]}expected one of {choices}, got {found[2]}"


def _several(arguments: list[str]) -> list[str]:
    """Repeat --labels before each of several files after it.

    If the table does not come first, a later file may be the table, unless it is named as a
    journal of the studio.
    """
    table_first = bool(arguments) and not arguments[0].startswith("-")
    repeated, files = [], False
    for before, word in zip(["", *arguments], arguments, strict=False):
        files = not word.startswith("-") and (files or before == "--labels")
        more = files and before != "--labels" and (table_first or word.endswith(".labels.jsonl"))
        repeated += ["--labels", word] if more else [word]
    return repeated


class _Command(TyperCommand):
    """Accepts several files after --labels, and shows --help without the type of flags."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        takes = any("--labels" in one.opts for one in self.params)
        return super().parse_args(ctx, _several(args) if takes else args)

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option --help."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.metavar = ""
        return option


app = typer.Typer(
    cls=_OneLineErrors,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,  # a bug shows Python's own traceback
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lowrankgcn {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Classify tables and point clouds from a few labels."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _module in (classify, predict, audit, explain, suggest, studio, compare, reproduce, demo):
    _command = getattr(_module, _module.__name__.rpartition(".")[2])
    _help, _, _examples = str(inspect.getdoc(_command)).partition("Examples\n--------\n")
    app.command(cls=_Command, help=_help, epilog=f"Examples:\n\n{_examples}")(_command)

"""The command ``lowrankgcn``: invalid input ends with exit code 2 and one line."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

__all__ = ["app", "command_line", "run"]

_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_ORDER = ("classify", "predict", "explain", "suggest", "compare", "reproduce", "demo")


class _OneLineErrors(TyperGroup):
    """Prints errors in one line instead of a usage screen."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return sorted(super().list_commands(ctx), key=_ORDER.index)

    def main(self, *args: Any, **options: Any) -> Any:
        """Run a command and exit with its code."""
        standalone = options.get("standalone_mode", True)
        options["standalone_mode"] = False
        if not standalone:
            return super().main(*args, **options)

        def fail(message: str) -> None:
            typer.echo(f"{options.get('prog_name') or 'lowrankgcn'}: {message}", err=True)

        sys.stdin = sys.stdin or open(os.devnull)  # None if the stream is closed
        sys.stdout = sys.stdout or open(os.devnull, "w")
        if hasattr(sys.stdout, "reconfigure"):  # file names may be invalid text
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **options)
            sys.stdout.flush()  # a failure at exit could not be reported
        except (typer.Abort, KeyboardInterrupt):
            code = _INTERRUPTED
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.ENOSPC):
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discards the rest of the buffer
            code = 0  # the reader closed the pipe
            if error.errno != errno.EPIPE:
                fail(f"cannot write to standard output: {error.strerror}")
                code = 2
        except Exception as error:
            # Typer raises exceptions of Click or, in newer versions, of its own copy.
            if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
                raise
            fail(" ".join(str(error.format_message()).split()))
            code = error.exit_code
        if code == _INTERRUPTED:
            typer.echo("interrupted", err=True)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=_OneLineErrors,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,  # a bug shows Python's own traceback
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Run the command of this process.

    Python ends by the signal itself if the interrupt came while an extension module ran Python
    code, although it was handled. The process therefore exits directly after an interrupt.
    """
    try:
        app(prog_name="lowrankgcn")
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_INTERRUPTED)
        raise


def _show_version(wanted: bool) -> None:
    if wanted:
        from lowrankgcn import __version__

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

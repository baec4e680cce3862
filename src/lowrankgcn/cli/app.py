"""The command ``lowrankgcn`` itself: bad input ends with exit code 2 and one line."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

__all__ = ["app"]

_OUTPUT_ENDS = (errno.EPIPE, errno.ENOSPC)
_INTERRUPTED = 130  # 128 + SIGINT, as shells report it


# In the help: files first, then what a sceptic wants.
_ORDER = ("classify", "predict", "explain", "suggest", "compare", "reproduce", "demo")


class _OneLineErrors(TyperGroup):
    """Says what is wrong in one line instead of a usage screen."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help."""
        return sorted(super().list_commands(ctx), key=_ORDER.index)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, and the process ends with its exit code."""

        def run() -> Any:
            return super(_OneLineErrors, self).main(
                args=args,
                prog_name=prog_name,
                complete_var=complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )

        if not standalone_mode:
            return run()
        if hasattr(sys.stdout, "reconfigure"):  # names of files may be no text
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            code = run()
            sys.stdout.flush()  # at the end of the process nobody could tell of a failure
        except (typer.Abort, KeyboardInterrupt):
            code = _INTERRUPTED
        except OSError as error:
            if error.errno not in _OUTPUT_ENDS:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for what is still to be flushed
            code = 0
            if error.errno != errno.EPIPE:  # else who reads has seen enough
                said = f"cannot write to standard output: {error.strerror}"
                typer.echo(f"{prog_name or 'lowrankgcn'}: {said}", err=True)
                code = 2
        except Exception as error:
            # Typer has these from Click or, in newer versions, from a copy of its own.
            if not (hasattr(error, "format_message") and hasattr(error, "exit_code")):
                raise
            message = " ".join(str(error.format_message()).split())
            typer.echo(f"{prog_name or 'lowrankgcn'}: {message}", err=True)
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


def _show_version(wanted: bool) -> None:
    if wanted:
        from lowrankgcn import __version__

        typer.echo(f"lowrankgcn {__version__}")
        raise typer.Exit


# A callback also keeps Typer from dropping the name of an only command.
@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Low-rank graph convolutional networks for tables and point clouds."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())

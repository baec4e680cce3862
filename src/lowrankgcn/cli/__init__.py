"""The command line: ``run`` is the command ``lowrankgcn``, each of its commands has a module.

The command modules import typer and rich only, so that ``--help`` is fast. The libraries that a
command needs are imported when it runs.
"""

import atexit
import gc
import os
import sys
import time

__all__ = ["INTERRUPTED", "run"]

INTERRUPTED = 130  # exit code: 128 + SIGINT, as shells report it


def run() -> None:
    """Run the command of this process.

    The process exits without the end of Python and of its libraries, for two reasons. After an
    error in a file, threads of Arrow may still parse it, and would abort the process while they are
    destroyed. After an interrupt, Python ends by the signal itself if that came while an extension
    module ran Python code, although it was handled.
    """
    begin, code = time.perf_counter(), INTERRUPTED
    gc.set_threshold(100_000)  # imports make many objects, few of them garbage
    try:
        from lowrankgcn.cli.app import app
        from lowrankgcn.cli.terminal import Run

        Run.process_begin = begin
        app(prog_name="lowrankgcn")
    except KeyboardInterrupt:  # while the modules above were imported
        print("interrupted", file=sys.stderr)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            code = end.code if isinstance(end.code, int) else 0
            atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

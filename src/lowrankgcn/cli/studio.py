"""``lowrankgcn studio``: label rows in the browser."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Stopwatch, progress

if TYPE_CHECKING:
    from lowrankgcn.cli.tables import LabelledTable
    from lowrankgcn.studio.session import Session

EXAMPLES = """Examples:

lowrankgcn studio cars.csv --target price

lowrankgcn studio cars.csv --target price --no-browser --port 9000
"""


def studio(
    context: typer.Context,
    table: options.TableFileArgument,
    target: options.Target,
    port: options.Port = 8765,
    browser: options.Browser = True,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    graph: options.Graph = options.GraphName.auto,
    encoding: options.Encoding = None,
    seed: options.Seed = 0,
) -> None:
    """Label rows in the browser; all other rows are classified anew after each label.

    The page is served to this machine only, at an address with a secret. Every label is
    written at once to a journal beside the table, **TABLE.labels.jsonl**, and read again by the
    next start. The page writes the labelled table, the classified table, the report and the model
    beside the table. Ctrl-C ends the server.
    """
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        message = "needs two more packages: pip install 'lowrankgcn[studio]'"
        raise errors.option_error("studio", message)
    watch = Stopwatch()
    with progress("reading", shown=True), errors.exit_on_user_error():
        from lowrankgcn.cli.tables import read_labelled_table

        data = read_labelled_table(
            table, target, drop, categorical, numeric, encoding, few_labels=True
        )
    with progress("loading", shown=True):
        from lowrankgcn.studio import server
        from lowrankgcn.studio.engine import Engine
        from lowrankgcn.studio.journal import Journal
        from lowrankgcn.studio.session import Session
        from lowrankgcn.studio.view import View
    with progress("fitting", shown=True), errors.exit_on_user_error():
        place = table.with_name(f"{table.name}.labels.jsonl")
        frame = data.table.frame
        journal = Journal(place, target, list(frame.columns), len(frame))
        engine = Engine(data.features, {"graph": graph.value, "random_state": seed})
        session = Session(data.labels.tolist(), journal, engine)
        view = View(table.name, frame, data.columns, data.features, session)
    command = output.command_line(context, without=("port", "browser"))

    def write(what: str, session: Session) -> Path:
        raise NotImplementedError

    listener = server.listen(port)
    port = listener.getsockname()[1]
    token = server.new_token()
    app = server.make_app(view, write, token, port)
    address = f"http://127.0.0.1:{port}/?token={token}"
    typer.echo(f"{table.name}: {len(frame)} rows, labels in {place.name}")
    typer.echo(address)
    typer.echo("Ctrl-C ends the studio")
    if browser:
        import webbrowser

        webbrowser.open(address)
    server.serve(app, listener)

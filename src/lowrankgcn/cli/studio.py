"""``lowrankgcn studio``: label rows in the browser."""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lowrankgcn._format import plural
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Run

if TYPE_CHECKING:
    from lowrankgcn.cli.labelled_table import LabelledTable


@options.added(options.TABLE_OPTIONS)
def studio(
    context: typer.Context,
    table: options.TableFileArgument,
    target: options.Target,
    port: options.Port = 8765,
    browser: options.Browser = True,
    graph: options.Graph = "auto",
    edges: options.Edges = None,
    seed: options.Seed = 0,
    **reading: Any,
) -> None:
    """Label rows in the browser; all other rows are classified anew after each label.

    The page is served to this machine only, at an address with a secret. Every label is written at
    once to a journal beside the table, **TABLE.labels.jsonl**. The next start reads it again, and
    **lowrankgcn classify --labels** accepts it. The page writes the labelled table, the classified
    table, the report and the model beside the table. Ctrl-C ends the server.

    Examples
    --------
    lowrankgcn studio cars.csv --target price

    lowrankgcn studio cars.csv --target price --no-browser --port 9000
    """
    if edges is not None:
        errors.refuse(context.params, "graph", "not with --edges")
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        message = f"needs {' and '.join(missing)}: pip install 'lowrankgcn[studio]'"
        raise errors.option_error("studio", message)
    if str(table) == "-":
        raise errors.option_error("TABLE", "expected a file, got standard input")
    run = Run()
    with run.progress("reading"), errors.exit_on_user_error():
        from lowrankgcn.cli.labelled_table import read_labelled_table

        data = read_labelled_table([table], target, reading, edges=edges, few_labels=True)
    with run.progress("loading"), errors.exit_on_user_error():
        from lowrankgcn.studio import server
        from lowrankgcn.studio.engine import Engine
        from lowrankgcn.studio.export import Export
        from lowrankgcn.studio.journal import Journal
        from lowrankgcn.studio.session import Session
        from lowrankgcn.studio.view import View

        frame, token = data.table.frame, server.new_token()
        place = table.with_name(f"{table.name}.labels.jsonl")
        journal = Journal(place, target, frame)
        journal.read()  # a wrong line need not wait for the graphs
    errors.check_outputs({"the journal": place}, errors.inputs([table]))
    warnings.simplefilter("ignore", UserWarning)  # of graphs; the page shows what matters
    with run.progress("fitting"), errors.exit_on_user_error():
        settings = {"graph": graph, "random_state": seed, **data.graph_option}
        engine = Engine(data.rows, settings)
        session = Session(data.labels.tolist(), journal, engine)
        view = View(table.name, frame, data.columns, data.features, session, engine)
        listener = server.listen(port)
    command = output.command_line(context, without=("port", "browser"))
    port = listener.getsockname()[1]
    export = Export(table, session, engine, partial(_write, data, command))
    app = server.make_app(view, export, token, port)
    address = f"http://127.0.0.1:{port}/?token={token}"
    for note in (*data.notes, *journal.notes):
        typer.echo(f"note: {note}", err=True)
    rows = plural(len(frame), "row")
    typer.echo(f"{table.name}: {rows}, labels in {place.name}\n{address}\nCtrl-C ends the studio")
    if browser:
        import webbrowser

        webbrowser.open(address)
    server.serve(app, listener)


def _write(
    data: LabelledTable, command: str, what: str, out: Path, names: Any, classifier: Any
) -> None:
    """Write the labels, the classified table, the report or the model as ``classify`` does."""
    from lowrankgcn.cli.fitted import FittedTable
    from lowrankgcn.cli.labelled_table import with_labels, write_table
    from lowrankgcn.estimators.evidence import Evidence

    if what == "model" and data.graph is not None:
        raise ValueError("expected a table without --edges: a given graph has no edges to new rows")
    labelled = with_labels(data, names)
    try:
        if what == "labels":
            write_table(labelled.table.frame, out, data.table)
            return
        predictions = labelled.predictions(classifier)
        if what == "table":
            write_table(predictions.added_to(labelled.table.frame), out, data.table)
            return
        evidence = Evidence.from_classifier(classifier, importance=data.graph is None)
        fitted = FittedTable(labelled, classifier, predictions, evidence)
        if what == "model":
            fitted.save(out)
        else:
            fitted.write_report(out, command, classifier.timings_)
    except typer.BadParameter as error:
        raise ValueError(error.message) from None

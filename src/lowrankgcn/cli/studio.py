"""``lowrankgcn studio``: label rows in the browser."""

from __future__ import annotations

import re
import warnings
import webbrowser
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lowrankgcn._format import plural
from lowrankgcn._progress import report_progress
from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import GRAPHS, TABLES, Arguments, command
from lowrankgcn.cli.results import save_model, write_report

_REPORTED = 1000  # tasks between two reports of progress

if TYPE_CHECKING:
    from lowrankgcn.cli.labelled_table import LabelledTable
    from lowrankgcn.studio.state import State


@command(
    f"context table target classes annotator blind {TABLES} image port browser graph {GRAPHS} "
    "safe_csv seed"
)
def studio(args: Arguments) -> None:
    """Label rows in the browser; all other rows are classified anew after each label.

    The page is served to this machine only, at an address with a secret. Every label is written at
    once to a journal beside the table, **TABLE.labels.jsonl**. The next start reads it again, and
    **lowrankgcn classify --labels** accepts it. The page writes the labelled table, the classified
    table, the report and the model beside the table. Ctrl-C ends the server.

    Several people label the same table with **--annotator**, each in a separate journal.
    **lowrankgcn classify --labels** with all journals prints how far they agree; the studio with
    the same **--labels** lists the rows on which they do not.

    Examples
    --------
    lowrankgcn studio cars.csv --target price

    lowrankgcn studio cars.csv --target price --no-browser --port 9000

    lowrankgcn studio mail.csv --target topic --classes bill,spam,other --annotator anna --blind
    """
    table, run = args.table, terminal.Run()
    terminal.given_graph(vars(args))
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        message = f"needs {' and '.join(missing)}: pip install 'lowrankgcn[studio]'"
        raise terminal.option_error("studio", message)
    if str(table) == "-":
        raise terminal.option_error("TABLE", "expected a file, got standard input")
    with run.progress("reading"), terminal.one_line_errors():
        from lowrankgcn.cli.class_file import read_classes
        from lowrankgcn.cli.labelled_table import read_labelled_table

        person = _person(args.annotator)
        place = table.with_name(f"{table.name}{f'.{person}' if person else ''}.labels.jsonl")
        options = vars(args) | {"table": [table], "journal": place}
        data = read_labelled_table(options, few_labels=True, texts_later=True)
        rubric = read_classes(args.classes)
    with run.progress("loading"), terminal.one_line_errors():
        from lowrankgcn.files.journal import Journal
        from lowrankgcn.studio import server
        from lowrankgcn.studio.later import Later
        from lowrankgcn.studio.session import Session
        from lowrankgcn.studio.view import View

        frame, token = data.table.frame, server.new_token()
        rows = {"key": args.key, "by_position": args.by_position}
        journal = Journal(place, args.target, frame, **rows)
        journal.read()  # a wrong line need not wait for the graphs
    terminal.check_outputs({"the journal": place}, terminal.inputs([table]))
    warnings.simplefilter("ignore", UserWarning)  # of graphs; the page shows what matters
    complete: Any = Later(data.with_texts)

    def prepare() -> Any:
        from lowrankgcn.studio.engine import Engine  # its libraries take a second

        table = complete.future.result()
        settings = {"graph": args.graph, "random_state": args.seed, **table.graph_option}
        return Engine(table.rows, settings)

    with run.progress("opening"), terminal.one_line_errors():
        engine: Any = Later(prepare)
        session = Session(
            data.labels.tolist(),
            journal,
            engine,
            classes=list(rubric),
            annotator=person,
            blind=args.blind,
            disputed={} if data.agreement is None else data.agreement.disputed,
            imported=data.imported,
        )
        command_line = terminal.command_line(args.context, "image", "port", "browser")
        writing = partial(_write, data, complete, command_line, args.safe_csv, person)
        view = View(table, data, session, engine, writing, args.image, rubric)
        listener = server.listen(args.port)
    port = listener.getsockname()[1]
    app = server.make_app(view, token, port)
    address = server.address(token, port)
    for note in (*data.notes, *journal.notes):
        typer.echo(f"note: {note}", err=True)
    count = plural(len(frame), "row")
    typer.echo(f"{table.name}: {count}, labels in {place.name}\n{address}\nCtrl-C ends the studio")
    if args.browser:
        webbrowser.open(address)
    server.serve(app, listener, engine.future)
    if engine.future.done():
        with terminal.one_line_errors():
            engine.future.result()


def _person(name: str | None) -> str | None:
    """Return the name of who labels, which is a part of the name of the journal."""
    if name is not None and (not re.fullmatch(r"\w[\w .@-]*", name) or name.endswith(".")):
        raise ValueError(f"--annotator: expected letters, digits and blanks, got {name!r}")
    return name


def _write(
    data: LabelledTable,
    complete: Any,
    command_line: str,
    safe: bool,
    person: str | None,
    what: str,
    out: Path,
    state: State,
    classifier: Any,
) -> None:
    """Write the labels, the classified table, the report or the model as ``classify`` does."""
    from lowrankgcn.cli.earlier_runs import with_marks
    from lowrankgcn.cli.labelled_table import with_labels, write_table
    from lowrankgcn.estimators.evidence import Evidence

    if what == "model" and data.graph is not None:
        raise ValueError("expected a table without --edges: a given graph has no edges to new rows")
    if what in ("table", "report", "model"):
        data = complete.future.result()
    labelled = with_labels(data, state.names())
    frame = labelled.table.frame
    try:
        if what == "labels":
            write_table(with_marks(frame, state.marks, state.names()), out, data.table, safe=safe)
        elif what == "table":
            predictions = labelled.predictions(classifier, audit=True)
            write_table(predictions.added_to(frame)[0], out, data.table, safe=safe)
        elif what == "label-studio":
            _write_tasks(labelled, state, person, out)
        elif what == "model":
            save_model(out, labelled, classifier)
        else:
            evidence = Evidence.from_classifier(classifier, importance=data.graph is None)
            about = {"command": command_line, "notes": data.notes}
            write_report(out, labelled, classifier, evidence, **about)
    except typer.BadParameter as error:
        raise ValueError(error.message) from None


def _write_tasks(data: LabelledTable, state: State, person: str | None, out: Path) -> None:
    """Write labels, skipped rows, notes and predictions in the form of Label Studio."""
    import json

    from lowrankgcn._atomic import replacing
    from lowrankgcn.files.label_studio import make_tasks

    predictions = [state.prediction(row) for row in range(len(state.labels))]
    labels, target = state.names().tolist(), data.columns.target
    notes, skipped = state.marks["note"], state.marks["skipped"]
    frame = data.table.frame
    tasks = make_tasks(frame, target, labels, predictions, notes, skipped, by=person)
    with replacing(out) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for row, task in enumerate(tasks):
            if row % _REPORTED == 0:
                report_progress("writing", row, len(frame))
            file.write(",\n" if row else "[\n")
            file.write(json.dumps(task, ensure_ascii=False))
        file.write("\n]\n")

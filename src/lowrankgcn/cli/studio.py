"""``lowrankgcn studio``: label rows in the browser."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lowrankgcn._format import plural
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import progress

if TYPE_CHECKING:
    from lowrankgcn.cli.tables import LabelledTable
    from lowrankgcn.studio.engine import Engine
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
    labels: options.MoreLabels = None,
    key: options.Key = None,
    unlabelled: options.Unlabelled = None,
    class_: options.Classes = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    text: options.Text = None,
    graph: options.Graph = options.GraphName.auto,
    edges: options.Edges = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    seed: options.Seed = 0,
) -> None:
    """Label rows in the browser; all other rows are classified anew after each label.

    The page is served to this machine only, at an address with a secret. Every label is written at
    once to a journal beside the table, **TABLE.labels.jsonl**. The next start reads it again, and
    **lowrankgcn classify --labels** accepts it. The page writes the labelled table, the classified
    table, the report and the model beside the table. Ctrl-C ends the server.
    """
    errors.check_edges(context)
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        message = f"needs {' and '.join(missing)}: pip install 'lowrankgcn[studio]'"
        raise errors.option_error("studio", message)
    if str(table) == "-":
        raise errors.option_error("TABLE", "expected a file, got standard input")
    with progress("reading", shown=True), errors.exit_on_user_error():
        from lowrankgcn.cli.tables import read_labelled_table

        data = read_labelled_table([table], target, context.params, few_labels=True)
    with progress("loading", shown=True), errors.exit_on_user_error():
        from lowrankgcn.studio import server
        from lowrankgcn.studio.engine import Engine
        from lowrankgcn.studio.journal import Journal
        from lowrankgcn.studio.session import Session
        from lowrankgcn.studio.view import View

        frame, token = data.table.frame, server.new_token()
        place = table.with_name(f"{table.name}.labels.jsonl")
        journal = Journal(place, target, frame)
        journal.read()  # a wrong line need not wait for the graphs
    errors.check_outputs({"the journal": place}, errors.inputs([table]))
    warnings.simplefilter("ignore", UserWarning)  # of graphs; the page shows what matters
    with progress("fitting", shown=True), errors.exit_on_user_error():
        settings = {"graph": graph.value, "random_state": seed, **data.graph_option}
        engine = Engine(data.rows, settings)
        session = Session(data.labels.tolist(), journal, engine)
        view = View(table.name, frame, data.columns, data.features, session, engine)
        listener = server.listen(port)
    command = output.command_line(context, without=("port", "browser"))
    port = listener.getsockname()[1]
    app = server.make_app(view, _writer(table, data, session, engine, command), token, port)
    address = f"http://127.0.0.1:{port}/?token={token}"
    rows = plural(len(frame), "row")
    for note in (*data.table.notes, *data.notes, *journal.notes):
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"{table.name}: {rows}, labels in {place.name}\n{address}\nCtrl-C ends the studio")
    if browser:
        import webbrowser

        webbrowser.open(address)
    server.serve(app, listener)


def _writer(
    path: Path, data: LabelledTable, session: Session, engine: Engine, command: str
) -> Callable[[str], Path]:
    """Return a function that writes a file beside the table and returns its path."""
    stem, ending = _stem_and_ending(path)
    endings = {
        "labels": f"labelled{ending}",
        "table": f"classified{ending}",
        "report": "report.html",
        "model": "model",
    }
    written: dict[str, Path] = {}

    def write(what: str) -> Path:
        out = written.get(what) or _free(path.with_name(f"{stem}.{endings[what]}"))
        try:
            _write(what, out, data, session, engine, command)
        except typer.BadParameter as error:
            raise ValueError(error.message) from None
        written[what] = out
        return out

    return write


def _stem_and_ending(path: Path) -> tuple[str, str]:
    """Split a file name before the ending of its format; CSV if that cannot be written."""
    from lowrankgcn.files.writing import output_format

    parts = path.name.split(".")
    for count in (2, 1):  # .csv.gz, .csv
        stem, ending = ".".join(parts[:-count]), ".".join(["", *parts[-count:]])
        with suppress(ValueError):
            if stem and output_format(f"x{ending}"):
                return stem, ending
    return path.stem, ".csv"


def _free(path: Path) -> Path:
    """Return a path, numbered if there is such a file already."""
    stem, _, rest = path.name.partition(".")
    found, number = path, 2
    while found.exists():
        found, number = path.with_name(f"{stem}-{number}.{rest}"), number + 1
    return found


def _write(
    what: str, out: Path, data: LabelledTable, session: Session, engine: Engine, command: str
) -> None:
    from lowrankgcn.cli.tables import with_labels, write_table

    if what == "labels":
        names = session.labels()
        write_table(with_labels(data, names).table.frame, out, data.table)
        return
    if what == "model" and data.graph is not None:
        raise ValueError("expected a table without --edges: a given graph has no edges to new rows")
    state = session.settled()
    answer = state.answer
    if state.message is not None:
        raise ValueError(state.message)
    classifier = engine.fitted(answer)
    if classifier is None or answer.distributions is None:
        raise ValueError("expected labels of at least two classes; label some rows first")
    from lowrankgcn.cli.fitted import FittedTable
    from lowrankgcn.estimators.evidence import Evidence

    labelled = with_labels(data, answer.labels)
    shares = classifier.label_distributions_
    predictions = labelled.predictions(classifier.classes_, shares, labelled.labels)
    if what == "table":
        write_table(predictions.added_to(labelled.table.frame), out, data.table)
        return
    importance = data.graph is None
    evidence = Evidence.from_classifier(classifier, importance=importance)
    fitted = FittedTable(labelled, classifier, predictions, evidence, [])
    if what == "model":
        fitted.save(out)
    else:
        fitted.write_report(out, command, classifier.timings_)

"""``lowrankgcn studio``: label rows in the browser."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lowrankgcn._format import plural
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Run

if TYPE_CHECKING:
    from lowrankgcn.cli.labelled_table import LabelledTable
    from lowrankgcn.studio.engine import Engine
    from lowrankgcn.studio.session import Session


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
    app = server.make_app(view, _Writer(table, data, session, engine, command), token, port)
    address = f"http://127.0.0.1:{port}/?token={token}"
    for note in (*data.notes, *journal.notes):
        typer.echo(f"note: {note}", err=True)
    rows = plural(len(frame), "row")
    typer.echo(f"{table.name}: {rows}, labels in {place.name}\n{address}\nCtrl-C ends the studio")
    if browser:
        import webbrowser

        webbrowser.open(address)
    server.serve(app, listener)


@dataclass(frozen=True, eq=False)
class _Writer:
    """Writes files beside the table, each again to the same path."""

    table: Path
    data: LabelledTable
    session: Session
    engine: Engine
    command: str
    written: dict[str, Path] = field(default_factory=dict)

    def __call__(self, what: str) -> Path:
        """Write "labels", "table", "report" or "model"; return the path."""
        stem, ending = _stem_and_ending(self.table)
        names = {
            "labels": f"labelled{ending}",
            "table": f"classified{ending}",
            "report": "report.html",
            "model": "model",
        }
        out = self.written.get(what) or _free(self.table.with_name(f"{stem}.{names[what]}"))
        try:
            self._write(what, out)
        except typer.BadParameter as error:
            raise ValueError(error.message) from None
        self.written[what] = out
        return out

    def _write(self, what: str, out: Path) -> None:
        from lowrankgcn.cli.labelled_table import with_labels, write_table

        data = self.data
        if what == "labels":
            write_table(with_labels(data, self.session.labels()).table.frame, out, data.table)
            return
        if what == "model" and data.graph is not None:
            message = "expected a table without --edges: a given graph has no edges to new rows"
            raise ValueError(message)
        state = self.session.settled()
        if state.message is not None:
            raise ValueError(state.message)
        classifier = self.engine.fitted(state.answer)
        if classifier is None or state.answer.distributions is None:
            raise ValueError("expected labels of at least two classes; label some rows first")
        from lowrankgcn.cli.fitted import FittedTable
        from lowrankgcn.estimators.evidence import Evidence

        labelled = with_labels(data, state.answer.labels)
        predictions = labelled.predictions(classifier)
        if what == "table":
            write_table(predictions.added_to(labelled.table.frame), out, data.table)
            return
        evidence = Evidence.from_classifier(classifier, importance=data.graph is None)
        fitted = FittedTable(labelled, classifier, predictions, evidence)
        if what == "model":
            fitted.save(out)
        else:
            fitted.write_report(out, self.command, classifier.timings_)


def _stem_and_ending(path: Path) -> tuple[str, str]:
    """Split a file name before the ending of its format; CSV if that cannot be written."""
    from lowrankgcn.files.writing import output_format

    for ending in ("".join(path.suffixes[-2:]), path.suffix):  # .csv.gz, .csv
        with suppress(ValueError):
            output_format(f"x{ending}")
            return path.name.removesuffix(ending), ending
    return path.stem, ".csv"


def _free(path: Path) -> Path:
    """Return a path, numbered if there is such a file already."""
    stem, _, rest = path.name.partition(".")
    numbered = (path.with_name(f"{stem}-{number}.{rest}") for number in count(2))
    return next(one for one in chain([path], numbered) if not one.exists())

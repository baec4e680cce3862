"""``lowrankgcn explain``: explain the predictions of a saved model for some rows."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from lowrankgcn._format import plural
from lowrankgcn.cli import errors, options, output
from lowrankgcn.cli.progress import Run
from lowrankgcn.exceptions import prefix_errors

if TYPE_CHECKING:
    from lowrankgcn.estimators.explanation import ExplainedRow


@options.added(options.FILE_OPTIONS)
def explain(
    model: options.ModelFile,
    table: options.Tables,
    row: options.RowNumbers,
    by: options.By = "auto",
    top: options.Top = 10,
    as_json: options.AsJson = False,
    **reading: Any,
) -> None:
    """Explain the predicted classes of rows.

    The **log-odds** of a row compare its class with the second most probable class. They are the
    sum of a baseline and of contributions of columns, labelled rows or blocks: positive ones
    support the class, negative ones the second class.

    Examples
    --------
    lowrankgcn explain cars.model more-cars.csv --row 1

    lowrankgcn explain cars.model more-cars.csv --row 3 --row 17 --by rows --json
    """
    run = Run(as_json=as_json)
    with run.progress("reading"):
        from lowrankgcn.cli.labelled_table import read_table
        from lowrankgcn.cli.models import load_model

        with errors.exit_on_user_error():
            saved, columns = load_model(model)
            classifier = saved.restored()
            if not hasattr(classifier, "explain"):
                raise ValueError(f"{model}: networks have no explanations; use --method gp")
            file = read_table(table, reading)
        if max(row) > len(file.frame):
            count = plural(len(file.frame), "row")
            message = f"{file.name} has {count}, there is no row {max(row)}"
            raise errors.option_error("--row", message)
        with errors.exit_on_user_error(), prefix_errors(file.name):
            chosen = file.frame.iloc[[number - 1 for number in row]]
            features = columns.features(chosen, decimal=file.decimal)
    with run.progress("explaining"), errors.exit_on_user_error():
        explanation = classifier.explain(features, by=by)
    explained = [replace(one, row=number - 1) for one, number in zip(explanation, row, strict=True)]
    source = saved.description.get("source")
    source = source if isinstance(source, str) else None
    if as_json:
        document = {"model": str(model), "table": file.name, "learned_from": source}
        rows = [_document(one, top) for one in explained]
        output.print_json(document | {"by": explanation.by, "rows": rows})
        return
    lines = [text for one in explained for text in one.lines(explanation.by, top, first=1)]
    if explanation.by == "rows":
        lines.append(f"labelled rows are those of {source or 'the training table'}")
    for text in lines:
        output.print_line(run.console, text)


def _document(one: ExplainedRow, top: int) -> dict[str, Any]:
    parts = [asdict(part) for part in one.contributions]
    for part in parts:
        part["name"] = int(part["name"]) + 1 if part["kind"] == "row" else part["name"]
    document = {"row": one.row + 1, "prediction": one.predicted}
    document |= {name: value for name, value in asdict(one).items() if name != "predicted"}
    others = sum(part["amount"] for part in parts[top:])
    return document | {"row": one.row + 1, "contributions": parts[:top], "others": others}

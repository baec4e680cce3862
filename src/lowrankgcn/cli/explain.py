"""``lowrankgcn explain``: explain the predictions of a saved model for some rows."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from lowrankgcn._format import plural
from lowrankgcn.cli.options import FILES, Arguments, command
from lowrankgcn.cli.predict import model_columns
from lowrankgcn.cli.terminal import Run, one_line_errors, option_error
from lowrankgcn.exceptions import prefix_errors

if TYPE_CHECKING:
    from lowrankgcn.estimators.explanation import ExplainedRow


@command(f"model tables row {FILES} by top as_json")
def explain(args: Arguments) -> None:
    """Explain the predicted classes of rows.

    The **log-odds** of a row compare its class with the second most probable class. They are the
    sum of a baseline and of contributions of columns, labelled rows or blocks: positive ones
    support the class, negative ones the second class.

    Examples
    --------
    lowrankgcn explain cars.model more-cars.csv --row 1

    lowrankgcn explain cars.model more-cars.csv --row 3 --row 17 --by rows --json
    """
    run, model, numbers = Run(as_json=args.as_json), args.model, args.row
    with run.progress("reading"):
        from lowrankgcn.cli.labelled_table import read_table
        from lowrankgcn.estimators.model_files import read_model

        with one_line_errors():
            saved = read_model(model)
            columns = model_columns(model, saved)
            classifier = saved.restored()
            if not hasattr(classifier, "explain"):
                raise ValueError(f"{model}: networks have no explanations; use --method gp")
            file = read_table(vars(args))
        if max(numbers) > len(file.frame):
            count = plural(len(file.frame), "row")
            message = f"{file.name} has {count}, there is no row {max(numbers)}"
            raise option_error("--row", message)
        with one_line_errors(), prefix_errors(file.name):
            chosen = file.rows().take([number - 1 for number in numbers])
            features = columns.features(chosen, decimal=file.decimal)
    with run.progress("explaining"), one_line_errors():
        explanation = classifier.explain(features, by=args.by)
    explained = [replace(one, row=n - 1) for one, n in zip(explanation, numbers, strict=True)]
    source = saved.description.get("source")
    if args.as_json:
        document = {"model": str(model), "table": file.name, "learned_from": source}
        rows = [_document(one, args.top) for one in explained]
        run.print_json(document | {"by": explanation.by, "rows": rows})
        return
    for one in explained:
        for text in one.lines(explanation.by, args.top, first=1):
            run.print_line(text)
    if explanation.by == "rows":
        run.print_line(f"labelled rows are those of {source or 'the training table'}")


def _document(one: ExplainedRow, top: int) -> dict[str, Any]:
    from lowrankgcn.estimators.explanation import Nearest

    parts = [asdict(part) for part in one.contributions]
    for part in parts:
        part["name"] = int(part["name"]) + 1 if part["kind"] == "row" else part["name"]
        if isinstance(part["value"], Nearest):
            near = zip(part["value"].rows, part["value"].classes, strict=True)
            part["value"] = [{"row": row + 1, "class": label} for row, label in near]
    document = {"row": one.row + 1, "prediction": one.predicted, **asdict(one)}
    if one.linked is None:  # no node of a graph
        del document["linked"]
    del document["predicted"]
    others = sum(part["amount"] for part in parts[top:])
    return document | {"row": one.row + 1, "contributions": parts[:top], "others": others}

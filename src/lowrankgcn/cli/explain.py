"""``lowrankgcn explain``: explain the predictions of a saved model for some rows."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from lowrankgcn._format import plural
from lowrankgcn.cli.options import FILES, Arguments, command
from lowrankgcn.cli.predict import matcher, model_columns
from lowrankgcn.cli.terminal import Run, check_outputs, inputs, one_line_errors, option_error
from lowrankgcn.exceptions import prefix_errors

if TYPE_CHECKING:
    from lowrankgcn.estimators.explanation import ExplainedRow


@command(f"model tables some_rows {FILES} allow_missing by top explained as_json")
def explain(args: Arguments) -> None:
    """Explain the predicted classes of rows.

    The **log-odds** of a row compare its class with the second most probable class. They are the
    sum of a baseline and of contributions of columns, labelled rows or blocks: positive ones
    support the class, negative ones the second class.

    **--out** writes a table of the rows with their class and the strongest reasons for it, in
    words.

    Examples
    --------
    lowrankgcn explain cars.model more-cars.csv --row 1

    lowrankgcn explain cars.model more-cars.csv --row 3 --row 17 --by rows --json

    lowrankgcn explain cars.model more-cars.csv --out reasons.xlsx
    """
    model, numbers, out = args.model, args.row, args.out
    check_outputs({"--out": out}, {"the model": model, **inputs(args.table)})
    if not numbers and out is None:
        raise option_error("--row", "name a row, or by --out a file for all rows")
    run = Run(as_json=args.as_json, rows_printed=str(out) == "-")
    with run.progress("reading"):
        from lowrankgcn.cli.labelled_table import check_ending, read_table, write_table
        from lowrankgcn.cli.predictions import explain_rows, reason_columns, with_columns
        from lowrankgcn.estimators.model_files import read_model

        check_ending(out)
        with one_line_errors():
            saved = read_model(model)
            columns = model_columns(model, saved)
            classifier = saved.restored()
            if not hasattr(classifier, "explain"):
                raise ValueError(f"{model}: networks have no explanations; use --method gp")
            file = read_table(vars(args))
        numbers = numbers or list(range(1, len(file.frame) + 1))
        if max(numbers, default=0) > len(file.frame):
            count = plural(len(file.frame), "row")
            message = f"{file.name} has {count}, there is no row {max(numbers)}"
            raise option_error("--row", message)
        with one_line_errors(), prefix_errors(file.name):
            matched, renamed = matcher(columns, file, args.allow_missing)(file.frame)
            index = [number - 1 for number in numbers]
            run.notes += [*file.notes, *renamed]
            features = columns.features(file.rows(matched).take(index), decimal=file.decimal)
    with run.progress("explaining"), one_line_errors():
        explained = explain_rows(classifier, features, by=args.by, rough=not args.row)
    explained = [replace(one, row=n - 1) for one, n in zip(explained, numbers, strict=True)]
    by: Any = "columns" if args.by == "auto" else args.by  # models in files are those of tables
    written: dict[str, str] = {}
    if out is not None:
        reasons = reason_columns(explained, range(len(explained)), len(explained))
        about = {"row": numbers, "prediction": [str(one.predicted) for one in explained]}
        about["probability"] = [round(one.probability, 6) for one in explained]
        frame, notes = with_columns(file.frame.iloc[index], {**about, **reasons})
        run.notes += notes
        written = write_table(frame, out, file)
    source = saved.description.get("source")
    if args.as_json:
        document = {"model": str(model), "table": file.name, "learned_from": source}
        rows = [_document(one, args.top) for one in explained]
        more = {"notes": run.notes, "files": written}
        run.print_json(document | {"by": by, "rows": rows} | more)
        return
    for one in explained if args.row else ():
        for text in one.lines(by, args.top, first=1):
            run.print_line(text)
    if by == "rows":
        run.print_line(f"labelled rows are those of {source or 'the training table'}")
    run.print_facts({**written, "note": run.notes})


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

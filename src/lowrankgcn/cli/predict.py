"""``lowrankgcn predict``: classify another table with a saved model."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lowrankgcn._format import listed, percent, plural
from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import FILES, Arguments, command
from lowrankgcn.cli.terminal import one_line_errors
from lowrankgcn.exceptions import prefix_errors

if TYPE_CHECKING:
    from lowrankgcn.estimators.model_files import SavedClassifier
    from lowrankgcn.files import Columns, TableFile

_SHOWN = 3  # unknown values in a note


@command(
    f"model tables {FILES} allow_missing out overwrite safe_csv probabilities reasons level "
    "as_json quiet"
)
def predict(args: Arguments) -> None:
    """Classify all rows of a table with a model written by `classify --save`.

    Columns are matched by name, in any order, without case and blanks if need be; others are
    ignored. **--allow-missing** treats absent columns as columns of missing cells. Values that the
    model was not trained on are counted. The output has two more columns, **prediction** and
    **probability**; it is printed unless **--out** or **--json** is given.

    Examples
    --------
    lowrankgcn predict cars.model more-cars.csv --out classified.csv

    lowrankgcn predict cars.model - < more-cars.csv
    """
    model, out, level = args.model, args.out, args.level
    terminal.check_outputs({"--out": out}, {"the model": model})
    inputs = {} if args.overwrite else terminal.inputs(args.table)
    terminal.check_outputs({"--out": out}, inputs, advice=terminal.OVERWRITE)
    to_stdout = str(out) == "-" or not (out or args.as_json or args.quiet)
    run = terminal.Run(quiet=args.quiet, as_json=args.as_json, rows_printed=to_stdout)
    with run.step("loading"):
        from lowrankgcn.cli.block_rows import predicted_rows, write_rows
        from lowrankgcn.cli.earlier_runs import columns_of_earlier_run, earlier_note
        from lowrankgcn.cli.labelled_table import check_ending, read_table
        from lowrankgcn.cli.large_table import open_large
        from lowrankgcn.estimators.model_files import read_model
    check_ending(out)
    with run.step("reading"), one_line_errors():
        classifier = read_model(model)
        columns = model_columns(model, classifier)
        source = open_large(vars(args))
        file = read_table(vars(args)) if source is None else source.head()
        with prefix_errors(file.name):
            match = matcher(columns, file, args.allow_missing)
            matched, notes = match(file.frame)
            features = columns.features(file.rows(matched), decimal=file.decimal)
    earlier = columns_of_earlier_run(file.frame)
    earlier = [name for name in earlier if name not in columns.used]
    with run.computing("prediction", timed=True):
        whole = features if source is None else None
        explainer = classifier.restored() if args.reasons else None
        if args.reasons and not hasattr(explainer, "explain"):
            raise ValueError(f"{model}: no reasons of networks; use --method gp")
        work = predicted_rows(classifier, columns, file, whole, earlier, level, explainer, match)
        tally, renamed = write_rows(
            [file.frame] if source is None else source.blocks("prediction"),
            work,
            0,
            out,
            file,
            each_class=args.probabilities,
            written=out is not None or to_stdout,
            safe=args.safe_csv,
        )
    run.warn(tally.warnings())
    if out is not None and str(out) != "-":
        run.files["written"] = str(out)
    facts = {
        "model": f"{model}, {plural(len(columns.used), 'column')}, classes "
        + ", ".join(tally.classes),
        "table": f"{file.name}: {plural(tally.n_rows, 'row')}",
    }
    agreement = None
    if tally.checked:
        agreement = {"right": tally.right, "rows": tally.checked}
        share = percent(tally.right / tally.checked)
        facts["agreement"] = f"{share} of {plural(tally.checked, 'labelled row')}"
    if tally.other_labels:
        texts = listed(map(repr, sorted(tally.other_labels)), _SHOWN)
        number = plural(tally.other_labels.total(), "label")
        others = f"{number} of names that are no class of the model ({texts})"
        run.notes.append(f"column {columns.target!r}: {others} count as wrongly predicted")
    expected = {columns.target, *columns.used, *columns.left_out, *earlier}
    extra = [name for name in file.frame.columns if name in matched and name not in expected]
    run.notes += [*file.notes, *notes, *earlier_note(earlier, "replaced")]
    if extra:
        run.notes.append("columns that the model does not use: " + ", ".join(map(repr, extra)))
    unknown: Counter[str] = Counter()
    for (name, _), cells in tally.unknown.items():
        unknown[name] += cells
    for name, cells in unknown.items():
        values = sorted(value for column, value in tally.unknown if column == name)
        unseen = f"values unknown to the model ({listed(map(repr, values), _SHOWN)})"
        run.notes.append(f"column {name!r}: {plural(cells, 'cell')} with {unseen}")
    run.notes += renamed
    document = {
        "model": str(model),
        "table": file.name,
        "rows": tally.n_rows,
        "unknown_values": dict(unknown),
        "passed_over": extra,
        "agreement": agreement,
        "unsure": tally.unsure,
    }
    tally.print_summary(run, facts, document)


def model_columns(path: Path, classifier: SavedClassifier) -> Columns:
    """Return the columns that a model needs.

    ``classify --save`` stores them; a model saved from Python has them if it was fitted to a table
    with column names.

    Raises
    ------
    ValueError
        If there are no column names.
    """
    columns: Columns | None = classifier.description.get("columns", classifier.columns)
    if columns is None or classifier.feature_names_in is None:
        advice = "fit it to a table with column names"
        raise ValueError(f"{path}: the model has no column names; {advice}")
    return columns


def matcher(
    columns: Columns, file: TableFile, allow_missing: bool
) -> Callable[[Any], tuple[Any, list[str]]]:
    """Return what gives the rows of a file the names of the columns of a model, with notes."""
    from lowrankgcn.files.reading import VECTORS
    from lowrankgcn.tables.column_names import match_columns

    names = [one for one in columns.used if one != VECTORS or file.vectors is None]
    matched = match_columns(file.frame, names)[0].columns
    absent = [name for name in names if name not in matched]
    other = next((one for one, cells in file.sheets.items() if {*names} <= {*cells}), None)
    if absent and other is not None and not allow_missing:
        got = f"the sheet that was read has no column {absent[0]!r} of the model"
        raise ValueError(f"{got}; --sheet {shlex.quote(other)} has all of its columns")
    return partial(match_columns, names=names, allow_missing=allow_missing)

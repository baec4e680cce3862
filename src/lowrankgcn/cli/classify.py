"""``lowrankgcn classify``: predict the missing labels of a table."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import lowrankgcn
from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import GRAPHS, TABLES, Arguments, command
from lowrankgcn.exceptions import TORCH_MISSING, torch_installed

_FEW_COLUMNS = 30  # the importance of more columns is computed on request only


@command(
    f"context table_or_folder target {TABLES} out_or_folder overwrite safe_csv report save "
    "probabilities reasons level importance method class_shares class_weight graph "
    f"{GRAPHS} rank architecture filter bandwidth scheduler workers seed as_json quiet"
)
def classify(args: Arguments) -> None:
    """Predict the class of every row whose target cell is empty.

    Labelled rows train the model; the others are predicted. Identifiers (texts in which nearly
    every row has a different value, and numbers of the rows), constant and empty columns, and
    predictions of an earlier run are ignored.

    The output has two more columns: **prediction**, the class of the row (labelled rows keep their
    label), and **probability**, the probability of that class. Without **--out**, **--report**,
    **--save** and **--json**, the predicted rows are printed.

    **--labels** adds the labels of another file, such as the rows that **lowrankgcn suggest**
    wrote, labelled in a spreadsheet. With **--edges** or **--hyperedges** the rows are the nodes of
    a given graph, and the columns are their features.

    A folder of Parquet files is read block by block with Dask; **--out** then names a new folder.

    Examples
    --------
    lowrankgcn classify cars.csv --target price --out classified.csv

    lowrankgcn classify cars.csv --target price --report report.html --save cars.model

    lowrankgcn classify cars.xlsx --target price --labels more-labels.xlsx --out classified.xlsx

    lowrankgcn classify papers.csv --target topic --edges citations.csv --key title

    lowrankgcn classify - --target price --drop id,name < cars.csv > only-the-new-rows.csv

    lowrankgcn classify parquet-files/ --target price --out classified/ --workers 4
    """
    options = vars(args)
    name, settings = _classifier_settings(options)
    if args.scheduler is not None and args.workers is not None:
        raise terminal.option_error("--scheduler", "cannot be combined with --workers")
    if any(path.is_dir() for path in args.table):
        from lowrankgcn.cli.folder import classify_folder

        classify_folder(args, name, settings)
        return
    terminal.refuse(options, "scheduler workers", "only available for folders of Parquet files")
    given = terminal.given_graph(options, "graph save importance bandwidth reasons")
    inputs = terminal.inputs(args.table, args.labels, given)
    out, report, save = args.out, args.report, args.save
    replaceable = {} if args.overwrite else inputs
    terminal.check_outputs({"--out": out}, replaceable, advice=terminal.OVERWRITE)
    terminal.check_outputs({"--report": report, "--save": save}, {**inputs, "--out": out})
    to_stdout = str(out) == "-" or not (out or report or save or args.as_json or args.quiet)
    run = terminal.Run(quiet=args.quiet, as_json=args.as_json, rows_printed=to_stdout)
    with run.step("loading"):
        from lowrankgcn.cli.labelled_table import check_ending, read_labelled_table
        from lowrankgcn.cli.results import fit_summary, save_model, write_report
    check_ending(out)
    with run.step("reading"), terminal.one_line_errors():
        data = read_labelled_table(options, in_blocks=True)
        if save is None and data.labels.notna().all() and data.n_rows == len(data.labels):
            advice = "" if given else ", --save keeps a model for other tables"
            message = "there is a label in every row, nothing to predict; "
            message += f"lowrankgcn audit checks the labels{advice}"
            markers = [note for note in data.notes if "did you mean --unlabelled" in note]
            message = "; ".join([message, *markers])
            raise ValueError(f"{data.table.name}: column {args.target!r}: {message}")
    run.notes += data.notes
    # Importing the classifier takes a second or more; an invalid table need not wait for it.
    with run.step("loading"):
        from lowrankgcn.cli.block_rows import FittedRows, totals, write_rows
        from lowrankgcn.estimators.evidence import Evidence

        classifier = getattr(lowrankgcn, name)(**settings)
    with run.computing("fitting"):
        if data.source is not None:  # rows without cells are counted in the whole file
            warnings.filterwarnings("ignore", "the probabilities of")
        classifier.set_params(**data.graph_option).fit(data.rows, data.labels)
        run.notes += getattr(classifier, "approximations_", ())
    run.seconds |= classifier.timings_
    importance = args.importance
    if importance is None:
        few = data.features.shape[1] <= _FEW_COLUMNS
        importance = given is None and (args.as_json or report is not None or few)
    with run.computing("importance", timed=True):
        evidence = Evidence.from_classifier(classifier, importance=importance)
    with run.step("writing" if args.level is None else "sets"):
        work = FittedRows(data, classifier, args.level, reasons=args.reasons)
    with run.step("writing" if data.source is None else "classifying"):
        tally, notes = write_rows(
            data.blocks(),
            work,
            data.n_rows,
            out,
            data.table,
            each_class=args.probabilities,
            written=out is not None or to_stdout,
            new_only=out is None,
            safe=args.safe_csv,
        )
        tally.audit = work.audit
        run.notes += notes
        run.warn(tally.warnings())
        if out is not None and str(out) != "-":
            run.files["written"] = str(out)
    with run.step("writing"):
        if report is not None:
            shown = tally.set_facts() | (totals(tally) if data.source is not None else {})
            about = run.about(args.context) | {"facts": shown}
            write_report(report, data, classifier, evidence, **about)
            run.files["report"] = str(report)
        if save is not None:
            save_model(save, data, classifier, tally.unreadable)
            run.files["model"] = str(save)
    facts, document = fit_summary(data, tally, classifier, evidence)
    document |= tally.set_counts()
    if data.agreement is not None:
        document["agreement"] = data.agreement.document()
    tally.print_summary(run, facts, document, evidence)


def _classifier_settings(options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of the classifier, which must belong to the method."""
    network = options["method"] == "gcn"
    if network and not torch_installed():
        raise terminal.option_error("--method", TORCH_MISSING)
    for_others = "level reasons" if network else "architecture filter bandwidth"
    terminal.refuse(options, for_others, f"only with --method {'gp' if network else 'gcn'}")
    names = ("graph", "rank", "architecture", "filter", "bandwidth")
    settings = {name: options[name] for name in names if options[name] is not None}
    settings["random_state"] = options["seed"]
    shares = options["class_shares"]
    if not network:
        settings["class_shares"] = shares
    elif shares == "equal":  # networks learn the shares of the labels otherwise
        settings["class_weight"] = "balanced"
    return "GCNClassifier" if network else "SpectralGPClassifier", settings

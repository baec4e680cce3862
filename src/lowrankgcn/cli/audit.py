"""``lowrankgcn audit``: check the labels of a table."""

from __future__ import annotations

from lowrankgcn.cli import terminal
from lowrankgcn.cli.options import GRAPHS, TABLES, Arguments, command


@command(f"context tables target {TABLES} audited report graph {GRAPHS} seed as_json quiet")
def audit(args: Arguments) -> None:
    """Check the labels of a table, fully or partly labelled.

    Every labelled row is predicted without its own label. A row that then clearly looks like
    another class is suspicious: its label may be a mistake, or the row is unusual.

    **--out** writes the labelled rows with their numbers, suspicious ones first: **label
    probability** without this label, **loo_class**, the most probable class without it, and its
    probability. Correct the labels there, and pass the file to **lowrankgcn classify** or **audit**
    with **--labels**.

    Examples
    --------
    lowrankgcn audit cars.csv --target price

    lowrankgcn audit cars.csv --target price --out suspects.csv --report audit.html
    """
    given = terminal.given_graph(vars(args))
    inputs = terminal.inputs(args.table, args.labels, given)
    terminal.check_outputs({"--out": args.out, "--report": args.report}, inputs)
    run = terminal.Run(quiet=args.quiet, as_json=args.as_json, rows_printed=str(args.out) == "-")
    with run.step("reading"), terminal.one_line_errors():
        from lowrankgcn.cli.labelled_table import check_ending, read_labelled_table, write_table
        from lowrankgcn.cli.predictions import with_columns
        from lowrankgcn.cli.results import fit_summary, write_report
        from lowrankgcn.cli.tally import Tally

        check_ending(args.out)
        data = read_labelled_table(vars(args))
    run.notes += data.notes
    with run.step("loading"):
        from lowrankgcn import SpectralGPClassifier

        settings = {"graph": args.graph, "random_state": args.seed, **data.graph_option}
        classifier = SpectralGPClassifier(**settings)
    with run.computing("fitting"):
        classifier.fit(data.rows, data.labels)
    run.seconds |= classifier.timings_
    predictions, evidence = data.predictions(classifier, audit=True), classifier.evidence_
    with run.step("writing"):
        if args.out is not None:
            rows = predictions.audit["row"].to_numpy()
            chosen = data.table.frame.iloc[rows]
            frame, renamed = with_columns(chosen, predictions.audited())
            run.notes += renamed
            run.files |= write_table(data.numbered(frame, rows), args.out, data.table)
        if args.report is not None:
            write_report(args.report, data, classifier, evidence, **run.about(args.context))
            run.files["report"] = str(args.report)
    tally = Tally.of(predictions)
    facts, document = fit_summary(data, tally, classifier, evidence)
    tally.print_summary(run, facts, document, evidence, data.cells)

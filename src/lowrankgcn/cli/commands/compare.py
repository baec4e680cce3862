"""``lowrankgcn compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lowrankgcn.cli.app import app
from lowrankgcn.cli.options import AsJson, Encoding, Quiet, Seed

__all__ = ["compare"]


_EXAMPLES = """Examples:

lowrankgcn compare iris --splits 5

lowrankgcn compare customers.csv --target segment --labels-per-class 10 --csv results.csv

lowrankgcn compare mushrooms --methods gcn,logistic,forest --markdown mushrooms.md
"""


@app.command(epilog=_EXAMPLES)
def compare(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE_OR_DATASET",
            help="A CSV, TSV or Parquet file, or one of iris, wine, breast_cancer, digits, cars, "
            "cars-buying, mushrooms, spiral.",
            show_default=False,
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="Column of the classes of a file."),
    ] = None,
    labels_per_class: Annotated[
        str,
        typer.Option(
            "--labels-per-class", "-l", metavar="N,N,…", help="Rows of each class to learn from."
        ),
    ] = "5,10,20",
    splits: Annotated[
        int,
        typer.Option(
            "--splits", min=1, max=100_000, metavar="N", help="Random choices of these rows."
        ),
    ] = 20,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            metavar="NAME,NAME,…",
            help="Some of gcn, gcn-best, gcn-low-rank, gcn-reduced, gcn-paper, logistic, forest, "
            "svc, spreading-knn, spreading-rbf, hypergraph-conv, hgnn+, poisson. Default: all "
            "that are installed.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop", metavar="COLUMN", help="Leave a column out (repeat, or separate by commas)."
        ),
    ] = None,
    in_order: Annotated[
        bool,
        typer.Option("--in-order", help="Keep the order of the rows instead of a random one."),
    ] = False,
    encoding: Encoding = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", readable=False, help="Write a row for every fit."),
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", readable=False, help="Write the tables."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Find out whether the library is worth using on your data.

    Hides the classes of most rows, has **GCNClassifier** and what people take instead find them,
    all on the same random splits, and prints accuracies with 95 % intervals, differences to
    GCNClassifier, mean ranks and times. Rows of a file that have no class take part without being
    labelled or tested.
    """
    from lowrankgcn.cli.compare import run

    run(
        table,
        target=target,
        labels_per_class=labels_per_class,
        splits=splits,
        methods=methods,
        drop=tuple(drop or ()),
        encoding=encoding,
        in_order=in_order,
        seed=seed,
        as_json=as_json,
        csv=csv,
        markdown=markdown,
        quiet=quiet,
    )

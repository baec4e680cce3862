"""``lowrankgcn classify FOLDER``: a table in Parquet files, on a Dask cluster or on this host."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import typer
from numpy.typing import NDArray
from rich.console import Console

from lowrankgcn.cli.answers import Answers
from lowrankgcn.cli.failures import bad_input, check_apart, check_writable, noted_warnings, writing
from lowrankgcn.cli.progress import Stopwatch, progress
from lowrankgcn.cli.request import Request, column_names
from lowrankgcn.cli.telling import line
from lowrankgcn.estimators import GCNClassifier, save
from lowrankgcn.estimators.labels import labelled_cells
from lowrankgcn.report.text import percent

__all__ = ["run"]

# Options that need the table in memory.
_IN_MEMORY = ("report", "validate", "categorical", "numeric", "encoding")


def run(request: Request) -> None:
    """Classify the rows of a folder as asked."""
    _check(request)
    shown, watch = not request.quiet, Stopwatch()
    console = Console(highlight=False, quiet=request.quiet or request.as_json)
    with ExitStack() as stack:
        stack.enter_context(_client(request))
        with bad_input():
            frame, features, whole = _read(request)
        classifier = GCNClassifier(
            graph=request.graph,
            architecture=request.architecture,
            filter=request.filter,
            rank=request.rank,
            bandwidth=request.bandwidth,
            random_state=request.seed,
        )
        with progress("fitting", shown=shown), bad_input(), noted_warnings() as warned:
            classifier.fit(features, _labels(frame[request.target], whole))
        if shown:
            for text in warned:
                typer.echo(f"warning: {text}", err=True)
        watch.seconds |= classifier.timings_
        files: dict[str, str] = {}
        with progress("writing", shown=shown), watch.timing("writing"):
            if request.out is not None:
                with writing(request.out):
                    _write(request, frame, classifier, whole)
                files["written"] = str(request.out)
            if request.save is not None:
                with writing(request.save, "--save"), bad_input("--save"):
                    save(classifier, request.save, fitted_rows=False)
                files["model"] = str(request.save)
    _tell(request, console, classifier, files, watch.seconds, warned)


def _check(request: Request) -> None:
    for option in _IN_MEMORY:
        if getattr(request, option):
            message = "of a folder, columns are what Parquet says and rows stay in their files"
            raise typer.BadParameter(message, param_hint=f"--{option}")
    check_writable(request.save, "--save")
    source = Path(request.table)
    parts = {f"{file}, which is read": file for file in source.glob("*.parquet")}
    check_apart({"--out": request.out, "--save": request.save}, parts)
    if request.out is not None and source.resolve() in request.out.resolve().parents:
        raise typer.BadParameter(f"{request.out} is inside of {source}", param_hint="--out")
    if request.out is not None and not request.out.resolve().parent.is_dir():
        message = f"{request.out.resolve().parent} is no folder"
        raise typer.BadParameter(message, param_hint="--out")
    if request.out is None and request.save is None:
        raise typer.BadParameter("say where the rows go", param_hint="--out")
    if request.out == Path("-"):
        message = "a folder of files does not fit into standard output: name a new folder"
        raise typer.BadParameter(message, param_hint="--out")
    if request.out is not None and request.out.exists():
        raise typer.BadParameter(f"{request.out} is there already", param_hint="--out")


@contextmanager
def _own_words() -> Iterator[None]:
    """Keep Dask from logging its view of what the command says in one line."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _client(request: Request) -> Iterator[None]:
    """Connect to a cluster, start one here, or leave it to the threads of this process."""
    if request.scheduler is None and request.workers is None:
        yield
        return
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        stack.enter_context(_own_words())
        if request.scheduler is not None:
            try:
                stack.enter_context(Client(request.scheduler, timeout=10))
            except (OSError, TimeoutError, ValueError) as error:
                first = " ".join(str(error).split())
                message = f"no Dask scheduler at {request.scheduler}: {first}"
                raise typer.BadParameter(message, param_hint="--scheduler") from None
        else:
            cluster = LocalCluster(
                n_workers=request.workers,
                threads_per_worker=1,
                dashboard_address=":0",  # any port that is free
                silence_logs=logging.ERROR,  # of workers that are slow to end
            )
            stack.enter_context(cluster)
            stack.enter_context(Client(cluster))
        yield


def _read(request: Request) -> tuple[Any, Any, bool]:
    """The table, its columns without the target and those left out, and if that is of integers."""
    from lowrankgcn.distributed.parquet import folder_types, read_folder

    frame = read_folder(request.table)
    columns = list(frame.columns)
    if request.target not in columns:
        raise ValueError(
            f"{request.table}: expected a column {request.target!r}, got {', '.join(columns)}"
        )
    dropped = column_names(request.drop, columns)
    unknown = [name for name in dropped if name not in columns]
    if unknown:
        raise ValueError(f"{request.table}: expected a column {unknown[0]!r} to drop, got none")
    used = frame[[name for name in columns if name not in {*dropped, request.target}]]
    return frame, used, pa.types.is_integer(folder_types(request.table)[request.target])


def _labels(column: Any, whole: bool) -> Any:
    """The target, with blank texts taken for empty ones, as in a file."""
    return column.map_partitions(_read_labels, whole, meta=(column.name, object))


def _read_labels(column: pd.Series, whole: bool) -> pd.Series:
    """Labels as objects; pandas makes floats of integers if one of them is missing."""
    if whole:
        cells = column.astype("Int64").astype(object)
        return cells.where(cells.notna(), None)
    cells = column.astype(object)
    blank = [isinstance(cell, str) and not cell.strip() for cell in cells]
    return cells.where(~np.array(blank, bool), None)


def _write(request: Request, frame: Any, classifier: GCNClassifier, whole: bool) -> None:
    from dask.delayed import delayed

    from lowrankgcn.distributed.blocks import Blocks
    from lowrankgcn.distributed.parquet import write_folder

    assert request.out is not None
    dtype = frame.dtypes[request.target]
    kept = "int64" if whole else "bool" if dtype.kind == "b" else None
    task = delayed(_answered, pure=False)
    distributions: Any = classifier.label_distributions_  # a Dask array
    shares = distributions.to_delayed().ravel()
    blocks = [
        task(block, share, classifier.classes_, request.target, kept, request.probabilities, whole)
        for block, share in zip(Blocks.from_collection(frame).tasks, shares, strict=True)
    ]
    write_folder(blocks, request.out)


def _answered(
    block: pd.DataFrame,
    shares: NDArray[np.float64],
    classes: NDArray[Any],
    target: str,
    kind: str | None,
    each_class: bool,
    whole: bool,
) -> pd.DataFrame:
    """The rows with their classes."""
    index, given = labelled_cells(_read_labels(block[target], whole))
    labels = np.full(len(block), None, dtype=object)
    labels[index] = [str(label) for label in given.tolist()]
    answers = Answers.of(classes, shares, pd.Series(labels), kind)
    rows = block.reset_index(drop=True)
    if whole:  # in all files alike, whether or not some are missing
        rows[target] = rows[target].astype("Int64")
    return answers.added_to(rows, each_class=each_class)


def _tell(
    request: Request,
    console: Console,
    classifier: GCNClassifier,
    files: dict[str, str],
    seconds: dict[str, float],
    warned: list[str],
) -> None:
    shares = [
        f"{row['architecture']} {percent(row['share'])}"
        for row in classifier.selection_
        if row["share"] > 0
    ]
    facts: dict[str, Any] = {
        "table": str(Path(request.table)),
        "target": request.target,
        "rows": int(classifier.graph_.n_nodes),
        "graph": repr(classifier.graph_),
        "networks": ", ".join(shares),
        **files,
    }
    if request.as_json:
        document = {**facts, "seed": request.seed, "seconds": seconds, "warnings": warned}
        typer.echo(json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False))
        return
    for name, value in facts.items():
        line(console, f"{name:<12}{value}")
    spent = ", ".join(f"{step} {value:.1f} s" for step, value in seconds.items())
    line(console, f"{'time':<12}{spent}")

"""``lowrankgcn classify FOLDER``: a table of Parquet files, on a Dask cluster or this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

import lowrankgcn
from lowrankgcn.cli import terminal
from lowrankgcn.cli.earlier_runs import columns_of_earlier_run, earlier_note
from lowrankgcn.cli.labelled_table import column_names
from lowrankgcn.cli.options import FILES, Arguments
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.cli.table_labels import find_markers
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import read_texts
from lowrankgcn.tables.column_names import check_names


def classify_folder(args: Arguments, name: str, settings: Mapping[str, Any]) -> None:
    """Classify the rows of a folder.

    Parameters
    ----------
    args : Arguments
        Values of the options of ``classify``.
    name : {"SpectralGPClassifier", "GCNClassifier"}
    settings : mapping
        Parameters of the classifier.
    """
    _check(args)
    (table,), target, out, save = args.table, args.target, args.out, args.save
    run = terminal.Run(quiet=args.quiet, as_json=args.as_json)
    classifier = getattr(lowrankgcn, name)(**settings)
    with _client(args.scheduler, args.workers):
        with terminal.one_line_errors():
            frame, features, labels, run.notes = _read(args)
        with run.computing("fitting", timed=True):
            classifier.fit(features, labels)
        with run.step("writing"):
            if out is not None:
                # Rows without a prediction have empty cells; a warning per block adds nothing.
                with terminal.one_line_errors("--out", writing=out), terminal.collect_warnings():
                    _write(frame, labels, classifier, args.probabilities, out)
                run.files["written"] = str(out)
            if save is not None:
                with terminal.one_line_errors("--save", writing=save):
                    lowrankgcn.save(classifier, save, fitted_rows=False)
                run.files["model"] = str(save)
    facts: dict[str, Any] = {
        "table": str(table),
        "target": target,
        "rows": int(classifier.transduction_.shape[0]),
        "graph": repr(classifier.graph_),
        **run.files,
    }
    if run.as_json:
        more = {"seed": classifier.random_state, "seconds": run.seconds | {"total": run.total()}}
        run.print_json(facts | more | {"notes": run.notes, "warnings": run.warnings})
    else:
        run.print_facts({**facts, "note": run.notes})
        run.print_times()


def _check(args: Arguments) -> None:
    """Check the options that are different for folders."""
    source, out, options = args.table[0], args.out, vars(args)
    if len(args.table) > 1:
        raise terminal.option_error("TABLE", "expected one folder or several files")
    of_files = (
        "report level reasons labels edges hyperedges categorical numeric text "
        "merge_classes ignore_case"
    )
    terminal.refuse(options, of_files, "not available for folders")
    terminal.refuse(options, "safe_csv", "for CSV only; folders are written as Parquet files")
    terminal.refuse(options, FILES, "only for text files, not for folders")
    parts = {f"{file}, which is read": file for file in source.glob("*.parquet")}
    if not parts:
        raise terminal.option_error("TABLE", f"{source} is a folder without Parquet files")
    if find_spec("dask") is None or find_spec("distributed") is None:
        advice = "pip install 'lowrankgcn[distributed]'"
        raise terminal.option_error("TABLE", f"a folder needs Dask: {advice}")
    terminal.check_outputs({"--save": args.save}, {**parts, "--out": out})
    if out is None and args.save is None:
        raise terminal.option_error("--out", "name a new folder for the rows")
    if out is None:
        return
    place = out.resolve()
    for wrong, message in (
        (source.resolve() in place.parents, f"{out} is inside {source}"),
        (not place.parent.is_dir(), f"{place.parent} is not a folder"),
        (str(out) == "-", "a folder cannot be written to standard output; name a new folder"),
        (out.exists(), f"{out} exists already; name a new folder"),
    ):
        if wrong:
            raise terminal.option_error("--out", message)


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[None]:
    """Connect to a cluster, start a local one, or use the threads of this process."""
    if scheduler is None and workers is None:
        yield
        return
    import dask

    from distributed import Client
    from lowrankgcn.distributed.partitions import KEEP_MEMORY

    address: dict[str, Any] = {"address": scheduler, "timeout": 10}
    if scheduler is None:
        # Any free port for the dashboard; no log of workers that end slowly.
        address = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
        address["silence_logs"] = logging.ERROR
    with ExitStack() as stack:
        # The command reports failures in one line; Dask must not log them as well.
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.ERROR)
        try:
            with dask.config.set(KEEP_MEMORY):
                stack.enter_context(Client(**address))
        except (OSError, ValueError) as error:
            message = f"no connection to Dask: {' '.join(str(error).split())}"
            option = "--workers" if scheduler is None else "--scheduler"
            raise terminal.option_error(option, message) from None
        yield


def _read(args: Arguments) -> tuple[Any, Any, Any, list[str]]:
    """Return the table, its feature columns, its labels (texts or missing), and notes."""
    from lowrankgcn.distributed.parquet import folder_types, read_folder
    from lowrankgcn.distributed.partitions import compute

    (table,), target = args.table, args.target
    frame = read_folder(table)
    earlier = columns_of_earlier_run(frame._meta)
    frame = frame.drop(columns=earlier)
    dropped = column_names(args.drop or (), frame.columns)
    with prefix_errors(table):
        check_names(list(frame.columns), target, {"drop": dropped})
    used = frame[[name for name in frame.columns if name not in {*dropped, target}]]
    if pa.types.is_integer(folder_types(table)[target]):
        frame = frame.astype({target: "Int64"})  # pandas reads integers with gaps as floats
    texts = frame[[target]].map_partitions(read_texts, target, meta=(target, object))
    counts = texts.map_partitions(pd.Series.value_counts, dropna=False, meta=("count", int))
    (counts,) = compute(counts)
    counts = counts.groupby(level=0, dropna=False).sum()
    with prefix_errors(f"column {target!r}"):
        markers, notes = find_markers(counts, args.unlabelled, args.class_)
    labels = texts.mask(texts.isin(markers))
    return frame, used, labels, notes + earlier_note(earlier, "left out")


def _write(frame: Any, labels: Any, classifier: Any, each_class: bool, out: Path) -> None:
    from dask.delayed import delayed

    from lowrankgcn.distributed.parquet import write_folder
    from lowrankgcn.distributed.partitions import Partitions

    kind = {"i": "int64", "b": "bool"}.get(frame.dtypes[labels.name].kind)
    task = delayed(_add_predictions, pure=False)
    shares = classifier.label_distributions_.to_delayed(optimize_graph=False).ravel()
    parts = [Partitions.from_collection(part).tasks for part in (frame, labels)]
    settings = classifier.classes_, kind, each_class
    write_folder([task(*part, *settings) for part in zip(*parts, shares, strict=True)], out)


def _add_predictions(
    block: pd.DataFrame, labels: Any, shares: Any, classes: Any, kind: str | None, each_class: bool
) -> pd.DataFrame:
    predictions = Predictions.from_labels(classes, shares, labels, type=kind)
    return predictions.added_to(block, each_class=each_class)[0]

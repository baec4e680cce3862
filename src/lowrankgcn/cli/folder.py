"""``lowrankgcn classify FOLDER``: a table of Parquet files, on a Dask cluster or this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from lowrankgcn.cli import errors, output
from lowrankgcn.cli.labelled_table import column_names, columns_of_earlier_run
from lowrankgcn.cli.predictions import Predictions
from lowrankgcn.cli.progress import Run
from lowrankgcn.cli.table_labels import find_markers
from lowrankgcn.estimators.model_files import save as save_model
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import read_texts
from lowrankgcn.files.column_choice import check_names


def classify_folder(table: Path, classifier: Any, parameters: Mapping[str, Any]) -> None:
    """Classify the rows of a folder.

    Parameters
    ----------
    table : Path
    classifier : SpectralGPClassifier or GCNClassifier
    parameters : mapping
        Parameters of the command ``classify``.
    """
    target = parameters["target"]
    # Earlier versions of Typer keep paths as texts in the parameters.
    out, save = (parameters[name] and Path(parameters[name]) for name in ("out", "save"))
    _check_outputs(table, out, save)
    run = Run(quiet=parameters["quiet"], as_json=parameters["as_json"])
    files: dict[str, str] = {}
    with _client(parameters["scheduler"], parameters["workers"]):
        with errors.exit_on_user_error():
            frame, features, earlier = _read(table, target, parameters["drop"] or ())
            options = (parameters[name] for name in ("unlabelled", "class_"))
            markers, notes = _find_markers(frame, target, *options)
        labels = frame[[target]].map_partitions(
            _read_labels, target, markers, meta=(target, object)
        )
        with run.timing("fitting"), run.computing("fitting"):
            classifier.fit(features, labels)
        with run.step("writing"):
            if out is not None:
                # Rows without a prediction have empty cells; a warning per block adds nothing.
                with errors.exit_on_write_error(out), errors.collect_warnings():
                    _write(frame, labels, classifier, parameters["probabilities"], out)
                files["written"] = str(out)
            if save is not None:
                with errors.exit_on_write_error(save, "--save"):
                    with errors.exit_on_user_error("--save"):
                        save_model(classifier, save, fitted_rows=False)
                files["model"] = str(save)
    facts: dict[str, Any] = {
        "table": str(table),
        "target": target,
        "rows": int(classifier.transduction_.shape[0]),
        "graph": repr(classifier.graph_),
        **files,
    }
    if earlier:
        notes.append(f"columns {', '.join(map(repr, earlier))} of an earlier run are left out")
    if notes:
        facts["note"] = "; ".join(notes)
    if run.as_json:
        seconds = run.seconds | {"total": run.total()}
        more = {"seed": classifier.random_state, "seconds": seconds, "warnings": run.warnings}
        output.print_json(facts | more)
    else:
        output.print_facts(run.console, facts | {"time": output.times_text(run)})


def _check_outputs(source: Path, out: Path | None, save: Path | None) -> None:
    parts = {f"{file}, which is read": file for file in source.glob("*.parquet")}
    errors.check_outputs({"--save": save}, {**parts, "--out": out})
    message = ""
    if out is None:
        message = "" if save is not None else "name a new folder for the rows"
    elif source.resolve() in out.resolve().parents:
        message = f"{out} is inside {source}"
    elif not out.resolve().parent.is_dir():
        message = f"{out.resolve().parent} is not a folder"
    elif out == Path("-"):
        message = "a folder cannot be written to standard output; name a new folder"
    elif out.exists():
        message = f"{out} exists already; name a new folder"
    if message:
        raise errors.option_error("--out", message)


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[None]:
    """Connect to a cluster, start a local one, or use the threads of this process."""
    if scheduler is None and workers is None:
        yield
        return
    from distributed import Client

    address: dict[str, Any] = {"address": scheduler, "timeout": 10}
    if scheduler is None:
        address = {"n_workers": workers, "threads_per_worker": 1}
        # Any free port for the dashboard; no log of workers that end slowly.
        address |= {"dashboard_address": ":0", "silence_logs": logging.ERROR}
    with ExitStack() as stack:
        # The command reports failures in one line; Dask must not log them as well.
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.ERROR)
        try:
            stack.enter_context(Client(**address))
        except (OSError, TimeoutError, ValueError) as error:
            message = f"no connection to Dask: {' '.join(str(error).split())}"
            option = "--workers" if scheduler is None else "--scheduler"
            raise errors.option_error(option, message) from None
        yield


def _read(table: Path, target: str, drop: Sequence[str]) -> tuple[Any, Any, list[str]]:
    """Return the table, its feature columns, and the names of columns of an earlier run."""
    from lowrankgcn.distributed.parquet import folder_types, read_folder

    frame = read_folder(table)
    earlier = columns_of_earlier_run(frame._meta)
    frame = frame.drop(columns=earlier)
    columns = list(frame.columns)
    dropped = column_names(drop, columns)
    with prefix_errors(table):
        check_names(columns, target, {"drop": dropped})
    used = frame[[name for name in columns if name not in {*dropped, target}]]
    if pa.types.is_integer(folder_types(table)[target]):
        frame = frame.astype({target: "Int64"})  # pandas reads integers with gaps as floats
    return frame, used, earlier


def _find_markers(
    frame: Any, target: str, unlabelled: str | None, classes: list[str] | None
) -> tuple[list[str], list[str]]:
    """Return the markers of unlabelled rows and notes on them, see :func:`find_markers`."""
    from dask.delayed import delayed

    from lowrankgcn.distributed.partitions import Partitions, compute

    blocks = Partitions.from_collection(frame[[target]]).tasks
    counts = pd.concat(compute(*(delayed(_count_texts)(block, target) for block in blocks)))
    counts = counts.groupby(level=0, dropna=False).sum()
    with prefix_errors(f"column {target!r}"):
        return find_markers(counts, unlabelled, classes)


def _count_texts(block: pd.DataFrame, target: str) -> pd.Series:
    return read_texts(block, target).value_counts(dropna=False)


def _read_labels(block: pd.DataFrame, target: str, markers: Sequence[str]) -> pd.Series:
    """Return labels as texts, None for blank texts and markers."""
    labels = read_texts(block, target)
    return labels.where(~labels.isin(markers), None)


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
    block: pd.DataFrame,
    labels: pd.Series,
    shares: NDArray[np.float64],
    classes: NDArray[Any],
    kind: str | None,
    each_class: bool,
) -> pd.DataFrame:
    predictions = Predictions.from_labels(classes, shares, labels, kind)
    return predictions.added_to(block, each_class=each_class)

"""Large tables: opened to be read block by block, and the sample of rows that a fit uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from lowrankgcn._format import count
from lowrankgcn.cli.options import FILES
from lowrankgcn.cli.table_labels import named_rows
from lowrankgcn.cli.target_column import with_target
from lowrankgcn.files import TableFile, read_texts
from lowrankgcn.files.writing import output_format

if TYPE_CHECKING:
    from lowrankgcn.files.passes import BlockFile

_WHOLE = ("sheet", "header_row", "vectors")  # options of tables that are read as a whole
_FIRST = 5  # rows of a class that are in every sample


class SampledTable(NamedTuple):
    """Rows of a large table.

    Attributes
    ----------
    table : TableFile
    n_rows : int
        Number of all rows.
    n_named : int
        Rows with a text in the target, or with a label in other files.
    counts : Series
        Number of all rows by the text of the target; None for an empty cell.
    """

    table: TableFile
    n_rows: int
    n_named: int
    counts: pd.Series

    def notes(self, n_sampled: int) -> list[str]:
        """Return what the user should know about the sample."""
        from lowrankgcn.files.passes import MOST_LABELLED

        rows = f"{count(n_sampled)} of {count(self.n_rows)} rows"
        notes = [f"the kinds of the columns, and the model, are those of a sample of {rows}"]
        if self.n_named > MOST_LABELLED:
            named = f"{count(MOST_LABELLED)} of {count(self.n_named)} labelled rows"
            notes.append(f"the model is fitted to a sample of {named}")
        return notes


def open_large(options: Mapping[str, Any], opinions: bool = False) -> BlockFile | None:
    """Open a large table, unless an option needs all of its rows in memory, and they fit."""
    from lowrankgcn.files.passes import open_blocks

    reading: dict[str, Any] = {name: options.get(name) for name in FILES.split()}
    if any(reading.pop(name, None) is not None for name in _WHOLE):
        return None
    source = open_blocks(options["table"], **reading)
    if source is None:
        return None
    out = options.get("out")
    format = None if out is None else output_format(out)
    wrong = {
        "--edges": options.get("edges") is not None,
        "--hyperedges": options.get("hyperedges") is not None,
        "--labels with a journal": opinions,
        "--method gcn --architecture full": options.get("architecture") == "full",
        f"--out {out}": format in ("json", "jsonl", "excel")
        or (format in ("parquet", "arrow") and source.file.texts),
    }
    option = next((name for name, here in wrong.items() if here), None)
    if option is None:
        return source
    if source.needs_memory():
        advice = "leave it out" if out is None or option != f"--out {out}" else "write CSV"
        raise ValueError(
            f"{option} needs all rows in memory, which is too small; {advice}, or "
            "use a computer with more memory"
        )
    return None


def draw_sample(
    source: BlockFile, options: Mapping[str, Any], label_files: list[TableFile], key: str | None
) -> SampledTable:
    """Draw the rows that a fit uses: all labelled ones, and a uniform sample of the others."""
    from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier
    from lowrankgcn.estimators.semi_supervised import draw_seed
    from lowrankgcn.files.passes import draw_rows

    target = options["target"]
    with_target(source.file, target, bool(label_files), [])  # or an error, before all work
    unlabelled = [text for text in (options.get("unlabelled") or "").split(",") if text]
    named = named_rows(label_files, key, source.names)
    counts = pd.Series(dtype=np.int64)

    def priority(block: pd.DataFrame) -> Any:
        nonlocal counts
        if target not in block:
            return named(block).astype(int)
        texts = read_texts(block, target)
        seen = texts.map(counts).fillna(0) + texts.groupby(texts).cumcount()
        here = texts.value_counts(dropna=False)
        counts = here if counts.empty else counts.add(here, fill_value=0).astype(np.int64)
        labelled = (texts.notna() & ~texts.isin(unlabelled)).to_numpy()
        return (labelled | named(block)) + (labelled & (seen < _FIRST).to_numpy())

    seed = draw_seed(options["seed"])
    frame, n_rows, n_named = draw_rows(source, priority, SpectralGPClassifier.fit_rows, seed)
    if target not in source.names:
        counts = pd.Series({None: n_rows})
    file = replace(source.file, frame=frame, decimal=source.decimal_of(frame))
    return SampledTable(file, n_rows, n_named, counts)

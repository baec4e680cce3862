r"""Atomic writing of tables.

>>> import tempfile, pathlib
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "cars.csv"
...     write_file(pd.DataFrame({"code": ["007", None], "p": [0.5, 1.0]}), path, "csv")
...     path.read_text()
'code,p\n007,0.5\n,1.0\n'
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lowrankgcn._atomic import replacing
from lowrankgcn._validation import choice
from lowrankgcn.files.reading import Format


def write_file(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    format: Format,
    *,
    delimiter: str | None = None,
) -> None:
    """Write a table atomically to a file, or to standard output.

    Parameters
    ----------
    frame : DataFrame
        The index is not written.
    path : str or path
        "-" writes to standard output. An existing file is replaced when writing is complete.
    format : {"csv", "tsv", "parquet"}
    delimiter : str, optional
        By default a comma for CSV, a tab for TSV.

    Raises
    ------
    OSError
        If writing fails, for example on a full disk. An existing file is left unchanged.

    Notes
    -----
    Text is UTF-8 with plain newlines; cells are quoted where needed, and missing cells are empty.
    Parquet keeps the column types.
    """
    choice(format, "format", ("csv", "tsv", "parquet"))
    delimiter = delimiter or ("\t" if format == "tsv" else ",")
    if os.fspath(path) != "-":
        with replacing(path) as temporary:
            _write(frame, temporary, format, delimiter)
        return
    sink = io.BytesIO()
    _write(frame, sink, format, delimiter)
    sys.stdout.flush()
    # Bytes: the terminal may have another encoding and other newlines.
    sys.stdout.buffer.write(sink.getvalue())
    sys.stdout.buffer.flush()


def _write(frame: pd.DataFrame, target: Path | io.BytesIO, format: Format, delimiter: str) -> None:
    if format == "parquet":
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        pq.write_table(table, target)
    else:
        frame.to_csv(target, index=False, sep=delimiter, lineterminator="\n", encoding="utf-8")

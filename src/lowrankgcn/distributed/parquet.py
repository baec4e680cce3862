"""Tables in blocks from and to folders of Parquet files.

Workers write their blocks into a folder that has a passing name; it gets its own when all of them
are there. Who reads the folder finds everything or nothing.

>>> import tempfile, pathlib
>>> import dask.dataframe as dd, pandas as pd
>>> table = dd.from_pandas(pd.DataFrame({"x": [1, 2, 3]}), npartitions=2)
>>> with tempfile.TemporaryDirectory() as there:
...     folder = pathlib.Path(there) / "table"
...     rows = write_folder(table.to_delayed(), folder)
...     rows, sorted(file.name for file in folder.iterdir()), len(read_folder(folder))
(3, ['part-00000.parquet', 'part-00001.parquet'], 3)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from dask.delayed import Delayed, delayed

from lowrankgcn._atomic import new_folder, replacing
from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import compute

__all__ = ["read_folder", "write_folder"]


def read_folder(folder: str | os.PathLike[str]) -> Any:
    """The Parquet files of a folder, in the order of their names, as a Dask DataFrame.

    Raises
    ------
    ValueError
        If the folder has no Parquet file, or they cannot be read as one table.
    """
    files = sorted(str(file) for file in Path(folder).glob("*.parquet"))
    if not files:
        raise invalid("folder", "Parquet files (*.parquet)", f"none in {os.fspath(folder)}")
    try:
        return dd.read_parquet(files)
    except (pa.ArrowException, OSError, ValueError) as error:
        first = " ".join(str(error).split())
        raise ValueError(f"{os.fspath(folder)}: cannot be read as one table: {first}") from None


def write_folder(frames: Sequence[Delayed], folder: str | os.PathLike[str]) -> int:
    """Compute tables and write each into a Parquet file of a new folder; the number of rows.

    Parameters
    ----------
    frames : sequence of Delayed
        Each gives a DataFrame; its index is not written.
    folder : path
        Must not be there yet, and workers must see it under the same name.

    Raises
    ------
    OSError
        If it is there already or cannot be written.
    ConnectionError
        If the scheduler is lost.
    """
    with new_folder(folder) as beside:
        task = delayed(_write, pure=False)
        parts = [
            task(frame, str(beside / f"part-{number:05d}.parquet"))
            for number, frame in enumerate(frames)
        ]
        return sum(compute(*parts))


def _write(frame: pd.DataFrame, path: str) -> int:
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    with replacing(path) as beside:  # a worker that died may have begun this file
        pq.write_table(table, beside)
    return len(frame)

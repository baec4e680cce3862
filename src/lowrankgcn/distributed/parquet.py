"""Reads and writes folders of Parquet files.

Workers write their blocks into a folder with a temporary name, which is renamed when all blocks are
written. A folder with its final name is therefore complete.

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


def read_folder(folder: str | os.PathLike[str]) -> Any:
    """Read the Parquet files of a folder, sorted by name, as a Dask DataFrame.

    Raises
    ------
    ValueError
        If the folder has no Parquet files, or they cannot be read as one table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dask.dataframe as dd, pandas as pd
    >>> from lowrankgcn.distributed.parquet import read_folder, write_folder
    >>> table = dd.from_pandas(pd.DataFrame({"x": [1, 2, 3]}), npartitions=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n_rows = write_folder(table.to_delayed(), Path(folder, "table"))
    ...     read_folder(Path(folder, "table")).x.sum().compute()
    np.int64(6)
    """
    files = _files(folder)
    folder_types(folder)
    try:
        frame = dd.read_parquet(files)
        strange = [name for name in frame.columns if not isinstance(name, str)]
        if strange:
            raise ValueError(f"column names must be texts, got {strange[0]!r}")
        return frame
    except (pa.ArrowException, OSError, ValueError) as error:
        first = " ".join(str(error).split())
        raise ValueError(f"{os.fspath(folder)}: cannot be read as one table: {first}") from None


def folder_types(folder: str | os.PathLike[str]) -> dict[str, pa.DataType]:
    """Return the Arrow types of the columns of a folder.

    Raises
    ------
    ValueError
        If a file cannot be read, or its columns or column types differ from those of the first
        file; the message names file and column.
    """
    types: dict[str, pa.DataType] = {}
    files = _files(folder)
    for file in files:
        try:
            schema = pq.read_schema(file)
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{file}: cannot be read: {' '.join(str(error).split())}") from None
        index = [name for name in _index_columns(schema) if name in schema.names]
        if index:
            raise ValueError(
                f"{file}: {index[0]!r} is a pandas index; write the files with index=False, or "
                "call reset_index() first"
            )
        other = sorted(set(schema.names) ^ set(types)) if types else []
        if other:
            raise ValueError(f"{file}: expected the columns of {files[0]}, differs in {other[0]!r}")
        for field in schema:
            known = types.setdefault(field.name, pa.null())
            if len({_kind(known), _kind(field.type)} - {"nothing"}) > 1:
                got = f"{field.type} after {known}"
                raise ValueError(f"{file}: expected one kind of column {field.name!r}, got {got}")
            # Floats can represent columns of integers and floats.
            if pa.types.is_null(known) or pa.types.is_floating(field.type):
                types[field.name] = field.type
    return types


def _files(folder: str | os.PathLike[str]) -> list[str]:
    files = sorted(str(file) for file in Path(folder).glob("*.parquet"))
    if not files:
        raise invalid("folder", "Parquet files (*.parquet)", f"none in {os.fspath(folder)}")
    return files


def _index_columns(schema: pa.Schema) -> list[str]:
    metadata = schema.pandas_metadata or {}
    return [name for name in metadata.get("index_columns", []) if isinstance(name, str)]


def _kind(dtype: pa.DataType) -> str:
    """Return the kind of values of a column, independent of their width."""
    dtype = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    if pa.types.is_null(dtype):
        return "nothing"
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return "numbers"
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
        return "texts"
    return str(dtype)


def write_folder(frames: Sequence[Delayed], folder: str | os.PathLike[str]) -> int:
    """Compute tables, write each to a Parquet file in a new folder, and return the number of rows.

    Parameters
    ----------
    frames : sequence of Delayed
        Tasks that return a DataFrame; its index is not written.
    folder : path
        Must not exist, and must have the same path on all workers.

    Raises
    ------
    OSError
        If the folder exists or cannot be written.
    ConnectionError
        If the scheduler is lost.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dask.dataframe as dd, pandas as pd
    >>> from lowrankgcn.distributed.parquet import write_folder
    >>> table = dd.from_pandas(pd.DataFrame({"x": [1, 2, 3]}), npartitions=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n_rows = write_folder(table.to_delayed(), Path(folder, "table"))
    ...     n_rows, sorted(file.name for file in Path(folder, "table").iterdir())
    (3, ['part-00000.parquet', 'part-00001.parquet'])
    """
    with new_folder(folder) as temporary:
        task = delayed(_write, pure=False)
        parts = [
            task(frame, str(temporary / f"part-{number:05d}.parquet"))
            for number, frame in enumerate(frames)
        ]
        return sum(compute(*parts))


def _write(frame: pd.DataFrame, path: str) -> int:
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    with replacing(path) as temporary:  # another worker may have died while writing this file
        pq.write_table(table, temporary)
    return len(frame)

"""Reads and writes folders of Parquet files.

Workers write their partitions into a folder with a temporary name, which is renamed when all of
them are written. A folder with its final name is therefore complete.

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
from lowrankgcn.distributed.partitions import compute
from lowrankgcn.exceptions import prefix_errors


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
    folder_types(folder)
    return dd.read_parquet(_files(folder))


def folder_types(folder: str | os.PathLike[str]) -> dict[str, pa.DataType]:
    """Return the Arrow types of the columns of a folder.

    Raises
    ------
    ValueError
        If a file cannot be read, or its columns or column types differ from those of the first
        file; the message names file and column.
    """
    first, *_ = files = _files(folder)
    merged: Any = None
    for file in files:
        with prefix_errors(file):
            try:
                schema = pq.read_schema(file)
                plain = pa.schema([field.with_type(_value_type(field.type)) for field in schema])
                before = plain if merged is None else merged
                merged = pa.unify_schemas([before, plain], promote_options="permissive")
            except (pa.ArrowException, OSError) as error:
                raise ValueError(f"cannot be read as one table with {first}: {error}") from None
            for name in (schema.pandas_metadata or {}).get("index_columns", []):
                if name in schema.names:
                    advice = "write the files with index=False, or call reset_index() first"
                    raise ValueError(f"{name!r} is a pandas index; {advice}")
            for name in sorted(set(plain.names) ^ set(before.names)):
                raise ValueError(f"expected the columns of {first}, differs in {name!r}")
    return dict(zip(merged.names, merged.types, strict=True))


def _files(folder: str | os.PathLike[str]) -> list[str]:
    files = sorted(str(file) for file in Path(folder).glob("*.parquet"))
    if not files:
        raise invalid("folder", "Parquet files (*.parquet)", f"none in {os.fspath(folder)}")
    return files


def _value_type(dtype: pa.DataType) -> pa.DataType:
    return dtype.value_type if pa.types.is_dictionary(dtype) else dtype


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
        files = [str(temporary / f"part-{number:05d}.parquet") for number in range(len(frames))]
        return sum(compute(*map(delayed(_write, pure=False), frames, files)))


def _write(frame: pd.DataFrame, path: str) -> int:
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    with replacing(path) as temporary:  # another worker may have died while writing this file
        pq.write_table(table, temporary)
    return len(frame)

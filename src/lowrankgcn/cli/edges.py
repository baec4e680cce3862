"""Edges between the rows of a table, read from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lowrankgcn._format import plural
from lowrankgcn.cli.labels import row_positions
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import read_file
from lowrankgcn.graphs import AdjacencyGraph
from lowrankgcn.tables.texts import FileColumn


def read_edges(path: Path, frame: pd.DataFrame, key: str | None) -> AdjacencyGraph:
    """Read the graph whose nodes are the rows of a table.

    Parameters
    ----------
    path : Path
        A table with two columns, the ends of the edges, and perhaps a third, the weights.
    frame : DataFrame
        The rows.
    key : str, optional
        Column of `frame` with the names of the rows; row numbers from 1 without it.
    """
    file = read_file(path)
    edges, names = file.frame, file.frame.columns
    with prefix_errors(file.name):
        if len(names) not in (2, 3):
            raise ValueError(
                "--edges: expected two columns with the ends of the edges and perhaps a third with "
                f"weights, got {plural(len(names), 'column')}"
            )
        try:
            index = np.array([row_positions(edges[name], frame, key) for name in names[:2]])
        except ValueError as error:
            advice = "" if key else "; --key names the column of the table with these values"
            raise ValueError(f"{error}{advice}") from None
        if file.format != "parquet" and _is_edge(names[:2], frame, key):
            got = ", ".join(map(repr, names))
            raise ValueError(f"--edges: expected names of the columns in the first line, got {got}")
        weights = None
        if len(names) == 3:
            with prefix_errors(f"column {names[2]!r}"):
                column = FileColumn.read(edges[names[2]], file.decimal)
                weights = column.as_numbers().as_floats(names[2])
                if np.isnan(weights).any():
                    raise ValueError("expected a weight for every edge, got an empty cell")
        return AdjacencyGraph.from_edge_index(index, weights, n_nodes=len(frame))


def _is_edge(names: Any, frame: pd.DataFrame, key: str | None) -> bool:
    """Return whether the names of columns are the ends of an edge, because a header is missing."""
    try:
        row_positions(pd.Series(names, name="header"), frame, key)
    except ValueError:
        return False
    return True

"""Edges between the rows of a table, read from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from lowrankgcn.cli.labels import row_positions
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import read_file
from lowrankgcn.files.cells import Cells
from lowrankgcn.graphs import AdjacencyGraph


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
    edges = read_file(path).frame
    with prefix_errors(path.name):
        if edges.shape[1] not in (2, 3):
            raise ValueError(
                "--edges: expected two columns with the ends of the edges and perhaps a third with "
                f"weights, got {edges.shape[1]} columns"
            )
        names = edges.columns
        try:
            index = np.array([row_positions(edges[name], frame, key) for name in names[:2]])
        except ValueError as error:
            advice = "" if key else "; --key names the column of the table with these values"
            raise ValueError(f"{error}{advice}") from None
        weights = None
        if len(names) == 3:
            with prefix_errors(f"column {names[2]!r}"):
                weights = Cells.from_column(edges[names[2]]).as_numbers()
        return AdjacencyGraph.from_edge_index(index, weights, n_nodes=len(frame))

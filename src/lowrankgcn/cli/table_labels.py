"""Labels of a table: markers of unlabelled rows; labels and edges from other files.

>>> import pandas as pd
>>> labels = pd.Series(["oak", "?", None, "elm", "todo", "Elm"], dtype=object)
>>> find_markers(labels.value_counts(dropna=False), "todo", ["?"])
(['todo'], [])
>>> list(label_notes(labels, Table({}, 6), []))
["classes 'Elm', 'elm' differ only by blanks, case or zeros; ...", '5 labels of 5 classes ...']
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn._format import listed, percent, plural
from lowrankgcn.cli import terminal
from lowrankgcn.estimators.label_notes import MARKERS, leak_notes, plain_name, spelling_notes
from lowrankgcn.exceptions import prefix_errors
from lowrankgcn.files import TableFile, read_file, read_texts
from lowrankgcn.files.row_matching import free_name
from lowrankgcn.tables import Cells, Table
from lowrankgcn.tables.texts import TextColumn

_LISTED = 3
_MOST = 0.5  # share of a class that may mark unlabelled rows


def find_markers(
    counts: pd.Series, unlabelled: str | None, classes: Collection[str] | None
) -> tuple[list[str], list[str]]:
    """Return the texts of the target that mark unlabelled rows.

    Parameters
    ----------
    counts : Series
        Number of rows of each text of the target; those of None are unlabelled.
    unlabelled : str, optional
        The option ``--unlabelled``: markers, separated by commas. By default only empty cells mark
        unlabelled rows.
    classes : texts, optional
        The option ``--class``: texts that are classes although they are usual markers.

    Returns
    -------
    markers : list of str
    notes : list of str
        Classes that may be markers: usual ones, or one class that fills most of the target.

    Raises
    ------
    ValueError
        If an option names a text that does not occur, or if the target has a usual marker, no
        empty cells, and no option says what the marker means.
    """
    names = counts.index[counts.index.notna()]
    markers = [name for name in (unlabelled or "").split(",") if name]
    classes = list(classes or ())
    if markers and not names.isin(markers).any():
        raise ValueError(f"--unlabelled: expected texts of the target, got {markers[0]!r}")
    for name in classes:
        if name not in names:
            raise ValueError(f"--class: expected a text of the target, got {name!r}")
        if name in markers:
            raise ValueError(f"--class: {name!r} is also named in --unlabelled")
    if unlabelled is not None:
        absent = [repr(name) for name in markers if name not in names]
        return markers, [f"--unlabelled: no cell of the target is {name}" for name in absent]
    usual = [name for name in names if plain_name(name) in MARKERS and name not in classes]
    if usual and len(names) == len(counts):  # no cell is empty
        listed = ", ".join(map(repr, usual))
        as_classes = " ".join(f"--class {shlex.quote(name)}" for name in usual)
        advice = f"use --unlabelled {shlex.quote(','.join(usual))} or {as_classes}"
        raise ValueError(f"{listed} may be a class or mark unlabelled rows; {advice}")
    largest = counts[names].max() / counts.sum() if len(names) > 2 and not classes else 0.0
    if len(names) == len(counts) and largest > _MOST:
        value = str(counts[names].idxmax())
        meant = f"did you mean --unlabelled {shlex.quote(value)}?"
        return [], [f"{percent(largest, 0)} of the rows are {value!r}: {meant}"]
    reason = "because empty cells mark unlabelled rows; if it marks some as well, use --unlabelled"
    return [], [f"{name!r} is a class, {reason} {shlex.quote(name)}" for name in usual]


def label_notes(labels: pd.Series, features: Table, names: Iterable[str]) -> Iterator[str]:
    """Yield notes on labels, and on the named columns that may be another name of the class."""
    known = np.flatnonzero(labels.notna())
    labels = labels.iloc[known]
    classes = labels.unique()
    yield from spelling_notes(labels)
    if len(classes) > 2 and 2 * len(classes) > len(known):
        count = plural(len(known), "label")
        yield f"{count} of {len(classes)} classes are few; label more rows of each class"
    yield from leak_notes(labels.tolist(), known, features, names)


def merged_labels(
    labels: pd.Series,
    frame: pd.DataFrame,
    more: TableFile,
    key: str | None,
    n_rows: int | None = None,
    skip_unknown: bool = False,
) -> tuple[pd.Series, list[str]]:
    """Add the labels of another table.

    Parameters
    ----------
    labels : Series of texts
        Labels of the table; its name is that of the target.
    frame : DataFrame
        The table.
    more : TableFile
        Table with the target and the row numbers that ``suggest`` writes, or `key`. Cells without
        a label are skipped, unless the row is marked as "removed"; later rows replace earlier ones.
    key : str, optional
        Column of both tables that identifies the rows.
    n_rows : int, optional
        Number of rows of the whole table, if `frame` has only some of them, with their numbers as
        the index.
    skip_unknown : bool
        Whether labels of rows that are not in the table are left out, with a note.

    Raises
    ------
    ValueError
        If the target or the key is missing, a row does not exist, or the other cells of most rows
        differ from those of the table.
    """
    target, columns = str(labels.name), more.frame.columns
    notes: list[str] = []
    with prefix_errors(more.name):
        row, removed = (free_name(name, frame.columns) for name in ("row", "removed"))
        place = key or row
        if target not in columns or place not in columns:
            advice = "" if key else f"; {place!r} holds row numbers, --key names another column"
            raise ValueError(f"expected the columns {target!r} and {place!r}{advice}")
        new = read_texts(more.frame, target)
        changes = new.notna()
        if removed in columns:  # a journal, in which labels may be taken back
            changes |= read_texts(more.frame, removed) == "true"
        changed, new = more.frame[changes], new[changes]
        if not labels.dropna().str.endswith(".0").any():
            # A spreadsheet or pandas writes the class 3 as 3.0 if some cells are empty.
            new = new.str.replace(r"^(-?[0-9]+)\.0$", r"\1", regex=True)
        if new.empty:
            raise ValueError(f"expected labels in column {target!r}, got empty cells only")
        rows = row_positions(changed[place], frame, key, n_rows, skip_unknown)
        if len(lost := changed[place][rows < 0]):
            some = ", ".join(map(repr, read_texts(lost.to_frame(), place)[:_LISTED]))
            what = f"{plural(len(lost), 'label of a row', 'labels of rows')} not in the table"
            left = "is left out" if len(lost) == 1 else "are left out"
            notes.append(f"{more.name}: {what} {left}: {some}")
            changed, new, rows = changed[rows >= 0], new[rows >= 0], rows[rows >= 0]
        _check_cells(changed, frame.iloc[rows], {target, place})
    if len(set(rows.tolist())) < len(rows):
        notes.append(f"{more.name} has several labels of one row; the last one is used")
    known = labels.iloc[rows]
    n_replaced = int((known.notna().to_numpy() & (known.to_numpy() != new.to_numpy())).sum())
    if n_replaced:
        notes.append(f"{more.name} replaces {plural(n_replaced, 'label')} of the table")
    labels = labels.copy()
    labels.iloc[rows] = new.to_numpy()
    return labels, notes


def named_rows(
    files: Iterable[TableFile], key: str | None, names: Collection[str]
) -> Callable[[pd.DataFrame], Any]:
    """Return what marks the rows of a block that label files name, by number or by `key`."""
    place = key or free_name("row", names)
    columns = [file.frame[place].to_frame() for file in files if place in file.frame]
    texts = {text for column in columns for text in read_texts(column, place)}
    numbers = {int(text) - 1 for text in texts if str(text).isdecimal()}

    def mark(block: pd.DataFrame) -> Any:
        if key is None:
            return np.isin(block.index, list(numbers))
        if not texts or key not in block:
            return np.zeros(len(block), bool)
        return read_texts(block, key).isin(texts - {None}).to_numpy()

    return mark


def row_positions(
    column: pd.Series,
    frame: pd.DataFrame,
    key: str | None,
    n_rows: int | None = None,
    skip_unknown: bool | None = None,
) -> Any:
    """Return positions in a table from row numbers, or from values of its column `key`.

    Those that are not in the table raise ValueError, or are −1 with `skip_unknown`; None if there
    is no such option.
    """
    if key is None:
        count = len(frame) if n_rows is None else n_rows
        numbers = _row_numbers(column, 2**53 if skip_unknown else count)
        numbers = np.where(numbers < count, numbers, -1)
        return numbers if n_rows in (None, len(frame)) else frame.index.get_indexer(numbers)
    if key not in frame.columns:
        raise ValueError(f"--key: expected a column of the table, got {key!r}")
    known, wanted = read_texts(frame, key), read_texts(column.to_frame(), column.name)
    filled = np.flatnonzero(known.notna())  # rows without a key are not named
    index = pd.Index(known.iloc[filled])
    if index.has_duplicates:
        twice = index[index.duplicated()][0]
        where = f"column {key!r} of the table"
        raise ValueError(f"--key: expected different values in {where}, got {twice!r} twice")
    if wanted.isna().any():
        raise ValueError(f"column {column.name!r}: expected values of {key!r}, got an empty cell")
    rows = index.get_indexer(wanted)
    if skip_unknown:
        return np.where(rows < 0, -1, filled[rows])
    if (rows < 0).any():
        absent = listed(map(repr, wanted[rows < 0].unique()), _LISTED)
        advice = "" if skip_unknown is None else "; --skip-unknown leaves it out"
        raise ValueError(f"column {column.name!r}: the table has no row {absent}{advice}")
    return filled[rows]


def _row_numbers(column: pd.Series, n_rows: int) -> Any:
    """Return positions from numbers that count from 1."""
    with prefix_errors(f"column {column.name!r}"):
        numbers = TextColumn(Cells.read(column, column.name)).as_numbers().as_floats(column.name)
        wrong = ~((numbers >= 1) & (numbers <= n_rows) & (numbers == np.floor(numbers)))
        if wrong.any():
            got = "an empty cell" if np.isnan(numbers[wrong][0]) else f"{numbers[wrong][0]:g}"
            raise ValueError(f"expected row numbers from 1 to {n_rows}, got {got}")
    return numbers.astype(np.intp) - 1


def _check_cells(labelled: pd.DataFrame, rows: pd.DataFrame, others: set[str]) -> None:
    """Raise ValueError if most cells of most rows differ: the labels are those of another table."""
    shared = [name for name in labelled.columns if name in rows.columns and name not in others]
    wrong = np.zeros((len(rows), len(shared)), bool)
    for k, name in enumerate(shared):
        texts = [read_texts(part, name).fillna("").str.strip() for part in (labelled, rows)]
        # A spreadsheet may write numbers differently.
        commas = (cells.str.replace(",", ".", regex=False) for cells in texts)
        numbers = [pd.to_numeric(cells, errors="coerce").to_numpy(float) for cells in commas]
        wrong[:, k] = (texts[0].to_numpy() != texts[1].to_numpy()) & ~np.isclose(*numbers)
    if shared and 2 * (2 * wrong.sum(axis=1) > len(shared)).sum() > len(rows):
        row, k = np.argwhere(wrong)[0]
        got, known = (part[shared[k]].iloc[row] for part in (labelled, rows))
        example = f"column {shared[k]!r} has {got!r} instead of {known!r}"
        advice = "check --labels and --key"
        raise ValueError(f"its rows are not those of the table: {example}; {advice}")


def read_edges(
    path: Path, frame: pd.DataFrame, key: str | None, *, hyper: bool = False
) -> tuple[Any, list[str]]:
    """Read the graph whose nodes are the rows of a table; return it with notes.

    Parameters
    ----------
    path : Path
        A table with two columns, the ends of the edges, and perhaps a third, the weights; or rows
        and their hyperedges, one line for each member.
    frame : DataFrame
        The rows.
    key : str, optional
        Column of `frame` with the names of the rows; row numbers from 1 without it.
    hyper : bool
        Whether the file has hyperedges.
    """
    from lowrankgcn.graphs import AdjacencyGraph, Hypergraph  # loads SciPy

    file = read_file(path)
    edges, names = file.frame, file.frame.columns
    with prefix_errors(file.name):
        option, ends = ("--hyperedges", 1) if hyper else ("--edges", 2)
        if len(names) not in ((2,) if hyper else (2, 3)):
            expected = "two columns with the ends of the edges and perhaps a third with weights"
            expected = "two columns with rows and their hyperedges" if hyper else expected
            raise ValueError(f"{option}: expected {expected}, got {plural(len(names), 'column')}")
        try:
            index = np.array([row_positions(edges[name], frame, key) for name in names[:ends]])
        except ValueError as error:
            advice = "" if key else "; --key names the column of the table with these values"
            raise ValueError(f"{error}{advice}") from None
        header = None
        with suppress(ValueError):
            header = row_positions(pd.Series(names[:ends], name="header"), frame, key)
        if header is not None and file.format != "parquet":
            got = ", ".join(map(repr, names))
            raise ValueError(
                f"{option}: expected names of the columns in the first line, got {got}"
            )
        if hyper:
            numbers = pd.factorize(edges[names[1]].astype(str).where(edges[names[1]].notna()))[0]
            if (numbers < 0).any():
                raise ValueError(f"column {names[1]!r}: expected hyperedges, got an empty cell")
            pairs = np.stack([index[0], numbers])
            return Hypergraph.from_hyperedge_index(pairs, n_nodes=len(frame)), []
        weights = None
        if len(names) == 3:
            with prefix_errors(f"column {names[2]!r}"):
                column = TextColumn(Cells.read(edges[names[2]], names[2]), file.decimal)
                weights = column.as_numbers().as_floats(names[2])
                if np.isnan(weights).any():
                    raise ValueError("expected a weight for every edge, got an empty cell")
        with terminal.collect_warnings() as texts:
            graph = AdjacencyGraph.from_edge_index(index, weights, n_nodes=len(frame))
        return graph, [f"{file.name}: {text}" for text in (*texts, *_edge_notes(index))]


def _edge_notes(index: NDArray[np.intp]) -> Iterator[str]:
    """Yield notes on loops and on edges that are listed several times in the same direction.

    >>> list(_edge_notes(np.array([[0, 1, 0, 2], [1, 0, 1, 2]])))
    ['1 edge joins a row to itself', '1 edge is listed again; the weights add up']
    """
    loops = int((index[0] == index[1]).sum())
    if loops:
        yield f"{plural(loops, 'edge joins', 'edges join')} a row to itself"
    again = index.shape[1] - np.unique(index, axis=1).shape[1]
    if again:
        yield f"{plural(again, 'edge is', 'edges are')} listed again; the weights add up"

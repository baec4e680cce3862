"""Validation of X, in fit and of new rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._parallel import map_chunks
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import labelled_cells
from lowrankgcn.exceptions import COLUMN_ADVICE, ColumnWarning, warn_caller, without_options
from lowrankgcn.gp.node_features import is_narrow
from lowrankgcn.gp.node_graph import carries_features
from lowrankgcn.graphs import Graph
from lowrankgcn.graphs.foreign import is_foreign
from lowrankgcn.operators import FloatArray
from lowrankgcn.tables import Table
from lowrankgcn.tables.column_choice import Columns, choose_columns
from lowrankgcn.tables.left_out import left_out_notes
from lowrankgcn.tables.table import is_frame
from lowrankgcn.tables.useful_columns import keep_useful

NOT_BUILT_FROM_X = "new rows, but the graph was not built from X"
# Attributes that files keep, without and with one entry for each row given to fit.
IMPORTANCE = "_importance"  # of the columns on the rows given to fit, once computed
_SAVED_RESULTS = {"columns_", "timings_", "loss_curve_", "n_iter_", IMPORTANCE}
_SAVED_ROWS = {"label_distributions_", "unplaced_"}
_LARGEST = 1e295

Kind = Literal["points", "table", "nodes", "sparse", "incidence", "affinities", "graph"]


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Data of one kind.

    Attributes
    ----------
    kind : {"points", "table", "nodes", "sparse", "incidence", "affinities", "graph"}
        Numbers, NaN where missing; a table with categories; features of the nodes of a graph, a
        table or sparse; wide sparse features; incidence rows; weights to the fitted rows; a graph
        without features.
    data : array, Table, sparse array or Graph
    n_rows : int
    later : {"points", "table", "incidence", "affinities"}
        Kind of the rows that `predict` accepts: the same, or those the graph was built from.
    n_columns : int
        Their number of columns.
    names : tuple of str, or None
        Names of the columns; None without names.
    columns : Columns or None
        How columns of texts are read, and which columns are used; None if all are used as they are.
    """

    kind: Kind
    data: Any
    n_rows: int
    later: Kind
    n_columns: int
    names: tuple[str, ...] | None = None
    columns: Columns | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """Results of a fit that both classifiers have.

    Attributes
    ----------
    classes : (C,) array
    kind : {"points", "table", "incidence", "affinities"}
        Kind of the rows that `predict` accepts.
    n_features_in : int
    feature_names_in : tuple of str, or None
    model : GPModel, GCNModel or None
        None if only the fitted rows can be classified.
    fitted_only : str
        Why; empty if new rows can be classified.
    results : dict
        Further attributes of the classifier, by name.
    """

    classes: NDArray[Any]
    kind: Kind
    n_features_in: int
    feature_names_in: tuple[str, ...] | None
    model: Any
    fitted_only: str
    results: dict[str, Any]

    def savable(self, *, fitted_rows: bool = True) -> Fit:
        """Return what a file keeps, with or without results of the rows given to fit."""
        kept = _SAVED_RESULTS | (_SAVED_ROWS if fitted_rows else set())
        results = {name: self.results[name] for name in sorted(kept & self.results.keys())}
        return replace(self, results=results)

    @property
    def columns(self) -> Columns | None:
        """How columns of new rows are read; None if they are used as they are."""
        columns: Columns | None = self.results.get("columns_")
        return columns

    def check_new_rows(self) -> None:
        """Raise if only the fitted rows can be classified."""
        if self.fitted_only:
            expected = "the fitted rows (see label_distributions_ and transduction_)"
            raise invalid("X", expected, self.fitted_only)


def read_rows(
    estimator: Any,
    X: Any,
    graph: str | Graph,
    y: Any = None,
    *,
    numbers: Literal["points", "table"],
) -> Rows:
    """Validate X and determine its kind.

    Parameters
    ----------
    estimator : classifier
        It is named in messages, and not changed.
    X : array, table of any kind, sparse array or Graph
        Columns of tables are chosen and read as :func:`choose_columns` describes. An array of
        numbers and a :class:`Table` are used as they are.
    graph : str or Graph
    y : (n,) array, optional
        Labels; identifiers that predict them are kept.
    numbers : {"points", "table"}
        Kind of tables without categories.
    """
    if X is None:
        raise invalid("X", "rows", "None")
    if isinstance(X, Graph):
        if graph not in ("auto", "precomputed"):
            raise invalid("X", "features, because graph is given", repr(X))
        every = X.row_columns
        named = every and all(isinstance(name, str) for name in every)
        names = tuple(map(str, every)) if named else None
        return Rows("graph", X, X.n_nodes, X.row_kind, len(every), names)
    if is_foreign(X):
        expected = "rows; the parameter graph takes graphs, and lowrankgcn.AdjacencyGraph "
        expected += "makes one that is classified without rows"
        raise invalid("X", expected, f"a {type(X).__name__}")
    holder = copy.copy(estimator)  # scikit-learn stores the columns as attributes
    columns = None
    if _may_hold_texts(X) and graph != "precomputed" and getattr(graph, "row_kind", "") != "table":
        with suppress(ValueError):  # the validation below raises
            table = check_rows(holder, X, "table", reset=True)
            columns = _choose(table, y, constants=numbers == "points")
            X = X if columns is None else columns.features(table)
    if numbers == "points" and isinstance(X, Table):
        X = X.expanded()
    kind: Kind = numbers
    if numbers == "table" and isinstance(graph, Graph) and carries_features(graph):
        kind = "nodes"
    elif graph == "precomputed":
        kind = "affinities"
    elif sp.issparse(X) and graph == "hypergraph":
        kind = "incidence"
    elif sp.issparse(X) and isinstance(graph, str) and not is_narrow(X):
        if graph not in ("auto", "knn"):
            expected = "'auto', 'knn' or 'hypergraph' for sparse rows of many columns"
            raise invalid("graph", expected, repr(graph))
        kind = "sparse"
    elif graph == "hypergraph":
        kind = "table"
    elif numbers == "points" and (isinstance(graph, Graph) or graph == "auto"):
        kind = "points" if first_category(X) is None else "table"
    sparse = kind == "points" and sp.issparse(X) and isinstance(graph, Graph)
    checked_by = holder if columns is None else copy.copy(estimator)
    data = check_rows(checked_by, X, "incidence" if sparse else kind, reset=True)
    named = hasattr(holder, "feature_names_in_")
    names = tuple(map(str, holder.feature_names_in_)) if named else None
    return Rows(kind, data, data.shape[0], kind, holder.n_features_in_, names, columns)


def _may_hold_texts(X: Any) -> bool:
    frame = is_frame(X) or isinstance(X, (list, tuple, Mapping))
    return frame or getattr(getattr(X, "dtype", None), "kind", "") in tuple("OUSTV")


def _choose(table: Table, y: Any, *, constants: bool) -> Columns | None:
    """Choose columns, with a warning about guesses and identifiers; None if none is left.

    Networks also use constant texts. Each is a hyperedge of all rows, as in the paper.
    """
    columns = choose_columns(table, None, allow_no_features=True)
    with suppress(ValueError):  # a later validation of labels raises
        labelled, labels, count = labelled_cells([] if y is None else y)
        if count == len(table):
            columns = keep_useful(columns, table, labelled, labels.astype(str))
    if constants:
        more = {
            name: columns.used.get(name, "category")
            for name in table.names
            if name in columns.used
            or (columns.left_out[name] == "constant" and table[name].kind == "category")
        }
        left_out = {name: why for name, why in columns.left_out.items() if name not in more}
        columns = replace(columns, used=more, left_out=left_out)
    if not columns.used:
        return None
    if notes := [*left_out_notes(columns.left_out, ["identifier"]), *columns.notes]:
        texts = map(without_options, notes)
        warn_caller("; ".join(texts) + COLUMN_ADVICE, ColumnWarning)
    return columns


def first_category(X: Any) -> str | None:
    """Describe the first column of texts, categories, booleans or dates; None if there is none."""
    if sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "iufc"):
        return None
    table = Table.read(X, "X")
    with suppress(ValueError):  # the validation below raises
        for name, cells in table.items():
            if cells.kind != "number":
                return f"column {name!r} of kind {cells.kind}"
    return None


def check_rows(
    estimator: Any, X: Any, kind: Kind, columns: Columns | None = None, *, reset: bool = False
) -> Any:
    """Validate rows of one kind.

    Parameters
    ----------
    estimator : classifier
    X : array, table of any kind or sparse array
        Columns with names are matched by name.
    kind : {"points", "table", "incidence", "affinities"}
    columns : Columns, optional
        How columns are read that are not in a :class:`Table` yet.
    reset : bool
        Whether to set the column attributes of the estimator.
    """
    from sklearn.utils.validation import validate_data  # models of files predict without it

    fewest, typed = 2 if reset else 1, isinstance(X, Table)
    if is_frame(X):
        X = Table.read(X, "X")
    elif np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(object), np.nan)
    if columns is not None:
        if not typed:
            table = check_rows(estimator, X, "table")
            names = getattr(estimator, "feature_names_in_", range(table.shape[1]))
            X = columns.features(table if table.named else table.matched(names, names, "X"))
        return X.as_matrix() if kind == "points" else X
    if sp.issparse(X) and kind in ("points", "table"):
        X = X.toarray()  # of few columns
    as_table = kind == "table" or (kind == "nodes" and not sp.issparse(X))
    if as_table:
        X = Table.read(X, "X")
    if isinstance(X, Table) and not reset:
        X = _in_fitted_order(X, estimator)
    if as_table:
        table = X
        if len(table) < fewest:
            expected = f"at least {fewest} rows" if reset else "at least one row"
            raise invalid("X", expected, f"{len(table)} sample(s)")
        if not table.names:
            got = f"0 feature(s) (shape={table.shape}) while a minimum of 1 is required."
            raise invalid("X", "at least one column", got)
        if reset:  # errors of X come before those of y
            list(table.items())  # reads all columns
        header = np.empty((0, len(table.names)))
        header = pd.DataFrame(header, columns=list(table.names)) if table.named else header
        validate_data(estimator, header, reset=reset, skip_check_array=True)
        return table
    if (category := first_category(X)) is not None:
        raise invalid("X", "numbers only (graph='hypergraph' supports categories)", category)
    if isinstance(X, Table):
        X = X.expanded()
        X = pd.DataFrame(X.as_matrix(), columns=list(X.names)) if X.named else X.as_matrix()
    # C order, so that sums do not depend on the memory order of a frame.
    checked: NDArray[np.float64] | sp.csr_array
    try:
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            order="C",
            accept_sparse="csr",
            ensure_all_finite="allow-nan" if kind == "points" else True,
            ensure_min_samples=fewest,
        )
    except OverflowError as error:  # huge integers
        raise invalid("X", "an array of finite numbers", error) from None
    if reset and kind == "points":
        # Differences of the numbers must not overflow.
        largest = float(np.fmax.reduce(np.abs(checked), axis=None))
        if largest > _LARGEST:
            raise invalid("X", f"numbers up to {_LARGEST:g}", f"{largest:g}")
    if reset and kind == "affinities" and checked.shape[0] != checked.shape[1]:
        raise invalid("X", "a square matrix with graph='precomputed'", f"{checked.shape}")
    return checked


def _in_fitted_order(table: Table, estimator: Any) -> Table:
    """Return the columns in the order of those given to fit, if they have the same names."""
    names = getattr(estimator, "feature_names_in_", ())
    same = table.named and set(table.names) == set(names)
    return table.matched(names, names, "X") if same else table


def take(data: Any, index: Any) -> Any:
    """Return some rows of a table or an array, by an index array or a slice."""
    return data.take(index) if isinstance(data, Table) else data[index]


def map_rows(
    function: Callable[[Any], FloatArray], X: Any, size: int, step: str | None = None
) -> FloatArray:
    """Apply a function that is independent for each row to chunks of `size` rows.

    The progress is reported as a `step`, if that has a name.
    """
    n_rows, done = X.shape[0], list[int]()

    def of_chunk(start: int, stop: int) -> FloatArray:
        values = function(take(X, slice(start, stop)))
        if step is not None:
            done.append(stop - start)
            report_progress(step, sum(done), n_rows)
        return values

    return np.concatenate(map_chunks(of_chunk, n_rows, size))

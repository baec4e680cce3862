"""Arguments and options of the commands, each defined once.

A command names its arguments and options, and gets their values as attributes of one object:

>>> @command("model row seed")
... def describe(args: Arguments) -> None:
...     print(args.model, args.row, args.seed)
>>> describe(model="cars.model", row=[1], seed=0)
cars.model [1] 0
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import typer

Arguments = SimpleNamespace
# Panels of the help
_COLUMNS, _MODEL, _FOLDERS = "Columns", "Model", "Folders of Parquet files"
_READING, _LABELLING, _OUTPUT = "Reading", "Labels", "Output"
_EMPTY: Any = inspect.Parameter.empty

_TABLE = "CSV, TSV, Parquet, Feather, JSON lines or Excel, several files or a pattern; - for stdin."
_FOLDER = "A folder of Parquet files may be larger than memory."
_DATASETS = (
    "A file or a pattern, as for classify, or one of iris, wine, breast_cancer, digits, cars, "
    "cars-buying, mushrooms, spiral."
)
_TARGET = "Column of the classes; its cells are empty in unlabelled rows."
_LABELS = "File with more labels: the target, and row numbers as suggest writes or --key; repeat."
_UNLABELLED = "Texts that mark unlabelled rows, such as NA,?; '' for empty cells only."
_CLASS = "Text that is a class, such as none, although it often marks unlabelled rows; repeat."
_KEY = "Column that identifies the rows in --labels and --edges."
_DELIMITER = "Character between cells; 'tab' for a tab."
_EDGES = "Edges of a graph of the rows: two columns of row numbers or --key, perhaps weights."
_DROP = "Column to ignore. Repeat, or separate names by commas."
_GRAPH = "Graph of the rows: gaussian, hypergraph, knn or auto."
_METHOD = "gp: Gaussian process; gcn: the networks of the paper (needs torch)."
_WEIGHT = "balanced: classify as if all classes were equally frequent."
_FILTER = (
    "With --method gcn: linear, quadratic, pseudoinverse, regularized-inverse, heat, constant, "
    "high-pass or zero-impulse."
)
_NETWORK = "With --method gcn: full, low-rank (the default) or reduced."
_BANDWIDTH = "With --method gcn: bandwidth of the Gaussian graph, in the units of the table."
_OUT = "Write the table with predictions, in the format of this name; - for standard output."
_OVERWRITE = "Allow --out to replace the table."
_PROBABILITIES = "Add a column with the probability of each class."
_LEVEL = "Add sets of classes that contain the true one with this probability, or unsure."
_IMPORTANCE = "Rank the columns; by default with --report or --json, or for up to 30 columns."
_ROW = "Row to explain, counted from 1 without the header. Repeat for more rows."
_BY = "Explain by columns, by labelled rows or by blocks; auto: by columns."
_IN_ORDER = "Keep the order of the rows instead of shuffling them."
_PORT = "Port of the server; another one if it is taken."
_SCHEDULER = "Address of a Dask scheduler, such as tcp://host:8786."
_METHODS = (
    "Some of gp, gcn, gcn-reduced, gcn-paper, logistic, forest, svc, boosting, catboost, "
    "spreading-knn, spreading-rbf, hypergraph-conv, poisson. Default: all that are installed."
)


def _check_level(level: float | None) -> float | None:
    if level is not None and not 0 < level < 1:
        raise typer.BadParameter(f"expected a probability between 0 and 1, got {level:g}")
    return level


def _parameter(
    name: str, kind: Any, default: Any = inspect.Parameter.empty, **argument: Any
) -> inspect.Parameter:
    """Return a parameter of a command, by default a required argument."""
    usual = inspect.Parameter.POSITIONAL_OR_KEYWORD
    kind = Annotated[kind, typer.Argument(**argument)] if argument else kind
    return inspect.Parameter(name, usual, default=default, annotation=kind)


def _option(
    names: str,
    kind: Any,
    metavar: str | None,
    help: str,
    panel: str | None = None,
    default: Any = None,
    **more: Any,
) -> inspect.Parameter:
    """Return an option; its parameter has the longest of its names, unless that is reserved."""
    name = names.split()[0].split("/")[0].strip("-").replace("-", "_")
    name = {"json": "as_json", "class": "class_"}.get(name, name)
    option = typer.Option(*names.split(), metavar=metavar, help=help, rich_help_panel=panel, **more)
    kind = kind | None if default is None else kind
    return _parameter(name, Annotated[kind, option], default)


def _output(names: str, help: str, metavar: str = "FILE", default: Any = None) -> inspect.Parameter:
    return _option(names, Path, metavar, help, _OUTPUT, default, readable=False)


_GRAPHS = Literal["auto", "gaussian", "hypergraph", "knn"]
_ARCHITECTURES = Literal["full", "low-rank", "reduced"]
_PARTS = Literal["spiral", "cars", "mushrooms", "ranks", "smoothers", "filters", "all"]
_AUTO: dict[str, Any] = {"show_default": "auto"}
#: Parameters by the name that a command uses.
PARAMETERS = {
    "context": _parameter("context", typer.Context),
    "tables": _parameter("table", list[Path], metavar="TABLE", help=_TABLE),
    "tables-or-folder": _parameter(
        "table", list[Path], metavar="TABLE", help=f"{_TABLE} {_FOLDER}"
    ),
    "table": _parameter("table", Path, metavar="TABLE", help="A file that classify can read."),
    "table-or-dataset": _parameter("table", str, metavar="TABLE_OR_DATASET", help=_DATASETS),
    "model": _parameter("model", Path, metavar="MODEL", help="Model file written by --save."),
    "part": _parameter("what", _PARTS, "all", metavar="NAME", help="Table or figure of the paper."),
    "target": _option("--target -t", str, "COLUMN", _TARGET, default=_EMPTY),
    "target-of-file": _option("--target -t", str, "COLUMN", "Column of the classes of a file."),
    "row": _option("--row -r", list[int], "N", _ROW, default=_EMPTY, min=1),
    "labels": _option("--labels", list[Path], "FILE", _LABELS, _LABELLING),
    "key": _option("--key", str, "COLUMN", _KEY, _LABELLING),
    "unlabelled": _option("--unlabelled", str, "TEXT,TEXT,…", _UNLABELLED, _LABELLING),
    "class": _option("--class", list[str], "TEXT", _CLASS, _LABELLING),
    "drop": _option("--drop", list[str], "COLUMN", _DROP, _COLUMNS),
    "categorical": _option("--categorical", list[str], "COLUMN", "Column of categories.", _COLUMNS),
    "numeric": _option("--numeric", list[str], "COLUMN", "Column to use as numbers.", _COLUMNS),
    "text": _option("--text", list[str], "COLUMN", "Column to use as words.", _COLUMNS),
    "encoding": _option("--encoding", str, "NAME", "Such as cp1252.", _READING, **_AUTO),
    "delimiter": _option("--delimiter", str, "CHAR", _DELIMITER, _READING, **_AUTO),
    "decimal": _option("--decimal", str, "CHAR", "Point or comma.", _READING, **_AUTO),
    "out": _output("--out -o", _OUT),
    "out-or-folder": _output("--out -o", f"{_OUT} For a folder, name a new folder."),
    "out-rows": _output("--out -o", "Write these rows with their numbers, to be labelled."),
    "reports": _output("--out -o", "Folder for the reports.", "DIR", Path("demo-output")),
    "pages": _output("--out -o", "Folder for page and state.", "DIR", Path("reproduction")),
    "overwrite": _option("--overwrite", bool, "", _OVERWRITE, _OUTPUT, False),
    "report": _output("--report", "Write an HTML report with figures."),
    "save": _output("--save", "Save the model for `lowrankgcn predict`."),
    "probabilities": _option("--probabilities", bool, "", _PROBABILITIES, _OUTPUT, False),
    "level": _option("--level", float, "P", _LEVEL, _OUTPUT, callback=_check_level),
    "importance": _option(
        "--importance/--no-importance", bool, "", _IMPORTANCE, _OUTPUT, show_default=False
    ),
    "csv": _output("--csv", "Write one row per fit, as CSV."),
    "markdown": _output("--markdown", "Write the tables, in Markdown."),
    "method": _option("--method", Literal["gp", "gcn"], "NAME", _METHOD, _MODEL, "gp"),
    "class-weight": _option("--class-weight", Literal["balanced"], "NAME", _WEIGHT, _MODEL),
    "graph": _option("--graph", _GRAPHS, "NAME", _GRAPH, _MODEL, "auto"),
    "edges": _option("--edges", Path, "FILE", _EDGES, _MODEL),
    "rank": _option("--rank", int, "N", "Number of eigenpairs.", _MODEL, min=1, **_AUTO),
    "architecture": _option("--architecture", _ARCHITECTURES, "NAME", _NETWORK, _MODEL),
    "filter": _option("--filter", str, "NAME", _FILTER, _MODEL, **_AUTO),
    "bandwidth": _option("--bandwidth", float, "X", _BANDWIDTH, _MODEL, **_AUTO),
    "scheduler": _option("--scheduler", str, "ADDRESS", _SCHEDULER, _FOLDERS),
    "workers": _option("--workers", int, "N", "Number of local Dask workers.", _FOLDERS, min=1),
    "by": _option("--by", Literal["auto", "columns", "rows", "blocks"], None, _BY, default="auto"),
    "top": _option("--top", int, "N", "Number of contributions to show.", default=10, min=1),
    "count": _option("--count -k", int, "N", "Number of rows.", default=10, min=1),
    "labels-per-class": _option(
        "--labels-per-class -l", str, "N,N,…", "Labels of each class.", default="5,10,20"
    ),
    "splits": _option("--splits", int, "N", "Random splits.", default=20, min=1, max=100_000),
    "methods": _option("--methods", str, "NAME,NAME,…", _METHODS),
    "in-order": _option("--in-order", bool, "", _IN_ORDER, default=False),
    "runs": _option("--runs", int, "N", "Training runs per row.", default=100, min=1),
    "port": _option("--port", int, "N", _PORT, default=8765, min=1024, max=65535),
    "browser": _option("--browser/--no-browser", bool, None, "Open the page.", default=True),
    "seed": _option("--seed", int, "N", "Random seed.", default=0, min=0, max=2**32 - 1),
    "json": _option("--json", bool, "", "Print one JSON document.", default=False),
    "quiet": _option("--quiet -q", bool, "", "Print nothing; write files only.", default=False),
}
FILES = "encoding delimiter decimal"
COLUMNS = f"unlabelled class drop categorical numeric text {FILES}"
TABLES = f"labels key {COLUMNS}"


def command(names: str) -> Callable[[Callable[[Arguments], None]], Any]:
    """Give a function the named parameters; Typer reads them from its signature."""
    parameters = [PARAMETERS[name] for name in names.split()]

    def decorate(function: Callable[[Arguments], None]) -> Any:
        def run(**values: Any) -> None:
            function(Arguments(**values))

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return decorate

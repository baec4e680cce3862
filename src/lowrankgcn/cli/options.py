"""Arguments and options of the commands, each defined once.

A command names its arguments and options, and gets their values as attributes of one object:

>>> @command("model some_rows seed")
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

_TABLE = "CSV, TSV, Parquet, Feather, JSON lines or Excel, several files or a pattern; - for stdin."
_FOLDER = "A folder of Parquet files may be larger than memory."
_DATASETS = (
    "A file or a pattern, as for classify, or one of iris, wine, breast_cancer, digits, cars, "
    "cars-buying, mushrooms, spiral."
)
_TARGET = "Column of the classes; its cells are empty in unlabelled rows."
_LABELS = (
    "Files with more labels, after the table: journals of the studio, tasks of Label Studio, or "
    "tables with the target and row numbers as suggest writes or --key; or repeat the option."
)
_CLASSES = (
    "Names of classes, separated by commas; or a file with the column class, and optionally "
    "description and key."
)
_ANNOTATOR = "Name of the person who labels, with a separate journal: TABLE.NAME.labels.jsonl."
_SAFE = "In CSV, put an apostrophe before texts and names that spreadsheets read as formulas."
_UNLABELLED = "Texts that mark unlabelled rows, such as NA,?; '' for empty cells only."
_CLASS = "Text that is a class, such as none, although it often marks unlabelled rows; repeat."
_MERGE = "Merge classes, such as 'Yes=yes,Y;No=no,N'; or repeat."
_EDGES = "Edges of a graph of the rows: two columns of row numbers or --key, optionally weights."
_HYPEREDGES = "Hyperedges of the rows: a column of row numbers or --key, and one of hyperedges."
_VECTORS = "One vector of numbers for each row, such as an embedding, in a NumPy file (.npy)."
_METHOD = "gp: Gaussian process; gcn: the networks of the paper (needs torch)."
_SHARES = "Class shares of unlabelled rows: auto, labels (as among the labels) or equal."
_FILTER = (
    "With --method gcn: linear, quadratic, pseudoinverse, regularized-inverse, heat, constant, "
    "high-pass or zero-impulse."
)
_NETWORK = "With --method gcn: full, low-rank or reduced; by default full with --edges and columns."
_BANDWIDTH = "With --method gcn: bandwidth of the Gaussian graph, in the units of the table."
_OUT = "Write the table with predictions, in the format of this name; - for standard output."
_LEVEL = "Add sets of classes that contain the true one with this probability, and unsure rows."
_REASONS = "Add the three strongest reasons of each prediction, in words."
_IMPORTANCE = "Rank the columns; by default with --report or --json, or for up to 30 columns."
_ROWS = "Row, counted from 1; repeat for more. By default all rows, with --out."
_BY = "Explain by columns, by labelled rows or by blocks; auto: by columns."
_METHODS = (
    "Some of gp, gcn, gcn-reduced, gcn-paper, logistic, forest, svc, boosting, catboost, "
    "spreading-knn, spreading-rbf, hypergraph-conv, poisson; with --edges or --hyperedges also "
    "pyg-gcn, pyg-sgc, pyg-appnp, propagation. Default: all that are installed."
)


def _check_level(level: float | None) -> float | None:
    if level is not None and not 0 < level < 1:
        raise typer.BadParameter(f"expected a probability between 0 and 1, got {level:g}")
    return level


def _refuse_class_weight(value: str | None) -> None:
    if value is not None:
        raise typer.BadParameter("this option is gone; use --class-shares equal")


def _parameter(
    name: str, kind: Any, default: Any = inspect.Parameter.empty, **argument: Any
) -> inspect.Parameter:
    """Return a parameter of a command, by default a required argument."""
    usual = inspect.Parameter.POSITIONAL_OR_KEYWORD
    kind = Annotated[kind, typer.Argument(**argument)] if argument else kind
    return inspect.Parameter(name, usual, default=default, annotation=kind)


def _option(
    names: str, kind: Any, metavar: str | None, help: str, panel: str | None = None, **more: Any
) -> inspect.Parameter:
    """Return an option; its parameter has the first of its names, unless that is reserved."""
    name = names.split()[0].split("/")[0].strip("-").replace("-", "_")
    name = {"json": "as_json", "class": "class_"}.get(name, name)
    default = more.pop("default", None)
    option = typer.Option(*names.split(), metavar=metavar, help=help, rich_help_panel=panel, **more)
    kind = kind | None if default is None else kind
    return _parameter(name, Annotated[kind, option], default)


def _flag(names: str, help: str, panel: str | None = None, **more: Any) -> inspect.Parameter:
    return _option(names, bool, "", help, panel, **{"default": False, **more})


def _output(names: str, help: str, metavar: str = "FILE", **more: Any) -> inspect.Parameter:
    return _option(names, Path, metavar, help, _OUTPUT, readable=False, **more)


_REQUIRED: dict[str, Any] = {"default": inspect.Parameter.empty}
_AUTO: dict[str, Any] = {"show_default": "auto"}
_GRAPHS = Literal["auto", "gaussian", "hypergraph", "knn"]
_ARCHITECTURES = Literal["full", "low-rank", "reduced"]
_IMAGE = "Size of pictures whose pixels are columns, such as 8x8, 32x32x3 or none."
_PARTS = Literal["spiral", "cars", "mushrooms", "ranks", "smoothers", "filters", "all"]
_SHARES_OF = Literal["auto", "labels", "equal"]
_KINDS = Literal["auto", "columns", "rows", "blocks"]
_OPTIONS = (
    _option("--labels", list[Path], "FILE …", _LABELS, _LABELLING),
    _option(
        "--key",
        str,
        "COLUMN",
        "Identifies the rows in --labels, --edges, --hyperedges.",
        _LABELLING,
    ),
    _flag("--by-position", "Keep labels of a journal at their row numbers.", _LABELLING),
    _flag("--skip-unknown", "Leave out labels of rows that are not in the table.", _LABELLING),
    _option("--unlabelled", list[str], "TEXT,TEXT,…", _UNLABELLED, _LABELLING),
    _option("--class", list[str], "TEXT", _CLASS, _LABELLING),
    _option("--merge-classes", list[str], "NEW=OLD,…;…", _MERGE, _LABELLING),
    _flag("--ignore-case", "Merge classes that differ by case or blanks only.", _LABELLING),
    _option("--drop", list[str], "COLUMN", "Column to ignore; repeat, or use commas.", _COLUMNS),
    _option("--categorical", list[str], "COLUMN", "Column to use as categories.", _COLUMNS),
    _option("--numeric", list[str], "COLUMN", "Column to use as numbers.", _COLUMNS),
    _option("--text", list[str], "COLUMN", "Column of free text.", _COLUMNS),
    _option("--encoding", str, "NAME", "Text encoding, such as cp1252.", _READING, **_AUTO),
    _option("--delimiter", str, "CHAR", "Between cells; 'tab' for a tab.", _READING, **_AUTO),
    _option("--decimal", str, "CHAR", "Decimal mark, point or comma.", _READING, **_AUTO),
    _option("--sheet", str, "NAME|N", "Sheet of a workbook.", _READING, show_default="the first"),
    _option("--header-row", int, "N", "Line with the column names.", _READING, min=1, **_AUTO),
    _option("--vectors", Path, "FILE", _VECTORS, _READING),
    _flag("--allow-missing", "Treat absent columns as columns of missing cells.", _READING),
    _output("--out -o", _OUT),
    _flag("--overwrite", "Allow --out to replace the table.", _OUTPUT),
    _flag("--safe-csv", _SAFE, _OUTPUT),
    _option("--classes", str, "NAME,NAME,…", _CLASSES, _LABELLING),
    _option("--annotator", str, "NAME", _ANNOTATOR, _LABELLING),
    _flag("--blind", "Hide the prediction of a row until it has a label.", _LABELLING),
    _output("--report", "Write an HTML report with figures."),
    _output("--save", "Save the model for `lowrankgcn predict`."),
    _flag("--probabilities", "Add a column with the probability of each class.", _OUTPUT),
    _flag("--reasons", _REASONS, _OUTPUT),
    _option("--level", float, "P", _LEVEL, _OUTPUT, callback=_check_level),
    _flag("--importance/--no-importance", _IMPORTANCE, _OUTPUT, default=None, show_default=False),
    _output("--csv", "Write one row per fit, as CSV."),
    _output("--markdown", "Write the tables, in Markdown."),
    _option("--method", Literal["gp", "gcn"], "NAME", _METHOD, _MODEL, default="gp"),
    _option("--class-shares", _SHARES_OF, "NAME", _SHARES, _MODEL, default="auto"),
    _option("--class-weight", str, None, "", hidden=True, callback=_refuse_class_weight),
    _option(
        "--graph", _GRAPHS, "NAME", "gaussian, hypergraph, knn or auto.", _MODEL, default="auto"
    ),
    _option("--edges", Path, "FILE", _EDGES, _MODEL),
    _option("--hyperedges", Path, "FILE", _HYPEREDGES, _MODEL),
    _option("--rank", int, "N", "Number of eigenpairs.", _MODEL, min=1, **_AUTO),
    _option("--architecture", _ARCHITECTURES, "NAME", _NETWORK, _MODEL),
    _option("--filter", str, "NAME", _FILTER, _MODEL, **_AUTO),
    _option("--bandwidth", float, "X", _BANDWIDTH, _MODEL, **_AUTO),
    _option("--scheduler", str, "ADDRESS", "Dask scheduler, such as tcp://host:8786.", _FOLDERS),
    _option("--workers", int, "N", "Number of local Dask workers.", _FOLDERS, min=1),
    _option("--by", _KINDS, None, _BY, default="auto"),
    _option("--top", int, "N", "Number of contributions to show.", default=10, min=1),
    _option("--count -k", int, "N", "Number of rows.", default=10, min=1),
    _option("--labels-per-class -l", str, "N,N,…", "Labels of each class.", default="5,10,20"),
    _option("--splits", int, "N", "Number of random splits.", default=20, min=1, max=100_000),
    _option("--methods", str, "NAME,NAME,…", _METHODS),
    _flag("--in-order", "Keep the order of the rows instead of shuffling them."),
    _option("--runs", int, "N", "Training runs per row.", default=100, min=1),
    _option("--image", str, "HxW", _IMAGE, **_AUTO),
    _option("--port", int, "N", "Port, if it is free.", default=8765, min=1024, max=65535),
    _flag("--browser/--no-browser", "Open the page in the browser.", default=True),
    _option("--seed", int, "N", "Random seed.", default=0, min=0, max=2**32 - 1),
    _flag("--json", "Print one JSON document."),
    _flag("--quiet -q", "Print nothing; write files only."),
)
#: Parameters by the name that a command uses; some commands share a name.
PARAMETERS = {one.name: one for one in _OPTIONS} | {
    "context": _parameter("context", typer.Context),
    "tables": _parameter("table", list[Path], metavar="TABLE", help=_TABLE),
    "table_or_folder": _parameter("table", list[Path], metavar="TABLE", help=f"{_TABLE} {_FOLDER}"),
    "table": _parameter("table", Path, metavar="TABLE", help="A file that classify can read."),
    "table_or_dataset": _parameter("table", str, metavar="TABLE_OR_DATASET", help=_DATASETS),
    "some_rows": _option("--row -r", list[int], "N", _ROWS, min=1),
    "explained": _output("--out -o", "Write the explained rows with their reasons."),
    "model": _parameter("model", Path, metavar="MODEL", help="Model file written by --save."),
    "part": _parameter("what", _PARTS, "all", metavar="NAME", help="Table or figure of the paper."),
    "target": _option("--target -t", str, "COLUMN", _TARGET, **_REQUIRED),
    "target_of_file": _option("--target -t", str, "COLUMN", "Column of the classes of a file."),
    "out_or_folder": _output("--out -o", f"{_OUT} For a folder, name a new folder."),
    "audited": _output("--out -o", "Write the labelled rows, suspicious ones first."),
    "out_rows": _output("--out -o", "Write these rows with their numbers, to be labelled."),
    "reports": _output("--out -o", "Folder for the reports.", "DIR", default=Path("demo-output")),
    "pages": _output("--out -o", "Folder for all files.", "DIR", default=Path("reproduction")),
}
FILES = "encoding delimiter decimal sheet header_row vectors"
COLUMNS = f"unlabelled class_ merge_classes ignore_case drop categorical numeric text {FILES}"
TABLES = f"labels key by_position skip_unknown {COLUMNS}"
GRAPHS = "edges hyperedges"
_JOINED = {"unlabelled": ",", "merge_classes": ";"}


def command(names: str) -> Callable[[Callable[[Arguments], None]], Any]:
    """Give a function the named parameters; Typer reads them from its signature."""
    parameters = [PARAMETERS[name] for name in names.split()]

    def decorate(function: Callable[[Arguments], None]) -> Any:
        def run(**values: Any) -> None:
            for name, mark in _JOINED.items():  # a repeated option adds to the earlier ones
                if values.get(name) is not None:
                    values[name] = mark.join(values[name])
            function(Arguments(**values))

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return decorate

"""What the page shows of a table: description, map, single rows, lists of rows, written files.

>>> [split_ending(Path(name)) for name in ("my.cars.csv", "cars.csv.gz", "cars.arff")]
[('my.cars', '.csv'), ('cars', '.csv.gz'), ('cars', '.csv')]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from hashlib import file_digest
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy.typing import NDArray

from lowrankgcn._progress import listening, report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.explanation import Contribution, Nearest
from lowrankgcn.files.row_matching import RowMatcher
from lowrankgcn.files.writing import output_format
from lowrankgcn.studio.later import Later
from lowrankgcn.studio.pictures import find_pixels, read_picture
from lowrankgcn.studio.session import Session
from lowrankgcn.studio.showing import cell_texts, has_own_positions, show_columns
from lowrankgcn.studio.state import State
from lowrankgcn.studio.wording import compare

if TYPE_CHECKING:
    from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier

_SAMPLE = 20  # rows by which a page notices that the table has changed
_REASONS = 3
_LINKS = 200  # rows joined to a row on the map
_SHORT, _LONG = 200, 200_000  # characters of a cell in a list of rows, and of one row
#: Endings of the files by what they contain; "labels" and "table" have the format of the table.
ENDINGS = {
    "labels": ".labelled{format}",
    "label-studio": ".label-studio.json",
    "table": ".classified{format}",
    "report": ".report.html",
    "model": ".model",
}
Write = Callable[[str, Path, State, "SpectralGPClassifier | None"], None]


@final
class View:
    """Answers to the questions of the page.

    Parameters
    ----------
    path : Path
        File of the table.
    data : labelled table
        Its ``table.frame`` as it was read, its ``columns`` and the ``features`` in use; those of
        free text may be missing.
    session : Session
    engine : Engine
        Perhaps not prepared yet; rows and their cells do not need it.
    write : callable (what, path, state, classifier)
        Write a file. There is no classifier for the file of the labels.
    image : str or None
        Size of the pictures whose pixels are columns, see :func:`find_pixels`.
    rubric : mapping from class to its "description" and "key", optional
    """

    def __init__(
        self,
        path: Path,
        data: Any,
        session: Session,
        engine: Later,
        write: Write,
        image: str | None = None,
        rubric: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self._path, self.session, self._engine, self._write = path, session, engine, write
        frame, columns, features = data.table.frame, data.columns, data.features
        self._frame, self._features = frame.drop(columns=columns.target), features
        self._names, self._n = list(self._frame.columns), len(frame)
        self._graph = data.graph
        self._written: dict[str, Path] = {}
        self._progress: dict[str, dict[str, Any]] = {}
        points = data.graph is None and has_own_positions(columns.used.values())
        axes = list(columns.used) if points else ["direction 1", "direction 2"]
        self.map = Later(lambda: _positions(engine)).future
        some = np.linspace(0, self._n - 1, min(self._n, _SAMPLE)).astype(int).tolist()
        shown = show_columns(self._frame, columns.used, columns.left_out)
        pixels = find_pixels(self._frame, columns.used, columns.left_out, image)
        self._pixels = pixels
        notes = [] if pixels is None or image else [pixels.note(self._names)]
        self._dates = [column["name"] for column in shown.columns if column["show"] == "date"]
        self.description = {
            "name": path.name,
            "sample": "".join(RowMatcher(frame, columns.target).hashes(some)),
            "rows": self._n,
            "target": columns.target,
            "annotator": session.annotator,
            "columns": shown.columns,
            "title": shown.title,
            "pixels": None if pixels is None else pixels._asdict(),
            "linked": data.graph is not None,
            "space": "own" if points else "embedding",
            "dimensions": len(axes),
            "axes": axes,
            "notes": session.notes + notes,
            "rubric": rubric or {},
        }
        self._order = lru_cache(2)(self._sorted)

    def row(self, row: int) -> dict[str, Any]:
        """Return cells, label, probabilities and linked rows of a row; dates also in ISO 8601."""
        state = self.session.state
        (cells,) = self._texts([self._checked(row)], _LONG)
        pairs = zip(self._names, cells, strict=True)
        read = {name: self._features[name].take([row]) for name in self._dates}
        return {
            "row": row,
            "cells": [
                (*pair, *(read[pair[0]].texts() if pair[0] in read else [])) for pair in pairs
            ],
            "label": state.name(state.labels[row]),
            "probabilities": state.shares(row),
            "note": state.marks["note"].get(row),
            "skipped": row in state.marks["skipped"],
            "accepted": state.marks["accepted"].get(row),
            "given": dict(state.disputed.get(row, {})),
            "imported": None if state.hides(row) else state.imported.get(row),
            "links": [] if self._graph is None else linked_rows(self._graph, row)[:_LINKS],
        }

    def picture(self, row: int, column: int) -> tuple[bytes, str]:
        """Return the picture in a cell and its media type.

        Raises
        ------
        ValueError
            If it cannot be shown.
        """
        columns = self.description["columns"]
        if column >= len(columns) or columns[column]["show"] != "image":
            raise invalid("column", "a column of pictures", column)
        cell = self._frame.iloc[self._checked(row), column]
        return read_picture(cell, self._path.parent)

    def reasons(self, row: int) -> dict[str, Any]:
        """Return reasons for the class of a row, and its labelled neighbours; this takes longer.

        The strongest columns are compared with the other rows in words. Those that are pixels are
        one amount for each pixel.
        """
        state = self.session.state
        if not self._engine.ready() or state.hides(self._checked(row)):
            return {"reasons": [], "pixels": [], "against": None, "neighbours": []}
        against, parts = self._engine.explain(state.answer, self._checked(row)) or (None, [])
        places, channels = ([], 1) if self._pixels is None else (self._pixels[0], self._pixels[3])
        pixels = {self._names[place]: 0.0 for place in places}
        reasons: list[dict[str, Any]] = []
        for part in parts:
            if part.name in pixels:
                pixels[part.name] = part.amount
            elif len(reasons) < _REASONS:
                reasons.append({"amount": part.amount, **self._worded(part, row)})
        amounts = np.array([*pixels.values()]).reshape(-1, channels)
        near = self._engine.neighbours(state.answer, row)
        cells = self._texts([other for other, _ in near], _SHORT)
        return {
            "reasons": reasons,
            "pixels": amounts.sum(axis=1).tolist() if parts else [],
            "against": against,
            "neighbours": [
                {
                    "row": other,
                    "label": state.name(state.labels[other]),
                    "similarity": alike,
                    "cells": list(zip(self._names, texts, strict=True)),
                }
                for (other, alike), texts in zip(near, cells, strict=True)
            ],
        }

    def _worded(self, part: Contribution, row: int) -> dict[str, str]:
        """Return column, value and comparison of a contribution to the class of a row."""
        name, value = str(part.name), part.value
        if isinstance(value, Nearest):
            return {
                "column": name,
                "value": "",
                "text": f"like labelled rows {value.text(first=1)}",
            }
        if name in self._features.names:
            return compare(self._features[name], row, name)
        return {"column": name, "value": "" if value is None else str(value), "text": ""}

    def _checked(self, row: int) -> int:
        if not 0 <= row < self._n:
            raise invalid("row", f"a row from 0 to {self._n - 1}", row)
        return row

    def rows(
        self,
        sort: str,
        descending: bool,
        offset: int,
        count: int,
        search: str = "",
        shown: str = "",
    ) -> dict[str, Any]:
        """Return a part of the ordered list of rows, of those that a search and a filter leave."""
        state = self.session.state
        order = self._order(sort, descending, search, shown, state)
        part = order[offset : offset + count]
        rows = [
            {
                "row": row,
                "label": state.name(state.labels[row]),
                "prediction": state.name(state.predicted[row]),
                "probability": float(state.certainty[row]) if state.predicted[row] >= 0 else None,
                "cells": cells,
            }
            for row, cells in zip(part.tolist(), self._texts(part, _SHORT), strict=True)
        ]
        return {"total": len(order), "rows": rows}

    def search(self, text: str, shown: str = "") -> bytes:
        """Return one byte per row: whether a cell contains a text, and a filter shows the row."""
        found = self._contain(text) if text else np.ones(self._n, bool)
        found &= self.session.state.matching(shown)
        return found.astype(np.uint8).tobytes()

    def write(self, what: str) -> Path:
        """Write a file and return its path; only files that a studio wrote are replaced.

        The predictions in it belong to the labels.

        Raises
        ------
        ValueError
            If there is no such file, there are too few labels, or the last fit failed.
        """
        if what not in ENDINGS:
            raise ValueError(f"what: expected {', '.join(ENDINGS)}, got {what!r}")
        stem, ending = split_ending(self._path)
        path = self._unused(self._path.with_name(stem + ENDINGS[what].format(format=ending)))
        with listening(partial(self._heard, what)):
            return self._write_to(path, what)

    def _heard(self, what: str, step: str, done: int, total: int) -> None:
        self._progress[what] = {"step": step, "done": done, "total": total}

    def progress(self, what: str) -> dict[str, Any]:
        """Return the step of a file that is being written, and how much of it is done."""
        return self._progress.get(what, {"step": "", "done": 0, "total": 0})

    def _write_to(self, path: Path, what: str) -> Path:
        self._progress.pop(what, None)
        state, classifier = self.session.state, None
        if what != "labels":
            report_progress("predictions of the labels")
            state = self.session.settled()
            classifier = self._engine.fitted(state.answer)
            if what == "label-studio":
                pass  # labels without predictions are written, too
            elif state.message is not None:
                raise ValueError(state.message)
            elif classifier is None or state.answer.distributions is None:
                raise ValueError("expected labels of at least two classes; label some rows first")
        self._write(what, path, state, classifier)
        self.session.remember_file(path.name, _digest(path))
        self._written[what] = path
        return path

    def written(self, what: str) -> Path:
        """Return the path of a file that was written since the start."""
        if what not in self._written or not self._written[what].exists():
            raise ValueError(f"what: expected a file that was written, got {what[:50]!r}")
        return self._written[what]

    def _unused(self, path: Path) -> Path:
        """Return a path, numbered if somebody else wrote or changed such a file."""
        known = self.session.journal.written
        others = (path.with_name(numbered(path.name, number)) for number in count(2))
        for unused in chain([path], others):
            if not unused.exists() or known.get(unused.name) == _digest(unused):
                return unused
        raise AssertionError("numbers do not end")

    def _sorted(
        self, sort: str, descending: bool, search: str, shown: str, state: State
    ) -> NDArray[np.intp]:
        keys = self._keys(sort, state)
        order = np.argsort(-keys if descending else keys, kind="stable")  # NaN last in both
        for found in (self._contain(search) if search else None, state.matching(shown)):
            order = order if found is None else order[found[order]]
        return order

    def _keys(self, sort: str, state: State) -> NDArray[Any]:
        if sort == "row":
            return np.arange(self._n)
        if sort in ("uncertainty", "probability"):
            return state.certainty if sort == "probability" else -state.certainty
        if sort in ("label", "prediction"):
            places = np.append(pd.Series(state.classes, dtype=object).rank(), np.nan)
            return places[state.labels if sort == "label" else state.predicted]
        name = sort.removeprefix("column:")
        if sort == name or name not in self._names:
            raise invalid("sort", "row, uncertainty, …, or column:NAME", repr(sort[:50]))
        cells = self._features[name] if name in self._features.names else None
        if cells is None or cells.kind == "vector":  # not in use, or free text
            texts = cell_texts(self._frame[name]).to_pandas()
            return np.asarray(texts.rank(method="dense"), np.float64)
        if cells.kind == "category":  # sorted by their texts
            return np.where(cells.missing, np.nan, cells.codes)
        return np.asarray(cells.as_floats(name, cells.unit))

    def _texts(self, rows: Any, longest: int) -> list[list[str | None]]:
        """Return the cells of rows, None where missing, shortened to `longest` characters."""
        shown = self._frame.iloc[rows]
        columns = [cell_texts(shown[name]).to_pylist() for name in self._names]
        return [[_shortened(cells[k], longest) for cells in columns] for k in range(len(rows))]

    def _contain(self, text: str) -> NDArray[np.bool_]:
        """Return which rows have a cell that contains a text, in any case."""
        matches = np.zeros(self._n, bool)
        for name in self._names:
            cells = pc.match_substring(cell_texts(self._frame[name]), text, ignore_case=True)
            matches |= cells.fill_null(False).to_numpy(zero_copy_only=False)
        return matches


def _positions(engine: Later) -> bytes:
    """Return the positions on the map as bytes."""
    features, prepared = engine.features, engine.prepared
    from lowrankgcn.studio.layout import map_positions  # with the libraries of the engine

    return map_positions(features, prepared).astype("<f4").tobytes()


def _shortened(text: str | None, longest: int) -> str | None:
    return text if text is None or len(text) <= longest else text[: longest - 1] + "…"


def split_ending(path: Path) -> tuple[str, str]:
    """Split a file name before the ending of its format; CSV if that cannot be written."""
    for ending in (path.suffix, "".join(path.suffixes[-2:])):  # .csv, .csv.gz
        with suppress(ValueError):
            output_format(f"table{ending}")
            return path.name.removesuffix(ending), ending
    return path.stem, ".csv"


def numbered(name: str, number: int) -> str:
    """Return a name with a number before its endings.

    >>> numbered("iris.model", 2)
    'iris-2.model'
    """
    stem, _, rest = name.partition(".")
    return f"{stem}-{number}.{rest}"


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "blake2b").hexdigest()[:32]


def linked_rows(graph: Any, row: int) -> list[int]:
    """Return the rows that a given graph joins to a row, or that share a hyperedge with it.

    >>> import lowrankgcn as lg
    >>> linked_rows(lg.Hypergraph([[1, 0], [1, 1], [0, 1]]), 1)
    [0, 2]
    """
    hyper = hasattr(graph, "incidence")
    matrix = graph.incidence.matrix if hyper else graph.adjacency
    weights = matrix @ matrix[[row]].T if hyper else matrix[[row]].T
    rows = sp.coo_array(weights).coords[0]
    linked: list[int] = np.unique(rows[rows != row]).tolist()
    return linked

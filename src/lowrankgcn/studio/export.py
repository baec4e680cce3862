"""Files that the page writes beside the table.

>>> [split_ending(Path(name)) for name in ("my.cars.csv", "cars.csv.gz", "cars.arff")]
[('my.cars', '.csv'), ('cars', '.csv.gz'), ('cars', '.csv')]
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any, final

from numpy.typing import NDArray

from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier
from lowrankgcn.files.writing import output_format
from lowrankgcn.studio.engine import Engine
from lowrankgcn.studio.session import Session

#: Endings of the files by what they contain; "labels" and "table" have the format of the table.
ENDINGS = {
    "labels": ".labelled{format}",
    "table": ".classified{format}",
    "report": ".report.html",
    "model": ".model",
}
Write = Callable[[str, Path, NDArray[Any], SpectralGPClassifier | None], None]


@final
class Export:
    """Choose the names of files, and write them as soon as the predictions belong to the labels.

    Parameters
    ----------
    table : path
    session : Session
    engine : Engine
    write : callable (what, path, labels, classifier)
        Write a file; labels (n,) are texts, None in unlabelled rows. There is no classifier for the
        file of the labels.
    """

    def __init__(self, table: Path, session: Session, engine: Engine, write: Write) -> None:
        self._table, self._session, self._engine, self._write = table, session, engine, write
        self._written: dict[str, Path] = {}

    def __call__(self, what: str) -> Path:
        """Write a file and return its path; only files of this session are replaced.

        Raises
        ------
        ValueError
            If there is no such file, there are too few labels, or the last fit failed.
        """
        if what not in ENDINGS:
            raise ValueError(f"what: expected {', '.join(ENDINGS)}, got {what!r}")
        stem, ending = split_ending(self._table)
        name = stem + ENDINGS[what].format(format=ending)
        path = self._written.get(what) or _unused(self._table.with_name(name))
        if what == "labels":
            labels, classifier = self._session.state.names(), None
        else:
            state = self._session.settled()
            if state.message is not None:
                raise ValueError(state.message)
            labels, classifier = state.answer.labels, self._engine.fitted(state.answer)
            if classifier is None or state.answer.distributions is None:
                raise ValueError("expected labels of at least two classes; label some rows first")
        self._write(what, path, labels, classifier)
        self._written[what] = path
        return path


def split_ending(path: Path) -> tuple[str, str]:
    """Split a file name before the ending of its format; CSV if that cannot be written."""
    for ending in (path.suffix, "".join(path.suffixes[-2:])):  # .csv, .csv.gz
        with suppress(ValueError):
            output_format(f"table{ending}")
            return path.name.removesuffix(ending), ending
    return path.stem, ".csv"


def _unused(path: Path) -> Path:
    """Return a path, numbered if there is such a file already."""
    stem, _, rest = path.name.partition(".")
    others = (path.with_name(f"{stem}-{number}.{rest}") for number in count(2))
    return next(unused for unused in chain([path], others) if not unused.exists())

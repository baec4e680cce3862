"""Results on disk: one file per case, replaced whole after every chunk of runs.

A file is found by everything its numbers depend on, so results of other settings or of another
version of the library are never mixed:

>>> import tempfile
>>> from lowrankgcn.experiments.reproduction.grid import Case
>>> settings = Settings(seed=0, iterations=1000)
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder), settings)
...     case = Case("cars", "GCN", "linear")
...     store.save(case, "cars", Entry(accuracies=(0.5, 0.75), setup=0.1, batch=1.0))
...     store.load(case, "cars").accuracies
(0.5, 0.75)
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, final

from lowrankgcn._atomic import write_text
from lowrankgcn.experiments.reproduction.grid import Case

__all__ = ["Entry", "Settings", "Store"]

_FORMAT = 1


@final
@dataclass(frozen=True)
class Settings:
    """What all cases of a reproduction share: its seed, and iterations of every training."""

    seed: int = 0
    iterations: int = 1000


@final
@dataclass(frozen=True)
class Entry:
    """What is known about a case: runs 0, 1, … in order, and seconds.

    Attributes
    ----------
    accuracies : tuple of float
        Of every run.
    setup : float
        Seconds from the graph to all that training needs.
    batch : float
        Seconds of training, all runs together.
    alone : float or None
        Seconds of training of one run by itself.
    naive_setup, naive_training : float or None
        The same by stored n×n matrices, scaled up from a part.
    """

    accuracies: tuple[float, ...] = ()
    setup: float = 0.0
    batch: float = 0.0
    alone: float | None = None
    naive_setup: float | None = None
    naive_training: float | None = None


@final
@dataclass(frozen=True)
class Store:
    """The folder of results; `complain` is told of every file that cannot be used, and why."""

    folder: Path
    settings: Settings
    complain: Callable[[str], None] = print

    def path(self, case: Case, source: str) -> Path:
        """Where the results of a case are."""
        text = json.dumps(self._identity(case, source), sort_keys=True)
        name = re.sub(r"[^a-z0-9]+", "-", str(case).lower()).strip("-")
        return self.folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"

    def load(self, case: Case, source: str) -> Entry:
        """What is known; nothing if the file is not there or damaged."""
        path = self.path(case, source)
        try:
            document = json.loads(path.read_text("utf-8"))
            return _entry(document, self._identity(case, source))
        except FileNotFoundError:
            return Entry()
        except (ValueError, RecursionError, OverflowError) as error:
            reason = " ".join(str(error).split())
            self.complain(f"{path} is damaged ({reason}): computed anew")
            return Entry()

    def save(self, case: Case, source: str, entry: Entry) -> None:
        """Replace what is known, in one step."""
        document = self._identity(case, source) | {"results": asdict(entry)}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.path(case, source), json.dumps(document, indent=1) + "\n")

    def _identity(self, case: Case, source: str) -> dict[str, Any]:
        from lowrankgcn import __version__

        return {
            "format": _FORMAT,
            "version": __version__,
            "source": source,
            **asdict(self.settings),
            "case": asdict(case),
        }


def _entry(document: Any, identity: dict[str, Any]) -> Entry:
    """The results of a document, every one of them checked; ValueError says what is wrong."""
    if not isinstance(document, dict) or not isinstance(results := document.get("results"), dict):
        raise ValueError("not a result of lowrankgcn")
    if {key: document.get(key) for key in identity} != identity:
        raise ValueError("results of something else")
    if set(results) != {field.name for field in fields(Entry)}:
        raise ValueError("fields are missing")
    accuracies = results.pop("accuracies")
    if not isinstance(accuracies, list) or not all(_number(a) and a <= 1 for a in accuracies):
        raise ValueError("accuracies are not numbers from 0 to 1")
    times = {name: value for name, value in results.items() if value is not None}
    if not all(map(_number, times.values())) or not {"setup", "batch"} <= set(times):
        raise ValueError("times are not numbers")
    return Entry(accuracies=tuple(accuracies), **results)


def _number(value: Any) -> bool:
    """Whether this is a finite number that is not negative."""
    real = isinstance(value, float | int) and not isinstance(value, bool)
    return real and math.isfinite(value) and value >= 0

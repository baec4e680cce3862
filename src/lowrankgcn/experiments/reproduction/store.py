"""Results on disk: one file per case, replaced atomically after every chunk of runs.

The name of a file depends on everything that its numbers depend on, so results of other settings
or versions are never mixed:

>>> import tempfile
>>> from lowrankgcn.experiments.reproduction.grid import Case
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder), Settings(seed=0, iterations=1000))
...     case = Case("cars", "GCN", "linear")
...     store.save(case, "cars", Entry(accuracies=(0.5, 0.75), setup=0.1, batch=1.0))
...     store.load(case, "cars").accuracies
(0.5, 0.75)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from lowrankgcn._atomic import write_text
from lowrankgcn.experiments.reproduction.grid import Case

__all__ = ["Entry", "Settings", "Store"]

_FORMAT = 2


@final
@dataclass(frozen=True)
class Settings:
    """Settings of a whole reproduction: the seed, and the iterations of every training."""

    seed: int = 0
    iterations: int = 1000


@final
@dataclass(frozen=True)
class Entry:
    """Results of a case.

    Attributes
    ----------
    accuracies : tuple of float
        Accuracy of runs 0, 1, …
    setup : float
        Seconds from the graph to everything that training needs.
    batch : float
        Seconds of training, all runs together.
    alone : float or None
        Seconds of training one run by itself.
    naive_setup, naive_training : float or None
        The same with stored n×n matrices, extrapolated.
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
    """Folder of results; `complain` is called with a message about every damaged file."""

    folder: Path
    settings: Settings
    complain: Callable[[str], None] = print

    def path(self, case: Case, source: str) -> Path:
        """Return the file of a case."""
        name = re.sub(r"[^a-z0-9]+", "-", str(case).lower()).strip("-")
        return self.folder / f"{name}-{_digest(self._identity(case, source))[:12]}.json"

    def load(self, case: Case, source: str) -> Entry:
        """Return the stored results, or an empty entry if the file is missing or damaged."""
        path = self.path(case, source)
        try:
            document = json.loads(path.read_text("utf-8"))
            results = document["results"]
            if document != self._document(case, source, results):
                raise ValueError("the checksum does not match")
            return Entry(**results | {"accuracies": tuple(results["accuracies"])})
        except FileNotFoundError:
            return Entry()
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = " ".join(str(error).split())
            self.complain(f"{path} is damaged ({reason}): computed anew")
            return Entry()

    def save(self, case: Case, source: str, entry: Entry) -> None:
        """Replace the stored results atomically."""
        results = asdict(entry) | {"accuracies": list(entry.accuracies)}
        document = self._document(case, source, results)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.path(case, source), json.dumps(document, indent=1) + "\n")

    def _document(self, case: Case, source: str, results: Any) -> dict[str, Any]:
        document = self._identity(case, source) | {"results": results}
        return document | {"sha256": _digest(document)}

    def _identity(self, case: Case, source: str) -> dict[str, Any]:
        from lowrankgcn import __version__

        settings = {"format": _FORMAT, "version": __version__, **asdict(self.settings)}
        return settings | {"source": source, "case": asdict(case)}


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()

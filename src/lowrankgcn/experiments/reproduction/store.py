"""Results on disk: one file per case, replaced atomically after every chunk of runs.

The name of a file depends on everything that its numbers depend on, so results of other settings
or versions are never mixed:

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder), seed=0, iterations=1000)
...     case = Case("cars", "GCN", "linear")
...     store.save(case, "cars", Entry(runs=[0, 1], accuracies=[0.5, 0.75]))
...     store.load(case, "cars").accuracies
[0.5, 0.75]
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, final

from lowrankgcn._atomic import write_text
from lowrankgcn.experiments.reproduction.grid import Case

__all__ = ["Entry", "Store"]

_FORMAT = 3  # version of the file format


@final
@dataclass
class Entry:
    """Results of a case.

    Attributes
    ----------
    runs, accuracies : list
        Numbers of the finished runs, and the accuracy of each.
    setup : float
        Seconds from the graph to everything that training needs.
    batch : float
        Seconds of training, all runs together.
    alone : float or None
        Seconds of training one run by itself.
    naive_setup, naive_training : float or None
        The same with stored n×n matrices, extrapolated.
    """

    runs: list[int] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    setup: float = 0.0
    batch: float = 0.0
    alone: float | None = None
    naive_setup: float | None = None
    naive_training: float | None = None

    def add(self, new: Entry) -> None:
        """Add other runs, or times that are missing."""
        self.runs += new.runs
        self.accuracies += new.accuracies
        self.batch += new.batch
        for name in ("setup", "alone", "naive_setup", "naive_training"):
            setattr(self, name, getattr(self, name) or getattr(new, name))

    def first(self, count: int) -> Entry:
        """Return the results with the first `count` runs only."""
        accuracies = dict(zip(self.runs, self.accuracies, strict=True))
        runs = list(range(count))
        batch = self.batch * count / len(self.runs)
        return replace(self, runs=runs, accuracies=[accuracies[r] for r in runs], batch=batch)


@final
@dataclass(frozen=True)
class Store:
    """Folder of results for one seed and number of iterations.

    `complain` is called with a message about every damaged file.
    """

    folder: Path
    seed: int = 0
    iterations: int = 1000
    complain: Callable[[str], None] = print

    def path(self, case: Case, source: str) -> Path:
        """Return the file of a case; `source` names the data."""
        from lowrankgcn import __version__

        name = re.sub(r"[^a-z0-9]+", "-", str(case).lower()).strip("-")
        settings = [_FORMAT, __version__, self.seed, self.iterations, source, asdict(case)]
        return self.folder / f"{name}-{_digest(settings)[:12]}.json"

    def load(self, case: Case, source: str) -> Entry:
        """Return the stored results, or an empty entry if the file is missing or damaged."""
        path = self.path(case, source)
        try:
            document = json.loads(path.read_text("utf-8"))
            if document["sha256"] != _digest([path.name, document["results"]]):
                raise ValueError("the checksum does not match")
            return Entry(**document["results"])
        except FileNotFoundError:
            return Entry()
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = " ".join(str(error).split())
            self.complain(f"{path} is damaged ({reason}) and is computed again")
            return Entry()

    def save(self, case: Case, source: str, entry: Entry) -> None:
        """Replace the stored results atomically."""
        path, results = self.path(case, source), asdict(entry)
        document = {"results": results, "sha256": _digest([path.name, results])}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(document, indent=1) + "\n")


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

"""Compute the missing runs of a reproduction, one piece at a time, and store them.

There is one file per piece, written atomically. Its name depends on everything that its numbers
depend on, so results of other settings or versions are never mixed.

>>> import tempfile
>>> case = Case("cars", "R-GCN", "linear", 15)
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder), seed=0, iterations=5)
...     found = compute([Piece(case, range(2))], store)
...     stored = store.load(Piece(case, range(2)), "cars")
>>> found.entries[case].accuracies == stored.accuracies, len(stored.accuracies)
(True, 2)
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from lowrankgcn._atomic import write_text
from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.exceptions import DegenerateCutWarning, RankWarning
from lowrankgcn.experiments.reproduction import grid
from lowrankgcn.experiments.reproduction.grid import Case, Setting, load_setting
from lowrankgcn.nn import limit_threads, train

_FORMAT = 4  # version of the file format
_BASIS_RUNS = 20  # runs of every other choice of signs
_SPLIT_RUNS = 5  # runs of every random training set

#: Called with the current case, the work done and all work, both in approximate seconds.
Watch = Callable[[str, float, float], None]


class Piece(NamedTuple):
    """Some runs of a case, trained in one batch.

    >>> round(Piece(Case("mushrooms", "GCN", "linear"), range(2)).cost, 3)
    1.812
    """

    case: Case
    runs: range

    @property
    def cost(self) -> float:
        """Approximate seconds on one core."""
        if self.case.network == "R-GCN":
            return 0.01 * len(self.runs)
        rank = min(self.case.rank or 84, 84)
        seconds = 0.15 + 0.009 * rank if self.case.data == "mushrooms" else 0.05
        return seconds * len(self.runs)


class Entry(NamedTuple):
    """Results of a piece, or of a case.

    Attributes
    ----------
    accuracies : list
        Accuracy of each run.
    setup : float
        Seconds from the graph to everything that training needs.
    alone : float
        Seconds of training the first piece: a single run for the rows of the tables.
    batch : float
        Seconds of training, all runs together.
    """

    accuracies: list[float]
    setup: float
    alone: float
    batch: float


class Store(NamedTuple):
    """Folder of results for one seed and number of iterations."""

    folder: Path
    seed: int = 0
    iterations: int = 1000

    def path(self, piece: Piece, source: str) -> Path:
        """Return the file of a piece; `source` names the data."""
        from lowrankgcn import __version__

        case, runs = piece.case, [piece.runs.start, piece.runs.stop]
        name = re.sub(r"[^a-z0-9]+", "-", str(case).lower()).strip("-")
        settings = [_FORMAT, __version__, self.seed, self.iterations, source, case._asdict(), runs]
        return self.folder / f"{name}-{_digest(settings)[:12]}.json"

    def load(self, piece: Piece, source: str) -> Entry | None:
        """Return the stored results, None if the file is missing or damaged (with a warning)."""
        path = self.path(piece, source)
        try:
            document = json.loads(path.read_text("utf-8"))
            if document["sha256"] != _digest([path.name, document["results"]]):
                raise ValueError("the checksum does not match")
            return Entry(**document["results"])
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = " ".join(str(error).split())
            warnings.warn(f"{path} is damaged ({reason}) and is computed again", stacklevel=2)
            return None

    def save(self, piece: Piece, source: str, entry: Entry) -> None:
        """Store results atomically."""
        path, results = self.path(piece, source), entry._asdict()
        document = {"results": results, "sha256": _digest([path.name, results])}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(document, indent=1) + "\n")


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


class Found(NamedTuple):
    """Results by case, sources and messages about missing data by dataset."""

    entries: dict[Case, Entry]
    sources: dict[str, str]
    missing: dict[str, str]


def plan(names: Sequence[str], runs: int) -> list[Piece]:
    """Return the work for some tables in pieces, of which a killed process loses one per thread.

    Examples
    --------
    >>> pieces = plan(("cars",), runs=20)
    >>> [len(piece.runs) for piece in pieces if str(piece.case) == "cars: GCN linear"]
    [1, 16, 3]
    """
    rows = grid.paper_rows(*names)
    counts = {row["case"]: runs for row in rows}  # rows may share a case
    timed = set(counts)
    bases = [case for row in rows for case in grid.other_bases(row["case"])]
    counts |= dict.fromkeys(bases, min(runs, _BASIS_RUNS))
    for name in names:
        for cases in grid.demonstrations(name).values():
            counts |= {case: min(runs, _SPLIT_RUNS) if case.split else runs for case in cases}
    pieces = []
    for case, count in counts.items():
        first = 1 if case in timed else 0  # the first run by itself, because the paper times one
        pieces += [Piece(case, range(first))] * first
        size = 100 if case.network == "R-GCN" else 16
        pieces += [Piece(case, range(first + i, first + j)) for i, j in chunks(count - first, size)]
    return pieces


def compute(
    work: Sequence[Piece], store: Store, watch: Watch = lambda text, done, total: None
) -> Found:
    """Do the work that is not in the store.

    Parameters
    ----------
    work : sequence of Piece
        The runs of each case in ascending order.
    store : Store
        Previous results; every finished piece is added to it.
    watch : callable
        Called at the beginning and after every piece of work.

    Returns
    -------
    Found
        Without entries for cases whose data is missing.

    Raises
    ------
    OSError
        If results cannot be written.
    """
    found = Found({}, {}, {})
    settings: dict[str, Setting] = {}
    for data in dict.fromkeys(piece.case.data for piece in work):
        try:
            settings[data] = load_setting(data)
            found.sources[data] = settings[data].source
        except OSError as error:  # also DataUnavailableError
            found.missing[data] = str(error)
    work = [piece for piece in work if piece.case.data in settings]
    stored = {piece: store.load(piece, settings[piece.case.data].source) for piece in work}
    results = {piece: known for piece, known in stored.items() if known is not None}
    pieces = [piece for piece in work if piece not in results]
    done, total, lock = 0.0, sum(piece.cost for piece in pieces), Lock()
    watch("", done, total)

    def finish(piece: Piece) -> None:
        nonlocal done
        setting = settings[piece.case.data]
        with limit_threads(0):  # one thread
            entry = measure(piece, setting, store)
        with lock:
            results[piece] = entry
            store.save(piece, setting.source, entry)
            done += piece.cost
            watch(str(piece.case), done, total)

    # Large networks run in a thread each; small ones would only wait for the interpreter lock.
    large = [piece for piece in pieces if piece.case.network != "R-GCN"]
    small = [piece for piece in pieces if piece.case.network == "R-GCN"]
    with warnings.catch_warnings():
        # Some of the paper's ranks exceed the rank of the data (erratum "rank").
        warnings.simplefilter("ignore", RankWarning)
        warnings.simplefilter("ignore", DegenerateCutWarning)
        map_chunks(lambda index, stop: finish(large[index]), len(large), 1)
        for piece in small:
            finish(piece)
    for case in dict.fromkeys(piece.case for piece in work):
        parts = [results[piece] for piece in work if piece.case == case]
        accuracies = [accuracy for part in parts for accuracy in part.accuracies]
        batch = sum(part.batch for part in parts)
        found.entries[case] = Entry(accuracies, parts[0].setup, parts[0].alone, batch)
    return found


def measure(piece: Piece, setting: Setting, store: Store) -> Entry:
    """Train the runs of a piece in one batch, with the paper's settings (section A4.3).

    The start of a run depends only on the seed and its number, so runs can be added later.

    Raises
    ------
    RuntimeError
        If a run diverges.
    """
    case, X, iterations = piece.case, setting.X, store.iterations
    network, setup = setting.network(case, store.seed)
    index = setting.labelled(case, store.seed)
    # Torch's generator accepts 32 bits of a seed.
    states = [np.random.SeedSequence([store.seed, run]).generate_state(1) for run in piece.runs]
    seeds = [int(state[0]) for state in states]
    record = train(network, X, index, setting.classes[index], seeds=seeds, max_iter=iterations)
    if record.diverged.any():
        raise RuntimeError(f"{case}: {int(record.diverged.sum())} runs diverged")
    others = np.delete(np.arange(len(setting.classes)), index)
    predicted = record.logits(network, X, rows=others).argmax(dim=2).numpy()
    accuracies = (predicted == setting.classes[others]).mean(axis=1).tolist()
    seconds = record.training_seconds
    return Entry(accuracies, setup + record.setup_seconds, seconds, seconds)

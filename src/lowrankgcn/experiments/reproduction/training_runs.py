"""Compute the missing runs of a reproduction and store them.

There is one file per case, written atomically after every few runs. Its name depends on everything
that its numbers depend on, so results of other settings or versions are never mixed.

>>> import tempfile
>>> case = Case("cars", "R-GCN", "linear", 15)
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Store(Path(folder), seed=0, iterations=5)
...     measured = compute({case: 2}, store)
...     stored = store.load(case, "cars")
>>> measured.entries[case].accuracies == stored.accuracies, len(stored.accuracies)
(True, 2)
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lowrankgcn._atomic import write_text
from lowrankgcn._parallel import map_chunks
from lowrankgcn.exceptions import DegenerateCutWarning, RankWarning
from lowrankgcn.experiments.reproduction import grid
from lowrankgcn.experiments.reproduction.grid import Case, Setting, load_setting
from lowrankgcn.nn import Network, limit_threads, train

_FORMAT = 5  # version of the file format
_BASIS_RUNS = 20  # runs of every other choice of signs
_SPLIT_RUNS = 5  # runs of every random training set

#: Called with the current case, the work done and all work, both in approximate seconds.
Watch = Callable[[str, float, float], None]


class Entry(NamedTuple):
    """Results of a case.

    Attributes
    ----------
    accuracies : list
        Accuracy of each run.
    setup : float
        Seconds from the graph to everything that training needs.
    alone : float
        Seconds of training the first batch: a single run for the rows of the tables.
    per_run : float
        Seconds of training per run, in batches.
    """

    accuracies: list[float]
    setup: float
    alone: float
    per_run: float


Entries = dict[Case, Entry]


class Store(NamedTuple):
    """Folder of results for one seed and number of iterations."""

    folder: Path
    seed: int = 0
    iterations: int = 1000

    def path(self, case: Case, source: str) -> Path:
        """Return the file of a case; `source` names the data."""
        from lowrankgcn import __version__

        settings = [_FORMAT, __version__, self.seed, self.iterations, source, case._asdict()]
        return self.folder / f"{case.data}-{_digest(settings)[:20]}.json"

    def load(self, case: Case, source: str) -> Entry | None:
        """Return the stored results, None if the file is missing or damaged (with a warning)."""
        path = self.path(case, source)
        if not path.exists():
            return None
        try:
            document = json.loads(path.read_text("utf-8"))
            if document["sha256"] != _digest([path.name, document["results"]]):
                raise ValueError("the checksum does not match")
            return Entry(**document["results"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = " ".join(str(error).split())
            warnings.warn(f"{path} is damaged ({reason}) and is computed again", stacklevel=2)
            return None

    def save(self, case: Case, source: str, entry: Entry) -> None:
        """Store results atomically."""
        path, results = self.path(case, source), entry._asdict()
        document = {"results": results, "sha256": _digest([path.name, results])}
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(document, indent=1) + "\n")


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


class Measured(NamedTuple):
    """Results by case, sources and messages about missing data by dataset."""

    entries: Entries
    sources: dict[str, str]
    missing: dict[str, str]


def plan(names: Sequence[str], runs: int) -> dict[Case, int]:
    """Return the number of runs of every case of some tables.

    Examples
    --------
    >>> {str(case): runs for case, runs in plan(("cars",), runs=50).items() if not case.rank}
    {'cars: GCN linear': 50, 'cars: GCN quadratic': 50, 'cars: GCN pseudoinverse': 50}
    """
    cases = [row["case"] for row in grid.paper_rows(*names)]
    shown = [case for name in names for more in grid.demonstrations(name).values() for case in more]
    work = dict.fromkeys(cases, runs)  # rows may share a case
    work |= {other: min(runs, _BASIS_RUNS) for case in cases for other in grid.other_bases(case)}
    return work | {case: min(runs, _SPLIT_RUNS) if case.split else runs for case in shown}


def compute(
    work: Mapping[Case, int], store: Store, watch: Watch = lambda text, done, total: None
) -> Measured:
    """Do the work that is not in the store.

    Parameters
    ----------
    work : mapping from case to int
        Number of runs of each case.
    store : Store
        Previous results; new ones are added to it.
    watch : callable
        Called at the beginning and after every few runs.

    Returns
    -------
    Measured
        Without entries for cases whose data is missing.

    Raises
    ------
    OSError
        If results cannot be written.
    """
    settings: dict[str, Setting] = {}
    missing = {}
    for data in dict.fromkeys(case.data for case in work):
        try:
            settings[data] = load_setting(data)
        except OSError as error:  # also DataUnavailableError
            missing[data] = str(error)
    work = {case: runs for case, runs in work.items() if case.data in settings}
    entries: Entries = {}
    for case, runs in work.items():
        stored = store.load(case, settings[case.data].source) or Entry([], 0.0, 0.0, 0.0)
        entries[case] = stored._replace(accuracies=stored.accuracies[:runs])

    def left(case: Case) -> int:
        return work[case] - len(entries[case].accuracies)

    total = sum(_seconds(case) * left(case) for case in work)
    watch("", 0.0, total)

    def finish(case: Case) -> None:
        setting = settings[case.data]
        with limit_threads(0):  # one thread
            network, setup = setting.network(case, store.seed)
            while left(case):
                start = len(entries[case].accuracies)
                # The first run of a row by itself, because the paper times one.
                single = start == 0 and not case.basis and not case.split
                size = 1 if single else 100 if case.network == "R-GCN" else 16
                runs = range(start, min(start + size, work[case]))
                accuracies, before, seconds = measure(case, network, setting, store, runs)
                known = entries[case]
                entries[case] = Entry(
                    [*known.accuracies, *accuracies],
                    known.setup or setup + before,
                    known.alone or seconds,
                    (known.per_run * start + seconds) / runs.stop,
                )
                store.save(case, setting.source, entries[case])
                watch(str(case), total - sum(_seconds(case) * left(case) for case in work), total)

    # Large networks run in a thread each; small ones would only wait for the interpreter lock.
    unfinished = [case for case in work if left(case)]
    large = [case for case in unfinished if case.network != "R-GCN"]
    with warnings.catch_warnings():
        # Some of the paper's ranks exceed the rank of the data (erratum "rank").
        warnings.simplefilter("ignore", RankWarning)
        warnings.simplefilter("ignore", DegenerateCutWarning)
        map_chunks(lambda index, stop: finish(large[index]), len(large), 1)
        for case in unfinished:
            if case.network == "R-GCN":
                finish(case)
    sources = {data: setting.source for data, setting in settings.items()}
    return Measured(entries, sources, missing)


def _seconds(case: Case) -> float:
    """Return the approximate seconds of a run on one core."""
    if case.network == "R-GCN":
        return 0.01
    return 0.15 + 0.009 * min(case.rank or 84, 84) if case.data == "mushrooms" else 0.05


def measure(
    case: Case, network: Network, setting: Setting, store: Store, runs: range
) -> tuple[list[float], float, float]:
    """Train some runs in one batch, with the paper's settings (section A4.3).

    The start of a run depends only on the seed and its number, so runs can be added later.

    Returns
    -------
    accuracies : list of float
    setup, seconds : float
        Seconds before and during the iterations.

    Raises
    ------
    RuntimeError
        If a run diverges.
    """
    X, index = setting.X, setting.labelled(case, store.seed)
    # Torch's generator accepts 32 bits of a seed.
    states = [np.random.SeedSequence([store.seed, run]).generate_state(1) for run in runs]
    options: Any = {"seeds": [int(state[0]) for state in states], "max_iter": store.iterations}
    record = train(network, X, index, setting.classes[index], **options)
    if record.diverged.any():
        raise RuntimeError(f"{case}: {int(record.diverged.sum())} runs diverged")
    others = np.delete(np.arange(len(setting.classes)), index)
    predicted = record.logits(network, X, rows=others).argmax(dim=2).numpy()
    accuracies = (predicted == setting.classes[others]).mean(axis=1).tolist()
    return accuracies, record.setup_seconds, record.training_seconds

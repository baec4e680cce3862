"""Data, graphs and networks of the paper; compute the missing runs and store them.

There is one file per case, written atomically after every few runs. Its name depends on everything
that its numbers depend on, so results of other settings or versions are never mixed.

>>> setting = load_setting("cars")
>>> setting.laplacian(None).n, setting.widths
(1728, (21, 8, 4))
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
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._atomic import write_text
from lowrankgcn._parallel import map_chunks
from lowrankgcn.datasets import load_cars, load_mushrooms, load_spiral
from lowrankgcn.exceptions import DataUnavailableError, DegenerateCutWarning, RankWarning
from lowrankgcn.graphs import GaussianGraph, Graph, Hypergraph
from lowrankgcn.nn import GCN, Network, ReducedOrderGCN, limit_threads, train
from lowrankgcn.spectral.eigenpairs import Eigenpairs
from lowrankgcn.spectral.filters import Polynomial
from lowrankgcn.spectral.kernel import kernel, low_rank_kernels
from lowrankgcn.spectral.laplacian import Laplacian

# Settings of the paper.
_BANDWIDTH = 3.5
_HIDDEN = {"spiral": 4, "cars": 8, "cars-acceptability": 8, "mushrooms": 16}
# The paper's eigensolver tolerance for a few pairs; products with all of 𝓛 are more accurate.
_TOLERANCE, _FULL_TOLERANCE = 1e-3, 1e-6
_MISTYPED = {"mistyped-quadratic": Polynomial((1.0, -2.0, -1.0))}  # 1 − 2λ − λ²
_SAME = 1e-8  # eigenvalues closer than this share an eigenspace
_FORMAT = 5  # version of the file format

#: Called with the current case, the work done and all work, both in approximate seconds.
Watch = Callable[[str, float, float], None]


class Case(NamedTuple):
    """One network on one dataset, to be trained from many random starts.

    Attributes
    ----------
    data : str
        "spiral", "cars", "mushrooms", or "cars-acceptability" for the cars with their real classes.
    network : str
        "GCN", "L-GCN" or "R-GCN".
    filter : str
        Name of a filter, or "mistyped-quadratic" as in the published script.
    rank : int or None
        None is full rank.
    smoother : str or None
        Loops of the graph, see :class:`lowrankgcn.Laplacian`.
    basis : int
        0: the library's eigenvectors. k > 0: the k-th random choice of signs, and of bases of
        multiple eigenvalues.
    split : int
        0: the paper's training nodes. k > 0: the k-th random draw of as many per class.
    """

    data: str
    network: str
    filter: str
    rank: int | None = None
    smoother: str | None = None
    basis: int = 0
    split: int = 0

    def __str__(self) -> str:
        settings = list(self._asdict().items())[3:]  # after those that are always given
        more = "".join(f", {name} {value}" for name, value in settings if value)
        return f"{self.data}: {self.network} {self.filter}{more}"


class Setting(NamedTuple):
    """A dataset as the paper uses it: graph, input features, classes, training nodes.

    ``source`` names the data that was read and is part of the identity of stored results. ``X`` are
    the points of the spiral, or the dense incidence matrix of a table.
    """

    data: str
    source: str
    graph: Graph
    X: NDArray[np.float64]
    classes: NDArray[np.int64]
    training: NDArray[np.intp]
    widths: tuple[int, int, int]

    def laplacian(self, smoother: str | None, *, full: bool = False) -> Laplacian:
        """Return the Laplacian, with accurate fast sums for kernels of full rank."""
        coarse = self.data == "spiral" and not full
        return Laplacian(self.graph, smoother, tol=_TOLERANCE if coarse else _FULL_TOLERANCE)

    def labelled(self, case: Case, seed: int) -> NDArray[np.intp]:
        """Return the training nodes of a case."""
        if not case.split:
            return self.training
        generator = np.random.default_rng([seed, case.split])
        counts = np.bincount(self.classes[self.training])
        members = [np.flatnonzero(self.classes == label) for label in range(len(counts))]
        drawn = map(partial(generator.choice, replace=False), members, counts.tolist())
        return np.sort(np.concatenate(list(drawn)))

    def network(self, case: Case, seed: int = 0) -> tuple[Network, float]:
        """Return the untrained network of a case, and the seconds from the graph to its kernel."""
        begin = time.perf_counter()
        laplacian = self.laplacian(case.smoother, full=case.rank is None)
        K = kernel(laplacian, _MISTYPED.get(case.filter, case.filter), rank=case.rank)
        seconds = time.perf_counter() - begin
        if case.basis:
            assert K.eigenpairs is not None
            pairs = other_basis(K.eigenpairs, [seed, case.basis])
            K = low_rank_kernels(K.laplacian, [K.filter], pairs)[0]
        kind = ReducedOrderGCN if case.network == "R-GCN" else GCN
        return kind(K, self.widths), seconds


def load_setting(data: str) -> Setting:
    """Read or generate the data of a case.

    Raises
    ------
    DataUnavailableError
        If a file is missing and cannot be downloaded.
    """
    source = data
    if data == "spiral":
        try:
            dataset, source = load_spiral(source="paper"), "spiral: the paper's points"
        except DataUnavailableError:
            dataset, source = load_spiral(), "spiral: a new sample"
        X = np.asarray(dataset.data)
        graph: Graph = GaussianGraph(X, bandwidth=_BANDWIDTH)
    else:
        mushrooms = data == "mushrooms"
        dataset = load_mushrooms(as_frame=True) if mushrooms else load_cars("buying", as_frame=True)
        graph = table = Hypergraph.from_table(dataset.data)
        X = table.incidence.to_dense()
    target = load_cars().target if data == "cars-acceptability" else dataset.target
    widths = (X.shape[1], _HIDDEN[data], len(dataset.target_names))
    return Setting(data, source, graph, X, np.asarray(target), dataset.training, widths)


def other_basis(pairs: Eigenpairs, seed: Any) -> Eigenpairs:
    """Rotate the eigenvectors randomly within each eigenspace; for a simple one, flip its sign.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> pairs = lg.eigenpairs(lg.Laplacian(lg.Hypergraph([[1, 0], [1, 1], [1, 1], [0, 1]])), 2)
    >>> other = other_basis(pairs, 3)
    >>> bool(np.allclose(abs(other.eigenvectors), abs(pairs.eigenvectors)))
    True
    """
    generator = np.random.default_rng(seed)
    vectors = pairs.eigenvectors.copy()
    edges = np.flatnonzero(np.diff(pairs.eigenvalues) > _SAME) + 1
    for space in np.split(np.arange(pairs.rank), edges):
        Q, R = np.linalg.qr(generator.standard_normal((space.size, space.size)))
        vectors[:, space] = vectors[:, space] @ (Q * np.sign(np.diag(R)))
    return replace(pairs, eigenvectors=vectors)


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
    large = [case for case in work if left(case) and case.network != "R-GCN"]
    small = [case for case in work if left(case) and case.network == "R-GCN"]
    with warnings.catch_warnings():
        # Some of the paper's ranks exceed the rank of the data (erratum "rank").
        warnings.simplefilter("ignore", RankWarning)
        warnings.simplefilter("ignore", DegenerateCutWarning)
        map_chunks(lambda index, stop: finish(large[index]), len(large), 1)
        for case in small:
            finish(case)
    sources = {data: setting.source for data, setting in settings.items()}
    return Measured(entries, sources, missing)


def _seconds(case: Case) -> float:
    """Return the approximate seconds of a run on one core."""
    return 0.01 if case.network == "R-GCN" else 0.5 if case.data == "mushrooms" else 0.05


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
    seeds = [int(np.random.SeedSequence([store.seed, run]).generate_state(1)[0]) for run in runs]
    labels = setting.classes[index]
    record = train(network, X, index, labels, seeds=seeds, max_iter=store.iterations)
    if record.diverged.any():
        raise RuntimeError(f"{case}: {int(record.diverged.sum())} runs diverged")
    others = np.delete(np.arange(len(setting.classes)), index)
    predicted = record.logits(network, X, rows=others).argmax(dim=2).numpy()
    accuracies = (predicted == setting.classes[others]).mean(axis=1).tolist()
    return accuracies, record.setup_seconds, record.training_seconds

"""The blocks of a covariance, of the rows alone and of their labels, and their prior.

========================= ==================================================================
``linear``, ``radial``    kernels of the standard scores; with ``-ranks`` those of the ranks
``…-6``, ``-20``, ``-60`` flat filters: the first eigenvectors of a graph
``…-inverse``             the filter 0.01/(λ + 0.01) on all eigenvectors
``ego`` … ``near``        features that are propagated on a given graph (``graph_filters``)
``weighted-…``            kernels of the ranks, columns weighted by differences of classes
``random-forest``         leaves of a forest fitted to the labelled rows
========================= ==================================================================

The prior of amplitudes and temperature was learned over tables by ``benchmarks/prior.py``.

>>> from lowrankgcn.gp.recipe import Prior
>>> prior = Prior.load()
>>> "radial" in prior.final, len(prior.final_temperature)
(True, 4)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.gp.blocks import Block, LinearBlock, RadialBlock, Views
from lowrankgcn.gp.graph_filters import PROPAGATIONS
from lowrankgcn.gp.leaves import LeafBlock
from lowrankgcn.gp.likelihood import CONSTANT
from lowrankgcn.gp.propagated_block import PropagatedBlock
from lowrankgcn.gp.shares import evenness
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.filters import RegularizedInverse


class RowBlock(NamedTuple):
    """A block that does not depend on the classes.

    Attributes
    ----------
    name, view : str
    kind : {"linear", "radial", "flat", "inverse"}
    parameter : float
        Sharpness of a radial block, number of eigenvectors of a flat filter, or ε of the filter
        ε/(λ + ε).
    """

    name: str
    view: str
    kind: Literal["linear", "radial", "flat", "inverse"]
    parameter: float = 0.0


ROW_BLOCKS = (
    RowBlock("linear", "standard", "linear"),
    RowBlock("radial", "standard", "radial", 2.0),
    RowBlock("linear-ranks", "ranks", "linear"),
    RowBlock("radial-ranks", "ranks", "radial", 6.0),
    RowBlock("neighbours-6", "neighbours", "flat", 6),
    RowBlock("neighbours-20", "neighbours", "flat", 20),
    RowBlock("neighbours-60", "neighbours", "flat", 60),
    RowBlock("neighbours-inverse", "neighbours", "inverse", 0.01),
    RowBlock("gaussian-6", "gaussian", "flat", 6),
    RowBlock("hypergraph-6", "hypergraph", "flat", 6),
    RowBlock("hypergraph-60", "hypergraph", "flat", 60),
    RowBlock("given-6", "given", "flat", 6),
    RowBlock("given-20", "given", "flat", 20),
    RowBlock("given-60", "given", "flat", 60),
    RowBlock("given-inverse", "given", "inverse", 0.01),
)
SUPERVISED = ("weighted-linear", "weighted-radial", "random-forest")
BLOCK_NAMES = (*(spec.name for spec in ROW_BLOCKS), *PROPAGATIONS, *SUPERVISED)

_WEIGHTED_SHARPNESS = 1.5
_LEAST_WEIGHT = 0.05  # of a column, added to its share of variance between classes
# Fewer trees of many labels, which have many leaves: 400 labels lose 0.03 points by 100 trees, the
# mean of eight tables and three draws.
_TREES, _LEAST_TREES, _ROWS_OF_TREES = 200, 100, 40_000
# With one label per class: what is added to the log-temperature, and to the log-amplitude of the
# graph of neighbours if all of its energy lies in the first eigenvectors, at most.
_TEMPERATURE, _GRAPH, _MOST = 0.2, 8.0, 4.0
_SAMPLE = 0.1  # is subtracted from the log-temperature if labels are a sample of the rows


def row_blocks(
    views: Views,
    eigenvalues: Mapping[str, FloatArray],
    labelled: NDArray[np.intp],
    wanted: tuple[str, ...] = BLOCK_NAMES,
) -> list[Block]:
    """Return the blocks that do not depend on the classes.

    Parameters
    ----------
    views : mapping from view to (n, d) array
    eigenvalues : mapping from spectral view to (r,) array
    labelled : (m,) int array
        Labelled rows, whose distances are the unit of radial blocks.
    wanted : tuple of str
        Names of blocks.
    """
    blocks: list[Block] = []
    for name, view, kind, parameter in ROW_BLOCKS:
        if name not in wanted or view not in views:
            continue
        rows, weights = views[view], None
        if kind == "radial":
            blocks.append(RadialBlock.fit(name, view, rows[labelled], parameter))
            continue
        if kind == "flat":
            weights = np.ones(min(int(parameter), len(eigenvalues[view])))
        elif kind == "inverse":
            weights = np.sqrt(parameter * RegularizedInverse(parameter)(eigenvalues[view]))
        blocks.append(LinearBlock.fit(name, view, rows, weights))
    propagated: dict[str, Any] = {name: views[name] for name in PROPAGATIONS if name in views}
    for name, rows_of_nodes in propagated.items():
        if name in wanted:
            blocks.append(PropagatedBlock.fit(name, rows_of_nodes.nodes))
    return blocks


def supervised_blocks(
    views: Views,
    labelled: NDArray[np.intp],
    classes: NDArray[np.intp],
    owners: NDArray[np.intp],
    *,
    random_state: int,
    wanted: tuple[str, ...] = BLOCK_NAMES,
    weights: FloatArray | None = None,
) -> tuple[list[Block], float | None]:
    """Return the blocks that depend on the classes, and the out-of-bag loss of the forest.

    Parameters
    ----------
    views : mapping from view to (n, d) array
    labelled, classes : (m,) int arrays
    owners : (d,) int array
        Column of every feature.
    random_state : int
    wanted : tuple of str
    weights : (m,) array, optional
        Weights of the labelled rows in the forest.
    """
    blocks: list[Block] = []
    ranks, known = views["ranks"], views["ranks"][labelled]
    scales = np.sqrt(column_weights(known, classes, owners) + _LEAST_WEIGHT)[owners]
    if "weighted-linear" in wanted:
        blocks.append(LinearBlock.fit("weighted-linear", "ranks", ranks, scales))
    if "weighted-radial" in wanted:
        blocks.append(
            RadialBlock.fit("weighted-radial", "ranks", known, _WEIGHTED_SHARPNESS, scales)
        )
    loss = None
    if "random-forest" in wanted:
        forest, out_of_bag = LeafBlock.fit(
            "random-forest",
            "standard",
            views["standard"][labelled],
            classes,
            n_trees=min(_TREES, max(_LEAST_TREES, _ROWS_OF_TREES // len(classes))),
            random_state=random_state,
            weights=weights,
        )
        blocks.append(forest)
        careful = 0.9 * out_of_bag + 0.1 / out_of_bag.shape[1]
        loss = -float(np.log(careful[np.arange(len(classes)), classes]).mean())
    return blocks, loss


def column_weights(
    rows: FloatArray, classes: NDArray[np.intp], owners: NDArray[np.intp]
) -> FloatArray:
    """Return the share of each column's variance that lies between the classes, corrected for bias.

    Parameters
    ----------
    rows : (m, d) array
    classes : (m,) int array
    owners : (d,) int array
        Column of every feature.
    """
    m, counts = len(classes), np.bincount(classes)
    means = np.eye(len(counts))[classes].T @ rows / np.maximum(counts, 1)[:, None]
    offsets = rows - rows.mean(axis=0), rows - means[classes]
    degrees = max(1, m - 1), max(1, m - int(np.count_nonzero(counts)))
    total, within = (
        np.bincount(owners, (part**2).sum(axis=0)) / freedom
        for part, freedom in zip(offsets, degrees, strict=True)
    )
    varying = total > 1e-12
    return np.where(varying, np.maximum(0.0, 1.0 - within / np.where(varying, total, 1.0)), 0.0)


@final
@dataclass(frozen=True)
class Prior:
    """Means of log-amplitudes and log-temperatures.

    Attributes
    ----------
    adaptation : mapping from block to float
        Log-amplitudes around which the leave-one-out loss is minimised, without labels' blocks.
    adaptation_temperature : sequence of three floats
        Coefficients of :func:`size_terms` in the log-temperature.
    final : mapping from block to float
        Log-amplitudes of the covariance, to which the shifts of the adaptation are added.
    final_temperature : sequence of four or five floats
        Coefficients of :func:`size_terms`, of the shift of the adaptation, and of the share C/m.
    gates : mapping with "forests" and "columns"
        How far blocks that know the labels grow if a forest predicts better out of bag than the
        other blocks by leave-one-out.
    date : str
    tables : sequence of str
        Tables or graphs that the prior was learned from.
    constant : float or None
        Variance of the constant; None if the number of labels determines it (:class:`FewLabels`).
    spread : float
        Standard deviation of each log-amplitude.
    """

    adaptation: Mapping[str, float]
    adaptation_temperature: Sequence[float]
    final: Mapping[str, float]
    final_temperature: Sequence[float]
    gates: Mapping[str, float]
    date: str
    tables: Sequence[str]
    constant: float | None = None
    spread: float = 1.0

    @staticmethod
    @cache
    def load(file: Literal["prior", "graph_prior"] = "prior") -> Prior:
        """Return a prior that comes with the library.

        "graph_prior" is that of wide features on a graph, where all blocks are propagated. Spectral
        blocks of a given graph have the prior of those of neighbours.
        """
        fields = json.loads(files(__package__).joinpath(f"{file}.json").read_text("utf-8"))
        for name in ("adaptation", "final"):
            learned = fields[name]
            fields[name] = {key.replace("neighbours", "given"): learned[key] for key in learned}
            fields[name] |= learned
        return Prior(**fields)

    def log_temperature(
        self, n_labelled: int, n_classes: int, shift: float, few: FewLabels
    ) -> float:
        """Return the log-temperature, given the shift of the adaptation.

        Leaving one label out removes the share C/m of the labels of a class. On graphs this makes
        the adaptation too cautious, so that its shift counts only by 1 − C/m.
        """
        terms, share = size_terms(n_labelled, n_classes), min(1.0, n_classes / n_labelled)
        if len(self.final_temperature) == 4:
            terms = np.append(terms, few.evidence * shift)
            return few.temperature + float(terms @ self.final_temperature)
        return float(np.append(terms, [(1 - share) * shift, share]) @ self.final_temperature)


@final
@dataclass(frozen=True)
class FewLabels:
    """What few labels change in the prior; next to nothing from ten labels per class on.

    Attributes
    ----------
    few : float
        One over the number of labels per class, 1/L.
    constant : float
        Prior variance of the constant. Most blocks are centred over all rows. With a small
        variance, every class then has about the same mean score, whichever of its rows has a label.
        If labels were drawn class by class, that must not go too far: a label of a rare class is
        often far from the centre, and the constant tells how far. If they were drawn at random,
        their counts tell the shares of the classes
        (:func:`lowrankgcn.gp.shares.label_factors`).
    temperature : float
        Added to the log-temperature.
    evidence : float
        Factor of the shift of the log-temperature by leave-one-out. With one label per class it is
        zero: without its label, a row has no class left to be predicted.

    Examples
    --------
    >>> FewLabels.of(np.full(10, 2)).constant > FewLabels.of(np.array([5, 1])).constant
    True
    >>> FewLabels.of(np.array([10, 20])).constant
    10.0
    """

    few: float
    constant: float
    temperature: float
    evidence: float

    @staticmethod
    def of(counts: NDArray[np.intp]) -> FewLabels:
        """Return the changes for these numbers of labels of the classes."""
        per_class = float(counts.sum()) / len(counts)
        even, few = evenness(counts), 1.0 / per_class
        constant = (per_class**1.5) ** even * (0.01 * per_class**3) ** (1.0 - even)
        temperature = _TEMPERATURE * few**2 - _SAMPLE * (1.0 - even)
        return FewLabels(few, min(CONSTANT, constant), temperature, 1.0 - few**2)

    def boost(self, block: Block, n_classes: int, trust: float) -> float:
        """Return what is added to the log-amplitude: zero except for the graph of neighbours.

        If the first C − 1 eigenvectors hold much of the energy of its inverse filter, the C classes
        are likely to be clusters. `trust` is the share of the columns that are numbers of many
        values: among rows of few different values, ten neighbours are arbitrary.
        """
        if not isinstance(block, LinearBlock) or block.name != "neighbours-inverse":
            return 0.0
        energies = block.weights[1:] ** 2
        share = float(energies[: n_classes - 1].sum()) / max(float(energies.sum()), 1e-12)
        return self.few**2 * min(_MOST, _GRAPH * trust * share)


def size_terms(n_labelled: int, n_classes: int) -> FloatArray:
    """Return 1, log(C/3) and log(m/10C), the size of a problem, shape (3,)."""
    return np.array([1.0, np.log(n_classes / 3), np.log(n_labelled / n_classes / 10)])

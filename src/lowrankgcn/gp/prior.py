"""Prior of amplitudes and temperature, learned over tables by ``benchmarks/prior.py``.

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
from typing import final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.gp.blocks import Block, LinearBlock
from lowrankgcn.gp.likelihood import CONSTANT
from lowrankgcn.gp.shares import drawn_by_class
from lowrankgcn.operators import FloatArray

# With one label per class: what is added to the log-temperature, and to the log-amplitude of the
# graph of neighbours if all of its energy lies in the first eigenvectors, at most.
_TEMPERATURE, _GRAPH, _MOST = 0.2, 8.0, 4.0


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
    final_temperature : sequence of four floats
        Coefficients of :func:`size_terms` and of the shift of the adaptation.
    gates : mapping with "forests" and "columns"
        How far blocks that know the labels grow if a forest predicts better out of bag than the
        other blocks by leave-one-out.
    date : str
    tables : sequence of str
        Tables that the prior was learned from.
    """

    adaptation: Mapping[str, float]
    adaptation_temperature: Sequence[float]
    final: Mapping[str, float]
    final_temperature: Sequence[float]
    gates: Mapping[str, float]
    date: str
    tables: Sequence[str]

    @staticmethod
    @cache
    def load() -> Prior:
        """Return the prior that comes with the library; a given graph has that of neighbours."""
        fields = json.loads(files(__package__).joinpath("prior.json").read_text("utf-8"))
        for name in ("adaptation", "final"):
            learned = fields[name]
            fields[name] = {key.replace("neighbours", "given"): learned[key] for key in learned}
            fields[name] |= learned
        return Prior(**fields)


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
    >>> FewLabels.of(np.array([1, 1, 1])).constant
    1.0
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
        constant = per_class**1.5 if drawn_by_class(counts) else 0.01 * per_class**3
        few = 1.0 / per_class
        return FewLabels(few, min(CONSTANT, constant), _TEMPERATURE * few**2, 1.0 - few**2)

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

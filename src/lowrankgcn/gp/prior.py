"""Prior of amplitudes and temperature, learned over tables by ``benchmarks/prior.py``.

Features on a graph have a prior of their own, chosen over nine graphs and hypergraphs
(``benchmarks/graphs.py``).

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
from typing import Literal, final

import numpy as np

from lowrankgcn.gp.likelihood import CONSTANT
from lowrankgcn.operators import FloatArray


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
    constant : float
        Variance of the constant.
    """

    adaptation: Mapping[str, float]
    adaptation_temperature: Sequence[float]
    final: Mapping[str, float]
    final_temperature: Sequence[float]
    gates: Mapping[str, float]
    date: str
    tables: Sequence[str]
    constant: float = CONSTANT

    @staticmethod
    @cache
    def load(name: Literal["prior", "graph_prior"] = "prior") -> Prior:
        """Return a prior that comes with the library; a given graph has that of neighbours."""
        fields = json.loads(files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
        for name in ("adaptation", "final"):
            learned = fields[name]
            fields[name] = {key.replace("neighbours", "given"): learned[key] for key in learned}
            fields[name] |= learned
        return Prior(**fields)

    def log_temperature(self, n_labelled: int, n_classes: int, shift: float) -> float:
        """Return the log-temperature, given the shift of the adaptation.

        Leaving one label out removes the share C/m of the labels of a class. On graphs this makes
        the adaptation too cautious, so that its shift counts only by 1 − C/m.
        """
        terms, share = size_terms(n_labelled, n_classes), min(1.0, n_classes / n_labelled)
        if len(self.final_temperature) == 4:
            return float(np.append(terms, shift) @ self.final_temperature)
        return float(np.append(terms, [(1 - share) * shift, share]) @ self.final_temperature)


def size_terms(n_labelled: int, n_classes: int) -> FloatArray:
    """Return 1, log(C/3) and log(m/10C), the size of a problem, shape (3,)."""
    return np.array([1.0, np.log(n_classes / 3), np.log(n_labelled / n_classes / 10)])

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


def size_terms(n_labelled: int, n_classes: int) -> FloatArray:
    """Return 1, log(C/3) and log(m/10C), the size of a problem, shape (3,)."""
    return np.array([1.0, np.log(n_classes / 3), np.log(n_labelled / n_classes / 10)])

"""Whether training came to an end, judged by its losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowrankgcn.estimators.candidates import Candidate
from lowrankgcn.exceptions import warn_caller

__all__ = ["watch"]

# Shares of the initial loss. On a dozen data sets the default settings end with a last tenth of
# one per cent and a half at most, and with a loss below a half.
_STILL_FALLING = 0.02
_HARDLY_FALLEN = 0.9
_AT_REST = 0.01
_NOTHING = 1e-6
_FEW_ITERATIONS = 50


def watch(record: Any, candidate: Candidate) -> None:
    """Warn when training went wrong."""
    if record.diverged.any():
        warn_caller(
            f"training of the {candidate} diverged in {int(record.diverged.sum())} of "
            f"{record.n_restarts} restarts; choose a smaller learning_rate",
            ConvergenceWarning,
        )
        return
    curve = np.nanmean(record.loss_curve, axis=1)
    if len(curve) < _FEW_ITERATIONS:  # nobody expects convergence then
        return
    last_tenth = curve[-len(curve) // 10 - 1] - curve[-1]
    fallen = curve[0] - curve[-1]
    # Features that say nothing have a loss that falls little and comes to rest; small steps do not.
    settled = fallen > _NOTHING * curve[0] and abs(last_tenth) < _AT_REST * fallen
    hardly = curve[-1] > _HARDLY_FALLEN * curve[0] and not settled
    if last_tenth > _STILL_FALLING * curve[0] or hardly:
        warn_caller(
            f"training of the {candidate} has not converged: its loss went from {curve[0]:.3g} to "
            f"{curve[-1]:.3g} in {len(curve)} iterations, {last_tenth:.2g} of it in the last "
            "tenth; raise max_iter or learning_rate",
            ConvergenceWarning,
        )

"""Comparison and training of networks on the labelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.candidates import Candidate, Prepared
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.selection import Score, share_out, stratified_folds
from lowrankgcn.estimators.settings import PENALTY, Settings
from lowrankgcn.estimators.trained import TrainedNetwork, restarts_in_use
from lowrankgcn.exceptions import warn_caller
from lowrankgcn.operators import FloatArray
from lowrankgcn.training import Features, predict_held_out, train

__all__ = ["TrainingTask"]

# Rows on which cross-validation evaluates the hidden layer of a low-rank network.
_COMPARED_ROWS = 1024
_CONVEX_STEPS = 50
# Relative to the initial loss. On a dozen data sets the default settings reduce the loss by at most
# 1.5 % in the last tenth of the iterations, and to less than a half in total.
_STILL_FALLING = 0.02
_HARDLY_FALLEN = 0.9
_AT_REST = 0.01
_NOTHING = 1e-6
_FEW_ITERATIONS = 50


@final
class TrainingTask:
    """Labelled rows and training options."""

    def __init__(
        self,
        labels: Labels,
        settings: Settings,
        sample_weight: FloatArray | None,
        seed: int,
        features: Features,
    ) -> None:
        self.labels, self.settings, self.seed = labels, settings, seed
        self.sample_weight = None if sample_weight is None else sample_weight[labels.index]
        self.features = features
        dtype = torch.float64 if settings.dtype == "float64" else torch.float32
        self.like = torch.empty(0, dtype=dtype, device=settings.device)
        self.generator = np.random.default_rng(seed)

    def compare(self, prepared: Sequence[Prepared]) -> tuple[list[Score], NDArray[np.float64]]:
        """Return cross-validated scores and shares of the candidates."""
        candidates = [one.candidate for one in prepared]
        if len(prepared) == 1:
            return [Score.unknown()], np.ones(1)
        codes = self.labels.codes
        weights = self.sample_weight
        folds = stratified_folds(codes, self.generator, weights=weights)
        scores = [Score.unknown() for _ in prepared]
        if len(folds):
            for number, one in enumerate(prepared):
                report_progress("comparing networks", number, len(prepared))
                held_out = self._held_out(one, folds)
                scores[number] = Score.from_held_out(held_out, folds, codes, weights)
        best = self.settings.selection == "best"
        return scores, share_out(candidates, scores, best=best)

    def train(
        self, prepared: Sequence[Prepared], shares: NDArray[np.float64]
    ) -> tuple[TrainedNetwork, ...]:
        """Train every candidate with a positive share."""
        networks = []
        for one, share in zip(prepared, shares, strict=True):
            trained = self._train_one(one, float(share)) if share > 0 else None
            if trained is not None and not trained.record.diverged.all():
                networks.append(trained)
        if not networks:
            raise ValueError("Training diverged; lower learning_rate.")
        return tuple(sorted(networks, key=lambda trained: -trained.weight))

    def _train_one(self, one: Prepared, share: float) -> TrainedNetwork:
        network = self._network(one)
        settings = self.settings
        convex = self._convex(one.candidate)
        record = train(
            network,
            one.scale_features(self.features, self.like),
            self.labels.index,
            self.labels.codes,
            n_restarts=1 if convex else settings.n_restarts,
            random_state=self.seed,
            early_stopping=settings.early_stopping,
            progress=settings.verbose,
            **self._options(one.candidate),
        )
        _warn_if_not_converged(record, one.candidate)
        record.load_into(network)
        used = restarts_in_use(record, settings.restarts)
        return TrainedNetwork(one, network, record, self.features, share, used)

    def _held_out(self, one: Prepared, folds: NDArray[np.bool_]) -> NDArray[np.float64]:
        return predict_held_out(
            self._network(one),
            one.scale_features(self.features, self.like),
            self.labels.index,
            self.labels.codes,
            folds,
            seed=self.seed,
            hidden_rows=_COMPARED_ROWS,
            **self._options(one.candidate),
        )

    def _network(self, one: Prepared) -> Any:
        with torch.random.fork_rng(devices=[]):  # the initial weights are not used
            network = one.network(
                self.features.shape[1],
                self.labels.n_classes,
                bias=self.settings.bias,
                dropout=self.settings.dropout if one.candidate.hidden_widths else 0.0,
                dtype=self.like.dtype,
            )
        return network.to(self.settings.device)

    def _convex(self, candidate: Candidate) -> bool:
        """Return whether training is convex; L-BFGS is used then."""
        return (
            candidate.ignores_graph
            and not candidate.hidden_widths
            and not self.settings.chosen_optimizer
        )

    def _options(self, candidate: Candidate) -> dict[str, Any]:
        settings, count = self.settings, len(self.labels.index)
        convex = self._convex(candidate)
        penalty = settings.l2_penalty
        if penalty is None:
            penalty = 1.0 if candidate.ignores_graph and not candidate.hidden_widths else PENALTY
            penalty /= count
        return {
            "optimizer": "lbfgs" if convex else settings.optimizer,
            "learning_rate": None if convex else settings.learning_rate,
            "max_iter": min(settings.max_iter, _CONVEX_STEPS) if convex else settings.max_iter,
            "l2_penalty": penalty,
            "decay": "all" if settings.scaling else "first",
            "sample_weight": self.sample_weight,
            "class_weight": self._class_weight(),
        }

    def _class_weight(self) -> Any:
        given = self.settings.class_weight
        if given is None or isinstance(given, str):
            return given
        classes = self.labels.classes.tolist()
        unknown = [name for name in given if name not in classes]
        if unknown:
            raise invalid("class_weight", f"weights of the classes {classes}", repr(unknown[0]))
        return {classes.index(name): weight for name, weight in given.items()}


def _warn_if_not_converged(record: Any, candidate: Candidate) -> None:
    """Warn if training diverged or has not converged."""
    if record.diverged.any():
        warn_caller(
            f"training of the {candidate} diverged in {int(record.diverged.sum())} of "
            f"{record.n_restarts} restarts; lower learning_rate",
            ConvergenceWarning,
        )
        return
    curve = np.nanmean(record.loss_curve, axis=1)
    if len(curve) < _FEW_ITERATIONS:  # too few to judge
        return
    last_tenth = curve[-len(curve) // 10 - 1] - curve[-1]
    fallen = curve[0] - curve[-1]
    # With uninformative features the loss falls little and settles; with small steps it does not.
    settled = fallen > _NOTHING * curve[0] and abs(last_tenth) < _AT_REST * fallen
    hardly = curve[-1] > _HARDLY_FALLEN * curve[0] and not settled
    if last_tenth > _STILL_FALLING * curve[0] or hardly:
        warn_caller(
            f"training of the {candidate} has not converged: its loss went from {curve[0]:.3g} to "
            f"{curve[-1]:.3g} in {len(curve)} iterations, {last_tenth:.2g} of it in the last "
            "tenth; raise max_iter or learning_rate",
            ConvergenceWarning,
        )

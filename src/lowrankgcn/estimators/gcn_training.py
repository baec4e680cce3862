"""Training of a network on the labelled rows, and the distributions of its restarts."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight

from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import Labels
from lowrankgcn.estimators.gcn_model import Ensemble, mean_softmax
from lowrankgcn.estimators.parameters import PENALTIES, GCNParameters
from lowrankgcn.exceptions import warn_caller
from lowrankgcn.nn import (
    GCN,
    Network,
    ProjectedFeatures,
    ReducedOrderGCN,
    TrainingRecord,
    train,
)
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.kernel import Kernel

# Relative to the initial loss. On a dozen data sets the default settings reduce the loss by at most
# 1.5 % in the last tenth of the iterations, and to less than a half in total.
_STILL_FALLING = 0.02
_HARDLY_FALLEN = 0.9
_AT_REST = 0.01
_NOTHING = 1e-6
_FEW_ITERATIONS = 50


def check_device(device: Any) -> None:
    """Refuse a device that torch does not have."""
    try:
        torch.empty(0, device=device).cpu()  # fails for "meta", which holds no data
    except (AssertionError, NotImplementedError, RuntimeError, TypeError):
        expected = "a device of torch that is present, such as 'cpu'"
        raise invalid("device", expected, repr(device)) from None


def train_restarts(
    kernels: tuple[Kernel, ...],
    X: FloatArray,
    scale: float,
    labels: Labels,
    settings: GCNParameters,
    sample_weight: FloatArray,
    seed: int,
) -> tuple[list[Network], TrainingRecord]:
    """Train the network with the given kernels from several random initialisations.

    Parameters
    ----------
    kernels : tuple of Kernel
    X : (n, N_0) or (r, N_0) array
        Features; UᵀX for kernels with eigenvectors U.
    scale : float
        Factor of the features in training. The results are for features without it.
    labels : Labels
    settings : GCNParameters
    sample_weight : (n,) array
    seed : int

    Returns
    -------
    networks : list of Network
        One for each restart that did not diverge; they share their kernels.
    record : TrainingRecord
        Of all restarts.

    Raises
    ------
    ValueError
        If all restarts diverged.
    """
    kind: Callable[..., Network] = ReducedOrderGCN if settings.architecture == "reduced" else GCN
    widths = (X.shape[1], *settings.hidden_widths, labels.n_classes)
    dropout = settings.dropout if settings.hidden_widths else 0.0
    dtype = getattr(torch, settings.dtype)
    with torch.random.fork_rng(devices=[]):  # the initial weights are not used
        network = kind(kernels, widths, bias=settings.bias, dropout=dropout, dtype=dtype)
    network.to(settings.device)
    features = torch.from_numpy(scale * X).to(network.convs[0].weight)
    low_rank = kernels[0].eigenpairs is not None
    penalty = settings.l2_penalty
    if penalty is None:
        penalty = PENALTIES[settings.architecture] / len(labels.index)
        penalty *= math.sqrt(labels.n_rows) if settings.architecture == "low-rank" else 1.0
    weights = _class_weights(settings.class_weight, labels) * sample_weight[labels.index]
    record = train(
        network,
        ProjectedFeatures(kernels[0].n, features) if low_rank else features,
        labels.index,
        labels.codes,
        n_restarts=settings.n_restarts,
        random_state=seed,
        optimizer=settings.optimizer,  # type: ignore[arg-type]  # checked by the settings
        learning_rate=settings.learning_rate,
        max_iter=settings.max_iter,
        l2_penalty=penalty,
        decay="all" if settings.scaling else "first",
        sample_weight=weights,
        early_stopping=settings.early_stopping,
        progress=settings.verbose,
    )
    _warn_if_not_converged(record)
    if record.diverged.all():
        raise ValueError("Training diverged; lower learning_rate.")
    record = replace(record, weights=(scale * record.weights[0], *record.weights[1:]))
    shared = {id(buffer): buffer for buffer in network.buffers()}
    networks = []
    for restart in np.flatnonzero(~record.diverged).tolist():
        networks.append(copy.deepcopy(network, dict(shared)).eval())
        record.load_into(networks[-1], restart)
    return networks, record


def low_rank_ensemble(
    networks: list[Network], record: TrainingRecord, inner: FloatArray
) -> Ensemble:
    """Return the restarts with kernels of low rank as functions of eigenvectors.

    Parameters
    ----------
    networks, record
        From :func:`train_restarts`.
    inner : (r, N_0) array
        UᵀX.
    """
    projection = torch.from_numpy(inner).to(record.weights[0])
    features = ProjectedFeatures(networks[0].n_nodes, projection)
    A = record.coefficients(networks[0], features)[torch.from_numpy(~record.diverged)]  # (s, r, C)
    bias = A.new_zeros(len(A), A.shape[2])
    for restart, network in enumerate(networks):
        if network.convs[-1].bias is not None:
            bias[restart] = network.convs[-1].bias.detach()
    return Ensemble(A.transpose(0, 1).flatten(1).cpu().numpy(), bias.cpu().numpy())


def full_rank_distributions(networks: list[Network], features: FloatArray) -> FloatArray:
    """Return the mean class distributions of the fitted rows, shape (n, C)."""
    X = torch.from_numpy(features).to(networks[0].convs[0].weight)
    with torch.no_grad():
        logits = torch.stack([network(X) for network in networks])
    return mean_softmax(logits.cpu().numpy())


def _class_weights(class_weight: Any, labels: Labels) -> Any:
    """Return the weights of the labelled rows by their classes."""
    classes = labels.classes.tolist()
    for name in class_weight if isinstance(class_weight, Mapping) else ():
        if name not in classes:
            raise invalid("class_weight", f"weights of the classes {classes}", repr(name))
    return compute_sample_weight(class_weight, labels.classes[labels.codes])


def _warn_if_not_converged(record: TrainingRecord) -> None:
    """Warn if training diverged or has not converged."""
    if record.diverged.any():
        warn_caller(
            f"training diverged in {int(record.diverged.sum())} of {record.n_restarts} restarts; "
            "lower learning_rate",
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
            f"training has not converged: the loss went from {curve[0]:.3g} to {curve[-1]:.3g} in "
            f"{len(curve)} iterations, {last_tenth:.2g} of it in the last tenth; raise max_iter or "
            "learning_rate",
            ConvergenceWarning,
        )

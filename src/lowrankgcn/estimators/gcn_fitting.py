"""Fitting of a network: rows → graph → Laplacian → eigenpairs → kernels → networks → model."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_sample_weight

from lowrankgcn import nn
from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import Labels
from lowrankgcn.estimators.gcn_model import Ensemble, GCNModel, mean_softmax
from lowrankgcn.estimators.gcn_setup import build_graph, choose_kernels, scaled_features
from lowrankgcn.estimators.parameters import PENALTIES, GCNParameters
from lowrankgcn.estimators.row_sample import Sample
from lowrankgcn.estimators.rows import NOT_BUILT_FROM_X, Rows
from lowrankgcn.exceptions import warn_caller
from lowrankgcn.graphs import Graph
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.extension import Extension
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.spectral.laplacian import Laplacian

_WORK_OF_A_ROW = 1000
_FULL_RANK = "new rows, which take architecture='low-rank' or 'reduced'"
# Relative to the initial loss. On a dozen data sets the default settings reduce the loss by at most
# 1.5 % in the last tenth of the iterations, and to less than a half in total.
_STILL_FALLING = 0.02
_HARDLY_FALLEN = 0.9
_AT_REST = 0.01
_NOTHING = 1e-6
_FEW_ITERATIONS = 50
# With validation rows, training stops after this share of the steps without a lower loss: ten of
# 200, as Kipf and Welling.
_PATIENCE = 20


def fit_gcn(
    rows: Rows,
    labels: Labels,
    settings: GCNParameters,
    sample_weight: FloatArray,
    validation: Labels | None,
    seed: int,
) -> tuple[Sample, GCNModel | None, str, dict[str, Any]]:
    """Fit the network to the labelled rows, and classify all rows.

    Small problems use one thread, which is faster.

    Returns
    -------
    sample : Sample
        Rows that graph and network were fitted to.
    model : GCNModel or None
        None if only the fitted rows can be classified.
    fitted_only : str
        Why; empty if new rows can be classified.
    results : dict
        Attributes of the classifier.
    """
    try:
        torch.empty(0, device=settings.device).cpu()  # fails for "meta", which holds no data
    except (AssertionError, NotImplementedError, RuntimeError, TypeError):
        expected = "a device of torch that is present, such as 'cpu'"
        raise invalid("device", expected, repr(settings.device)) from None
    fit_rows = rows.n_rows if settings.architecture == "full" else settings.fit_rows
    always = labels.index if validation is None else np.union1d(labels.index, validation.index)
    sample = Sample.draw(rows, settings.graph, always, fit_rows, seed)
    labels, sample_weight = labels.within(sample.index), sample_weight[sample.index]
    validation = None if validation is None else validation.within(sample.index)
    with nn.limit_threads(labels.n_rows * _WORK_OF_A_ROW):
        times = [time.perf_counter()]
        report_progress("building the graph")
        graph, features, point_scale = build_graph(rows.kind, sample.data, settings, seed)
        if graph.n_nodes != labels.n_rows:
            raise invalid("graph", f"{labels.n_rows} nodes, as many as rows", graph.n_nodes)
        smoother = settings.smoother
        if np.shape(smoother) == (rows.n_rows,):
            smoother = np.asarray(smoother)[sample.index]
        laplacian = Laplacian(graph, smoother, tol=settings.tol)
        report_progress("computing eigenpairs")
        kernels = choose_kernels(laplacian, settings, labels, seed)
        kernels, X, scale = scaled_features(kernels, features, settings)
        times.append(time.perf_counter())
        networks, record = _train_restarts(
            kernels, X, scale, labels, settings, sample_weight, validation, seed
        )
        times.append(time.perf_counter())
        report_progress("predicting")
        unplaced = np.isin(graph.components, graph.components[labels.index], invert=True)
        pairs, model, fitted_only = kernels[0].eigenpairs, None, ""
        if isinstance(settings.graph, Graph) and settings.features != "raw":
            # Features speak where labels cannot reach.
            unplaced &= False if pairs is None else ~pairs.eigenvectors.any(axis=1)
        if pairs is None:
            inputs = _as_input(X, networks[0])
            with torch.no_grad():
                logits = torch.stack([network(inputs) for network in networks])
            shares, fitted_only = mean_softmax(logits.cpu().numpy()), _FULL_RANK
        else:
            ensemble = _low_rank_ensemble(networks, record, X)
            shares = ensemble.distributions(pairs.eigenvectors)
            built = isinstance(settings.graph, str)  # a graph object may be that of other rows
            if built or (rows.kind == graph.row_kind and graph.is_built_from(rows.data)):
                extension = Extension.fit(laplacian, pairs, reached=~unplaced)
                model = GCNModel(point_scale, extension, ensemble)
            else:
                fitted_only = NOT_BUILT_FROM_X
        shares[unplaced] = np.nan
        alone = graph.isolated[labels.index]  # isolated rows keep their own label
        shares[labels.index[alone]] = np.eye(labels.n_classes)[labels.codes[alone]]
        if model is not None:
            shares = sample.complete(shares, model.placed_distributions)
        unplaced = np.isnan(shares[:, 0])
        shares[unplaced] = 1.0 / labels.n_classes
        times.append(time.perf_counter())
    steps = ("set-up", "training", "prediction")
    results = {
        "label_distributions_": shares,
        "unplaced_": unplaced,
        "graph_": graph,
        "laplacian_": laplacian,
        "eigenpairs_": pairs,
        "networks_": networks,
        "loss_curve_": record.loss_curve,
        "n_iter_": int(record.n_iter.max()),
        "timings_": dict(zip(steps, np.diff(times).tolist(), strict=True)),
    }
    return sample, model, fitted_only, results


def _train_restarts(
    kernels: tuple[Kernel, ...],
    X: FloatArray,
    scale: float,
    labels: Labels,
    settings: GCNParameters,
    sample_weight: FloatArray,
    validation: Labels | None,
    seed: int,
) -> tuple[list[nn.Network], nn.TrainingRecord]:
    """Train the network with the given kernels from several random initialisations.

    Parameters
    ----------
    kernels : tuple of Kernel
    X : (n, N_0) or (r, N_0) array, or (n, N_0) sparse array
        Features; UᵀX for kernels with eigenvectors U.
    scale : float
        Factor of the features in training. The results are for features without it.
    labels : Labels
    settings : GCNParameters
    sample_weight : (n,) array
    validation : Labels or None
        Rows that determine which weights a restart keeps.
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
    kind: Any = nn.ReducedOrderGCN if settings.architecture == "reduced" else nn.GCN
    widths = (X.shape[1], *settings.hidden_widths, labels.n_classes)
    dropout = settings.dropout if settings.hidden_widths else 0.0
    dtype = getattr(torch, settings.dtype)
    input_dropout = settings.input_dropout
    if input_dropout is None:  # dense features would need many random numbers
        input_dropout = settings.dropout if sp.issparse(X) else 0.0
    options = {"bias": settings.bias, "dropout": dropout, "input_dropout": input_dropout}
    with torch.random.fork_rng(devices=[]):  # the initial weights are not used
        network = kind(kernels, widths, dtype=dtype, **options)
    network.to(settings.device)
    features = _as_input(scale * X, network)
    low_rank = kernels[0].eigenpairs is not None
    penalty = settings.l2_penalty
    if penalty is None:
        penalty = PENALTIES[settings.architecture] / len(labels.index)
        penalty *= math.sqrt(labels.n_rows) if settings.architecture == "low-rank" else 1.0
    class_weight, classes = settings.class_weight, labels.classes.tolist()
    for name in class_weight if isinstance(class_weight, Mapping) else ():
        if name not in classes:
            raise invalid("class_weight", f"weights of the classes {classes}", repr(name))
    weights = compute_sample_weight(class_weight, labels.classes[labels.codes])
    stopping: dict[str, Any] = {"early_stopping": settings.early_stopping}
    if validation is not None:
        patience = max(1, settings.max_iter // _PATIENCE)
        stopping = {"early_stopping": True, "patience": patience, "tol": 0.0}
    record = nn.train(
        network,
        nn.ProjectedFeatures(kernels[0].n, features) if low_rank else features,
        labels.index,
        labels.codes,
        n_restarts=settings.n_restarts,
        random_state=seed,
        optimizer=settings.optimizer,  # type: ignore[arg-type]  # checked by the settings
        learning_rate=settings.learning_rate,
        max_iter=settings.max_iter,
        l2_penalty=penalty,
        decay="all" if settings.scaling else "first",
        sample_weight=weights * sample_weight[labels.index],
        validation=None if validation is None else (validation.index, validation.codes),
        **stopping,
        progress=settings.verbose,
    )
    if settings.features in ("raw", "scores") or record.diverged.any():
        _warn_if_not_converged(record)  # the steps of other settings are few on purpose
    if record.diverged.all():
        raise ValueError("Training diverged; lower learning_rate.")
    record = replace(record, weights=(scale * record.weights[0], *record.weights[1:]))
    shared = {id(buffer): buffer for buffer in network.buffers()}
    networks = []
    for restart in np.flatnonzero(~record.diverged).tolist():
        networks.append(copy.deepcopy(network, dict(shared)).eval())
        record.load_into(networks[-1], restart)
    return networks, record


def _as_input(X: Any, network: nn.Network) -> Any:
    """Return features in the dtype and on the device of a network."""
    like = network.convs[0].weight
    return nn.SparseInput(X, like) if sp.issparse(X) else torch.from_numpy(X).to(like)


def _low_rank_ensemble(
    networks: list[nn.Network], record: nn.TrainingRecord, inner: FloatArray
) -> Ensemble:
    """Return the restarts with kernels of low rank as functions of eigenvectors.

    Parameters
    ----------
    networks, record
        From :func:`_train_restarts`.
    inner : (r, N_0) array
        UᵀX.
    """
    projection = torch.from_numpy(inner).to(record.weights[0])
    features = nn.ProjectedFeatures(networks[0].n_nodes, projection)
    A = record.coefficients(networks[0], features)[torch.from_numpy(~record.diverged)]  # (s, r, C)
    bias = A.new_zeros(len(A), A.shape[2])
    for restart, network in enumerate(networks):
        if network.convs[-1].bias is not None:
            bias[restart] = network.convs[-1].bias.detach()
    return Ensemble(A.transpose(0, 1).flatten(1).cpu().numpy(), bias.cpu().numpy())


def _warn_if_not_converged(record: nn.TrainingRecord) -> None:
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

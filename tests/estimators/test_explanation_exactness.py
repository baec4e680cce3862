"""Explanations: exact against dense formulas and against predictions."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import lowrankgcn as lg
from lowrankgcn.estimators.extended import (
    ExtendedLayer,
    ExtendedNetwork,
    attribute,
    mean_softmax,
)
from tests import strategies
from tests.explanation_problems import QUICK, labelled_cars, parts
from tests.reference import spectrum


def test_values_of_a_low_rank_network_against_dense_formulas() -> None:
    """Logits of the paper's network, and what each hyperedge adds to them, from dense matrices."""
    every = lg.datasets.load_cars(as_frame=True).data.astype(str)
    rows = every[every["lug_boot"] == "small"].drop(columns="lug_boot").reset_index(drop=True)
    y = np.where(np.arange(len(rows)) % 29 == 0, rows["buying"], "")
    classifier = lg.GCNClassifier(
        architecture="low-rank", filter="pseudoinverse", rank=13, n_restarts=1, dtype="float64",
        max_iter=50, bias=True, random_state=0,
    ).fit(rows, y)  # fmt: skip
    H = pd.get_dummies(rows.astype(str)).to_numpy(float)
    column_of = [name.rsplit("_", 1)[0] for name in pd.get_dummies(rows.astype(str)).columns]
    sizes, degrees = H.sum(axis=0), H.sum(axis=1)
    affinity = (H / sizes) @ H.T  # with its loops
    found = spectrum(affinity - np.diag(np.diag(affinity)), np.diag(affinity))
    near = found.eigenvalues < 1 - 1e-6
    lam, U = found.eigenvalues[near], found.eigenvectors[:, near]
    # 1/λ on the positive eigenvalues, scaled so that ‖𝒦‖²_F = n.
    phi = np.array([0.0 if value < 1e-9 else 1.0 / value for value in lam])
    phi *= np.sqrt(len(H)) / np.linalg.norm(phi)
    K = (U * phi) @ U.T
    X = H - H.mean(axis=0)
    X = X * np.sqrt(X.size / np.square(K @ X).sum())
    order = [list(pd.get_dummies(rows.astype(str)).columns).index(name) for name in _shown(rows)]
    X = X[:, order]
    network = classifier.networks_[0]
    first, last = (conv.weight.detach().numpy()[0] for conv in network.convs)
    b1, b2 = (conv.bias.detach().numpy() for conv in network.convs)
    hidden = np.maximum(K @ X @ first + b1, 0.0)
    logits = K @ hidden @ last + b2

    # (I − 𝓛) = a Cᵀ with a = D^{-1/2}H and C = D^{-1/2} H D_E^{-1}: u = (I − 𝓛) U (I − Λ)^{-1}.
    a, C = H / np.sqrt(degrees)[:, None], H / np.sqrt(degrees)[:, None] / sizes
    per_hyperedge = C.T @ (U / (1 - lam) * phi) @ (U.T @ hidden @ last)  # (m, classes)
    names = classifier.classes_.tolist()
    for i in (0, 7, 400, 575):
        row = classifier.explain(rows.iloc[[i]])[0]
        c, other = names.index(row.predicted), names.index(row.runner_up)
        assert row.margin == pytest.approx(logits[i, c] - logits[i, other], abs=1e-8)
        each = (a[i] - a.mean(axis=0)) * (per_hyperedge[:, c] - per_hyperedge[:, other])
        for one in row.contributions:
            own = [j for j, column in enumerate(column_of) if column == one.name]
            assert one.amount == pytest.approx(each[own].sum(), abs=1e-8)


def _shown(rows: pd.DataFrame) -> list[str]:
    """Indicator columns in the order of the encoder."""
    return [name.replace("=", "_", 1) for name in lg.Hypergraph.from_table(rows).hyperedge_names]


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("table", {}),
    ("points", {}),
    ("points", {"preset": "paper", "rank": 15}),
    ("points", {"architecture": "full", "filter": "linear", "hidden_widths": (8, 5)}),
    (
        "table",
        {"architecture": "low-rank", "filter": ["constant", "heat"], "hidden_widths": (6, 4)},
    ),
    ("table", {"architecture": "reduced", "filter": "pseudoinverse", "hidden_widths": ()}),
    ("table", {"bias": False, "dropout": 0.2, "restarts": "best", "architecture": "low-rank"}),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("kind", "options"), OPTIONS, ids=str)
def test_parts_add_up_to_the_margin_of_the_prediction(kind: str, options: dict[str, Any]) -> None:
    if kind == "table":
        rows, y = labelled_cars("acceptability")
        new = rows.iloc[::200]
    else:
        data = lg.datasets.load_spiral(60, random_state=0)
        rows, y = data.data, np.where(np.arange(300) % 12 == 0, data.target, -1)
        new = rows[::29] + 0.01
    classifier = lg.GCNClassifier(**(QUICK | options)).fit(rows, y)
    shares = classifier.predict_proba(new)
    for by in ("values", "rows") if kind == "table" else ("rows",):
        explanation = classifier.explain(new, by=by)
        assert explanation.by == by
        for i, row in enumerate(explanation):
            assert row.row == i
            assert row.predicted == classifier.predict(new)[i]
            assert row.probability == pytest.approx(shares[i].max(), rel=1e-12)
            assert row.runner_up_probability == pytest.approx(np.sort(shares[i])[-2], rel=1e-12)
            assert parts(row) == pytest.approx(row.margin, abs=1e-9)
            assert row.margin == pytest.approx(_margin(classifier, new, i, row), abs=1e-9)
            if by == "values":
                assert abs(row.remainder) < 1e-9


def _margin(classifier: Any, X: Any, i: int, row: Any) -> float:
    """Mean log-odds over the networks, from the distributions that each of them alone predicts."""
    model = classifier._model
    one = X.iloc[[i]] if hasattr(X, "iloc") else X[[i]]
    extended = model.cross.product(model.inputs.rows(one), model.basis)
    features = model.inputs.features(one, extended)
    classes = classifier.classes_.tolist()
    c, other = classes.index(row.predicted), classes.index(row.runner_up)
    total = 0.0
    for network in model.networks:
        for t in range(network.layers[0].n_restarts):
            shares = mean_softmax(_single(network, t).forward(extended, features)[-1])[0]
            total += (
                network.weight / network.layers[0].n_restarts * np.log(shares[c] / shares[other])
            )
    return total


def _single(network: ExtendedNetwork, t: int) -> ExtendedNetwork:
    """One restart alone."""
    layers = []
    for layer in network.layers:
        readout = layer.readout
        if readout is not None:
            width = readout.shape[1] // layer.n_restarts
            readout = readout[:, t * width : (t + 1) * width]
        own = None if layer.own is None else layer.own[t : t + 1]
        bias = None if layer.bias is None else layer.bias[t : t + 1]
        layers.append(ExtendedLayer(own, readout, layer.first, bias, 1))
    return ExtendedNetwork(tuple(layers), network.activation, network.feature_scale, 1.0)


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus"])
def test_any_activation_is_attributed_exactly(activation: str) -> None:
    generator = np.random.default_rng(0)
    layers = (
        ExtendedLayer(
            generator.normal(size=(2, 3, 5)), generator.normal(size=(4, 10)), 1,
            generator.normal(size=(2, 5)), 2,
        ),
        ExtendedLayer(
            generator.normal(size=(2, 5, 3)), generator.normal(size=(2, 6)), 0,
            generator.normal(size=(2, 3)), 2,
        ),
    )  # fmt: skip
    network = ExtendedNetwork(layers, activation, 0.7, 1.0)
    extended, features = generator.normal(size=(6, 5)), generator.normal(size=(6, 3))
    extended[0], features[0] = 0.0, 0.0
    direction = np.tile([1.0, -1.0, 0.0], (6, 1))
    found = attribute((network,), extended, features, direction)
    total = found.constant + (found.features * features).sum(1) + (found.vectors * extended).sum(1)
    assert np.abs(total - found.margin).max() < 1e-12
    logs = [
        np.log(mean_softmax(_single(network, t).forward(extended, features)[-1])) for t in (0, 1)
    ]
    assert np.abs(found.margin - np.mean([z[:, 0] - z[:, 1] for z in logs], axis=0)).max() < 1e-12


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.tables(min_rows=6), st.data())
def test_explanations_of_generated_tables(case: strategies.TableCase, data: st.DataObject) -> None:
    frame = case.frame
    y = data.draw(st.lists(st.sampled_from(["p", "q", ""]), min_size=len(frame) - 2))
    y = np.array(["p", "q", *y][: len(frame)] + [""] * (len(frame) - 2 - len(y)), dtype=object)
    classifier = lg.GCNClassifier(graph="hypergraph", n_restarts=2, max_iter=10, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lg.UnlabelledComponentWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            classifier.fit(frame, y)
        except ValueError as error:  # nothing but missing cells
            assert "missing" in str(error)
            return
        shares = classifier.predict_proba(frame)
    for by in ("values", "rows"):
        explanation = classifier.explain(frame, by=by)
        assert str(explanation).startswith("row 0: ")
        for i, row in enumerate(explanation):
            assert row.probability == pytest.approx(shares[i].max(), rel=1e-12)
            assert parts(row) == pytest.approx(row.margin, abs=1e-8)
            assert row.placed or (row.contributions == () and row.margin == 0)
    frame_of = explanation.to_frame()
    sums = frame_of.groupby("row")["amount"].sum()
    for row in explanation:
        if row.placed:
            assert sums[row.row] == pytest.approx(row.margin, abs=1e-8)


def given_kinds() -> dict[str, tuple[Any, dict[str, Any], Any]]:
    """X for fit, options, and rows that come later: weights, incidences, graphs in place of X."""
    spiral = lg.datasets.load_spiral(40, random_state=0).data
    weights = rbf_kernel(spiral, gamma=1 / 3.5**2)
    table = lg.datasets.load_cars(as_frame=True).data.iloc[::9]
    incidence = sp.csr_array(pd.get_dummies(table.astype(str)).to_numpy(float))
    return {
        "weights": (weights, {"graph": "precomputed"}, weights[:4]),
        "incidence": (incidence, {"graph": "hypergraph"}, incidence[:4]),
        "graph of a table": (lg.Hypergraph.from_table(table), {}, table.iloc[:4]),
        "graph of points": (lg.GaussianGraph(spiral, 3.5), {}, spiral[:4]),
        "graph of neighbours": (lg.AdjacencyGraph.knn(spiral, 8), {}, spiral[:4]),
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", given_kinds())
def test_explanations_of_every_kind_of_graph(name: str, tmp_path: Path) -> None:
    X, options, later = given_kinds()[name]
    n = X.n_nodes if hasattr(X, "n_nodes") else X.shape[0]
    y = np.where(np.arange(n) % 8 == 0, np.arange(n) * 3 // n, -1)
    classifier = lg.GCNClassifier(n_restarts=2, **(QUICK | options)).fit(X, y)
    lg.save(classifier, tmp_path / "model")
    loaded = lg.load(tmp_path / "model")
    of_hyperedges = "incidence" in name or "table" in name
    for by in ("values", "rows") if of_hyperedges else ("rows",):
        explanation = classifier.explain(later, by=by)
        assert loaded.explain(later, by=by) == explanation
        for i, row in enumerate(explanation):
            assert row.predicted == classifier.predict(later)[i]
            assert parts(row) == pytest.approx(row.margin, abs=1e-9)
            assert row.margin == pytest.approx(_margin(classifier, later, i, row), abs=1e-9)
            if by == "rows":
                assert {one.name for one in row.contributions} == set(range(0, n, 8))
            else:
                assert abs(row.remainder) < 1e-9
    if name == "incidence":
        kinds = [one.value for one in classifier.explain(later)[0].contributions]
        assert kinds.count("in") == 6 and kinds.count("not in") == 1
        assert "in hyperedge " in str(classifier.explain(later))


def test_a_graph_of_other_rows_cannot_explain() -> None:
    generator = np.random.default_rng(0)
    graph = lg.GaussianGraph(generator.normal(size=(60, 2)), 1.0)
    y = np.where(np.arange(60) < 10, np.arange(60) % 2, -1)
    classifier = lg.GCNClassifier(graph=graph, **QUICK).fit(generator.normal(size=(60, 3)), y)
    with pytest.raises(ValueError, match="a graph that new rows can join"):
        classifier.explain(np.zeros((1, 3)))

"""Explanations: exact against dense formulas and against predictions, and what they mean."""

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
from lowrankgcn.estimators.attribution import attribute
from lowrankgcn.estimators.evidence import Evidence, spread_over
from lowrankgcn.estimators.members import ExtendedLayer, ExtendedNetwork
from tests import strategies
from tests.reference import spectrum

QUICK: dict[str, Any] = {"max_iter": 30, "random_state": 0}


def parts(row: Any) -> float:
    return row.baseline + sum(one.amount for one in row.contributions) + row.remainder


def labelled_cars(target: str = "buying") -> tuple[pd.DataFrame, np.ndarray]:
    cars = lg.datasets.load_cars(target=target, as_frame=True)
    y = np.full(len(cars.data), "", dtype=object)
    y[cars.training] = [cars.target_names[code] for code in cars.target.iloc[cars.training]]
    return cars.data, y


@pytest.fixture(scope="module")
def cars() -> tuple[lg.GCNClassifier, pd.DataFrame]:
    rows, y = labelled_cars()
    return lg.GCNClassifier(random_state=0).fit(rows, y), rows


@pytest.fixture(scope="module")
def spiral() -> tuple[lg.GCNClassifier, np.ndarray]:
    data = lg.datasets.load_spiral(200, random_state=0)
    y = np.full(1000, -1)
    y[::50] = data.target[::50]
    return lg.GCNClassifier(random_state=0).fit(data.data, y), data.data


# --- exactness --------------------------------------------------------------------------------


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


OPTIONS: list[dict[str, Any]] = [
    {},
    {"preset": "paper", "rank": 15},
    {"architecture": "full", "filter": "linear", "hidden_widths": (8,)},
    {"architecture": "full", "filter": ["linear", "quadratic"], "hidden_widths": (8, 5)},
    {"architecture": "low-rank", "filter": ["constant", "pseudoinverse"], "hidden_widths": (6, 4)},
    {"architecture": "reduced", "filter": "pseudoinverse", "hidden_widths": ()},
    {"bias": False, "dropout": 0.2, "class_weight": "balanced", "restarts": "best"},
    {"smoother": 0.5, "architecture": "low-rank"},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["table", "points"])
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
            assert row.probability == shares[i].max()
            assert row.runner_up_probability == np.sort(shares[i])[-2]
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
            shares = _single(network, t).distributions(extended, features)[0]
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


@pytest.mark.parametrize("activation", ["relu", "leaky-relu", "elu", "tanh", "sigmoid", "softplus"])
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
    logs = [np.log(_single(network, t).distributions(extended, features)) for t in (0, 1)]
    assert np.abs(found.margin - np.mean([z[:, 0] - z[:, 1] for z in logs], axis=0)).max() < 1e-12


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.tables(min_rows=6), st.data())
def test_nasty_tables(case: strategies.TableCase, data: st.DataObject) -> None:
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
            assert row.probability == shares[i].max()
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
        "graph of weights": (lg.AdjacencyGraph(weights - np.eye(200)), {}, weights[:4]),
        "incidence": (incidence, {"graph": "hypergraph"}, incidence[:4]),
        "graph of incidences": (lg.Hypergraph(incidence), {}, incidence[:4]),
        "graph of a table": (lg.Hypergraph.from_table(table), {}, table.iloc[:4]),
        "graph of points": (lg.GaussianGraph(spiral, 3.5), {}, spiral[:4]),
        "graph of neighbours": (lg.AdjacencyGraph.knn(spiral, 8), {}, spiral[:4]),
        "points beside their graph": (spiral, {"graph": lg.GaussianGraph(spiral, 3.5)}, spiral[:4]),
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", given_kinds())
def test_whatever_the_graph_is_made_of(name: str, tmp_path: Path) -> None:
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


def test_a_graph_of_other_rows_explains_nothing() -> None:
    generator = np.random.default_rng(0)
    graph = lg.GaussianGraph(generator.normal(size=(60, 2)), 1.0)
    y = np.where(np.arange(60) < 10, np.arange(60) % 2, -1)
    classifier = lg.GCNClassifier(graph=graph, **QUICK).fit(generator.normal(size=(60, 3)), y)
    with pytest.raises(ValueError, match="a graph that new rows can join"):
        classifier.explain(np.zeros((1, 3)))


# --- meaning ----------------------------------------------------------------------------------


def test_the_buying_price_is_why_a_car_has_its_buying_price(cars: Any) -> None:
    classifier, rows = cars
    explanation = classifier.explain(rows)
    first = [row.contributions[0] for row in explanation]
    assert np.mean([one.name == "buying" and one.amount > 0 for one in first]) > 0.95
    # Mostly the value is the class itself.
    assert (
        np.mean([one.value == row.predicted for one, row in zip(first, explanation, strict=True)])
        > 0.9
    )


def test_a_changed_value_changes_the_class_that_it_pulled_to(cars: Any) -> None:
    classifier, rows = cars
    row = rows.iloc[[0]].copy()
    before = classifier.explain(row)[0]
    row["buying"] = pd.Categorical(["low"], rows["buying"].cat.categories) if isinstance(
        rows["buying"].dtype, pd.CategoricalDtype
    ) else "low"  # fmt: skip
    after = classifier.explain(row)[0]
    assert (before.predicted, after.predicted) == ("vhigh", "low")
    assert before.contributions[0].value == "vhigh" and after.contributions[0].value == "low"


def test_labelled_rows_pull_to_their_own_class(spiral: Any) -> None:
    classifier, rows = spiral
    explanation = classifier.explain(rows)
    assert explanation.by == "rows"
    strongest = [max(row.contributions, key=lambda one: one.amount) for row in explanation]
    own = [one.value == row.predicted for one, row in zip(strongest, explanation, strict=True)]
    assert np.mean(own) > 0.95
    labelled = set(range(0, 1000, 50))
    assert all(one.name in labelled and one.kind == "row" for one in strongest)
    # Most of what pulls to the class comes from its labels, and little is left unexplained.
    pull = [
        sum(
            one.amount for one in row.contributions if one.amount > 0 and one.value == row.predicted
        )
        / sum(one.amount for one in row.contributions if one.amount > 0)
        for row in explanation
    ]
    assert np.median(pull) > 0.8
    assert np.median([abs(row.remainder) / abs(row.margin) for row in explanation]) < 0.25


# --- handling ---------------------------------------------------------------------------------


def test_unknown_and_missing_values_are_told(cars: Any) -> None:
    classifier, rows = cars
    row = rows.iloc[[5]].astype(object)
    row["buying"], row["safety"] = "priceless", None
    explained = classifier.explain(row)[0]
    values = {one.name: one.value for one in explained.contributions}
    assert values["buying"] == "priceless (not seen at fitting)" and values["safety"] == "missing"
    assert parts(explained) == pytest.approx(explained.margin, abs=1e-9)


def test_numbers_show_the_cell_and_its_bin() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"size": generator.normal(size=60).round(2), "kind": list("abc") * 20})
    y = np.where(np.arange(60) < 40, np.where(frame["size"] > 0, "big", "small"), "")
    classifier = lg.GCNClassifier(**QUICK).fit(frame, y)
    row = classifier.explain(frame.iloc[[50]])[0]
    first = row.contributions[0]
    assert first.name == "size" and first.amount > 0
    assert first.value.startswith(f"{frame['size'][50]} in (")


def test_rows_without_affinity_have_no_reason(cars: Any) -> None:
    classifier, rows = cars
    strange = rows.iloc[[0]].astype(object)
    strange.iloc[0] = "?"
    explanation = classifier.explain(strange)
    assert not explanation[0].placed and explanation[0].contributions == ()
    assert explanation[0].probability == 0.25
    assert str(explanation) == (
        "row 0: no affinity to any labelled part of the graph, no class"
    )  # fmt: skip
    assert explanation.to_frame().empty


def test_points_have_no_values(spiral: Any) -> None:
    classifier, rows = spiral
    with pytest.raises(ValueError, match="by: expected 'rows': the graph has no hyperedges"):
        classifier.explain(rows[:1], by="values")
    with pytest.raises(ValueError, match="by: expected one of 'auto', 'values', 'rows'"):
        classifier.explain(rows[:1], by="columns")
    with pytest.raises(ValueError, match="features"):
        classifier.explain(rows[:1, :2])


def test_saved_and_loaded(cars: Any, spiral: Any, tmp_path: Path) -> None:
    for name, (classifier, rows) in {"cars": cars, "spiral": spiral}.items():
        lg.save(classifier, tmp_path / name)
        loaded = lg.load(tmp_path / name)
        some = rows[::100]
        assert loaded.explain(some) == classifier.explain(some)
        assert loaded.explain(some, by="rows") == classifier.explain(some, by="rows")
        lg.save(classifier, tmp_path / name, fitted_rows=False)
        lean = lg.load(tmp_path / name)
        if name == "cars":
            assert lean.explain(some) == classifier.explain(some)
        with pytest.raises(ValueError, match="saved with fitted_rows=True"):
            lean.explain(some, by="rows")
        lg.save(loaded, tmp_path / name)
        assert lg.load(tmp_path / name).explain(some) == classifier.explain(some)


def test_rows_are_explained_independently_of_each_other(cars: Any, spiral: Any) -> None:
    for classifier, rows in (cars, spiral):
        some = rows[:40]
        for by in ("auto", "rows"):
            together = classifier.explain(some, by=by)
            alone = classifier.explain(some[7:8], by=by)[0]
            assert together[7].margin == pytest.approx(alone.margin, rel=1e-12)
            for one, other in zip(together[7].contributions, alone.contributions, strict=True):
                assert one.amount == pytest.approx(other.amount, rel=1e-9, abs=1e-12)


def test_prints_and_frames(cars: Any) -> None:
    classifier, rows = cars
    explanation = classifier.explain(rows.iloc[:2])
    lines = str(explanation).splitlines()
    assert lines[0].startswith("row 0: vhigh (") and " rather than " in lines[0]
    assert len(lines) == 2 * (1 + 6 + 1)
    few = explanation[0].lines(explanation.by, top=2, first=1)
    assert few[0].startswith("row 1: ") and "4 others" in few[3]
    one_left = explanation[0].lines(explanation.by, top=5)
    assert one_left[6].endswith("  1 other")
    frame = explanation.to_frame()
    assert list(frame.columns) == [
        "row", "predicted", "probability", "runner_up", "margin", "kind", "name", "value", "amount",
    ]  # fmt: skip
    assert len(frame) == 2 * 8 and set(frame["kind"]) == {"value", "baseline", "remainder"}
    with pytest.raises(AttributeError):
        explanation[0].margin = 0.0


@pytest.mark.parametrize(
    ("first", "said"),
    [("2024-05-01", "2024-05-01 in "), ("2024-05-01 06:30", "2024-05-01 06:30:00")],
)
def test_days_are_told_without_a_time(first: str, said: str) -> None:
    days = pd.date_range(first, periods=40)
    frame = pd.DataFrame({"seen": days, "colour": ["red"] * 20 + ["blue"] * 20})
    classifier = lg.GCNClassifier(architecture="reduced", filter="linear", random_state=0)
    classifier.fit(frame, ["a", *[None] * 38, "b"])
    values = {part.name: part.value for part in classifier.explain(frame.head(1))[0].contributions}
    assert values["seen"].startswith(said)


def test_at_most_a_thousand_labelled_rows_are_kept() -> None:
    codes = np.repeat([0, 1, 2], [3000, 1500, 5])
    chosen = spread_over(codes, 1000)
    assert len(chosen) == len(set(chosen)) == 1000
    assert np.bincount(codes[chosen]).tolist()[2] >= 1
    assert spread_over(codes[:7], 1000).tolist() == list(range(7))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("average", np.zeros(3)),
        ("average", np.full(21, np.nan)),
        ("response.0", None),
        ("response.0", np.zeros(3)),
        ("index", np.zeros((2, 2), np.int64)),
        ("index", np.full(20, -1)),
        ("codes", np.full(20, 4)),
        ("codes", np.zeros(20)),
        ("extended", np.zeros((20, 2))),
        ("features", None),
        ("features", np.zeros((20, 3))),
    ],
)
def test_evidence_that_does_not_fit_the_model_is_refused(cars: Any, name: str, wrong: Any) -> None:
    classifier, _ = cars
    state = classifier._evidence.state(fitted_rows=True)
    assert Evidence.from_state(state, classifier._model).responses[0] is not None
    state[name] = wrong
    kept = {key: array for key, array in state.items() if array is not None}
    with pytest.raises(ValueError, match="expected"):
        Evidence.from_state(kept, classifier._model)

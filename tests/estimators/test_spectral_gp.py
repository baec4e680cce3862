"""scikit-learn's checks of SpectralGPClassifier, the tools people combine it with, read-outs."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator

from lowrankgcn import load, save
from lowrankgcn.estimators import first_rows
from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier
from lowrankgcn.gp import recipe
from tests.support.contracts.scikit_learn_contract import assert_passes_checks
from tests.support.each import each

LIGHT = ("linear", "radial", "neighbours-6", "given-6", "random-forest")
EXPECTED = {
    "check_classifiers_classes": "-1 marks unlabelled rows, here it is one of two classes",
    "check_sample_weight_equivalence_on_sparse_data": "as below",
    "check_sample_weight_equivalence_on_dense_data": "rows are nodes of the graph: a repeated row "
    "is a second node, and a row of weight zero still joins its neighbours",
}
KEY_CHECKS = (
    "check_fit2d_1feature",
    "check_fit_score_takes_y",
    "check_estimators_pickle",
    "check_methods_subset_invariance",
    "check_dict_unchanged",
    "check_n_features_in",
)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit few trees: accuracy with 200 of them is measured by the benchmarks."""
    monkeypatch.setattr(recipe, "_TREES", 20)


def light(**options: Any) -> SpectralGPClassifier:
    given: dict[str, Any] = {"rank": 20, "blocks": LIGHT, "random_state": 0}
    return SpectralGPClassifier(**(given | options))


def test_scikit_learn() -> None:
    assert_passes_checks(SpectralGPClassifier(rank=20, blocks=LIGHT), EXPECTED)


@each("name", KEY_CHECKS)
def test_scikit_learn_with_defaults(name: str) -> None:
    checks = list(estimator_checks_generator(SpectralGPClassifier(), mark=None))
    found = [(own, check) for own, check in checks if check.func.__name__ == name]
    assert found
    for own, check in found:
        check(own)


Blobs = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def blobs() -> Blobs:
    """Points, classes, and labels of which all but four per class are hidden."""
    X, truth = make_blobs(90, centers=3, n_features=4, cluster_std=2.0, random_state=3)
    y = np.full(len(X), -1)
    for label in range(3):
        chosen = np.flatnonzero(truth == label)[:4]
        y[chosen] = label
    return X, truth, y


@pytest.fixture(scope="module")
def fitted(blobs: Blobs) -> SpectralGPClassifier:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipe, "_TREES", 20)
        return SpectralGPClassifier(rank=30, random_state=0).fit(blobs[0], blobs[2])


def test_parameters_come_back_as_given(blobs: Blobs) -> None:
    blocks, shares = ["linear"], {0: 0.5, 1: 0.2, 2: 0.3}
    classifier = SpectralGPClassifier(blocks=blocks, class_shares=shares, rank=7)
    parameters = classifier.get_params()
    assert parameters["blocks"] is blocks and parameters["class_shares"] is shares
    assert clone(classifier).get_params() == parameters
    assert classifier.fit(blobs[0], blobs[2]) is classifier
    assert classifier.get_params() == parameters
    assert repr(SpectralGPClassifier(rank=7)) == "SpectralGPClassifier(rank=7)"


def test_tags() -> None:
    tags = get_tags(SpectralGPClassifier()).input_tags
    assert is_classifier(SpectralGPClassifier())
    assert tags.allow_nan and tags.categorical and tags.string and tags.sparse
    assert not tags.pairwise
    assert get_tags(SpectralGPClassifier(graph="knn")).input_tags.sparse
    weights = get_tags(SpectralGPClassifier(graph="precomputed")).input_tags
    assert weights.pairwise and weights.sparse and not weights.allow_nan


def test_pipelines(blobs: Blobs) -> None:
    X, truth, y = blobs
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = make_pipeline(StandardScaler(), light()).fit(X, y)
    framed = make_pipeline(StandardScaler(), light()).set_output(transform="pandas").fit(frame, y)
    assert framed[-1].feature_names_in_.tolist() == list("abcd")
    np.testing.assert_allclose(framed.predict_proba(frame), plain.predict_proba(X), atol=1e-9)
    assert plain.score(X, truth) > 0.9 and plain.score(X, y) == 1.0
    plain.set_params(spectralgpclassifier__blocks=["linear"]).fit(X, y)
    assert list(plain[-1].block_shares_) == ["linear"]


def test_grid_search_and_cross_validation(blobs: Blobs) -> None:
    X, truth, _ = blobs
    search = GridSearchCV(light(), {"rank": [4, 8], "blocks": [["linear"], LIGHT]}, cv=3)
    search.fit(X, truth)
    assert search.best_score_ > 0.9
    assert cross_val_score(light(), X, truth, cv=3, scoring="neg_log_loss").mean() > -0.4


def test_attributes(blobs: Blobs, fitted: SpectralGPClassifier) -> None:
    X, truth, _ = blobs
    n, m, C = 90, 12, 3
    assert fitted.classes_.tolist() == [0, 1, 2] and fitted.n_features_in_ == 4
    assert fitted.label_distributions_.shape == (n, C)
    np.testing.assert_allclose(fitted.label_distributions_.sum(axis=1), 1.0)
    assert (fitted.transduction_ == truth).mean() > 0.9
    assert (fitted.predict(X) == fitted.transduction_).mean() > 0.95
    assert set(fitted.graphs_) == {"neighbours", "gaussian", "hypergraph"}
    assert fitted.graph_ is fitted.graphs_["neighbours"]
    assert set(fitted.eigenpairs_) == set(fitted.filter_) == set(fitted.graphs_)
    for name, own in fitted.filter_.items():
        assert own.graph == name and own.response.shape == own.eigenvalues.shape
        assert (own.response >= 0).all() and own.response[0] > 0
        assert (np.diff(own.response) <= 1e-12).all()  # sums of low-pass filters
    assert sum(fitted.block_shares_.values()) == pytest.approx(1.0)
    assert min(fitted.block_shares_.values()) >= 0
    assert fitted.loo_distributions_.shape == (m, C)
    low, high = fitted.loo_interval_
    assert 0 <= low < fitted.loo_accuracy_ <= high <= 1
    assert 0 < fitted.loo_log_loss_ < np.log(C)
    assert all(seconds >= 0 for seconds in fitted.timings_.values())


def test_filter_is_that_of_the_covariance(blobs: Blobs) -> None:
    X, _, y = blobs
    blocks = ("neighbours-6", "neighbours-20", "neighbours-inverse")
    classifier = light(blocks=blocks).fit(X, y)
    learned, process = classifier.filter_["neighbours"], classifier._model.process
    coordinates = classifier._prepared.views.views["neighbours"]
    centred = coordinates - coordinates.mean(axis=0)
    covariance = sum(
        amplitude * block.kernel(own, own)
        for block, amplitude, own in zip(
            process.blocks,
            process.amplitudes,
            process.represent({"neighbours": coordinates}),
            strict=True,
        )
    )
    np.testing.assert_allclose((centred * learned.response**2) @ centred.T, covariance, atol=1e-9)


def test_prediction_sets(blobs: Blobs, fitted: SpectralGPClassifier) -> None:
    X, truth, _ = blobs
    sets = [fitted.prediction_sets(X, level) for level in (0.05, 0.5, 0.8, 0.9, 0.99)]
    for narrow, wide in pairwise(sets):
        assert narrow.any(axis=1).all() and (narrow <= wide).all()
    assert sets[-1].all()  # twelve labels do not tell more
    assert sets[-2][np.arange(90), truth].mean() > 0.8
    assert fitted.prediction_sets().shape == (90, 3)


def test_suggestions(blobs: Blobs, fitted: SpectralGPClassifier) -> None:
    y = blobs[2]
    rows = fitted.suggest(10)
    assert len(set(rows.tolist())) == 10 and (y[rows] == -1).all()
    np.testing.assert_array_equal(fitted.suggest(3), rows[:3])
    among = np.flatnonzero(y == -1)[5:9]
    assert sorted(fitted.suggest(4, among=among)) == among.tolist()
    with pytest.raises(ValueError, match=r"^k: expected at most 78"):
        fitted.suggest(79)


def test_first_rows_reach_every_group() -> None:
    X, truth = make_blobs(60, centers=4, cluster_std=0.5, random_state=0)
    rows = first_rows(X, 6)
    assert set(truth[rows]) == {0, 1, 2, 3}
    more = first_rows(X, 3, labelled=rows, among=np.arange(40))
    assert not set(more) & set(rows) and more.max() < 40
    assert sorted(first_rows(np.ones((5, 2)), 5)) == [0, 1, 2, 3, 4]
    weights = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    assert len(set(first_rows(weights, 4, labelled=rows, graph="precomputed")) - set(rows)) == 4
    with pytest.raises(ValueError, match=r"^k: "):
        first_rows(X, 61)


def test_column_importance_finds_the_informative_column() -> None:
    generator = np.random.default_rng(0)
    names = ["noise", "signal", "same", "other"]
    table = pd.DataFrame(generator.normal(size=(150, 4)), columns=names)
    table["same"] = 1.0
    table.loc[generator.random(150) < 0.1, "signal"] = np.nan
    y = np.where(np.arange(150) < 60, table["signal"] > 0, -1)
    found = SpectralGPClassifier(rank=20, random_state=0).fit(table, y).column_importance()
    assert max(found, key=lambda name: found[name]) == "signal" and found["signal"] > 0.5
    assert sum(found.values()) == pytest.approx(1.0) and "same" not in found


def test_accuracy_on_two_moons() -> None:
    X, truth = make_moons(200, noise=0.06, random_state=0)
    y = np.full(200, -1)
    for label in (0, 1):
        y[np.flatnonzero(truth == label)[:5]] = label
    classifier = SpectralGPClassifier(random_state=0).fit(X, y)
    assert (classifier.transduction_ == truth).mean() > 0.93
    new, expected = make_moons(200, noise=0.06, random_state=1)
    assert classifier.score(new, expected) > 0.93


def test_accuracy_on_a_mixed_table() -> None:
    generator = np.random.default_rng(0)
    kind, size = generator.choice(list("abcd"), 400), generator.normal(size=400)
    truth = 2.0 * np.isin(kind, ["a", "b"]) + size > 1.0
    noise = generator.normal(size=(400, 3))
    table = pd.DataFrame(noise).rename(columns=str).assign(kind=kind, size=size)
    table.loc[generator.random(400) < 0.05, "kind"] = None
    y = np.where(np.arange(400) < 60, truth, -1).astype(int)
    classifier = SpectralGPClassifier(random_state=0).fit(table[:300], y[:300])
    assert (classifier.transduction_ == truth[:300])[60:].mean() > 0.85
    assert classifier.score(table[300:], truth[300:]) > 0.85
    low, high = classifier.loo_interval_
    assert low < 0.9 < high


def test_one_seed_gives_the_same_result(blobs: Blobs, fitted: SpectralGPClassifier) -> None:
    X, _, y = blobs
    again = clone(fitted).fit(X, y)
    np.testing.assert_allclose(again.label_distributions_, fitted.label_distributions_, rtol=1e-9)
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(again.suggest(5), fitted.suggest(5))
    assert again.column_importance() == pytest.approx(fitted.column_importance())
    before = np.random.get_state()  # noqa: NPY002
    light(random_state=None).fit(X, y)
    after = np.random.get_state()  # noqa: NPY002
    np.testing.assert_array_equal(after[1], before[1])
    assert after[2] == before[2]  # the position in these numbers


@pytest.mark.parametrize("again", [lambda c: pickle.loads(pickle.dumps(c)), copy.deepcopy])
def test_copies_predict_the_same(blobs: Blobs, fitted: SpectralGPClassifier, again: Any) -> None:
    expected = fitted.predict_proba(blobs[0])
    copied = again(fitted)
    assert "compiled" not in vars(copied._fit.model)  # large: not sent to workers
    np.testing.assert_allclose(copied.predict_proba(blobs[0]), expected, rtol=1e-12)


def test_saved_classifiers_predict_the_same(
    blobs: Blobs, fitted: SpectralGPClassifier, tmp_path: Path
) -> None:
    X = blobs[0]
    save(fitted, tmp_path / "blobs.model")
    loaded = load(tmp_path / "blobs.model")
    np.testing.assert_allclose(loaded.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(loaded.prediction_sets(X), fitted.prediction_sets(X))
    np.testing.assert_array_equal(loaded.unsure(X), fitted.unsure(X))
    for by in ("columns", "rows", "blocks"):
        assert str(loaded.explain(X[:3], by=by)) == str(fitted.explain(X[:3], by=by))
    assert loaded.loo_interval_ == pytest.approx(fitted.loo_interval_)
    assert loaded.block_shares_ == pytest.approx(fitted.block_shares_)
    for method in (loaded.suggest, loaded.unsure):
        with pytest.raises(ValueError, match=r"^classifier: expected a classifier fitted in this"):
            method()


def test_unfitted(blobs: Blobs) -> None:
    X = blobs[0]
    for method in ("predict", "predict_proba", "decision_function", "explain", "prediction_sets"):
        with pytest.raises(NotFittedError):
            getattr(SpectralGPClassifier(), method)(X)
    for method in ("suggest", "column_importance", "unsure"):
        with pytest.raises(NotFittedError):
            getattr(SpectralGPClassifier(), method)()


def test_verbose_names_the_steps(blobs: Blobs, capsys: pytest.CaptureFixture[str]) -> None:
    light(verbose=True).fit(blobs[0], blobs[2])
    printed = capsys.readouterr()
    assert "eigenpairs" in printed.err and not printed.out


def test_a_forged_forest_is_rejected() -> None:
    """Node numbers of a file must not reach products of sparse matrices unchecked."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.r_[np.arange(16) % 2, np.full(14, -1)]
    model = SpectralGPClassifier(random_state=0).fit(X, y)._model.process
    (place,) = (k for k, block in enumerate(model.blocks) if block.name == "random-forest")
    forged = [*model.labelled]
    forged[place] = forged[place] * 0 + 10**6
    with pytest.raises(ValueError, match="random-forest: expected nodes"):
        replace(model, labelled=tuple(forged))


def test_dask_collections_are_refused(fitted: SpectralGPClassifier) -> None:
    rows = pytest.importorskip("dask.array").zeros((4, 4))
    for method in (fitted.unsure, fitted.explain):
        with pytest.raises(ValueError, match=r"^X: expected rows in memory"):
            method(rows)

"""scikit-learn's own checks of GCNClassifier, and the tools people combine it with."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from lowrankgcn import GCNClassifier, Hypergraph, SpectralGPClassifier
from tests.support.contracts.scikit_learn_contract import assert_passes_checks

EXPECTED = {
    "check_classifiers_classes": "-1 marks unlabelled rows, here it is one of two classes",
    "check_sample_weight_equivalence_on_sparse_data": "as below",
    "check_sample_weight_equivalence_on_dense_data": "rows are nodes of the graph: a repeated row "
    "is a second node, and a row of weight zero still joins its neighbours",
}


def test_scikit_learn() -> None:
    assert_passes_checks(GCNClassifier(max_iter=20, n_restarts=1), EXPECTED)


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, classes, and labels of which all but four per class are hidden."""
    X, truth = make_blobs(90, centers=3, n_features=2, cluster_std=0.6, random_state=3)
    y = np.full(len(X), -1)
    for label in range(3):
        chosen = np.flatnonzero(truth == label)[:4]
        y[chosen] = label
    return X, truth, y


def quick(**options: Any) -> GCNClassifier:
    given: dict[str, Any] = {"max_iter": 20, "n_restarts": 1, "random_state": 0}
    return GCNClassifier(**(given | options))


def named(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=["length", "width"])


def test_parameters_come_back_as_given() -> None:
    given = {"rank": 7, "filter": ["linear", "identity"], "class_weight": {0: 2.0}}
    classifier = GCNClassifier(**given)
    parameters = classifier.get_params()
    assert all(parameters[name] is value for name, value in given.items())
    assert clone(classifier).get_params() == parameters
    assert classifier.set_params(rank=9).rank == 9
    with pytest.raises(ValueError, match="Invalid parameter 'ranks'"):
        classifier.set_params(ranks=9)


def test_fit_leaves_parameters_alone(blobs: Any) -> None:
    X, _, y = blobs
    classifier = quick()
    before = classifier.get_params()
    assert classifier.fit(X, y) is classifier
    assert classifier.get_params() == before


def test_repr_names_what_was_changed() -> None:
    assert repr(GCNClassifier(rank=7)) == "GCNClassifier(rank=7)"


def test_attributes_after_fit(blobs: Any) -> None:
    X, truth, y = blobs
    classifier = quick(max_iter=60).fit(X, y)
    n, C = len(X), 3
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.label_distributions_.shape == (n, C)
    np.testing.assert_allclose(classifier.label_distributions_.sum(axis=1), 1.0, rtol=1e-12)
    assert (classifier.transduction_ == truth).mean() > 0.95
    assert classifier.graph_.n_nodes == classifier.laplacian_.n == n
    assert classifier.eigenpairs_.eigenvectors.shape[0] == n
    assert classifier.n_features_in_ == 2
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.loss_curve_.ndim == 2 and 0 < classifier.n_iter_ <= 60
    assert all(seconds >= 0 for seconds in classifier.timings_.values())
    (network,) = classifier.networks_
    assert not network.training and network.n_nodes == n
    assert not classifier.unplaced_.any()


def test_predictions_agree_with_one_another(blobs: Any) -> None:
    X, truth, y = blobs
    classifier = quick(max_iter=60).fit(X, y)
    shares = classifier.predict_proba(X)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[shares.argmax(axis=1)])
    np.testing.assert_allclose(classifier.decision_function(X), np.log(shares))
    assert (classifier.predict(X) == classifier.transduction_).mean() > 0.98
    assert classifier.score(X, truth) > 0.95


def test_decision_function_of_two_classes(blobs: Any) -> None:
    X, truth, y = blobs
    two = truth < 2
    classifier = quick().fit(X[two], y[two])
    decision = classifier.decision_function(X[two])
    assert decision.shape == (two.sum(),)
    np.testing.assert_array_equal(decision > 0, classifier.predict(X[two]) == 1)


def test_unfitted_and_after_a_failed_fit(blobs: Any) -> None:
    X, _, y = blobs
    classifier = quick()
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(classifier, method)(X)
    with pytest.raises(ValueError, match=r"^rank: "):
        quick(rank=0).fit(X, y)


def test_pipeline(blobs: Any) -> None:
    X, truth, y = blobs
    pipeline = make_pipeline(StandardScaler(), quick(max_iter=60)).fit(X, y)
    assert pipeline.score(X, truth) > 0.95
    pipeline.set_params(gcnclassifier__rank=5, gcnclassifier__architecture="reduced").fit(X, y)
    assert pipeline[-1].eigenpairs_.rank == 5


def test_grid_search_and_cross_validation(blobs: Any) -> None:
    X, truth, _ = blobs
    classifier = quick(architecture="low-rank", filter="heat", rank=8, max_iter=40)
    search = GridSearchCV(classifier, {"rank": [4, 8], "optimizer": ["adam", "gd"]}, cv=3)
    search.fit(X, truth)
    assert search.best_score_ > 0.9
    assert set(search.best_params_) == {"rank", "optimizer"}
    assert cross_val_score(classifier, X, truth, cv=3).mean() > 0.9
    assert cross_val_score(classifier, X, truth, cv=3, scoring="roc_auc_ovr").mean() > 0.95
    assert cross_val_score(classifier, X, truth, cv=3, scoring="neg_log_loss").shape == (3,)


def test_feature_names_of_frames(blobs: Any) -> None:
    X, _, y = blobs
    classifier = quick().fit(named(X), pd.Series(y, name="class"))
    assert classifier.feature_names_in_.tolist() == ["length", "width"]
    assert classifier.n_features_in_ == 2
    same = quick().fit(X, y)
    np.testing.assert_array_equal(classifier.label_distributions_, same.label_distributions_)
    np.testing.assert_allclose(
        classifier.predict_proba(named(X).set_index(np.arange(len(X))[::-1])),
        same.predict_proba(X),
        rtol=1e-12,
    )


def test_feature_names_of_tables() -> None:
    table = pd.DataFrame({"colour": ["red", "blue"] * 10, "size": np.arange(20.0)})
    y = np.where(np.arange(20) % 2, "cold", "warm").astype(object)
    y[6:] = None
    classifier = quick().fit(table, y)
    assert isinstance(classifier.graph_, Hypergraph)
    assert classifier.feature_names_in_.tolist() == ["colour", "size"]
    assert classifier.predict(table.head(2)).tolist() == ["warm", "cold"]


def test_tags(blobs: Any) -> None:
    tags = get_tags(GCNClassifier())
    assert is_classifier(GCNClassifier())
    assert tags.target_tags.required
    assert tags.input_tags.categorical
    assert not tags.input_tags.pairwise and tags.input_tags.sparse
    assert get_tags(GCNClassifier(graph="hypergraph")).input_tags.sparse
    assert get_tags(GCNClassifier(graph="precomputed")).input_tags.pairwise


@pytest.mark.parametrize(
    ("again", "options"),
    [
        (lambda c: pickle.loads(pickle.dumps(c)), {}),
        (copy.deepcopy, {"architecture": "reduced", "filter": "heat"}),
    ],
)
def test_copies_predict_the_same(blobs: Any, again: Any, options: Any) -> None:
    X, _, y = blobs
    classifier = quick(**options).fit(X, y)
    copied = again(classifier)
    np.testing.assert_allclose(copied.predict_proba(X), classifier.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(copied.label_distributions_, classifier.label_distributions_)


def test_one_seed_gives_the_same_result(blobs: Any) -> None:
    X, _, y = blobs
    first, second = quick(dropout=0.1).fit(X, y), quick(dropout=0.1).fit(X, y)
    np.testing.assert_array_equal(first.label_distributions_, second.label_distributions_)
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(first.loss_curve_, second.loss_curve_)
    other = quick(dropout=0.1, random_state=1).fit(X, y)
    assert (first.label_distributions_ != other.label_distributions_).any()


def test_random_state_instance_advances(blobs: Any) -> None:
    X, _, y = blobs
    state = np.random.RandomState(0)
    first, second = (quick(random_state=state).fit(X, y) for _ in range(2))
    assert (first.label_distributions_ != second.label_distributions_).any()


def test_global_random_state_is_unchanged(blobs: Any) -> None:
    import torch

    X, _, y = blobs
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    quick(dropout=0.2).fit(X, y).predict(X)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


def test_input_is_not_changed(blobs: Any) -> None:
    X, _, y = blobs
    frame, labels = named(X), pd.Series(y)
    kept = frame.copy(), labels.copy()
    quick().fit(frame, labels).predict(frame)
    pd.testing.assert_frame_equal(frame, kept[0])
    pd.testing.assert_series_equal(labels, kept[1])


def test_refitting_discards_the_first_fit(blobs: Any) -> None:
    X, _, y = blobs
    classifier = quick().fit(named(X), y)
    classifier.fit(X[:, :1], np.where(y == 2, -1, y))
    assert classifier.n_features_in_ == 1 and len(classifier.classes_) == 2
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.predict_proba(X[:, :1]).shape == (len(X), 2)


def test_predictions_are_independent_of_other_rows(blobs: Any) -> None:
    X, _, y = blobs
    classifier = quick().fit(X, y)
    together = classifier.predict_proba(X)
    alone = np.vstack([classifier.predict_proba(X[i : i + 1]) for i in range(0, len(X), 9)])
    np.testing.assert_allclose(alone, together[::9], rtol=1e-9)


def test_rows_of_tiny_weight_have_no_effect(blobs: Any) -> None:
    X, truth, y = blobs
    labelled = np.flatnonzero(y >= 0)
    wrong = labelled[np.argsort(y[labelled], kind="stable")][::2]  # two of four in every class
    spoilt, weights = y.copy(), np.ones(len(X))
    spoilt[wrong] = (spoilt[wrong] + 1) % 3
    weights[wrong] = 1e-9
    classifier = quick(max_iter=60, filter="heat", architecture="low-rank", rank=8)
    assert (classifier.fit(X, spoilt, weights).transduction_ == truth).mean() > 0.9


def test_concurrent_fits_equal_sequential_fits(blobs: Any) -> None:
    X, _, y = blobs
    seeds = (0, 1)
    in_turn = [quick(random_state=seed).fit(X, y) for seed in seeds]
    with ThreadPoolExecutor(2) as pool:
        at_once = list(pool.map(lambda seed: quick(random_state=seed).fit(X, y), seeds))
    for one, other in zip(in_turn, at_once, strict=True):
        np.testing.assert_allclose(
            other.label_distributions_, one.label_distributions_, rtol=0, atol=1e-6
        )


@pytest.mark.parametrize("kind", [GCNClassifier, SpectralGPClassifier])
def test_a_failed_fit_changes_nothing(kind: Any) -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    classifier = kind(random_state=0).fit(X, y)
    before = dict(vars(classifier))
    with pytest.raises(ValueError, match="40 labels"):
        classifier.fit(pd.DataFrame(np.eye(40)).add_prefix("x"), y[:39])
    assert vars(classifier).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(classifier).items())
    assert classifier.predict(X).shape == (40,)
    fresh = kind()
    with pytest.raises(ValueError, match="two classes"):
        fresh.fit(X, np.zeros(40))
    assert not hasattr(fresh, "n_features_in_")

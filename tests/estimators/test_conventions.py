"""Arguments by convention: sample_weight, class_weight, n_jobs; what loaded models do."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowrankgcn as lg
from lowrankgcn import _parallel
from lowrankgcn.estimators import gp_classifier
from tests.support.each import each

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4)) + np.repeat([0.0, 1.5, 3.0], 30)[:, None] * [1, 1, 0, 0]
TRUE = np.repeat(["low", "mid", "high"], 30)
Y = np.where(np.arange(90) % 5 == 0, TRUE, "")
Y[4], Y[31] = "high", "high"  # two mistakes


def fitted(y: Any = Y, sample_weight: Any = None, **options: Any) -> lg.SpectralGPClassifier:
    return lg.SpectralGPClassifier(random_state=0, **options).fit(X, y, sample_weight)


@pytest.fixture(scope="module")
def plain() -> lg.SpectralGPClassifier:
    return fitted()


def test_sample_weight(plain: lg.SpectralGPClassifier) -> None:
    ones = fitted(sample_weight=np.ones(90))
    assert np.allclose(ones.label_distributions_, plain.label_distributions_, atol=1e-9)
    weights = np.ones(90)
    weights[[4, 31]] = 0  # as without these labels
    dropped = np.where(weights > 0, Y, "")
    without, zero = fitted(dropped), fitted(sample_weight=weights)
    assert np.allclose(zero.label_distributions_, without.label_distributions_, atol=1e-9)
    assert 31 not in zero.audit().row.tolist()
    heavy, light = np.ones(90), np.ones(90)
    heavy[31], light[31] = 20.0, 0.05
    high = plain.classes_.tolist().index("high")
    shares = [fitted(sample_weight=w).label_distributions_[31, high] for w in (light, heavy)]
    assert shares[0] < plain.label_distributions_[31, high] < shares[1]


@each(
    ("weights", "message"),
    [
        (np.ones(3), "sample_weight: expected 90 numbers"),
        (-np.ones(90), "sample_weight: expected 90 numbers >= 0"),
        (np.zeros(90), "sample_weight: expected a labelled row of positive weight"),
        ((Y == "low") * 1.0, "sample_weight: expected positive weights of labels of two classes"),
    ],
)
def test_invalid_weights(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(sample_weight=weights)


def test_class_weight_is_a_class_share(plain: lg.SpectralGPClassifier) -> None:
    balanced, equal = fitted(class_weight="balanced"), fitted(class_shares="equal")
    assert np.allclose(balanced.label_distributions_, equal.label_distributions_)
    assert np.allclose(balanced.loo_distributions_, equal.loo_distributions_)
    counts = np.array([(Y == name).sum() for name in plain.classes_]) * [1.0, 1.0, 5.0]
    shares = dict(zip(plain.classes_, counts, strict=True))
    weighted = fitted(class_weight={plain.classes_[2]: 5.0})
    expected = fitted(class_shares=shares)
    assert np.allclose(weighted.label_distributions_, expected.label_distributions_)
    for options, message in (
        ({"class_weight": "equal"}, "class_weight: expected one of"),
        ({"class_weight": {"none": 1.0}}, "class_weight: expected weights of the classes"),
        ({"class_weight": "balanced", "class_shares": "labels"}, "class_weight: expected None if"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted(**options)


def test_n_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()

    def chunk(start: int, stop: int) -> str:
        return threading.current_thread().name

    for n_jobs, most in ((1, 1), (2, 2)):
        with _parallel.limited_threads(n_jobs):
            seen = set(_parallel.map_chunks(chunk, 64, 1))
        assert len(seen) <= most
    monkeypatch.setenv("LOWRANKGCN_NUM_THREADS", "3")
    for n_jobs, count in ((None, 3), (-1, 3), (-2, 2), (5, 5)):
        with _parallel.limited_threads(n_jobs):
            assert _parallel.available_threads() == count
    limits: list[int] = []
    original = gp_classifier.prepare_rows

    def watched(*arguments: Any, **options: Any) -> Any:
        limits.append(_parallel.available_threads())
        return original(*arguments, **options)

    monkeypatch.setattr("lowrankgcn.estimators.gp_classifier.prepare_rows", watched)
    fitted(n_jobs=2)
    assert limits == [2]
    with pytest.raises(ValueError, match="n_jobs: expected None or an integer other than 0"):
        fitted(n_jobs=0)


def test_n_jobs_of_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    torch, nn = pytest.importorskip("torch"), pytest.importorskip("lowrankgcn.nn")
    monkeypatch.setattr("lowrankgcn.nn.threads._SMALL_WORK", 0)
    original, limits = nn.train, list[tuple[int, int]]()

    def watched(*arguments: Any, **options: Any) -> Any:
        limits.append((torch.get_num_threads(), _parallel.available_threads()))
        return original(*arguments, **options)

    monkeypatch.setattr("lowrankgcn.nn.train", watched)
    before = torch.get_num_threads()
    settings: dict[str, Any] = {"max_iter": 5, "n_restarts": 1, "random_state": 0}
    for n_jobs in (1, 2):
        lg.GCNClassifier(n_jobs=n_jobs, **settings).fit(X, Y)
    assert limits == [(1, 1), (2, 2)] and torch.get_num_threads() == before
    with pytest.raises(ValueError, match="n_jobs: expected None or an integer other than 0"):
        lg.GCNClassifier(n_jobs=0, **settings).fit(X, Y)


@each("name", ["SpectralGPClassifier", "GCNClassifier"])
def test_a_class_of_zero_weight_is_said(name: str) -> None:
    few = {"max_iter": 5, "n_restarts": 1} if name == "GCNClassifier" else {}
    with pytest.warns(lg.LabelWarning, match="class 'mid': all labels have the sample_weight zero"):
        getattr(lg, name)(random_state=0, **few).fit(X, Y, sample_weight=np.where(Y == "mid", 0, 1))


@each("name", ["SpectralGPClassifier", "GCNClassifier"])
def test_a_class_that_may_mark_unlabelled_rows_is_said(name: str) -> None:
    """Only if no other rows are unlabelled."""
    few = {"max_iter": 5, "n_restarts": 1} if name == "GCNClassifier" else {}
    classifier, labels = getattr(lg, name)(random_state=0, **few), TRUE.astype(object)
    labels[::2] = "?"
    said = (
        f"'\\?' is a class of {len(Y) // 2} rows; if it marks unlabelled rows, replace it by None"
    )
    with pytest.warns(lg.LabelWarning, match=said):
        classifier.fit(X, labels)
    labels[-1] = None
    classifier.fit(X, labels)


def test_loaded_models_rank_columns_and_suggest(
    plain: lg.SpectralGPClassifier, tmp_path: Path
) -> None:
    lg.save(plain, tmp_path / "model")
    loaded = lg.load(tmp_path / "model")
    ranked = loaded.column_importance()
    assert sum(ranked.values()) == pytest.approx(1)
    assert ranked == plain.column_importance() and set(list(ranked)[:2]) == {0, 1}
    lg.save(loaded, tmp_path / "again")
    assert lg.load(tmp_path / "again").column_importance() == ranked
    of_rows = loaded.column_importance(X)
    assert list(of_rows)[:2] == list(plain.column_importance(X))[:2]
    new = X + 0.01
    rows = loaded.suggest(5, new)
    assert len(set(rows.tolist())) == 5 and rows.max() < 90
    assert rows.tolist() == plain.suggest(5, new).tolist()
    assert set(loaded.suggest(2, new, among=[3, 8, 9])) <= {3, 8, 9}
    with pytest.raises(ValueError, match="k: expected at most 90"):
        loaded.suggest(91, new)
    with pytest.raises(ValueError, match="files do not keep the rows"):
        loaded.suggest(5)
    assert loaded.audit().equals(plain.audit())

"""Sparse features without a graph: word counts, indicators, and what reads incidence instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import lowrankgcn as lg
from lowrankgcn.gp.node_graph import NewRows, NodeGraph

N = 240
CLASSES = np.arange(N) % 3
Y = np.where(np.arange(N) < 24, CLASSES, -1)


def texts(n_topics: int = 4) -> list[str]:
    """Return documents: words of one of the topics of a class, and of all."""
    generator = np.random.default_rng(0)
    topics = CLASSES * n_topics + generator.integers(0, n_topics, N)
    every = [[f"t{topic}w{generator.integers(0, 25)}" for _ in range(6)] for topic in topics]
    noise = [[f"n{generator.integers(0, 200)}" for _ in range(8)] for _ in topics]
    return [" ".join(a + b) for a, b in zip(every, noise, strict=True)]


TEXTS = texts()
WORDS = sp.csr_array(TfidfVectorizer().fit_transform(TEXTS))


def test_a_pipeline_of_texts_is_ahead_of_logistic_regression(tmp_path: Path) -> None:
    """Texts are fitted and predicted; rows depend neither on others nor on their format."""
    pipeline = make_pipeline(TfidfVectorizer(), lg.SpectralGPClassifier(random_state=0))
    pipeline.fit(TEXTS[:200], Y[:200])
    classifier, new = pipeline[-1], pipeline[0].transform(TEXTS[200:])
    shares = pipeline.predict_proba(TEXTS[200:])
    linear = LogisticRegression().fit(WORDS[:24], Y[:24]).score(WORDS[24:], CLASSES[24:])
    assert (classifier.transduction_ == CLASSES[:200])[24:].mean() > linear + 0.1
    assert (shares.argmax(axis=1) == CLASSES[200:]).mean() > linear
    assert_allclose(pipeline.predict_proba(TEXTS[200:203]), shares[:3], atol=1e-6)
    for kind in ("csc", "coo"):
        assert_allclose(classifier.predict_proba(new.asformat(kind)), shares)
    lg.save(classifier, tmp_path / "words.model")
    assert_allclose(lg.load(tmp_path / "words.model").predict_proba(new), shares)
    with pytest.raises(ValueError, match="edges: expected None"):
        classifier.predict(new, edges=[[200, 0]])
    assert len(classifier.suggest(3)) == 3 and classifier.unsure(new).shape == (40,)


def test_more_rows_than_are_fitted_follow_like_new_rows() -> None:
    """Rows outside the sample get what `predict` gives them."""
    classifier = lg.SpectralGPClassifier(fit_rows=100, random_state=0).fit(WORDS, Y)
    outside = np.setdiff1d(np.arange(N), classifier._sample)
    expected = classifier.predict_proba(WORDS[outside])
    assert_allclose(classifier.label_distributions_[outside], expected, atol=1e-6)


@pytest.mark.parametrize("make", [lg.SpectralGPClassifier, lg.GCNClassifier])
def test_indicators_are_as_good_as_their_dense_array(make: Any) -> None:
    """Sparse indicators are read like the same array."""
    table = np.array(list("abcd"))[np.random.default_rng(0).integers(0, 4, (N, 5))]
    table[:, 0] = np.array(list("abc"))[CLASSES]
    X = sp.csr_array(OneHotEncoder().fit_transform(table))
    fits = [make(random_state=0).fit(rows, Y) for rows in (X, X.toarray())]
    assert_allclose(fits[0].label_distributions_, fits[1].label_distributions_)
    assert_array_equal(fits[0].predict(X[:9].tocoo()), fits[1].predict(X[:9].toarray()))


def test_networks_read_wide_sparse_rows(tmp_path: Path) -> None:
    """They take nearest neighbours in singular vectors, also of new rows and from files."""
    classifier = lg.GCNClassifier(random_state=0).fit(WORDS[:200], Y[:200])
    assert (classifier.transduction_ == CLASSES[:200])[24:].mean() > 0.6
    lg.save(classifier, tmp_path / "words.model")
    again = lg.load(tmp_path / "words.model").predict_proba(WORDS[200:])
    assert_allclose(again, classifier.predict_proba(WORDS[200:]), atol=1e-6)


def test_many_columns_take_memory_of_the_filled_cells() -> None:
    """A dense array of these rows would take 1.6 GB."""
    generator = np.random.default_rng(0)
    n, d = 2000, 100_000
    own = np.arange(n)[:, None] % 2 + 2 * generator.integers(0, 500, (n, 10))
    cells = np.hstack([own, generator.integers(0, d, (n, 10))])
    X = sp.csr_array((np.ones(20 * n), (np.repeat(np.arange(n), 20), cells.ravel())), shape=(n, d))
    y = np.where(np.arange(n) < 40, np.arange(n) % 2, -1)
    classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    assert (classifier.transduction_ == np.arange(n) % 2).mean() > 0.9


@pytest.mark.parametrize("name", ["ego", "joint", "near"])
def test_a_new_row_solves_its_equation_of_the_fitted_filter(name: str) -> None:
    """Products, dense rows and norms of new rows agree, and fitted rows solve the equation."""
    nodes = NodeGraph.fit(None, WORDS[:200])
    rows = nodes.new_rows(WORDS[200:])[name]
    w = np.random.default_rng(0).normal(size=(rows.shape[1], 2))
    assert_allclose(rows @ w, rows.dense() @ w, atol=1e-4)
    norms = np.sqrt(rows.squared_norms())
    assert_allclose(norms, np.linalg.norm(rows.dense() - rows.centre, axis=1), rtol=0.3)
    if name == "ego":
        return
    smoother, epsilon = nodes.smoother(name), {"joint": 1 / 19, "near": 1 / 9}[name]
    S, F, known = smoother.matrix.toarray(), nodes.features.toarray(), nodes.rows(name).dense()
    assert_allclose((1 + epsilon) * known, S @ known + epsilon * F, atol=0.02)
    assert isinstance(rows, NewRows)
    share, steps = rows._steps()
    assert_allclose(rows.dense(), share * rows.features.toarray() + steps @ known, atol=1e-5)


def test_many_columns_need_neighbours_or_hyperedges() -> None:
    """A Gaussian graph of words is refused; binary rows can be hyperedges."""
    with pytest.raises(ValueError, match="graph: expected 'auto', 'knn' or 'hypergraph'"):
        lg.SpectralGPClassifier(graph="gaussian").fit(WORDS, Y)
    incidence = sp.csr_array((WORDS > 0) * 1.0)
    classifier = lg.SpectralGPClassifier(graph="hypergraph", random_state=0).fit(incidence, Y)
    assert isinstance(classifier.graph_, lg.Hypergraph)

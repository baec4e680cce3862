"""Plots of eigenpairs, classifiers and results."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import lowrankgcn as lg
from lowrankgcn.plotting import (
    plot_confusion,
    plot_embedding,
    plot_filter,
    plot_loss,
    plot_reliability,
    plot_spectrum,
)
from tests.plotting.test_plotting import check_errors, legend, points_by_size, rendered, scattered

CLASSES = ["blue", "green", "red"]


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Points of three classes with labels, "" for unlabelled."""
    points, codes = make_blobs(180, n_features=3, cluster_std=4.0, random_state=0)
    labels = np.full(180, "", dtype=object)
    labels[::6] = np.array(CLASSES, dtype=object)[codes[::6]]
    return points, labels


@pytest.fixture(scope="module")
def process(blobs: tuple[np.ndarray, np.ndarray]) -> lg.SpectralGPClassifier:
    return lg.SpectralGPClassifier(random_state=0).fit(*blobs)


@pytest.fixture(scope="module")
def network(blobs: tuple[np.ndarray, np.ndarray]) -> lg.GCNClassifier:
    return lg.GCNClassifier(max_iter=15, n_restarts=3, random_state=0).fit(*blobs)


def offsets(ax: Axes) -> np.ndarray:
    """All scattered points, sorted."""
    return np.sort(np.concatenate([line.get_xydata() for line in ax.lines]), axis=0)


# --- eigenpairs and classifiers -----------------------------------------------------------------


def test_spectrum_of_eigenpairs_has_their_residuals(network: lg.GCNClassifier) -> None:
    pairs = network.eigenpairs_
    for source in (pairs, network, {"graph": pairs}):
        ax = plot_spectrum(source)
        (right,) = [other for other in ax.figure.axes if other is not ax]
        np.testing.assert_allclose(right.lines[0].get_ydata(), np.maximum(pairs.residuals, 1e-17))
        drawn = np.concatenate([line.get_ydata() for line in ax.lines])
        np.testing.assert_allclose(np.sort(drawn), pairs.eigenvalues)


def test_spectra_of_several_graphs(process: lg.SpectralGPClassifier) -> None:
    ax = plot_spectrum(process)
    assert legend(ax)[:-1] == list(process.graphs_)
    assert legend(ax)[-1] == "zero (component)"
    assert ax.figure.axes == [ax]
    drawn = np.concatenate([line.get_ydata() for line in ax.lines])
    expected = np.concatenate([pairs.eigenvalues for pairs in process.eigenpairs_.values()])
    np.testing.assert_allclose(np.sort(drawn), np.sort(expected))
    looks = {(line.get_color(), line.get_marker()) for line in ax.lines}
    assert len(looks) == len(process.graphs_)
    rendered(ax)


def test_embedding_of_eigenpairs_skips_trivial_ones() -> None:
    chain = np.r_[np.ones(3), 0.0, np.ones(5)]  # paths of four and of six nodes
    two = np.diag(chain, 1) + np.diag(chain, -1)
    with pytest.warns(lg.DisconnectedGraphWarning):
        pairs = lg.eigenpairs(lg.Laplacian(lg.AdjacencyGraph(two)), 6)
    ax = plot_embedding(pairs)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("eigenvector 3", "eigenvector 4")
    np.testing.assert_array_equal(offsets(ax), np.sort(pairs.eigenvectors[:, 2:4], axis=0))
    with pytest.warns(lg.DisconnectedGraphWarning):
        few = lg.eigenpairs(lg.Laplacian(lg.AdjacencyGraph(two)), 2)
    assert plot_embedding(few).get_xlabel() == "eigenvector 1"
    assert plot_embedding(pairs, columns=(0, 1)).get_xlabel() == "eigenvector 1"


def test_embedding_of_classifiers(process: Any, network: Any, blobs: Any) -> None:
    for classifier in (process, network):
        ax = plot_embedding(classifier)
        assert legend(ax) == CLASSES
        assert len(offsets(ax)) == 180
        given_labels = plot_embedding(classifier, blobs[1])
        assert legend(given_labels) == [*CLASSES, "unlabelled"]
    pairs = network.eigenpairs_
    colours = scattered(plot_embedding(network))
    by_class = {
        name: {colours[tuple(map(float, pairs.eigenvectors[i, 1:3]))] for i in members}
        for name, members in (
            (name, np.flatnonzero(network.transduction_ == name)) for name in CLASSES
        )
    }
    assert len(set.union(*by_class.values())) == 3
    assert all(len(colours) == 1 for colours in by_class.values())


def test_embedding_of_a_sample_of_the_rows(blobs: Any) -> None:
    for graph in ("knn", "gaussian"):
        classifier = lg.SpectralGPClassifier(graph=graph, fit_rows=90, random_state=0)
        classifier.fit(*blobs)
        assert len(offsets(plot_embedding(classifier))) == 90
        ax = plot_embedding(classifier, blobs[1])  # all labelled rows belong to the sample
        assert [len(points) for points in points_by_size(ax).values()] == [60, 30]
        with pytest.raises(ValueError, match=r"^labels: expected an array of shape \(180\)"):
            plot_embedding(classifier, blobs[1][:90])


def test_filters_of_classifiers(process: Any, network: Any) -> None:
    assert legend(plot_filter(process)) == [name.replace("-", " ") for name in process.filter_]
    ax = plot_filter(network)
    assert legend(ax)[0].startswith("regularized-inverse (epsilon=")
    assert ax.get_xlim()[1] == pytest.approx(1.02 * network.eigenpairs_.eigenvalues.max())
    # Other eigenvalues and a rank can be given.
    assert plot_filter(network, [0.0, 1.0], rank=1).get_ylabel() == "response φ(λ) at rank 1"


def test_classifiers_from_files(process: Any, network: Any, tmp_path: Path) -> None:
    lg.save(process, tmp_path / "process")
    lg.save(network, tmp_path / "network")
    loaded, other = lg.load(tmp_path / "process"), lg.load(tmp_path / "network")
    assert legend(plot_filter(loaded)) == legend(plot_filter(process))
    assert legend(plot_reliability(loaded)) == legend(plot_reliability(process))
    assert len(plot_loss(other).lines) == 3
    for plot, source, argument in (
        (plot_spectrum, loaded, "eigenvalues"),
        (plot_spectrum, other, "eigenvalues"),
        (plot_embedding, loaded, "eigenvectors"),
        (plot_filter, other, "filters"),
    ):
        with pytest.raises(ValueError, match=rf"^{argument}: expected .*Classifier without "):
            plot(source)


def test_unfitted_and_unsuitable_classifiers(process: Any, network: Any) -> None:
    for plot in (plot_embedding, plot_reliability, plot_confusion, plot_loss, plot_spectrum):
        with pytest.raises(NotFittedError):
            plot(lg.SpectralGPClassifier())
    with pytest.raises(NotFittedError):
        plot_filter(lg.GCNClassifier())
    theirs = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    for plot, source in (
        (plot_reliability, network),
        (plot_confusion, network),
        (plot_loss, process),
        (plot_embedding, theirs),
        (plot_spectrum, theirs),
        (plot_filter, theirs),
    ):
        with pytest.raises(ValueError, match=r"^\w+: expected .* without \w+_$"):
            plot(source)
    with pytest.raises(ValueError, match=r"^residuals: expected None, because eigenpairs"):
        plot_spectrum(network, residuals=[1.0])
    with pytest.raises(ValueError, match=r"^eigenvalues: expected an array, eigenpairs"):
        plot_spectrum({})


# --- reliability --------------------------------------------------------------------------------


def bins_of(ax: Axes) -> list[tuple[float, float, float, float]]:
    """Mean probability, accuracy and interval of each bin."""
    (bars,) = ax.collections
    points = ax.lines[0].get_xydata()
    return [(*point, *bar[:, 1]) for point, bar in zip(points, bars.get_segments(), strict=True)]


def test_reliability_by_hand() -> None:
    # Ten rows at 0.6 of which five are right, ten at 0.9 of which nine are.
    certain = np.repeat([0.6, 0.9], 10)
    truth = np.array([0] * 5 + [1] * 5 + [0] * 9 + [1])
    ax = plot_reliability(np.column_stack([certain, 1 - certain]), truth)
    (low, high) = bins_of(ax)
    assert low[:2] == pytest.approx((0.6, 0.5))
    assert high[:2] == pytest.approx((0.9, 0.9))
    # Clopper-Pearson: 5 of 10 and 9 of 10 at 90 %.
    assert low[2:] == pytest.approx((0.2224411, 0.7775589), abs=1e-6)
    assert high[2:] == pytest.approx((0.6058367, 0.9948838), abs=1e-6)
    assert legend(ax) == ["20 rows, 90 % intervals", "calibrated"]
    assert len(bins_of(plot_reliability(np.c_[certain, 1 - certain], truth, bins=1))) == 1


def test_reliability_of_a_classifier_is_by_leave_one_out(process: Any, blobs: Any) -> None:
    shares, labels = process.loo_distributions_, blobs[1]
    known = labels[labels != ""]
    for ax in (
        plot_reliability(process),
        plot_reliability(shares, known),
        plot_reliability(shares, known, classes=process.classes_),
        plot_reliability(process.predict_proba(blobs[0]), labels),  # other probabilities
    ):
        assert legend(ax)[0] == "30 rows, 90 % intervals"
        assert len(bins_of(ax)) == 3
    one, two = bins_of(plot_reliability(process)), bins_of(plot_reliability(shares, known))
    assert one == two
    hits = (shares.argmax(axis=1) == process._model.codes).mean()
    assert np.mean([bin_[1] for bin_ in one]) == pytest.approx(hits)


def test_columns_follow_the_given_classes() -> None:
    shares = [[0.1, 0.9, 0.0], [0.2, 0.8, 0.0]]
    ax = plot_reliability(shares, ["x", "x"], classes=["z", "x", "y"])
    assert bins_of(ax)[0][:2] == pytest.approx((0.85, 1.0))


def test_reliability_explains_bad_arguments(process: Any) -> None:
    shares = [[0.9, 0.1], [0.2, 0.8]]
    calls: list[tuple[dict[str, Any], str]] = [
        ({"truth": None}, "truth: expected an array of shape (2), got shape ()"),
        ({"truth": [0]}, "truth: expected an array of shape (2), got shape (1,)"),
        ({"truth": [-1, -1]}, "truth: expected at least one class, got no label at all"),
        ({"truth": [[0, 1]]}, "truth: expected an array of shape (2), got shape (1, 2)"),
        ({"truth": [0, 0]}, "classes: expected the 2 classes of the columns"),
        ({"classes": [0, 1, 2]}, "classes: expected the 2 classes of the columns"),
        ({"classes": [5, 6]}, "truth: expected classes among [5, 6], got 0"),
        ({"bins": 0}, "bins: expected an integer >= 1, got 0"),
        ({"probabilities": [[2.0, 0.0], [0.0, 1.0]]}, "probabilities: expected numbers in 0..1"),
        ({"probabilities": [0.5, 0.5]}, "probabilities: expected a real numeric array with 2"),
        ({"probabilities": process}, "truth: expected None, because the classifier has its own"),
    ]
    check_errors(plot_reliability, calls, probabilities=shares, truth=[0, 1])


# --- confusion ----------------------------------------------------------------------------------


def counts_of(ax: Axes, n: int) -> np.ndarray:
    """Numbers that are written in the cells."""
    counts = np.zeros((n, n), int)
    for text in ax.texts:
        column, row = map(int, text.get_position())
        counts[row, column] = int(text.get_text())
    return counts


def ticks(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


@settings(max_examples=20)
@given(st.lists(st.tuples(*[st.sampled_from("abcd")] * 2), min_size=1, max_size=40))
def test_confusion_counts_rows(pairs: list[tuple[str, str]]) -> None:
    truth, predicted = map(list, zip(*pairs, strict=True))
    names = sorted({*truth, *predicted})
    ax = plot_confusion([*truth, ""], [*predicted, "a"])  # the last row is unlabelled
    assert ticks(ax) == names
    expected = [[pairs.count((true, found)) for found in names] for true in names]
    np.testing.assert_array_equal(counts_of(ax, len(names)), expected)


def test_confusion_of_a_classifier(process: Any) -> None:
    ax = plot_confusion(process)
    counts = counts_of(ax, 3)
    assert counts.sum() == 30
    np.testing.assert_array_equal(counts, process.evidence_.confusion)
    assert ticks(ax) == CLASSES
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("label", "prediction by leave-one-out")


def test_confusion_colours_are_shares_of_the_true_class() -> None:
    ax = plot_confusion([0, 0, 0, 0, 1], [0, 0, 0, 1, 1], classes=[1, 0, 7])
    np.testing.assert_allclose(ax.images[0].get_array(), [[1, 0, 0], [0.25, 0.75, 0], [0, 0, 0]])
    assert ticks(ax) == ["1", "0", "7"]
    frame = pd.DataFrame({"t": pd.Categorical(["x", None]), "p": ["x", "y"]})
    assert ticks(plot_confusion(frame["t"], frame["p"])) == ["x"]


@pytest.mark.parametrize(("n_classes", "numbers"), [(2, True), (10, True), (30, False)])
def test_confusion_of_many_classes_is_legible(n_classes: int, numbers: bool) -> None:
    names = np.array([f"a rather long name {k:02d}" for k in range(n_classes)])
    truth = np.repeat(names, 3)
    ax = plot_confusion(truth, np.roll(truth, 1))
    assert bool(ax.texts) == numbers
    assert (len(ax.figure.axes) == 2) != numbers  # a colour bar
    ax.figure.draw_without_rendering()
    for labels, side in ((ax.get_xticklabels(), "x"), (ax.get_yticklabels(), "y")):
        boxes = sorted(
            (getattr(box, f"{side}0"), getattr(box, f"{side}1"))
            for box in (text.get_window_extent() for text in labels)
        )
        assert all(one[1] <= two[0] + 1 for one, two in pairwise(boxes)), side


def test_confusion_explains_bad_arguments(process: Any) -> None:
    calls: list[tuple[dict[str, Any], str]] = [
        ({"predicted": None}, "predicted: expected an array of shape (2), got shape ()"),
        ({"predicted": ["a"]}, "predicted: expected an array of shape (2), got shape (1,)"),
        ({"truth": ["", None]}, "truth: expected at least one class, got no label at all"),
        ({"truth": None}, "truth: expected an array of shape (?), got shape ()"),
        ({"classes": ["a", "a", "b"]}, "classes: expected distinct classes, got ['a', 'a', 'b']"),
        ({"classes": ["a"]}, "truth: expected classes among ['a'], got 'b'"),
        ({"classes": ["b", "c"]}, "truth: expected classes among ['b', 'c'], got 'a'"),
        ({"truth": process}, "predicted: expected None, because the classifier has its own"),
    ]
    check_errors(plot_confusion, calls, truth=["a", "b"], predicted=["a", "a"])


# --- losses -------------------------------------------------------------------------------------


def test_losses_of_restarts_and_the_best_one(network: Any) -> None:
    curve = network.loss_curve_
    for source in (network, curve, SimpleNamespace(loss_curve=curve), curve.tolist()):
        ax = plot_loss(source)
        assert ax.get_yscale() == "log"
        best = int(np.argmin(curve[-1]))
        np.testing.assert_array_equal(ax.lines[-1].get_ydata(), curve[:, best])
        assert ax.lines[-1].get_xdata()[0] == 1
        assert legend(ax) == [f"best restart: {curve[-1, best]:.3g}", "2 other restarts"]
        rendered(ax)


def test_stopped_and_diverged_restarts() -> None:
    nan = np.nan
    ax = plot_loss([[3.0, 2.0, 1.0], [2.0, 0.5, np.inf], [1.0, nan, nan]])
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), [2.0, 0.5, nan])
    assert plot_loss([1.0, -0.5]).get_yscale() == "linear"
    single = plot_loss([1.0])
    assert single.lines[0].get_marker() == "o"
    assert single.get_legend() is None


def test_losses_explain_bad_arguments() -> None:
    for losses in ([], [[]], [np.nan], np.zeros((2, 2, 2)), "loss", None, [[1.0], [2.0, 3.0]], 1.0):
        with pytest.raises(ValueError, match=r"^losses: expected a loss curve of shape"):
            plot_loss(losses)


# --- all ----------------------------------------------------------------------------------------


def test_results_are_drawn_on_given_axes(process: Any, network: Any) -> None:
    for plot, source in (
        (plot_reliability, process),
        (plot_confusion, process),
        (plot_loss, network),
        (plot_spectrum, process),
        (plot_embedding, process),
        (plot_filter, process),
    ):
        ax = Figure(figsize=(3.2, 2.4), layout="constrained").subplots()
        assert plot(source, ax=ax) is ax
        assert rendered(ax).startswith(b"\x89PNG")
        assert ax.get_xlabel() and ax.get_ylabel()

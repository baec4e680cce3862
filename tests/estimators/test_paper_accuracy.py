"""Accuracies of the paper, in its settings: means over 100 restarts, labelled rows not counted.

Points, tables and training nodes are those of the paper. The mean is over the accuracies of single
restarts, not of their ensemble. The classes of the cars are their buying prices, as in the
published labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import check_random_state

import lowrankgcn as lg
from lowrankgcn.exceptions import RankWarning
from lowrankgcn.nn import TrainingRecord, train
from lowrankgcn.spectral.kernel import low_rank_kernels
from tests.conftest import SpiralData

pytestmark = [
    pytest.mark.paper,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::lowrankgcn.exceptions.LabelWarning"),  # buying prices
]

RESTARTS = 100

# Section A4.6, counted from one.
_MUSHROOM_TRAINING = """
    224 610 939 1430 1743 2442 2559 3129 4268 4286
    4354 4713 5602 5615 5845 6434 6486 6744 7515 7954
"""


@dataclass(frozen=True, eq=False)
class Experiment:
    """One line of the paper's tables: the network, its input, and the estimator's arguments."""

    kernel: lg.Kernel
    network: lg.nn.Network
    X: np.ndarray
    rows: Any
    classes: np.ndarray
    index: np.ndarray
    arguments: dict[str, Any]

    def train(self, **options: Any) -> TrainingRecord:
        return train(self.network, self.X, self.index, self.classes[self.index], **options)

    def accuracies(self, record: TrainingRecord) -> np.ndarray:
        """Share of right classes among the unlabelled rows, for each restart."""
        others = np.delete(np.arange(len(self.classes)), self.index)
        found = record.logits(self.network, self.X, rows=others).argmax(dim=2).numpy()
        return np.asarray((found == self.classes[others]).mean(axis=1))


@pytest.fixture(scope="module")
def spiral(spiral_points: SpiralData) -> Experiment:
    points = np.array(spiral_points.points)
    laplacian = lg.Laplacian(lg.GaussianGraph(points, bandwidth=3.5))
    kernel = lg.kernel(laplacian, "pseudoinverse", rank=10)
    network = lg.nn.GCN(kernel, (3, 4, 5))
    index = np.flatnonzero(spiral_points.training)
    arguments = {"rank": 10, "bandwidth": 3.5, "hidden_widths": (4,), "tol": 1e-5}
    return Experiment(kernel, network, points, points, spiral_points.labels - 1, index, arguments)


@pytest.fixture(scope="module")
def cars() -> Experiment:
    data = lg.datasets.load_cars("buying", as_frame=True)
    graph = lg.Hypergraph.from_table(data.data)
    with pytest.warns(RankWarning, match="the rank is 15"):
        kernel = lg.kernel(lg.Laplacian(graph), "pseudoinverse", rank=20)
    return Experiment(
        kernel,
        lg.nn.GCN(kernel, (21, 8, 4)),
        graph.incidence.to_dense(),
        data.data,
        data.target.to_numpy(),
        data.training,
        {"hidden_widths": (8,), "rank": 15},
    )


@pytest.fixture(scope="module")
def mushrooms(mushroom_rows: list[list[str]]) -> Experiment:
    raw = pd.DataFrame(mushroom_rows)
    table = raw.drop(columns=[0, 11]).rename(columns=str)
    graph = lg.Hypergraph.from_table(table)
    kernel = lg.kernel(lg.Laplacian(graph), "pseudoinverse", rank=20)
    index = np.array(_MUSHROOM_TRAINING.split(), int) - 1
    return Experiment(
        kernel,
        lg.nn.ReducedOrderGCN(kernel, (112, 16, 2)),
        graph.incidence.to_dense(),
        table,
        (raw[0] == "e").to_numpy().astype(int),
        index,
        {"architecture": "reduced"},
    )


@pytest.mark.parametrize(
    ("name", "published", "goal"),
    # Mushrooms: other batches of seeds give 91.4 to 91.6 %, other signs more; single and double
    # precision give the same.
    [("spiral", 0.9223, 0.91), ("cars", 0.9890, 0.98), ("mushrooms", 0.9283, 0.915)],
)
def test_mean_accuracy_of_a_hundred_restarts(
    request: pytest.FixtureRequest, name: str, published: float, goal: float
) -> None:
    experiment = request.getfixturevalue(name)
    record = experiment.train(seeds=range(RESTARTS))
    accuracies = experiment.accuracies(record)
    assert len(accuracies) == RESTARTS
    assert not record.diverged.any()
    assert accuracies.mean() >= goal
    assert abs(accuracies.mean() - published) < 0.02


def test_mean_accuracy_over_signs_of_eigenvectors(mushrooms: Experiment) -> None:
    # A reduced network depends on signs that nothing decides: this is what to expect of them.
    generator = np.random.default_rng(0)
    pairs = mushrooms.kernel.eigenpairs
    assert pairs is not None
    means = []
    for _ in range(8):
        signs = generator.choice([-1.0, 1.0], pairs.rank)
        flipped = replace(pairs, eigenvectors=pairs.eigenvectors * signs)
        kernels = low_rank_kernels(mushrooms.kernel.laplacian, [mushrooms.kernel.filter], flipped)
        network = lg.nn.ReducedOrderGCN(kernels, mushrooms.network.widths)
        experiment = replace(mushrooms, network=network)
        means.append(experiment.accuracies(experiment.train(seeds=range(RESTARTS))).mean())
    assert np.mean(means) >= 0.915
    assert np.ptp(means) > 0.01


@pytest.mark.parametrize("name", ["spiral", "cars", "mushrooms"])
def test_paper_preset_equals_direct_training(request: pytest.FixtureRequest, name: str) -> None:
    experiment = request.getfixturevalue(name)
    labels = np.full(len(experiment.classes), -1)
    labels[experiment.index] = experiment.classes[experiment.index]
    classifier = lg.GCNClassifier(
        preset="paper", n_restarts=3, random_state=0, **experiment.arguments
    ).fit(experiment.rows, labels)
    # The estimator draws the seed of its training from `random_state`.
    seed = check_random_state(0).randint(2**31 - 1)
    record = experiment.train(n_restarts=3, random_state=seed)
    assert classifier.loss_curve_.shape == (1000, 3)
    # Eigenpairs of the points are accurate to a tolerance, and a thousand steps spread rounding.
    np.testing.assert_allclose(classifier.loss_curve_[:100], record.loss_curve[:100], rtol=2e-3)
    others = np.delete(np.arange(len(labels)), experiment.index)
    found = (classifier.transduction_ == experiment.classes)[others].mean()
    assert found >= experiment.accuracies(record).min() - 0.01

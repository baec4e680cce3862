"""
Eigenvector signs and R-GCN
===========================

An eigenvector can be multiplied by −1. GCN and L-GCN do not depend on this choice, but
R-GCN does.
"""

# %%
# The kernel :math:`U \varphi(\Lambda) U^T` of a GCN does not change if a column of U
# changes its sign, or if the columns of a multiple eigenvalue are rotated. An R-GCN
# applies its activation to the coefficients :math:`U^T X`. The activation ReLU is zero
# for negative numbers, so the network changes with the signs.
#
# Two examples show the effect. On the spiral, eigenvalues are simple and the signs of
# ten eigenvectors are drawn at random. In the table of cars, one eigenvalue has the
# multiplicity 15, and its eigenvectors are rotated at random. Networks start from the
# same weights every time.

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import ortho_group

import lowrankgcn as lg
from lowrankgcn.spectral.kernel import low_rank_kernels


def accuracies(network_type, kernel, changes, dataset, X, hidden):
    """Return the accuracy in per cent, a mean over five starts, for each change."""
    truth, labelled = np.asarray(dataset.target), dataset.training
    others = np.setdiff1d(np.arange(len(truth)), labelled)
    results = []
    for change in changes:
        vectors = kernel.eigenpairs.eigenvectors @ change
        pairs = replace(kernel.eigenpairs, eigenvectors=vectors)
        (changed,) = low_rank_kernels(kernel.laplacian, [kernel.filter], pairs)
        network = network_type(changed, (X.shape[1], hidden, len(dataset.target_names)))
        record = lg.nn.train(network, X, labelled, truth[labelled], n_restarts=5)
        predicted = record.logits(network, X, rows=others).argmax(dim=2).numpy()
        results.append(100 * (predicted == truth[others]).mean())
    return results


spiral = lg.datasets.load_spiral(200, random_state=0)
points = lg.GaussianGraph(spiral.data, bandwidth=3.5)
of_points = lg.kernel(lg.Laplacian(points), "pseudoinverse", rank=10)
generator = np.random.default_rng(0)
signs = [np.diag(generator.choice([-1, 1], 10)) for _ in range(12)]

cars = lg.datasets.load_cars("buying", as_frame=True)
table = lg.Hypergraph.from_table(cars.data)
of_table = lg.kernel(lg.Laplacian(table), "pseudoinverse", rank=15)
rotations = [ortho_group.rvs(15, random_state=seed) for seed in range(12)]

shown = {}
for name, kind in {"L-GCN": lg.nn.GCN, "R-GCN": lg.nn.ReducedOrderGCN}.items():
    values = accuracies(kind, of_points, signs, spiral, spiral.data, 4)
    shown[f"{name}, signs\n(spiral)"] = values
    values = accuracies(kind, of_table, rotations, cars, table.incidence.to_dense(), 8)
    shown[f"{name}, rotations\n(cars)"] = values

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
for height, (name, values) in enumerate(shown.items()):
    colour = "#0072B2" if name.startswith("L") else "#D55E00"
    ax.plot(values, np.full(12, height), "o", color=colour, alpha=0.5, markersize=9)
ax.set_yticks(range(4), list(shown))
ax.invert_yaxis()
ax.set(xlabel="accuracy for 12 choices of eigenvectors, %", ylim=(3.5, -0.5))
fig.suptitle("Only R-GCN depends on the choice of eigenvectors")
plt.show()

# %%
# A published accuracy of an R-GCN therefore holds for one choice of eigenvectors only.
# :func:`~lowrankgcn.eigenpairs` makes this choice by a rule, so that results can be
# repeated: the entry of largest magnitude is positive.
# :class:`~lowrankgcn.GCNClassifier` uses the sign of the overlap with the features
# instead.

for name, values in shown.items():
    print(f"{name.replace(chr(10), ' ')}: {min(values):.1f} to {max(values):.1f} %")

"""
The method at a glance
======================

Rows become nodes of a graph, a few eigenvectors describe the graph, and with these a
few labels classify all rows.
"""

# %%
# The table has 300 rows and two columns, the coordinates of points on two moons. Three
# rows of each class have a label. :class:`~lowrankgcn.GaussianGraph` joins every pair
# of rows with a weight that decreases with their distance.
# :func:`~lowrankgcn.eigenpairs` computes the smoothest eigenvectors of its
# :class:`~lowrankgcn.Laplacian`: neighbours have similar values, and the first ones
# separate the moons. Six labels are then sufficient for
# :class:`~lowrankgcn.SpectralGPClassifier`.

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyBboxPatch
from sklearn.datasets import make_moons

import lowrankgcn as lg

X, truth = make_moons(300, noise=0.07, random_state=0)
y = np.full(300, -1)
for label in (0, 1):
    members = np.flatnonzero(truth == label)
    y[members[np.argsort(X[members, 0])[[15, 75, 135]]]] = label

graph = lg.GaussianGraph(X, bandwidth=0.2)
pairs = lg.eigenpairs(lg.Laplacian(graph), 4)
classifier = lg.SpectralGPClassifier(random_state=0).fit(graph, y)
accuracy = (classifier.transduction_ == truth)[y == -1].mean()
print(f"{accuracy:.1%} of the other rows are correct")

# %%
# The picture shows the four steps. A line joins two rows if their weight is above 0.5.
# Eigenvectors are drawn from orange (negative) through grey (zero) to blue (positive).

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#B0B0B0"
colours = np.array([BLUE, ORANGE, GREY])  # grey for rows without a label
fig, axes = plt.subplots(1, 4, figsize=(10, 3.2), facecolor="none")
fig.subplots_adjust(left=0.03, right=0.98, bottom=0.05, top=0.8, wspace=0.2)
shape = {"boxstyle": "round,pad=-0.005,rounding_size=0.02", "mutation_aspect": 10 / 3.2}
card = FancyBboxPatch((0, 0), 1, 1, fc="white", ec="#C8C8C8", zorder=-1, **shape)
fig.add_artist(card)
for ax, title in zip(axes, ("Table", "Graph", "Eigenvectors", "Classes"), strict=True):
    ax.set_title(title, fontsize=20, weight="bold", pad=8)
    ax.set(xlim=(-1.35, 2.35), ylim=(-1.35, 1.85))
    ax.set_axis_off()
for x in (0.263, 0.508, 0.753):
    fig.text(x, 0.42, "➜", fontsize=24, color="#707070", ha="center", va="center")

middle = {"ha": "center", "va": "center", "fontsize": 16}
shown = [3, *np.flatnonzero(y == 0)[:1], 7, *np.flatnonzero(y == 1)[:1], 11]
for x, name in zip((-0.8, 0.4, 1.7), ("x", "y", "class"), strict=True):
    axes[0].text(x, 1.5, name, **middle)
for height, row in zip(np.linspace(0.95, -1.05, 5), shown, strict=True):
    axes[0].axhline(height + 0.27, color=GREY, linewidth=1)
    for x, value in zip((-0.8, 0.4), X[row], strict=True):
        axes[0].text(x, height, f"{value:.1f}".replace("-", "−"), **middle)
    mark = "?" if y[row] == -1 else "●"
    axes[0].text(1.7, height, mark, color=colours[y[row]], **middle)

weights = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / graph.bandwidth**2)
lines = X[np.argwhere(np.triu(weights > 0.5, 1))]
axes[1].add_collection(LineCollection(lines, colors=GREY, linewidths=0.5))
axes[1].scatter(*X.T, s=4, c="#606060")
axes[3].scatter(*X.T, s=12, c=colours[classifier.transduction_], linewidths=0)
large = {"s": 90, "c": colours[y[y >= 0]], "edgecolors": "white", "zorder": 3}
for ax in axes[[1, 3]]:
    ax.scatter(*X[y >= 0].T, **large)

diverging = LinearSegmentedColormap.from_list("signs", [ORANGE, "#D8D8D8", BLUE])
for vector, height in zip(pairs.eigenvectors.T[1:], (1.1, 0.05, -1.0), strict=True):
    limit = np.abs(vector).max()
    style = {"s": 6, "cmap": diverging, "vmin": -limit, "vmax": limit, "linewidths": 0}
    axes[2].scatter(0.6 * X[:, 0] + 0.2, 0.5 * X[:, 1] + height, c=vector, **style)

if len(sys.argv) > 1:  # the home page shows this picture
    fig.savefig(sys.argv[1], dpi=160, pil_kwargs={"lossless": True})
plt.show()

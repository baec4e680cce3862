"""
A learned filter on three tables
================================

:class:`~lowrankgcn.SpectralGPClassifier` does not need a choice of filter: it learns
one for each of its graphs from the labelled rows.
"""

# %%
# The classifier is fitted to three tables with ten labels per class. Its attribute
# ``filter_`` contains the learned response for each graph.
# :func:`~lowrankgcn.plotting.plot_filter` draws those of the graphs of nearest
# neighbours.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

import lowrankgcn as lg

learned = {}
generator = np.random.default_rng(0)
for name, load in {"iris": load_iris, "wine": load_wine, "digits": load_digits}.items():
    X, truth = load(return_X_y=True)
    y = np.full(len(truth), -1)
    for label in np.unique(truth):
        rows = generator.choice(np.flatnonzero(truth == label), 10, replace=False)
        y[rows] = label
    classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    learned[name] = classifier.filter_["neighbours"]
    accuracy = (classifier.transduction_ == truth)[y == -1].mean()
    print(f"{name}: {accuracy:.1%} of the other rows are correct")

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
lg.plotting.plot_filter(learned, ax=ax)
fig.suptitle("Small eigenvalues have the largest response")
plt.show()

# %%
# The spectra differ, so the number of eigenvectors shows more. For three classes of
# flowers or wines, the response falls after a few eigenvectors. For ten digits, it
# stays high for twenty. The steps are those of the blocks, which contain the first 6,
# 20 and 60 eigenvectors.

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
for (name, learnt), style in zip(learned.items(), ("-", "--", "-."), strict=True):
    response = learnt.response / learnt.response.max()
    colour = {"iris": "#0072B2", "wine": "#D55E00", "digits": "#009E73"}[name]
    ax.plot(np.arange(1, len(response) + 1), response, style, color=colour, label=name)
ax.set(xlabel="eigenvector", ylabel="learned response φ(λ) / max φ", ylim=(0, 1.05))
ax.legend(frameon=False)
fig.suptitle("Ten classes need more eigenvectors than three")
plt.show()
# sphinx_gallery_thumbnail_number = 2

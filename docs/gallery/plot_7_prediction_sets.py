"""
Conformal prediction sets
=========================

:meth:`~lowrankgcn.SpectralGPClassifier.prediction_sets` returns a set of classes for
each row. On average, the sets contain the true class with the given probability.
"""

# %%
# The table of cars has four classes of acceptability, two of them rare. Eighty random
# rows have a label. The classifier is fitted to ten such draws, and its sets for the
# other rows are compared with their true classes. A class without a label is in no set
# and counts as an error.

import matplotlib.pyplot as plt
import numpy as np

import lowrankgcn as lg

cars = lg.datasets.load_cars(as_frame=True)
truth = cars.target.to_numpy()
levels = np.array([0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95])
coverage, sizes, accuracy = [], [], []
for seed in range(10):
    y = np.full(len(truth), -1)
    rows = np.random.default_rng(seed).choice(len(truth), 80, replace=False)
    y[rows] = truth[rows]
    classifier = lg.SpectralGPClassifier(random_state=0).fit(cars.data, y)
    accuracy.append((classifier.transduction_ == truth)[y == -1].mean())
    for level in levels:
        sets = np.zeros((len(truth), 4), dtype=bool)
        sets[:, classifier.classes_] = classifier.prediction_sets(level=level)
        coverage.append(sets[np.arange(len(truth)), truth][y == -1].mean())
        sizes.append(np.bincount(sets[y == -1].sum(axis=1), minlength=5)[1:])
coverage = 100 * np.reshape(coverage, (10, 7))
shares = np.reshape(sizes, (10, 7, 4)).mean(axis=0) * 100 / (y == -1).sum()
accuracy = 100 * np.mean(accuracy)
print(f"accuracy {accuracy:.1f} %, coverage at level 0.9 {coverage[:, 5].mean():.1f} %")

# %%
# No set is empty. Sets of one class have the accuracy of the classifier, so that the
# coverage is never below it. Above it, the mean coverage follows the level. A single
# draw can be several points away, because eighty labels determine the sets.

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
ax.plot([50, 95], [50, 95], color="#707070", linestyle="--", label="coverage = level")
ax.plot(100 * levels, coverage.T, color="#0072B2", linewidth=0.8, alpha=0.4)
mean = coverage.mean(axis=0)
ax.plot(100 * levels, mean, "o-", color="#0072B2", label="mean of ten draws")
ax.axhline(accuracy, color="#D55E00", linestyle=":", label="accuracy")
ax.set(xlabel="level, %", ylabel="sets with the true class, %")
ax.legend(frameon=False, loc="upper left")
fig.suptitle("Above the accuracy, the coverage follows the level")
plt.show()

# %%
# A higher level costs larger sets.

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
colours = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00")
names = ("1 class", "2 classes", "3 classes", "4 classes")
places = np.arange(len(levels))
bottom = np.zeros(len(levels))
for share, colour, name in zip(shares.T, colours, names, strict=True):
    ax.bar(places, share, bottom=bottom, color=colour, label=name)
    bottom += share
ax.set_xticks(places, [f"{100 * level:.0f}" for level in levels])
ax.set(xlabel="level, %", ylabel="share of the rows, %")
fig.legend(loc="outside lower center", ncols=4, frameon=False, columnspacing=1)
fig.suptitle("Sets grow with the level")
plt.show()

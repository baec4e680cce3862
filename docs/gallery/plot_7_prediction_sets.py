"""
Conformal prediction sets
=========================

:meth:`~lowrankgcn.SpectralGPClassifier.prediction_sets` returns a set of classes for each row.
The sets contain the true class with the probability that is asked for.
"""

# %%
# The table of cars has four classes of acceptability, two of them rare. Eighty random rows have a
# label. The classifier is fitted to ten such draws, and its sets for the other rows are compared
# with their true classes. A class without a label is in no set and counts as an error.

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
    sets = np.zeros((len(levels), len(truth), 4), dtype=bool)
    for level, members in zip(levels, sets, strict=True):
        members[:, classifier.classes_] = classifier.prediction_sets(level=level)
    coverage.append(sets[:, np.arange(len(truth)), truth][:, y == -1].mean(axis=1))
    sizes.append([(sets.sum(axis=2)[:, y == -1] == size).mean(axis=1) for size in (1, 2, 3, 4)])
print(f"accuracy {np.mean(accuracy):.1%}, coverage at level 0.9 {np.mean(coverage, axis=0)[5]:.1%}")

# %%
# No set is empty. Sets of one class have the accuracy of the classifier, so that the coverage is
# never below it. Above it, the mean coverage follows the level. A single draw can be several
# points away, because eighty labels determine the sets.

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
ax.plot([50, 95], [50, 95], color="#707070", linestyle="--", label="coverage = level")
ax.plot(100 * levels, 100 * np.transpose(coverage), color="#0072B2", linewidth=0.8, alpha=0.4)
mean = 100 * np.mean(coverage, axis=0)
ax.plot(100 * levels, mean, "o-", color="#0072B2", linewidth=2, label="mean of ten draws")
ax.axhline(100 * np.mean(accuracy), color="#D55E00", linestyle=":", label="accuracy")
ax.set(xlabel="level, %", ylabel="sets with the true class, %")
ax.legend(frameon=False, loc="upper left")
fig.suptitle("Above the accuracy, the coverage follows the level")
plt.show()

# %%
# A higher level costs larger sets.

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
colours = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00")
bottom = np.zeros(len(levels))
spacing = {"fontsize": "small", "handlelength": 1, "columnspacing": 1.2}
for size, (share, colour) in enumerate(zip(np.mean(sizes, axis=0), colours, strict=True), start=1):
    name = "1 class" if size == 1 else f"{size} classes"
    ax.bar(
        [f"{level:.0%}" for level in levels],
        100 * share,
        0.8,
        100 * bottom,
        color=colour,
        label=name,
    )
    bottom += share
ax.set(xlabel="level", ylabel="share of the rows, %")
ax.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), **spacing)
fig.suptitle("Sets grow with the level")
plt.show()

"""
When to stop labelling
======================

After each round of labels, :class:`~lowrankgcn.SpectralGPClassifier` estimates its
accuracy on the other rows, with an interval. Stop when the interval is good enough.
"""

# %%
# Six hundred handwritten digits get labels in rounds of fifteen random rows. After each
# round, ``loo_accuracy_`` and ``loo_interval_`` say how accurate the predictions are.
# The true accuracy is known here, so that both can be compared; you would not know it.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import lowrankgcn as lg

GOAL = 0.8
digits, classes = load_digits(return_X_y=True)
chosen = np.random.default_rng(0).permutation(len(digits))[:600]
X, truth = digits[chosen], classes[chosen]
counts = np.arange(30, 151, 15)
estimates, lower, upper, actual = [], [], [], []
for count in counts:
    y = np.where(np.arange(600) < count, truth, -1)  # the rows are in random order
    classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    low, high = classifier.loo_interval_
    estimates.append(classifier.loo_accuracy_)
    lower.append(low)
    upper.append(high)
    actual.append((classifier.transduction_ == truth)[y == -1].mean())

# %%
# The rule is simple: stop when the lower end of the interval reaches the goal. An
# estimate that has reached it may still be too high by chance.

stop = counts[np.argmax(np.array(lower) >= GOAL)] if max(lower) >= GOAL else None
print(f"stop after {stop} labels" if stop else "label more rows")

fig, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
ax.fill_between(
    counts, 100 * np.array(lower), 100 * np.array(upper), color="#0072B2", alpha=0.15
)
ax.plot(
    counts,
    100 * np.array(estimates),
    "o-",
    color="#0072B2",
    label="estimate and 90 % interval",
)
ax.plot(counts, 100 * np.array(actual), "s--", color="#D55E00", label="true accuracy")
ax.axhline(100 * GOAL, color="0.5", linewidth=0.8)
if stop:
    ax.axvline(stop, color="0.5", linewidth=0.8, linestyle=":")
ax.set(xlabel="number of labels", ylabel="accuracy, %")
ax.legend(frameon=False, loc="lower right")
fig.suptitle("Stop when the interval is above the goal")
plt.show()

# %%
# Suggested rows are more difficult than the others, so an estimate from them alone is
# less reliable. The studio therefore mixes in random rows, and its curve uses those.

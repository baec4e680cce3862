"""The oracle for Gaussian process classification: every definition as loops over dense arrays.

Nothing of the package is imported, and nothing is clever: leave-one-out predictions come from fits
without the row, shares of trees from counting trees, and covariances from inverse matrices.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Array = NDArray[np.float64]
Cells = Sequence[Any]  # Python values, None where missing

CONSTANT = 10.0  # prior variance of the constant


# --- the process ------------------------------------------------------------------------------


def exact_scores(process: Any, views: Any) -> Array:
    """Return k(x, ·) α for rows with these views, by the kernel of the process."""
    scores: Array = process.kernel(process.represent(views), process.labelled) @ process.alpha
    return scores


def softmax(scores: Sequence[float]) -> Array:
    """Return exp(s_c) / Σ exp(s)."""
    odds = np.array([math.exp(score - max(scores)) for score in scores])
    return odds / odds.sum()


def targets(classes: Sequence[int], n_classes: int) -> Array:
    """Return onehot − 1/C."""
    return np.array(
        [[(own == c) - 1 / n_classes for c in range(n_classes)] for own in classes], dtype=float
    )


def covariance(kernels: Sequence[Array], amplitudes: Sequence[float]) -> Array:
    """Return G = c 11ᵀ + I + Σ a_b K_b."""
    G = CONSTANT + np.eye(len(kernels[0]))
    for kernel, amplitude in zip(kernels, amplitudes, strict=True):
        G = G + amplitude * kernel
    return G


def held_out_scores(G: Array, Y: Array, rows: Array | None = None) -> Array:
    """Predict every row by a fit without it; `rows` are the covariances used to predict, or G."""
    rows, result = G if rows is None else rows, np.empty_like(Y)
    for i in range(len(Y)):
        rest = [j for j in range(len(Y)) if j != i]
        alpha = np.linalg.solve(G[np.ix_(rest, rest)], Y[rest])
        result[i] = rows[i, rest] @ alpha
    return result


def inducing_coefficients(K: Array, Y: Array, chosen: Sequence[int], rows: Sequence[int]) -> Array:
    """Regress `rows` on the kernels of chosen ones: (K_ZZ + K_ZX K_XZ)⁻¹ K_ZX Y."""
    Z, X = list(chosen), list(rows)
    products = K[np.ix_(Z, X)]
    return np.linalg.solve(K[np.ix_(Z, Z)] + products @ products.T, products @ Y[X])


def novelty(variance: float, k: Array, G: Array) -> float:
    """Return the variance of a row given others with covariances k, over k(x, x) − c + 1."""
    left = variance - k @ np.linalg.inv(G) @ k
    return float(left / (variance - CONSTANT + 1))


def held_out_loss(G: Array, classes: Sequence[int], n_classes: int, temperature: float) -> float:
    """Return the cross-entropy of the predictions by fits without the row, summed."""
    scores = held_out_scores(G, targets(classes, n_classes))
    shares = [softmax(temperature * own) for own in scores]
    return -sum(math.log(own[c]) for own, c in zip(shares, classes, strict=True))


def penalised_loss(
    z: Array,
    kernels: Sequence[Array],
    classes: Sequence[int],
    n_classes: int,
    log_amplitudes: Array,
    log_temperature: float,
) -> float:
    """Return the loss at log a_b = μ_b + 1.5 z₀ + z_b, log T = μ_T + 0.5 z_T, plus |z|²/2."""
    logs = [m + 1.5 * z[0] + own for m, own in zip(log_amplitudes, z[1:-1], strict=True)]
    amplitudes = [math.exp(min(max(log, -10.0), 6.0)) for log in logs]
    temperature = math.exp(log_temperature + 0.5 * z[-1])
    G = covariance(kernels, amplitudes)
    return held_out_loss(G, classes, n_classes, temperature) + float(z @ z) / 2


# --- columns ----------------------------------------------------------------------------------


def _present(cells: Cells) -> list[Fraction]:
    return [Fraction(cell) for cell in cells if cell is not None]


def _median(cells: Cells) -> Fraction:
    ordered, half = sorted(_present(cells)), len(_present(cells)) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _filled(cells: Cells, median: Fraction) -> list[Fraction]:
    return [median if cell is None else Fraction(cell) for cell in cells]


def moments(cells: Cells) -> tuple[Fraction, Fraction]:
    """Return mean and variance of a column, missing numbers replaced by the median."""
    filled = _filled(cells, _median(cells))
    mean = sum(filled) / len(filled)
    return mean, sum((x - mean) ** 2 for x in filled) / len(filled)


def standard_scores(fitted: Cells, cells: Cells) -> Array:
    """Return (x − mean) / deviation, clipped to ±5."""
    mean, variance = moments(fitted)
    scores = []
    for x in _filled(cells, _median(fitted)):
        size = math.sqrt(min((x - mean) ** 2 / variance, Fraction(25)))
        scores.append(size if x > mean else -size)
    return np.array(scores)


def coordinate_scores(fitted: Sequence[Cells], columns: Sequence[Cells]) -> list[Array] | None:
    """Return (x − mean) / (mean deviation of all columns), clipped to ±5.

    None if there are not two or three columns, or their deviations differ by a factor above 2.5.
    """
    variances = [moments(cells)[1] for cells in fitted]
    if len(fitted) not in (2, 3) or max(variances) > Fraction(25, 4) * min(variances):
        return None
    largest = max(variances)
    unit = np.mean([math.sqrt(variance / largest) for variance in variances])
    result = []
    for known, cells in zip(fitted, columns, strict=True):
        mean, median = moments(known)[0], _median(known)
        sizes = [math.sqrt(min((x - mean) ** 2 / largest, 100)) for x in _filled(cells, median)]
        above = [x > mean for x in _filled(cells, median)]
        result.append(np.clip(np.where(above, sizes, np.negative(sizes)) / unit, -5, 5))
    return result


def standard_ranks(fitted: Cells, cells: Cells) -> Array:
    """Return mean ranks in units of their deviation, linear between fitted numbers."""
    known = _filled(fitted, _median(fitted))
    unit = max(map(abs, known))
    numbers = np.array([float(x / unit) for x in known])
    ranks = rankdata(numbers)
    ranks = (ranks - ranks.mean()) / ranks.std()
    order = np.argsort(numbers, kind="stable")
    asked = [float(x / unit) for x in _filled(cells, _median(fitted))]
    return np.interp(asked, numbers[order], ranks[order])


def indicator(fitted: Cells, cells: Cells, value: Any) -> Array:
    """Return 1 for the rows with a value (None: a missing one) and 0 for others, centred."""
    share = Counter(fitted)[value] / len(fitted)
    return np.array([(cell == value) - share for cell in cells], dtype=float)


def column_weights(rows: Array, classes: Sequence[int], owners: Sequence[int]) -> Array:
    """Return 1 − (variance within classes) / (variance) of each column, not below zero."""
    m, n_classes = len(classes), len(set(classes))
    weights = []
    for owner in range(max(owners) + 1):
        total = within = 0.0
        for column in (rows[:, j] for j in range(rows.shape[1]) if owners[j] == owner):
            for i in range(m):
                alike = [column[j] for j in range(m) if classes[j] == classes[i]]
                total += (column[i] - column.mean()) ** 2 / max(1, m - 1)
                within += (column[i] - np.mean(alike)) ** 2 / max(1, m - n_classes)
        weights.append(max(0.0, 1 - within / total) if total > 1e-12 else 0.0)
    return np.array(weights)


# --- forests ----------------------------------------------------------------------------------


def leaf_kernel(leaves: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
    """Return the share of trees in which two rows meet in a leaf; leaves (q, T) per tree."""
    return np.array([[np.mean(a == b) for b in others] for a in leaves])


def out_of_bag_kernel(leaves: NDArray[np.int64], bags: NDArray[np.bool_]) -> Array:
    """Return the same shares by the trees whose bag does not contain the first row, if any."""
    result = np.empty((len(leaves), len(leaves)))
    for i, own in enumerate(leaves):
        trees = [t for t in range(leaves.shape[1]) if not bags[i, t]] or range(leaves.shape[1])
        for j, other in enumerate(leaves):
            result[i, j] = np.mean([own[t] == other[t] for t in trees])
    return result


# --- read-outs --------------------------------------------------------------------------------


def drawn_by_class(counts: Sequence[int]) -> float:
    """Return the probability of a number for each class, by Bayes' rule from both likelihoods."""
    m, n_classes = sum(counts), len(counts)
    orders = math.factorial(m) / math.prod(math.factorial(n) for n in counts)
    sample = (orders / n_classes**m + 1 / math.comb(m + n_classes - 1, n_classes - 1)) / 2
    design = 0.0
    for a in range(1, max(counts) + 1):
        few, more = sum(n < a for n in counts), sum(n == a + 1 for n in counts)
        if max(counts) > a + 1 or few + more == n_classes:
            continue
        rare = 5 * math.gamma(few + 1) * math.gamma(n_classes - few + 5)
        rare /= math.gamma(n_classes + 6) * a**few
        others = n_classes - few
        one_more = 0.3 / ((others - 1) * math.comb(others, more)) if more else 0.7
        design += rare * one_more * m / a
    return design / (design + sample)


def share_factors(distributions: Array, classes: Sequence[int]) -> Array:
    """Return the factors of the class shares.

    Of labels that were drawn class by class: 30 steps of EM, shrunk, and applied if clear; classes
    with fewer labels gain nothing. Of a sample: a power of the smoothed shares of the labels.
    """
    n_classes, m = distributions.shape[1], len(classes)
    counts = [list(classes).count(c) for c in range(n_classes)]
    most = max(counts)
    close = [max(0.0, 1 - (most - count) / (1 + math.sqrt(most))) for count in counts]
    even = drawn_by_class(counts)
    smoothed = [n_classes * (count + 1) / (m + n_classes) for count in counts]
    power = 0.0 if m >= 10 * n_classes else 20 / m**3 * (1 - even)
    of_labels = np.array([p**power for p in smoothed])
    known = np.array(counts) / m
    shares = known
    for _ in range(30):
        posterior = []
        for own in distributions:
            odds = own * shares / known
            posterior.append(odds / odds.sum())
        shares = (np.mean(posterior, axis=0) + 0.3 * known) / 1.3
        short = [part < 0.5 for part in close]
        limited = [min(s, k) for s, k, few in zip(shares, known, short, strict=True) if few]
        rest = sum(s for s, few in zip(shares, short, strict=True) if not few)
        shares = [s * (1 - sum(limited)) / rest for s in shares]
        for c in np.flatnonzero(short):
            shares[c] = limited.pop(0)
    divergence = sum(s * math.log(s / k) for s, k in zip(shares, known, strict=True))
    return of_labels * (shares / known) ** (even * divergence**2 / (divergence**2 + 0.01))


def conformal_sets(
    distributions: Array, held_out: Array, classes: Sequence[int], level: float
) -> list[set[int]]:
    """Return the classes whose 1 − p at most a share of about `level` of labelled rows exceed."""
    scores = sorted(1 - own[c] for own, c in zip(held_out, classes, strict=True))
    place = math.ceil((len(scores) + 1) * level)
    limit = scores[place - 1] if place <= len(scores) else math.inf
    sets = []
    for own in distributions:
        chosen = {c for c, p in enumerate(own) if 1 - p <= limit + 1e-12}
        sets.append(chosen | {int(np.argmax(own))})
    return sets


def greedy_rows(
    K: Array, labelled: Sequence[int], weights: Array, candidates: Sequence[int], k: int
) -> list[int]:
    """Choose rows one by one so that each row is like a chosen or labelled one.

    K (n, n) is the covariance of all rows, without noise and constant.
    """
    n, chosen = len(K), []

    def coverage(rows: Sequence[int]) -> float:
        alike = [[K[x, c] / math.sqrt(K[x, x] * K[c, c]) for c in rows] for x in range(n)]
        return sum(w * max([0.0, *own]) for w, own in zip(weights, alike, strict=True))

    for _ in range(k):
        left = [c for c in candidates if c not in chosen]
        chosen.append(max(left, key=lambda c: coverage([*labelled, *chosen, c])))
    return chosen


def log_odds(shares: Sequence[float]) -> float:
    """Return the logarithm of the ratio of the two largest shares."""
    first, second = sorted(shares, reverse=True)[:2]
    return math.log(first / second)


def numeric_gradient(function: Callable[[Array], float], x: Array, step: float = 1e-5) -> Array:
    """Return central differences in every coordinate."""
    gradient = np.empty(x.size)
    for j in range(x.size):
        delta = np.zeros(x.size)
        delta[j] = step
        move = delta.reshape(x.shape)
        gradient[j] = (function(x + move) - function(x - move)) / (2 * step)
    return gradient.reshape(x.shape)


# --- contributions of columns -------------------------------------------------------------------


def shapley(value: Callable[[frozenset[int]], float], n_columns: int) -> Array:
    """Return Σ_S |S|! (p − |S| − 1)!/p! (v(S ∪ {i}) − v(S)) over the sets S without column i."""
    result = np.zeros(n_columns)
    for i in range(n_columns):
        others = [j for j in range(n_columns) if j != i]
        for size in range(n_columns):
            weight = 1 / (n_columns * math.comb(n_columns - 1, size))
            for chosen in combinations(others, size):
                S = frozenset(chosen)
                result[i] += weight * (value(S | {i}) - value(S))
    return result

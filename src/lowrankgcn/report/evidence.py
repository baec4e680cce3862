"""Leave-one-out results of a fitted Gaussian process, for terminal, JSON and report."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._format import plural

_DOUBTFUL = 0.75  # leave-one-out probability of another class
_MOST_BINS = 10
_ROWS_OF_A_BIN = 10  # fewer rows show chance more than calibration
_SAME_PROBABILITY = 0.01
_NORMAL_QUANTILE = 1.645  # 90 % of a normal distribution lie within this many deviations


class ReliabilityBin(NamedTuple):
    """Labelled rows with similar leave-one-out probabilities of their predicted class.

    Attributes
    ----------
    probability : float
        Mean probability.
    correct : float
        Share of the rows whose predicted class is their label.
    rows : int
    chance : float
        Half-width of the range around `probability` that contains `correct` in nine of ten cases
        if the probabilities are right.
    """

    probability: float
    correct: float
    rows: int
    chance: float


@final
class Evidence:
    """Leave-one-out results of the labelled rows, and what the predictions depend on.

    Parameters
    ----------
    classifier : SpectralGPClassifier
    codes : (n,) int array
        Labels as positions in ``classes_``, −1 for unlabelled rows.
    importance : bool
        Whether to compute the importance of the columns, which takes a prediction for each.

    Attributes
    ----------
    accuracy, log_loss : float
    interval : (float, float)
        90 % confidence interval of the accuracy.
    largest_class : float
        Share of the most frequent label, the accuracy of always predicting it.
    codes : (m,) int array
        Classes of the labelled rows.
    distributions : (m, C) array
        Their leave-one-out distributions.
    block_shares : mapping from block to float
    importance : mapping from column to float
        The largest first; empty if it was not computed.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> from lowrankgcn.report.evidence import Evidence
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(X, y)
    >>> evidence = Evidence.from_classifier(classifier, y.astype(int))
    >>> evidence.accuracy, evidence.largest_class, evidence.confusion.tolist()
    (1.0, 0.5, [[5, 0], [0, 5]])
    >>> evidence.balanced_accuracy, evidence.f1, [part.rows for part in evidence.reliability]
    (1.0, 1.0, [10])
    """

    def __init__(self, classifier: Any, codes: NDArray[Any], *, importance: bool = False) -> None:
        self.accuracy, self.log_loss = classifier.loo_accuracy_, classifier.loo_log_loss_
        self.interval, self.distributions = classifier.loo_interval_, classifier.loo_distributions_
        self.codes = codes[codes >= 0]
        self.largest_class = float(np.bincount(self.codes).max() / len(self.codes))
        self.block_shares = dict(classifier.block_shares_)
        columns = classifier.column_importance() if importance else {}
        self.importance = {str(name): share for name, share in columns.items()}

    @classmethod
    def from_classifier(
        cls, classifier: Any, codes: NDArray[Any], *, importance: bool = False
    ) -> Evidence | None:
        """Gather the results of a fitted classifier; return None for networks."""
        if not hasattr(classifier, "loo_distributions_"):
            return None
        return cls(classifier, codes, importance=importance)

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Number of rows by label (row) and leave-one-out class (column), shape (C, C)."""
        counts = np.zeros((self.distributions.shape[1],) * 2, np.int64)
        np.add.at(counts, (self.codes, self.distributions.argmax(axis=1)), 1)
        return counts

    @property
    def mistakes(self) -> list[tuple[int, int, int]]:
        """Label, another class and how many rows were taken for it; the most frequent first."""
        wrong = self.confusion
        np.fill_diagonal(wrong, 0)
        pairs = np.argwhere(wrong)
        order = np.argsort(-wrong[tuple(pairs.T)], kind="stable")
        return [(int(own), int(other), int(wrong[own, other])) for own, other in pairs[order]]

    @property
    def doubtful(self) -> list[tuple[int, int]]:
        """Labelled rows that clearly look like another class, and that class; clearest first."""
        other = self.distributions.argmax(axis=1)
        doubt = np.where(other == self.codes, 0.0, self.distributions.max(axis=1))
        order = np.argsort(-doubt, kind="stable")
        return [(int(k), int(other[k])) for k in order if doubt[k] > _DOUBTFUL]

    @property
    def scores(self) -> dict[str, list[float | None]]:
        """Recall, precision and F1 of each class; precision is None if it is never predicted."""
        counts = self.confusion
        found = counts.diagonal().tolist()
        labelled, predicted = counts.sum(axis=1), counts.sum(axis=0)
        totals = {"recall": labelled, "precision": predicted, "f1": (labelled + predicted) / 2}
        return {
            name: [part / n if n else None for part, n in zip(found, own.tolist(), strict=True)]
            for name, own in totals.items()
        }

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes."""
        return _mean(self.scores["recall"])

    @property
    def f1(self) -> float:
        """Mean F1 of the classes (macro)."""
        return _mean(self.scores["f1"])

    @property
    def overconfidence(self) -> float:
        """Mean probability of the predicted classes minus the accuracy."""
        return float(self.distributions.max(axis=1).mean() - self.accuracy)

    @property
    def calibration(self) -> str:
        """A sentence on the difference between probabilities and accuracy."""
        points = round(100 * abs(self.overconfidence))
        if not points:
            return "Probabilities agree with the accuracy on the labelled rows."
        high = "high" if self.overconfidence > 0 else "low"
        text = f"Probabilities are {plural(points, 'point')} too {high} on the labelled rows"
        if abs(self.overconfidence) <= _chance(self.distributions.max(axis=1)):
            rows = plural(len(self.codes), "labelled row")
            return f"{text}, which can be chance with {rows}."
        return f"{text}."

    @property
    def reliability(self) -> list[ReliabilityBin]:
        """Labelled rows by the probability of their predicted class, in ascending order.

        Bins have equal numbers of rows, but neighbours with nearly the same probability are one.
        """
        top = self.distributions.max(axis=1)
        correct = self.distributions.argmax(axis=1) == self.codes
        n_bins = min(max(len(top) // _ROWS_OF_A_BIN, 1), _MOST_BINS)
        groups: list[NDArray[np.intp]] = []
        for rows in np.array_split(np.argsort(top, kind="stable"), n_bins):
            if groups and top[rows].mean() - top[groups[-1]].mean() < _SAME_PROBABILITY:
                groups[-1] = np.concatenate([groups[-1], rows])
            else:
                groups.append(rows)
        return [
            ReliabilityBin(
                float(top[rows].mean()), float(correct[rows].mean()), len(rows), _chance(top[rows])
            )
            for rows in groups
        ]

    @property
    def kinds(self) -> dict[str, float]:
        """Shares of the kinds of blocks, the largest first."""
        shares: dict[str, float] = {}
        for name, share in self.block_shares.items():
            kind = re.sub(r"^weighted-|-(ranks|inverse|\d+)$", "", name).replace("-", " ")
            shares[kind] = shares.get(kind, 0.0) + share
        return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _chance(probabilities: NDArray[np.float64]) -> float:
    """Return the half-width of the 90 % range of the share of correct rows."""
    variance = np.sum(probabilities * (1 - probabilities))
    return float(_NORMAL_QUANTILE * np.sqrt(max(variance, 0.0)) / len(probabilities))


def _mean(scores: list[float | None]) -> float:
    return float(np.mean([score for score in scores if score is not None]))

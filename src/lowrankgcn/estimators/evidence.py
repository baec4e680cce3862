"""Quality of predictions of labelled rows, and what the predictions depend on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from lowrankgcn._format import plural
from lowrankgcn.operators import FloatArray

_DOUBTFUL = 0.75  # leave-one-out probability of another class
_MOST_BINS = 10
_ROWS_OF_A_BIN = 10  # fewer rows show chance more than calibration
_SAME_PROBABILITY = 0.01
_INTERVAL = 0.9
_NORMAL_QUANTILE = 1.645  # 90 % of a normal distribution lie within this many deviations
# Leave-one-out predictions of labelled rows depend on each other: m labels count as m/1.5. Over 24
# tables the intervals then cover 92, 93 and 92 % with 5, 10 and 20 labels per class
# (benchmarks/few_labels.py).
_DEPENDENCE = 1.5


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
@dataclass(frozen=True, eq=False)
class Evidence:
    """Leave-one-out results of the labelled rows, and what the predictions depend on.

    Attributes
    ----------
    codes : (m,) int array
        Classes of the labelled rows, as positions in ``classes_``.
    distributions : (m, C) array
        Their leave-one-out distributions.
    block_shares : mapping from block to float
    importance : mapping from column to float
        The largest first; empty if it was not computed.

    See Also
    --------
    lowrankgcn.SpectralGPClassifier : Its attribute ``evidence_``.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> evidence = lg.SpectralGPClassifier(random_state=0).fit(X, y).evidence_
    >>> evidence.accuracy, evidence.largest_class, evidence.confusion.tolist()
    (1.0, 0.5, [[5, 0], [0, 5]])
    >>> evidence.balanced_accuracy, evidence.f1, [part.rows for part in evidence.reliability]
    (1.0, 1.0, [10])
    """

    codes: NDArray[np.integer[Any]]
    distributions: FloatArray
    block_shares: Mapping[str, float] = field(default_factory=dict)
    importance: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def from_classifier(classifier: Any, *, importance: bool = False) -> Evidence | None:
        """Return the evidence of a fitted classifier; None for networks.

        Parameters
        ----------
        classifier : SpectralGPClassifier or GCNClassifier
        importance : bool
            Whether to compute the importance of the columns, which takes a prediction for each.
        """
        evidence: Evidence | None = getattr(classifier, "evidence_", None)
        if evidence is None or not importance:
            return evidence
        columns = classifier.column_importance()
        return replace(evidence, importance={str(name): one for name, one in columns.items()})

    @property
    def predicted(self) -> NDArray[np.intp]:
        """Most probable class of each row, shape (m,)."""
        classes: NDArray[np.intp] = self.distributions.argmax(axis=1)
        return classes

    @property
    def accuracy(self) -> float:
        """Share of the rows whose most probable class is their label."""
        return float((self.predicted == self.codes).mean())

    @property
    def interval(self) -> tuple[float, float]:
        """90 % confidence interval of the accuracy (Clopper and Pearson)."""
        count, tail = len(self.codes) / _DEPENDENCE, (1 - _INTERVAL) / 2
        hits = self.accuracy * count
        low = betaincinv(hits, count - hits + 1, tail) if hits > 0 else 0.0
        high = betaincinv(hits + 1, count - hits, 1 - tail) if self.accuracy < 1 else 1.0
        return float(low), float(high)

    @property
    def log_loss(self) -> float:
        """Mean cross-entropy."""
        return log_loss(self.codes, self.distributions)

    @property
    def largest_class(self) -> float:
        """Share of the most frequent label, the accuracy of always predicting it."""
        return float(np.bincount(self.codes).max() / len(self.codes))

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Number of rows by label (row) and leave-one-out class (column), shape (C, C)."""
        C = self.distributions.shape[1]
        return np.bincount(C * self.codes + self.predicted, minlength=C * C).reshape(C, C)

    @property
    def mistakes(self) -> list[tuple[int, int, int]]:
        """Label, another class and how many rows were taken for it; the most frequent first."""
        wrong = self.confusion
        np.fill_diagonal(wrong, 0)
        pairs = np.argwhere(wrong)
        order = np.argsort(-wrong[tuple(pairs.T)], kind="stable")
        return [(int(label), int(other), int(wrong[label, other])) for label, other in pairs[order]]

    @property
    def doubtful(self) -> list[tuple[int, int]]:
        """Labelled rows that clearly look like another class, and that class; clearest first."""
        other = self.predicted
        doubt = np.where(other == self.codes, 0.0, self.distributions.max(axis=1))
        order = np.argsort(-doubt, kind="stable")
        return [(int(k), int(other[k])) for k in order if doubt[k] > _DOUBTFUL]

    @property
    def scores(self) -> dict[str, list[float | None]]:
        """Recall, precision and F1 of each class; precision is None if it is never predicted."""
        counts = self.confusion
        labelled, predicted = counts.sum(axis=1), counts.sum(axis=0)
        totals = {"recall": labelled, "precision": predicted, "f1": (labelled + predicted) / 2}
        scores = {}
        for score, total in totals.items():
            pairs = zip(counts.diagonal().tolist(), total.tolist(), strict=True)
            scores[score] = [hits / n if n else None for hits, n in pairs]
        return scores

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes."""
        return float(np.nanmean(np.array(self.scores["recall"], float)))

    @property
    def f1(self) -> float:
        """Mean F1 of the classes (macro)."""
        return float(np.nanmean(np.array(self.scores["f1"], float)))

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
        """Labelled rows by the probability of their predicted class, in ascending order."""
        return self.reliability_bins()

    def reliability_bins(
        self, most: int = _MOST_BINS, same: float = _SAME_PROBABILITY
    ) -> list[ReliabilityBin]:
        """Return at most `most` bins of equal numbers of rows, at least ten.

        Neighbours whose mean probabilities differ by less than `same` are one bin.
        """
        top = self.distributions.max(axis=1)
        correct = self.predicted == self.codes
        n_bins = min(max(len(top) // _ROWS_OF_A_BIN, 1), most)
        groups: list[NDArray[np.intp]] = []
        for rows in np.array_split(np.argsort(top, kind="stable"), n_bins):
            if groups and top[rows].mean() - top[groups[-1]].mean() < same:
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


def log_loss(
    codes: NDArray[np.integer[Any]], distributions: FloatArray, least: float = 1e-12
) -> float:
    """Return the mean cross-entropy; probabilities below `least` count as that.

    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [1.0, 0.0]]), least=0.5), 3)
    0.693
    """
    probabilities = distributions[np.arange(len(codes)), codes]
    return -float(np.log(np.clip(probabilities, least, 1.0)).mean())


def _chance(probabilities: NDArray[np.float64]) -> float:
    """Return the half-width of the 90 % range of the share of correct rows."""
    variance = np.sum(probabilities * (1 - probabilities))
    return float(_NORMAL_QUANTILE * np.sqrt(max(variance, 0.0)) / len(probabilities))

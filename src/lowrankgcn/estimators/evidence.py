"""Quality of predictions of labelled rows, and what the predictions depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from lowrankgcn._format import plural, rounded_percent
from lowrankgcn.estimators.explanation import block_words
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
_LEAST_LABELS = 2  # of a class: without its only label, a class cannot be predicted

_NOT_KNOWN = "not known yet: label a second row of each class"


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

    Notes
    -----
    A row with the only label of its class cannot be predicted correctly without it. So a class with
    fewer than two labels has no scores (None) and does not count in their means. With fewer than
    two labels per class on average, nothing is known (`is_known`): numbers are NaN, scores None,
    and there are no doubtful rows and no reliability.

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
    def class_counts(self) -> NDArray[np.intp]:
        """Number of labels of each class, shape (C,)."""
        return np.bincount(self.codes, minlength=self.distributions.shape[1])

    @property
    def is_known(self) -> bool:
        """Whether there are two labels per class on average, enough to estimate the accuracy."""
        return bool(len(self.codes) >= _LEAST_LABELS * self.distributions.shape[1])

    @property
    def accuracy(self) -> float:
        """Share of the rows whose most probable class is their label; NaN if not known."""
        return float((self.predicted == self.codes).mean()) if self.is_known else np.nan

    @property
    def interval(self) -> tuple[float, float]:
        """90 % confidence interval of the accuracy (Clopper and Pearson); NaN if not known."""
        return share_interval(self.accuracy, len(self.codes)) if self.is_known else (np.nan, np.nan)

    @property
    def meaning(self) -> str:
        """Which accuracy it is, or that it is not known.

        Labels that were drawn class by class carry no class shares.
        """
        if not self.is_known:
            return _NOT_KNOWN
        counts = self.class_counts
        if 2 * (counts == counts.max()).sum() > len(counts):
            return "an estimate of the balanced accuracy, as most classes have equally many labels"
        return "an estimate for rows like the labelled ones"

    @property
    def log_loss(self) -> float:
        """Mean cross-entropy; NaN if not known."""
        return log_loss(self.codes, self.distributions) if self.is_known else np.nan

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
        sure = (other == self.codes) | ~self.has_scores[self.codes]
        doubt = np.where(sure, 0.0, self.distributions.max(axis=1))
        order = np.argsort(-doubt, kind="stable")
        return [(int(k), int(other[k])) for k in order if doubt[k] > _DOUBTFUL]

    @property
    def scores(self) -> dict[str, list[float | None]]:
        """Recall, precision and F1 of each class.

        None with fewer than two labels; precision also if the class is never predicted.
        """
        counts = self.confusion
        labelled, predicted = counts.sum(axis=1), counts.sum(axis=0)
        totals = {"recall": labelled, "precision": predicted, "f1": (labelled + predicted) / 2}
        scores = {}
        for score, total in totals.items():
            total = np.where(self.has_scores, total, 0)
            pairs = zip(counts.diagonal().tolist(), total.tolist(), strict=True)
            scores[score] = [hits / n if n else None for hits, n in pairs]
        return scores

    @property
    def has_scores(self) -> NDArray[np.bool_]:
        """Which classes have scores: those with at least two labels, if anything is known."""
        return self.is_known & (self.class_counts >= _LEAST_LABELS)

    @property
    def n_scored(self) -> int:
        """Number of classes that have scores."""
        return int(self.has_scores.sum())

    @property
    def recall_intervals(self) -> list[tuple[float, float] | None]:
        """90 % confidence interval of the recall of each class; None where that is None."""
        pairs = zip(self.scores["recall"], self.class_counts.tolist(), strict=True)
        return [None if recall is None else share_interval(recall, n) for recall, n in pairs]

    @property
    def recall_texts(self) -> list[str]:
        """Recall of each class with its interval in per cent, or that it has too few labels."""
        texts = [f"{plural(n, 'label')}: too few" for n in self.class_counts.tolist()]
        scored = zip(self.scores["recall"], self.recall_intervals, strict=True)
        for k, (recall, interval) in enumerate(scored):
            if recall is not None and interval is not None:
                low, high = (f"{100 * end:.0f}" for end in interval)
                texts[k] = f"{rounded_percent(recall)}, {low}–{high}"
        return texts

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes with at least two labels; NaN if not known."""
        return self._mean_score("recall")

    @property
    def f1(self) -> float:
        """Mean F1 of the classes with at least two labels (macro); NaN if not known."""
        return self._mean_score("f1")

    def _mean_score(self, name: str) -> float:
        values = [value for value in self.scores[name] if value is not None]
        return float(np.mean(values)) if values else np.nan

    @property
    def overconfidence(self) -> float:
        """Mean probability of the predicted classes minus the accuracy; NaN if not known."""
        return float(self.distributions.max(axis=1).mean() - self.accuracy)

    @property
    def calibration(self) -> str:
        """A sentence on the difference between probabilities and accuracy."""
        if not self.is_known:
            return f"Reliability of the probabilities: {_NOT_KNOWN}."
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

        Empty if not known.
        """
        return self.reliability_bins() if self.is_known else []

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
        """What the predictions depend on, in words, with shares; the largest first."""
        shares: dict[str, float] = {}
        for name, share in self.block_shares.items():
            kind = block_words(name)
            shares[kind] = shares.get(kind, 0.0) + share
        return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def share_interval(share: float, n: int) -> tuple[float, float]:
    """Return the confidence interval of a share of `n` labelled rows."""
    count, tail = n / _DEPENDENCE, (1 - _INTERVAL) / 2
    hits = share * count
    low = betaincinv(hits, count - hits + 1, tail) if hits > 0 else 0.0
    high = betaincinv(hits + 1, count - hits, 1 - tail) if share < 1 else 1.0
    return float(low), float(high)


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

"""Estimated quality of predictions, suspicious labels, and what the predictions depend on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._format import percent, plural, rounded_percent
from lowrankgcn.estimators.explanation import block_words
from lowrankgcn.estimators.reliability import (
    DEPENDENCE,
    MOST_BINS,
    SAME_PROBABILITY,
    ReliabilityBin,
    chance,
    confusion_counts,
    log_loss,
    reliability_bins,
    share_interval,
)
from lowrankgcn.gp.shares import apply_factors, evenness
from lowrankgcn.operators import FloatArray

# A label is suspicious if it is wrong with more than this probability, if that share of all labels
# is wrong and the distribution without it is right (benchmarks/few_labels.py).
_WRONG_LABELS, _SUSPICIOUS = 0.05, 0.33
# Numbers of labels for which the accuracy counts that the probabilities of unlabelled rows promise,
# in the estimate and in the width of its interval (benchmarks/few_labels.py).
_PROMISE, _WIDTH = 80.0, 40.0
_BY_CLASS = 0.5  # evenness of the labels
_SAMPLE = 20  # labels, from which the share of unseen classes is shown
# Labelled rows may differ from the others, if they were suggested. This part of the difference
# between the mean probabilities is added to their accuracy.
_HARDER = 0.5
_LEAST_LABELS = 2  # of a class: without its only label, a class cannot be predicted

_NOT_KNOWN = "not known yet: label a second row of each class"


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    r"""Leave-one-out results of the labelled rows, and what is expected of new rows.

    Attributes
    ----------
    codes : (m,) int array
        Classes of the labelled rows, as positions in ``classes_``.
    distributions : (m, C) array
        Their leave-one-out distributions.
    block_shares : mapping from block to float
    importance : mapping from column to float
        The largest first; empty if it was not computed.
    promised : (C, 2) array or None
        Share of unlabelled rows that are predicted as each class, and their mean probability, NaN
        without rows; None without unlabelled rows.
    factors : (C,) array or None
        Factors of the class shares by which new rows are classified, and labelled rows here are
        not.

    Notes
    -----
    Two estimates of the accuracy on new rows are combined. With few labels, leave-one-out is off by
    15 points or more, because a class loses much of what is known of it. The mean probability of
    the unlabelled rows is an estimate, too. Over tables it is off by 7 points, but it depends on
    the model alone. The accuracy is :math:`\lambda p + (1 - \lambda) q` with
    :math:`\lambda = 80 / (80 + m)`, the mean probability p, and the share q of labelled rows that
    are predicted correctly. Suggested rows are harder than others, so half of the difference
    between p and the mean leave-one-out probability of labelled rows is added to q. Rows of classes
    without a label are wrong, whatever their probability, so p is multiplied by
    :math:`1 - s/(m + 20)` with s classes of one label: the estimate of Good and Turing, shrunk
    because it varies much with few labels.

    If labels were drawn class by class, p and q are means over the classes, without these two
    corrections: of the rows predicted as a class, and of the rows with its label. Recall and
    precision combine those of a class in the same way, and F1 follows from them. Everything else is
    leave-one-out alone.

    A row with the only label of its class cannot be predicted correctly without it. So a class with
    fewer than two labels has no scores (None) and does not count in their means. With fewer than
    two labels per class on average, nothing is known (`is_known`): numbers are NaN, scores None,
    and there are no suspects and no reliability.

    See Also
    --------
    lowrankgcn.SpectralGPClassifier : Its attribute ``evidence_``.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
    >>> y = np.r_[np.zeros(5), np.full(15, -1), np.ones(5), np.full(15, -1)]
    >>> evidence = lg.SpectralGPClassifier(random_state=0).fit(X, y).evidence_
    >>> round(evidence.accuracy, 2), evidence.largest_class, evidence.confusion.tolist()
    (0.9..., 0.5, [[5, 0], [0, 5]])
    >>> evidence.balanced_accuracy > 0.9, [part.rows for part in evidence.reliability]
    (True, [10])
    """

    codes: NDArray[np.integer[Any]]
    distributions: FloatArray
    block_shares: Mapping[str, float] = field(default_factory=dict)
    importance: Mapping[str, float] = field(default_factory=dict)
    promised: FloatArray | None = None
    factors: FloatArray | None = None

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
    def n_classes(self) -> int:
        """Number of classes C."""
        return int(self.distributions.shape[1])

    @property
    def predicted(self) -> NDArray[np.intp]:
        """Most probable class of each row, shape (m,)."""
        classes: NDArray[np.intp] = self.distributions.argmax(axis=1)
        return classes

    @property
    def class_counts(self) -> NDArray[np.intp]:
        """Number of labels of each class, shape (C,)."""
        return np.bincount(self.codes, minlength=self.n_classes)

    @property
    def is_known(self) -> bool:
        """Whether there are two labels per class on average, enough to estimate the accuracy."""
        return bool(len(self.codes) >= _LEAST_LABELS * self.n_classes)

    @property
    def by_class(self) -> bool:
        """Whether the labels were probably drawn class by class, and are no sample of the rows."""
        return evenness(self.class_counts) > _BY_CLASS

    @property
    def accuracy(self) -> float:
        """Estimated accuracy on new rows; NaN if not known.

        Of all rows if the labels were drawn from them at random, otherwise the mean recall.
        """
        if not self.is_known:
            return np.nan
        if self.by_class:
            return self.balanced_accuracy
        m = len(self.codes)
        labelled = self._decided.trace() / m
        if self.promised is None:
            return float(labelled)
        promised = float(np.nansum(self.promised.prod(axis=1)))
        easier = promised - self._classified.max(axis=1).mean()
        labelled = np.clip(labelled + _HARDER * easier, 0.0, 1.0)
        unseen = (self.class_counts == 1).sum() / (m + _SAMPLE)
        return float(self._combined(labelled, promised * (1.0 - unseen)))

    @property
    def _classified(self) -> FloatArray:
        """As `distributions`, under the class shares of new rows."""
        shares = self.distributions
        return shares if self.factors is None else apply_factors(shares, self.factors)

    @property
    def _decided(self) -> NDArray[np.int64]:
        """As `confusion`, under the class shares of new rows."""
        return confusion_counts(self.codes, self._classified.argmax(axis=1), self.n_classes)

    def _combined(self, labelled: Any, promised: Any) -> Any:
        """Combine shares of labelled rows with promised ones; NaN if both are not known."""
        weight = _PROMISE / (_PROMISE + len(self.codes))
        combined = weight * promised + (1.0 - weight) * labelled
        one = np.where(np.isnan(promised), labelled, promised)
        return np.where(np.isnan(combined), one, combined)

    @property
    def interval(self) -> tuple[float, float]:
        """90 % interval of the accuracy; NaN if not known.

        That of Clopper and Pearson for (m + 40)/3 labels. Over tables it covers 90 % on average
        (see the page on accuracy).
        """
        if not self.is_known:
            return np.nan, np.nan
        return share_interval(self.accuracy, self._size)

    @property
    def n_correct(self) -> int:
        """Number of labelled rows whose class is the most probable one without their own label."""
        return int((self.predicted == self.codes).sum())

    @property
    def unseen(self) -> float:
        """Share of rows that may be of classes without a label; NaN if not known.

        The estimate of Good and Turing: the share of labelled rows that are the only one of their
        class. It needs twenty labels that were drawn at random; with fewer ones it is far too high.
        """
        if self.by_class or len(self.codes) < max(_SAMPLE, _LEAST_LABELS * self.n_classes):
            return np.nan
        return float((self.class_counts == 1).sum() / len(self.codes))

    @property
    def unseen_text(self) -> str:
        """A sentence on rows of classes without a label; empty without a sign of them."""
        if not self.unseen > 0:
            return ""
        return f"about {percent(self.unseen)} of the rows may be of classes without a label"

    @property
    def meaning(self) -> str:
        """Which accuracy it is, or that it is not known.

        Labels that were drawn class by class carry no class shares.
        """
        if not self.is_known:
            return _NOT_KNOWN
        if self.by_class:
            return "the balanced accuracy, as most classes have equally many labels"
        return "the accuracy on all rows, if the labelled ones were drawn at random"

    @property
    def log_loss(self) -> float:
        """Mean cross-entropy of the labelled rows; NaN if not known."""
        return log_loss(self.codes, self.distributions) if self.is_known else np.nan

    @property
    def largest_class(self) -> float:
        """Share of the most frequent label, the accuracy of always predicting it."""
        return float(np.bincount(self.codes).max() / len(self.codes))

    @property
    def confusion(self) -> NDArray[np.int64]:
        """Number of rows by label (row) and leave-one-out class (column), shape (C, C)."""
        return confusion_counts(self.codes, self.predicted, self.n_classes)

    @property
    def mistakes(self) -> list[tuple[int, int, int]]:
        """Label, another class and how many rows were taken for it; the most frequent first."""
        wrong = self.confusion * (1 - np.eye(self.n_classes, dtype=int))
        pairs = np.argwhere(wrong)
        order = np.argsort(-wrong[tuple(pairs.T)], kind="stable")
        return [(int(label), int(other), int(wrong[label, other])) for label, other in pairs[order]]

    @property
    def suspicions(self) -> FloatArray:
        """Probability that each label is wrong if one in twenty is, shape (m,).

        By Bayes' rule from the probability q of the label without itself: wrong labels are equally
        often of each other class. Zero for the only label of a class.
        """
        q = self.distributions[np.arange(len(self.codes)), self.codes]
        wrong = _WRONG_LABELS * (1.0 - q) / max(1, self.n_classes - 1)
        wrong /= wrong + (1.0 - _WRONG_LABELS) * q
        return np.where(self.has_scores[self.codes], wrong, 0.0)

    @property
    def suspects(self) -> list[tuple[int, int]]:
        """Labelled rows whose label is probably wrong, and their likely class; worst first."""
        suspicions, other = self.suspicions, self.predicted
        order = np.argsort(-suspicions, kind="stable")
        return [
            (int(k), int(other[k]))
            for k in order
            if suspicions[k] > _SUSPICIOUS and other[k] != self.codes[k]
        ]

    @property
    def scores(self) -> dict[str, list[float | None]]:
        """Recall, precision and F1 of each class, estimated for new rows.

        None with fewer than two labels; precision and F1 also if a class is never predicted.
        """
        counts, promised = self._decided, self._promises[:, 1]
        with np.errstate(invalid="ignore"):  # of no rows
            recall = self._combined(counts.diagonal() / counts.sum(axis=1), promised)
            precision = self._combined(counts.diagonal() / counts.sum(axis=0), promised)
            f1 = 2 * recall * precision / (recall + precision)
        scores = {"recall": recall, "precision": precision, "f1": np.nan_to_num(f1)}
        scored = self.has_scores
        return {
            name: [None if np.isnan(value) else value for value in np.where(scored, values, np.nan)]
            for name, values in scores.items()
        }

    @property
    def _promises(self) -> FloatArray:
        """Shares and mean probabilities by predicted class, NaN if not known, shape (C, 2)."""
        return np.full((self.n_classes, 2), np.nan) if self.promised is None else self.promised

    @property
    def _size(self) -> float:
        """Number of labels that would give an interval of that width."""
        m = len(self.codes)
        return float(m) if self.promised is None else (m + _WIDTH) * DEPENDENCE / 3.0

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
        counts = self.class_counts * (self._size / len(self.codes))
        pairs = zip(self.scores["recall"], counts.tolist(), strict=True)
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
        """Mean probability of labelled rows minus their share of correct ones; NaN if not known."""
        if not self.is_known:
            return np.nan
        return float(self.distributions.max(axis=1).mean() - self.n_correct / len(self.codes))

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
        if abs(self.overconfidence) <= chance(self.distributions.max(axis=1)):
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
        self, most: int = MOST_BINS, same: float = SAME_PROBABILITY
    ) -> list[ReliabilityBin]:
        """Return at most `most` bins of equal numbers of rows, at least ten.

        Neighbours whose mean probabilities differ by less than `same` are one bin.
        """
        best = self.distributions.max(axis=1)
        return reliability_bins(best, self.predicted == self.codes, most, same)

    @property
    def kinds(self) -> dict[str, float]:
        """What the predictions depend on, in words, with shares; the largest first."""
        shares: dict[str, float] = {}
        for name, share in self.block_shares.items():
            kind = block_words(name)
            shares[kind] = shares.get(kind, 0.0) + share
        return dict(sorted(shares.items(), key=lambda pair: -pair[1]))

r"""Comparison of candidate networks by cross-validation on the labelled rows.

The share of a candidate in the prediction is

.. math:: w_c \propto \pi_c \exp(-\beta\, m\, \ell_c)

with prior odds π, the number m of held-out labels and their mean cross-entropy ℓ. With few labels
the prior dominates, with many the data. With sample weights w, ℓ is the weighted mean and
m = (Σ w)² / Σ w².

>>> import numpy as np
>>> folds = stratified_folds(np.array([0, 0, 0, 1, 1, 2]), np.random.default_rng(0))
>>> folds.shape, folds.sum(axis=0)  # the only label of class 2 is never held out
((10, 6), array([2, 2, 2, 2, 2, 0]))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn.estimators.candidates import Candidate

__all__ = ["Score", "Selection", "share_out", "stratified_folds"]

FOLDS = 5
REPEATS = 2

_TEMPER = 0.3  # β < 1: cross-validated losses of the same few rows are correlated
_SMALLEST_SHARE = 0.01
_SMALLEST_PROBABILITY = 1e-6


def stratified_folds(
    codes: NDArray[np.intp],
    generator: np.random.Generator,
    *,
    weights: NDArray[np.float64] | None = None,
    n_folds: int = FOLDS,
    n_repeats: int = REPEATS,
) -> NDArray[np.bool_]:
    """Return masks (F, p) of the labelled rows that each fold holds out; F may be 0.

    Folds are stratified by class. The only label of a class and labels of weight zero are never
    held out.
    """
    if weights is not None and not weights.all():
        counted = np.flatnonzero(weights)
        some = stratified_folds(codes[counted], generator, n_folds=n_folds, n_repeats=n_repeats)
        folds = np.zeros((len(some), len(codes)), bool)
        folds[:, counted] = some
        return folds
    counts = np.bincount(codes)
    spare = int(counts[counts > 1].sum())
    count = min(n_folds, spare)
    if count < 2:
        return np.zeros((0, len(codes)), bool)
    dealt_out = []
    for _ in range(n_repeats):
        place = np.full(len(codes), -1)
        dealt = 0
        for label in generator.permutation(np.flatnonzero(counts > 1)):
            members = generator.permutation(np.flatnonzero(codes == label))
            place[members] = (np.arange(len(members)) + dealt) % count
            dealt += len(members)
        dealt_out += [place == fold for fold in range(count)]
    return _leave_every_class(np.array(dealt_out), codes)


def _leave_every_class(folds: NDArray[np.bool_], codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Keep one label of each class in training."""
    for fold in folds:
        for label in np.unique(codes[fold]):
            members = np.flatnonzero(codes == label)
            if fold[members].all():
                fold[members[0]] = False
    return folds[folds.any(axis=1)]


@final
@dataclass(frozen=True, eq=False)
class Score:
    """Cross-validated score of a candidate.

    Attributes
    ----------
    loss : float
        Mean cross-entropy; NaN without cross-validation.
    accuracy, deviation : float
        Mean accuracy and its standard deviation over the folds.
    count : float
        Effective number of held-out labels.
    """

    loss: float
    accuracy: float
    deviation: float
    count: float

    @classmethod
    def from_held_out(
        cls,
        shares: NDArray[np.float64],
        folds: NDArray[np.bool_],
        codes: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> Score:
        """Compute the score from distributions (F, p, C) and weights (p,) of the labelled rows.

        Examples
        --------
        >>> shares = np.array([[[0.8, 0.2], [0.5, 0.5], [0.5, 0.5]]])
        >>> held = np.array([[True, True, False]])
        >>> codes, weights = np.array([0, 1, 0]), np.array([3.0, 1.0, 1.0])
        >>> Score.from_held_out(shares, held, codes, weights).accuracy
        0.75
        """
        weight = np.ones(len(codes)) if weights is None else weights / weights.max()
        own = shares[:, np.arange(len(codes)), codes]
        losses = -np.log(np.maximum(np.nan_to_num(own), _SMALLEST_PROBABILITY))
        right = (shares.argmax(axis=2) == codes) & np.isfinite(own)
        times = folds.sum(axis=0)
        seen = times > 0
        each = (losses * folds).sum(axis=0)[seen] / times[seen]
        mean = np.average(each, weights=weight[seen])
        by_fold = (right * folds) @ weight / (folds @ weight)
        count = weight[seen].sum() ** 2 / np.square(weight[seen]).sum()
        return cls(float(mean), float(by_fold.mean()), float(by_fold.std()), float(count))

    @classmethod
    def unknown(cls) -> Score:
        """Return the score without cross-validation."""
        return cls(np.nan, np.nan, np.nan, 0.0)


def share_out(
    candidates: Sequence[Candidate], scores: Sequence[Score], *, best: bool
) -> NDArray[np.float64]:
    """Return the shares of the candidates, of sum one; shares below one per cent become zero."""
    logs = np.log([candidate.prior for candidate in candidates])
    evidence = [score.count * score.loss if score.count else 0.0 for score in scores]
    logs = logs - _TEMPER * np.array(evidence)
    shares: NDArray[np.float64] = np.exp(logs - logs.max())
    if best:
        shares = (np.arange(len(shares)) == shares.argmax()).astype(float)
    shares /= shares.sum()
    shares[shares < _SMALLEST_SHARE] = 0.0
    shares /= shares.sum()
    return shares


@final
class Selection(Sequence[dict[str, Any]]):
    """Candidates with their scores, best first; prints as a table.

    Each entry is a mapping with "architecture", "filter", "rank", "hidden_widths", "cv_loss",
    "cv_accuracy", "cv_deviation" and "share".
    """

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self._rows = tuple(sorted(rows, key=lambda row: -row["share"]))

    @classmethod
    def from_scores(
        cls,
        candidates: Sequence[Candidate],
        scores: Sequence[Score],
        shares: NDArray[np.float64],
    ) -> Selection:
        """Build one row for each candidate."""
        return cls(
            [
                {
                    "architecture": candidate.name,
                    "filter": candidate.filter_name,
                    "rank": candidate.rank,
                    "hidden_widths": candidate.hidden_widths,
                    "cv_loss": score.loss,
                    "cv_accuracy": score.accuracy,
                    "cv_deviation": score.deviation,
                    "share": float(share),
                }
                for candidate, score, share in zip(candidates, scores, shares, strict=True)
            ]
        )

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        """Return a row, or several."""
        return self._rows[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows, best first."""
        return iter(self._rows)

    @property
    def best(self) -> dict[str, Any]:
        """The row with the largest share."""
        return self._rows[0]

    def to_frame(self) -> pd.DataFrame:
        """Return the candidates as a DataFrame."""
        return pd.DataFrame(self._rows)

    def __repr__(self) -> str:
        """Show one line for each candidate."""
        heads = ("architecture", "filter", "rank", "accuracy", "loss", "share")
        lines = [heads, *(_cells(row) for row in self._rows)]
        widths = [max(len(line[j]) for line in lines) for j in range(len(heads))]
        aligned = (
            "  ".join(
                cell.ljust(width) if j < 2 else cell.rjust(width)
                for j, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )
        return "\n".join(line.rstrip() for line in aligned)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    rank = "" if row["rank"] is None else str(row["rank"])
    known = np.isfinite(row["cv_loss"])
    accuracy = f"{row['cv_accuracy']:.1%}" if known else "–"
    loss = f"{row['cv_loss']:.3f}" if known else "–"
    return row["architecture"], row["filter"], rank, accuracy, loss, f"{row['share']:.0%}"

r"""Predictions after each label: an immediate update, then the answer of a fresh fit.

Graphs, eigenpairs and features do not depend on labels and are computed once. A fresh answer also
needs new forests and amplitudes. Until it is there, amplitudes stay, and blocks that depend on the
labels are left out of the update: with coefficients α of the labels at the last answer and α′ of
the labels now, the class distributions are

.. math:: P'(x) \propto P(x) \exp(T \sum_i k(x, i) (\alpha'_i - \alpha_i)).

That is a small system of equations and one product with the rows.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from lowrankgcn._parallel import single_threaded_blas_if_small
from lowrankgcn.estimators.class_labels import read_labels
from lowrankgcn.estimators.explanation import Contribution, ExplainedRow
from lowrankgcn.estimators.gp_classifier import SpectralGPClassifier
from lowrankgcn.estimators.gp_fitting import prepare_rows
from lowrankgcn.estimators.parameters import GPParameters, checked
from lowrankgcn.estimators.reliability import share_interval
from lowrankgcn.estimators.rows import read_rows
from lowrankgcn.estimators.semi_supervised import draw_seed
from lowrankgcn.gp.blocks import Views
from lowrankgcn.gp.compiled import CompiledScores
from lowrankgcn.gp.likelihood import softmax, targets
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.recipe import SUPERVISED, FewLabels, Prior, size_terms
from lowrankgcn.gp.suggestion import first_of_views, unfitted_process
from lowrankgcn.graphs import Graph
from lowrankgcn.studio.answer import Answer
from lowrankgcn.tables import Table

# Conventions: what the page has space for, and what can be updated while a user waits.
_SUGGESTED = 10
_MOST_LABELS = 1000  # of an immediate update
_TRUSTED = 5  # labels from which an update starts even if a class is new
_NEIGHBOURS = 5
_FEWEST_AUDITED = 8  # random rows of an estimate of the accuracy
_FEWEST_OF_A_CLASS = 2  # the only label of a class is always wrong when it is left out

Floats = NDArray[np.floating[Any]]


@final
class Engine:
    """All of a table that does not depend on labels, and answers for labels.

    Parameters
    ----------
    features : table of any kind, or Graph
    parameters : dict
        Of :class:`SpectralGPClassifier`.

    Attributes
    ----------
    features : Table or Graph
    prepared : PreparedRows
    """

    def __init__(self, features: Any, parameters: dict[str, Any]) -> None:
        self._classifier = SpectralGPClassifier(**parameters)
        settings = checked(GPParameters, self._classifier.get_params(deep=False))
        features = features if isinstance(features, Graph) else Table.read(features)
        self.features = features
        rows = read_rows(self._classifier, features, settings.graph, numbers="table")
        self._n = rows.n_rows
        seed = draw_seed(self._classifier.random_state)
        with single_threaded_blas_if_small(self._n):
            self.prepared = prepare_rows(rows, settings, seed, read_all=True)
        sample, outside = self.prepared.sample, self.prepared.outside
        self._parts = [(sample.index, self.prepared.views.parts)]
        if outside is not None:
            self._parts.append((sample.rest, outside))
        # An explanation takes a quarter of a second; a page asks again after every update.
        self._explains = not self.prepared.fitted_only and isinstance(features, Table)
        self._explained = lru_cache(8)(lambda fitted, row: self._explain(fitted, features, row))
        # A sample that includes the labelled rows, as that of the commands does, needs a whole fit.
        self._fitted = lru_cache(1)(
            lambda answer: SpectralGPClassifier(**parameters).fit(features, answer.labels)
        )
        self._last: tuple[NDArray[Any], SpectralGPClassifier] | None = None
        nobody = np.zeros(0, np.intp)
        self._unfitted = unfitted_process(self.prepared.views, nobody, self.prepared.seed)

    def _explain(self, fitted: SpectralGPClassifier, features: Table, row: int) -> ExplainedRow:
        """Explain a row by columns; nodes of a given graph with their edges."""
        nodes = self.prepared.views.maps.nodes is not None
        explained: ExplainedRow = fitted.explain(
            [row] if nodes else features.take([row]), by="columns" if nodes else "auto"
        )[0]
        return explained

    def settle(
        self, labels: NDArray[Any], audited: Collection[int] = (), skipped: Collection[int] = ()
    ) -> Answer:
        """Return the answer that a fit to these labels gives.

        Parameters
        ----------
        labels : (n,) object array
        audited : collection of int
            Rows that were drawn at random. Suggested rows are harder than others, so the accuracy
            is estimated from these alone.
        skipped : collection of int
            Rows that are not suggested.
        """
        known = labels != None  # noqa: E711
        free = ~known
        free[list(skipped)] = False
        sample = self.prepared.sample.index
        count = min(_SUGGESTED, int(free[sample].sum()))
        if len(set(labels[known])) < 2:
            candidates, labelled = np.flatnonzero(free[sample]), np.flatnonzero(known[sample])
            views, seed = self.prepared.views, self.prepared.seed
            if not count:
                return Answer(labels)
            first = first_of_views(views, count, candidates, labelled, seed)
            return Answer(labels, suggestions=tuple(sample[first].tolist()))
        with single_threaded_blas_if_small(self._n):
            fitted = self._fit(labels)
            suggested = fitted.suggest(count, among=free).tolist() if count else ()
        return Answer(
            labels,
            tuple(fitted.classes_.tolist()),
            fitted.label_distributions_,
            tuple(suggested),
            _audited_accuracy(fitted, audited),
            fitted,
            _suspects(fitted),
        )

    def _fit(self, labels: NDArray[Any]) -> SpectralGPClassifier:
        """Fit to labels; the last fit is kept, because a skipped row does not change it."""
        if self._last is None or not np.array_equal(self._last[0], labels):
            fitted = copy.copy(self._classifier)._fit_labels(self.prepared, read_labels(labels))
            self._last = labels.copy(), fitted
        return self._last[1]

    def update(self, base: Answer, labels: NDArray[Any]) -> Answer | None:
        """Return an immediate answer, starting from an earlier one; None for too many changes.

        With many labels, the system has the changed ones and those that are most like them.
        """
        new = list(dict.fromkeys(labels[labels != None]))  # noqa: E711
        if len(new) < 2:
            return Answer(labels, suggestions=base.suggestions, classifier=base.classifier)
        classes = (*base.classes, *(name for name in new if name not in base.classes))
        before, now = replace(base, classes=classes), replace(base, classes=classes, labels=labels)
        few = (base.labels != None).sum() < _TRUSTED and len(classes) > len(base.classes)  # noqa: E711
        if base.distributions is None or few:
            # A further class changes what very few labels gave: start again from the prior.
            before = replace(before, labels=np.full(self._n, None), distributions=None)
        (old_rows, old_codes), (rows, codes) = before.coded(), now.coded()
        index = np.union1d(old_rows, rows)
        counts = np.bincount(codes, minlength=len(classes))
        with single_threaded_blas_if_small(self._n):
            if len(index) > _MOST_LABELS:
                changed = index[before.labels[index] != labels[index]]
                if 2 * len(changed) > _MOST_LABELS:
                    return None
                index = self._most_alike(self._row_process(before, index, counts), index, changed)
                old_kept, kept = np.isin(old_rows, index), np.isin(rows, index)
                old_rows, old_codes = old_rows[old_kept], old_codes[old_kept]
                rows, codes = rows[kept], codes[kept]
            process = self._row_process(before, index, counts)
            G = process.kernel(process.labelled, process.labelled) + np.eye(len(index))
            change = np.zeros((len(index), len(classes)))
            for sign, known, known_codes in ((1.0, rows, codes), (-1.0, old_rows, old_codes)):
                if len(known):
                    at = np.searchsorted(index, known)
                    factor = cho_factor(G[np.ix_(at, at)])
                    change[at] += sign * cho_solve(factor, targets(known_codes, len(classes)))
            shares = self._multiplied(before, replace(process, alpha=change))
        return replace(now, distributions=shares)

    def _most_alike(
        self, process: GaussianProcess, index: NDArray[np.intp], changed: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return changed labelled rows and the others that are most correlated with them."""
        views = self._views_at(changed)
        shared = np.abs(process.kernel(process.represent(views), process.labelled)).max(axis=0)
        shared /= np.sqrt(process.variances(process.labelled))
        shared[np.isin(index, changed)] = np.inf
        some: NDArray[np.intp] = index[np.argsort(-shared, kind="stable")[:_MOST_LABELS]]
        return np.sort(some)

    def _row_process(
        self, base: Answer, index: NDArray[np.intp], counts: NDArray[np.intp]
    ) -> GaussianProcess:
        """Return the process of the blocks that do not depend on labels, at some rows."""
        n_classes = len(counts)
        if base.classifier is not None and base.distributions is not None:
            process = base.classifier._model.process
        else:
            prior, few, blocks = Prior.load(), FewLabels.of(counts), self._unfitted.blocks
            size = np.append(size_terms(int(counts.sum()), n_classes), 0.0)
            process = replace(
                self._unfitted,
                amplitudes=np.exp([prior.final[block.name] for block in blocks]),
                temperature=float(np.exp(few.temperature + size @ prior.final_temperature)),
                constant=few.constant,
            )
        kept = [k for k, block in enumerate(process.blocks) if block.name not in SUPERVISED]
        blocks, views = tuple(process.blocks[k] for k in kept), self._views_at(index)
        return replace(
            process,
            blocks=blocks,
            amplitudes=process.amplitudes[kept],
            labelled=tuple(block.represent(views) for block in blocks),
            index=np.arange(len(index)),
            alpha=np.zeros((len(index), n_classes)),
            factors=np.append(process.factors, np.ones(n_classes))[:n_classes],
        )

    def _views_at(self, index: NDArray[np.intp]) -> Views:
        return self.prepared.views.maps.views(self.prepared.at(index))

    def _multiplied(self, base: Answer, process: GaussianProcess) -> NDArray[np.float32]:
        """Multiply distributions by exp(T f), normalised, for the scores f of a process."""
        result = np.empty((self._n, len(base.classes)), np.float32)
        maps = self.prepared.views.maps
        compiled = CompiledScores(process, maps, maps.embeddings)
        for rows, parts in self._parts:
            logs = process.temperature * compiled.at(parts)
            if base.distributions is not None:
                before = np.log(np.maximum(base.distributions[rows], 1e-30))
                known = before.shape[1]
                logs[:, :known] += before
                # Scores add up to zero, and that of a class without labels is −1/C.
                level = (before - np.log(process.factors[:known])).mean(axis=1)
                logs[:, known:] += (level - process.temperature / known)[:, None]
            result[rows] = softmax(logs)
        return result

    def fitted(self, answer: Answer) -> SpectralGPClassifier | None:
        """Return the classifier of the commands for the labels of an answer."""
        everything = self.prepared.outside is None or answer.classifier is None
        return answer.classifier if everything else self._fitted(answer)

    def neighbours(self, answer: Answer, row: int) -> list[tuple[int, float]]:
        """Return the nearest labelled rows by correlation in the fitted process."""
        if answer.classifier is None:
            return []
        model = answer.classifier._model
        process, one = model.process, model.process.represent(self._views_at(np.array([row])))

        shared = process.kernel(one, process.labelled)[0] - process.constant
        alike = shared / np.sqrt(process.variances(one) * process.variances(process.labelled))
        rows = model.labelled[process.index]
        nearest = [k for k in np.argsort(-alike, kind="stable") if rows[k] != row]
        labelled = [k for k in nearest if answer.labels[rows[k]] is not None][:_NEIGHBOURS]
        return [(int(rows[k]), float(np.clip(alike[k], 0.0, 1.0))) for k in labelled]

    def explain(self, answer: Answer, row: int) -> tuple[str, list[Contribution]] | None:
        """Return the class that a row is compared with, and reasons, the strongest first."""
        if answer.classifier is None or answer.distributions is None or not self._explains:
            return None
        one = self._explained(answer.classifier, row)
        shown = answer.classes[int(answer.distributions[row].argmax())]
        # A row may be read slightly differently as a new row, or labels have changed since the fit.
        pair, sign = (str(one.predicted), str(one.runner_up)), 1.0
        if shown == pair[1]:
            pair, sign = pair[::-1], -1.0
        elif shown != pair[0]:
            return None
        parts = [replace(part, amount=sign * part.amount) for part in one.contributions]
        return pair[1], parts


def _audited_accuracy(
    fitted: SpectralGPClassifier, audited: Collection[int]
) -> dict[str, float] | None:
    """Return the leave-one-out accuracy of audited rows and its 90 % interval, if they suffice."""
    every = fitted.evidence_
    kept = np.isin(fitted._model.labelled, list(audited))
    if kept.sum() < _FEWEST_AUDITED or np.bincount(every.codes).min() < _FEWEST_OF_A_CLASS:
        return None
    value = float((every.predicted == every.codes)[kept].mean())
    low, high = share_interval(value, int(kept.sum()))
    return {"value": value, "low": low, "high": high}


def _suspects(fitted: SpectralGPClassifier) -> tuple[tuple[int, str, str, float], ...]:
    """Return labelled rows for which another class is predicted without their label."""
    every, rows = fitted.evidence_, fitted._model.labelled
    if not every.is_known:
        return ()
    counts, other = every.class_counts[every.codes], every.predicted
    doubt = np.where(counts < _FEWEST_OF_A_CLASS, 0.0, every.distributions.max(axis=1))
    doubt[other == every.codes] = 0.0
    names = fitted.classes_.tolist()
    return tuple(
        (int(rows[k]), names[every.codes[k]], names[other[k]], float(doubt[k]))
        for k in np.argsort(-doubt, kind="stable")
        if doubt[k] > 0
    )

"""The part of the scikit-learn interface that all classifiers share."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._format import percent
from lowrankgcn._parallel import limited_threads
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import (
    Labels,
    known_labels,
    labelled_cells,
    read_weights,
)
from lowrankgcn.estimators.row_sample import Sample
from lowrankgcn.estimators.rows import Fit, check_rows
from lowrankgcn.exceptions import UnlabelledComponentWarning, warn_caller
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.eigenpairs import Eigenpairs
from lowrankgcn.spectral.filters import Filter, Scaled
from lowrankgcn.spectral.kernel import Kernel
from lowrankgcn.tables.column_choice import Columns

_MOST_NAMES = 10  # of classes, shown in a notebook
_MOST_FRAMES = 10  # between a scorer and the classifier


class SemiSupervisedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """A classifier of rows with few labels.

    Subclasses implement ``fit``: rows → graphs → eigenpairs → model → distributions. Dask
    collections are passed on to :mod:`lowrankgcn.distributed`.
    """

    classes_: NDArray[Any]
    label_distributions_: FloatArray
    transduction_: NDArray[Any]
    timings_: dict[str, float]
    columns_: Columns | None
    graph: Any
    _fit: Fit
    _model: Any  # classifies rows
    _sample: NDArray[np.intp]  # rows that the graphs were fitted to

    def _set_fit(
        self, sample: Sample, labels: Labels, model: Any, fitted_only: str, results: dict[str, Any]
    ) -> None:
        """Set all attributes of a fit; `results` by their names."""
        self._sample = sample.index
        fit = Fit(
            classes=labels.classes,
            kind=sample.rows.later,
            n_features_in=sample.rows.n_columns,
            feature_names_in=sample.rows.names,
            model=model,
            fitted_only=fitted_only,
            results=results | {"columns_": sample.rows.columns},
        )
        self._restore(fit)

    def _restore(self, fit: Fit) -> None:
        """Set all attributes of a fit, or of what a file keeps of it."""
        self._fit, self._model = fit.savable(), fit.model
        self.classes_, self.n_features_in_ = fit.classes, fit.n_features_in
        if fit.feature_names_in is not None:
            self.feature_names_in_ = np.array(fit.feature_names_in, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_
        for name, value in fit.results.items():
            setattr(self, name, value)
        if "label_distributions_" in fit.results:
            self.transduction_ = fit.classes[self.label_distributions_.argmax(axis=1)]

    def _new_rows(self, X: Any) -> Any:
        """Validate rows for the model."""
        check_is_fitted(self)
        if distributed_module(X):
            raise invalid("X", "rows in memory (load some by .compute())", "a Dask collection")
        self._fit.check_new_rows()
        return check_rows(self, X, self._fit.kind, self._fit.columns)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class distributions, shape (q, C), in the order of ``classes_``.

        Parameters
        ----------
        X : array, DataFrame or sparse array
            Rows like those given to fit: with ``graph="precomputed"`` their weights to the fitted
            rows, shape (q, n); with a graph in place of X, rows like those the graph was built
            from. For a Dask collection the result is a lazy
            Dask array.

        Raises
        ------
        ValueError
            If the rows are not like those at fitting, a graph object was given that was not built
            from X and cannot be extended to new rows, or the network is of full rank.
        """
        check_is_fitted(self)
        _warn_of_unlabelled_scores()
        if (lazy := distributed_module(X)) is not None:
            return lazy.predict_proba(self, X)  # type: ignore[no-any-return]
        with limited_threads(getattr(self, "n_jobs", None)):
            rows = self._new_rows(X)
            shares: NDArray[np.float64] = self._model.distributions(rows)
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, shape (q,)."""
        shares = self.predict_proba(X)
        if (lazy := distributed_module(shares)) is not None:
            return lazy.most_probable(shares, self.classes_)  # type: ignore[no-any-return]
        classes: NDArray[Any] = self.classes_[shares.argmax(axis=1)]
        return classes

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on the labelled rows of X.

        Parameters
        ----------
        X : array or DataFrame
            Rows like those given to fit.
        y : (q,) array
            True classes; unlabelled rows are ignored.
        sample_weight : (q,) array, optional
        """
        if (lazy := distributed_module(X, y, sample_weight)) is not None:
            check_is_fitted(self)
            return float(lazy.score(self, X, y, sample_weight))
        index, values, count = known_labels(y)
        predicted = self.predict(X)
        if len(predicted) != count:
            raise invalid("y", f"{len(predicted)} labels, as many as X has rows", count)
        weights = read_weights(sample_weight, count, index)[index]
        return float(np.average(predicted[index] == values, weights=weights))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return log-probabilities (q, C), or the log-odds (q,) of two classes."""
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    # scikit-learn's `_repr_html_` returns the first of these; notebooks call the second.
    def _repr_html_inner(self) -> str:
        return f"{super()._repr_html_inner()}{_summary(self)}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += _summary(self)
        return bundle

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        graph = self.graph if isinstance(self.graph, str) else ""
        tags.input_tags.pairwise = graph == "precomputed"
        tags.input_tags.allow_nan = graph != "precomputed"
        tags.input_tags.sparse = True  # narrow rows become dense
        return tags


def _warn_of_unlabelled_scores() -> None:
    """Warn if a scorer of scikit-learn calls this with unlabelled rows, which it takes for a class.

    Scorers do not pass the labels to the classifier, so they are looked up in the calling frame.
    """
    frame: Any = sys._getframe()
    for _ in range(_MOST_FRAMES):
        frame = frame and frame.f_back
        if frame and frame.f_globals.get("__name__") == "sklearn.metrics._scorer":
            y = frame.f_locals.get("y_true")
            if y is not None and len(labelled_cells(y)[0]) < len(y):
                advice = "use scoring=lowrankgcn.metrics.labelled_scorer(...) to ignore them"
                warn_caller(f"the score counts unlabelled rows as a class; {advice}", UserWarning)
                return


def _summary(classifier: Any) -> str:
    """Return results of a fitted classifier as HTML, nothing before the fit."""
    if not hasattr(classifier, "classes_"):
        return ""
    classes, shares = classifier.classes_, getattr(classifier, "label_distributions_", None)
    names = [*map(str, classes[:_MOST_NAMES]), "…"][: len(classes)]
    facts: dict[str, Any] = {"classes": f"{len(classes)}: {', '.join(names)}"}
    if isinstance(shares, np.ndarray):
        facts["rows"] = len(shares)
    if (evidence := getattr(classifier, "evidence_", None)) is not None:
        interval = " to ".join(map(percent, evidence.interval))
        facts["labelled rows"] = len(evidence.codes)
        accuracy = f"{percent(evidence.accuracy)} (90 % interval {interval})"
        facts["estimated accuracy"] = accuracy if evidence.is_known else evidence.meaning
    if getattr(classifier, "graph_", None) is not None:
        facts["graph"] = repr(classifier.graph_)
    cells = (
        f"<tr><th>{name}</th><td>{escape(str(fact))}</td></tr>" for name, fact in facts.items()
    )
    title = f"<p><strong>Fitted {type(classifier).__name__}</strong></p>"
    return f"<div>{title}<table>{''.join(cells)}</table></div>"


def distributed_module(*values: Any) -> Any:
    """Return :mod:`lowrankgcn.distributed` if an argument is a Dask collection, else None.

    Dask is an optional dependency, and `lowrankgcn.distributed` imports this package.
    """
    for value in values:
        # Dask's own mark for its collections.
        if hasattr(type(value), "__dask_graph__") and value.__dask_graph__() is not None:
            return import_module("lowrankgcn.distributed")
    return None


def draw_seed(random_state: Any) -> int:
    """Draw a seed from the parameter ``random_state``; None leaves the global generator alone."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31 - 1))
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        expected = "None, an integer in 0..4294967295 or a numpy.random.RandomState"
        raise invalid("random_state", expected, repr(random_state)) from None


def warn_of_unplaced(unplaced: NDArray[np.bool_], result: str) -> None:
    """Warn of rows in components without a label, and say what their `result` is."""
    if lost := int(unplaced.sum()):
        warn_caller(
            f"{lost} of {len(unplaced)} rows belong to parts of the graph without any label; "
            f"their {result}. Label a row of each part.",
            UnlabelledComponentWarning,
        )


def main_eigenpairs(classifier: Any) -> tuple[Eigenpairs | None, Any]:
    """Return the eigenpairs of the first connected graph, and the rows of its nodes."""
    eigenpairs = classifier.eigenpairs_
    if not isinstance(eigenpairs, dict):
        return eigenpairs, classifier._sample
    if not eigenpairs:
        return None, classifier._sample
    name = min(eigenpairs, key=lambda name: eigenpairs[name].n_components > 1)
    pairs = eigenpairs[name]
    if len(pairs.eigenvectors) < len(classifier._sample):  # a Gaussian graph, extended to others
        pairs = replace(pairs, eigenvectors=classifier._prepared.views.views[name])
    return pairs, classifier._sample


def unscaled_filters(networks: Iterable[Any]) -> list[Filter]:
    """Return the different filters of networks, without the factor that scales their kernels."""
    kernels = (kernel for network in networks for kernel in network.kernels)
    filters = [kernel.filter for kernel in kernels if isinstance(kernel, Kernel)]
    unscaled = [phi.filter if isinstance(phi, Scaled) else phi for phi in filters]
    return list({str(phi): phi for phi in unscaled}.values())

"""The closed-form classifier: a Gaussian process on spectral blocks with a learned filter.

>>> import numpy as np, lowrankgcn as lg
>>> spiral = lg.datasets.load_spiral(200, random_state=0)
>>> y = np.full(1000, -1)
>>> y[::50] = spiral.target[::50]
>>> classifier = lg.SpectralGPClassifier(random_state=0).fit(spiral.data, y)
>>> bool((classifier.transduction_ == spiral.target).mean() > 0.8)
True
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._parallel import single_threaded_blas_if_small
from lowrankgcn._progress import listening
from lowrankgcn._validation import invalid, node_index, positive_int
from lowrankgcn.estimators.class_labels import Labels, read_labels
from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.estimators.explanation import By, Explanation
from lowrankgcn.estimators.gp_fitting import PreparedRows, fit_gp, prepare_rows
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.parameters import GPParameters, checked
from lowrankgcn.estimators.rows import Fit, read_rows
from lowrankgcn.estimators.semi_supervised import (
    SemiSupervisedClassifier,
    distributed_module,
    draw_seed,
    warn_of_unplaced,
)
from lowrankgcn.gp.node_graph import PropagatedRows
from lowrankgcn.gp.shares import apply_factors
from lowrankgcn.gp.suggestion import TRUSTED_LABELS, choose_rows, entropy, first_of_views
from lowrankgcn.gp.views import RowViews, node_views
from lowrankgcn.graphs import AdjacencyGraph, Graph


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralGPClassifier(SemiSupervisedClassifier):
    r"""Semi-supervised classifier: a Gaussian process on spectral blocks, in closed form.

    A graph convolution with Gaussian weights is a Gaussian process with the covariance
    :math:`U \varphi(\Lambda)^2 U^T` for Laplacian eigenvectors U and a filter φ. The covariance of
    this classifier is a sum of such blocks over graphs of nearest neighbours, Gaussian graphs and
    hypergraphs of values, of linear and radial kernels, and of the leaves of forests. The
    amplitudes of the blocks minimise the leave-one-out loss of the labelled rows, starting from a
    prior learned over tables. Those of the spectral blocks form a learned filter.

    Parameters
    ----------
    graph : {"auto", "knn", "gaussian", "hypergraph", "precomputed"} or Graph
        Graphs of the spectral blocks. "auto": every graph that can be built.
        "precomputed": X is the matrix of weights. With a graph object, X holds the features, which
        are propagated over given edges or hyperedges (``lowrankgcn.gp.graph_filters``). For
        weights, sparse incidence rows or a graph in place of X, the spectral blocks of that graph
        are the only ones.
    blocks : "auto" or sequence of str
        Names of the blocks to use (:mod:`lowrankgcn.gp.recipe`); "auto" uses all.
    rank : int
        Largest number of eigenpairs of a graph.
    class_shares : {"auto", "labels", "equal"} or mapping from class to float
        Shares of the classes among the unlabelled rows. "auto": if most classes have equally many
        labels, they were probably drawn class by class; the shares are then estimated from the
        predictions, and applied only where they clearly differ from those of the labels. Otherwise
        as "labels".
        "labels": the shares of the labels. "equal": all classes count alike, so that rare ones are
        found more often, at the cost of false alarms.
    fit_rows : int
        With more rows than this, graphs and features are fitted to a uniform sample of this size,
        which includes all labelled rows; the other rows are classified like new rows. More
        rows may improve probabilities of points in two or three dimensions; the time of the fit
        grows in proportion.
    tol : float
        Largest residual of the eigenpairs.
    random_state : None, int or RandomState
        Seed of all random choices; None for other choices in each fit.
    verbose : bool
        Whether to print the steps.

    Attributes
    ----------
    classes_ : (C,) array
    label_distributions_ : (n, C) array
        Class distributions of the rows given to fit.
    transduction_ : (n,) array
        Predicted classes of the rows given to fit.
    graphs_ : dict from str to Graph
        Graphs in use; `graph_` is the first.
    eigenpairs_ : dict from str to Eigenpairs
        Their eigenpairs with residuals.
    filter_ : dict from str to LearnedFilter
        Learned response φ of every graph at its eigenvalues; see :func:`plotting.plot_filter`.
    block_shares_ : dict from str to float
        Mean share of each block in the scores; the shares add up to one.
    loo_accuracy_ : float
        Estimated accuracy on new rows, from the labelled rows without their own label and from the
        probabilities of the unlabelled ones (:class:`estimators.evidence.Evidence`): the balanced
        accuracy if the labels were drawn class by class, otherwise that of all rows. This and the
        other numbers by leave-one-out are NaN with fewer than two labels per class on average:
        label more rows.
    loo_interval_ : (float, float)
        Its 90 % interval.
    loo_balanced_accuracy_, loo_f1_ : float
        Estimated mean recall and F1 score of the classes with at least two labels.
    loo_log_loss_ : float
        Mean cross-entropy of the leave-one-out distributions.
    loo_distributions_ : (m, C) array
        Leave-one-out distributions of the labelled rows, in their order, under the class shares of
        the labels; with ``class_shares="equal"`` under equal ones.
    unseen_share_ : float
        Share of rows that may be of classes without a label (Good and Turing); NaN if the labels
        were drawn class by class, or are too few.
    suspects_ : (s,) int array
        Labelled rows whose label is suspicious by its probability without itself, worst first.
    evidence_ : Evidence
        All of these, confusion, scores of each class, reliability. Computed when it is needed
        first, like the attributes above.
    timings_ : dict
        Seconds for each step.
    columns_ : Columns or None
        How the columns of a table are read, see :func:`files.choose_columns`; None for arrays of
        numbers.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    GCNClassifier : The networks of the paper.
    save, load : Model files.
    estimators.first_rows : Rows to label first, before there are labels.
    datasets.load_cars : A table to try it on.

    Notes
    -----
    O(m³ + n (r + m)) time and O(n r) memory for n rows, m labels and rank r. Up to 5000 labelled
    rows are solved exactly; beyond that, the solution uses 2000 of them, chosen at random.

    Columns may hold numbers, text, booleans, dates and categories. Missing cells are allowed:
    numbers are replaced by the median and marked by an indicator, and a missing category is a
    value of its own.

    Fitted rows use the eigenvectors themselves, and ``predict`` uses their extension to new rows,
    so probabilities of the same row may differ slightly. Results also depend slightly on the order
    of the rows, through random samples.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> cars = lg.datasets.load_cars(target="buying", as_frame=True)
    >>> y = np.full(1728, "", dtype=object)
    >>> y[cars.training] = cars.target.iloc[cars.training].astype(str)
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(cars.data, y)
    >>> sorted(classifier.graphs_)
    ['gaussian', 'hypergraph', 'neighbours']
    >>> classifier.predict_proba(cars.data.head(2)).shape
    (2, 4)
    """

    graph: Any = "auto"
    blocks: Any = "auto"
    rank: int = 100
    class_shares: Any = "auto"
    fit_rows: int = 20_000
    tol: float = 1e-2
    random_state: Any = None
    verbose: bool = False

    _model: GPModel = field(init=False)
    _prepared: PreparedRows = field(init=False)  # not in classifiers from files

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to the labelled rows and classify all rows.

        Parameters
        ----------
        X : array, DataFrame, sparse array or Graph
            All rows, labelled or not. A Dask DataFrame or array is sampled, see
            :mod:`lowrankgcn.distributed`; results per row are then lazy.
        y : (n,) array
            Labels; −1, None, NaN and "" mark unlabelled rows.

        Returns
        -------
        SpectralGPClassifier
            The classifier itself.

        Raises
        ------
        ValueError
            If an argument is invalid, no row is labelled, or all labels are of one class.

        Warns
        -----
        UnlabelledComponentWarning
            If there are no features, and a component of the graph has no label.
        """
        if (lazy := distributed_module(X, y)) is not None:
            lazy.fit(self, X, y)
            return self
        settings = checked(GPParameters, self.get_params(deep=False))
        rows = read_rows(self, X, settings.graph, numbers="table")
        labels = read_labels(y, rows.n_rows)
        shown = listening(lambda step, done, total: print(step, file=sys.stderr))
        with shown if self.verbose else nullcontext(), single_threaded_blas_if_small(rows.n_rows):
            prepared = prepare_rows(rows, settings, draw_seed(self.random_state), labels.index)
            maps = prepared.views.maps
            if maps.features is None and maps.nodes is None:
                parts = prepared.views.graphs["given"].components
                unplaced = np.isin(parts, parts[labels.index], invert=True)
                warn_of_unplaced(unplaced, "predictions are arbitrary")
            return self._fit_labels(prepared, labels)

    def _fit_labels(self, prepared: PreparedRows, labels: Labels) -> Self:
        """Fit to labels; the prepared rows are not changed and serve any number of fits."""
        model, results = fit_gp(prepared, labels)
        self._prepared = prepared
        self._set_fit(prepared.sample, labels, model, prepared.fitted_only, results)
        return self

    def _restore(self, fit: Fit) -> None:
        """Set all attributes of a fit, also those that the model determines."""
        super()._restore(fit)
        model: GPModel = fit.model
        self.filter_, self.block_shares_ = model.filters(), model.block_shares
        self.__dict__.pop("evidence_", None)

    @cached_property
    def evidence_(self) -> Evidence:
        """Estimated quality; see the class."""
        model: GPModel = self._model
        shares, factors = model.held_out, model.process.factors
        if isinstance(self.class_shares, str) and self.class_shares == "equal":
            shares, factors = apply_factors(shares, factors), np.ones(len(factors))
        promised = None if np.isnan(model.promised[:, 1]).all() else model.promised
        return Evidence(model.codes, shares, model.block_shares, promised=promised, factors=factors)

    @property
    def loo_distributions_(self) -> NDArray[np.float64]:
        """Leave-one-out distributions; see the class."""
        return self.evidence_.distributions

    @property
    def loo_accuracy_(self) -> float:
        """Estimated accuracy; see the class."""
        return self.evidence_.accuracy

    @property
    def loo_interval_(self) -> tuple[float, float]:
        """Its 90 % interval; see the class."""
        return self.evidence_.interval

    @property
    def loo_balanced_accuracy_(self) -> float:
        """Estimated mean recall; see the class."""
        return self.evidence_.balanced_accuracy

    @property
    def loo_f1_(self) -> float:
        """Estimated mean F1 score; see the class."""
        return self.evidence_.f1

    @property
    def loo_log_loss_(self) -> float:
        """Leave-one-out log-loss; see the class."""
        return self.evidence_.log_loss

    @property
    def unseen_share_(self) -> float:
        """Share of the rows that may be of classes without a label; see the class."""
        return self.evidence_.unseen

    @property
    def suspects_(self) -> NDArray[np.intp]:
        """Labelled rows with suspicious labels; see the class."""
        places = [place for place, _ in self.evidence_.suspects]
        rows: NDArray[np.intp] = self._model.labelled[places].astype(np.intp)
        return rows

    def predict_proba(self, X: Any, edges: Any = None) -> NDArray[np.float64]:
        """Predict class distributions, shape (q, C), in the order of ``classes_``.

        Parameters
        ----------
        X : array, DataFrame or sparse array
            Rows like those given to fit: with ``graph="precomputed"`` their weights to the fitted
            rows, shape (q, n); with sparse incidence rows, incidence rows; with a graph in place of
            X, rows like those the graph was built from; with features on a graph, those of new
            nodes. For a Dask collection the result is a lazy Dask array.
        edges : (k, 2) int array or sparse matrix, optional
            Edges of new nodes, for features on a graph. Fitted nodes have the numbers 0 … n − 1 and
            new ones n … n + q − 1, in the order of X. Either pairs of a new node and any other
            node, or a sparse matrix (q, n + q) of weights. For a hypergraph, pairs of a new node
            and a hyperedge, where numbers after the last known hyperedge make new ones, or a
            sparse matrix of incidence rows. New nodes without edges are classified by their
            features.

        Raises
        ------
        ValueError
            If the rows are not like those at fitting, edges are given without features on a graph
            or name no new node, or a graph object was not built from X and cannot be extended.

        Examples
        --------
        >>> import lowrankgcn as lg, numpy as np
        >>> X, y = np.eye(4)[[0, 0, 0, 1, 1, 1]], [0, -1, -1, 1, -1, -1]
        >>> graph = lg.AdjacencyGraph.from_edge_index([[0, 1, 3, 4], [1, 2, 4, 5]])
        >>> classifier = lg.SpectralGPClassifier(graph=graph, random_state=0).fit(X, y)
        >>> classifier.predict(np.eye(4)[[3, 3]], edges=[[6, 0], [6, 1], [7, 3], [7, 4]])
        array([0, 1])
        """
        if edges is None:
            return super().predict_proba(X)
        return self._model.distributions(self._new_rows(X), edges)

    def predict(self, X: Any, edges: Any = None) -> NDArray[Any]:
        """Predict classes, shape (q,); arguments as for :meth:`predict_proba`."""
        if edges is None:
            return super().predict(X)
        classes: NDArray[Any] = self.classes_[self.predict_proba(X, edges).argmax(axis=1)]
        return classes

    def update_graph(self, graph: Any) -> NDArray[np.float64]:
        """Classify the fitted nodes again after edges have changed, without another fit.

        Features, labels, amplitudes and coefficients stay. The attributes ``graph_``,
        ``label_distributions_`` and ``transduction_`` change, and new nodes are joined to the new
        graph.

        Parameters
        ----------
        graph : Graph or (n, n) matrix of weights
            Of the fitted nodes.

        Returns
        -------
        (n, C) array
            Class distributions of all fitted nodes.

        Raises
        ------
        ValueError
            If no features were fitted on a graph, the number of nodes differs, or a classifier from
            a file needs the columns of a table.
        """
        check_is_fitted(self)
        maps: RowViews = self._model.maps
        if maps.nodes is None:
            raise invalid("update_graph", "a classifier of features on a graph", "another one")
        graph = graph if isinstance(graph, Graph) else AdjacencyGraph(graph)
        prepared = self._fitted_rows() if maps.features is not None else None
        nodes = maps.nodes.with_edges(graph)
        views: dict[str, Any] = dict(prepared.views.views) if prepared is not None else {}
        if "given" in views:
            views["given"] = maps.embeddings["given"].coordinates(nodes.edges)
        views |= node_views(nodes)
        model = replace(self._model, maps=replace(maps, nodes=nodes))
        shares = model.process.distributions(views)
        results = self._fit.results | {"label_distributions_": shares, "graph_": graph}
        self._restore(replace(self._fit, model=model, results=results))
        self.graphs_ = {"given": graph}
        if hasattr(self, "_prepared"):
            fitted = replace(self._prepared.views, maps=model.maps, views=views)
            self._prepared = replace(self._prepared, views=fitted)
        return shares

    def prediction_sets(
        self, X: Any = None, level: float = 0.9, *, edges: Any = None
    ) -> NDArray[np.bool_]:
        """Return sets of classes that contain the true class with probability `level`.

        Parameters
        ----------
        X : rows, optional
            The rows given to fit when omitted.
        level : float
        edges : optional
            Edges of new nodes, as for :meth:`predict_proba`.

        Returns
        -------
        (q, C) bool array
            Whether each class belongs to the set of a row. No set is empty.

        Notes
        -----
        Conformal sets from the leave-one-out distributions of the labelled rows. `level` holds on
        average over problems; single problems with few labels may be several points off. Coverage
        changes if the class shares of the rows differ from those of the labels.
        """
        check_is_fitted(self)
        if X is None and not hasattr(self, "label_distributions_"):
            expected = "rows, because the classifier was saved without its fitted rows"
            raise invalid("X", expected, "None")
        shares = (
            np.asarray(self.label_distributions_) if X is None else self.predict_proba(X, edges)
        )
        return self._model.prediction_sets(shares, level)

    def unsure(self, X: Any = None, level: float = 0.95, *, edges: Any = None) -> NDArray[np.bool_]:
        """Return which rows fit no labelled class: outliers, or rows of a class without labels.

        Parameters
        ----------
        X : rows, optional
            The rows given to fit when omitted.
        level : float
            Share of rows like the labelled ones that are not marked.
        edges : optional
            Edges of new nodes, as for :meth:`predict_proba`.

        Returns
        -------
        (q,) bool array

        Raises
        ------
        ValueError
            If `level` is not between 0 and 1, X is a Dask collection, or X is omitted and the
            classifier was loaded from a file or fitted to a Dask collection.

        Notes
        -----
        A row is marked if the labels leave more of its variance (:mod:`lowrankgcn.gp.conformal`)
        than of all but a share 1 − `level` of the labelled rows, each without its own label. Of
        rows drawn like the labelled ones, about this share at most is marked on average. With
        fewer than level / (1 − level) labels, 19 by default, no row is marked. Rows of a class
        without labels are marked only if they lie apart from the labelled rows: about a third of
        them with ten labels per class (see the page on accuracy). The cost for a row is O(m²) for
        at most 300 labelled rows, beside that of a prediction.

        Examples
        --------
        >>> import lowrankgcn as lg, numpy as np
        >>> spiral = lg.datasets.load_spiral(100, random_state=0)
        >>> y = np.full(500, -1)
        >>> y[::10] = spiral.target[::10]
        >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(spiral.data, y)
        >>> classifier.unsure(np.array([[50.0, 50.0, 50.0], spiral.data[0]])).tolist()
        [True, False]
        """
        check_is_fitted(self)
        if X is None:
            prepared, of_views = self._fitted_rows(), self._model.novelty.measures
            measures = prepared.complete(of_views(prepared.views.views), of_views)
        else:
            rows = self._new_rows(X)
            measures = self._model.distributions_and_novelty(rows, edges)[1]
        return self._model.unsure(measures, level)

    def explain(self, X: Any, *, by: str = "auto", edges: Any = None) -> Explanation:
        """Explain predictions by contributions that add up to the log-odds.

        The log-odds compare the predicted class with the second most probable one.

        Parameters
        ----------
        X : array or DataFrame
            Rows to explain, as for :meth:`predict`. For features on a graph also a list of fitted
            nodes, by their numbers.
        by : {"auto", "columns", "rows", "blocks"}
            "columns": Shapley values of the columns, relative to the mean over up to 32 rows
            that represent the fitted ones (:mod:`lowrankgcn.gp.attribution`); a graph object counts
            as one more column. "rows": one contribution per labelled row. "blocks": one per block.
            "auto": columns for tables, otherwise rows. Features on a graph are explained by rows
            or blocks, and by the predicted classes of linked nodes.
        edges : optional
            Edges of new nodes, as for :meth:`predict_proba`.

        Returns
        -------
        Explanation
            A sequence with an entry for each row; prints as text.

        Raises
        ------
        ValueError
            If X is not like the fitted rows, or `by` is not available.

        Examples
        --------
        >>> import lowrankgcn as lg, pandas as pd
        >>> table = pd.DataFrame({"skin": list("rrrgggrg"), "pips": list("mmmffffm")})
        >>> y = ["cherry", "", "", "kiwi", "", "", "cherry", "kiwi"]
        >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(table, y)
        >>> explanation = classifier.explain(table.head(1))
        >>> explanation[0].predicted, explanation[0].log_odds > 0
        ('cherry', True)
        """
        check_is_fitted(self)
        maps: RowViews = self._model.maps
        table = maps.features is not None and maps.nodes is None
        allowed: tuple[By, ...] = ("columns", "rows", "blocks") if table else ("rows", "blocks")
        if by not in (*allowed, "auto"):
            raise invalid("by", f"one of {allowed} for this data", repr(by))
        chosen: Any = allowed[0] if by == "auto" else by
        if maps.nodes is None:
            return self._model.explain(self._new_rows(X), self.classes_, chosen)
        if np.ndim(X) == 1 and not sp.issparse(X):  # fitted nodes
            index = node_index(X, "X", maps.nodes.n_nodes)
            views: Any = self._fitted_rows().at(index)
        else:
            views = maps.read(self._new_rows(X), edges)
        linked = None
        if hasattr(self, "label_distributions_"):
            rows = next(row for row in views.values() if isinstance(row, PropagatedRows))
            classes = np.eye(len(self.classes_))[self.label_distributions_.argmax(axis=1)]
            linked = rows.nodes.links(rows.index, len(classes)) @ classes
        return self._model.explain(None, self.classes_, chosen, views, linked)

    def suggest(self, k: int = 10, *, among: Any = None) -> NDArray[np.intp]:
        """Return the rows to label next, the most useful first.

        Most other rows, weighted by the uncertainty of their predictions, are like these rows or
        like a labelled one (:mod:`lowrankgcn.gp.suggestion`). With fewer than ten labels, all rows
        count alike.

        Parameters
        ----------
        k : int
            Number of rows.
        among : int array or (n,) mask, optional
            Rows to choose from; those with a label are never suggested.

        Returns
        -------
        (k,) int array
            Positions among the rows given to fit.

        Raises
        ------
        ValueError
            If fewer than `k` rows have no label, the classifier was loaded from a file (files do
            not keep the rows), or the rows given to fit were a Dask collection.

        Examples
        --------
        >>> import lowrankgcn as lg, numpy as np
        >>> spiral = lg.datasets.load_spiral(100, random_state=0)
        >>> y = np.full(500, -1)
        >>> y[::100] = range(5)  # one row of each orb
        >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(spiral.data, y)
        >>> rows = classifier.suggest(10)
        >>> rows.shape, bool((y[rows] == -1).all())
        ((10,), True)
        """
        prepared, shares, sample = self._fitted_rows(), self.label_distributions_, self._sample
        labelled, views, seed = self._model.labelled, prepared.views, prepared.seed
        candidates = _candidates(k, len(shares), sample, labelled, among)
        if len(labelled) < TRUSTED_LABELS:
            known = np.flatnonzero(np.isin(sample, labelled))
            chosen = first_of_views(views, k, candidates, known, seed)
        else:
            process, weights = self._model.process, entropy(shares[sample])
            chosen = choose_rows(process, views.views, weights, candidates, k, random_state=seed)
        rows: NDArray[np.intp] = sample[chosen]
        return rows

    def column_importance(self) -> dict[str | int, float]:
        """Return the importance of every column in use, largest first.

        The values of a column are permuted among at most 300 of the rows given to fit (fewer for
        more than 30 columns). Its importance is the mean change of the class distributions (total
        variation), relative to the sum over all columns. A graph object stays as it is.

        Raises
        ------
        ValueError
            If X had no columns, or the classifier was loaded from a file.
        """
        prepared = self._fitted_rows()
        maps = self._model.maps
        if maps.features is None or maps.nodes is not None or self._fit.fitted_only:
            raise invalid("column_importance", "a classifier fitted to a table", "a graph")
        return self._model.column_importance(prepared.sample.data, prepared.seed)

    def _fitted_rows(self) -> PreparedRows:
        """Return the rows given to fit; raise if they are not in memory."""
        check_is_fitted(self)
        if not hasattr(self, "_prepared"):
            expected = "a classifier fitted in this process, because files do not keep the rows"
            raise invalid("classifier", expected, "one from a file")
        if not isinstance(self.label_distributions_, np.ndarray):
            expected = "a classifier fitted to data in memory"
            raise invalid("classifier", expected, "one fitted to a Dask collection")
        return self._prepared

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse |= isinstance(self.graph, Graph) or self.graph == "auto"
        return tags


def first_rows(
    X: Any,
    k: int = 10,
    *,
    labelled: Any = (),
    among: Any = None,
    graph: str | Graph = "auto",
    random_state: int = 0,
) -> NDArray[np.intp]:
    """Return the rows to label first, before there are labels of two classes.

    Parameters
    ----------
    X : array, DataFrame or Graph
        All rows.
    k : int
        Number of rows.
    labelled : int array or (n,) mask, optional
        Rows that have a label already.
    among : int array or (n,) mask, optional
        Rows to choose from.
    graph : str or Graph
        As for :class:`lowrankgcn.SpectralGPClassifier`.
    random_state : int

    See Also
    --------
    lowrankgcn.SpectralGPClassifier.suggest : Rows to label next.

    Notes
    -----
    All other rows are like these rows or like a labelled one, by the covariance of the prior
    (:mod:`lowrankgcn.gp.suggestion`). Of more than 20,000 rows, a sample is considered.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> from lowrankgcn.estimators import first_rows
    >>> spiral = lg.datasets.load_spiral(100, random_state=0)
    >>> rows = first_rows(spiral.data, 5)
    >>> len(set(spiral.target[rows].tolist())) > 3
    True
    """
    seed = positive_int(random_state, "random_state", minimum=0)
    classifier = SpectralGPClassifier(graph=graph)
    settings = checked(GPParameters, classifier.get_params())
    rows = read_rows(classifier, X, settings.graph, numbers="table")
    known = np.unique(node_index(labelled, "labelled", rows.n_rows))
    prepared = prepare_rows(rows, settings, seed, known)
    sample = prepared.sample.index
    candidates = _candidates(k, rows.n_rows, sample, known, among)
    places = np.searchsorted(sample, known)
    first: NDArray[np.intp] = sample[first_of_views(prepared.views, k, candidates, places, seed)]
    return first


def _candidates(
    k: int, n: int, sample: Any, labelled: NDArray[Any], among: Any
) -> NDArray[np.intp]:
    """Return the rows that may be suggested, at least `k`, as positions in a sample of n rows."""
    free = np.zeros(n, bool)
    free[slice(None) if among is None else node_index(among, "among", n)] = True
    free[labelled] = False
    candidates = np.flatnonzero(free[sample])
    if positive_int(k, "k") > len(candidates):
        expected = f"at most {len(candidates)}, the number of sampled rows without a label"
        raise invalid("k", expected, k)
    return candidates

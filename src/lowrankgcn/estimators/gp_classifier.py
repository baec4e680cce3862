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
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._parallel import limited_threads, single_threaded_blas_if_small
from lowrankgcn._progress import listening
from lowrankgcn._validation import invalid, node_index, positive_int
from lowrankgcn.estimators.class_labels import Labels, read_labels
from lowrankgcn.estimators.gp_fitting import PreparedRows, fit_gp, prepare_rows
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.gp_readouts import ProcessClassifier, free_candidates
from lowrankgcn.estimators.label_notes import warn_of_labels
from lowrankgcn.estimators.parameters import GPParameters, checked
from lowrankgcn.estimators.rows import Fit, read_rows
from lowrankgcn.estimators.semi_supervised import (
    distributed_module,
    draw_seed,
    warn_of_unplaced,
)
from lowrankgcn.gp.suggestion import first_of_views
from lowrankgcn.gp.views import RowViews, node_views
from lowrankgcn.graphs import Graph
from lowrankgcn.graphs.foreign import as_graph


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralGPClassifier(ProcessClassifier):
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
        are propagated over given edges or hyperedges (``lowrankgcn.gp.graph_filters``). Graphs of
        NetworkX, data of PyTorch Geometric and matrices of weights are graph objects too. Sparse
        rows are features, such as word counts: wide ones are propagated over their nearest
        neighbours; with "hypergraph" they are an incidence matrix. For weights, incidence rows or a
        graph in place of X, the spectral blocks of that graph are the only ones.
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
    class_weight : None, "balanced" or mapping from class to float
        The parameter of other classifiers, for class shares: "balanced" means
        ``class_shares="equal"``, and weights multiply the shares of the labels (classes that are
        not named have weight 1). It needs ``class_shares="auto"``.
    fit_rows : int
        With more rows than this, graphs and features are fitted to a uniform sample of this size,
        which includes all labelled rows; the other rows are classified like new rows. More
        rows may improve probabilities of points in two or three dimensions; the time of the fit
        grows in proportion.
    tol : float
        Largest residual of the eigenpairs.
    n_jobs : int, optional
        Number of threads of ``fit``, ``predict`` and the like; −1 for all processors. By default
        the environment variable ``LOWRANKGCN_NUM_THREADS``, or all processors.
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
        Means over the classes with at least two labels. Recall and precision of a class are
        estimated as the accuracy is; F1 is their harmonic mean.
    loo_log_loss_ : float
        Mean cross-entropy of the leave-one-out distributions.
    loo_distributions_ : (m, C) array
        Leave-one-out distributions of the labelled rows, in their order, under the class shares of
        the labels; with ``class_shares="equal"`` under equal ones.
    unseen_share_ : float
        Share of rows that may be of classes without a label (Good and Turing); NaN if the labels
        were drawn class by class, or are too few.
    evidence_ : Evidence
        All of these, confusion, scores of each class, reliability. Computed when it is needed
        first, like the attributes above.
    approximations_ : tuple of str
        What is estimated or left out for features on a graph, and how large the errors are.
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
    >>> table = cars.data.drop(columns="buying")  # the class itself
    >>> y = np.full(1728, "", dtype=object)
    >>> y[cars.training] = cars.target.iloc[cars.training].astype(str)
    >>> classifier = lg.SpectralGPClassifier(random_state=0).fit(table, y)
    >>> sorted(classifier.graphs_)
    ['gaussian', 'hypergraph', 'neighbours']
    >>> classifier.predict_proba(table.head(2)).shape
    (2, 4)
    """

    graph: Any = "auto"
    blocks: Any = "auto"
    rank: int = 100
    class_shares: Any = "auto"
    class_weight: Any = None
    fit_rows: int = 20_000
    tol: float = 1e-2
    n_jobs: int | None = None
    random_state: Any = None
    verbose: bool = False

    _model: GPModel = field(init=False)
    _prepared: PreparedRows = field(init=False)  # not in classifiers from files

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to the labelled rows and classify all rows.

        Parameters
        ----------
        X : array, DataFrame, sparse array or Graph
            All rows, labelled or not. A Dask DataFrame or array is sampled, see
            :mod:`lowrankgcn.distributed`; results per row are then lazy.
        y : (n,) array
            Labels; −1, None, NaN and "" mark unlabelled rows.
        sample_weight : (n,) array, optional
            A labelled row of weight w counts as w equal labels of that row: its noise has the
            variance 1/w. A label of weight zero is ignored, and weights of unlabelled rows have no
            effect. Leave-one-out results count every labelled row once.

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
        LabelWarning
            If classes differ by spelling only, a class may mark unlabelled rows, or a column of a
            table has a value of its own for each class.
        UnlabelledComponentWarning
            If there are no features, and a component of the graph has no label.
        """
        if (lazy := distributed_module(X, y, sample_weight)) is not None:
            lazy.fit(self, X, y, sample_weight)
            return self
        settings = checked(GPParameters, self.get_params(deep=False))
        rows = read_rows(self, X, settings.graph, y, numbers="table")
        labels = read_labels(y, rows.n_rows)
        if sample_weight is not None:
            labels = labels.weighted(sample_weight)
        warn_of_labels(labels, rows)
        shown = listening(lambda step, done, total: print(step, file=sys.stderr))
        limits = limited_threads(self.n_jobs)
        with (
            limits,
            shown if self.verbose else nullcontext(),
            single_threaded_blas_if_small(rows.n_rows),
        ):
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
        nodes = model.maps.nodes
        self.approximations_ = () if nodes is None else nodes.approximations
        self.__dict__.pop("evidence_", None)

    def update_graph(self, graph: Any) -> NDArray[np.float64]:
        """Classify the fitted nodes again after edges have changed, without another fit.

        Features, labels, amplitudes and coefficients stay. The attributes ``graph_``,
        ``label_distributions_`` and ``transduction_`` change, and new nodes are joined to the new
        graph.

        Parameters
        ----------
        graph : Graph or (n, n) matrix of weights
            Of the fitted nodes, as for the parameter `graph`.

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
        if maps.nodes is None or not maps.nodes.has_edges:
            raise invalid("update_graph", "a classifier of features on a graph", "another one")
        if (made := as_graph(graph)) is None:
            raise invalid("graph", "a graph or a matrix of weights", type(graph).__name__)
        prepared = self._fitted_rows() if maps.features is not None else None
        nodes = maps.nodes.with_edges(made)
        parts: dict[str, Any] = dict(prepared.views.parts) if prepared is not None else {}
        if "given" in parts:
            at = maps.embeddings["given"].coordinates  # damped, so only its change is used
            parts["given"] = parts["given"] + at(nodes.edges) - at(maps.nodes.edges)
        parts |= node_views(nodes)
        model = replace(self._model, maps=replace(maps, nodes=nodes))
        shares = model.process.distributions(model.compiled.at(parts))
        results = self._fit.results | {"label_distributions_": shares, "graph_": made}
        self._restore(replace(self._fit, model=model, results=results))
        self.graphs_ = {"given": made}
        if hasattr(self, "_prepared"):
            fitted = replace(self._prepared.views, maps=model.maps, parts=parts)
            self._prepared = replace(self._prepared, views=fitted)
        return shares

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
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
    candidates = free_candidates(k, rows.n_rows, sample, known, among)
    places = np.searchsorted(sample, known)
    first: NDArray[np.intp] = sample[first_of_views(prepared.views, k, candidates, places, seed)]
    return first

"""The semi-supervised scikit-learn classifier.

>>> import numpy as np, lowrankgcn as lg
>>> spiral = lg.datasets.load_spiral(200, random_state=0)
>>> y = np.full(1000, -1)
>>> y[::50] = spiral.target[::50]
>>> classifier = lg.GCNClassifier(random_state=0).fit(spiral.data, y)
>>> bool((classifier.transduction_ == spiral.target).mean() > 0.8)
True
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._validation import finite_array, invalid
from lowrankgcn.estimators.dask_dispatch import distributed_module
from lowrankgcn.estimators.fitting import Fitted, fit, read_data
from lowrankgcn.estimators.inspection import InspectionMixin
from lowrankgcn.estimators.labels import Labels, known_labels
from lowrankgcn.estimators.rows import Kind, check_rows
from lowrankgcn.exceptions import UnlabelledComponentWarning, warn_caller

__all__ = ["GCNClassifier"]


class GCNClassifier(InspectionMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    r"""Semi-supervised classifier: a graph of all rows, and networks trained on the labelled ones.

    Rows become nodes of a graph. A few eigenpairs of its Laplacian 𝓛 describe the clusters. Small
    networks :math:`X^{l+1} = \sigma(\sum_k \mathcal{K}^{(k)} X^l \Theta^{(k)})` with
    :math:`\mathcal{K}^{(k)} = U \varphi_k(\Lambda) U^T` (equation 2) are trained on the labels.

    Parameters
    ----------
    graph : {"auto", "gaussian", "hypergraph", "knn", "precomputed"} or Graph
        Graph of the rows. "auto": a hypergraph for tables with categories (numbers are binned); for
        numbers, the Gaussian graph where fast sums are cheap, else ten nearest neighbours.
        "precomputed": X is the matrix of weights. With a graph object, X holds the features only.
        Without features the networks use the eigenvectors.
    architecture : {"auto", "full", "low-rank", "reduced"}
        GCN with kernels of full rank, of rank r (L-GCN), or with the activation in spectral space
        (R-GCN). "auto" compares candidates, see `selection`.
    filter : "auto", name, Filter, callable or list
        Filter φ; a list gives K > 1 basis functions. "auto": 1/(λ + ε), compared with other filters
        if the architecture is given.
    rank : int or "auto"
        Number of eigenpairs. "auto": 30, and the number before an eigengap if there is a clear one.
    bandwidth : float or "auto"
        Bandwidth of Gaussian graphs, in the units of X. "auto" scales the columns to comparable
        ranges and uses twice the median distance to the tenth neighbour.
    smoother : None, "none", "identity", "hypergraph", "combined", float or array
        Loops of the Laplacian, see :class:`Laplacian`; None uses the graph's own.
    hidden_widths : tuple of int or "auto"
        Widths of hidden layers; "auto": (32,).
    n_restarts : int or "auto"
        Random initialisations trained in one batch; "auto": 3.
    optimizer : {"auto", "gd", "adam", "lbfgs"}
    learning_rate : float or "auto"
        "auto": 0.02 for Adam, 0.2 for gradient descent.
    max_iter : int or "auto"
        Maximum number of iterations; "auto": 200.
    l2_penalty : float or "auto"
        Penalty ρ on the weights of all layers; "auto": 0.4 over the number of labelled rows.
    bias : bool or "auto"
        Whether layers have biases; "auto": True.
    dropout : float
        Share of hidden units dropped at random in training.
    early_stopping : bool
        Whether to stop a restart when its loss no longer decreases.
    class_weight : None, "balanced" or mapping
        Weights of the classes in the loss.
    restarts : {"ensemble", "best"}
        Average the distributions of all restarts, or use the restart of lowest loss.
    selection : {"average", "best"}
        Average the candidates' distributions with weights from cross-validation on the labelled
        rows, or use the best candidate.
    preset : {"default", "paper"}
        Meaning of "auto". "paper": L-GCN of rank 20 with the pseudoinverse, raw features, 16 hidden
        units without bias, 1000 steps of 0.2, ρ = 0.0005 on the first layer.
    tol : float
        Accuracy of fast sums and eigenpairs.
    dtype : {"float32", "float64"}
        Type of the network weights; set-up is always float64.
    device : str
        Torch device.
    random_state : None, int or RandomState
    verbose : bool
        Whether to show progress.

    Attributes
    ----------
    classes_ : (C,) array
    label_distributions_ : (n, C) array
        Class distributions of the rows given to fit.
    transduction_ : (n,) array
        Predicted classes of the rows given to fit.
    graph_ : Graph
    eigenpairs_ : Eigenpairs or None
        Eigenpairs of the Laplacian, None at full rank. Each vector has the sign of its overlap with
        the features; with ``preset="paper"``, that of :func:`lowrankgcn.eigenpairs`.
    laplacian_ : Laplacian
    selection_ : Selection
        Candidates with cross-validated accuracy, loss and share; prints as a table.
    networks_ : list of torch modules
        Trained networks, largest share first.
    loss_curve_ : (T, s) array
        Losses of all restarts of the first network.
    n_iter_ : int
        Number of iterations of the longest training run.
    timings_ : dict
        Seconds for set-up, selection, training and prediction.
    unplaced_ : (n,) bool array
        Rows in graph components without a label; their distribution is uniform.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Set-up costs one or two passes over the rows for hypergraphs and landmark kernels; training an
    R-GCN is independent of n, an L-GCN O(n r N) per iteration. Memory is O(n (r + p)) for p
    columns: the indicators of a table's categories are not stored, except at full rank.

    For Dask collections (:mod:`lowrankgcn.distributed`) the attributes with one entry per row are
    lazy Dask arrays, and the graph does not hold its rows.

    The Nyström formula extends the eigenvectors to new rows through the cross-kernel (points), the
    hyperedges (tables) or the given weights, independently for each row.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> cars = lg.datasets.load_cars(target="buying", as_frame=True)
    >>> y = np.full(1728, "", dtype=object)
    >>> y[cars.training] = cars.target.iloc[cars.training].astype(str)
    >>> classifier = lg.GCNClassifier(random_state=0).fit(cars.data, y)
    >>> classifier.graph_
    Hypergraph(1728 nodes, 21 hyperedges)
    >>> classifier.predict_proba(cars.data.head(2)).shape
    (2, 4)
    """

    def __init__(
        self,
        *,
        graph: Any = "auto",
        architecture: str = "auto",
        filter: Any = "auto",
        rank: int | str = "auto",
        bandwidth: float | str = "auto",
        smoother: Any = None,
        hidden_widths: Any = "auto",
        n_restarts: int | str = "auto",
        optimizer: str = "auto",
        learning_rate: float | str = "auto",
        max_iter: int | str = "auto",
        l2_penalty: float | str = "auto",
        bias: bool | str = "auto",
        dropout: float = 0.0,
        early_stopping: bool = False,
        class_weight: Any = None,
        restarts: str = "ensemble",
        selection: str = "average",
        preset: str = "default",
        tol: float = 1e-4,
        dtype: str = "float32",
        device: str = "cpu",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.graph = graph
        self.architecture = architecture
        self.filter = filter
        self.rank = rank
        self.bandwidth = bandwidth
        self.smoother = smoother
        self.hidden_widths = hidden_widths
        self.n_restarts = n_restarts
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.l2_penalty = l2_penalty
        self.bias = bias
        self.dropout = dropout
        self.early_stopping = early_stopping
        self.class_weight = class_weight
        self.restarts = restarts
        self.selection = selection
        self.preset = preset
        self.tol = tol
        self.dtype = dtype
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the labelled rows and classify all rows.

        Parameters
        ----------
        X : array, DataFrame, sparse array or Graph
            All rows, labelled or not. A Dask DataFrame or array is read block by block, see
            :mod:`lowrankgcn.distributed`; results per row are then lazy.
        y : (n,) array
            Labels; −1, None, NaN and "" mark unlabelled rows.
        sample_weight : (n,) array, optional
            Weights of labelled rows in the loss.

        Returns
        -------
        GCNClassifier
            The classifier itself.

        Raises
        ------
        ValueError
            If an argument is invalid, no row is labelled, or all labels are of one class.

        Warns
        -----
        UnlabelledComponentWarning
            If a graph component has no label; its rows get a uniform distribution.
        ConvergenceWarning
            If training did not converge.
        """
        if (lazy := distributed_module(X, y, sample_weight)) is not None:
            lazy.fit(self, X, y, sample_weight)
            return self
        rows, labels, settings, seed = read_data(self, X, y)
        weights = None
        if sample_weight is not None:
            weights = finite_array(sample_weight, "sample_weight", ndim=1)
            if weights.shape != (rows.n_rows,) or weights.min() < 0:
                got = f"shape {weights.shape}, minimum {weights.min(initial=np.inf):g}"
                raise invalid("sample_weight", f"{rows.n_rows} numbers >= 0", got)
            if not weights[labels.index].any():
                raise invalid("sample_weight", "a labelled row of weight > 0", "zero weights only")
        fitted = fit(rows, labels, settings, weights, seed)
        self._keep(labels, fitted, rows.later, int(fitted.unplaced.sum()))
        return self

    def _keep(self, labels: Labels, fitted: Fitted, kind: Kind, n_unplaced: int) -> None:
        """Set the fitted attributes."""
        self.classes_ = labels.classes
        self.label_distributions_ = fitted.distributions
        self.transduction_ = fitted.transduction
        self.graph_, self.laplacian_ = fitted.graph, fitted.laplacian
        self.eigenpairs_ = fitted.pairs
        self.selection_ = fitted.selection
        self.networks_ = [trained.network for trained in fitted.networks]
        records = [trained.record for trained in fitted.networks]
        self.loss_curve_ = records[0].loss_curve
        self.n_iter_ = max(int(record.n_iter.max()) for record in records)
        self.timings_ = fitted.timings
        self.unplaced_ = fitted.unplaced
        self._kind, self._model = kind, fitted.model
        self._labelled, self._evidence = labels.index, fitted.evidence
        if n_unplaced:
            warn_caller(
                f"{n_unplaced} of {labels.n_rows} rows belong to parts of the graph without any "
                "label; their class distribution is uniform. Label a row of each part.",
                UnlabelledComponentWarning,
            )

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict class distributions, shape (q, C), in the order of ``classes_``.

        Parameters
        ----------
        X : array, DataFrame or sparse array
            Rows like those given to fit: with ``graph="precomputed"`` their weights to the fitted
            rows, shape (q, n); with sparse incidence rows, incidence rows; with a graph in place of
            X, rows like those the graph was built from. For a Dask collection the result is a lazy
            Dask array.

        Raises
        ------
        ValueError
            If the rows are not like those at fitting, or a graph object was given that was not
            built from X and cannot be extended to new rows.
        """
        check_is_fitted(self)
        if (lazy := distributed_module(X)) is not None:
            distributions: NDArray[np.float64] = lazy.predict_proba(self, X)
            return distributions
        data = check_rows(self, X, self._kind)
        if self._model is None:
            expected = "the fitted rows (see label_distributions_)"
            raise invalid("X", expected, "new rows, but the graph was not built from X")
        shares, lost = self._model.distributions(data)
        if lost.any():
            warn_caller(
                f"{int(lost.sum())} of {len(lost)} rows have no affinity to any labelled part of "
                "the graph; their class distribution is uniform",
                UnlabelledComponentWarning,
            )
        return shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, shape (q,)."""
        if (lazy := distributed_module(X)) is not None:
            check_is_fitted(self)
            lazily: NDArray[Any] = lazy.predict(self, X)
            return lazily
        shares = self.predict_proba(X)
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
        if sample_weight is not None:
            sample_weight = finite_array(sample_weight, "sample_weight", ndim=1)
            if len(sample_weight) != count:
                raise invalid("sample_weight", f"{count} numbers", len(sample_weight))
            sample_weight = sample_weight[index]
        return float(accuracy_score(values, predicted[index], sample_weight=sample_weight))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return log-probabilities (q, C), or the log-odds (q,) of two classes."""
        logs = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        graph = self.graph if isinstance(self.graph, str) else ""
        tags.input_tags.pairwise = graph == "precomputed"
        tags.input_tags.sparse = graph in ("precomputed", "hypergraph")
        return tags

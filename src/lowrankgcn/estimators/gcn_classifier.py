"""The networks of the paper as a semi-supervised scikit-learn classifier.

>>> import numpy as np, lowrankgcn as lg
>>> spiral = lg.datasets.load_spiral(200, random_state=0)
>>> y = np.full(1000, -1)
>>> y[::50] = spiral.target[::50]
>>> classifier = lg.GCNClassifier(random_state=0).fit(spiral.data, y)
>>> bool((classifier.transduction_ == spiral.target).mean() > 0.8)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from lowrankgcn.estimators.class_labels import read_labels, read_weights
from lowrankgcn.estimators.parameters import read_gcn_parameters
from lowrankgcn.estimators.rows import read_rows
from lowrankgcn.estimators.semi_supervised import (
    SemiSupervisedClassifier,
    distributed_module,
    draw_seed,
    warn_of_unplaced,
)


@dataclass(kw_only=True, eq=False, repr=False)
class GCNClassifier(SemiSupervisedClassifier):
    r"""Graph convolutional network on a graph of all rows, trained on the labelled ones.

    Rows become nodes of a graph. A network with the layers
    :math:`X^{l+1} = \sigma(\sum_k \mathcal{K}^{(k)} X^l \Theta^{(k)})` (equation 2) is trained on
    the labels. Its kernels :math:`\mathcal{K}^{(k)} = U \varphi_k(\Lambda) U^T` are filters of the
    graph Laplacian 𝓛, by default with few of its eigenpairs, which describe the clusters.

    Parameters
    ----------
    graph : {"auto", "gaussian", "hypergraph", "knn", "precomputed"} or Graph
        Graph of the rows. "auto": a hypergraph for tables with categories (numbers are binned); for
        numbers, the Gaussian graph where fast sums are cheap, else ten nearest neighbours.
        "precomputed": X is the matrix of weights. With a graph object, X holds the features only.
        Without features the networks use the eigenvectors.
    architecture : {"low-rank", "reduced", "full"}
        GCN with kernels of rank r (L-GCN), with the activation in spectral space (R-GCN), or with
        kernels of full rank. Training an R-GCN does not depend on the number of rows. Networks of
        full rank classify the rows given to fit only.
    filter : "auto", name, Filter, callable or list
        Filter φ; a list gives K > 1 basis functions. "auto": 1/(λ + ε), where ε is the C-th
        positive eigenvalue for C classes; "linear" at full rank.
    rank : int or "auto"
        Number r of eigenpairs, not used at full rank. "auto": 30, or less for fewer rows or
        hyperedges.
    bandwidth : float or "auto"
        Bandwidth of Gaussian graphs, in the units of X. "auto" scales the columns to comparable
        ranges and uses twice the median distance to the tenth neighbour.
    smoother : None, "none", "identity", "hypergraph", "combined", float or array
        Loops of the Laplacian, see :class:`Laplacian`; None uses the graph's own.
    hidden_widths : tuple of int or "auto"
        Widths of hidden layers; "auto": (32,).
    n_restarts : int or "auto"
        Random initialisations, trained in one batch. Their distributions are averaged. "auto": 3.
    optimizer : {"auto", "gd", "adam"}
    learning_rate : float or "auto"
        "auto": 0.02 for Adam, 0.2 for gradient descent.
    max_iter : int or "auto"
        Maximum number of iterations; "auto": 200.
    l2_penalty : float or "auto"
        Penalty ρ on the weights of all layers. "auto": 0.4 / m for m labelled rows, 0.2 √n / m for
        "low-rank".
    bias : bool or "auto"
        Whether layers have biases; "auto": True.
    dropout : float
        Share of hidden units dropped at random in training.
    early_stopping : bool
        Whether to stop a restart when its loss no longer decreases.
    class_weight : None, "balanced" or mapping
        Weights of the classes in the loss.
    preset : {"default", "paper"}
        Meaning of "auto". "paper": rank 20, the pseudoinverse, raw features, 16 hidden units
        without bias, one restart, 1000 steps of 0.2, ρ = 0.0005 on the first layer.
    fit_rows : int
        With more rows than this, graph and network are fitted to a uniform sample of this size,
        which includes all labelled rows; the other rows are classified like new rows. Not used at
        full rank, nor for given graphs.
    tol : float
        Accuracy of fast sums and eigenpairs.
    dtype : {"float32", "float64"}
        Type of the network weights; set-up is always float64.
    device : str
        Torch device.
    random_state : None, int or RandomState
        Seed of all random choices; None for other choices in each fit.
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
        Graph of the rows given to fit, or of the sample.
    eigenpairs_ : Eigenpairs or None
        Eigenpairs of the Laplacian, None at full rank. Each vector has the sign of its overlap with
        the features; with ``preset="paper"``, that of :func:`lowrankgcn.eigenpairs`.
    laplacian_ : Laplacian
    networks_ : list of torch modules
        The trained network of each restart; those that diverged are left out. Their input are the
        features: standardised numbers and centred indicators of categories, raw ones with
        ``preset="paper"``, and √n U for a graph without features. The mean of their softmax is the
        prediction.
    loss_curve_ : (T, s) array
        Losses of all restarts.
    n_iter_ : int
        Number of iterations of the longest restart.
    timings_ : dict
        Seconds for "set-up", "training" and "prediction".
    unplaced_ : (n,) bool array
        Rows in graph components without a label; their distribution is uniform.
    columns_ : Columns or None
        How the columns of a table are read, see :func:`files.choose_columns`; None for arrays of
        numbers.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    SpectralGPClassifier : Gaussian process in closed form, without torch.
    nn.GCN : The network alone.
    nn.train : The training alone.
    save, load : Model files.

    Notes
    -----
    Set-up costs one or two passes over the rows for hypergraphs and landmark kernels. Training
    costs O(n r N) per iteration and restart for hidden layers of N units, O(r² N) for an R-GCN.
    Memory is O(n (r + N)), O(n r) for an R-GCN: the indicators of a table's categories are not
    stored, except at full rank. Here n is at most `fit_rows`, except at full rank.

    Missing numbers count as the median of their column; in a hypergraph, missing cells lie in no
    hyperedge.

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

    graph: Any = "auto"
    architecture: str = "low-rank"
    filter: Any = "auto"
    rank: int | str = "auto"
    bandwidth: float | str = "auto"
    smoother: Any = None
    hidden_widths: Any = "auto"
    n_restarts: int | str = "auto"
    optimizer: str = "auto"
    learning_rate: float | str = "auto"
    max_iter: int | str = "auto"
    l2_penalty: float | str = "auto"
    bias: bool | str = "auto"
    dropout: float = 0.0
    early_stopping: bool = False
    class_weight: Any = None
    preset: str = "default"
    fit_rows: int = 20_000
    tol: float = 1e-4
    dtype: str = "float32"
    device: str = "cpu"
    random_state: Any = None
    verbose: bool = False

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
        ModuleNotFoundError
            If torch is not installed.

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
        import lowrankgcn.nn  # noqa: F401  # torch is optional; without it this is a clear error
        from lowrankgcn.estimators.gcn_fitting import fit_gcn

        settings = read_gcn_parameters(self.get_params(deep=False))
        rows = read_rows(self, X, settings.graph, numbers="points")
        labels = read_labels(y, rows.n_rows)
        weights = read_weights(sample_weight, rows.n_rows, labels.index)
        sample, model, fitted_only, results = fit_gcn(
            rows, labels, settings, weights, draw_seed(self.random_state)
        )
        warn_of_unplaced(results["unplaced_"], "class distribution is uniform")
        self._set_fit(sample, labels, model, fitted_only, results)
        return self

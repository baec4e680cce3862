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

from lowrankgcn._parallel import limited_threads
from lowrankgcn._validation import invalid
from lowrankgcn.estimators.class_labels import (
    check_zero_weights,
    read_labels,
    read_weights,
    validation_labels,
)
from lowrankgcn.estimators.label_notes import warn_of_labels
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
        numbers, the Gaussian graph where fast sums are cheap, else ten nearest neighbours, of wide
        sparse rows (word counts) in 64 singular vectors.
        "precomputed": X is the matrix of weights. With a graph object, also one of NetworkX, data
        of PyTorch Geometric or a matrix of weights, X holds the features only.
        Without features the networks use the eigenvectors.
    architecture : {"auto", "low-rank", "reduced", "full"}
        GCN with kernels of rank r (L-GCN), with the activation in spectral space (R-GCN), or with
        kernels of full rank. Training an R-GCN does not depend on the number of rows. Networks of
        full rank classify the rows given to fit only. "auto": "full" for features on a given sparse
        graph or hypergraph, see Notes, else "low-rank".
    filter : "auto", name, Filter, callable or list
        Filter φ; a list gives K > 1 basis functions. "auto": 1/(λ + ε), where ε is the C-th
        positive eigenvalue for C classes; "linear" at full rank.
    rank : int or "auto"
        Number r of eigenpairs, not used at full rank. "auto": 30, or less for fewer rows or
        hyperedges. If the graph has more than r/2 components, r pairs with positive eigenvalues are
        used, and the null vectors of at most r components, those with most labels first.
    bandwidth : float or "auto"
        Bandwidth of Gaussian graphs, in the units of X. "auto" scales the columns to comparable
        ranges and uses twice the median distance to the tenth neighbour.
    smoother : "auto", None, "none", "identity", "hypergraph", "combined", float or array
        Loops of the Laplacian, see :class:`Laplacian`; None uses the graph's own. "auto": None, and
        "combined" for features on a given sparse graph (the renormalisation of Kipf and Welling).
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
    dropout : float or "auto"
        Share of hidden units dropped at random in training; "auto": 0.
    input_dropout : float or "auto"
        Share of the entries of the features dropped at random in training, at full rank only;
        "auto": 0.
    early_stopping : bool
        Whether to stop a restart when its loss no longer decreases. Validation rows, see
        :meth:`fit`, stop it in any case.
    class_weight : None, "balanced" or mapping
        Weights of the classes in the loss.
    preset : {"default", "paper", "kipf"}
        Meaning of "auto". "paper": rank 20, the pseudoinverse, raw features, 16 hidden units
        without bias, one restart, 1000 steps of 0.2, ρ = 0.0005 on the first layer. "kipf": the
        network of Kipf and Welling: full rank, the linear filter with loops of weight 1, rows of
        features divided by their sums, 16 hidden units, dropout 0.5 of input and hidden units, one
        restart, 200 steps of Adam with 0.01, ρ = 0.0005 on the first layer.
    fit_rows : int
        With more rows than this, graph and network are fitted to a uniform sample of this size,
        which includes all labelled rows; the other rows are classified like new rows. Not used at
        full rank, nor for given graphs.
    tol : float
        Accuracy of fast sums and eigenpairs.
    n_jobs : int, optional
        Number of threads of ``fit`` and ``predict``; −1 for all processors. By default the
        environment variable ``LOWRANKGCN_NUM_THREADS``, or all processors; torch has its own.
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
        ``preset="paper"``, rows of length one on a given sparse graph, and √n U for a graph without
        features. The mean of their softmax is the prediction.
    loss_curve_ : (T, s) array
        Losses of all restarts.
    n_iter_ : int
        Number of iterations of the longest restart.
    timings_ : dict
        Seconds for "set-up", "training" and "prediction".
    unplaced_ : (n,) bool array
        Rows in graph components without a label, and without features besides the graph; their
        distribution is uniform.
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

    For features on a given sparse graph or hypergraph, "auto" stands for the settings of
    ``preset="kipf"``, with five restarts, ρ = 0.005 and rows of features of length one. Wide
    non-negative features, such as word counts, stay sparse; other features are standardised, and
    more than 500 columns are reduced to 500 by a singular value decomposition. Every row is
    classified, also in components without a label.

    Missing numbers count as the median of their column; in a hypergraph, missing cells lie in no
    hyperedge.

    The Nyström formula extends the eigenvectors to new rows through the cross-kernel (points), the
    hyperedges (tables) or the given weights, independently for each row.

    Examples
    --------
    >>> import lowrankgcn as lg, numpy as np
    >>> cars = lg.datasets.load_cars(target="buying", as_frame=True)
    >>> table = cars.data.drop(columns="buying")  # the class itself
    >>> y = np.full(1728, "", dtype=object)
    >>> y[cars.training] = cars.target.iloc[cars.training].astype(str)
    >>> classifier = lg.GCNClassifier(random_state=0).fit(table, y)
    >>> classifier.graph_
    Hypergraph(1728 nodes, 17 hyperedges)
    >>> classifier.predict_proba(table.head(2)).shape
    (2, 4)
    """

    graph: Any = "auto"
    architecture: str = "auto"
    filter: Any = "auto"
    rank: int | str = "auto"
    bandwidth: float | str = "auto"
    smoother: Any = "auto"
    hidden_widths: Any = "auto"
    n_restarts: int | str = "auto"
    optimizer: str = "auto"
    learning_rate: float | str = "auto"
    max_iter: int | str = "auto"
    l2_penalty: float | str = "auto"
    bias: bool | str = "auto"
    dropout: float | str = "auto"
    input_dropout: float | str = "auto"
    early_stopping: bool = False
    class_weight: Any = None
    preset: str = "default"
    fit_rows: int = 20_000
    tol: float = 1e-4
    n_jobs: int | None = None
    dtype: str = "float32"
    device: str = "cpu"
    random_state: Any = None
    verbose: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None, validation: Any = None) -> Self:
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
        validation : (n,) array, optional
            Labels of further rows, −1, None, NaN or "" for all others. Each restart stops after
            `max_iter` / 20 iterations without a lower loss on these rows, and keeps the weights
            with the lowest one. These labels are not used otherwise.

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
            If a graph component has no label, and its rows have no features besides the graph;
            they get a uniform distribution.
        ConvergenceWarning
            If training did not converge.
        """
        if (lazy := distributed_module(X, y, sample_weight)) is not None:
            if validation is not None:
                raise invalid("validation", "None for Dask collections", type(validation).__name__)
            lazy.fit(self, X, y, sample_weight)
            return self
        import lowrankgcn.nn  # noqa: F401  # torch is optional; without it this is a clear error
        from lowrankgcn.estimators.gcn_fitting import fit_gcn

        settings = read_gcn_parameters(self.get_params(deep=False))
        rows = read_rows(self, X, settings.graph, y, numbers="points")
        labels = read_labels(y, rows.n_rows)
        warn_of_labels(labels, rows)
        weights = read_weights(sample_weight, rows.n_rows, labels.index)
        check_zero_weights(labels, weights[labels.index], "the network does not learn it")
        checked = None if validation is None else validation_labels(validation, labels)
        seed = draw_seed(self.random_state)
        with limited_threads(self.n_jobs):
            sample, model, fitted_only, results = fit_gcn(
                rows, labels, settings, weights, checked, seed
            )
        warn_of_unplaced(results["unplaced_"], "class distribution is uniform")
        self._set_fit(sample, labels, model, fitted_only, results)
        return self

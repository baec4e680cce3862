"""What a fitted Gaussian process classifier answers.

Predictions and their sets, unsure rows, explanations, suggestions, and importance of columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._validation import invalid, node_index, positive_int
from lowrankgcn.estimators.evidence_attributes import ClassifierWithEvidence
from lowrankgcn.estimators.explanation import By, Explanation
from lowrankgcn.estimators.gp_fitting import PreparedRows
from lowrankgcn.estimators.rows import IMPORTANCE, take
from lowrankgcn.estimators.semi_supervised import draw_seed
from lowrankgcn.gp.attribution import EVALUATIONS
from lowrankgcn.gp.propagated_rows import PropagatedRows
from lowrankgcn.gp.suggestion import TRUSTED_LABELS, choose_rows, entropy, first_of_views
from lowrankgcn.gp.views import RowViews

_EXPLAINED, _EXPLAINED_TABLE = 100, 30  # nodes from which the importance of columns is estimated


class ProcessClassifier(ClassifierWithEvidence):
    """A fitted Gaussian process; :class:`SpectralGPClassifier` fits it."""

    _prepared: PreparedRows  # not in classifiers from files

    def predict_proba(self, X: Any, edges: Any = None) -> NDArray[np.float64]:
        """Predict class distributions, shape (q, C), in the order of ``classes_``.

        Parameters
        ----------
        X : array, DataFrame or sparse array
            Rows like those given to fit: with ``graph="precomputed"`` their weights to the fitted
            rows, shape (q, n); with a graph in place of X, rows like those the graph was built
            from; with features on a graph, those of new nodes. For a Dask collection the result is
            a lazy Dask array.
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
        rows drawn like the labelled ones, about this share is marked on average, or less. With
        fewer than level / (1 − level) labels, 19 by default, no row is marked. Rows of a class
        without labels are marked only if they lie apart from the labelled rows: about two fifths of
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
            measures = prepared.complete(
                of_views(prepared.views.views),
                lambda parts: of_views(self._model.maps.views(parts)),
            )
        else:
            rows = self._new_rows(X)
            measures = self._model.distributions_and_novelty(rows, edges)[1]
        return self._model.unsure(measures, level)

    def explain(
        self, X: Any, *, by: str = "auto", edges: Any = None, evaluations: int = EVALUATIONS
    ) -> Explanation:
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
            "auto": columns for tables and sparse rows, otherwise rows. Features on a graph count
            where they are and where they are propagated to, relative to the mean over all nodes.
            Explanations also count the predicted classes of linked nodes.
        edges : optional
            Edges of new nodes, as for :meth:`predict_proba`.
        evaluations : int
            Largest number of mixed rows that are classified to explain a row by columns, unless
            four background rows take more. Fewer are faster and increase the errors.

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
        nodes, columns = maps.nodes, maps.features is not None or maps.nodes is not None
        allowed: tuple[By, ...] = ("columns", "rows", "blocks") if columns else ("rows", "blocks")
        if by not in (*allowed, "auto"):
            raise invalid("by", f"one of {allowed} for this data", repr(by))
        on_graph = nodes is not None and nodes.has_edges
        chosen: Any = by if by != "auto" else "rows" if on_graph else allowed[0]
        if nodes is None:
            count = positive_int(evaluations, "evaluations")
            X = self._new_rows(X)
            return self._model.explain(X, self.classes_, chosen, evaluations=count)
        if np.ndim(X) == 1 and not sp.issparse(X):  # fitted nodes
            index, prepared = node_index(X, "X", nodes.n_nodes), self._fitted_rows()
            parts: Any = prepared.at(index)
            X = take(prepared.sample.rows.data, index)
        else:
            X = self._new_rows(X)
            parts = maps.parts(X, edges)
        linked = None
        if hasattr(self, "label_distributions_") and on_graph:
            rows = next(row for row in parts.values() if isinstance(row, PropagatedRows))
            classes = np.eye(len(self.classes_))[self.label_distributions_.argmax(axis=1)]
            linked = rows.nodes.links(rows.index, len(classes)) @ classes
        return self._model.explain(X, self.classes_, chosen, parts, linked, self._names())

    def _names(self) -> Any:
        """Return the names of the columns of X, or their positions."""
        return getattr(self, "feature_names_in_", range(self.n_features_in_))

    def suggest(self, k: int = 10, X: Any = None, *, among: Any = None) -> NDArray[np.intp]:
        """Return the rows to label next, the most useful first.

        Most other rows, weighted by the uncertainty of their predictions, are like these rows or
        like a labelled one (:mod:`lowrankgcn.gp.suggestion`). With fewer than ten labels, all rows
        count alike.

        Parameters
        ----------
        k : int
            Number of rows.
        X : rows, optional
            Rows without labels to choose from, as for :meth:`predict`. By default the rows given to
            fit; a classifier from a file needs X, because files do not keep the rows.
        among : int array or (n,) mask, optional
            Rows to choose from; those with a label are never suggested.

        Returns
        -------
        (k,) int array
            Positions among the rows given to fit, or among those of X.

        Raises
        ------
        ValueError
            If fewer than `k` rows have no label, X is omitted and the classifier was loaded from a
            file, or the rows given to fit were a Dask collection.

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
        if X is not None:
            check_is_fitted(self)
            rows = self._new_rows(X)
            index = np.arange(rows.shape[0])
            candidates = free_candidates(k, len(index), index, index[:0], among)
            maps, seed = self._model.maps, draw_seed(self.random_state)
            views, weights = maps.views(maps.parts(rows)), entropy(self._model.distributions(rows))
            return choose_rows(
                self._model.process, views, weights, candidates, k, random_state=seed
            )
        prepared, shares, sample = self._fitted_rows(), self.label_distributions_, self._sample
        labelled, seed = self._model.labelled, prepared.seed
        candidates = free_candidates(k, len(shares), sample, labelled, among)
        if len(labelled) < TRUSTED_LABELS:
            known = np.flatnonzero(np.isin(sample, labelled))
            chosen = first_of_views(prepared.views, k, candidates, known, seed)
        else:
            process, weights = self._model.process, entropy(shares[sample])
            views = prepared.views.views
            chosen = choose_rows(process, views, weights, candidates, k, random_state=seed)
        suggested: NDArray[np.intp] = sample[chosen]
        return suggested

    def column_importance(self, X: Any = None) -> dict[str | int, float]:
        """Return the importance of every column in use, largest first.

        The values of a column are permuted among at most 300 rows (fewer for more than 30 columns).
        Its importance is the mean change of the class distributions (total variation), relative to
        the sum over all columns. A graph object stays as it is. For sparse rows and features on a
        graph, the importance is the mean size of the contributions of a column (:meth:`explain`) to
        at most 100 of the fitted rows, 30 for tables.

        Parameters
        ----------
        X : rows, optional
            By default the rows given to fit. A classifier from a file returns what it returned
            before, except for more than 30 columns if it was not computed then: it uses the 32
            rows that it keeps for explanations, and its ranking is rougher.

        Raises
        ------
        ValueError
            If the classifier was not fitted to columns, or the rows given to fit were a Dask
            collection.
        """
        check_is_fitted(self)
        maps = self._model.maps
        if maps.nodes is not None:
            if X is not None:
                raise invalid("X", "None for features on a graph and sparse rows", "rows")
            prepared, table = self._fitted_rows(), maps.features
            generator = np.random.default_rng(prepared.seed)
            count = min(maps.nodes.n_nodes, _EXPLAINED if table is None else _EXPLAINED_TABLE)
            some = np.sort(generator.choice(maps.nodes.n_nodes, count, replace=False))
            parts = prepared.at(prepared.sample.index[some])
            return self._model.node_importance(
                parts, self._names() if table is None else table.used
            )
        if maps.features is None or self._fit.fitted_only:
            raise invalid("column_importance", "a classifier fitted to a table", "a graph")
        if X is not None:
            rows = self._new_rows(X)
            return self._model.column_importance(rows, draw_seed(self.random_state))
        results = self._fit.results
        if IMPORTANCE not in results and hasattr(self, "_prepared"):
            prepared = self._fitted_rows()
            results[IMPORTANCE] = self._model.column_importance(prepared.sample.data, prepared.seed)
        if IMPORTANCE in results:
            return dict(results[IMPORTANCE])
        return self._model.column_importance(None, draw_seed(self.random_state))

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


def free_candidates(
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

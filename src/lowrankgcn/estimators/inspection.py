"""Explanations and labelling suggestions of a fitted classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._validation import invalid
from lowrankgcn.estimators.dask_dispatch import distributed_module
from lowrankgcn.estimators.explaining import explain
from lowrankgcn.estimators.explanation import Explanation
from lowrankgcn.estimators.rows import check_rows
from lowrankgcn.estimators.suggestion import suggest

__all__ = ["InspectionMixin"]


class InspectionMixin:
    """The methods ``explain`` and ``suggest`` of :class:`GCNClassifier`."""

    def explain(self: Any, X: Any, *, by: str = "auto") -> Explanation:
        r"""Explain predictions by an exact sum of contributions.

        The sum is the margin between the logits of the predicted class and the runner-up, averaged
        over the networks with their shares in the prediction.

        Parameters
        ----------
        X : array or DataFrame
            Rows to explain, as for :meth:`predict`.
        by : {"auto", "values", "rows"}
            "values": one contribution per column of a table, relative to an average row. "rows":
            one contribution per labelled row (at most 1000) through the kernel, and a remainder.
            "auto": values for tables with categories, rows otherwise.

        Returns
        -------
        Explanation
            A sequence with an entry for each row; prints as text.

        Raises
        ------
        ValueError
            If X is not like the fitted rows, `by` is not available for the graph, or the graph
            cannot be extended to new rows.

        Notes
        -----
        margin = baseline + Σ amounts + remainder holds to rounding. A network's margin is its
        log-odds; the probabilities beside it are those of the average of all softmaxes, which is
        not the softmax of the average: where networks disagree, the margin may be small or negative
        although the class is the most probable one. :mod:`lowrankgcn.estimators.explaining` gives
        the formulas.

        Missing values, and values that were not seen at fitting, belong to no hyperedge: their
        contribution is what the row lacks compared with an average row. Rows without affinity to a
        labelled component have no contributions, and ``placed`` is False.

        Examples
        --------
        >>> import lowrankgcn as lg, pandas as pd
        >>> table = pd.DataFrame({"skin": list("rrrgggrg"), "pips": list("mmmffffm")})
        >>> y = ["cherry", "", "", "kiwi", "", "", "cherry", "kiwi"]
        >>> classifier = lg.GCNClassifier(random_state=0).fit(table, y)
        >>> explanation = classifier.explain(table.head(1))
        >>> explanation[0].predicted, explanation[0].contributions[0].name
        ('cherry', 'skin')
        """
        check_is_fitted(self)
        if distributed_module(X):
            raise invalid("X", "rows in memory (load some by .compute())", "a Dask collection")
        data = check_rows(self, X, self._kind)
        if self._model is None:
            raise invalid("X", "a graph that new rows can join", "a graph without rows")
        return explain(self._model, self._evidence, data, self.classes_, by)

    def suggest(self: Any, k: int = 10, *, among: Any = None) -> NDArray[np.intp]:
        """Return the rows to label next, the most useful first.

        A greedy rule chooses uncertain rows that are spread over the spectral embedding and are not
        outliers (:mod:`lowrankgcn.estimators.suggestion`). Graph components without a label come
        first.

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
            not keep the graph), or the rows given to fit were a Dask collection.

        Notes
        -----
        O(n r (r + k)) for r eigenpairs; deterministic. Use
        :func:`lowrankgcn.estimators.first_rows` before there are labels of two classes.

        Examples
        --------
        >>> import lowrankgcn as lg, numpy as np
        >>> spiral = lg.datasets.load_spiral(100, random_state=0)
        >>> y = np.full(500, -1)
        >>> y[::100] = range(5)  # one row of each orb
        >>> classifier = lg.GCNClassifier(random_state=0).fit(spiral.data, y)
        >>> rows = classifier.suggest(10)
        >>> rows.shape, bool((y[rows] == -1).all())
        ((10,), True)
        >>> y[rows] = spiral.target[rows]  # label them and fit again
        """
        check_is_fitted(self)
        if not hasattr(self, "laplacian_"):
            raise invalid("classifier", "a classifier fitted in this process", "one from a file")
        if not isinstance(self.label_distributions_, np.ndarray):
            expected = "a classifier fitted to data in memory"
            raise invalid("classifier", expected, "one fitted to a Dask collection")
        return suggest(
            self.laplacian_,
            self.eigenpairs_,
            self._labelled,
            k,
            distributions=self.label_distributions_,
            among=among,
            n_classes=len(self.classes_),
        )

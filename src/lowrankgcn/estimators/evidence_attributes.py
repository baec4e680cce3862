"""What a fitted Gaussian process classifier says of its own quality and of its labels."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lowrankgcn.estimators.evidence import Evidence
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.label_audit import audit_labels
from lowrankgcn.estimators.semi_supervised import SemiSupervisedClassifier
from lowrankgcn.gp.shares import apply_factors


class ClassifierWithEvidence(SemiSupervisedClassifier):
    """Attributes whose evidence is computed when one of them is read."""

    class_shares: Any
    class_weight: Any
    _model: GPModel

    @cached_property
    def evidence_(self) -> Evidence:
        """Estimated quality; see the class."""
        model: GPModel = self._model
        shares, factors = model.held_out, model.process.factors
        words = [one for one in (self.class_shares, self.class_weight) if isinstance(one, str)]
        if "equal" in words or "balanced" in words:
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

    def audit(self) -> pd.DataFrame:
        """Compare each label with what the other labels predict for its row.

        Returns
        -------
        DataFrame
            One line for each labelled row, suspicious rows first, then the least probable labels:
            "row", its position among the rows given to fit; "label"; "label_probability", the
            probability of the label; "loo_class" and "loo_probability", the most probable class and
            its probability; "suspect", whether the row clearly looks like another class. All of
            these are predicted without the label of the row itself, and missing for the only label
            of a class.

        See Also
        --------
        evidence_ : Accuracy, confusion and reliability by the same predictions.

        Examples
        --------
        >>> import lowrankgcn as lg, numpy as np
        >>> X = np.r_[np.zeros((20, 2)), np.ones((20, 2))] + np.arange(80).reshape(40, 2) / 400
        >>> y = np.repeat(["low", "high"], 20)
        >>> y[3] = "high"  # a mistake
        >>> table = lg.SpectralGPClassifier(random_state=0).fit(X, y).audit()
        >>> table.row[table.suspect].tolist(), table.loo_class[0]
        ([3], 'low')
        """
        check_is_fitted(self)
        return audit_labels(self.evidence_, self.classes_, self._model.labelled)

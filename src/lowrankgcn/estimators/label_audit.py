"""Audit of labels: what the other labels say about each labelled row.

>>> import numpy as np
>>> shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8], [0.95, 0.05]])
>>> evidence = Evidence(np.array([0, 0, 1, 1, 1]), shares)
>>> table = audit_labels(evidence, np.array(["cat", "dog"]), np.arange(5))
>>> table.head(2)[["row", "label", "label_probability", "loo_class", "suspect"]].values.tolist()
[[4, 'dog', 0.05, 'cat', True], [1, 'cat', 0.8, 'cat', False]]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lowrankgcn.estimators.evidence import Evidence


def audit_labels(
    evidence: Evidence, classes: NDArray[Any], rows: NDArray[np.integer[Any]]
) -> pd.DataFrame:
    """Return what is predicted for every labelled row without its own label.

    Parameters
    ----------
    evidence : Evidence
        Leave-one-out results of the m labelled rows.
    classes : (C,) array
    rows : (m,) int array
        Their positions in the table.

    Returns
    -------
    DataFrame
        As :meth:`lowrankgcn.SpectralGPClassifier.audit`.
    """
    codes, shares, predicted = evidence.codes, evidence.distributions, evidence.predicted
    suspects = [place for place, _ in evidence.suspects]
    known = evidence.has_scores[codes]
    of_label = np.where(known, shares[np.arange(len(codes)), codes], np.nan)
    columns = {
        "row": rows,
        "label": classes[codes],
        "label_probability": of_label,
        "loo_class": pd.Series(classes[predicted], dtype=object).where(known, None),
        "loo_probability": np.where(known, shares.max(axis=1), np.nan),
        "suspect": np.isin(np.arange(len(codes)), suspects),
    }
    rest = np.argsort(of_label, kind="stable")  # NaN last
    order = [*suspects, *rest[~columns["suspect"][rest]]]
    return pd.DataFrame(columns).iloc[order].reset_index(drop=True)

"""Ten labels for each class, drawn at random; everybody else is unlabelled."""

from __future__ import annotations

import numpy as np

LABELS = 10


def ten_labels_per_class(classes: np.ndarray, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    labels = np.full(len(classes), -1)
    for label in np.unique(classes):
        chosen = generator.choice(np.flatnonzero(classes == label), LABELS, replace=False)
        labels[chosen] = label
    return labels

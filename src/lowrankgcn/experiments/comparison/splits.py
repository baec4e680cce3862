"""Which rows are labelled: random splits that all methods share.

>>> classes = np.array([0, 0, 0, 0, 1, 1, 1, -1])
>>> labels = draw_labels(classes, 2, split=0, seed=0)
>>> labels[7], (labels == 0).sum(), (labels == 1).sum()  # three rows: one label, two to test
(np.int64(-1), np.int64(2), np.int64(1))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._validation import invalid

__all__ = ["check_counts", "draw_labels", "draw_order", "labels_of", "split_seed"]

UNLABELLED = -1


def labels_of(size: int, count: int) -> int:
    """How many of a class's `size` rows are labelled: `count`, and never more than half of them."""
    return min(count, size // 2)


def check_counts(classes: NDArray[np.intp], counts: tuple[int, ...]) -> None:
    """Refuse numbers of labels for which no class has twice as many rows.

    Such a table would be one with fewer labels under a wrong name.
    """
    largest = int(np.bincount(classes[classes >= 0]).max())
    for count in counts:
        if 2 * count > largest:
            expected = f"at most {largest // 2}, half of the rows of the largest class"
            raise invalid("labels per class", expected, count)


def draw_labels(
    classes: NDArray[np.intp], count: int, *, split: int, seed: int
) -> NDArray[np.intp]:
    """The classes of `count` random rows of each class, −1 elsewhere.

    Parameters
    ----------
    classes : (n,) array of int
        Class of each row; −1 where it is not known, and such a row is neither labelled nor tested.
    count : int >= 1
        Labels per class; a class of fewer than ``2 * count`` rows gives half of them.
    split, seed : int >= 0
        Decide the draw, which depends on nothing else. Splits are nested: each class has one random
        order of rows per split, of which the first `count` are labelled.

    Returns
    -------
    (n,) array of int
    """
    generator = np.random.default_rng([seed, split])
    labels = np.full(len(classes), UNLABELLED, dtype=np.intp)
    for label in range(int(classes.max()) + 1):
        order = generator.permutation(np.flatnonzero(classes == label))
        labels[order[: labels_of(len(order), count)]] = label
    return labels


def draw_order(n_rows: int, split: int, seed: int) -> NDArray[np.intp]:
    """A random order of the rows, independent of the draw of the labels."""
    return np.random.default_rng([seed, split, 1]).permutation(n_rows).astype(np.intp)


def split_seed(split: int, seed: int) -> int:
    """The seed that every method gets for a split."""
    return int(np.random.SeedSequence([seed, split]).generate_state(1)[0] >> 1)

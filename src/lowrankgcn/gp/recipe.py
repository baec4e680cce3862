"""The blocks of a covariance: those of the rows alone, and those that also depend on the labels.

========================= ==================================================================
``linear``, ``radial``    kernels of the standard scores; with ``-ranks`` those of the ranks
``…-6``, ``-20``, ``-60`` flat filters: the first eigenvectors of a graph
``…-inverse``             the filter 0.01/(λ + 0.01) on all eigenvectors
``weighted-…``            kernels of the ranks, columns weighted by differences of classes
``random-forest``         leaves of a forest fitted to the labelled rows
========================= ==================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.gp.blocks import Block, LinearBlock, RadialBlock
from lowrankgcn.gp.leaves import LeafBlock
from lowrankgcn.operators import FloatArray
from lowrankgcn.spectral.filters import RegularizedInverse

_RANKS: dict[str, tuple[int, ...]] = {
    "neighbours": (6, 20, 60),
    "gaussian": (6,),
    "hypergraph": (6, 60),
    "given": (6, 20, 60),
}
_INVERTED = ("neighbours", "given")
_EPSILON = 0.01
_SHARPNESS = {"radial": 2.0, "radial-ranks": 6.0, "weighted-radial": 1.5}
_LEAST_WEIGHT = 0.05  # of a column, added to its share of variance between classes
_TREES = 200

SUPERVISED = ("weighted-linear", "weighted-radial", "random-forest")
BLOCK_NAMES = (
    "linear",
    "linear-ranks",
    *(f"{view}-{rank}" for view, ranks in _RANKS.items() for rank in ranks),
    *(f"{view}-inverse" for view in _INVERTED),
    "radial",
    "radial-ranks",
    *SUPERVISED,
)


def row_blocks(
    views: Mapping[str, FloatArray],
    eigenvalues: Mapping[str, FloatArray],
    labelled: NDArray[np.intp],
    wanted: tuple[str, ...] = BLOCK_NAMES,
) -> list[Block]:
    """Return the blocks that do not depend on the classes.

    Parameters
    ----------
    views : mapping from view to (n, d) array
    eigenvalues : mapping from spectral view to (r,) array
    labelled : (m,) int array
        Labelled rows, whose distances are the unit of radial blocks.
    wanted : tuple of str
        Names of blocks.
    """
    blocks: list[Block] = []

    def add(name: str, make: Any) -> None:
        if name in wanted:
            blocks.append(make())

    for suffix, view in (("", "standard"), ("-ranks", "ranks")):
        if view in views:
            rows = views[view]
            name, radial = f"linear{suffix}", f"radial{suffix}"
            add(name, lambda n=name, v=view, r=rows: LinearBlock.fit(n, v, r))
            add(
                radial,
                lambda n=radial, v=view, r=rows: RadialBlock.fit(n, v, r[labelled], _SHARPNESS[n]),
            )
    for view, values in eigenvalues.items():
        for rank in _RANKS[view]:
            flat = np.ones(min(rank, len(values)))
            name = f"{view}-{rank}"
            add(name, lambda n=name, v=view, w=flat: LinearBlock.fit(n, v, views[v], w))
        if view in _INVERTED:
            response = _EPSILON * RegularizedInverse(_EPSILON)(values)
            name, roots = f"{view}-inverse", np.sqrt(response)
            add(name, lambda n=name, v=view, w=roots: LinearBlock.fit(n, v, views[v], w))
    return blocks


def supervised_blocks(
    views: Mapping[str, FloatArray],
    labelled: NDArray[np.intp],
    classes: NDArray[np.intp],
    owners: NDArray[np.intp],
    *,
    random_state: int,
    wanted: tuple[str, ...] = BLOCK_NAMES,
) -> tuple[list[Block], float | None]:
    """Return the blocks that depend on the classes, and the out-of-bag loss of the forest.

    Parameters
    ----------
    views : mapping from view to (n, d) array
    labelled, classes : (m,) int arrays
    owners : (d,) int array
        Column of every feature.
    random_state : int
    wanted : tuple of str
    """
    blocks: list[Block] = []
    ranks, known = views["ranks"], views["ranks"][labelled]
    weights = np.sqrt(column_weights(known, classes, owners) + _LEAST_WEIGHT)[owners]
    if "weighted-linear" in wanted:
        blocks.append(LinearBlock.fit("weighted-linear", "ranks", ranks, weights))
    if "weighted-radial" in wanted:
        sharpness = _SHARPNESS["weighted-radial"]
        blocks.append(RadialBlock.fit("weighted-radial", "ranks", known, sharpness, weights))
    loss = None
    if "random-forest" in wanted:
        forest, out_of_bag = LeafBlock.fit(
            "random-forest",
            "standard",
            views["standard"][labelled],
            classes,
            n_trees=_TREES,
            random_state=random_state,
        )
        blocks.append(forest)
        careful = 0.9 * out_of_bag + 0.1 / out_of_bag.shape[1]
        loss = -float(np.log(careful[np.arange(len(classes)), classes]).mean())
    return blocks, loss


def column_weights(
    rows: FloatArray, classes: NDArray[np.intp], owners: NDArray[np.intp]
) -> FloatArray:
    """Return the share of each column's variance that lies between the classes, corrected for bias.

    Parameters
    ----------
    rows : (m, d) array
    classes : (m,) int array
    owners : (d,) int array
        Column of every feature.
    """
    m = len(classes)
    counts = np.bincount(classes)
    present = counts > 0
    means = np.zeros((len(counts), rows.shape[1]))
    np.add.at(means, classes, rows)
    means[present] /= counts[present, None]
    degrees = max(1, m - 1), max(1, m - int(present.sum()))
    squares = (rows - rows.mean(axis=0)) ** 2, (rows - means[classes]) ** 2
    total, within = (
        np.bincount(owners, part.sum(axis=0)).astype(np.float64) / freedom
        for part, freedom in zip(squares, degrees, strict=True)
    )
    varying = total > 1e-12
    return np.maximum(0.0, np.where(varying, 1.0 - within / np.where(varying, total, 1.0), 0.0))

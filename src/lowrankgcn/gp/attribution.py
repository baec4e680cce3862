r"""Contributions to the log-odds of two classes, which add up exactly.

The log-odds of classes p and r at row x are

.. math:: \log\frac{P_p(x)}{P_r(x)} = T \sum_i k(x, i) (\alpha_{ip} - \alpha_{ir})
          + \log\frac{s_p}{s_r}

with the factors s of the class shares. With k = c + Σ_b a_b k_b this is a sum over blocks b or over
labelled rows i, and a constant for the two classes. Blocks that are linear in the
features, or in the hyperedges of a table, are sums over columns relative to an average row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.gp.blocks import LinearBlock, Views
from lowrankgcn.gp.likelihood import CONSTANT
from lowrankgcn.gp.process import GaussianProcess
from lowrankgcn.gp.views import RowViews
from lowrankgcn.operators import FloatArray

Pair = tuple[NDArray[np.intp], NDArray[np.intp]]  # classes p and r of every row


def by_rows(process: GaussianProcess, views: Views, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Return the part of shares and constant (q,) and the contributions of labelled rows (q, m)."""
    K = process.kernel(process.represent(views), process.labelled) - CONSTANT
    difference = process.alpha[:, pair[0]] - process.alpha[:, pair[1]]
    return _level(process, pair), process.temperature * K * difference.T


def by_blocks(process: GaussianProcess, views: Views, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """Return the part of shares and constant (q,) and the contributions of blocks (q, B)."""
    rows = np.arange(len(pair[0]))
    columns = []
    for block, amplitude, readout in zip(
        process.blocks, process.amplitudes, process.readouts, strict=True
    ):
        scores = block.scores(block.represent(views), readout)
        columns.append(amplitude * (scores[rows, pair[0]] - scores[rows, pair[1]]))
    amounts = np.array(columns).reshape(len(columns), len(rows)).T
    return _level(process, pair), process.temperature * amounts


def by_columns(
    process: GaussianProcess, maps: RowViews, X: Any, pair: Pair
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Split blocks over columns where they are linear in them.

    Returns
    -------
    level : (q,) array
        Part of the class shares and of the constant.
    amounts : (q, p) array
        Contributions of the columns in use, relative to an average row.
    rest : (q, B) array
        Contributions of the other blocks; zero for blocks that are split.
    """
    assert maps.features is not None
    views = maps.read(X)
    level, blocks = by_blocks(process, views, pair)
    rest = blocks.copy()
    amounts = np.zeros((len(level), len(maps.features.columns)))
    for k, (block, readout) in enumerate(zip(process.blocks, process.readouts, strict=True)):
        if not isinstance(block, LinearBlock):
            continue
        factor = process.temperature * process.amplitudes[k]
        slopes = factor * (readout[:, pair[0]] - readout[:, pair[1]]).T  # (q, r)
        if block.view in ("standard", "ranks"):
            parts, owners = block.represent(views) * slopes, maps.features.owners
            np.add.at(amounts.T, owners, parts.T)
        elif block.view == "hypergraph":
            slopes = slopes * (block.weights / block.scale)
            amounts += maps.split_hypergraph(X, slopes)
        else:
            continue
        rest[:, k] = 0.0
    return level, amounts, rest


def _level(process: GaussianProcess, pair: Pair) -> FloatArray:
    """Return the part of the log-odds that is the same for all rows, by classes."""
    constant = process.temperature * CONSTANT * process.alpha.sum(axis=0)
    levels = constant + np.log(process.factors)
    difference: FloatArray = levels[pair[0]] - levels[pair[1]]
    return difference

r"""The Gaussian process: coefficients, scores, leave-one-out scores and covariances.

With the covariance :math:`k(x, y) = c + \sum_b a_b k_b(x, y)`, and noise of variance 1/w in a row
of weight w, α = G⁻¹Y over the labelled rows; row x has the scores
:math:`f(x) = k(x, \cdot) \alpha` and the class distribution softmax(T f(x)), multiplied by the
factors of the class shares. All weights are one by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from lowrankgcn._codec import saved
from lowrankgcn._parallel import chunks
from lowrankgcn.gp.blocks import Block, Views
from lowrankgcn.gp.leaves import LeafBlock
from lowrankgcn.gp.likelihood import CONSTANT, adapt, softmax, targets
from lowrankgcn.gp.propagated_block import PropagatedBlock
from lowrankgcn.gp.recipe import SUPERVISED, FewLabels, Prior, size_terms
from lowrankgcn.gp.shares import apply_factors
from lowrankgcn.operators import FloatArray

ADAPTED_ROWS = 600  # labelled rows that the amplitudes are adapted to, O(m³) a step
EXACT_ROWS, INDUCING_ROWS = 5000, 2000  # beyond the first, a random subset carries the solution
_CHUNK = 1024  # rows whose kernel is held at a time
_RANGE = (-12.0, 8.0)  # of log-amplitudes


@saved
@final
@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """A fitted process.

    Attributes
    ----------
    blocks : tuple of Block
        At least one.
    amplitudes : (B,) array
    labelled : tuple of arrays
        Representations of the m labelled (or inducing) rows, one for each block.
    index : (m,) int array
        Their positions among all labelled rows.
    alpha : (m, C) array
    temperature : float
    factors : (C,) array
        Factors of the class shares.
    constant : float
        Prior variance c of the constant.
    """

    blocks: tuple[Block, ...]
    amplitudes: Annotated[FloatArray, "b"]
    labelled: tuple[NDArray[Any], ...]
    index: Annotated[NDArray[np.int64], "m"]
    alpha: Annotated[FloatArray, "m c"]
    temperature: float
    factors: Annotated[FloatArray, "c"]
    constant: float = CONSTANT

    def __post_init__(self) -> None:
        for block, rows in zip(self.blocks, self.labelled, strict=True):
            if isinstance(block, LeafBlock):
                block.check(rows)

    @cached_property
    def readouts(self) -> tuple[Any, ...]:
        """What each block needs to compute scores."""
        pairs = zip(self.blocks, self.labelled, strict=True)
        return tuple(block.readout(rows, self.alpha) for block, rows in pairs)

    def represent(self, views: Views) -> tuple[Any, ...]:
        """Return the representations of rows, one for each block."""
        return tuple(block.represent(views) for block in self.blocks)

    def block_scores(self, views: Views) -> FloatArray:
        """Return the part of each block in the scores of few rows, shape (B, q, C)."""
        terms = zip(self.blocks, self.amplitudes, self.readouts, strict=True)
        return np.array([a * block.scores(block.represent(views), r) for block, a, r in terms])

    def distributions(self, scores: FloatArray) -> FloatArray:
        """Return class distributions of rows with these scores, shape (q, C)."""
        return apply_factors(softmax(self.temperature * scores), self.factors)

    def kernel(self, A: Sequence[Any], B: Sequence[Any]) -> FloatArray:
        """Return the covariances of represented rows, shape (p, q)."""
        total = np.full((len(A[0]), len(B[0])), self.constant)
        for block, amplitude, a, b in zip(self.blocks, self.amplitudes, A, B, strict=True):
            total += amplitude * block.kernel(a, b)
        return total

    def variances(self, A: Sequence[Any]) -> FloatArray:
        """Return k(x, x) of represented rows, without the constant c, shape (q,)."""
        parts = [block.variances(a) for block, a in zip(self.blocks, A, strict=True)]
        total: FloatArray = self.amplitudes @ np.array(parts)
        return total

    def held_out_kernel(
        self, kernel: FloatArray, labelled: Sequence[Any], index: NDArray[np.int64]
    ) -> FloatArray:
        """Return the covariances by which labelled rows are predicted without their labels.

        Trees have seen the labels of their bags, so only those without row i count for row i.

        Parameters
        ----------
        kernel : (m, m) array
            Of all trees.
        labelled : sequence of arrays
            Representations of labelled rows.
        index : (m,) int array
            Their positions among all labelled rows.
        """
        fair = kernel.copy()
        for block, amplitude, rows in zip(self.blocks, self.amplitudes, labelled, strict=True):
            if isinstance(block, LeafBlock):
                seen = block.kernel(rows, rows)
                fair += amplitude * (block.out_of_bag_kernel(rows, index) - seen)
        return fair


class FittedProcess(NamedTuple):
    """A process, and scores (m, C) of the labelled rows without their own labels."""

    process: GaussianProcess
    held_out: FloatArray


def fit_process(
    views: Mapping[str, FloatArray],
    classes: NDArray[np.intp],
    n_classes: int,
    blocks: Sequence[Block],
    forest_loss: float | None,
    prior: Prior,
    random_state: int,
    graph_trust: float = 0.0,
    weights: FloatArray | None = None,
) -> FittedProcess:
    """Adapt amplitudes and temperature, and solve for the coefficients.

    Parameters
    ----------
    views : mapping from view to (m, d) array
        Of the labelled rows.
    classes : (m,) int array
    n_classes : int
    blocks : sequence of Block
    forest_loss : float or None
        Out-of-bag loss of a forest, None without one.
    prior : Prior
    random_state : int
        Seed of the rows that are used if there are too many.
    graph_trust : float
        How far distances of rows can be trusted, from 0 to 1 (:meth:`FewLabels.boost`).
    weights : (m,) array, optional
        Positive weights w; the noise of a row has the variance 1/w.

    Notes
    -----
    O(B m²) memory for the adaptation with m ≤ 600, O(m²) for the solution with m ≤ 5000, beyond
    that O(m + 2000²) with 2000 inducing rows.
    """
    m, generator = len(classes), np.random.default_rng(random_state)
    Y, weights = targets(classes, n_classes), np.ones(m) if weights is None else weights
    few = FewLabels.of(np.bincount(classes, minlength=n_classes))
    constant = few.constant if prior.constant is None else prior.constant
    labelled = tuple(
        block.finished(block.represent(views))
        if isinstance(block, PropagatedBlock)
        else block.represent(views)
        for block in blocks
    )
    sample = sample_rows(np.arange(m), ADAPTED_ROWS, generator)
    free = [k for k, block in enumerate(blocks) if block.name not in SUPERVISED]
    kernels = np.array([blocks[k].kernel(labelled[k][sample], labelled[k][sample]) for k in free])
    adapted, common, temperature, loss = adapt(
        kernels.reshape(len(free), len(sample), len(sample)),
        Y[sample],
        classes[sample],
        np.array([prior.adaptation[blocks[k].name] for k in free]),
        float(size_terms(m, n_classes) @ prior.adaptation_temperature),
        constant,
        prior.spread,
        weights[sample],
    )
    # How much better the forest is on rows that neither has seen.
    better = 0.0 if forest_loss is None else (loss - forest_loss) / np.log(n_classes)
    kinds = ["forests" if isinstance(block, LeafBlock) else "columns" for block in blocks]
    shifts = common + better * np.array([prior.gates.get(kind, 0.0) for kind in kinds])
    shifts[free] = adapted
    shifts += [few.boost(block, n_classes, graph_trust) for block in blocks]
    log_amplitudes = np.array([prior.final[block.name] for block in blocks]) + shifts
    process = GaussianProcess(
        blocks=tuple(blocks),
        amplitudes=np.exp(np.clip(log_amplitudes, *_RANGE)),
        labelled=labelled,
        index=np.arange(m),
        alpha=np.zeros_like(Y),
        temperature=float(np.exp(prior.log_temperature(m, n_classes, temperature, few))),
        factors=np.ones(n_classes),
        constant=constant,
    )
    solve = _solve_exactly if m <= EXACT_ROWS else _solve_inducing
    return solve(process, Y, weights, generator)


def sample_rows(
    rows: NDArray[np.intp], count: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Return `count` of the rows, ascending; all if there are fewer."""
    return rows if len(rows) <= count else np.sort(generator.choice(rows, count, replace=False))


def _solve_exactly(
    process: GaussianProcess, Y: FloatArray, weights: FloatArray, generator: np.random.Generator
) -> FittedProcess:
    r"""Solve for α, and compute leave-one-out scores.

    With G = K + diag(1/w) and the kernel K̃ of :meth:`GaussianProcess.held_out_kernel`,
    :math:`f_{-i} = \sum_{j \ne i} \tilde K_{ij} (\alpha_j - G^{-1}_{ji} \alpha_i / G^{-1}_{ii})`.
    """
    G = process.kernel(process.labelled, process.labelled)
    fair = process.held_out_kernel(G, process.labelled, process.index)
    G[np.diag_indices_from(G)] += 1.0 / weights
    inverse = cho_solve(cho_factor(G), np.eye(len(Y)))
    alpha = inverse @ Y
    np.fill_diagonal(fair, 0.0)
    shares = np.einsum("ij,ji->i", fair, inverse) / inverse.diagonal()
    return FittedProcess(replace(process, alpha=alpha), fair @ alpha - shares[:, None] * alpha)


def _solve_inducing(
    process: GaussianProcess, Y: FloatArray, weights: FloatArray, generator: np.random.Generator
) -> FittedProcess:
    """Solve on inducing rows Z: f = K(·, Z) α, α = (K_ZZ + K_ZX W K_XZ)⁻¹ K_ZX W Y, W = diag(w).

    Leave-one-out scores follow from the leverages. They count the leaves of trees that have seen a
    row, so they are slightly optimistic.
    """
    chosen = sample_rows(process.index, INDUCING_ROWS, generator)
    all_rows, inducing = process.labelled, tuple(rows[chosen] for rows in process.labelled)
    A = process.kernel(inducing, inducing)
    A[np.diag_indices_from(A)] += 1e-8 * A.trace() / len(A)
    right = np.zeros((len(chosen), Y.shape[1]))

    def part(start: int, stop: int) -> FloatArray:
        return process.kernel(tuple(rows[start:stop] for rows in all_rows), inducing)

    for start, stop in chunks(len(Y), _CHUNK):
        K = part(start, stop)
        weighted = K.T * weights[start:stop]
        A += weighted @ K
        right += weighted @ Y[start:stop]
    factor = cho_factor(A)
    alpha = cho_solve(factor, right)
    held_out = np.empty_like(Y)
    for start, stop in chunks(len(Y), _CHUNK):
        K = part(start, stop)
        leverage = np.einsum("ij,ji->i", K, cho_solve(factor, K.T)) * weights[start:stop]
        leverage = np.minimum(leverage, 0.999)[:, None]
        held_out[start:stop] = (K @ alpha - leverage * Y[start:stop]) / (1.0 - leverage)
    process = replace(process, labelled=inducing, index=chosen, alpha=alpha)
    return FittedProcess(process, held_out)

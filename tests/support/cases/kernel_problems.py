"""Drawn problems with the oracle's kernels, and comparison with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import lowrankgcn as lg
from tests.support.cases import strategies
from tests.support.cases.problems import (
    Problem,
    gap,
    left_out,
    problems,
)
from tests.support.cases.strategies import FilterCase
from tests.support.contracts.operator_contract import close
from tests.support.oracles import reference

TOLERANCE = 1e-10


def tolerance(spectrum: reference.Spectrum) -> float:
    """1e-10, or more where that is not possible.

    Eigenvalues are known to some 1e-13, so λ₂/λ is known to 1e-13/λ₂ relative to itself: less than
    1e-10 once λ₂ < 1e-3, in nearly disconnected graphs.
    """
    return max(TOLERANCE, 1e-13 / (spectrum.smallest_nonzero or 1.0))


def agree(K: lg.Kernel, expected: np.ndarray, tolerance: float = TOLERANCE) -> None:
    """Products, selected rows, diagonal and dense form, relative to the largest entry."""
    X = np.random.default_rng(0).normal(size=(len(expected), 3))
    index = np.array([len(expected) - 1, 0, 0])
    close(K @ X, expected @ X, tolerance)
    close(K @ X[:, 0], expected @ X[:, 0], tolerance)
    close(K.rows(index, X), (expected @ X)[index], tolerance)
    close(K.diagonal(), np.diag(expected), tolerance)
    close(K.to_dense(), expected, tolerance)


def drawn(
    data: st.DataObject, kind: str, cases: st.SearchStrategy[FilterCase], **options: Any
) -> tuple[Problem, Any, reference.Spectrum, FilterCase, np.ndarray]:
    """Problem, smoother, its spectrum, a filter and the oracle's kernel."""
    problem = data.draw(problems(kind, **options))
    smoother = data.draw(strategies.smoothers(problem.n))
    case = data.draw(cases)
    spectrum = problem.spectrum(smoother)
    assume(not case.needs or spectrum.largest > 0)  # no edge: neither λ₂ nor λ_n
    return problem, smoother, spectrum, case, reference.kernel(spectrum, case.phi_on(spectrum))


def bulk_size(problem: Problem, smoother: Any, spectrum: reference.Spectrum) -> int:
    """Number of eigenvalues 1 whose eigenvectors nobody computes: off the columns of Z."""
    graph = problem.graph
    if not isinstance(graph, lg.Hypergraph) or graph.n_hyperedges > problem.n:
        return 0
    joined = problem.adjacency.any(axis=1)
    if not np.array_equal(problem.diagonal(smoother)[joined], problem.loops[joined]):
        return 0
    return int((np.abs(spectrum.eigenvalues - 1) < 1e-12).sum())


def cut(
    spectrum: reference.Spectrum, response: np.ndarray, kept: np.ndarray
) -> tuple[float, np.ndarray]:
    """Distance of the eigenvalues kept from the others, and the oracle's kernel of those kept."""
    values, U = spectrum.eigenvalues, spectrum.eigenvectors
    distance = gap(left_out(values, kept), kept)
    chosen = np.abs(np.subtract.outer(values, kept)).min(axis=1) < distance / 2
    return distance, (U * np.where(chosen, response, 0.0)) @ U.T

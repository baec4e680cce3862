"""The oracle: the paper of Alfke and Stoll (2019) on low-rank GCNs, written out densely.

Every function is a naive transcription of one formula, named by its section, with n×n arrays and
Python loops where a loop is the formula. Nothing of the package is imported, and nothing
is clever: agreement with this file is what "correct" means in the tests.

Two corrections of the paper are built in. Zero is an eigenvalue once per connected component, not
once (a node without neighbours is a component), and a node without neighbours has a zero row and
column in the Laplacian, as in the first form of the definition, for any loop weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

Array = NDArray[np.float64]
ScalarFilter = Callable[[float], float]


# --- graphs -----------------------------------------------------------------------------------


def gaussian_adjacency(points: ArrayLike, bandwidth: float) -> Array:
    """W_ij = exp(-||x_i - x_j||^2 / bandwidth^2), W_ii = 0 (A4.2.3)."""
    x = np.asarray(points, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        adjacency = np.exp(-((cdist(x, x) / bandwidth) ** 2))
    np.fill_diagonal(adjacency, 0.0)
    return adjacency


def without_loops(matrix: ArrayLike) -> tuple[Array, Array]:
    """Split a graph with loops into W (zero diagonal) and its loop weights (A2.3)."""
    adjacency = np.array(matrix, dtype=np.float64)
    loops = np.diag(adjacency).copy()
    np.fill_diagonal(adjacency, 0.0)
    return adjacency, loops


@dataclass(frozen=True)
class HypergraphMatrices:
    """All quantities of section 3 and A3.2; diagonal matrices are kept as vectors."""

    H: Array  # (n, |E|) incidence without empty hyperedges
    w_E: Array  # (|E|,) hyperedge weights
    D_E: Array  # (|E|,) hyperedge sizes
    D_V: Array  # (n,) node degrees with loops, sum_e h_ie w_e
    W_H: Array  # (n, n) H W_E D_E^-1 H^T
    S_H: Array  # (n,) its diagonal
    W: Array  # (n, n) W_H - S_H
    D: Array  # (n,) degrees of W


def hypergraph(
    incidence: ArrayLike, weights: ArrayLike | None = None, *, singletons: str = "keep"
) -> HypergraphMatrices:
    """Build the quantities of section 3 and A3.2; empty hyperedges are dropped."""
    H = np.asarray(incidence, dtype=np.float64)
    w = np.ones(H.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    kept = H.sum(axis=0) >= (2 if singletons == "drop" else 1)
    H, w = H[:, kept], w[kept]
    sizes = H.sum(axis=0)
    W_H = H @ np.diag(w / sizes) @ H.T
    W, S_H = without_loops(W_H)
    D = H @ (w * (1 - 1 / sizes))
    return HypergraphMatrices(H, w, sizes, H @ w, W_H, S_H, W, D)


def components(adjacency: ArrayLike) -> NDArray[np.intp]:
    """Label connected components in the order of their first node (breadth-first search)."""
    W = np.asarray(adjacency)
    labels = np.full(len(W), -1, dtype=np.intp)
    count = 0
    for start in range(len(W)):
        if labels[start] >= 0:
            continue
        labels[start] = count
        queue = [start]
        while queue:
            i = queue.pop(0)
            for j in np.flatnonzero(W[i] > 0):
                if labels[j] < 0:
                    labels[j] = count
                    queue.append(int(j))
        count += 1
    return labels


# --- Laplacians -------------------------------------------------------------------------------


def smoother_diagonal(smoother: object, own_loops: ArrayLike) -> Array:
    """Give the diagonal of S for every kind of smoother (A2.3, A3.3)."""
    own = np.asarray(own_loops, dtype=np.float64)
    if smoother is None or (isinstance(smoother, str) and smoother == "hypergraph"):
        return own.copy()
    if isinstance(smoother, str):
        alternatives = {"none": 0 * own, "identity": 0 * own + 1, "combined": own + 1}
        return alternatives[smoother]
    return np.zeros(len(own)) + np.asarray(smoother, dtype=np.float64)


def smoothed_laplacian(adjacency: ArrayLike, loop_weights: ArrayLike = 0.0) -> Array:
    """L_S = (D+S)^-1/2 (D - W) (D+S)^-1/2 (A2.3), zero rows for nodes without neighbours."""
    W, _ = without_loops(adjacency)
    d = W.sum(axis=1)
    s = np.zeros(len(W)) + loop_weights
    linked = zip(d, s, strict=True)
    scale = np.array([0.0 if d_i == 0 else 1 / math.sqrt(d_i + s_i) for d_i, s_i in linked])
    return scale[:, None] * (np.diag(d) - W) * scale


def null_vectors(adjacency: ArrayLike, loop_weights: ArrayLike = 0.0) -> Array:
    """Unit vectors of L_S u = 0: sqrt(d+s) on each component, e_i for a node without neighbours."""
    W, _ = without_loops(adjacency)
    labels = components(W)
    d = W.sum(axis=1)
    s = np.zeros(len(W)) + loop_weights
    vectors = np.zeros((len(W), labels.max() + 1))
    for i, label in enumerate(labels):
        vectors[i, label] = 1.0 if d[i] == 0 else math.sqrt(d[i] + s[i])
    return vectors / np.linalg.norm(vectors, axis=0)


@dataclass(frozen=True)
class Spectrum:
    """L_S = U diag(eigenvalues) U^T (section 2.2), ascending; the first `n_zero` are exactly 0."""

    eigenvalues: Array  # (n,)
    eigenvectors: Array  # (n, n)
    n_zero: int

    @property
    def smallest_nonzero(self) -> float:
        """lambda_2 of the paper (A2.1); 0 for a graph without edges."""
        rest = self.eigenvalues[self.n_zero :]
        return float(rest[0]) if len(rest) else 0.0

    @property
    def largest(self) -> float:
        """lambda_n of the paper (A2.1)."""
        return float(self.eigenvalues[-1])


def spectrum(adjacency: ArrayLike, loop_weights: ArrayLike = 0.0) -> Spectrum:
    """Decompose L_S = U Lambda U^T (section 2.2) with an exact null space.

    The null vectors are known in closed form, so only the orthogonal complement is left to LAPACK:
    no threshold decides which eigenvalue is zero.
    """
    L = smoothed_laplacian(adjacency, loop_weights)
    null = null_vectors(adjacency, loop_weights)
    c = null.shape[1]
    complement = np.linalg.qr(null, mode="complete")[0][:, c:]
    inner = complement.T @ L @ complement
    values, vectors = scipy.linalg.eigh((inner + inner.T) / 2)
    U = np.hstack([null, complement @ vectors])
    return Spectrum(np.concatenate([np.zeros(c), values]), canonical_signs(U), c)


def canonical_signs(vectors: ArrayLike) -> Array:
    """Make the first entry within a relative 1e-6 of the largest magnitude positive, per column."""
    U = np.array(vectors, dtype=np.float64)
    for column in U.T:
        magnitude = np.abs(column)
        first = np.flatnonzero(magnitude >= (1 - 1e-6) * magnitude.max())[0]
        if column[first] < 0:
            column *= -1
    return U


# --- filters: scalar formulas -----------------------------------------------------------------


def linear(lam: float, largest: float = 1.0) -> float:
    """phi = 1 - lambda / lambda_n (A2.1)."""
    return 1 - lam / largest


def quadratic(lam: float, largest: float = 1.0) -> float:
    """phi = (1 - lambda / lambda_n)^2 (A2.1)."""
    return (1 - lam / largest) ** 2


def polynomial(lam: float, coefficients: Sequence[float]) -> float:
    """phi = sum_j a_j lambda^j (A3.1.2)."""
    return math.fsum(a * lam**j for j, a in enumerate(coefficients))


def pseudoinverse(lam: float, scale: float = 1.0) -> float:
    """phi = scale / lambda for lambda > 0, else 0; scale = lambda_2 in A2.1, 1 in section 2.3.4."""
    return scale / lam if lam > 0 else 0.0


def heat(lam: float, time: float = 1.0) -> float:
    """phi = exp(-time lambda)."""
    return math.exp(-time * lam)


def regularized_inverse(lam: float, epsilon: float = 0.05) -> float:
    """phi = 1 / (lambda + epsilon)."""
    return 1 / (lam + epsilon)


def constant(lam: float, value: float = 1.0) -> float:
    """phi = value."""
    return value


def high_pass(lam: float, cutoff: float = 0.0) -> float:
    """phi = 1 for lambda > cutoff, else 0."""
    return 1.0 if lam > cutoff else 0.0


def zero_impulse(lam: float) -> float:
    """phi = 1 for lambda = 0, else 0."""
    return 1.0 if lam == 0 else 0.0


def response(phi: ScalarFilter, eigenvalues: ArrayLike) -> Array:
    """phi(Lambda), one scalar evaluation per eigenvalue (section 2.2)."""
    return np.array([phi(float(lam)) for lam in np.ravel(eigenvalues)], dtype=np.float64)


# --- kernels on any graph ---------------------------------------------------------------------


def kernel(decomposition: Spectrum, phi: ScalarFilter) -> Array:
    """K = U phi(Lambda) U^T (section 2.2)."""
    U = decomposition.eigenvectors
    return U @ np.diag(response(phi, decomposition.eigenvalues)) @ U.T


def polynomial_kernel(laplacian: ArrayLike, coefficients: Sequence[float]) -> Array:
    """K = sum_j a_j L^j (section 2.3.3, A3.1.2)."""
    L = np.asarray(laplacian, dtype=np.float64)
    powers = [a * np.linalg.matrix_power(L, j) for j, a in enumerate(coefficients)]
    return np.sum([np.zeros_like(L), *powers], axis=0)


def dominant(decomposition: Spectrum, phi: ScalarFilter) -> NDArray[np.intp]:
    """Order i_1, ..., i_n with |phi(lambda_i1)| >= ... (A2.2); ties by ascending eigenvalue."""
    return np.argsort(-np.abs(response(phi, decomposition.eigenvalues)), kind="stable")


# --- kernels on hypergraphs (appendix 3) ------------------------------------------------------


def normalised_incidence(graph: HypergraphMatrices) -> Array:
    """H~ = D_V^-1/2 H W_E^1/2 D_E^-1/2 (A3.1); zero rows for nodes in no hyperedge."""
    scale = np.array([0.0 if d == 0 else 1 / math.sqrt(d) for d in graph.D_V])
    return np.diag(scale) @ graph.H @ np.diag(np.sqrt(graph.w_E / graph.D_E))


def taylor_at_one(coefficients: Sequence[float]) -> list[float]:
    """b_j = sum_{i >= j} binom(i, j) a_i (A3.1.2)."""
    p = len(coefficients)
    return [math.fsum(math.comb(i, j) * coefficients[i] for i in range(j, p)) for j in range(p)]


def hypergraph_polynomial_kernel(graph: HypergraphMatrices, coefficients: Sequence[float]) -> Array:
    """K = b_0 I + H~ M H~^T, M = sum_{j >= 1} (-1)^j b_j (H~^T H~)^(j-1) (A3.1.2)."""
    tilde = normalised_incidence(graph)
    b = taylor_at_one(coefficients)
    gram = tilde.T @ tilde
    M = np.zeros_like(gram)
    for j in range(1, len(b)):
        M += (-1) ** j * b[j] * np.linalg.matrix_power(gram, j - 1)
    diagonal = np.where(graph.D_V > 0, b[0], coefficients[0])
    return np.diag(diagonal) + tilde @ M @ tilde.T


def hypergraph_rank(graph: HypergraphMatrices) -> int:
    """R = rank of H~ (A3.1)."""
    tilde = normalised_incidence(graph)
    return int(np.linalg.matrix_rank(tilde)) if tilde.size else 0


def hypergraph_full_rank_kernel(graph: HypergraphMatrices, phi: ScalarFilter) -> Array:
    """K = phi(1) I + U_R (phi(Lambda_R) - phi(1) I) U_R^T (A3.1.3).

    Lambda_R = 1 - sigma^2 is exactly 0 once per component of the nodes that lie in a hyperedge; the
    other nodes carry phi(0).
    """
    U, sigma, _ = np.linalg.svd(normalised_incidence(graph), full_matrices=False)
    R = hypergraph_rank(graph)
    covered = graph.D_V > 0
    Lambda_R = 1 - sigma[:R] ** 2
    Lambda_R[: len(set(components(graph.W)[covered]))] = 0.0
    M = response(phi, Lambda_R) - phi(1.0)
    return np.diag(np.where(covered, phi(1.0), phi(0.0))) + U[:, :R] @ np.diag(M) @ U[:, :R].T


def smoothed_splitting(graph: HypergraphMatrices, loop_weights: ArrayLike) -> tuple[Array, Array]:
    """L_S = diag(calD) - calZ calZ^T for any smoother S (A3.3); zero rows without neighbours."""
    s = np.zeros(len(graph.D)) + loop_weights
    linked = graph.D > 0
    total = np.where(linked, graph.D_V + s - graph.S_H, 1.0)
    calD = np.where(linked, 1 - (s - graph.S_H) / total, 0.0)
    scale = np.where(linked, 1 / np.sqrt(total), 0.0)
    return calD, np.diag(scale) @ graph.H @ np.diag(np.sqrt(graph.w_E / graph.D_E))

"""Trained networks, for the fitted rows and for rows they have never seen.

A layer of a GCN, at a row x that was not there, is

    z(x) = Σ_k φ_k(1) h(x) Θ_k + u(x)ᵀ C + b,

where h(x) is the layer's input, u(x) extends the eigenvectors to x, and C, computed once from the
fitted rows, holds φ_k(Λ) Uᵀ H Θ_k. What is kept of the fitted rows is independent of their number
where affinities go through hyperedges or landmarks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lowrankgcn._parallel import chunks, map_chunks
from lowrankgcn.estimators.candidates import Prepared
from lowrankgcn.extension import CrossAffinity, compress_eigenvectors
from lowrankgcn.filters import Filter, Polynomial
from lowrankgcn.filters.library import Custom
from lowrankgcn.kernels import Kernel, kernel
from lowrankgcn.laplacian import Laplacian
from lowrankgcn.nn import ACTIVATIONS, Network, Propagation, ReducedOrderGCN
from lowrankgcn.spectrum import Eigenpairs
from lowrankgcn.training import Features, Nodes, SpectralLayer, StoredNodes, TrainingRecord

__all__ = [
    "ExtendedLayer",
    "ExtendedNetwork",
    "ExtendedVectors",
    "Member",
    "counting",
    "extend",
]

Restarts = Literal["ensemble", "best"]
FloatArray = NDArray[np.float64]

_SOFTMAX_ROWS = 8192  # in the cache
_GATHERED_ROWS = 65536


@final
@dataclass(frozen=True, eq=False)
class Member:
    """A trained candidate.

    Attributes
    ----------
    prepared : Prepared
    network : Network
        With the weights of the best restart.
    record : TrainingRecord
    weight : float
        Share in the prediction.
    restarts : (t,) int array
        Those that count.
    """

    prepared: Prepared
    network: Network
    record: TrainingRecord
    weight: float
    restarts: NDArray[np.intp]

    def add_to(self, total: FloatArray, features: Features) -> None:
        """Add the weighted distributions of the fitted rows with such features to (n, C) others."""
        if self.prepared.candidate.ignores_graph:
            self._add_from_features(total, features)
            return
        seen = self.prepared.seen(features, self.record.weights[0])
        if isinstance(self.network, ReducedOrderGCN):
            self._add_from_eigenvectors(total, self.network, seen)
            return
        logits = self.record.logits(self.network, seen)
        shares = torch.softmax(logits[torch.as_tensor(self.restarts)], dim=2)
        total += self.weight * shares.mean(dim=0).double().cpu().numpy()

    def _add_from_features(self, total: FloatArray, features: Features) -> None:
        """The same for a network that sees nothing else, in chunks of rows."""
        name, scale = str(self.network.activation_name), self.prepared.feature_scale
        network = ExtendedNetwork(_IdentityBuilder(self).layers(features), name, scale, self.weight)
        assert network.first_weights is not None
        weights = torch.from_numpy(network.first_weights).to(self.record.weights[0].dtype)

        def classify(start: int, stop: int) -> None:
            first = features.part(start, stop).times(weights).numpy()
            for a, b in chunks(len(first), _SOFTMAX_ROWS):
                rows = slice(start + a, start + b)
                shares = network.distributions(np.zeros((b - a, 0)), first[a:b])
                total[rows] += self.weight * shares

        map_chunks(classify, len(total), _GATHERED_ROWS)

    def _add_from_eigenvectors(
        self, total: FloatArray, network: ReducedOrderGCN, seen: Features
    ) -> None:
        """The same for a reduced-order network, in chunks of rows."""
        G = self.record.coefficients(network, seen)[torch.as_tensor(self.restarts)]
        readout = G.permute(1, 0, 2).flatten(1).cpu().numpy()  # (r, s·C)
        biases = self.record.biases
        bias = biases[-1][torch.as_tensor(self.restarts)].cpu().numpy() if biases else None
        U = network.eigenvectors.cpu().numpy()

        def classify(start: int, stop: int) -> None:
            logits = (U[start:stop] @ readout).T.reshape(len(G), -1, stop - start)
            total[start:stop] += self.weight * mean_softmax(logits, bias)

        map_chunks(classify, len(U), _SOFTMAX_ROWS)


def counting(record: TrainingRecord, restarts: Restarts) -> NDArray[np.intp]:
    """Restarts that count: the best one, or all that did not diverge."""
    if restarts == "best" or record.diverged.all():
        return np.array([record.best])
    return np.flatnonzero(~record.diverged)


@final
@dataclass(frozen=True, eq=False)
class ExtendedLayer:
    """One layer for new rows; s restarts lie side by side.

    Attributes
    ----------
    own : (s, N_in, N_out) array or None
        What the row's own input contributes.
    readout : (R, s·N_out) array or None
        What its place in the graph contributes: coefficients of the extended vectors.
    first : int
        Which column of the extended vectors the readout begins with.
    bias : (s, N_out) array or None
    n_restarts : int
        s.
    """

    own: NDArray[Any] | None
    readout: NDArray[Any] | None
    first: int
    bias: NDArray[Any] | None
    n_restarts: int

    def output(self, extended: FloatArray, own: NDArray[Any] | None) -> NDArray[Any]:
        """What the layer gives before its activation, shape (s, q, N_out).

        Parameters
        ----------
        extended : (q, R) array
            Values of the extended vectors.
        own : (s, q, N_out) array or None
            The row's own input times `own`.
        """
        Z: Any = 0.0 if own is None else own
        if self.readout is not None:
            part = extended[:, self.first : self.first + len(self.readout)] @ self.readout
            Z = Z + self.by_restart(part)
        if self.bias is not None:
            Z = Z + self.bias[:, None, :]
        return np.ascontiguousarray(Z)

    def by_restart(self, flat: NDArray[Any]) -> NDArray[Any]:
        """From (q, s·N_out) to (s, q, N_out)."""
        return flat.reshape(len(flat), self.n_restarts, -1).transpose(1, 0, 2)


@final
@dataclass(frozen=True, eq=False)
class ExtendedNetwork:
    """A trained candidate for rows that were not there at fitting.

    Attributes
    ----------
    layers : tuple of ExtendedLayer
    activation : str
    feature_scale, weight : float
    """

    layers: tuple[ExtendedLayer, ...]
    activation: str
    feature_scale: float
    weight: float

    def distributions(self, extended: FloatArray, first: FloatArray) -> FloatArray:
        """Class distributions, shape (q, C).

        Parameters
        ----------
        extended : (q, R) array
            Values of the extended vectors.
        first : (q, s·N_1) array
            Features times :attr:`first_weights`; of no column without these.
        """
        activation = ACTIVATIONS[self.activation]()
        # In double precision, whatever the weights: products in single precision would let a row's
        # last digits depend on how many others come with it.
        H: Any = None
        for number, layer in enumerate(self.layers):
            own = None
            if layer.own is not None:
                own = H @ layer.own if number else layer.by_restart(first)
            H = layer.output(extended, own)
            if number < len(self.layers) - 1:
                H = activation(torch.from_numpy(H)).numpy()
        return mean_softmax(H.transpose(0, 2, 1))

    @property
    def n_seen(self) -> int:
        """Number of columns of :attr:`first_weights`."""
        own = self.layers[0].own
        return 0 if own is None else int(own.shape[0] * own.shape[2])

    @property
    def first_weights(self) -> FloatArray | None:
        """What features are multiplied by in the first layer, shape (N_0, s·N_1)."""
        own = self.layers[0].own
        if own is None:
            return None
        flat: FloatArray = own.transpose(1, 0, 2).reshape(own.shape[1], -1).astype(np.float64)
        return self.feature_scale * flat

    @property
    def reads_only(self) -> bool:
        """Whether logits are linear in the extended vectors: a reduced-order network."""
        return len(self.layers) == 1 and self.layers[0].own is None

    @property
    def n_logits(self) -> int:
        """Number of logits of a row that :meth:`folded` gives, of all restarts together."""
        readout = self.layers[0].readout
        return 0 if readout is None else int(readout.shape[1])

    def folded(self, basis: FloatArray) -> FloatArray:
        """Logits as vectors over the columns of the cross-affinity, shape (m, s·C)."""
        layer = self.layers[0]
        assert layer.readout is not None
        place = slice(layer.first, layer.first + len(layer.readout))
        return np.asarray(basis[:, place] @ layer.readout, np.float64)

    def from_logits(self, logits: FloatArray) -> FloatArray:
        """Class distributions (q, C) from logits (q, s·C), which have no bias yet."""
        layer = self.layers[0]
        by_restart = logits.T.reshape(layer.n_restarts, -1, len(logits))
        return mean_softmax(by_restart, layer.bias)


@final
class ExtendedVectors:
    """Vectors that are extended to new rows, over the columns of a cross-affinity.

    Networks on the same eigenvectors, or on the first of them, share these.

    Parameters
    ----------
    cross : CrossAffinity
    root : (m, 1) array
        What extends √degree, the first of them.
    """

    def __init__(self, cross: CrossAffinity, root: FloatArray) -> None:
        self.cross = cross
        self._parts = [root]
        self._places: list[tuple[Eigenpairs, int]] = []

    @property
    def pairs(self) -> tuple[Eigenpairs, ...]:
        """Those whose eigenvectors are among them, in their order."""
        return tuple(pairs for pairs, _ in self._places)

    @property
    def count(self) -> int:
        """Number of vectors so far."""
        return sum(part.shape[1] for part in self._parts)

    def basis(self) -> FloatArray:
        """All of them, shape (m, count)."""
        return np.hstack(self._parts)

    def compressed(self, vectors: FloatArray) -> int:
        """Add vectors of the fitted rows, shape (n, k); the place of the first."""
        place = self.count
        self._parts.append(np.asarray(self.cross.compress(vectors)))
        return place

    def eigenvectors(self, pairs: Eigenpairs) -> int:
        """Add eigenvectors unless they are there; the place of the first."""
        for known, place in self._places:
            if _begins_with(known, pairs):
                return place
        self._places.append((pairs, self.count))
        self._parts.append(compress_eigenvectors(self.cross, pairs))
        return self._places[-1][1]


def _begins_with(known: Eigenpairs, pairs: Eigenpairs) -> bool:
    """Whether `pairs` are the first of `known`, in the same memory."""
    whole, part = np.asarray(known.eigenvectors), np.asarray(pairs.eigenvectors)
    if part.shape[1] > whole.shape[1] or part.strides != whole.strides:
        return False
    return bool(part.ctypes.data == whole.ctypes.data) and part.dtype == whole.dtype


def mean_softmax(logits: NDArray[Any], bias: NDArray[Any] | None = None) -> FloatArray:
    """Class distributions (q, C), averaged over restarts, from logits (s, C, q) and biases (s, C).

    Few classes make short rows, along which reductions are slow: classes come before rows.

    >>> mean_softmax(np.log([[[1.0], [3.0]], [[1.0], [1.0]]])).tolist()
    [[0.375, 0.625]]
    """
    n_restarts, n_classes, count = logits.shape
    shares = np.empty((count, n_classes))
    for start, stop in chunks(count, _SOFTMAX_ROWS):
        total = np.zeros((n_classes, stop - start))
        for restart in range(n_restarts):
            part = logits[restart, :, start:stop].copy(order="C")
            if bias is not None:
                part += bias[restart][:, None]
            part -= part.max(axis=0)
            np.exp(part, out=part)
            part /= part.sum(axis=0)
            total += part
        shares[start:stop] = total.T / n_restarts
    return shares


@torch.no_grad()
def extend(
    member: Member, laplacian: Laplacian, features: Features, vectors: ExtendedVectors
) -> ExtendedNetwork:
    """Compute, from the fitted rows, what a trained network needs for new ones.

    Parameters
    ----------
    member : Member
    laplacian : Laplacian
    features : Features
        Of the fitted rows.
    vectors : ExtendedVectors
        Those that it needs are added.
    """
    prepared = member.prepared
    if prepared.candidate.ignores_graph:
        builder: _Builder = _IdentityBuilder(member)
    elif prepared.pairs is not None:
        builder = _SpectralBuilder(member, vectors)
    else:
        builder = _FullBuilder(member, vectors, laplacian)
    layers = builder.layers(prepared.seen(features, member.record.weights[0]))
    name = str(member.network.activation_name)
    return ExtendedNetwork(layers, name, prepared.feature_scale, member.weight)


class _Builder(ABC):
    """Goes through the layers at the fitted rows and notes what new rows need of them."""

    def __init__(self, member: Member) -> None:
        self.member = member
        chosen = torch.as_tensor(member.restarts)
        self.weights = [weight[chosen] for weight in member.record.weights]  # (s, K, in, out)
        self.biases = [bias[chosen] for bias in member.record.biases]
        self.s = len(chosen)
        self.last = len(self.weights) - 1

    @abstractmethod
    def layers(self, X: Features) -> tuple[ExtendedLayer, ...]:
        """Walk through the network."""

    def activated(self, Z: Tensor, layer: int, restart: int) -> Tensor:
        """What a hidden layer puts out, from the product with its kernels; Z is overwritten."""
        if self.biases:
            Z += self.biases[layer][restart]
        result: Tensor = self.member.network.activation(Z)
        return result

    def bias(self, layer: int) -> NDArray[Any] | None:
        """Biases of a layer, shape (s, N)."""
        return self.biases[layer].cpu().numpy() if self.biases else None


class _IdentityBuilder(_Builder):
    def layers(self, X: Features) -> tuple[ExtendedLayer, ...]:
        return tuple(
            ExtendedLayer(weight[:, 0].cpu().numpy(), None, 0, self.bias(layer), self.s)
            for layer, weight in enumerate(self.weights)
        )


class _SpectralBuilder(_Builder):
    """Kernels U φ Uᵀ: u(x) are the eigenvectors, extended."""

    def __init__(self, member: Member, vectors: ExtendedVectors) -> None:
        super().__init__(member)
        pairs = member.prepared.pairs
        assert pairs is not None
        self.first = vectors.eigenvectors(pairs)
        dtype, device = self.weights[0].dtype, self.weights[0].device
        self.U = torch.as_tensor(pairs.eigenvectors).to(dtype=dtype, device=device)
        kernels = [k for k in member.prepared.kernels if isinstance(k, Kernel)]
        self.responses = [
            torch.as_tensor(kernel.response).to(dtype=dtype, device=device) for kernel in kernels
        ]

    def layers(self, X: Features) -> tuple[ExtendedLayer, ...]:
        """From U^T H to U^T H of the next layer; a reduced network meets the rows at its end only.

        𝒦H = U φ(Λ) UᵀH: what a layer's input has beside U is never needed.
        """
        reduced = self.member.prepared.candidate.architecture == "reduced"
        nodes = X.nodes or StoredNodes(self.U.cpu().numpy())
        inner = [X.inner(self.U)] * self.s
        notes = []
        for layer in range(self.last + 1):
            parts = [self._coefficients(layer, inner[j], j) for j in range(self.s)]
            if layer == self.last or not reduced:
                notes.append(self._layer(layer, parts))
            if layer == self.last:
                break
            if reduced:
                inner = [self.activated(part, layer, j) for j, part in enumerate(parts)]
            else:  # one sum over the nodes for all restarts
                inner = self._summed(nodes, layer, parts)
        return tuple(notes)

    def _coefficients(self, layer: int, inner: Tensor, restart: int) -> Tensor:
        """Σ_k φ_k(Λ) UᵀH Θ_k, shape (r, N_out)."""
        terms = [
            phi[:, None] * (inner @ weight)
            for phi, weight in zip(self.responses, self.weights[layer][restart], strict=True)
        ]
        return torch.stack(terms).sum(dim=0)

    def _summed(self, nodes: Nodes, layer: int, parts: list[Tensor]) -> list[Tensor]:
        """UᵀH of a hidden layer of all nodes, from its coefficients."""
        bias = self.bias(layer)
        hidden = SpectralLayer(
            torch.cat(parts, dim=1).cpu().numpy(),
            None if bias is None else bias.ravel(),
            str(self.member.network.activation_name),
        )
        summed = torch.from_numpy(nodes.sums(hidden)).to(parts[0])
        return list(summed.chunk(self.s, dim=1))

    def _layer(self, layer: int, parts: list[Tensor]) -> ExtendedLayer:
        readout = torch.cat(parts, dim=1).cpu().numpy()
        return ExtendedLayer(None, readout, self.first, self.bias(layer), self.s)


class _FullBuilder(_Builder):
    """Any kernel: 𝒦 = φ(1)I + (I − 𝓛)ψ(𝓛) with ψ(λ) = (φ(λ) − φ(1))/(1 − λ)."""

    def __init__(self, member: Member, vectors: ExtendedVectors, laplacian: Laplacian) -> None:
        super().__init__(member)
        self.vectors = vectors
        kernels = [k for k in member.prepared.kernels if isinstance(k, Kernel)]
        self.at_one = [float(kernel.filter(np.ones(1))[0]) for kernel in kernels]
        self.divided = [kernel_of(laplacian, divided_difference(k.filter)) for k in kernels]
        self.modules = [m for m in member.network.propagations if isinstance(m, Propagation)]

    def layers(self, X: Features) -> tuple[ExtendedLayer, ...]:
        notes = []
        H = [X.dense()] * self.s
        for layer in range(self.last + 1):
            notes.append(self._note(layer, H))
            if layer < self.last:
                H = [self._forward(layer, H[j], j) for j in range(self.s)]
        return tuple(notes)

    def _forward(self, layer: int, H: Tensor, restart: int) -> Tensor:
        weights = self.weights[layer][restart]
        terms = [module(H @ w) for module, w in zip(self.modules, weights, strict=True)]
        return self.activated(torch.stack(terms).sum(dim=0), layer, restart)

    def _note(self, layer: int, H: list[Tensor]) -> ExtendedLayer:
        """What a layer with inputs H, one for each restart, needs."""
        products, owns = [], []
        for j in range(self.s):
            weights = self.weights[layer][j].double().cpu().numpy()
            inner = H[j].double().cpu().numpy()
            terms = [K @ (inner @ w) for K, w in zip(self.divided, weights, strict=True)]
            products.append(np.sum(terms, axis=0))
            owns.append(sum(a * w for a, w in zip(self.at_one, weights, strict=True)))
        block = np.hstack(products)
        first = self.vectors.compressed(block)
        dtype = H[0].detach().cpu().numpy().dtype
        readout = np.eye(block.shape[1], dtype=dtype)
        own = np.stack(owns).astype(dtype)
        return ExtendedLayer(own, readout, first, self.bias(layer), self.s)


def kernel_of(laplacian: Laplacian, phi: Filter) -> Kernel:
    """The full-rank kernel of one filter."""
    made = kernel(laplacian, phi)
    assert isinstance(made, Kernel)
    return made


def divided_difference(phi: Filter) -> Filter:
    """ψ(λ) = (φ(λ) − φ(1))/(1 − λ), which is −φ′(1) at λ = 1; a polynomial if φ is one.

    Examples
    --------
    >>> import lowrankgcn as lg
    >>> divided_difference(lg.filters.Polynomial((0.0, 0.0, 1.0))).coefficients  # (λ² − 1)/(1 − λ)
    (-1.0, -1.0)
    """
    if phi.coefficients is not None:
        ascending = np.array(phi.coefficients)
        ascending[0] -= ascending.sum()
        # Synthetic division by (1 − λ).
        quotient = np.cumsum(ascending)[:-1]
        return Polynomial(tuple(quotient.tolist()) or (0.0,))
    at_one = float(phi(np.ones(1))[0])

    def psi(values: FloatArray) -> FloatArray:
        values = np.asarray(values, np.float64)
        near = np.abs(1.0 - values) < 1e-7
        step = 1e-6
        slope = (phi(1.0 - step + 0.0 * values) - phi(1.0 + step + 0.0 * values)) / (2 * step)
        gap = np.where(near, 1.0, 1.0 - values)
        return np.where(near, slope, (phi(values) - at_one) / gap)

    return Custom(psi)

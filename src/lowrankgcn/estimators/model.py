r"""The part of a fitted network that computes class distributions; this part is saved.

At a row x a layer of a GCN is

    z(x) = Σ_k φ_k(1) h(x) Θ_k + v(x) + b,    v(x) = w̃(x, ·) Σ_k ψ_k(𝓛) H Θ_k

with the layer's input h(x), the normalised weights w̃(x, ·) of the row to the fitted ones, and
ψ(λ) = (φ(λ) − φ(1))/(1 − λ). For a fitted row this is a row of Σ_k 𝒦_k H Θ_k + b, because
𝒦 = φ(1) I + (I − 𝓛) ψ(𝓛). Kernels of low rank have no term in h(x). Their networks are the last
layer alone, with v(x) = u(x)ᵀ A for the eigenvectors u(x) and A = Σ_k φ_k(Λ) UᵀH Θ_k. One forward
pass therefore serves fitted rows, whose v is known, and new rows, to which v is extended.

>>> import numpy as np
>>> readout = np.log([[1.0, 3.0, 1.0, 1.0]])  # two restarts of two classes
>>> Ensemble(2, (Layer(2, None, None),), readout).forward(np.ones((1, 1)))
array([[0.375, 0.625]])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn._codec import MAY_BE_INFINITE, saved
from lowrankgcn._validation import expect_shape, invalid, positive_int
from lowrankgcn.estimators.inputs import Inputs
from lowrankgcn.estimators.rows import map_rows
from lowrankgcn.exceptions import UnlabelledComponentWarning, warn_caller
from lowrankgcn.graphs.cross_affinity import CrossAffinity
from lowrankgcn.operators import FloatArray

Weights = NDArray[np.floating[Any]]

#: Rows that a thread classifies at a time.
CHUNK_ROWS = 16384
_ENTRIES = 2**22  # feature entries per chunk


@saved
@final
@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of s restarts.

    Attributes
    ----------
    width : int
        N, the number of outputs.
    own : (s, N_in, N) array or None
        Weights Σ_k φ_k(1) Θ_k of the row's own input; None for kernels of low rank.
    bias : (s, N) array or None
    """

    width: int
    own: Weights | None
    bias: Weights | None

    def output(self, H: NDArray[Any] | None, v: NDArray[Any]) -> NDArray[Any]:
        """Compute the output before activation, shape (s, q, N).

        Parameters
        ----------
        H : (s, q, N_in) or (q, N_in) array or None
            Input of the layer, not used if `own` is None.
        v : (q, s·N) array
        """
        Z = v.reshape(len(v), -1, self.width).transpose(1, 0, 2)
        if self.own is not None and H is not None:
            Z = Z + H @ self.own
        return Z if self.bias is None else Z + self.bias[:, None, :]


@saved
@final
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trained restarts of a network, as a function of single rows.

    Attributes
    ----------
    n_restarts : int
        s.
    layers : tuple of Layer
        With ReLU between them; the last gives logits.
    readout : (R, k) array or None
        Matrix that turns a row's vectors into the v of all layers, side by side; None: the
        identity.
    """

    n_restarts: int
    layers: tuple[Layer, ...]
    readout: Weights | None

    def __post_init__(self) -> None:
        count = positive_int(self.n_restarts, "n_restarts")
        if not self.layers:
            raise invalid("layers", "one or more", "none")
        before = None
        for layer in self.layers:
            width = positive_int(layer.width, "width")
            if layer.own is not None:
                expect_shape(layer.own, "own", count, before, width)
            if layer.bias is not None:
                expect_shape(layer.bias, "bias", count, width)
            before = width
        if self.readout is not None:
            expect_shape(self.readout, "readout", None, self._n_read)

    @property
    def _n_read(self) -> int:
        return self.n_restarts * sum(layer.width for layer in self.layers)

    @property
    def n_vectors(self) -> int:
        """Number R of vectors."""
        return self._n_read if self.readout is None else len(self.readout)

    @property
    def n_features(self) -> int:
        """Number of features in use, 0 for kernels of low rank."""
        own = self.layers[0].own
        return 0 if own is None else own.shape[1]

    @property
    def n_classes(self) -> int:
        """Number of classes C."""
        return self.layers[-1].width

    def forward(self, vectors: NDArray[Any], features: FloatArray | None = None) -> FloatArray:
        """Compute class distributions (q, C), averaged over the restarts.

        Parameters
        ----------
        vectors : (q, R) array
        features : (q, N_0) array, optional
            Not used for kernels of low rank.
        """
        v = vectors if self.readout is None else vectors @ self.readout
        H, Z = features, np.zeros(0)
        for layer in self.layers:
            if layer is not self.layers[0]:
                H = np.maximum(Z, 0.0)
            count = self.n_restarts * layer.width
            Z, v = layer.output(H, v[:, :count]), v[:, count:]
        return _mean_softmax(Z)


@saved
@final
@dataclass(frozen=True, eq=False)
class Model:
    """Trained restarts, and what places new rows.

    Attributes
    ----------
    inputs : Inputs or None
        None for graphs without features.
    cross : CrossAffinity
    basis : (m, 1 + R) array
        Vectors over the columns of the cross-affinity. The first extends √degree on the components
        with a label; it is zero at rows without affinity to any of them.
    ensemble : Ensemble
    """

    inputs: Inputs | None
    cross: CrossAffinity
    basis: FloatArray
    ensemble: Ensemble

    def __post_init__(self) -> None:
        expect_shape(self.basis, "basis", self.cross.n_columns, 1 + self.ensemble.n_vectors)
        needed = self.ensemble.n_features
        given = 0 if self.inputs is None else self.inputs.width
        if needed not in (0, given):
            raise invalid("inputs", f"{needed} features", given)

    def distributions(self, X: Any) -> FloatArray:
        """Compute class distributions (q, C), uniform for rows without affinity, with a warning.

        Rows are independent of each other and processed in chunks: memory is O(q C) beside X.
        """

        def classify(part: Any) -> FloatArray:
            rows, features = part, None
            if self.inputs is not None:
                rows = self.inputs.rows(part)
                features = self.inputs.features(part) if self.ensemble.n_features else None
            extended = self.cross.product(rows, self.basis)
            shares = self.ensemble.forward(extended[:, 1:], features)
            shares[extended[:, 0] == 0] = np.nan
            return shares

        wide = max(1, self.ensemble.n_features)
        shares = map_rows(classify, X, max(1, min(CHUNK_ROWS, _ENTRIES // wide)))
        lost = np.isnan(shares[:, 0])
        if lost.any():
            shares[lost] = 1.0 / self.ensemble.n_classes
            warn_caller(
                f"{int(lost.sum())} of {len(lost)} rows have no affinity to any labelled part of "
                "the graph; their class distribution is uniform",
                UnlabelledComponentWarning,
            )
        return shares


@saved
@final
@dataclass(frozen=True, eq=False)
class SavedNetwork:
    """What a file keeps of a fitted :class:`GCNClassifier` besides what all classifiers have."""

    model: Model | None
    loss_curve: Annotated[NDArray[Any], "t s"] = field(metadata=MAY_BE_INFINITE)
    n_iter: Annotated[int, partial(positive_int, minimum=0)]
    unplaced: Annotated[NDArray[np.bool_] | None, "n"]

    @property
    def n_classes(self) -> int | None:
        """Number of classes C; None without a model."""
        return None if self.model is None else self.model.ensemble.n_classes

    def check_rows(self, shares: FloatArray | None) -> None:
        """Raise unless the results of fitted rows, with distributions (n, C), fit together."""
        if self.model is None and shares is None:
            raise invalid("model", "one, or the distributions of the fitted rows", "neither")
        if (shares is None) != (self.unplaced is None):
            raise invalid("unplaced", "one value for each fitted row", "other values")
        if shares is not None and self.unplaced is not None:
            expect_shape(self.unplaced, "unplaced", len(shares))

    def distributions(self, X: Any) -> FloatArray:
        """Compute class distributions of new rows, shape (q, C)."""
        if self.model is None:
            expected = "the fitted rows (see label_distributions_)"
            raise invalid("X", expected, "new rows, but the graph was not built from X")
        return self.model.distributions(X)


def _mean_softmax(logits: NDArray[Any]) -> FloatArray:
    """Average the softmax over restarts: (q, C) from logits (s, q, C)."""
    # The class axis comes first, because reductions along short rows are slow.
    shares = logits.transpose(0, 2, 1).astype(np.float64, order="C")
    shares -= shares.max(axis=1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=1, keepdims=True)
    mean: FloatArray = shares.mean(axis=0).T
    return mean

"""From trained networks to the small models that classify rows block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.distributed.counts import weighted
from lowrankgcn.distributed.spectrum import HyperedgePairs, HyperedgeSpectrum
from lowrankgcn.estimators.evidence import (
    MOST_ROWS,
    Evidence,
    LabelledRows,
    response_of,
    spread_over,
)
from lowrankgcn.estimators.extending import ExtendedVectors, extend
from lowrankgcn.estimators.inputs import TableInputs
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.members import Member
from lowrankgcn.estimators.model import Model
from lowrankgcn.extension.sparse import TableCross
from lowrankgcn.operators import DenseFactor, FloatArray
from lowrankgcn.training import Features

__all__ = ["FittedRows", "Reach", "evidence", "fitted_rows", "models"]


@final
@dataclass(frozen=True, eq=False)
class Reach:
    """How far the labels go.

    Attributes
    ----------
    hyperedges : (|E|,) bool array
        Those of components that have a label.
    alone : (p,) bool array
        Labelled rows that no other row is joined to.
    n_unplaced : int
        Number of rows without a label in reach.
    """

    hyperedges: NDArray[np.bool_]
    alone: NDArray[np.bool_]
    n_unplaced: int

    @classmethod
    def of(cls, spectrum: HyperedgeSpectrum, codes: NDArray[Any]) -> Reach:
        """From the codes of the labelled rows, shape (p, columns)."""
        n_edges = len(spectrum.sizes)
        bare = (codes == n_edges).all(axis=1)
        place = np.append(spectrum.component, -1)[codes].max(axis=1)  # of any of its hyperedges
        reached = np.zeros(len(spectrum.component_rows), bool)
        reached[place[~bare]] = True
        alone = bare | (spectrum.component_rows[place] == 1)
        out_of_reach = int(spectrum.component_rows[~reached].sum())
        empty = spectrum.bare_rows - int(bare.sum())
        return cls(reached[spectrum.component], alone, out_of_reach + empty)


def models(
    inputs: TableInputs,
    spectrum: HyperedgeSpectrum,
    pairs: HyperedgePairs,
    members: tuple[Member, ...],
    features: Features,
    labels: Labels,
    reached: NDArray[np.bool_],
) -> tuple[Model, Model]:
    """Models of new rows, and of the fitted rows themselves.

    Parameters
    ----------
    inputs, spectrum, pairs
        What is known of all rows.
    members : tuple of Member
        Trained on the rows that stand for all, of which the last r are the identity.
    features : Features
        Of those rows.
    labels : Labels
        Of those rows.
    reached : (|E|,) bool array
        Hyperedges of components that have a label.
    """
    encoder = inputs.encoder
    weights = np.ones(encoder.n_hyperedges)
    # Cᵀ U = D_E⁻¹ (HᵀD⁻¹H) Q; the identity among the rows that stand for all picks its columns.
    compressed = (spectrum.weights @ pairs.coefficients) / spectrum.sizes[:, None]
    p = len(labels.index)
    rows = np.vstack([np.zeros((p, len(weights))), compressed.T])
    cross = TableCross(loop_weight=0.0, columns=DenseFactor(rows), encoder=encoder, weights=weights)
    root = reached.astype(np.float64)[:, None]
    vectors = ExtendedVectors(cross, root)
    networks = tuple(extend(member, spectrum.laplacian, features, vectors) for member in members)
    model = Model(inputs, replace(cross, columns=None), vectors.basis(), networks, labels.n_classes)
    # U itself, not its extension: Q with the signs that the networks use.
    own = [pairs.coefficients @ np.asarray(used.eigenvectors[p:]) for used in vectors.pairs]
    return model, replace(model, basis=np.hstack([root, *own]))


def evidence(
    spectrum: HyperedgeSpectrum,
    model: Model,
    members: tuple[Member, ...],
    labelled: Any,
    labels: Labels,
) -> Evidence:
    """What explanations compare a row with: an average row, and labelled ones."""
    chosen = spread_over(labels.codes, MOST_ROWS)
    rows = labelled.iloc[chosen] if hasattr(labelled, "iloc") else labelled[chosen]
    index, codes = (array[chosen].astype(np.int64) for array in (labels.index, labels.codes))
    sizes = {level: pairs.diagonal() for level, pairs in spectrum.counts.pairs.items()}
    average = weighted(sizes, lambda level: level**-0.5) / spectrum.n_rows
    seen = LabelledRows(index, codes, *model.place(rows))
    return Evidence(tuple(map(response_of, members)), average, seen)


@final
@dataclass(frozen=True, eq=False)
class FittedRows:
    """Distributions of the rows of one block, and which of them have no label in reach.

    Attributes
    ----------
    distributions : (q, C) array
    unplaced : (q,) bool array
    """

    distributions: FloatArray
    unplaced: NDArray[np.bool_]


def fitted_rows(
    block: Any, model: Model, own_labels: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> FittedRows:
    """Classify the rows of a block given to fit.

    `own_labels` are labelled rows of the block that stand alone, and their classes: nobody but its
    own label knows anything of such a row.
    """
    if not len(block):
        return FittedRows(np.zeros((0, model.n_classes)), np.zeros(0, bool))
    shares, lost = model.distributions(block)
    rows, codes = own_labels
    shares[rows] = np.eye(model.n_classes)[codes]
    lost[rows] = False
    return FittedRows(shares, lost)

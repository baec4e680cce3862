"""Whether rows that come later can be joined to the graph, and what they need for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lowrankgcn.estimators.extending import ExtendedVectors, extend
from lowrankgcn.estimators.inputs import GivenInputs, Inputs
from lowrankgcn.estimators.members import Member
from lowrankgcn.estimators.model import Model
from lowrankgcn.estimators.reading import Rows
from lowrankgcn.estimators.settings import Settings
from lowrankgcn.graphs import Graph
from lowrankgcn.spectral.extension import cross_affinity
from lowrankgcn.spectral.laplacian import Laplacian
from lowrankgcn.spectral.spectrum import Eigenpairs
from lowrankgcn.training import Features

__all__ = ["joins", "model_of"]


def joins(graph: Graph, rows: Rows, settings: Settings) -> bool:
    """Whether further rows of X can be joined to the graph: it must be made of X itself."""
    if not isinstance(settings.graph, Graph):
        return True
    return rows.kind == graph.row_kind and graph.is_built_from(rows.data)


def model_of(
    inputs: Inputs,
    laplacian: Laplacian,
    pairs: Eigenpairs | None,
    members: tuple[Member, ...],
    features: Features,
    reached: NDArray[np.bool_],
) -> Model:
    """What new rows need; `reached` are the rows of components with a label."""
    cross = cross_affinity(laplacian, loop_weight=_loop_of_new_rows(laplacian))
    root = np.where(reached, np.sqrt(laplacian.degrees), 0.0)[:, None]
    vectors = ExtendedVectors(cross, cross.compress(root))
    spectral = any(member.prepared.pairs is not None for member in members)
    if pairs is not None and (spectral or isinstance(inputs, GivenInputs)):
        vectors.eigenvectors(pairs)  # networks on fewer of them find theirs among these
    networks = tuple(extend(member, laplacian, features, vectors) for member in members)
    return Model(inputs, cross, vectors.basis(), networks, members[0].network.widths[-1])


def _loop_of_new_rows(laplacian: Laplacian) -> float | None:
    """The mean of loops that were given row by row; otherwise the smoother says it."""
    if np.ndim(laplacian.smoother) == 0:
        return None
    return max(0.0, float(np.mean(laplacian.loop_weights - laplacian.graph.loop_weights)))

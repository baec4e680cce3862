"""Set-up of a table in blocks.

>>> import dask.dataframe as dd
>>> import lowrankgcn as lg
>>> from lowrankgcn.distributed.blocks import Blocks
>>> from lowrankgcn.estimators.settings import read_settings
>>> cars = lg.datasets.load_cars(as_frame=True)
>>> settings = read_settings(lg.GCNClassifier(rank=16).get_params())
>>> known = set_up(Blocks.from_collection(dd.from_pandas(cars.data, npartitions=3)), settings)
>>> known.pairs.eigenvalues.round(4)[[0, 1, 15]]
array([0.    , 0.8333, 0.8333])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.counts import count_table, first_rows, weighted
from lowrankgcn.distributed.encoding import FittedTable, fit_table
from lowrankgcn.distributed.graph import BlockHypergraph
from lowrankgcn.distributed.representatives import (
    edge_features,
    feature_square,
    spectral_features,
    table_inputs,
)
from lowrankgcn.distributed.result import LabelReach, SetUpResult
from lowrankgcn.distributed.signs import rule_signs
from lowrankgcn.distributed.spectrum import HyperedgePairs, HyperedgeSpectrum
from lowrankgcn.distributed.vectors import TableVectors
from lowrankgcn.estimators.candidates import overlap_signs
from lowrankgcn.estimators.fitting import without_rounding
from lowrankgcn.estimators.inputs import TableInputs
from lowrankgcn.estimators.labels import Labels
from lowrankgcn.estimators.model import ExtendedVectors, Model, extend
from lowrankgcn.estimators.proposals import rank_for, suppress_rank_warnings
from lowrankgcn.estimators.rows import Kind
from lowrankgcn.estimators.settings import Settings
from lowrankgcn.estimators.trained import TrainedNetwork
from lowrankgcn.graphs.cross.sparse import TableCross
from lowrankgcn.operators import DenseFactor, FloatArray
from lowrankgcn.spectral.filters import Filter
from lowrankgcn.spectral.laplacian import Laplacian

__all__ = ["TableSetUp", "set_up"]


@final
@dataclass(frozen=True, eq=False)
class TableSetUp(SetUpResult):
    """Result of the set-up of a table; see :class:`SetUpResult`.

    Attributes
    ----------
    table : FittedTable
    spectrum : HyperedgeSpectrum
    """

    table: FittedTable
    spectrum: HyperedgeSpectrum
    inputs: TableInputs
    square_sum: float
    pairs: HyperedgePairs
    inner: FloatArray
    filters: tuple[Filter, ...] | None

    kind: Kind = "table"

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of rows of each block."""
        return self.table.lengths

    @property
    def graph(self) -> BlockHypergraph:
        """Sizes and names of the hyperedges."""
        spectrum, encoder = self.spectrum, self.table.encoder
        return BlockHypergraph(spectrum.n_rows, spectrum.n_components, spectrum.sizes, encoder)

    @property
    def laplacian(self) -> Laplacian:
        """Laplacian of the graph of hyperedges, which has the same eigenvalues below one."""
        return self.spectrum.laplacian

    @property
    def vectors(self) -> TableVectors:
        """Rows of the eigenvectors."""
        return TableVectors(self.table.encoder, self.pairs)

    @property
    def units(self) -> Mapping[int, int]:
        """Eigenvectors that are unit vectors of rows without any cell."""
        return self.pairs.bare

    @property
    def average(self) -> FloatArray:
        """Mean of h(x)/√degree over all rows, shape (n_hyperedges,)."""
        counts = self.spectrum.counts
        sizes = {level: pairs.diagonal() for level, pairs in counts.pairs.items()}
        return weighted(sizes, lambda level: level**-0.5) / self.n_rows

    def reach(self, labelled: Any) -> LabelReach:
        """Return the components that have labelled rows."""
        spectrum, codes = self.spectrum, self.table.encoder.transform(labelled)
        bare = (codes == len(spectrum.sizes)).all(axis=1)
        place = np.append(spectrum.component, -1)[codes].max(axis=1)
        reached = np.zeros(len(spectrum.component_rows), bool)
        reached[place[~bare]] = True
        alone = bare | (spectrum.component_rows[place] == 1)
        out_of_reach = int(spectrum.component_rows[~reached].sum())
        empty = spectrum.bare_rows - int(bare.sum())
        return LabelReach(reached[spectrum.component], alone, out_of_reach + empty)

    def models(
        self,
        networks: tuple[TrainedNetwork, ...],
        labels: Labels,
        reach: LabelReach,
    ) -> tuple[Model, Model]:
        """Return the models of new rows and of the fitted rows."""
        inputs, spectrum, pairs = self.inputs, self.spectrum, self.pairs
        encoder = inputs.encoder
        weights = np.ones(encoder.n_hyperedges)
        # Cᵀ U = D_E⁻¹ (HᵀD⁻¹H) Q; the identity in the representative rows selects its columns.
        compressed = (spectrum.weights @ pairs.coefficients) / spectrum.sizes[:, None]
        p = len(labels.index)
        rows = DenseFactor(np.vstack([np.zeros((p, len(weights))), compressed.T]))
        cross = TableCross(loop_weight=0.0, columns=rows, encoder=encoder, weights=weights)
        root = reach.parts.astype(np.float64)[:, None]
        vectors = ExtendedVectors(cross, root)
        extended = tuple(extend(trained, self.laplacian, vectors) for trained in networks)
        later = replace(cross, columns=None)
        model = Model(inputs, later, vectors.basis(), extended, labels.n_classes)
        # U itself instead of its extension, with the signs that the networks use.
        own = [pairs.coefficients @ np.asarray(used.eigenvectors[p:]) for used in vectors.pairs]
        return model, replace(model, basis=np.hstack([root, *own]))


def set_up(blocks: Blocks, settings: Settings) -> TableSetUp:
    """Fit the encoder, count pairs of values, and compute eigenpairs.

    Notes
    -----
    The signs of eigenvectors follow from their overlap with the features, as for reduced networks
    in memory. With the paper's settings, the sign rule applies, which takes one or two more passes.
    """
    report_progress("reading the values of the columns")
    table = fit_table(blocks)
    encoder = table.encoder
    if not encoder.n_hyperedges:
        raise invalid("X", "a cell that is not missing", "missing cells only")
    report_progress("counting shared values")
    counts, counting = count_table(blocks, table)
    spectrum = HyperedgeSpectrum(counts)
    inputs = table_inputs(table, spectrum, raw_features=not settings.scaling)
    rank = rank_for(table.n_rows, encoder.n_hyperedges, settings)
    # Null vectors are in the order of the first rows of their components.
    firsts = first_rows(blocks, encoder, rank) if spectrum.n_components > 1 else None
    filters = None
    with suppress_rank_warnings(settings):
        if settings.filters is None:
            pairs = spectrum.smallest(rank, firsts)
        else:
            pairs, filters = spectrum.dominant(rank, settings.filters, firsts)
    square_sum = feature_square(inputs, table, spectrum)
    of_edges = edge_features(inputs, spectrum, counting)
    inner = without_rounding(spectral_features(inputs, pairs, of_edges), square_sum)
    if settings.scaling:
        signs = overlap_signs(inner)
    else:
        signs = rule_signs(blocks, TableVectors(encoder, pairs))
    signs = np.where(pairs.eigenvalues > 0, signs, 1.0)  # null vectors do not change
    return TableSetUp(
        table,
        spectrum,
        inputs,
        square_sum,
        pairs.signed(signs),
        inner * signs[:, None],
        filters,
    )

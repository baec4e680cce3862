"""Set-up of a table in blocks: everything that training and prediction need, in a few passes.

>>> import dask.dataframe as dd
>>> import lowrankgcn as lg
>>> from lowrankgcn.distributed.blocks import Blocks
>>> from lowrankgcn.estimators.settings import read_settings
>>> cars = lg.datasets.load_cars(as_frame=True)
>>> settings = read_settings(lg.GCNClassifier(rank=16).get_params())
>>> known = set_up(Blocks.of(dd.from_pandas(cars.data, npartitions=3)), settings)
>>> known.pairs.eigenvalues.round(4)[[0, 1, 15]]
array([0.    , 0.8333, 0.8333])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from lowrankgcn._progress import tell
from lowrankgcn._validation import invalid
from lowrankgcn.distributed.blocks import Blocks
from lowrankgcn.distributed.counts import count_table, first_rows
from lowrankgcn.distributed.encoding import FittedTable, fit_table
from lowrankgcn.distributed.signs import rule_signs
from lowrankgcn.distributed.spectrum import HyperedgePairs, HyperedgeSpectrum
from lowrankgcn.distributed.standin import (
    edge_features,
    feature_square,
    spectral_features,
    table_inputs,
)
from lowrankgcn.distributed.vectors import TableVectors
from lowrankgcn.estimators.candidates import overlap_signs
from lowrankgcn.estimators.fitting import without_rounding
from lowrankgcn.estimators.inputs import TableInputs
from lowrankgcn.estimators.proposals import quiet_cuts, rank_for
from lowrankgcn.estimators.settings import Settings
from lowrankgcn.filters import Filter
from lowrankgcn.operators import FloatArray

__all__ = ["SetUp", "set_up"]


@final
@dataclass(frozen=True, eq=False)
class SetUp:
    """What is known of all rows.

    Attributes
    ----------
    table : FittedTable
    spectrum : HyperedgeSpectrum
    inputs : TableInputs
        What the network sees.
    square_sum : float
        ‖X‖²_F.
    pairs : HyperedgePairs
    inner : (r, N_0) array
        UᵀX.
    filters : tuple of Filter or None
        Those given, bound to the spectrum.
    """

    table: FittedTable
    spectrum: HyperedgeSpectrum
    inputs: TableInputs
    square_sum: float
    pairs: HyperedgePairs
    inner: FloatArray
    filters: tuple[Filter, ...] | None


def set_up(blocks: Blocks, settings: Settings) -> SetUp:
    """Fit the encoder, count, and decompose.

    Notes
    -----
    Eigenvectors are signed by their overlap with the features, a sum over all rows, as reduced
    networks sign them; with the paper's settings by the rule for all eigenvectors, which takes one
    or two passes more.
    """
    tell("reading the values of the columns")
    table = fit_table(blocks)
    encoder = table.encoder
    if not encoder.n_hyperedges:
        raise invalid("X", "a cell that is not missing", "missing cells only")
    tell("counting shared values")
    counts, counting = count_table(blocks, table)
    spectrum = HyperedgeSpectrum(counts)
    inputs = table_inputs(table, spectrum, raw_features=not settings.scaling)
    rank = rank_for(table.n_rows, encoder.n_hyperedges, settings)
    # Null vectors are in the order of the first rows of their components.
    firsts = first_rows(blocks, encoder, rank) if spectrum.n_components > 1 else None
    filters = None
    with quiet_cuts(settings):
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
    signs = np.where(pairs.eigenvalues > 0, signs, 1.0)  # those of the null space stay
    return SetUp(
        table,
        spectrum,
        inputs,
        square_sum,
        pairs.signed(signs),
        inner * signs[:, None],
        filters,
    )

"""The closed-form classifier: a Gaussian process on spectral blocks with a learned filter.

>>> import numpy as np, lowrankgcn as lg
>>> spiral = lg.datasets.load_spiral(200, random_state=0)
>>> y = np.full(1000, -1)
>>> y[::50] = spiral.target[::50]
>>> classifier = lg.SpectralGPClassifier(random_state=0).fit(spiral.data, y)
>>> bool((classifier.transduction_ == spiral.target).mean() > 0.8)
True
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.utils.validation import check_is_fitted

from lowrankgcn._progress import report_progress
from lowrankgcn._validation import choice, invalid, node_index, positive_float, positive_int
from lowrankgcn.estimators.base import SemiSupervisedClassifier, draw_seed
from lowrankgcn.estimators.dask_dispatch import distributed_module
from lowrankgcn.estimators.explanation import By, Explanation
from lowrankgcn.estimators.gp_model import GPModel
from lowrankgcn.estimators.labels import Labels, read_labels
from lowrankgcn.estimators.rows import Rows, check_rows, read_rows
from lowrankgcn.gp.conformal import prediction_sets
from lowrankgcn.gp.likelihood import softmax
from lowrankgcn.gp.prior import Prior
from lowrankgcn.gp.process import GaussianProcess, fit_process
from lowrankgcn.gp.recipe import BLOCK_NAMES, row_blocks, supervised_blocks
from lowrankgcn.gp.shares import apply_factors, share_factors
from lowrankgcn.gp.suggestion import choose_rows, entropy
from lowrankgcn.gp.views import GRAPHS, FittedViews
from lowrankgcn.graphs import AdjacencyGraph, Graph, Hypergraph
from lowrankgcn.operators import FloatArray

__all__ = ["SpectralGPClassifier", "first_rows"]

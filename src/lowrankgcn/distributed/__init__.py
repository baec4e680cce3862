"""Classification of Dask collections, on one machine or on a cluster.

``GCNClassifier.fit`` calls this package for Dask DataFrames and arrays. Rows stay in their blocks.
Passes over the blocks compute counts and sums: small matrices that do not grow with n. Training
uses a few rows that represent all of them, and blocks are classified independently.

================ =================================================================================
module           contents
================ =================================================================================
blocks           passes over blocks with tree reduction
fixed_point      sums that do not depend on the order of rows
selection        exact order statistics
survey           mean, standard deviation and order statistics of columns
vocabulary       values of the columns, block by block
encoding         the table encoder of all blocks
counts           pair counts of hyperedges by degree, sums of numbers
spectrum         eigenpairs through the graph of hyperedges
vectors          rows of the eigenvectors, from a block and a small value
cloud            units, bandwidth and sample of points
point_components connected components of points
kernel_rows      rows of a Gaussian kernel through landmarks or Fourier modes
kernel_passes    column sums, Gram matrices, products of vectors over all points
ritz             eigenpairs from these sums
point_spectrum   eigenpairs of points, refined until the measured error is small enough
point_vectors    rows of the eigenvectors of points
graph            graphs without their rows
result           result of the set-up of a table or of points
nodes            hidden layers of low-rank networks as sums over kept rows of U
representatives  rows that represent all rows in training
signs            the sign rule over blocks
setup            set-up and models of tables
points           set-up and models of points
model            predictions of a block, data of explanations
labels           labels and weights in blocks
prediction       lazy results
parquet          folders of Parquet files, written atomically
fitting          calls all steps
================ =================================================================================

>>> import dask.dataframe as dd, numpy as np
>>> import lowrankgcn as lg
>>> cars = lg.datasets.load_cars(target="buying", as_frame=True)
>>> y = np.full(1728, "", dtype=object)
>>> y[cars.training] = cars.target.iloc[cars.training].astype(str)
>>> table = dd.from_pandas(cars.data, npartitions=4)
>>> classifier = lg.GCNClassifier(architecture="reduced", random_state=0).fit(table, y)
>>> classifier.graph_
BlockHypergraph(1728 nodes, 21 hyperedges)
>>> classifier.predict(table).compute().shape
(1728,)
"""

from lowrankgcn.distributed.fitting import fit
from lowrankgcn.distributed.graph import BlockHypergraph, BlockPoints
from lowrankgcn.distributed.prediction import predict, predict_proba, score

__all__ = ["BlockHypergraph", "BlockPoints", "fit", "predict", "predict_proba", "score"]

"""Tables and points of any size in Dask collections, on one machine or on a cluster.

``GCNClassifier.fit`` comes here when it is given a Dask DataFrame or array. Rows stay in their
blocks; what is known of all of them are counts and sums over blocks, small matrices that do not
grow with n. Training then sees a few rows that stand for all, and every block is classified by
itself.

=============== ==================================================================================
module          what it does
=============== ==================================================================================
blocks          one task per block and pass, results joined in a tree
fixed_point     sums that do not depend on the order of rows
selection       exact order statistics
survey          mean, standard deviation and order statistics of columns
vocabulary      values of the columns, block by block
encoding        the table encoder of all blocks
counts          pair counts of hyperedges by degree, sums of numbers
spectrum        eigenpairs through the graph of hyperedges
vectors         rows of the eigenvectors, from a block and a small value
cloud           units and bandwidth of points, a few of them in memory
voxels          connected components of points
kernel_rows     rows of a Gaussian kernel through landmarks or Fourier modes
kernel_passes   column sums, Gram matrices, products of vectors over all points
ritz            eigenpairs from these
point_spectrum  the passes over a kernel, until its measured error fits
point_vectors   rows of the eigenvectors of points
graph           graphs as far as they are known without their rows
known           what set-up knows of all rows, be they a table or points
nodes           hidden layers of low-rank networks as sums over kept rows of U
standin         rows that stand for all in training
signs           the sign rule over blocks
setup           the passes over a table in their order, models of its rows
points          the same for points
model           what models say of a block's rows
labels          labels and weights in blocks
prediction      lazy results
parquet         folders of files, complete or not there
fitting         all of it
=============== ==================================================================================

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

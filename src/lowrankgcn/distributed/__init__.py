"""Classification of Dask collections: sample, fit, map.

The classifiers call this package for Dask DataFrames and arrays, with or without a cluster.

1. *Sample.* One pass over the partitions collects all labelled rows and a uniform sample of the
   others, ``fit_rows`` rows in all (a parameter of the classifier).
2. *Fit.* The classifier is fitted to the sample in memory.
3. *Map.* Each partition is classified by ``predict_proba``, independently and on request. Sampled
   rows are no exception.

The sample depends on ``random_state`` and on the division into partitions, not on the workers.
After ``fit``, ``label_distributions_`` and ``transduction_`` are lazy Dask arrays of all rows.
Other fitted attributes, such as the graph, describe the sample; ``unplaced_`` is removed.

============ =====================================================================================
module       contents
============ =====================================================================================
partitions   tasks on partitions, their lengths, schema checks, errors of Dask
dask_adapter ``fit`` to a sample, ``predict_proba``, ``most_probable`` and ``score``
parquet      folders of Parquet files, written atomically
============ =====================================================================================

Notes
-----
The calling process holds the sample: ``fit_rows`` rows, or all labelled rows if there are more.
Each partition is read once by ``fit``, and once whenever results are computed. Labels in memory
take one more pass over one column if the lengths of the partitions are unknown. Labels in other
partitions than X are computed first.

Examples
--------
>>> import dask.dataframe as dd, numpy as np
>>> import lowrankgcn as lg
>>> cars = lg.datasets.load_cars(target="buying", as_frame=True)
>>> y = np.full(1728, "", dtype=object)
>>> y[cars.training] = cars.target.iloc[cars.training].astype(str)
>>> table = dd.from_pandas(cars.data.drop(columns="buying"), npartitions=4)
>>> classifier = lg.GCNClassifier(max_iter=20, random_state=0).fit(table, y)
>>> classifier.label_distributions_
dask.array<rows, shape=(1728, 4), dtype=float64, chunksize=(432, 4), chunktype=numpy.ndarray>
>>> classifier.predict(table).compute().shape
(1728,)
"""

from lowrankgcn.distributed.dask_adapter import fit, most_probable, predict_proba, score

__all__ = ["fit", "most_probable", "predict_proba", "score"]

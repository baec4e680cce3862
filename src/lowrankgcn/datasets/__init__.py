"""The paper's datasets, and the benchmark graphs and hypergraphs of the field.

The paper's are points of a spiral, a table of cars and a table of mushrooms.

Each has labels and a small fixed training set, because accuracies depend on the training nodes:

>>> cars = load_cars()
>>> cars.data.shape, cars.target_names
((1728, 6), ('unacc', 'acc', 'good', 'vgood'))
>>> cars.data[1727].tolist(), cars.target_names[cars.target[1727]]
(['low', 'low', '5more', 'more', 'big', 'high'], 'vgood')
>>> cars.training.shape
(20,)

Spiral and cars are generated. The mushrooms are read from a file in the data directory, which is
the folder named by the environment variable ``LOWRANKGCN_DATA``, or ``lowrankgcn`` in the user's
cache. The file is downloaded on first use. So are the files of graphs: :func:`fetch_planetoid`,
:func:`fetch_hypergraph` and :func:`fetch_heterophilous`.
"""

from lowrankgcn.datasets.dataset import Dataset
from lowrankgcn.datasets.download import data_directory
from lowrankgcn.datasets.graph_files import (
    fetch_heterophilous,
    fetch_hypergraph,
    fetch_planetoid,
)
from lowrankgcn.datasets.spiral import load_spiral
from lowrankgcn.datasets.uci import load_cars, load_mushrooms

__all__ = [
    "Dataset",
    "data_directory",
    "fetch_heterophilous",
    "fetch_hypergraph",
    "fetch_planetoid",
    "load_cars",
    "load_mushrooms",
    "load_spiral",
]

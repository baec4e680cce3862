"""Graphs of points, tables and given weights."""

from lowrankgcn.graphs.adjacency import AdjacencyGraph
from lowrankgcn.graphs.base import Graph, GraphDescription
from lowrankgcn.graphs.gaussian_graph import GaussianGraph
from lowrankgcn.graphs.hypergraph import Hypergraph
from lowrankgcn.graphs.table import TableEncoder

__all__ = [
    "AdjacencyGraph",
    "GaussianGraph",
    "Graph",
    "GraphDescription",
    "Hypergraph",
    "TableEncoder",
]

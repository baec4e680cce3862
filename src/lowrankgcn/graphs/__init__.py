"""Graphs of points, tables and given weights: frozen, validated, aware of their components."""

from lowrankgcn.graphs.adjacency import AdjacencyGraph
from lowrankgcn.graphs.base import Graph
from lowrankgcn.graphs.gaussian import GaussianGraph
from lowrankgcn.graphs.hypergraph import Hypergraph
from lowrankgcn.graphs.table import TableEncoder

__all__ = ["AdjacencyGraph", "GaussianGraph", "Graph", "Hypergraph", "TableEncoder"]

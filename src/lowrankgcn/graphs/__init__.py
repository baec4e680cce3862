"""Graphs of points, tables and given weights."""

from lowrankgcn.graphs.adjacency import AdjacencyGraph
from lowrankgcn.graphs.gaussian_graph import GaussianGraph
from lowrankgcn.graphs.graph import Graph, GraphDescription
from lowrankgcn.graphs.hypergraph import Hypergraph

__all__ = ["AdjacencyGraph", "GaussianGraph", "Graph", "GraphDescription", "Hypergraph"]

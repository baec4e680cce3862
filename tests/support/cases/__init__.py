"""Graphs, kernels, networks and inputs that tests share, and strategies that draw them."""

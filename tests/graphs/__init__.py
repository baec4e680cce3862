"""Tests of lowrankgcn.graphs."""

"""Tests of lowrankgcn.operators."""

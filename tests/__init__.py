"""Tests of lowrankgcn; the folders mirror the package."""

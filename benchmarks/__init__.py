"""Benchmarks for asv: time, peak memory and accuracy, one file for each layer."""

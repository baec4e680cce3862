"""Experiments on whole datasets: comparison with other methods, reproduction of the paper."""

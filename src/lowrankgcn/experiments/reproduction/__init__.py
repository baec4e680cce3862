"""Compute the paper's tables and figures and compare them with the published numbers.

Modules in reading order: ``training_runs`` (data, graphs and networks, their accuracies and times,
stored), ``results`` (the paper's rows, from ``paper.toml``, with verdicts and errata) and ``page``.
"""

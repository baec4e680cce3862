"""Compute the paper's tables and figures and compare them with the published numbers.

Modules in reading order: ``grid`` (the paper's rows, from ``paper.toml``, with data, graphs and
networks), ``training_runs`` (their accuracies and times, stored), ``results`` (verdicts and
errata), ``figures`` and ``page``.
"""

"""Compute the paper's tables and figures and compare them with the published numbers.

Modules in reading order: ``grid`` (the paper's rows, from ``paper.toml``, with data, graphs and
networks), ``runner`` (resumable runs), ``results`` (verdicts and errata), ``figures`` and ``page``.
"""

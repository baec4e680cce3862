"""Compute the paper's tables and figures and compare them with the published numbers.

Modules in reading order: ``grid`` (the paper's rows, from ``paper.toml``), ``setting`` (data,
graphs, networks), ``naive`` (times of the naive implementation), ``store`` and ``runner``
(resumable runs), ``verdict`` (with the errata), ``results``, ``figures`` and ``page``.
"""

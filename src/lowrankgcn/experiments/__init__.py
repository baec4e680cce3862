"""Experiments on whole datasets.

Comparison with other methods on the same random splits of a table: ``methods`` lists them,
``comparison`` prepares a table and fits them all, ``summary`` computes means, intervals and a
verdict. Reproduction of the paper: ``training_runs`` (data, graphs and networks, their accuracies
and times, stored), ``reproduction`` (the paper's rows, from ``paper.toml``, with verdicts and
errata) and ``page``.
"""

"""Compare this library with other methods on the same random splits of a table.

``task`` prepares a table, ``methods`` lists the competitors, ``runner`` fits them all, and
``summary`` computes means, intervals and a verdict and formats them.
"""

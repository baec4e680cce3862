"""Compare this library with other methods on the same random splits of a table.

``methods`` lists the competitors, ``task`` prepares a table and fits them all to splits of it, and
``summary`` computes means, intervals and a verdict and formats them.
"""

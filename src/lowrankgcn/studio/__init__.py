"""Labelling in the browser: a page on this machine, its server and the engine behind it.

``lowrankgcn studio`` serves a table on 127.0.0.1. A person labels some rows, and all other rows are
classified anew after each label.

================ ===============================================================================
``answer``       what follows from labels
``engine``       predictions: an immediate update, then the same answer as a fresh fit
``later``        the engine, prepared while the server answers
``layout``       positions of the rows on the map
``state``        labels, marks and predictions at one moment
``stopping``     the accuracy as labels grow, and what more labels would add
``session``      changes with undo, their journal, threads that compute predictions
``pictures``     pictures in files, in bytes and as pixels in columns
``showing``      how columns are shown: title, text, link, picture, date, number, category
``wording``      reasons in words
``view``         what the page shows: cells, search and order of rows, reasons
``server``       HTTP interface, access control, events
================ ===============================================================================
"""

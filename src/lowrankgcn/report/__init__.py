"""Reports: results laid out as one self-contained HTML file.

``classification`` holds the results of a table, ``pages`` places its rows in a plane and renders
Jinja2 templates with the pictures of :mod:`lowrankgcn.plotting`.
A page loads nothing from the network and runs one script, ``templates/map.js``.
"""

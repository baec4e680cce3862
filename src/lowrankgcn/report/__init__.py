"""Reports: results laid out as one self-contained HTML file.

``classification`` holds the results of a table, ``row_map`` places its rows in a plane, ``pages``
renders the Jinja2 templates with pictures of :mod:`lowrankgcn.plotting`. A page loads nothing from
the network and runs one script, ``templates/map.js``.
"""

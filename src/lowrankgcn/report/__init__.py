"""Reports: results laid out as one self-contained HTML file.

``classification`` holds the results of a table, ``classification_page`` places its rows in a plane
and renders them, ``pages`` has the Jinja2 templates and the pictures of :mod:`lowrankgcn.plotting`.
A page loads nothing from the network and runs one script, ``templates/map.js``.
"""

"""Reports: results laid out as one self-contained HTML file.

``classification`` holds results, ``figures`` computes charts, ``pages`` renders the
Jinja2 templates. A page loads nothing from the network and runs one script, ``templates/map.js``.
"""

"""Reports: results laid out as one self-contained HTML file.

``classification`` and ``evidence`` hold results, ``figures`` draws them, ``pages``
renders the Jinja2 templates. Only the last two import Matplotlib.
"""

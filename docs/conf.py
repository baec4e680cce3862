"""Sphinx configuration."""

from importlib.metadata import version as installed_version

project = "lowrankgcn"
author = "The lowrankgcn developers"
release = version = installed_version("lowrankgcn")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
]
exclude_patterns = ["_build"]
html_theme = "furo"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2  # links to sections
# Quotes in what a command prints are no error of the console block.
suppress_warnings = ["misc.highlighting_failure"]
# autodoc lists the members of a class; an additional table would repeat them.
numpydoc_show_class_members = False

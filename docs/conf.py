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
# Members of a class stand in its own page; a table of them above would only repeat them.
numpydoc_show_class_members = False

"""Sphinx configuration."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

import lowrankgcn

sys.path.append(str(Path(__file__).parent / "_ext"))
# The public name of lowrankgcn.spectral.filters is an attribute; autodoc imports modules.
sys.modules["lowrankgcn.filters"] = lowrankgcn.filters

project = "lowrankgcn"
author = "The lowrankgcn developers"
release = version = installed_version("lowrankgcn")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "command_pages",
    "offline",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
html_theme = "furo"
html_math_renderer = "mathml"
nitpicky = True

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # links to sections
# Quotes in what a command prints are no error of the console block.
suppress_warnings = ["misc.highlighting_failure"]
smartquotes = False  # two hyphens begin an option

autodoc_typehints = "none"  # types are in the sections of the parameters
autodoc_member_order = "bysource"
# autodoc lists the members of a class; an additional table would repeat them.
numpydoc_show_class_members = False

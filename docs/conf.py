"""Sphinx configuration."""

import logging
import re
import sys
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS
from pygments.lexers import PythonConsoleLexer
from sphinx.highlighting import lexers

import lowrankgcn

sys.path.append(str(Path(__file__).parent / "_ext"))
# The public name of lowrankgcn.spectral.filters is an attribute; autodoc imports modules.
sys.modules["lowrankgcn.filters"] = lowrankgcn.filters
# A package of the theme sets the level of all loggers to INFO.
logging.getLogger("faiss.loader").setLevel(logging.WARNING)
_REFERENCE = (Path(__file__).parent / "reference" / "index.md").read_text(encoding="utf-8")

project = "lowrankgcn"
author = copyright = "The lowrankgcn developers"
release = version = lowrankgcn.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "command_pages",
    "offline",
]
exclude_patterns = ["_build", "gallery"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = f"lowrankgcn {release}"
html_copy_source = False
html_domain_indices = False
html_static_path = ["_static"]
html_css_files = ["site.css", "gallery.css"]
html_math_renderer = "mathml"
nitpicky = True

# Examples in pages end with an empty line, which doctest needs and readers do not.
lexers["pycon"] = PythonConsoleLexer(stripnl=True)

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3  # links to sections
# Quotes in what a command prints are no error of the console block.
suppress_warnings = ["misc.highlighting_failure"]
smartquotes = False  # two hyphens begin an option

# Pages of the reference list the examples of the gallery that use the class or function.
autosummary_context = {"gallery": "sphinx_gallery.gen_gallery" in extensions}
autodoc_typehints = "none"  # types are in the sections of the parameters
autodoc_member_order = "bysource"
# autodoc lists the members of a class; an additional table would repeat them.
numpydoc_show_class_members = False
# Types in the sections of the parameters are links if they are public classes. Those of Python and
# NumPy would need their inventories from the network.
DEFAULT_LINKS.clear()
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    name.rpartition(".")[2]: f"lowrankgcn.{name}"
    for name in re.findall(r"^   ([\w.]+)$", _REFERENCE, re.MULTILINE)
    if name.rpartition(".")[2][0].isupper()
}

# The examples run at build time, unless their outputs in auto_gallery/ are up to date.
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "auto_gallery/backreferences",
    "doc_module": ("lowrankgcn",),
    "image_srcset": ["2x"],  # for screens of high resolution
    "write_computation_times": False,  # they differ from build to build
    "min_reported_time": 3600,
    "remove_config_comments": True,
}

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
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["gallery.css"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2  # links to sections
# Quotes in what a command prints are no error of the console block.
suppress_warnings = ["misc.highlighting_failure"]
# autodoc lists the members of a class; an additional table would repeat them.
numpydoc_show_class_members = False

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

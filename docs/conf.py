"""The site: ``make docs`` builds it from these pages, docstrings and the scripts in examples."""

from __future__ import annotations

import os

from glassleaf import __version__

project = "glassleaf"
author = "The glassleaf developers"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
# The start is one page; the list of its folder would hold nothing else.
exclude_patterns = ["start/index.rst", "**/sg_execution_times.rst", "sg_execution_times.rst"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say the types, in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads of rivals do not burn the cores
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/start", "../examples/gallery"],
    "gallery_dirs": ["start", "gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_", "__repr__"),
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
}

html_theme = "pydata_sphinx_theme"
html_title = "glassleaf"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "comparison": [], "start/**": []}

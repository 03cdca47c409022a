"""Sphinx: `pip install -e '.[docs]'`, then `sphinx-build -W --keep-going -b html docs OUT`. What is our own
is in _sphinx/."""

import sys
from pathlib import Path

from tla import __version__

sys.path.insert(0, str(Path(__file__).parent / "_sphinx"))

project, author, version, release = "tla", "the tla authors", __version__, __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "docstrings", "pictures", "reference"]
exclude_patterns = ["_sphinx"]
smartquotes = False

myst_heading_anchors = 3
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 100
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
suppress_warnings = ["ref.python"]  # several classes have an attribute `bytes`, which is no name of the type

html_theme = "furo"
html_title = f"tla {version}"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = html_show_copyright = False
html_static_path = ["_sphinx/static"]
html_css_files = ["wide.css"]
html_js_files = ["reached.js"]


def without_the_end_of_examples(_app, _page, source):
    """Examples in Markdown end with a blank line, for doctest: it is not shown."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app):
    app.connect("source-read", without_the_end_of_examples)

"""Configure the site: Markdown pages, docstrings as the reference, formulas by a vendored KaTeX."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_site"))

import inventories

import surefoot

project = "Surefoot"
author = "The Surefoot authors"
project_copyright = "the Surefoot authors, BSD-3-Clause"
release = version = surefoot.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinxcontrib.katex",
    "reference",
]
exclude_patterns = ["_site", "_static", "playground/**"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
default_role = "py:obj"
# A role that leads nowhere is an error. Modules and inner types have no page of their own.
nitpicky = True
nitpick_ignore_regex = [
    ("py:mod", r"surefoot.*"),
    ("py:class", r"surefoot\..*"),
    ("py:class", r"(numpy|os|concurrent)\..*|QuadraticBounds"),  # types of other libraries
    ("py:exc", r"\w+"),
    ("py:class", r"[A-Z][a-z]+( .*)?|[a-z]+ .*"),  # words before a colon, which are no types
]

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

autodoc_typehints = "description"  # beside the meaning of each argument
autodoc_typehints_description_target = "documented"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True

# Links into other documentation, without a request: of theirs, only what is named here is known.
intersphinx_mapping = inventories.write(Path(__file__).parents[1] / "build" / "inventories")

# Nothing may come from elsewhere: the style sheet and its fonts are in _static.
katex_css_path = "katex/katex.min.css"
katex_js_path = "katex.min.js"
katex_autorender_path = "auto-render.min.js"

html_theme = "furo"
html_title = "Surefoot"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd3a7", "color-brand-content": "#5fd3a7"},
}


def setup(app):
    """Let links to the READMEs of the cases, which are no pages of the site, fetch the files."""

    def fetch(app, page, text):
        text[0] = text[0].replace("](../cases/", "](path:../cases/")

    app.connect("source-read", fetch)

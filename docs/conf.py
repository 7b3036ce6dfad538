"""The site: `pip install '.[docs]' && sphinx-build -W docs site`, then open site/index.html. It needs no network and no server."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]

import reference  # noqa: E402  # of tools/: the pages that are written from the package itself

project = "Penlight"
copyright = "the authors of Penlight, MIT licence"
extensions = ["myst_parser"]
exclude_patterns = ["release.md", "_static"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "Penlight"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def close_up(app, name, source):
    """Drop the blank line at the end of an example, which doctest needs and a reader does not."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app):
    app.connect("builder-inited", lambda app: reference.write(Path(app.srcdir)))
    app.connect("source-read", close_up)

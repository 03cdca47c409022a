"""Drawings in pages: where an example shows `<Drawing of ...>`, the drawing stands below it.

A page with drawings is run when it is read, as its doctest is, so a picture is always what the library makes now. It is no larger than
the screen, with a link to itself as it is, and one to the page that explores it: what `tla explore --site` makes is part of the site, where
npm's package pyodide is in $TLA_NPM.
"""

import contextlib
import doctest
import io
import os
import sys
import urllib.parse
from html import escape
from pathlib import Path

from docutils import nodes

from tla import TlaError
from tla.apps.explore import read
from tla.apps.explore.site import build
from tla.viz import Drawing, svg

FIGURE = """<figure style="margin: 0 0 1em"><a href="{link}"><img src="{link}" alt="{title}" style="max-width: 100%; max-height: 85vh"></a>
<figcaption>{explore}</figcaption></figure>"""
EXPLORE = '<a href="{page}#e={text}">explore it</a>'
PYODIDE = Path(os.environ.get("TLA_NPM", "node_modules")) / "pyodide"


def drawings(source, names):
    """What the examples of `source` show that is a Drawing, run in `names`."""
    shown = []
    with contextlib.redirect_stdout(io.StringIO()), displayed(shown.append):
        for example in doctest.DocTestParser().get_examples(source):
            with contextlib.suppress(Exception) if example.exc_msg else contextlib.nullcontext():
                exec(compile(example.source, "<docs>", "single"), names)
    return [value for value in shown if isinstance(value, Drawing)]


@contextlib.contextmanager
def displayed(hook):
    before, sys.displayhook = sys.displayhook, hook
    try:
        yield
    finally:
        sys.displayhook = before


def insert(app, doctree):
    """Run the blocks of the page that was read, and put each drawing below the block that shows it."""
    blocks = [*doctree.findall(nodes.literal_block)]
    if not any("<Drawing of" in block.astext() for block in blocks):
        return
    folder = Path(app.outdir) / "_images"
    folder.mkdir(parents=True, exist_ok=True)
    names, page, count = {}, app.env.docname, 0
    for block in blocks:
        below = block
        for drawing in drawings(block.astext(), names):
            count += 1
            name = f"{page.replace('/', '-')}-{count}.svg"
            (folder / name).write_text(svg(drawing), encoding="utf-8")
            up = "../" * page.count("/")
            figure = FIGURE.format(link=f"{up}_images/{name}", title=escape(seen(drawing)), explore=explored(drawing, up))
            picture = nodes.raw("", figure, format="html")
            below.parent.insert(below.parent.index(below) + 1, picture)
            below = picture


def seen(drawing):
    """What is seen in a drawing, for those who do not see it: of each layout its text, its size, and what colours mean."""
    grids = [(f.title, f.grids[0]) for f in drawing.figures]
    sizes = [f"{title}: {len(grid.rows.labels)} by {len(grid.columns.labels)} cells" for title, grid in grids]
    return "; ".join([*sizes, *([drawing.caption] if drawing.caption else [])])


def explored(drawing, up):
    """A link to the page with the first layout of a drawing, where the site has the page, and the page reads that."""
    title = drawing.figures[0].title
    try:
        read(title)
    except TlaError:
        return ""
    return EXPLORE.format(page=f"{up}explore/index.html", text=urllib.parse.quote(title, safe="")) if PYODIDE.is_dir() else ""


def with_page(app, error):
    """The page beside the site."""
    if error is None and app.builder.name == "html" and PYODIDE.is_dir():
        build(Path(app.outdir) / "explore", PYODIDE)


def setup(app):
    app.connect("doctree-read", insert)
    app.connect("build-finished", with_page)
    return {"parallel_read_safe": True}

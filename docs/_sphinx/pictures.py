"""Drawings in pages: where an example shows `<Drawing of ...>`, the drawing stands below it.

A page with drawings is run when it is read, as its doctest is, so a picture is always what the library makes now. It
takes no more than the screen, and is moved in there where its texts would be too small to read, with a link to itself
as it is, and one to the page that explores it: what `tla explore --site` makes is part of the site, where npm's package
pyodide is in $TLA_NPM.

    ```{thumbnails}
    a caption for each picture of the page, one a line
    ```

shows them all, small, each a link to where it stands.
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
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from tla import TlaError
from tla.apps.explore import read
from tla.apps.explore.site import build
from tla.viz import Drawing, svg
from tla.viz.placement import place
from tla.viz.scene import seen

FIGURE = """<figure class="drawing" id="picture-{number}">
<div><a href="{link}"><img src="{link}" alt="{title}" style="width: {width}"></a></div>
<figcaption>{explore}</figcaption></figure>"""
#: As wide as there is room, but no wider than it is, nor so small that it is not read.
WIDTH, LEAST = "clamp({least:.0f}px, 100%, {whole:.0f}px)", 0.7
THUMBNAIL = '<li><a href="#picture-{number}"><img src="{link}" alt="" loading="lazy"><span>{caption}</span></a></li>'
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
    """Run the blocks of the page that was read, and put each drawing below the block that shows it; mark
    grids of text."""
    blocks = [*doctree.findall(nodes.literal_block)]
    for block in blocks:
        if "│" in block.astext() or "┃" in block.astext():
            block["classes"].append("text-grid")
    if not any("<Drawing of" in block.astext() for block in blocks):
        return
    folder = Path(app.outdir) / "_images"
    folder.mkdir(parents=True, exist_ok=True)
    names, page, links = {}, app.env.docname, []
    for block in blocks:
        below = block
        for drawing in drawings(block.astext(), names):
            name = f"{page.replace('/', '-')}-{len(links) + 1}.svg"
            (folder / name).write_text(svg(drawing), encoding="utf-8")
            up, whole = "../" * page.count("/"), place(drawing).width
            links.append(f"{up}_images/{name}")
            width = WIDTH.format(least=min(LEAST * whole, whole), whole=whole)
            title, explore = escape(seen(drawing)), explored(drawing, up)
            figure = FIGURE.format(number=len(links), link=links[-1], title=title, width=width, explore=explore)
            picture = nodes.raw("", figure, format="html")
            below.parent.insert(below.parent.index(below) + 1, picture)
            below = picture
    for place_of_all in [*doctree.findall(lambda node: isinstance(node, nodes.raw) and "captions" in node)]:
        place_of_all.replace_self(nodes.raw("", thumbnails(page, place_of_all["captions"], links), format="html"))


class Thumbnails(SphinxDirective):
    """The place of small pictures; its content are their captions."""

    has_content = True

    def run(self):
        return [nodes.raw("", "", format="html", captions=[*filter(None, self.content)])]


def thumbnails(page, captions, links):
    if len(captions) != len(links):
        raise ExtensionError(f"{page}: {len(captions)} captions for {len(links)} pictures")
    items = enumerate(zip(captions, links), 1)
    rows = [THUMBNAIL.format(number=k, link=link, caption=escape(caption)) for k, (caption, link) in items]
    return f'<ul class="thumbnails">{"".join(rows)}</ul>'


def explored(drawing, up):
    """A link to the page with the first layout of a drawing, where the site has the page, and the page reads that."""
    title = drawing.figures[0].title
    try:
        read(title)
    except TlaError:
        return ""
    return (
        EXPLORE.format(page=f"{up}explore/index.html", text=urllib.parse.quote(title, safe=""))
        if PYODIDE.is_dir()
        else ""
    )


def with_page(app, error):
    """The page beside the site."""
    if error is None and app.builder.name == "html" and PYODIDE.is_dir():
        build(Path(app.outdir) / "explore", PYODIDE)


def setup(app):
    app.add_directive("thumbnails", Thumbnails)
    app.connect("doctree-read", insert)
    app.connect("build-finished", with_page)
    return {"parallel_read_safe": True}

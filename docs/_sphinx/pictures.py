"""Drawings in pages: where an example shows `<Drawing of ...>`, the drawing stands below it.

A page with drawings is run when it is read, as its doctest is, so a picture is always what the library makes now.
"""

import contextlib
import doctest
import io
import sys
from html import escape
from pathlib import Path

from docutils import nodes

from tla.viz import Drawing, svg

#: As large as it is: what is wider than the page is scrolled, or seen on a page of its own.
FIGURE = """<div style="overflow-x: auto; margin-bottom: 1em">
<a href="{link}"><img src="{link}" alt="{title}" style="max-width: none"></a></div>"""


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
            title, link = escape(repr(drawing)), f"{'../' * page.count('/')}_images/{name}"
            picture = nodes.raw("", FIGURE.format(link=link, title=title), format="html")
            below.parent.insert(below.parent.index(below) + 1, picture)
            below = picture


def setup(app):
    app.connect("doctree-read", insert)
    return {"parallel_read_safe": True}

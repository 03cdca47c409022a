"""The directive `api`: its argument is a module, its body the names of that which are told here, from their docstrings.

The directive `names` lists what all of these tell, each with its first line.
"""

import re
from importlib import import_module
from inspect import getdoc
from itertools import groupby
from pathlib import Path

from docstrings import inline, restructured
from sphinx.util.docutils import SphinxDirective

BLOCK = re.compile(r"^```\{api\} (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SENTENCE = re.compile(r"(?:`[^`]*`: *)?(.*?(?:[.:](?=\s|$)|$))", re.DOTALL)


def directives(module, names):
    """The autodoc directives of public names. Values of one class that have no docstring of their own, as
    tags, stand together."""
    home = import_module(module)

    def is_plain(name):
        value = getattr(home, name)
        return not isinstance(value, type) and value.__doc__ == type(value).__doc__

    for kind, group in groupby(names, key=lambda name: type(getattr(home, name)) if is_plain(name) else name):
        if isinstance(kind, type):
            yield from values(module, group, kind)
        elif isinstance(getattr(home, kind), type):
            yield from (f".. autoclass:: {module}.{kind}", "   :members:", "")
        elif callable(getattr(home, kind)):
            yield from (f".. autofunction:: {module}.{kind}", "")
        else:  # what takes its arguments in brackets
            yield from (f".. autodata:: {module}.{kind}", "   :no-value:", "")


def values(module, names, kind):
    """One entry with all names: what they are is told by their class, which is public itself or has
    its docstring here."""
    first, *others = names
    yield f".. py:data:: {first}"
    yield from (f"             {name}" for name in others)
    yield from (f"   :module: {module}", "")
    is_public = kind is getattr(import_module(module), kind.__name__, None)
    text = [f":py:class:`~{module}.{kind.__name__}`"] if is_public else restructured((getdoc(kind) or "").split("\n"))
    yield from (f"   {line}" for line in [*text, ""])


class Api(SphinxDirective):
    required_arguments, has_content = 1, True

    def run(self):
        lines = directives(self.arguments[0], " ".join(self.content).split())
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


def summaries(pages):
    """A line for each name of these pages: a link to it, and the first sentence of its docstring."""
    told = [
        (module, name)
        for page in pages
        for module, names in BLOCK.findall(page.read_text(encoding="utf-8"))
        for name in names.split()
    ]
    for module, name in sorted(told, key=lambda pair: (pair[1].lower(), pair[0])):
        first = (getdoc(getattr(import_module(module), name)) or "").split("\n\n")[0]
        sentence = " ".join(SENTENCE.match(first)[1].rstrip(":").split())
        yield f"* :py:obj:`{name} <{module}.{name}>` ({module}): {inline(sentence)}"


class Names(SphinxDirective):
    def run(self):
        pages = sorted(Path(self.env.srcdir, "api").glob("*.md"))
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *summaries(pages), "```"]))


def setup(app):
    app.add_directive("api", Api)
    app.add_directive("names", Names)
    return {"parallel_read_safe": True}

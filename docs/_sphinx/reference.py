"""The directive `api`: its argument is a module, its body the names of that which are told here, from their docstrings."""

from importlib import import_module
from inspect import getdoc
from itertools import groupby

from sphinx.util.docutils import SphinxDirective

from docstrings import restructured


def directives(module, names):
    """The autodoc directives of public names. Values of one class that have no docstring of their own, as tags, stand together."""
    home = import_module(module)

    def is_plain(name):
        value = getattr(home, name)
        return not isinstance(value, type) and value.__doc__ == type(value).__doc__

    for kind, group in groupby(names, key=lambda name: type(getattr(home, name)) if is_plain(name) else name):
        if isinstance(kind, type):
            yield from values(module, group, kind)
        elif isinstance(getattr(home, kind), type):
            yield from (f".. autoclass:: {module}.{kind}", "   :members:", "")
        else:
            yield from (f".. autofunction:: {module}.{kind}", "")


def values(module, names, kind):
    """One entry with all names: what they are is told by their class, which is public itself or has its docstring here."""
    first, *others = names
    yield f".. py:data:: {first}"
    yield from (f"             {name}" for name in others)
    yield from (f"   :module: {module}", "")
    is_public = kind is getattr(import_module(module), kind.__name__, None)
    text = [f":py:class:`~{module}.{kind.__name__}`"] if is_public else restructured(getdoc(kind).split("\n"))
    yield from (f"   {line}" for line in [*text, ""])


class Api(SphinxDirective):
    required_arguments, has_content = 1, True

    def run(self):
        lines = directives(self.arguments[0], " ".join(self.content).split())
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


def setup(app):
    app.add_directive("api", Api)
    return {"parallel_read_safe": True}

"""Triton's layouts as the text of its IR, `#ttg.blocked<{sizePerThread = [1, 4], ...}>`, written and read.

    attribute = "#" word { "." word } [ "<" [ item { "," item } ] ">" ]        without "<" it is a name that `names` has
    item      = "{" pairs "}" | word "=" value | "[" integer ":+" integer { "," ... } "]" [ "{" pairs "}" ]
    value     = integer | "true" | "false" | "[" values "]" | "{" pairs "}" | attribute

The text is data: it is parsed by this grammar and never evaluated.

Source: the printer of Triton 3.8's dialects.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...core.errors import LeafTypeError, ParseError, TlaError
from ..arguments import checked
from ..cursor import MAX_DEPTH, Cursor
from .forms import FORMS, Pairs
from .parameters import Parameters
from .shared import PaddedSharedLayout, SharedLinearLayout

_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|-?[0-9]{1,18}(?![0-9])|:\+|[#.<>{}\[\],=]")
_NAMES = {form.kind: name for name, form in FORMS.items()}


def to_text(layout: Parameters) -> str:
    """A layout as the attribute of Triton's IR.

    >>> from tla.linear.triton import BlockedLayout
    >>> print(to_text(BlockedLayout([1, 4], [4, 8], [2, 1], [1, 0])))
    #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0]}>

    Raises     LeafTypeError for what is no layout of Gluon's
    """
    if type(layout) not in _NAMES:
        raise LeafTypeError(f"to_text of a {type(layout).__name__}", "a layout of tla.linear.triton", "give a BlockedLayout, or another")
    name = _NAMES[type(layout)]
    form = FORMS[name]
    pairs = ", ".join(f"{key} = {_value(x)}" for key, x in form.write(layout).items())
    before = after = ""
    if isinstance(layout, PaddedSharedLayout):
        before = f"[{', '.join(f'{interval}:+{padding}' for interval, padding in layout.interval_padding_pairs)}] "
    if isinstance(layout, SharedLinearLayout):
        after = f", alignment = {layout.alignment}"
    return f"#{name}<{before}{'{' + pairs + '}' if form.braces else pairs}{after}>"


def _value(x: Any) -> str:
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(map(_value, x))}]"
    if isinstance(x, dict):
        return f"{{{', '.join(f'{key} = {_value(v)}' for key, v in x.items())}}}"
    return to_text(x) if isinstance(x, Parameters) else str(x)


@checked
def from_text(text: str, names: Mapping[str, Any] | None = None) -> Any:
    """The layout of an attribute of Triton's IR; `names` has what aliases such as #mma stand for: layouts, or their texts.

    >>> from tla.linear.triton import NVMMADistributedLayout
    >>> from_text("#ttg.slice<{dim = 0, parent = #mma}>", {"mma": NVMMADistributedLayout([2, 0], [1, 1], [16, 8])}).linear([8]).out_dims
    {'dim0': 8}

    Raises     ParseError with the position, and what the layout's class raises
    """
    if not isinstance(text, str):
        raise LeafTypeError(f"from_text of a {type(text).__name__}", "a text such as '#ttg.blocked<{...}>'", "to_text(layout) gives one")
    reader = _Reader(text, dict(names or {}))
    found = reader.attribute(0)
    reader.end()
    return found


class _Reader(Cursor):
    """A text of the grammar above, and what its names stand for."""

    def __init__(self, text: str, names: dict[str, Any]) -> None:
        super().__init__(text, _TOKEN, "write it as Triton prints it")
        self.names = names

    def attribute(self, depth: int) -> Any:
        """A layout: an alias, or the name of a form and its parameters in <{...}>."""
        start = self.at
        if depth > MAX_DEPTH:
            raise ParseError(
                self.text, start, "values nested too deep", f"at most {MAX_DEPTH} levels", "name the parent, as in parent = #mma"
            )
        self.need("#")
        name = self.next()
        while self.take("."):
            name += f".{self.next()}"
        name = name.replace("triton_gpu.", "ttg.").replace("triton_nvidia_gpu.", "ttng.")
        if self.peek() != "<":
            return self.alias(name, start)
        if name not in FORMS:
            raise ParseError(self.text, start, f"#{name} is not known", f"one of {', '.join(FORMS)}", "write one of these")
        pairs = self.items(depth)
        try:
            return FORMS[name].read(pairs)
        except TlaError:
            raise
        except KeyError as missing:
            raise ParseError(self.text, start, f"#{name} without {missing.args[0]}", f"{missing.args[0]} = ...", "add it") from None
        except (TypeError, IndexError, AttributeError):
            raise ParseError(
                self.text,
                start,
                f"#{name} with a value of another kind",
                "the values that Triton prints",
                "write them as Triton prints them",
            ) from None

    def alias(self, name: str, start: int) -> Any:
        if name not in self.names:
            have = ", ".join(self.names) or "none"
            raise ParseError(
                self.text,
                start,
                f"#{name} is a name",
                f"names that are given: {have}",
                f"give it: from_text(text, {{'{name}': layout}}); on the page and in a shell write '#{name} = #ttg...' before it",
            )
        found = self.names[name]
        if isinstance(found, str):
            rest = {key: value for key, value in self.names.items() if key != name}  # so that no name stands for itself
            return from_text(found, rest)
        return found

    def items(self, depth: int) -> Pairs:
        pairs: Pairs = {}
        self.need("<")
        while not self.take(">"):
            if self.peek() == "[":
                pairs["padding"] = self.paddings()
                self.take(",")
                continue
            pairs.update(self.braced(depth) if self.peek() == "{" else self.pair(depth))
            if self.peek() != ">":
                self.need(",")
        return pairs

    def braced(self, depth: int) -> Pairs:
        pairs: Pairs = {}
        self.need("{")
        while not self.take("}"):
            pairs.update(self.pair(depth))
            if self.peek() != "}":
                self.need(",")
        return pairs

    def pair(self, depth: int) -> Pairs:
        key = self.next()
        self.need("=")
        return {key: self.value(depth + 1)}

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self.wrong(f"values of at most {MAX_DEPTH} levels")
        token = self.peek()
        if token == "[":
            return self.list(depth)
        if token == "{":
            return self.braced(depth)
        if token == "#":
            return self.attribute(depth)
        if token in ("true", "false"):
            return self.next() == "true"
        if not token.lstrip("-").isdecimal():
            raise self.wrong("an integer, true, false, a list, or an attribute")
        return int(self.next())

    def list(self, depth: int) -> Any:
        found = []
        self.need("[")
        while not self.take("]"):
            found.append(self.value(depth + 1))
            if self.peek() != "]":
                self.need(",")
        return found

    def paddings(self) -> Any:
        found = []
        self.need("[")
        while not self.take("]"):
            interval = self.value(0)
            self.need(":+")
            found.append([interval, self.value(0)])
            if self.peek() != "]":
                self.need(",")
        return found

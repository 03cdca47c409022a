"""Triton's layouts as the text of its IR, `#ttg.blocked<{sizePerThread = [1, 4], ...}>`, written and read.

    attribute = "#" word { "." word } [ "<" [ item { "," item } ] ">" ]        without "<" it is a name that `names` has
    item      = "{" [ pair { "," pair } ] "}" | pair | "[" padding { "," padding } "]" [ "{" [ pair { "," pair } ] "}" ]
    pair      = word "=" value         padding = integer ":+" integer
    value     = integer | "true" | "false" | "mnThenK" | "kThenMn" | attribute
              | "[" [ value { "," value } ] "]" | "{" [ pair { "," pair } ] "}"
    type      = "tensor" "<" { extent "x" } element "," attribute ">"
              | "!ttg.memdesc" "<" { extent "x" } element "," attribute [ "," space ] [ "," "mutable" ] [ "," { extent "x" } extent ] ">"

Source: the printer of Triton 3.9's dialects.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from ...core.cache import compiled
from ...core.element import Width
from ...core.errors import LeafTypeError, TlaError
from ...core.reader import Reader, write_nearest
from ..arguments import checked
from .forms import FORMS, Attributes
from .parameters import Parameters
from .shared import PaddedSharedLayout, SharedLinearLayout
from .tensor_memory import REP_ORDERS

#: The parts of names that older versions wrote.
_RENAMED = {"triton_gpu": "ttg", "triton_nvidia_gpu": "ttng"}
_MEMORY_SPACES = ("ttg.shared_memory", "ttng.tensor_memory")
_ELEMENT = r"(?:[su]?i|bf|tf|f)([1-9][0-9]{0,3})(?:E[0-9]M[0-9](?:FN|FNUZ|FNU|B11FNUZ|B15)?)?"
_POINTER_BITS = 64
_NAMES = {form.kind: name for name, form in FORMS.items()}


def to_text(layout: Parameters) -> str:
    """A layout as the attribute of Triton's IR.

    >>> from tla.linear.triton import BlockedLayout
    >>> print(to_text(BlockedLayout([1, 4], [4, 8], [2, 1], [1, 0])))
    #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0]}>

    Raises     LeafTypeError for what is no layout of Gluon's
    """
    if type(layout) not in _NAMES:
        what = f"to_text of a {type(layout).__name__}"
        raise LeafTypeError(what, "a layout of tla.linear.triton", "give a BlockedLayout, or another")
    name = _NAMES[type(layout)]
    form = FORMS[name]
    pairs = ", ".join(f"{key} = {_value(x)}" for key, x in form.write(layout).items())
    before = after = ""
    if isinstance(layout, PaddedSharedLayout):
        before = f"[{', '.join(f'{interval}:+{padding}' for interval, padding in layout.interval_padding_pairs)}] "
    if isinstance(layout, SharedLinearLayout):
        after = f", alignment = {layout.alignment}"
    return f"#{name}<{before}{'{' + pairs + '}' if form.braces else pairs}{after}>"


def _value(x: object) -> str:
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(map(_value, x))}]"
    if isinstance(x, dict):
        return f"{{{', '.join(f'{key} = {_value(v)}' for key, v in x.items())}}}"
    return to_text(x) if isinstance(x, Parameters) else str(x)


@checked
def from_text(text: str, names: Mapping[str, Any] | None = None) -> Any:
    """The layout of an attribute of Triton's IR; `names` has what aliases such as #mma stand for: layouts,
    or their texts.

    >>> from tla.linear.triton import NVMMADistributedLayout
    >>> from_text("#ttg.slice<{dim = 0, parent = #mma}>", {"mma": NVMMADistributedLayout([2, 0], [1, 1], [16, 8])}).linear([8]).out_dims
    {'dim0': 8}

    Raises     ParseError with the position, and what the layout's class raises
    """
    reader = TritonReader(text, names)
    return reader.whole(reader.attribute)


class TritonReader(Reader):
    """A text of the grammar above, and what its names stand for."""

    tokens = r"[1-9][0-9]{0,9}x|[A-Za-z_][A-Za-z0-9_]*|-?[0-9]{1,18}(?![0-9A-Za-z_])|:\+|[#!.<>{}\[\],=]"
    noun = "a layout of Triton"
    example = "write it as Triton prints it: #ttg.blocked<{...}>, or tensor<64x64xf16, #ttg.blocked<{...}>>"
    trailing = True

    def __init__(self, text: str, names: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.names = dict(names or {})

    def name(self) -> str:
        """A word, or several with points between."""
        parts: list[str] = []
        while not parts or self.take("."):
            if not self.token.isidentifier():
                self.unexpected("a name, such as ttg.blocked")
            parts.append(self.next())
        return ".".join([_RENAMED.get(parts[0], parts[0]), *parts[1:]])

    # ------------------------------------------------------------------------------------------------ layouts

    def attribute(self) -> Any:
        """A layout: an alias, or the name of a form and its attributes in <{...}>."""
        start = self.at
        self.expect("#", "and the name of a layout")
        name = self.name()
        if self.token != "<":
            return self.alias(name, start)
        if name not in FORMS:
            fix = write_nearest(name, FORMS) or "write one of these"
            self.fail(f"#{name} is not known", f"one of {', '.join(FORMS)}", fix, start)
        given = Attributes()
        self.listed("<>", lambda: self.item(given), "attributes")
        return self.made(name, given, start)

    def alias(self, name: str, start: int) -> Any:
        if name not in self.names:
            have = ", ".join(self.names) or "none"
            before = f"on the page and in a shell write '#{name} = #ttg...' before it"
            fix = f"give it: from_text(text, {{'{name}': layout}}); {before}"
            self.fail(f"#{name} is a name", f"names that are given: {have:.200}", fix, start)
        found = self.names[name]
        if not isinstance(found, str):
            return found
        others = {key: value for key, value in self.names.items() if key != name}  # no name stands for itself
        inner = TritonReader(found, others)
        inner.depth = self.deeper()
        return inner.whole(inner.attribute)

    def made(self, name: str, given: Attributes, start: int) -> Any:
        """The layout of a form: its reader asks for every attribute that it knows."""
        try:
            layout = FORMS[name].read(given)
        except KeyError as missing:
            self.refuse_misspelt(name, given)
            key = missing.args[0]
            self.fail(f"#{name} without {key}", f"{key} = ...", f"add {key} = ...", start)
        except TlaError:  # it may be of the value that stands where an attribute is misspelt
            self.refuse_misspelt(name, given)
            raise
        except (TypeError, IndexError, AttributeError):
            what, fix = f"#{name} with a value of another kind", "write them as Triton prints them"
            self.fail(what, "the values that Triton prints", fix, start)
        for word, at, asked in given.unknown():
            fix = write_nearest(word, [x for x in asked if x not in given.places]) or "leave it out"
            self.not_known(name, word, at, asked, fix)
        return layout

    def refuse_misspelt(self, name: str, given: Attributes) -> None:
        """Refuse an attribute that is nearly one which was asked for and is not there."""
        for word, at, asked in given.unknown():
            if fix := write_nearest(word, [x for x in asked if x not in given.places]):
                self.not_known(name, word, at, asked, f"{fix} for {word:.40}")

    def not_known(self, name: str, word: str, at: int, asked: Collection[str], fix: str) -> NoReturn:
        what, expected = (
            f"#{name}: the attribute {word:.40} is not known",
            f"attributes among {', '.join(asked) or 'none'}",
        )
        self.fail(what, expected, fix, at)

    def item(self, given: Attributes) -> None:
        """A pair, or pairs in braces; before these may stand the paddings of a padded layout."""
        if self.token == "[":
            given.places["padding"] = self.at
            given["padding"] = self.listed("[]", self.padding)
        if self.token == "{":
            self.listed("{}", lambda: self.pair(given))
        elif self.token not in (",", ">"):
            self.pair(given)

    def padding(self) -> list[int]:
        interval = self.integer("the number of elements between paddings, as in 128:+8")
        self.expect(":+", "and a padding")
        return [interval, self.integer("a padding, as in 128:+8")]

    def pair(self, given: Attributes) -> None:
        at, name = self.at, self.token
        if not name.isidentifier():
            self.unexpected("the name of an attribute")
        if name in given.places:
            self.fail(f"{name:.40} is given twice", "each attribute once", "leave one of the two out")
        self.advance()
        self.expect("=", f"and the value of {name:.40}")
        given.places[name], given[name] = at, self.value()

    def value(self) -> Any:
        if self.token == "[":
            return self.listed("[]", self.value)
        if self.token == "{":
            inside = Attributes()
            self.listed("{}", lambda: self.pair(inside))
            return inside
        if self.token == "#":
            return self.attribute()
        if self.token in ("true", "false"):
            return self.next() == "true"
        if self.token in REP_ORDERS:
            return self.next()
        return self.integer("an integer, true, false, a list, or an attribute")

    # -------------------------------------------------------------------------------------------------- types

    def type(self) -> tuple[Any, tuple[int, ...], Width]:
        """A type: its layout, the extents, and the width of an element."""
        if self.take("tensor"):
            return self.enclosed("<>", self.shaped, "extents")
        start = self.at
        self.expect("!", "and ttg.memdesc, or tensor<...>")
        if (name := self.name()) not in ("ttg.memdesc", "tt.memdesc"):
            self.fail(f"!{name:.40} is no type with a layout", "tensor<...> or !ttg.memdesc<...>", at=start)
        return self.enclosed("<>", self.of_memory, "extents")

    def shaped(self) -> tuple[Any, tuple[int, ...], Width]:
        shape, width = self.extents(), self.element()
        self.expect(",", "and a layout")
        return self.attribute(), shape, width

    def of_memory(self) -> tuple[Any, tuple[int, ...], Width]:
        """A type of memory. The memory space, `mutable` and the extents of what is allocated may follow the layout."""
        found = self.shaped()
        if self.take(","):
            self.expect("#", "and a memory space")
            at, space = self.at, self.name()
            if "." in space and space not in _MEMORY_SPACES:
                fix = write_nearest(space, _MEMORY_SPACES)
                self.fail(f"the memory space #{space:.40} is not known", f"one of {', '.join(_MEMORY_SPACES)}", fix, at)
        more = self.take(",")
        if more and self.take("mutable"):
            more = self.take(",")
        if more:
            self.extents(least=0)
            self.integer("mutable, or the extents of what is allocated")
        return found

    def extents(self, least: int = 1) -> tuple[int, ...]:
        out: list[int] = []
        while self.token[-1:] == "x" and self.token[:-1].isdecimal():
            out.append(int(self.next()[:-1]))
        if len(out) < least:
            self.unexpected("extents, as in 64x64xf16")
        return tuple(out)

    def element(self) -> Width:
        """An element type; a pointer is one."""
        start = self.at
        if self.take("!"):
            if self.name() != "tt.ptr":
                self.unexpected("!tt.ptr<...>")
            self.enclosed("<>", self.pointed, "what it points to")
            return Width(_POINTER_BITS, self.text[start : self.at].rstrip())
        found = compiled(_ELEMENT).fullmatch(self.token)
        if not found and self.token != "index":
            self.unexpected("an element type, such as f16")
        return Width(int(found[1]) if found else _POINTER_BITS, self.next())

    def pointed(self) -> None:
        self.element()
        if self.take(","):
            self.integer("the number of an address space")

"""Layouts as CuTe's print, its DSL and C++ compilers write them, put into tla's notation.

    Sw<3,4,3>_smem_ptr[16b](0x7f..) o (_8,_64):(_64,_1)      a tensor of CuTe: its swizzle is one of bytes; the pointer is left out
    S<3,3,3> o 0 o (8,64):(64,1)                             the DSL: a bare number is static there, `?` dynamic
    (?,?{div=16}):(?{i64 div=8},1)                           sizes that are not known, and what divides them
    ArithTuple(0,4) o (4,5):(_1@0,_1@1), tensor<(0,4) o ...> coordinates, and the one that they begin at
    counting_iter(42) o (4,5):(_1,4):                        integers; rows that print_tensor and print_layout write below are left out
    cute::Layout<cute::tuple<cute::C<4>, int>, ...>          a type of C++: int is a size that is not known

Source: cute::print of CUTLASS (util/print.hpp, pointer_swizzle.hpp, arithmetic_tuple.hpp); the printer of the CuTe DSL.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.cache import compiled
from ..core.element import Width
from ..core.errors import ParseError, RankError

_compiled = functools.partial(compiled, flags=re.ASCII)

#: What no text of ours has.
_FOREIGN = r"\?|(?<![\w.])S<|ptr_?[\[(<]|ArithTuple\(|counting_iter\(|cute::|!cute\.|(?<!\w)(?:Composed)?Layout<|(?<!\w)tensor[<(]"
_DSL = r"\?|(?<![\w.])S<|!cute\.|(?<!\w)tensor<"
_WRAPPED = (
    r'\A\s*(?:!cute\.layout<\s*"(?P<layout>[^"]*)"\s*>|!cute\.memref<(?P<memref>[^"]*),\s*"(?P<of>[^"]*)"\s*>|tensor<(?P<tensor>.*)>'
    r"|tensor\((?P<elements>[^\n=]* o [^\n=]*),\s*data\s*=[-+einaf\d\s.,()\[\]]*\))\s*\Z"
)
_START = r"\A\s*(\([^o:]*\))\s*o\s*"
#: A line below a layout that print_layout or print_tensor wrote, and the colon of the latter behind the layout.
_ROW = r"[-=\s][-+=|\s\d.,()_einaf]*\Z"
_COLON = r"(:[^:\n]+):\s*\Z"
_SWIZZLED = r"(?:(?:Sw|S)<\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*>)"
_POINTER = rf"(?:{_SWIZZLED}(?:\s*o\s*|_))?\w*ptr_?\[(\d{{1,4}})b\]\(([^()]*)\)\s*o\s*"
_DSL_POINTER = r"(?:raw_)?ptr(?:\(([^()]*)\)|<((?:[^<>]|<[^<>]*>)*)>)\s*o\s*"
_TUPLE_ITERATOR = r"ArithTuple(\([^o]*\))\s*o\s*"
_COUNTING_ITERATOR = r"counting_iter\((_?-?\d+)\)\s*o\s*"
#: The element that a pointer is to: its width, or its type, whose first number is its width.
_ELEMENT = r"ptr_?\[(\d{1,4})b\]|smem_ptr_flag(?:_bits)?<\s*(?:\w+::)?(?:C<\s*)?(\d{1,4})|" + (
    r"(?:(?<!\w)(?:raw_)?ptr(?:<|\([^():]*:)|!cute\.(?:memref|ptr)<)\s*([A-Za-z]+?(\d{1,4})[A-Za-z0-9]*)(?![\w<])"
)
_UNKNOWN = r"\?(?:\{([^{}]*)\})?"
_BARE = r"(?<![\w@<.])(-?\d+)(?![\w.])"
_TOKEN = r"\s*([A-Za-z_][\w:.]*|-?\d+|[<>,])"

_TUPLES = {"tuple", "Shape", "Stride", "Coord", "IntTuple", "Tile", "Step", "ArithmeticTuple"}
_DYNAMIC = {f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)} | {"int", "unsigned", "signed", "long", "short", "char", "size_t"}


class Unknown(NamedTuple):
    """A size that a print does not tell. name: what stands for it; divisor: what divides it; extent: whether it is of a shape"""

    name: str
    divisor: int
    extent: bool


def pointed(text: str) -> list[Width]:
    """The widths of the elements that a print has pointers to, in their order.

    >>> pointed("tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>"), pointed("smem_ptr[4b](0x0) o _8:_1")
    ([Width(bits=16, said='f16')], [Width(bits=4, said='ptr[4b]')])
    """
    found = _compiled(_ELEMENT).finditer(text)
    return [Width(int(m[1] or m[2] or m[4]), m[3] or f"ptr[{m[1] or m[2]}b]") for m in found]


def is_foreign(text: str) -> bool:
    """Whether a text is none of ours, and may be one of theirs."""
    return bool(_compiled(_FOREIGN).search(text))


def without_table(text: str) -> str:
    """The layout that stands above the rows that print_layout or print_tensor wrote; any other text as it is."""
    head, line, rows = text.strip().partition("\n")
    head = _compiled(_COLON).sub(r"\1", head)
    is_table = line and ":" in head.rstrip()[:-1] and head.count("(") == head.count(")")
    return head if is_table and all(map(_compiled(_ROW).match, rows.split("\n"))) else text


def translated(text: str) -> tuple[str, list[Unknown]]:
    """A print of others in our notation, and the names that stand in it for what is not known."""
    dsl = bool(_compiled(_DSL).search(text))
    found = _compiled(_WRAPPED).match(text)
    if found:
        text = found["layout"] or found["tensor"] or found["elements"] or f"ptr<{found['memref']}> o {found['of']}"
        text = _compiled(_START).sub(lambda m: _coordinates(m[1]), text)
    text = _compiled(_COLON).sub(r"\1", text)
    if _compiled(r"cute::|Layout<|(?<!\w)C<").search(text):
        text = _Type(text).whole()
    text = _compiled(_POINTER).sub(lambda m: _pointer(m.groups()[:3], int(m[4]), m[5], text), text)
    text = _compiled(_DSL_POINTER).sub(lambda m: _dsl_pointer(m[1] or m[2], text), text)
    text = _compiled(_TUPLE_ITERATOR).sub(lambda m: _coordinates(m[1]), text)
    text = _compiled(_COUNTING_ITERATOR).sub(lambda m: "" if m[1].strip("_-0") == "" else f"_1:_1 o {m[1]} o ", text)
    if dsl:
        text = _compiled(r"(?<![\w.])S<").sub("Sw<", text)
        text = _outside_of_brackets(text, lambda part: _compiled(_BARE).sub(r"_\1", part))
    unknown: list[Unknown] = []
    return _compiled(_UNKNOWN).sub(lambda m: _named(m, unknown), text), unknown


def _outside_of_brackets(text: str, f: Callable[[str], str]) -> str:
    """f of what of a text stands in no <> and no {}."""
    parts = _compiled(r"(<[^<>]*>|\{[^{}]*\})").split(text)
    return "".join(part if k % 2 else f(part) for k, part in enumerate(parts))


def _named(found: re.Match[str], unknown: list[Unknown]) -> str:
    divisor = _compiled(r"div\s*=\s*(\d{1,18})").search(found[1] or "")
    extent = ":" in found.string[found.end() :].partition(" o ")[0]
    unknown.append(Unknown(f"d{len(unknown)}", int(divisor[1]) if divisor else 1, extent))
    return unknown[-1].name


def _pointer(swizzle: Any, width: int, address: str, text: str) -> str:
    """A pointer in front of a layout, in elements: nothing, or a swizzle of bytes made one of elements, and where it begins."""
    if swizzle[0] is None:
        return ""
    bits, base, shift = map(int, swizzle)
    places = (width // 8).bit_length() - 1 if width >= 8 else -((8 // width).bit_length() - 1) if width else 0
    if width <= 0 or (1 << (3 + places)) != width or base < places:
        what = f"a swizzle of bytes, Sw<{bits},{base},{shift}>, over elements of {width} bits"
        raise ParseError(text, 0, what, "elements of a power of 2 bits, no wider than its base", "give the layout of the elements")
    period = 1 << (base + bits + abs(shift))
    known = _compiled(r"\A0x([0-9a-fA-F]{1,16})\Z").match(address.strip())
    begin = int(known[1], 16) % period * 8 // width if known else 0
    return f"Sw<{bits},{base - places},{shift}> o {begin or '_0'} o "


def _dsl_pointer(inside: str, text: str) -> str:
    swizzle = _compiled(_SWIZZLED).search(inside)
    if swizzle is None:
        return ""
    element = _compiled(r"(?:\A|:)\s*[A-Za-z]+?(\d{1,3})(?=\w*\s*(?:,|\Z))").search(inside)
    if element is None:
        raise ParseError(
            text, 0, f"a swizzled pointer to {inside[:24]!r}", "an element type with its width, such as f16", "give the layout alone"
        )
    return _pointer(swizzle.groups(), int(element[1]), "", text)


def _coordinates(start: str) -> str:
    """The coordinate that a tensor of coordinates begins at, as an offset; nothing where it is 0."""
    if not set(_compiled(r"\?|\d+").findall(start)) - {"0"}:
        return ""
    depth, path, shape, stride = 0, [0], "", ""
    for token in _compiled(r"\?(?:\{[^{}]*\})?|_?-?\d+|[(),]").findall(start):
        if token == "(":
            depth, path, shape, stride = depth + 1, [*path, 0], shape + "(", stride + "("
        elif token == ")":
            path, shape, stride = path[:-1], shape + ")", stride + ")"
        elif token == ",":
            path, shape, stride = [*path[:-1], path[-1] + 1], shape + ",", stride + ","
        else:
            shape, stride = shape + "_1", stride + "_1@" + "@".join(map(str, path[:0:-1]))
    return f"{shape}:{stride} o {start} o "


class _Type:
    """A type of C++ and a position in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        cleaned = _compiled(r"\b(?:const|class|struct|typename)\b|[&*]|\{\}|\(\)").sub(" ", text)
        self.tokens = _compiled(_TOKEN).findall(cleaned)
        left = _compiled(_TOKEN).sub("", cleaned).strip()
        self.at = 0
        if left:
            raise self.wrong(f"{left[:24]!r} in a type")

    def wrong(self, what: str) -> ParseError:
        return ParseError(
            self.text, 0, what, "a type such as cute::Layout<cute::tuple<cute::C<4>>, cute::tuple<cute::C<1>>>", "paste it as printed"
        )

    def whole(self) -> str:
        value = self.type()
        if self.at < len(self.tokens):
            raise self.wrong(f"{self.tokens[self.at]!r} behind a type")
        return value

    def next(self) -> str:
        if self.at == len(self.tokens):
            raise self.wrong("the text ends")
        self.at += 1
        return str(self.tokens[self.at - 1])

    def type(self, depth: int = 0) -> str:
        if depth > 64:
            raise RankError("types nested more than 64 deep", "at most 64 levels", "print the layout with its shape and stride flattened")
        name = self.next().rpartition("::")[2]
        arguments: list[str] = []
        if self.at < len(self.tokens) and self.tokens[self.at] == "<":
            self.next()
            while not arguments or self.tokens[self.at - 1] == ",":
                if not arguments and self.at < len(self.tokens) and self.tokens[self.at] == ">":
                    self.next()
                    break
                arguments.append(self.type(depth + 1))
                if self.next() not in (",", ">"):
                    raise self.wrong(f"{self.tokens[self.at - 1]!r} in the arguments of {name}")
        while name in _DYNAMIC and self.at < len(self.tokens) and self.tokens[self.at] in _DYNAMIC:  # unsigned long
            self.next()
        return self.value(name, arguments)

    def value(self, name: str, arguments: list[str]) -> str:
        """A C++ type of this name and these arguments in tla's notation."""
        count = len(arguments)
        if name in _TUPLES:
            return f"({','.join(arguments)})"
        if name in _DYNAMIC:
            return "?"
        if _compiled(r"-?\d+\Z").match(name) and not count:
            return name
        if number := _compiled(r"_(-?\d+)\Z").match(name):
            return f"_{number[1]}"
        if name in ("C", "Int") and count == 1:
            return f"_{arguments[0]}"
        if name in ("constant", "integral_constant") and count == 2:
            return f"_{arguments[1]}"
        if name == "ScaledBasis" and count >= 2:
            return "@".join([arguments[0], *reversed(arguments[1:])])
        if name == "Swizzle" and count in (2, 3):
            return f"Sw<{','.join([*arguments, arguments[0]][:3])}>"
        if name.startswith("smem_ptr_flag"):
            return f"smem_ptr[{arguments[0] if count else '1'}b](unset)"
        if name == "Layout" and count == 2:
            return ":".join(arguments)
        if name == "ComposedLayout" and count == 3:
            return " o ".join(arguments)
        raise self.wrong(f"the type {name} of {count} arguments")

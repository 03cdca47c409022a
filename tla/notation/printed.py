"""The layouts that CuTe's print, its DSL and C++ compilers write, read.

    text    = "!cute.layout" "<" '"' chain '"' ">" | "!cute.memref" "<" item { "," item } "," '"' chain '"' ">" | type
            | "tensor" "<" chain ">" | "tensor" "(" chain "," "data" "=" numbers ")" | chain [ ":" ]
    chain   = part { "o" part }                           parts as in our notation, and what a tensor begins with
    start   = [ swizzle "_" ] pointer "[" bits "b" "]" "(" address ")" | ["raw_"] "ptr" ( "<" items ">" | "(" address
            ":" items ")" )
            | "ArithTuple" tuple | "counting_iter" "(" leaf ")" | tuple, of a tensor of coordinates
            | "!fly." name "<" [ element "," space "," ] chain [ "," "align" "<" integer ">" ] [ "," swizzle ] ">"
    item    = element | space | "align" "<" integer ">" | swizzle
    part    = a part of our notation | "[" chain "]"      FlyDSL's; brackets change nothing
    leaf    = integer { "E" integer } | "?" [ "{" [ "i32" | "i64" ] [ "div" "=" integer ] "}" ]

    Sw<3,4,3>_smem_ptr[16b](0x7f..) o (_8,_64):(_64,_1)   a tensor of CuTe: its swizzle is one of bytes
    S<3,3,3> o 0 o (8,64):(64,1)                          the DSL: a bare number is static there, `?` dynamic
    !fly.layout<(4,8):(1E0,2E1)>                          FlyDSL: 1E0E1 is E[0, 1]; numbers are static
    ArithTuple(0,4) o (4,5):(_1@0,_1@1)                   coordinates, and the one that they begin at
    cute::Layout<cute::tuple<cute::C<4>, int>, ...>       a type of C++: int is a size that is not known

A pointer is left out, and `?` is a size that is not known.

Source: cute::print of CUTLASS (util/print.hpp, pointer.hpp, pointer_swizzle.hpp, arithmetic_tuple.hpp); the printer of
the CuTe DSL 4.8; lib/Dialect/Fly/IR/FlyAttrDefs.cpp of FlyDSL.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..core.arrays import int64_of
from ..core.basis import E
from ..core.cache import compiled
from ..core.composed import MAX_PARTS
from ..core.element import Width
from ..core.errors import TlaError
from ..core.int_tuple import IntTuple
from ..core.ints import Int, IntLike, IntTupleLike, Leaf, static
from ..core.layout import Layout
from ..core.reader import Reader, write_nearest
from ..core.swizzle import make_swizzle
from .grammar import LEAF, NAME, NotationReader, along, chained

#: What FlyDSL alone writes: its types, brackets, and strides such as 1E0.
_FLY = r"!fly\.|\bo\s*\[|(?<!\w)[0-9]{1,20}E[0-9]"
#: What no text of ours has.
_FOREIGN = (
    r"(?a)\?|(?<![\w.])S<|ptr_?[\[(<]|\btmem_\[|ArithTuple\(|counting_iter\(|cute::|!cute\.|"
    r"(?<!\w)(?:Composed)?Layout<|(?<!\w)tensor[<(]|" + _FLY
)
_DSL = rf"(?a)\?|(?<![\w.])S<|!cute\.|(?<!\w)tensor<|{_FLY}"
_TYPE = r"\s*(?:(?:const|class|struct|typename)\s+)*(?:cute::|(?:Composed)?Layout<)"
#: A line below a layout that print_layout or print_tensor wrote; the elements of a tensor of the DSL.
_ROW = r"[-=\s][-+=|\s\d.,()_einaf]*\Z"
_DATA = r"[-+einaf\d\s.,()\[\]]*\)\s*"
_POINTER = r"_?(?:(?:gmem|smem|rmem|trans)_)*(?:sub)?ptr_?|_?tmem_"
_MODES_E = r"(?:E[0-9]{1,5})+"
_ALONG_E = rf"-?[0-9]+{_MODES_E}(?![0-9A-Za-z_.@])"
_ELEMENT = r"[A-Za-z]+?(1|2|4|6|8|16|32|64|128)(?:E\d+M\d[A-Z0-9]*)?"
_SPACES = ("generic", "gmem", "smem", "rmem", "tmem", "dsmem", "cmem", "global", "shared", "register")
#: The types of FlyDSL that hold nothing but a layout, a tuple or a swizzle.
_FLY_TYPES = ("layout", "composed_layout", "int_tuple", "swizzle", "coord_swizzle")

#: More sizes that a print does not tell are refused.
MAX_UNKNOWN = 256


class Unknown(NamedTuple):
    """A size that a print does not tell. name: what stands for it; divisor: what divides it; extent: whether it is
    of a shape"""

    name: str
    divisor: int
    extent: bool


class _Swizzle(NamedTuple):
    """The numbers of a swizzle, of elements or of bytes."""

    bits: int
    base: int
    shift: int


class _Pointer(NamedTuple):
    """A pointer: the width of its elements, where it points [bits], its swizzle of bytes, its alignment [bytes]."""

    width: int | None
    begin: int
    swizzle: _Swizzle | None = None
    align: int = 1


class _Open(NamedTuple):
    """A leaf that the text does not tell: its name, what divides it, and the basis element that it is of."""

    name: str
    divisor: int
    path: str


class _Start(NamedTuple):
    """The coordinate, or the integer, that a tensor begins with."""

    leaves: Any


def is_foreign(text: str) -> bool:
    """Whether a text is none of ours, and may be one of theirs."""
    return bool(compiled(_FOREIGN).search(text))


def pointed(text: str) -> list[Width]:
    """The widths of the elements that a print has pointers to, in their order.

    >>> pointed("tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>"), pointed("smem_ptr[4b](0x0) o _8:_1")
    ([Width(bits=16, said='f16')], [Width(bits=4, said='ptr[4b]')])
    """
    if not is_foreign(text):
        return []
    reader = PrintedReader(without_table(text), lambda u: 1)
    with contextlib.suppress(TlaError):  # who reads the text says so
        reader.printed()
    return reader.widths


def without_table(text: str) -> str:
    """The layout that stands above the rows that print_layout or print_tensor wrote; any other text as it is."""
    head, line, rows = text.strip().partition("\n")
    head = head.rstrip()
    shape, colon, _ = head.removesuffix(":").rpartition(":")
    is_table = line and colon and head.count("(") == head.count(")")
    if not is_table or not all(map(compiled(_ROW).match, rows.split("\n"))):
        return text
    return head.removesuffix(":") if shape else head


class PrintedReader(NotationReader):
    """A reader of what others print.

    ask            gives the integer that stands for a size that the text does not tell
    origin_shape   of the last layout
    widths         those of the elements that the text has pointers to
    """

    tokens = (
        rf"0x[0-9A-Za-z.]*|[0-9]+b(?![0-9A-Za-z_])|{LEAF}|{_ALONG_E}|#[a-z_]+\.[a-z_]+|"
        rf"@(?:0x[0-9a-fA-F]+|\.\.\.)|_?{NAME}|!(?:cute|fly)\.[a-z_]+|" + r'[][(){}<>,:?="+]'
    )
    noun, example = "a print of CuTe", "paste it as it was printed"

    def __init__(self, text: str, ask: Callable[[Unknown], Any], origin_shape: IntTupleLike | None = None) -> None:
        super().__init__(text)
        self.origin_shape = origin_shape
        self.ask, self.unknown, self.widths = ask, 0, list[Width]()
        self.bare_is_static = bool(compiled(_DSL).search(self.text))

    def printed(self) -> Any:
        """The value of the whole text."""
        if compiled(_TYPE).match(self.text):
            return self.joined(self.type_parts())
        value = self.around()
        self.take(":")  # print_tensor's, in front of the elements
        self.end()
        return value

    def around(self) -> Any:
        """A chain, or what a tensor or a type of the DSL has around one."""
        if self.take("!cute.layout"):
            return self.enclosed("<>", self.quoted, "a layout in quotes")
        if self.take("!cute.memref"):
            return self.enclosed("<>", self.memref, "an element type")
        if self.token.startswith("!fly."):
            return self.of_fly(self.next().removeprefix("!fly."))
        if not self.take("tensor"):
            return self.joined(self.parts())
        if self.token == "<":
            return self.joined(self.enclosed("<>", self.parts), of_tensor=True)
        self.expect("(", "or '<', and a layout")
        parts = self.parts()
        for token in (",", "data", "="):
            self.expect(token, "as in tensor(8:1, data=[...])")
        if not compiled(_DATA).fullmatch(self.text, self.at):
            self.fail("elements that are no numbers", "data=[...])", "paste the whole of what was printed")
        self.go_to(len(self.text))
        return self.joined(parts, of_tensor=True)

    def of_fly(self, kind: str) -> Any:
        """The inside of !fly.layout<...>, and of a tensor of FlyDSL: element, space, layout, alignment and
        swizzle of bytes."""
        if kind in _FLY_TYPES:
            return self.joined(self.enclosed("<>", self.parts))
        if kind != "memref":
            self.fail(f"the type !fly.{kind:.40}", ", ".join((*_FLY_TYPES, "memref")), "paste one of these", 0)
        items, parts = self.enclosed("<>", self.fly_memref)
        return self.joined([self.pointer_to(items), *parts])

    def fly_memref(self) -> tuple[dict[str, Any], list[Any]]:
        items = dict([self.item()])
        self.expect(",", "and a memory space")
        items |= [self.item()]
        self.expect(",", "and a layout")
        parts = self.parts()
        return items | (self.items() if self.take(",") else {}), parts

    def quoted(self) -> Any:
        self.expect('"', "and a layout")
        value = self.joined(self.parts())
        self.expect('"', "to close it")
        return value

    def memref(self) -> Any:
        pointer = self.pointer_to(self.items(end='"'))
        self.expect('"', "and a layout")
        value = self.joined([pointer, *self.parts()])
        self.expect('"', "to close it")
        return value

    # ------------------------------------------------------------------------------------------------- parts

    def parts(self) -> list[Any]:
        """The parts between the "o" of a chain; _ stands between a swizzle and the pointer that it is of."""
        out = [self.piece()]
        while self.take("o") or (isinstance(out[-1], _Swizzle) and self.token[:1] == "_"):
            out += self.enclosed("[]", self.parts) if self.token == "[" else [self.piece()]
            if len(out) > MAX_PARTS:
                self.fail(f"more than {MAX_PARTS} parts", f"{MAX_PARTS} at most", "read a part of it")
        return out

    def piece(self) -> Any:
        token = self.token
        if token in ("S", "Sw"):
            return _Swizzle(*self.swizzle_numbers())
        if token == "CS":
            return self.coord_swizzle()
        if token in ("ptr", "raw_ptr") and self.text.startswith(("<", "("), self.after):
            self.advance()
            if self.token == "(":
                return self.enclosed("()", self.raw_pointer)
            return self.pointer_to(self.enclosed("<>", self.items))
        if compiled(_POINTER).fullmatch(token):
            return self.pointer()
        if self.take("ArithTuple"):
            return _Start(self.int_tuple())
        if self.take("counting_iter"):
            return _Start(self.enclosed("()", self.leaf))
        tree = self.int_tuple()
        return self.layout(tree, self.int_tuple()) if self.take(":") else tree

    def closed(self, opened: list[tuple[int, list[Any]]]) -> Any:
        """A tree: what is not known of it gets its value when it is known whether it is of a shape."""
        self.depth -= 1
        return tuple(opened.pop()[1])

    def summand(self) -> Any:
        if compiled(_ALONG_E).fullmatch(self.token):
            digits, *modes = self.token.split("E")
            value = int64_of(digits)
            if value is None:
                self.fail(f"{digits:.24} does not fit in 64 bits", "64 bits", "use a smaller one")
            self.advance()
            return along(static(value), "@".join(modes[::-1]))
        if self.token != "?":
            return super().summand()
        self.advance()
        divisor = self.enclosed("{}", self.facts) if self.token == "{" else 1
        return self.open_size(divisor, self.path())

    def path(self) -> str:
        """The mode of a stride: @1@0 of CuTe's, E0E1 of FlyDSL's; nothing where it has none."""
        if self.token[:1] == "@":
            return self.next()[1:]
        return "@".join(self.next().split("E")[:0:-1]) if compiled(_MODES_E).fullmatch(self.token) else ""

    def facts(self) -> int:
        """The number that divides a size; the type of the size may stand before it, or alone."""
        if (self.take("i32") or self.take("i64")) and self.token == "}":
            return 1
        self.expect("div", "as in ?{div=16}", write_nearest(self.token, ("div", "i32", "i64")))
        self.expect("=", "and what divides the size")
        return self.integer("what divides the size")

    def open_size(self, divisor: int = 1, path: str = "") -> _Open:
        """The next of the sizes that the text does not tell."""
        self.unknown += 1
        if self.unknown > MAX_UNKNOWN:
            what = f"more than {MAX_UNKNOWN} sizes that the text does not tell"
            self.fail(what, f"{MAX_UNKNOWN} at most", "read a part of it")
        return _Open(f"d{self.unknown - 1}", divisor, path)

    def layout(self, shape: Any, stride: Any) -> Layout:
        return Layout(self.made(shape, True), self.made(stride), None if self.token == "o" else self.origin_shape)

    def made(self, tree: Any, is_shape: bool = False) -> Any:
        """The IntTuple of a tree of leaves."""
        if isinstance(tree, _Open):
            value = self.ask(Unknown(tree.name, tree.divisor, is_shape))
            return along(value, tree.path) if tree.path else value
        if type(tree) is tuple:
            return tuple.__new__(IntTuple, [self.made(x, is_shape) for x in tree])
        return tree

    def joined(self, parts: list[Any], of_tensor: bool = False) -> Any:
        """The value of a chain: a pointer in front becomes a swizzle of elements, or nothing; a start the
        offset that it is."""
        head: list[Any] = []
        if len(parts) > 1 and isinstance(parts[0], _Swizzle) and isinstance(parts[1], _Pointer):
            head, parts = self.swizzled(parts[1]._replace(swizzle=parts[0])), parts[2:]
        elif isinstance(parts[0], _Pointer):
            head, parts = self.swizzled(parts[0]), parts[1:]
        elif isinstance(parts[0], _Start) or (of_tensor and len(parts) == 2):
            head, parts = self.started(parts[0].leaves if isinstance(parts[0], _Start) else parts[0]), parts[1:]
        if len(parts) % 2 == 0 or any(isinstance(x, (_Pointer, _Start)) for x in parts):
            self.unexpected("'o' and a layout")
        return chained([*head, *(make_swizzle(*x) if isinstance(x, _Swizzle) else self.made(x) for x in parts)])

    def started(self, leaves: Any) -> list[Any]:
        """The coordinate that a tensor begins at, or the first integer of counting_iter, as an offset; nothing
        where it is 0."""
        if not any(isinstance(x, _Open) or x != 0 for x in _leaves(leaves)):
            return []
        shape, stride = _identity(leaves, ()) if type(leaves) is tuple else (Int[1](), Int[1]())
        return [Layout(shape, stride), self.made(leaves)]

    # ---------------------------------------------------------------------------------------------- pointers

    def pointer(self) -> _Pointer:
        """A pointer of CuTe's: smem_ptr[16b](0x7f..)."""
        self.advance()
        width = self.enclosed("[]", self.width)
        return _Pointer(width, self.enclosed("()", self.address))

    def width(self) -> int:
        found = compiled(r"([1-9][0-9]{0,3})b").fullmatch(self.token)
        if found is None:
            self.unexpected("the width of an element, such as 16b")
        self.widths.append(Width(int(found[1]), f"ptr[{self.next()}]"))
        return int(found[1])

    def address(self) -> int:
        """The place that a pointer points to [bits]; 0 where the text leaves it out."""
        if self.token == "(":
            self.enclosed("()", lambda: self.word(("nil",), "an address"))
            return 0
        found = compiled(r"(?:0x|@0x)([0-9a-fA-F]{1,16})(?:\.([0-9]{1,4}))?").fullmatch(self.token)
        if not found and not compiled(r"unset|0x[0-9a-fA-F.]*|@\.\.\.").fullmatch(self.token):
            self.unexpected("an address, such as 0x7f0000000000")
        self.advance()
        return int(found[1], 16) * 8 + int(found[2] or 0) if found else 0

    def raw_pointer(self) -> _Pointer:
        """The inside of raw_ptr(0x7f..: f32, rmem, align<32>)."""
        begin = self.address()
        self.expect(":", "and an element type")
        return self.pointer_to(self.items())._replace(begin=begin)

    def items(self, end: str = "") -> dict[str, Any]:
        """The properties of a pointer of the DSL, each once."""
        given: dict[str, Any] = {}
        while not given or self.take(","):
            if self.token == end:
                break
            at, (kind, value) = self.at, self.item()
            if kind in given:
                self.fail(f"{kind} is given twice", "once", "leave one of the two out", at)
            given[kind] = value
        return given

    def item(self) -> tuple[str, Any]:
        token = self.token
        if token[:1] == "@":
            return "the address", self.address()
        if token[:1] == "#":
            return "the memory space", self.next()
        if token == "S":
            return "the swizzle", _Swizzle(*self.swizzle_numbers())
        if self.take("align"):
            return "align", self.enclosed("()" if self.token == "(" else "<>", lambda: self.integer("an alignment"))
        if token in _SPACES:
            return "the memory space", self.next()
        found = compiled(_ELEMENT).fullmatch(token)
        if found is None:
            expected = f"an element type such as f16, one of {' '.join(_SPACES)}, align<16> or S<3,4,3>"
            self.unexpected(expected, write_nearest(token, [*_SPACES, "align"]))
        self.widths.append(Width(int(found[1]), self.next()))
        return "the element type", int(found[1])

    def pointer_to(self, items: dict[str, Any]) -> _Pointer:
        width, address, swizzle, align = map(items.get, ("the element type", "the address", "the swizzle", "align"))
        return _Pointer(width, address or 0, swizzle, 1 if align is None else align)

    def swizzled(self, pointer: _Pointer) -> list[Any]:
        """A pointer in front of a layout, in elements: nothing, or a swizzle of bytes made one of elements,
        and where it begins."""
        if pointer.swizzle is None:
            return []
        make_swizzle(*pointer.swizzle)  # which checks the numbers
        width, (bits, base, shift) = pointer.width or 0, pointer.swizzle
        places = (width // 8).bit_length() - 1 if width >= 8 else -((8 // width).bit_length() - 1) if width else 0
        if not width or (1 << (3 + places)) != width or base < places:
            what = f"a swizzle of bytes, Sw<{bits},{base},{shift}>, over elements of {width or 'unknown'} bits"
            self.fail(
                what, "elements of a power of 2 bits, no wider than its base", "give the layout of the elements", 0
            )
        if pointer.begin % (8 * pointer.align or 1):
            what = f"a pointer with align<{pointer.align}> to an address that {pointer.align} does not divide"
            self.fail(what, "an address that is aligned", "give the layout of the elements", 0)
        begin = pointer.begin % (8 << (base + bits + abs(shift))) // width
        return [make_swizzle(bits, base - places, shift), begin or Int[0]()]

    def flag(self, bits: int) -> _Pointer:
        """A pointer that is not set yet: smem_ptr_flag_bits<16>."""
        self.widths.append(Width(int(bits), f"ptr[{bits}b]"))
        return _Pointer(int(bits), 0)

    # ------------------------------------------------------------------------------------------------- types

    def type_parts(self) -> list[Any]:
        reader = _TypeReader(self.text)
        reader.outer = self
        found = reader.whole(reader.type)
        return found if isinstance(found, list) else [found]


def _leaves(tree: object) -> Iterator[Any]:
    if type(tree) is tuple:
        for x in tree:
            yield from _leaves(x)
    else:
        yield tree


def _identity(tree: object, path: tuple[int, ...]) -> tuple[Any, Any]:
    """Extents of 1, and the basis element of each leaf of a tree."""
    if type(tree) is not tuple:
        return Int[1](), E[path] * Int[1]()
    pairs = [_identity(x, (*path, k)) for k, x in enumerate(tree)]
    return IntTuple(*(n for n, _ in pairs)), IntTuple(*(d for _, d in pairs))


class _TypeReader(Reader):
    """A reader of a type of C++: a tree of leaves, a layout, or the list of parts of a composed layout."""

    blank = r"(?a)(?:\s|\b(?:const|class|struct|typename)\b|(?<=[0-9])[uUlL]{1,3}\b|[&*]|\{\}|\(\))*"
    tokens = r"(?a)-?[0-9]+(?=[uUlL]*\W)|(?!(?:const|class|struct|typename)\b)(?<![0-9])[A-Za-z_][\w:]*|[<>,]"
    noun = "a type"
    example = "paste it as printed: cute::Layout<cute::tuple<cute::C<4>>, cute::tuple<cute::C<1>>>"
    outer: PrintedReader

    def type(self) -> Any:
        at, name = self.at, self.token.rpartition("::")[2]
        if not name[:1].isalpha() and name[:1] != "_":
            return self.integer("a type, or a number")
        self.advance()
        if name in _DYNAMIC:
            self.rest_of_dynamic()
            return self.outer.open_size()
        if name in _CONSTANTS and self.token == "<":
            return static(self.enclosed("<>", self.constant))
        if name[:1] == "_" and name[1:].isdecimal() and len(name) < 20:
            return static(int(name[1:]))
        arguments = self.listed("<>", self.type) if self.token == "<" else []
        row = _TYPES.get(name)
        if row is None or not row.least <= len(arguments) <= row.most or not all(map(row.takes, arguments)):
            expected, fix = "a layout, a tuple or an integer of CuTe", write_nearest(name, [*_TYPES, *_CONSTANTS])
            self.fail(f"the type {name:.40} of {len(arguments)} arguments", expected, fix, at)
        return row.make(self.outer, *arguments)

    def rest_of_dynamic(self) -> None:
        while self.token in _DYNAMIC:  # unsigned long
            self.advance()

    def constant(self) -> int:
        """The inside of C<4> or constant<int, 4>."""
        if self.token in _DYNAMIC:
            self.rest_of_dynamic()
            self.expect(",", "and a number")
        return self.integer("a number")


class _Row(NamedTuple):
    """A type of C++ with arguments: its value, how many arguments it has, and what each of them may be."""

    make: Callable[..., Any]
    least: int
    most: int
    takes: Callable[[Any], bool] = lambda x: not isinstance(x, (list, _Swizzle, _Pointer, Layout))


def _scaled(outer: PrintedReader, n: Leaf, *path: Any) -> Any:
    return n._replace(path="@".join(map(str, reversed(path)))) if isinstance(n, _Open) else E[path] * n


def _composed(outer: PrintedReader, a: Any, offset: Any, b: Any) -> list[Any]:
    return [outer.joined(a) if type(a) is list else a, offset, *(b if type(b) is list else [b])]


def _is_number(x: IntLike) -> bool:
    return isinstance(x, (int, _Open))


_DYNAMIC = frozenset(("int", "unsigned", "signed", "long", "short", "char", "size_t"))
_DYNAMIC |= {f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)}
_CONSTANTS = ("C", "Int", "constant", "integral_constant")
_TUPLE = _Row(lambda outer, *x: x, 0, 2**20)
_FLAG = _Row(lambda outer, bits=1: outer.flag(bits), 0, 1, _is_number)
_TYPES = {
    **dict.fromkeys(("tuple", "Shape", "Stride", "Coord", "IntTuple", "Tile", "Step", "ArithmeticTuple"), _TUPLE),
    **dict.fromkeys(("smem_ptr_flag", "smem_ptr_flag_bits"), _FLAG),
    "ScaledBasis": _Row(_scaled, 2, 64, _is_number),
    "Swizzle": _Row(
        lambda outer, bits, base, shift=None: _Swizzle(bits, base, bits if shift is None else shift), 2, 3, _is_number
    ),
    "Layout": _Row(lambda outer, shape, stride: outer.layout(shape, stride), 2, 2),
    "ComposedLayout": _Row(_composed, 3, 3, lambda x: True),
}

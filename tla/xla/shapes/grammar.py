"""XLA's shape strings, read: `bf16[8,128]{1,0:T(8,128)(2,1)S(1)}`.

    shape  = "(" [ shape { "," shape } ] ")" | "b" "(" array ")" | "token" "[" "]" | "opaque" "[" "]" | array
    array  = type "[" [ dim { "," dim } ] "]" [ "{" [ int { "," int } ] [ ":" properties ] "}" ]
    dim    = int | "<=" int | "?"
    properties, each at most once, in this order and with nothing between them:
        D(level,...)  T(tile)(tile)...  L(int)  #(type)  *(type)  E(int)  S(int)  SC(int:int,...)...  P(shape)  M(int)

Blanks and comments may stand between tokens. Four spellings of the documentation are read too: upper-case types
(`F32[3,5]`), from before the T `F32[3,5]{1,0:(2,2)}`, -1 for `*`, and U+2217, its sign of mathematics. Where XLA's
parser is lenient by accident, this one is not.

Source: XLA xla/hlo/parser/hlo_parser.cc and hlo_lexer.cc.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ...core.arrays import INT64_MIN
from ...core.cache import compiled
from ...core.errors import LeafTypeError, LoweringError
from ...core.ints import known, leaf
from ...core.on_demand import OnDemand
from ...core.questions import at_most
from ...core.reader import R, Reader
from .array_shape import BITS, COMBINE, ArrayLayout, ArrayShape, Split, TileEntry, unchecked_layout, why_not_valid
from .foreign import array_like
from .printed_shape import array_at, printed_shape
from .values import MAX_DEPTH, BufferShape, OpaqueShape, Shape, TokenShape, TupleShape

# For dimensions that are names.
_DECLARE, _EXPRESSIONS = OnDemand("tla.symbolic.declare"), OnDemand("tla.symbolic.parse_expression")

#: More dimensions that are names are refused: strides are products of these, and 10,000 of them took minutes.
MAX_NAMED = 256
#: Shape texts up to this length are remembered: a program has few distinct ones. Longer ones would hold memory.
REMEMBERED = 500

# Each part of a blank is matched in one way: XLA's comments go to the first */, or to the end of the line.
BLANK = r"(?s)(?:[ \t\r\n]+|/\*.*?\*/|//[^\n]*)*"
# The dimensions of an array, and the names in them.
_DIMENSIONS = r"\s*[A-Za-z0-9]+\s*\[([^][]*)\]"
_NAME = r"(?<![A-Za-z0-9_])[A-Za-z][A-Za-z0-9_]*"
_ORDER = ("D", "T", "L", "#", "*", "E", "S", "SC", "P", "M")
_FIELDS = {"L": "tail_padding_alignment_in_elements", "E": "element_size_in_bits", "S": "memory_space"}
_FIELDS["M"] = "dynamic_shape_metadata_prefix_bytes"
# What other systems call the element types.
_ALIASES = {"bool": "pred", "bfloat16": "bf16", "half": "f16", "float": "f32", "double": "f64"}
_ALIASES |= {"complex64": "c64", "complex128": "c128"}


def parse_shape(text: str, *, symbols: object = None) -> Shape:
    """The shape that an XLA shape string stands for. str() of it is XLA's canonical text.

    text      one shape: an array, a tuple of shapes, a buffer of an array, `token[]` or `opaque[]`
    symbols   the sizes that its dimensions name: a SymInt, several, or a dict of names to integers;
              `lower` declares them
    Returns   an ArrayShape, TupleShape, BufferShape, TokenShape or OpaqueShape. A layout that the text leaves out stays
              None: it is not specified; `.with_layout()` fills in the default
    Raises    ParseError with the position for a text that the grammar or the meaning does not allow

    >>> shape = parse_shape("F32[3,5]{1,0:(2,2)S(0)}")
    >>> print(shape), shape.dimensions, shape.layout.tiles
    f32[3,5]{1,0:T(2,2)}
    (None, (3, 5), ((2, 2),))
    >>> parse_shape("(f32[3], (token[], b(s32[])))").elements[1].elements[1]
    BufferShape(array=ArrayShape(element_type='s32', dimensions=(), layout=None, dynamic=()))
    >>> parse_shape("f32[3,5]{1,0:T(2,0)}")
    Traceback (most recent call last):
    tla.core.errors.ParseError: tile (2,0) has the entry 0, at position 14
        f32[3,5]{1,0:T(2,0)}
                      ^
      expected  sizes of 1 or more, or *
      fix       write 1 to leave a dimension whole

    Source: XLA `ParseShape`; reference in docs/xla.md.
    """
    _ShapeReader.checked(text)
    if symbols is None and (found := printed_shape(text)):
        return found
    reader = _ShapeReader(text)
    reader.symbols = None if symbols is None else _EXPRESSIONS.names(symbols)
    return reader.whole(reader.shape)


def parse_layout(text: str) -> ArrayLayout:
    """The layout of a text in braces, as in {1,0:T(8,128)}, of an array of any element type.

    >>> print(parse_layout("{0,1:T(8,128)}"))
    {0,1:T(8,128)}
    """
    if text.strip() == "{}":
        return ArrayLayout(())
    reader = _ShapeReader(text)
    return reader.whole(reader.lone_layout)


def named_shape(shape: Shape | str, sizes: Mapping[str, Any]) -> ArrayShape:
    """as_shape of a text whose dimensions may be names: those in `sizes` stand for these, others become a `dim`.

    >>> print(named_shape("f32[M,2*N]{1,0:T(8,128)}", {"M": 100}))
    f32[100,2*N]{1,0:T(8,128)}
    """
    if isinstance(shape, str):
        _ShapeReader.checked(shape)
        if not sizes and (printed := printed_shape(shape)):
            return as_shape(printed)  # it has no names
    found = compiled(_DIMENSIONS).match(shape) if isinstance(shape, str) else None
    used = dict.fromkeys(compiled(_NAME).findall(found[1])) if found else {}
    for name in sizes:
        if name not in used:
            what = f"{name}= of {shape!s:.80}"
            raise LeafTypeError(what, "names of its dimensions", f"write {name} where its size stands in the text")
    if not isinstance(shape, str) or not used:
        return as_shape(shape)
    functions = re.findall(r"(ceil|min|max)\s*\(", shape)
    names = [name for name in used if name not in functions]
    symbols = {name: leaf(sizes[name]) if name in sizes else _DECLARE.dim(name) for name in names}
    return as_shape(parse_shape(shape, symbols=symbols))


def as_shape(shape: Shape | str) -> ArrayShape:
    """The shape of an array: itself, its text, or an array of numpy or JAX.

    Raises LoweringError for any other shape: it says what to take of it.
    """
    if isinstance(shape, ArrayShape):
        return shape
    if not isinstance(shape, (TupleShape, BufferShape, TokenShape, OpaqueShape)):
        found = array_like(shape)
        return as_shape(parse_shape(shape)) if found is None else found
    what, fix = _NO_ARRAY[type(shape)]
    if isinstance(shape, TupleShape):
        at = next((at for at, leaf in shape.leaves() if isinstance(leaf, ArrayShape)), None)
        fix = f"take an element: shape{''.join(f'.elements[{k}]' for k in at)} is one" if at else "it holds no array"
    text = str(shape)
    raise LoweringError(f"{text[:80]}{'...' if text[80:] else ''} is {what}", "the shape of an array", fix)


# What a shape that is no array is, and what to take of it.
_NO_ARRAY: dict[type[Shape], tuple[str, str]] = {
    TupleShape: ("a tuple, which has no layout or size of its own", ""),
    BufferShape: ("a buffer", "take what it holds: shape.array"),
    TokenShape: ("a token, which holds no elements", "leave it out"),
    OpaqueShape: ("an opaque value: only the device knows its elements", "leave it out"),
}


class XlaReader(Reader):
    """A reader of texts of XLA, with its blanks and comments."""

    blank = BLANK

    def unexpected(self, expected: str, fix: str = "", at: int | None = None) -> NoReturn:
        if self.text.startswith("/*", self.at):
            self.fail("this comment is not closed", "*/")
        super().unexpected(expected, fix, at)

    def repeated(self, brackets: str, read: Callable[[], R], what: str) -> tuple[R, ...]:
        """The values that `read` reads in brackets, once or more in a row."""
        out = [self.enclosed(brackets, read, what, "',' or ")]
        while self.token == brackets[0]:
            out.append(self.enclosed(brackets, read, what, "',' or "))
        return tuple(out)


class _ShapeReader(XlaReader):
    tokens = r"-?[0-9]+(?![A-Za-z0-9_.])|[A-Za-z_][A-Za-z0-9_]*|<=|[][(){},:?*\u2217#+~]"
    noun, example = "a shape", "an array reads f32[8,128]{1,0:T(8,128)}"
    max_depth = MAX_DEPTH + 2  # tuples, and in them an array with its tiles
    symbols: Mapping[str, Any] | None = None
    named = 0  # dimensions that are names

    # -- shape

    def shape(self) -> Shape:
        """One shape."""
        if self.token == "(":
            return self.tupled()
        if self.token == "b":
            return self.buffer()
        return self.bare(self.token) if self.token in ("token", "opaque") else self.array()

    def tupled(self) -> TupleShape:
        if self.depth == MAX_DEPTH:
            what = f"more than {MAX_DEPTH} levels of tuples"
            self.fail(what, f"at most {MAX_DEPTH}", "put the elements side by side")
        return TupleShape(tuple(self.listed("()", self.shape)))

    def bare(self, name: str) -> TokenShape | OpaqueShape:
        self.advance()
        self.expect("[", f"and ']' after {name}")
        self.expect("]", f"at once: {name} has no dimensions", f"write {name}[]")
        if self.token == "{":
            self.fail(f"a layout of {name}[]", f"none: {name}[] is no array", "leave the braces out")
        return TokenShape() if name == "token" else OpaqueShape()

    def buffer(self) -> BufferShape:
        self.advance()
        return BufferShape(self.enclosed("()", self.held, "an array after b"))

    def held(self) -> ArrayShape:
        if self.token in ("(", ")", "b", "token", "opaque"):
            self.unexpected("one array in b(...)", "write b(f32[8])")
        return self.array()

    def array(self) -> ArrayShape:
        if self.symbols is None and (printed := array_at(self.text, self.at)):
            array, end = printed
            self.go_to(end)
            return array
        at = {"element_type": self.at}
        element_type = self.element_type()
        at["dimensions"] = self.at
        dims, dynamic = self.dimensions()
        layout = self.layout(len(dims), at) if self.token == "{" else None
        if found := why_not_valid(element_type, dims, layout):  # ArrayShape checks it too, but cannot say where
            self.fail(*found[1], at=at[found[0]])
        return ArrayShape(element_type, dims, layout, dynamic)

    def element_type(self) -> str:
        name = self.token
        known = name if name in BITS else name.lower() if name.isupper() and name.lower() in BITS else ""
        if not known:
            if not name[:1].isalpha():
                self.unexpected("an element type such as f32 or bf16, or a tuple")
            what = f"element type {name[:24]!r} is not known"
            self.fail(what, "an XLA name such as f32, bf16, s8, pred", _suggest(name))
        self.advance()
        return known

    def dimensions(self) -> tuple[tuple[int | None, ...], tuple[bool, ...]]:
        dims = self.listed("[]", self.dimension, "the dimensions after the element type")
        return tuple(n for n, _ in dims), tuple(dynamic for _, dynamic in dims)

    def dimension(self) -> tuple[int | None, bool]:
        if self.take("?"):
            return None, True
        bounded, at = self.take("<="), self.at
        if self.symbols is None:
            if self.token.isidentifier():
                fix = "parse_shape takes names with symbols=[dim('N')], lower those of an array"
                self.unexpected("a dimension: 5, <=5 or ?", fix)
            n = self.integer("a dimension: 5, <=5 or ?")
        else:
            n, end = _EXPRESSIONS.read(self.text, at, self.symbols)
            self.go_to(end)
            self.named += known(n) is None
            if self.named > MAX_NAMED:
                what = f"more than {MAX_NAMED} dimensions that are names"
                self.fail(what, f"at most {MAX_NAMED}", "give some of them numbers", at=at)
        if at_most(n, -1):
            self.fail(f"dimension {n}", "0 or more", at=at)
        return n, bounded

    # -- layout

    def lone_layout(self) -> ArrayLayout:
        at: dict[str, int] = {"element_type": self.at, "dimensions": self.at}
        layout = self.layout(None, at)
        if found := why_not_valid("f32", (1,) * len(layout.minor_to_major), layout):
            self.fail(*found[1], at=at[found[0]])
        return layout

    def layout(self, rank: int | None, at: dict[str, int]) -> ArrayLayout:
        """A layout in braces. rank: that of the array, if it is known; at: where its parts stand, for errors."""
        start = self.at
        self.expect("{", "and the order of dimensions, minor to major")
        at["minor_to_major"] = self.at
        if self.token == "}":
            what = "empty layout braces"
            self.fail(what, "the order of dimensions, minor to major", "leave the braces out", at=start)
        order = self.several(":", lambda: self.integer("a dimension number of minor_to_major"))
        properties = self.properties(len(order) if rank is None else rank, at) if self.take(":") else {}
        self.expect("}", "or ':' after minor_to_major" if not properties else "or a property after the last property")
        return unchecked_layout(tuple(order), **properties)

    def properties(self, rank: int, at: dict[str, int]) -> dict[str, Any]:
        """The properties behind minor_to_major, each at most once, in XLA's order. at: where they stand, for errors."""
        out: dict[str, Any] = {}
        last = -1
        if self.token == "(":  # as the documents had it before the T
            at["tiles"], last = self.at, _ORDER.index("T")
            out["tiles"] = self.tiles()
        while self.token not in ("}", ""):
            name, place = self.token, self.at
            if name not in _ORDER:
                fix = "nothing stands between properties" if not name[:1].isalnum() else ""
                self.fail(f"unknown layout property {name!r}", f"one of {' '.join(_ORDER)}, or '}}'", fix)
            if _ORDER.index(name) <= last:
                again = "is given twice" if _ORDER.index(name) == last else f"stands after {_ORDER[last]}"
                self.fail(f"property {name} {again}", f"each at most once, in the order {' '.join(_ORDER)}")
            last = _ORDER.index(name)
            self.advance()
            if name == "T":
                at["tiles"] = self.at
                out["tiles"] = self.tiles()
            elif name == "SC":
                at["split_configs"] = self.at
                out["split_configs"] = self.splits()
            elif name in _FIELDS:
                at[_FIELDS[name]] = self.at
                out[_FIELDS[name]] = self.argument(name)
            else:
                self.sparse(name, place, rank)
        return out

    def argument(self, name: str) -> int:
        return self.enclosed("()", lambda: self.integer(f"the integer of {name}(...)"), f"an integer after {name}")

    def tiles(self) -> tuple[tuple[TileEntry, ...], ...]:
        return self.repeated("()", lambda: tuple(self.several(")", self.tile_entry)), "a tile")

    def tile_entry(self) -> TileEntry:
        entry = COMBINE if self.take("*") or self.take("\u2217") else self.integer("a tile size or *")
        return COMBINE if entry in (INT64_MIN, -1) else entry  # XLA's own value of *, and that of its documents

    def splits(self) -> tuple[Split, ...]:
        return self.repeated("()", self.split, "a split")

    def split(self) -> Split:
        dimension = self.integer("a physical dimension, as in SC(1:200)")
        self.expect(":", "between dimension and indices, as in SC(1:200)")
        return Split(dimension, tuple(self.several("", lambda: self.integer("an index to cut at"))))

    def sparse(self, name: str, place: int, rank: int) -> None:
        """Remains of sparse arrays: D(...) of dense levels says nothing, everything else has no meaning any more."""
        if name == "D":
            levels = self.listed("()", self.level, "dimension levels")
            if any(level != "D" for level in levels):
                what = f"dimension levels D({','.join(levels)})"
                self.fail(what, "dense ones: D(D,...)", "leave the levels out", at=place)
            if len(levels) != rank:
                self.fail(f"{len(levels)} dimension levels for {rank} dimensions", f"{rank}", at=place)
            return
        if name != "P":
            self.enclosed("()", lambda: self.word([t for t in BITS if t.startswith("u")], "an unsigned integer type"))
        what = f"property {name} belongs to sparse arrays, which XLA no longer has"
        self.fail(what, "a dense array", f"leave {name}(...) out", at=place)

    def level(self) -> str:
        if self.token not in ("D", "C", "S", "H"):
            self.unexpected("a dimension level D, C, S or H")
        level = self.next()
        level += "+" if self.take("+") else ""
        return level + ("~" if self.take("~") else "")


def _suggest(name: str) -> str:
    low = name.lower()
    short = {"float": "f", "uint": "u", "int": "s"}
    alias = _ALIASES.get(low) or re.sub(r"^(float|uint|int)(?=\d)", lambda m: short[m[1]], low)
    return f"write {alias}" if alias in BITS else ""

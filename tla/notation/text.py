"""Parse the text of a layout, an IntTuple or an integer: the inverse of str().

`_4` is static and `4` dynamic; `shape:stride` is a layout. The text is data: it is parsed by a grammar, our own
(grammar.py) or that of what others print (printed.py), and never evaluated.
"""

from __future__ import annotations

from typing import Any

from ..core.cache import compiled
from ..core.errors import ParseError
from ..core.ints import IntTupleLike
from ..core.layout import Layout
from ..core.on_demand import OnDemand
from ..core.other_texts import reader_of
from ..core.plain_ints import as_written
from .grammar import NotationReader
from .printed import PrintedReader, Unknown, is_foreign, without_table

_PEERS = OnDemand("tla.notation.peers")
_AXE = OnDemand("tla.notation.axe")
_DECLARE = OnDemand("tla.symbolic.declare")  # sizes that are not known bring the symbolic package with them

#: A layout as Mojo prints it, in brackets; and how others begin that PeerReader reads.
_IN_BRACKETS = r"\s*\(\s*(?:\([0-9(),\s-]*\)|[0-9]+)\s*:[0-9(),\s-]*\)\s*"
_BEGINS = r"\s*(?:Layout(?:\.\w+)?\s*\(|(?:torch|numpy|np|ct)\s*\.\s*arange\b)"
_BEGINS_AXE = r"\s*(?:T\s*\.\s*)?(?:S\s*\[|(?:Tile|Compose)Layout\s*\()"


@as_written  # the text tells 4 from _4
def parse(text: str, *, origin_shape: IntTupleLike | None = None, symbols: object = None) -> Any:
    """The layout, IntTuple or integer that a text stands for: the inverse of str().

    text           `shape:stride`, or an IntTuple, or an integer; `_4` static, `4` dynamic
    origin_shape   of a layout: how much of each top-level mode holds valid data; all of it by default
    symbols        the sizes that the text names: a SymInt, several, or a dict of names to integers
    Returns        Layout, IntTuple, Int or int
    Raises         ParseError with the position, and what Layout raises

    >>> from tla import parse
    >>> a = parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))")
    >>> a(1, 5), a.shape[0], parse(str(a)) == a
    (37, parse('(_4,_2)'), True)
    >>> parse("(_4,2):(_1)")
    Traceback (most recent call last):
    tla.core.errors.RankError: Layout: (_4,2) has 2 modes and (_1) has 1
      expected  the same nesting
      fix       give each mode its counterpart

    What CuTe, its DSL and C++ compilers print is read too: tensors (their layout, in elements; where a pointer points
    is left out, but for where a swizzle begins), tables (the layout above them), `S<...>`, `?`, ArithTuple,
    counting_iter, and types. There `int` and `?` are sizes d0, d1, ... that are not known, or the symbols, in their
    order; and a bare number of the DSL is static.

    >>> print(parse("Sw<3,4,3>_smem_ptr[16b](0x7f0000000000) o (_8,_64):(_64,_1)"))
    Sw<3,3,3> o _0 o (_8,_64):(_64,_1)
    >>> print(parse("(?,?{div=16}):(?,1)"), parse("cute::Layout<cute::tuple<cute::C<4>, int>, cute::tuple<cute::C<1>, cute::C<4>>>"))
    (d0,d1):(d2,_1) (_4,d0):(_1,_4)

    What other libraries write is read, their numbers as static ones: constructors of PyCuTe, tensor-layouts and Mojo,
    axes with names of TVM's Axe, the shape operations of torch, numpy and cuTile, and maps of isl, which layout_of
    works out. docs/rosetta.md says what each can say.

    >>> print(parse("Layout((4, 8), (8, 1))"), parse("S[(8,4):(4@laneid,1)] + R[4:8@laneid]"), parse("torch.arange(32).view(8, 4).T"))
    (_4,_8):(_8,_1) ((_8,_4),(_4)):((_4@0,_1@1),(_8@0)) (_4,_8):(_1,_4)

    >>> from tla import dims
    >>> M, N = dims("M N")
    >>> print(parse("(M,ceil(N/4)):(_1,16*M)", symbols=[M, N]).stride)
    (_1,16*M)

    Source: docs/language.md; the notation is that of cute::print.
    """
    text = NotationReader.checked(text)
    if "\n" in text and symbols is None:  # a table has no sizes that are not known
        text = without_table(text)
    if (of_another := of_peer(text)) is not None:
        peer = _AXE.AxeReader if compiled(_BEGINS_AXE).match(of_another) else _PEERS.PeerReader
        value = peer(of_another).read(origin_shape)
    elif (read := reader_of(text)) is not None:
        value = _with_origin(text, read(text), origin_shape)
    elif is_foreign(text):
        value = _printed(text, symbols, origin_shape)
    else:
        reader = NotationReader(text, symbols)
        value = reader.value(origin_shape)
        reader.end()
    if origin_shape is None or hasattr(value, "origin_shape"):
        return value
    raise ParseError(text, len(text), "an origin_shape, and no layout", "shape:stride", "drop origin_shape")


def _with_origin(text: str, value: Any, origin_shape: IntTupleLike | None) -> Any:
    """The layout that was read, with this origin_shape if there is one."""
    if origin_shape is None:
        return value
    if not isinstance(value, Layout):
        raise ParseError(text, 0, "an origin_shape, and no plain layout", "shape:stride", "drop origin_shape")
    return Layout(value.shape, value.stride, origin_shape)


def _printed(text: str, symbols: object, origin_shape: IntTupleLike | None) -> Any:
    """The value of what others print. What it does not know takes the symbols, in their order, if there are some."""
    given = [*symbols] if isinstance(symbols, (list, tuple)) else [] if symbols is None else [symbols]
    asked = 0

    def ask(size: Unknown) -> Any:
        nonlocal asked
        asked += 1
        number = int(size.name[1:])
        return given[number] if number < len(given) else _DECLARE.unknown(*size)

    value = PrintedReader(text, ask, origin_shape).printed()
    if given and asked != len(given):
        what = f"{len(given)} symbols for {asked} sizes that the text does not tell"
        raise ParseError(
            text, 0, what, f"{asked} of them, in the order of the text", "leave out symbols: they are d0, d1, ... then"
        )
    return value


def of_peer(text: str) -> str | None:
    """The text of a layout as another library writes it, without the brackets that Mojo prints around one; None
    for any other text.

    >>> of_peer("((4, 8):(1, 4))"), of_peer("((4,3),2):((1,4),12)"), of_peer("Layout((4, 8), (1, 4))") is not None
    ('(4, 8):(1, 4)', None, True)
    """
    if compiled(_BEGINS).match(text) or compiled(_BEGINS_AXE).match(text):
        return text
    shape = text.partition(":")[0]
    in_brackets = shape.count("(") > shape.count(")") and compiled(_IN_BRACKETS).fullmatch(text)
    return text.strip()[1:-1] if in_brackets else None

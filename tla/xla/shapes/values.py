"""The XLA shapes that are no arrays, as values: tuples, buffers, tokens, opaque values.

Source: XLA xla/shape.h and ShapeUtil::HumanStringWithLayout.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ...core.errors import LeafTypeError, RangeError, require_type
from ...core.value import Record, put
from .array_shape import ArrayShape

#: Tuples in tuples deeper than this are refused: real programs have up to three levels. XLA's own limit is 32,768.
MAX_DEPTH = 64


class TokenShape(Record):
    """`token[]`: an order between instructions, with no data.

    >>> print(TokenShape())
    token[]

    Source: XLA xla/shape.h.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "token[]"

    def with_layout(self) -> TokenShape:
        """This shape: it has no layout."""
        return self


class OpaqueShape(Record):
    """`opaque[]`: a value that only the device knows, of no shape.

    >>> print(OpaqueShape())
    opaque[]

    Source: XLA xla/shape.h.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "opaque[]"

    def with_layout(self) -> OpaqueShape:
        """This shape: it has no layout."""
        return self


class BufferShape(Record):
    """`b(f32[3,4]{1,0})`: the memory that holds one array, rather than its value.

    array    the array; a buffer holds nothing else
    Raises   LeafTypeError for anything that is no ArrayShape

    >>> print(BufferShape(ArrayShape("f32", (3, 4))))
    b(f32[3,4])

    Source: XLA xla/shape.h.
    """

    __slots__ = __match_args__ = ("array",)
    array: ArrayShape

    def __init__(self, array: ArrayShape) -> None:
        require_type(array, ArrayShape, "a buffer of a", "one ArrayShape", "use parse_shape, which reads a text")
        put(self, "array", array)

    def __str__(self) -> str:
        return f"b({self.array})"

    def with_layout(self) -> BufferShape:
        """This shape, with the default layout where its array has none."""
        return BufferShape(self.array.with_layout())


class TupleShape(Record):
    """`(f32[3], (s32[], token[]))`: shapes in a row; `()` is the empty one. Its str() is XLA's canonical text.

    elements   the shapes, tuples among them
    depth      how deep tuples lie in it: 1 where there are none
    Raises     LeafTypeError for an element that is no shape, RangeError for more than MAX_DEPTH levels

    >>> print(TupleShape((ArrayShape("s32", ()),) * 7))
    (s32[], s32[], s32[], s32[], s32[], /*index=5*/s32[], s32[])

    Source: XLA ShapeUtil::HumanStringWithLayout.
    """

    __slots__ = ("depth", "elements")
    __match_args__ = ("elements",)
    elements: tuple[Shape, ...]
    depth: int

    def __init__(self, elements: tuple[Shape, ...] | list[Shape] = ()) -> None:
        if not isinstance(elements, (tuple, list)) or not all(isinstance(x, KINDS) for x in elements):
            kinds = ", ".join(k.__name__ for k in KINDS)
            what = "a TupleShape of other things than shapes"
            raise LeafTypeError(what, f"a tuple of {kinds}", "use parse_shape, which reads a text")
        put(self, "elements", tuple(elements))
        put(self, "depth", 1 + max([x.depth for x in elements if isinstance(x, TupleShape)], default=0))
        if self.depth > MAX_DEPTH:
            raise RangeError(f"{self.depth} levels of tuples", f"at most {MAX_DEPTH}", "put the elements side by side")

    def __str__(self) -> str:
        texts = (f"/*index={k}*/{x}" if k and k % 5 == 0 else str(x) for k, x in enumerate(self.elements))
        return f"({', '.join(texts)})"

    def with_layout(self) -> TupleShape:
        """This shape, with the default layout in every array that has none."""
        return TupleShape(tuple(x.with_layout() for x in self.elements))

    def leaves(self) -> Iterator[tuple[tuple[int, ...], Leaf]]:
        """Each shape in it that is no tuple, with the numbers that lead to it.

        >>> s, pair = ArrayShape("s32", ()), TupleShape((TokenShape(), TokenShape()))
        >>> [(at, str(leaf)) for at, leaf in TupleShape((s, pair)).leaves()]
        [((0,), 's32[]'), ((1, 0), 'token[]'), ((1, 1), 'token[]')]
        """
        for k, x in enumerate(self.elements):
            if isinstance(x, TupleShape):
                yield from (((k, *at), leaf) for at, leaf in x.leaves())
            else:
                yield (k,), x


#: A shape that is no tuple, and any shape.
Leaf: TypeAlias = ArrayShape | BufferShape | TokenShape | OpaqueShape
Shape: TypeAlias = Leaf | TupleShape
KINDS = (ArrayShape, BufferShape, TokenShape, OpaqueShape, TupleShape)


def arrays(shape: Shape) -> Iterator[ArrayShape]:
    """The arrays of a shape: itself, or those in a tuple."""
    if isinstance(shape, TupleShape):
        yield from (leaf for _at, leaf in shape.leaves() if isinstance(leaf, ArrayShape))
    elif isinstance(shape, ArrayShape):
        yield shape

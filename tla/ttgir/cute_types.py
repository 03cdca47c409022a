"""The types of CuTe DSL's textual IR that say what memory is: tensors, and the products of matrices.

Source: CuTe DSL 4.8, the IR that CUTE_DSL_KEEP_IR=1 writes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.cache import compiled
from ..core.composed import ComposedLayout
from ..core.each_leaf import static
from ..core.element import Element
from ..core.errors import RangeError
from ..core.kinds import AnyLayout
from ..core.swizzle import Swizzle
from ..linear import bits
from ..notation.text import parse
from .program import Op, Program

_SWIZZLE = r"S<([0-9]),([0-9]{1,2}),([0-9]{1,2})>"
_MEMORY = (
    r"!cute\.memref<([a-z]{1,4}([0-9]{1,3})[A-Za-z0-9]*), (generic|[a-z]mem)(?:, align<([0-9]{1,5})>)?"
    rf'(?:, {_SWIZZLE})?, "([^"]*)"'
)
_COMPOSED = rf'!cute\.composed_layout<"{_SWIZZLE} o 0 o ([^"]*)"'
_LAYOUT = r'!cute\.layout<"([^"]*)"'
#: Operations that leave a part of a value, at which the one that makes it is looked for.
MAX_STEPS = 100


class Tensor(NamedTuple):
    """A tensor of the IR: its element, gmem, smem, rmem or tmem, what its address is a multiple of [bits], and its
    layout [elements].

    A memory of which nothing is said is the global one.

    >>> from tla.ttgir.cute_types import tensor_of
    >>> tensor_of('!cute.memref<f16, smem, align<16>, "S<3,3,3> o 0 o (64,64):(64,1)">').space
    'smem'
    >>> print(tensor_of('!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">').layout)
    Sw<3,3,3> o _0 o (_64,_64):(_64,_1)
    """

    element: Element
    space: str
    aligned: int
    layout: AnyLayout

    @property
    def width(self) -> int:
        """The width of an element [bits]."""
        return self.element.bits


def tensor_of(text: str) -> Tensor:
    """The tensor of a type. A swizzle of its pointer's is one of bytes.

    Raises     RangeError for another type
    """
    found = compiled(_MEMORY).match(text)
    if not found:
        raise RangeError(f"the type {text:.60}", "a cute.memref with its layout", "look at another operation")
    element = Element(found[1], int(found[2]))
    space = "gmem" if found[3] == "generic" else found[3]
    aligned = 8 * int(found[4]) if found[4] else element.bits
    return Tensor(element, space, aligned, _swizzled(found[5], found[6], found[7], static(parse(found[8])), element))


def _swizzled(bits_: str | None, base: str, shift: str, layout: Any, element: Element) -> AnyLayout:
    """A layout of elements behind a swizzle of bytes.

    Raises     RangeError where the swizzle moves parts of an element
    """
    if bits_ is None or bits_ == "0":
        return layout  # type: ignore[no-any-return]
    of_elements = int(base) + 3 - bits.log2(element.bits)
    if of_elements < 0:
        what = f"S<{bits_},{base},{shift}> of elements of {element.bits} bits"
        raise RangeError(what, "one that keeps them whole", "take another swizzle")
    found: AnyLayout = ComposedLayout(Swizzle[int(bits_), of_elements, int(shift)](), static(0), layout)
    return found


def shared_layout_of(text: str, element: Element) -> AnyLayout:
    """The layout of elements of a cute.composed_layout whose swizzle is one of bytes, or of a cute.layout.

    Raises     RangeError for another type

    >>> print(shared_layout_of('!cute.composed_layout<"S<2,4,3> o 0 o (8,32):(32,1)">', Element("f16", 16)))
    Sw<2,3,3> o _0 o (_8,_32):(_32,_1)
    """
    if found := compiled(_COMPOSED).match(text):
        return _swizzled(found[1], found[2], found[3], static(parse(found[4])), element)
    if found := compiled(_LAYOUT).match(text):
        return static(parse(found[1]))  # type: ignore[no-any-return]
    raise RangeError(f"the type {text:.60}", "a layout of shared memory", "look at another operation")


def origin(program: Program, name: str, among: tuple[str, ...]) -> Op | None:
    """The operation of one of these names that makes what a value is a part of: through slices, groups of modes, loops
    and conditions.

    None where there are several, or a value comes from elsewhere.
    """
    found, todo, seen = dict[str, Op](), [name], set[str]()
    while todo and len(seen) < MAX_STEPS:
        name = todo.pop()
        op = program.definitions.get(name)
        if op is not None and op.name in among:
            found[name] = op
        elif name not in seen:
            todo += program.carried.get(name) or (op.operands[:1] if op is not None else ()) or ("",)
        seen.add(name)
        if not name or len(found) > 1:
            return None
    return next(iter(found.values()), None) if not todo else None

"""emit_copy: a relayout between two layouts of one shape, as a function of C, or a kernel.

Source: ours; CuTe `copy` for what it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ...algebra.flat_modes import flat_modes, step_of
from ...algebra.predicates import is_injective
from ...ascend.element import as_element
from ...core.arrays import INT64_MAX
from ...core.composed import ComposedLayout, gives_coordinates, innermost
from ...core.errors import InjectivityError, LeafTypeError, RangeError, RankError, Unproven
from ...core.int_tuple import leaves, shown
from ...core.ints import known
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...core.questions import equal
from ...symbolic import SymInt
from ...symbolic.facts import require_one_meaning, symbols_in
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor, keeps_apart, require_box
from ..c_languages import C_FAMILY, CLanguage
from ..expressions.graph import Node
from ..expressions.plan import requirements
from ..expressions.shifts import RULES
from ..expressions.signature import symbols_of
from ..expressions.target import required, target_of
from ..indices.c import requirement
from . import kernels, serial
from .loop_nests import GRID_BLOCKS, SERIAL_BLOCKS, Copy, nests

#: Target -> write(copy, language) that writes a copy, and the blocks that its nests are to have.
WRITERS: dict[str, tuple[Callable[[Copy, CLanguage], str], tuple[int, ...]]] = {
    name: (serial.write, SERIAL_BLOCKS) if language.threads is None else (kernels.write, GRID_BLOCKS)
    for name, language in C_FAMILY.items()
}
#: Names that emitted copies use.
_TAKEN = re.compile(r"dst|src|n|[dknst]\d+|memcpy|get_global_(id|size)")


def emit_copy(
    source: object, destination: object, target: str = "c", *, element: object = 32, name: str = "copy", check: str = ""
) -> str:
    """The text of a function that moves every valid element of one layout to its coordinate in another.

    source, destination   layouts, or Tensors (of which the offset and start count), of one origin_shape; the
                          destination is injective, in its valid part at least. Their numbers, static and dynamic ones,
                          are numbers in the text; symbols are parameters
    target    "c" or "cpp": a function of pointers dst and src, and sizes by name; "cuda", "hip" or "opencl": a kernel
              for a one-dimensional grid of up to 2**30 threads, whose pointers are aligned to 16 bytes
    element   an element type of tla.ascend, or the width of an element in bits: 8, 16, 32 or 64
    name      of the function
    check     "function": with a function `<name>_requires` of the sizes, whether these meet their facts; "assert":
              which asserts it too

    What both layouts have side by side is moved as one: memcpy, or a vector of up to 16 bytes. Loops are ordered by the
    destination; where the source is contiguous in another loop, blocks of both are moved. Padding of
    the destination stays.

    >>> from tla import parse
    >>> from tla.codegen import emit_copy
    >>> print(emit_copy(parse("(_6,_4):(_4,_1)"), parse("(_6,(_2,_2)):(_2,(_1,_12))"), element=16))
    #include <stdint.h>
    #include <string.h>
    <BLANKLINE>
    // copy: from (_6,_4):(_4,_1) to (_6,(_2,_2)):(_2,(_1,_12)), elements of 16 bits
    static inline void copy(uint16_t *restrict dst, const uint16_t *restrict src) {
        uint16_t *d0 = dst;
        const uint16_t *s0 = src;
        for (int64_t k0 = 0; k0 < 2; ++k0, d0 += 12, s0 += 2) {
            uint16_t *d1 = d0;
            const uint16_t *s1 = s0;
            for (int64_t k1 = 0; k1 < 6; ++k1, d1 += 2, s1 += 4) {
                memcpy(d1, s1, 2 * sizeof *dst);
            }
        }
    }
    <BLANKLINE>

    Raises   RankError where the valid extents differ or are not proved to be equal, InjectivityError or Unproven for a
             destination that is not injective or not proved to be, RangeError for other widths, LeafTypeError for names
             that the target does not take, and targets that have no loops
    Source: ours.
    """
    found = target_of(target)
    if target not in WRITERS:
        raise LeafTypeError(
            f"a copy in {target}", f"one of {', '.join(WRITERS)}", "use copy(source, target), which copies in numpy"
        )
    bits = as_element(element).bits
    if bits not in (8, 16, 32, 64):
        fix = f"recast both layouts: recast_layout[{bits}, {8 if bits < 64 else 64}](layout)"
        raise RangeError(f"a copy of elements of {bits} bits", "8, 16, 32 or 64 bits", fix)
    to, of = _tensor(destination), _tensor(source)
    _require_one_shape(to, of)
    for t in (to, of):
        _require_fits(t, bits)
    _require_injective(to)
    found.require_check(check)
    symbols = _symbols(to, of)
    sizes = [str(n) for n in symbols]
    found.require_names(name, sizes)
    for word in (name, *sizes):
        if _TAKEN.fullmatch(word):
            raise LeafTypeError(
                f"the name {word} in a copy", "other names than dst, src, n, k0, d0, s0 ...", "use another name"
            )
    requires = requirements(symbols, (), RULES)
    remarks = [
        f"{name}: from {shown(of.layout, 200)} to {shown(to.layout, 200)}, elements of {bits} bits",
        *required(c for c, _ in requires),
    ]
    (write, blocks), language = WRITERS[target], C_FAMILY[target]
    checks, first = _checks(language, name, sizes, [node for _c, node in requires], check)
    return write(Copy(name, nests(to, of, blocks), bits, sizes, remarks, checks, first), language)


def _checks(
    language: CLanguage, name: str, sizes: list[str], tests: list[Node], check: str
) -> tuple[list[str], list[str]]:
    """The function that checks the required conditions on sizes, and the line that asserts it."""
    if not (check and tests):
        return [], []
    asserts = check == "assert"
    head = [line for line in language.head("bool", *(["assert"] if asserts else [])) if line not in language.head()]
    texts = [*(["\n".join(head)] if head else []), *requirement(language, name, sizes, tests)]
    return texts, [f"assert({name}_requires({', '.join(sizes)}));"] if asserts else []


def _tensor(x: object) -> Tensor:
    if not isinstance(x, (AnyLayout, Tensor)):
        what = f"a copy of a {type(x).__name__}"
        raise LeafTypeError(what, "a layout or a Tensor", "parse the text of a layout, or lower an XLA shape")
    t = x if isinstance(x, Tensor) else MakeTensor(None, x)
    outer = t.layout.outer if isinstance(t.layout, ComposedLayout) else t.layout
    if isinstance(outer, Layout) and gives_coordinates(outer):
        what = f"a copy of {shown(t.layout)}, whose values are coordinates"
        raise LeafTypeError(what, "a layout of offsets", "compose it with the layout of a buffer")
    require_box("emit_copy", t)
    return t


def _require_one_shape(to: Tensor, of: Tensor) -> None:
    same = len(to.coord) == len(of.coord) and all(map(equal, to.origin_shape, of.origin_shape))
    if not same:
        what = f"a copy from {shown(of.origin_shape)} to {shown(to.origin_shape)}"
        raise RankError(what, "equal valid extents", "give both one origin_shape, or take a tile of the larger")


def _require_fits(t: Tensor, bits: int) -> None:
    """RangeError where offsets that are known do not fit in pointers."""
    inner = innermost(t.layout)
    reach = sum(((known(s) or 1) - 1) * abs(known(step_of(d)) or 0) for s, d in flat_modes(inner))
    if reach * bits // 8 > INT64_MAX:
        what = f"a copy of {shown(t.layout)}, whose offsets go as far as {reach}"
        raise RangeError(what, "bytes that 64 bits hold", "copy a tile of it")


def _require_injective(to: Tensor) -> None:
    answer = is_injective(to.layout)
    if answer or (not _symbols(to) and keeps_apart(to)):  # what holds padding is not written
        return
    if answer is None:
        what = f"a copy to {shown(to.layout)}: it is not known whether it is injective"
        expected = "no two elements in one place"
        raise Unproven(what, expected, 'declare what they are at least: dim("K", at_least=1), dim("D", at_least=K)')
    raise InjectivityError(*(is_injective.why_not(to.layout) or ()))


def _symbols(*tensors: Tensor) -> list[SymInt]:
    """All symbols, by name; RangeError if one name has two sets of facts."""
    numbers = [n for t in tensors for n in (t.offset, *t.coord, *t.origin_shape, *_numbers(t.layout))]
    found = sorted({n for x in numbers for n in symbols_of(x)}, key=str)
    require_one_meaning(m for n in found for m in symbols_in(n.poly))
    return found


def _numbers(layout: AnyLayout) -> Iterator[Any]:
    """The integers of a layout and of all that it is composed of."""
    if isinstance(layout, ComposedLayout):
        yield layout.offset
        for part in (layout.outer, layout.inner):
            yield from _numbers(part)
    elif isinstance(layout, Layout):
        yield from (*leaves(layout.shape), *leaves(layout.stride))

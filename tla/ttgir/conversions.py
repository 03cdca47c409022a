"""Conversions of layouts as Triton 3.9 lowers them: copies of registers, shuffles, or a buffer of shared memory
and its instructions.

The buffer's layout is built of columns over bits, which say what element each bit of an offset is. The first bits are
the vector: elements that both sides have in registers, or that a matrix instruction has in its lanes. The last are
segments, which no two lanes of one phase differ in, as far as that can be; between them are the banks. What both sides
have in registers besides goes through the buffer one part after the other.

Source: Linear Layouts, arXiv 2505.23819, section 5; the rules of Triton 3.9 for which way is taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from ..access.by_bits import ByBits
from ..access.gluon_text import MOST_SHUFFLED
from ..access.rounds import Turns, exchanged_bits, permutes_bits, within_warps
from ..access.steps import BYTE_BITS, Move, Shuffle
from ..core.element import Width
from ..core.errors import RangeError
from ..linear import LinearLayout, bits
from .machines import Machine
from .shared import Moved, moved_by_bits

_BANKS_BITS, _WIDEST, _BANK = 32 * 32, 128, 32


class Conversion(NamedTuple):
    """A conversion between two layouts of registers.

    kind      "none", "registers", "shuffles" or "shared memory"
    shuffles  instructions of a warp
    bytes     of the buffer in shared memory
    rounds    how often the buffer is filled
    write     the stores of a warp to the buffer; None where there is none
    read      the loads
    """

    kind: str
    shuffles: int = 0
    bytes: int = 0
    rounds: int = 1
    write: Moved | None = None
    read: Moved | None = None


def conversion(src: LinearLayout, dst: LinearLayout, element: Width, machine: Machine) -> Conversion:
    """The way of a tile from the owners of `src` to those of `dst`, both of register, lane and warp.

    Raises     RangeError for layouts of several blocks

    >>> from tla.linear.triton import BlockedLayout
    >>> from tla.ttgir.machines import machine
    >>> rows, columns = BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]), BlockedLayout([8, 1], [8, 4], [1, 4], [0, 1])
    >>> found = conversion(rows.linear([64, 64]), columns.linear([64, 64]), Width(16, "f16"), machine("cuda:80"))
    >>> found.kind, found.write.name, found.read.name, found.bytes
    ('shared memory', 'store', 'ldmatrix.x4.trans', 8192)
    """
    src, dst = _single_block(src), _single_block(dst).transpose_outs([*src.out_dims])
    if src == dst:
        return Conversion("none")
    turns = Turns.of(src, dst)
    steps = None if turns is None or any(turns.registers) else within_warps(src, dst, element.bits)
    if steps is not None and isinstance(steps[0], Move):
        return Conversion("registers")
    if steps is not None and permutes_bits(src, dst) and exchanged_bits(src, dst) < MOST_SHUFFLED:
        return Conversion("shuffles", _shuffles([s for s in steps if isinstance(s, Shuffle)], src, dst, element.bits))
    return _through_memory(ByBits.of(src), ByBits.of(dst), element, machine)


def _shuffles(rounds: Sequence[Shuffle], src: LinearLayout, dst: LinearLayout, width: int) -> int:
    """The shuffles of as many registers as the side with more of them has, in words of those that stay registers.

    Half of them where two halves of the registers are exchanged with another lane, and one half stays.
    """
    registers = max(len(x.bases["register"]) for x in (src, dst))
    packed = min(bits.log2(max(1, _BANK // max(BYTE_BITS, width))), registers - exchanged_bits(src, dst))
    each = max(1, width // _BANK) << registers - packed
    return each if all(s.crosses for s in rounds) else each // 2


def _single_block(layout: LinearLayout) -> LinearLayout:
    """The layout of register, lane and warp, without registers that hold what others do."""
    if layout.has_in_dim("block") and any(any(v) for v in layout.bases["block"]):
        raise RangeError("a conversion between several blocks", "one block", "compile with num_ctas=1")
    bases = {name: layout.bases.get(name, ()) for name in ("register", "lane", "warp")}
    return LinearLayout({**bases, "register": [v for v in bases["register"] if any(v)]}, layout.out_dims)


# ------------------------------------------------------------------------------------------- through shared memory


class _Form(NamedTuple):
    """The lanes of an instruction: those whose elements lie in one row, and those whose rows go together."""

    together: tuple[int, ...]
    rows: tuple[int, ...]


_PLAIN, _MATRIX, _TRANSPOSED = _Form((), (0, 1, 2)), _Form((0, 1), (2, 3, 4)), _Form((2, 3, 4), (0, 1))


class _Buffer(NamedTuple):
    """A layout of the buffer: the element of each bit of an offset; the bits in `rounds` go through it one
    after the other.

    matrices   whether matrix instructions may store to it, and load from it
    """

    vector: list[int]
    bank: list[int]
    segment: list[int]
    rounds: list[int]
    conflicts: int
    matrices: bool = True


def _through_memory(src: ByBits, dst: ByBits, element: Width, machine: Machine) -> Conversion:
    wide = element._replace(bits=max(BYTE_BITS, element.bits))
    found = _buffer(src, dst, wide.bits, machine)
    columns = [*found.vector, *found.bank, *found.segment, *found.rounds]
    places = bits.inverse(columns, len(columns)) or []
    count = 1 << (len(columns) - len(found.rounds))
    by_matrices, widest = count if found.matrices else 0, 128
    write = moved_by_bits(src.through(places), wide, machine, True, by_matrices, widest)
    read = moved_by_bits(dst.through(places), wide, machine, False, by_matrices, widest)
    size = wide.bits * count // 8
    return Conversion("shared memory", 0, size, 1 << len(found.rounds), write, read)


def _buffer(src: ByBits, dst: ByBits, width: int, machine: Machine) -> _Buffer:
    """The buffer with the fewest conflicts that a pair of instructions allows, then the smallest; else one
    for narrower vectors."""
    found = []
    for write in _forms(machine, width, machine.stmatrix and machine.nvidia):
        for read in _forms(machine, width, machine.ldmatrix):
            vector = _vector_of(src, dst, write, read, width)
            if vector is None:
                continue
            lanes = [_phase(x, form, vector) for x, form in ((src, write), (dst, read))]
            if lanes[0] is not None and lanes[1] is not None:
                spare = min(len(form.together) + len(form.rows) - 3 for form in (write, read))
                found.append(_laid_out(src, dst, vector, lanes[0], lanes[1], width, spare))
    if found:
        return min(found, key=lambda b: (b.conflicts, -len(b.rounds)))
    return _narrow(src, dst, width)


def _forms(machine: Machine, width: int, matrices: bool) -> list[_Form]:
    found = [_PLAIN]
    if matrices and width in (8, 16, 32):
        found.append(_MATRIX)
        found += [_TRANSPOSED] if width == 16 else []
    return found


def _vector_of(src: ByBits, dst: ByBits, write: _Form, read: _Form, width: int) -> list[int] | None:
    """The elements of 128 bits that both instructions have together; None where the layouts do not allow the pair."""
    total = bits.log2(_WIDEST // width)
    if len(src.lane) < 5 or len(dst.lane) < 5:
        return None
    if len(write.together) > len(read.together):  # a has the more registers
        a, b, a_form, b_form = dst, src, read, write
    else:
        a, b, a_form, b_form = src, dst, write, read
    more, fewer = total - len(a_form.together), total - len(b_form.together)
    shared = _common(a.register, b.register)
    if fewer < 0 or more < 0 or len(shared) < fewer:
        return None
    a_lanes, b_lanes = [a.lane[k] for k in a_form.together], [b.lane[k] for k in b_form.together]
    from_registers, from_lanes = b_lanes[: more - fewer], b_lanes[more - fewer :]
    if not all((*a_lanes, *b_lanes)) or from_lanes != a_lanes or not {*from_registers} <= {*a.register}:
        return None
    return [*shared[:fewer], *b_lanes]


def _phase(owners: ByBits, form: _Form, vector: Sequence[int]) -> list[int] | None:
    """The elements of the rows that go together; None where there are too few registers for them."""
    wanted = 3 - len(form.rows)
    registers = [r for r in owners.register if r not in vector][:wanted]
    return None if len(registers) < wanted else [*registers, *(owners.lane[k] for k in form.rows)]


def _laid_out(
    src: ByBits, dst: ByBits, vector: list[int], writes: Sequence[int], reads: Sequence[int], width: int, spare: int = 0
) -> _Buffer:
    """The banks and segments of a buffer whose vectors, and whose lanes of one phase, are known."""
    n = bits.rank([*src.register, *src.lane, *src.warp])
    banks = min(bits.log2(max(1, _BANKS_BITS // (width << len(vector)))), n - len(vector))
    segment = _segments([*vector, *writes], [*vector, *reads], n, n - banks - len(vector))
    bank = _others([*vector, *segment], n)
    conflicts = sum((1 << len(_common(segment, lanes))) - 1 for lanes in (writes, reads))
    rounds = [s for s in segment if s in src.register and s in dst.register][spare:]
    return _Buffer(vector, bank, [s for s in segment if s not in rounds], rounds, conflicts)


def _segments(writes: Sequence[int], reads: Sequence[int], n: int, count: int) -> list[int]:
    """So many elements that lanes of a phase do not differ in, as far as there are such."""
    a, b = ({*x} - {0} for x in (writes, reads))
    free = [1 << k for k in range(n) if 1 << k not in a | b]
    if len(free) >= count:
        return free[:count]
    fewer, more = sorted((sorted(a - b), sorted(b - a)), key=len)
    clash = min(max(0, count - len(fewer) - len(free)), len(fewer))
    found = [*free, *(x ^ y for x, y in zip(fewer[clash:], more[clash:])), *fewer[:clash], *more[:clash]]
    return found[:count]


def _others(columns: Sequence[int], n: int) -> list[int]:
    """The single bits that no column, reduced by those before it, begins with: with the columns they span
    everything."""
    firsts: dict[int, int] = {}
    for column in columns:
        x = column
        while x and x & -x in firsts:
            x ^= firsts[x & -x]
        if x:
            firsts[x & -x] = x
    return [1 << k for k in range(n) if 1 << k not in firsts]


def _common(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """A basis of what both span, in the order of the first where all are single bits."""
    if all(bits.is_power_of_two(x) for x in (*a, *b) if x):
        return [x for x in a if x and x in b]
    return bits.intersection([x for x in a if x], [x for x in b if x])


def _narrow(src: ByBits, dst: ByBits, width: int) -> _Buffer:
    """A buffer for layouts that have fewer registers in common than 128 bits.

    The banks begin with the registers of one side, whose vectors are longer where no lane changes these bits.
    """
    vector, filled = _short_vector(src, dst, width)
    drop = bits.log2(max(1, (width << len(vector)) // _BANK))  # of wider vectors fewer lanes go together
    writes, reads = ([x for x in owners.lane[: len(owners.lane) - drop] if x not in vector] for owners in (src, dst))
    found = _laid_out(src, dst, vector, writes, reads, width)._replace(matrices=False)
    if width << len(vector) >= _WIDEST:
        return found
    longer = filled or max(dst, src, key=lambda x: len({*x.register} & {*found.bank}))
    first = [b for b in found.bank if b in longer.register]
    return found._replace(bank=[*first, *(b for b in found.bank if b not in first)])


def _short_vector(src: ByBits, dst: ByBits, width: int) -> tuple[list[int], ByBits | None]:
    """The vector of such a buffer, and the side that filled a word of it, if it was filled.

    It is what the registers of both have in common, and warps to fill a word of a bank. Of these first those that are
    registers of the other side: what fills the word is a vector there, and no conflict here.
    """
    vector = _common(src.register, dst.register)[: bits.log2(_WIDEST // width)]
    missing = max(0, bits.log2(max(1, _BANK // width)) - len(vector))
    left = [[r for r in x.register if r not in vector] for x in (src, dst)]
    by_src, by_dst = _common(left[0], dst.warp), _common(left[1], src.warp)
    longest = max(by_dst, by_src, key=lambda x: (len(x), -min(x, default=0)))
    vector = [*vector, *longest[:missing]]
    full = len(vector) + missing - len(longest[:missing])
    in_turn = [w for pair in itertools.zip_longest(src.warp, dst.warp) for w in pair]
    for w in (*_common(src.warp, dst.warp), *in_turn):
        if len(vector) < full and w and w not in vector:
            vector.append(w)
    return vector, None if not missing else src if longest is by_src else dst

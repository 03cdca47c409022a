"""The plan of a conversion as a device function of CUDA or HIP: its registers are indexed by constants only.

Values go in words of 32 bits. Where a lane's number says which register is meant, it is xored to it: all registers are
permuted first, by one exchange of pairs for each bit, so that each of them is a constant index after.
"""

from __future__ import annotations

import functools
import keyword
import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..core.errors import LeafTypeError, RangeError
from ..linear import LinearLayout, bits
from .bit_text import linear_text, parity_text
from .dialects import HIP, Dialect
from .exchanges import Exchanges, outer_products, pairs
from .matrices import Instructions
from .places import Placed, offsets, owned
from .steps import BYTE_BITS, WORD_BITS, Load, Matrices, Move, Shuffle, Spread, Step, Store, Vector

#: The widths of values that a register of C has [bits]; narrower ones are carried as bytes.
VALUE_BITS = (8, 16, 32, 64, 128)
#: A function that exchanges two words where a condition holds.
EXCHANGE = (
    "const auto exchange = [](bool yes, unsigned& a, unsigned& b) {",
    "  const unsigned c = yes ? b : a;",
    "  b = yes ? a : b;",
    "  a = c;",
    "};",
)


class _Function(NamedTuple):
    """The facts that all steps of one function share.

    width      of a value [bits], a byte at least
    alone      whether no value leaves its warp: then a warp waits for itself only
    """

    dialect: Dialect
    src: LinearLayout
    dst: LinearLayout
    width: int
    alone: bool

    @property
    def lanes(self) -> int:
        return self.src.get_in_dim_size("lane")

    @property
    def parts(self) -> int:
        """The words of one value."""
        return -(-self.width // WORD_BITS)


def device_function(
    dialect: Dialect, name: str, steps: Sequence[Step], src: LinearLayout, dst: LinearLayout, width: int, alone: bool
) -> str:
    """A device function of these steps, from the registers of a thread in `src` to those in `dst`."""
    require_name(dialect.name, name)
    function = _Function(dialect, src, dst, max(BYTE_BITS, width), alone)
    require_lanes(dialect, function.lanes, "plan.hip(), or plan.gluon()", "plan.steps")
    body = [*_body(function, steps)]
    memory = any(isinstance(step, Store) for step in steps)
    return function_text(name, memory, [*_helpers(function, body), *body])


def function_text(name: str, memory: bool, lines: Sequence[str]) -> str:
    """The text of a device function from `src` to `dst`, and of `smem` if it goes through memory."""
    smem = ", T* smem" if memory else ""
    head = ["template <class T>", f"__device__ __forceinline__ void {name}(const T* src, T* dst{smem}) {{"]
    return "\n".join([*head, *(f"  {x}" for x in lines), "}"])


def require_name(where: str, name: str) -> None:
    if not (name.isascii() and name.isidentifier() and not keyword.iskeyword(name)):
        what = f"{where}: the name {name!r:.40}"
        raise LeafTypeError(what, "a name of a function", "write letters, digits and underscores")


def require_lanes(dialect: Dialect, lanes: int, other: str, last: str) -> None:
    """RangeError for warps that a language has not, with another way: of 64 lanes, and of more."""
    if lanes > dialect.lanes:
        fix = f"use {other if lanes <= HIP.lanes else last}"
        raise RangeError(f"{dialect.name} of warps of {lanes} lanes", f"{dialect.lanes} at most", fix)


def _helpers(function: _Function, body: Sequence[str]) -> Iterator[str]:
    text = "\n".join(body)
    if re.search(r"\blane\b", text):
        yield f"const unsigned lane = threadIdx.x & {function.lanes - 1};"
    if re.search(r"\bthread\b", text):
        yield f"const unsigned thread = threadIdx.x & {function.lanes * function.src.get_in_dim_size('warp') - 1};"
    if "exchange(" in text:
        yield from EXCHANGE


def _body(function: _Function, steps: Sequence[Step]) -> Iterator[str]:
    rounds = [step for step in steps if isinstance(step, Shuffle)]
    if rounds:
        yield from _shuffles(function, rounds)
    # warps that hold the same values write the same ones, but a warp that is a round ahead writes others to
    # where they are read
    alone = function.alone and (len(steps) == 2 or function.src.get_in_dim_size("warp") == 1)
    for k, step in enumerate(steps):
        if k and isinstance(step, (Store, Load)):
            yield function.dialect.warp_barrier if alone else "__syncthreads();"
        if isinstance(step, Move):
            yield " ".join(f"dst[{r}] = src[{s}];" for r, s in enumerate(step.table))
        elif isinstance(step, Spread):
            yield " ".join(f"dst[{r}] = dst[{s}];" for r, s in enumerate(step.table) if r != s)
        elif isinstance(step, (Store, Load)):
            yield from _accesses(function, step, first=not any(type(s) is type(step) for s in steps[:k]))


# ------------------------------------------------------------------------------------------------- shuffles


def _shuffles(function: _Function, rounds: Sequence[Shuffle]) -> Iterator[str]:
    """All rounds: the source's words permuted by lane, a shuffle a round, the words that were read permuted by lane."""
    _require_value(function)
    do = Exchanges.of(rounds, *(bits.log2(x.get_in_dim_size("register")) for x in (function.src, function.dst)))
    parts, name = function.parts, "lane" if rounds[0].warps == 1 else "thread"
    yield f"unsigned word[{parts << len(do.src.words)}] = {{}}, got[{parts * len(rounds)}];"
    for k in do.sent:
        yield packed([f"src[{r}]" for r in do.src.word(k)], f"word + {k * parts}" if k else "word", function.width)
    for u, mask in do.before:
        yield from exchanges([(a, a ^ u) for a in do.sent if a < a ^ u], "word", parts, parity_text(mask, name))
    source = linear_text(do.source, name)
    if any(step.crosses and not _moved(function, step) for step in rounds) and source != "lane":
        yield f"const unsigned from = {source};"
    if any(do.slots):
        yield f"const unsigned bytes = {_selector(function, do.slots, name)};"
    for k, step in enumerate(rounds):
        yield from _round(function, k, do.src.split(step.send[0])[0], step, "lane" if source == "lane" else "from")
        yield from _rotated(function, k, do.kept[k][1], any(do.slots))
    number = {word: k for k, (word, _) in enumerate(do.kept)}
    for u, mask in do.after:
        both = [(number[a], number[a ^ u]) for a in number if a < a ^ u]
        yield from exchanges(both, "got", parts, parity_text(mask, name))
    for k, (word, _) in enumerate(do.kept):
        kept = [f"dst[{r}]" if r < function.dst.get_in_dim_size("register") else "" for r in do.dst.word(word)]
        if any(kept):
            yield unpacked(kept, f"got + {k * parts}" if k else "got", function.width)


def _round(function: _Function, k: int, word: int, step: Shuffle, source: str) -> Iterator[str]:
    start = step.source[0]
    lane = f"{source} ^ {start}" if start else source
    for part in range(function.parts):
        got, sent = f"got[{k * function.parts + part}]", f"word[{word * function.parts + part}]"
        if step.crosses:
            sent = _moved(function, step, sent) or function.dialect.shuffle(sent, lane, function.lanes)
        yield f"{got} = {sent};"


def _moved(function: _Function, step: Shuffle, value: str = "") -> str:
    """The expression of a move from lane to lane that is no shuffle; empty where the language has it not."""
    return function.dialect.move(step.move, value) if function.dialect.move and step.move else ""


def exchanges(numbers: Iterable[tuple[int, int]], name: str, parts: int, condition: str) -> Iterator[str]:
    """Words exchanged where a condition holds."""
    both = [(a * parts + p, b * parts + p) for a, b in numbers for p in range(parts)]
    yield " ".join(f"exchange({condition}, {name}[{a}], {name}[{b}]);" for a, b in both)


def _selector(function: _Function, columns: Sequence[int], name: str) -> str:
    """The bytes of a word permuted by lane or thread: each bit of its number changes a value's place in the word."""
    keep, step = function.dialect.select
    return f"{keep:#x}u ^ {linear_text([c * (function.width // 8) for c in columns], name)} * {step:#x}u"


def _rotated(function: _Function, k: int, slot: int, by_lane: bool) -> Iterator[str]:
    """The values of the word that round k read, brought to their slots: one permute of bytes, if they are not there."""
    keep, step = function.dialect.select
    change = slot * (function.width // 8) * step
    if by_lane or slot:
        selector = (f"bytes ^ {change:#x}u" if change else "bytes") if by_lane else f"{keep ^ change:#x}u"
        yield f"got[{k}] = {function.dialect.permute.format(f'got[{k}]', selector)};"


def packed(values: Sequence[str], to: str, width: int) -> str:
    """Values copied to words."""
    size = len(values) * width // 8
    if len(values) == 1:
        return f"memcpy({to}, &{values[0]}, {size});"
    return f"{{ const T part[] = {{{', '.join(values)}}}; memcpy({to}, part, {size}); }}"


def unpacked(registers: Sequence[str], source: str, width: int) -> str:
    """Values copied from words to registers, those without a name dropped."""
    size = len(registers) * width // 8
    if len(registers) == 1:
        return f"memcpy(&{registers[0]}, {source}, {size});"
    taken = " ".join(f"{r} = part[{s}];" for s, r in enumerate(registers) if r)
    return f"{{ T part[{len(registers)}]; memcpy(part, {source}, {size}); {taken} }}"


def _require_value(function: _Function) -> None:
    if function.width not in VALUE_BITS:
        what = f"{function.dialect.name} of values of {function.width} bits"
        raise RangeError(what, f"{', '.join(map(str, VALUE_BITS))} bits", "convert each of the words that a value has")


# ------------------------------------------------------------------------------------------------- memory


def _accesses(function: _Function, step: Store | Load, first: bool) -> Iterator[str]:
    """Registers of `src` stored, or of `dst` loaded, in vectors; the first time with what all such steps share."""
    store = isinstance(step, Store)
    name, layout = ("src", function.src) if store else ("dst", function.dst)
    if step.matrices:
        yield from _matrices(function, name, Instructions.of(layout, step), first)
        return
    at = offsets(owned(layout, function.lanes), step.layout)
    sign = _joined(at)
    if sign is None:
        what = f"{function.dialect.name} of a layout of memory that neither xors nor adds"
        raise RangeError(what, "a swizzle, or padding", "use plan.steps and a table")
    columns = [at.at(0, 1 << k, 0) for k in range(bits.log2(at.lanes))]
    columns += [at.at(1 << k, 0, 0) for k in range(bits.log2(at.warps))]
    starts = [c - c % step.vector for c in columns]
    if first:
        yield f"const unsigned {name}_at = {_sum_text(starts) if sign == '+' else linear_text(starts, 'thread')};"
    if first and step.vector > 1:
        yield from _mover(function, name, [c % step.vector for c in columns], step.vector)
    for vector in _vectors(at, step.vector, step.registers or range(at.registers)):
        yield (stored if store else loaded)(vector, _place(f"{name}_at", vector.at, starts, sign), step.vector > 1)


def _matrices(function: _Function, name: str, found: Instructions, first: bool) -> Iterator[str]:
    """Registers of `src` stored, or of `dst` loaded, by matrices: each thread has the address of a row."""
    mover = [*matrix_mover(function.dialect, name == "src", found.form, function.width)]
    if first:
        yield f"const unsigned {name}_at = {linear_text(found.addresses, 'thread')};"
        yield from mover
    for vector in found.vectors:
        yield (stored if name == "src" else loaded)(vector, _place(f"{name}_at", vector.at, found.addresses, "^"), True)


def _vectors(at: Placed, size: int, registers: Iterable[int]) -> list[Vector]:
    found: dict[int, list[list[int]]] = {}
    for r in registers:
        place = at.at(0, 0, r)
        found.setdefault(place // size, [[] for _ in range(size)])[place % size].append(r)
    assert all(all(v) for v in found.values()), "a vector that is not whole"
    return [Vector(k * size, held) for k, held in found.items()]


def stored(vector: Vector, place: str, by_function: bool) -> str:
    """The values of `src` stored at a place, by the function of vectors or one by itself."""
    values = [f"src[{registers[0]}]" for registers in vector.registers]
    return f"store({place}, {{{', '.join(values)}}});" if by_function else f"smem[{place}] = {values[0]};"


def loaded(vector: Vector, place: str, by_function: bool) -> str:
    """The values of `dst` loaded from a place: each to all registers that hold it."""
    size = len(vector.registers)
    if not by_function:
        first, *others = vector.registers[0]
        return " ".join([f"dst[{first}] = smem[{place}];", *(f"dst[{r}] = dst[{first}];" for r in others)])
    taken = " ".join(f"dst[{r}] = part[{s}];" for s, registers in enumerate(vector.registers) for r in registers)
    return f"{{ T part[{size}]; load({place}, part); {taken} }}"


def _place(start: str, at: int, columns: Sequence[int], sign: str) -> str:
    """A place in memory: bits that no thread has are added, which is part of the instruction."""
    free = at if sign == "+" else at & ~functools.reduce(operator.or_, columns, 0)
    start = f"{start} ^ {at ^ free}u" if at ^ free else start
    return (f"({start}) + {free}" if at ^ free else f"{start} + {free}") if free else start


def _sum_text(columns: Sequence[int]) -> str:
    """The sum of what each bit of the thread's number adds: bits in a row of which each adds twice the one before are
    one factor."""
    terms, k = [], 0
    while k < len(columns):
        end = k + 1
        while end < len(columns) and columns[end] == 2 * columns[end - 1]:
            end += 1
        terms.append(f"(thread >> {k} & {(1 << end - k) - 1}u) * {columns[k]}u")
        k = end
    return " + ".join(t for t in terms if not t.endswith("* 0u")) or "0u"


def _mover(function: _Function, name: str, columns: Sequence[int], size: int) -> Iterator[str]:
    """The function that stores, or loads, a vector of `part`; `columns` permute its values by thread."""
    width, together = size * function.width, max(1, WORD_BITS // function.width)
    words = -(-width // WORD_BITS)
    turns: list[str] = []
    for u, mask in outer_products([c // together for c in columns]):
        turns += exchanges(pairs(size // together, u), "v", function.parts, parity_text(mask, "thread"))
    rotated = [c % together for c in columns]
    if any(rotated):
        yield f"const unsigned {name}_bytes = {_selector(function, rotated, 'thread')};"
        turns += [f"v[{k}] = {function.dialect.permute.format(f'v[{k}]', f'{name}_bytes')};" for k in range(words)]
    yield from vector_mover(function.dialect, name == "src", size, function.width, turns)


def vector_mover(dialect: Dialect, store: bool, size: int, width: int, turns: Sequence[str] = ()) -> Iterator[str]:
    """The function `store`, or `load`, of a vector of so many values of a width [bits]; turns permute its words `v`."""
    access = (dialect.store if store else dialect.load)(size * width)
    yield from _function_of_one(store, size, width, [*turns, *access] if store else [*access, *turns])


def matrix_mover(dialect: Dialect, store: bool, form: Matrices, width: int) -> Iterator[str]:
    """The function `store`, or `load`, of one matrix instruction on values of a width [bits].

    Raises     RangeError for a language that has none
    """
    if dialect.matrices is None:
        what = f"{dialect.name} of st{form.name} and ld{form.name}"
        fix = 'convert with memory="NVIDIA_SHARED", or the name of the machine that it is for'
        raise RangeError(what, "a plan of vectors", fix)
    size = 1 << len(form.word) + len(form.together)
    yield from _function_of_one(store, size, width, dialect.matrices(form, store))


def _function_of_one(store: bool, size: int, value_bits: int, body: Sequence[str]) -> Iterator[str]:
    """The function that stores, or loads, `part`: so many values, which `body` moves from or to the words `v`."""
    bytes_of_all = size * value_bits // 8
    yield f"const auto {'store' if store else 'load'} = [&](unsigned at, {'const ' if store else ''}T (&part)[{size}]) {{"
    yield f"  unsigned v[{-(-bytes_of_all * 8 // WORD_BITS)}] = {{}};"
    copy = f"memcpy(v, part, {bytes_of_all});" if store else f"memcpy(part, v, {bytes_of_all});"
    yield from (f"  {line}" for line in ([copy, *body] if store else [*body, copy]))
    yield "};"


def _joined(at: Placed) -> str | None:
    """The way that offsets of warp, lane and register combine, bit by bit of each: by xor, by a sum, or neither."""
    warps, lanes = [at.at(w, 0, 0) for w in range(at.warps)], [at.at(0, k, 0) for k in range(at.lanes)]
    registers = at.of[: at.registers]
    for sign, join in (("^", operator.xor), ("+", operator.add)):
        joined = [join(join(w, k), r) for w in warps for k in lanes for r in registers]
        if joined == at.of and _by_bit(warps, sign) and _by_bit(lanes, sign):
            return sign
    return None


def _by_bit(table: Sequence[int], sign: str) -> bool:
    images = [table[1 << k] for k in range(bits.log2(len(table)))]
    if sign == "^":
        return all(n == bits.apply(images, k) for k, n in enumerate(table))
    return all(n == sum(images[b] for b in bits.ones(k)) for k, n in enumerate(table))

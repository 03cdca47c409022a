"""Random copies and products for tla.gpu, with what the PTX manual's rules (ptx_rules.py) say of them.

Addresses come from coordinates by the formula that a tensor was made by, not from its layout. Each function of a seed
returns what it was, whether tla ran it, and the rule that is broken; that both agree is the test. What ran has the
bytes that the machine would have.
"""

import itertools
import random
import re
from typing import NamedTuple

import numpy as np

from tla import MakeTensor, TlaError, local_tile, make_identity_tensor, parse
from tla.gpu import (
    Copy_Atom,
    SM80_16x8x16_F16F16F16F16_TN,
    atom,
    copy,
    copy_if,
    gemm,
    half,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
    make_tiled_mma,
    uint8,
    uint16,
    uint32,
    uint64,
    values_of,
)

import oracle
import ptx_rules

ELEMENTS = {1: (uint8, np.uint8), 2: (uint16, np.uint16), 4: (uint32, np.uint32), 8: (uint64, np.uint64)}


class Verdict(NamedTuple):
    """What a case was, the refusal of tla or None, the rule that is broken or None, and the case in CuTe C++."""

    case: str
    refusal: str | None
    rule: str | None
    cpp: str

    @property
    def agrees(self) -> bool:
        return (self.refusal is None) == (self.rule is None)


def verdict(case, run, rule, cpp=""):
    """Run a case; a TlaError is a refusal, any other exception a defect."""
    try:
        run()
    except TlaError as refused:
        return Verdict(case, f"{type(refused).__name__}: {refused}", rule, cpp)
    return Verdict(case, None, rule, cpp)


def in_cpp(text, element=None):
    """The text of a layout of numbers as C++ that makes it, of constants; with an element's bytes a swizzle is that of
    its pointer."""
    swizzle, _, inner = text.rpartition(" o _0 o ")
    shape, stride = (re.sub(r"_?(\d+)", r"Int<\1>{}", x).replace("(", "make_tuple(") for x in inner.split(":"))
    if not swizzle:
        return f"make_layout({shape}, {stride})"
    bits, base, of = map(int, re.findall(r"\d+", swizzle))
    offset = "Int<0>{}" if element is None else f"smem_ptr_flag_bits<{8 * element}>{{}}"
    base += 0 if element is None else element.bit_length() - 1
    return f"composition(Swizzle<{bits},{base},{of}>{{}}, {offset}, make_layout({shape}, {stride}))"


class Place(NamedTuple):
    """A matrix in a buffer: offset + swizzle(row * strides[0] + column * strides[1]) [elements], and
    the buffer's address."""

    shape: tuple[int, int]
    strides: tuple[int, int]
    begin: int
    bits: int
    base: int
    shift: int
    alignment: int | None
    text: str

    def at(self, row, column):
        """The offsets of elements from the start of the whole array."""
        inner = row * self.strides[0] + column * self.strides[1]
        moved = inner ^ ((inner & (((1 << self.bits) - 1) << (self.base + self.shift))) >> self.shift)
        return self.begin + moved

    def tensor(self, array, **options):
        return MakeTensor(array[self.begin :], parse(self.text), alignment=self.alignment, **options)

    def rule(self, count):
        """CuTe's rule that the type of a swizzle breaks: it may not move what is inside of an access
        of `count` elements."""
        return "a swizzle of whole accesses" if ((1 << self.bits) - 1 << self.base) & (count - 1) else None

    def bytes(self, places, element):
        """Byte addresses of places: those that there may be, where only the alignment of the buffer is said."""
        if self.alignment is None:  # a whole array begins at a multiple of whatever is asked
            return [places * element]
        return [(places - self.begin) * element + start for start in (0, self.alignment)]


def place(rng, shape, unit, major):
    """A random matrix: padded, strided or swizzled, at any start. unit: the elements of an access; major: whether
    columns are contiguous."""
    rows, columns = shape
    fast = rows if major else columns
    pad = -fast % unit + rng.choice((0,) * 6 + (unit, unit, 2 * unit, unit // 2, 1))
    step = rng.choice((1,) * 20 + (2, 0))
    strides = (step, (fast + pad) * max(step, 1))
    pair = strides if major else strides[::-1]
    begin = rng.choice((0,) * 16 + (unit, unit, 3 * unit, max(unit // 2, 1), 1))
    alignment = rng.choice((None,) * 20 + (1, 4, 8, 16, 128))
    bits, base, shift = 0, 0, 0
    powers = all(n & (n - 1) == 0 for n in (*shape, fast + pad))
    if powers and step == 1 and rng.random() < 0.5:
        bits = rng.randint(1, 3)
        base = max(unit.bit_length() - 1 + rng.choice((0, 0, 0, 0, 1, -1)), 0)
        shift = max(bits, rng.choice((3, 3, bits, 4)))
    texts = ["_" if rng.random() < 0.5 else "" for _ in range(4)]
    if bits:
        texts = ["_"] * 4
    text = f"({texts[0]}{rows},{texts[1]}{columns}):({texts[2]}{pair[0]},{texts[3]}{pair[1]})"
    if bits:
        text = f"Sw<{bits},{base},{shift}> o _0 o {text}"
    return Place(shape, pair, begin, bits, base, shift, alignment, text)


def array_of(rng, element):
    """A buffer of elements that all differ, as far as they can, and its numpy type."""
    count = 1 << 17
    return (np.arange(count, dtype=np.uint64) * 40503 + rng.randrange(1 << 30)).astype(element)


def grouped(x, count):
    """(thread, value, rest ...) as (thread, value of an access, access)."""
    x = x.reshape(x.shape[0], x.shape[1] // count, count, -1)
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], count, -1)


def coordinates(part):
    """The coordinates of a partition of an identity tensor, as arrays (thread, value, rest ...)."""
    return np.broadcast_arrays(*values_of(part))


def predicate(rng, rows, columns, bounds, count):
    """None, elements below bounds, or chosen at random: for a whole access, or each. Where none would be, there
    is no predicate."""
    kind = rng.choice(("none",) * 3 + ("bounds",) * 4 + ("access",) * 2 + ("value",))
    inside = (rows < bounds[0]) & (columns < bounds[1])
    chosen = np.random.default_rng(rng.randrange(1 << 30)).random(rows.shape) < 0.7
    if kind == "access":
        whole = (rows.shape[0], rows.shape[1] // count, count, *rows.shape[2:])
        each = chosen.reshape(whole)[:, :, :1] & inside.reshape(whole).all(2, keepdims=True)
        found = np.broadcast_to(each, whole).reshape(rows.shape)
    else:
        found = inside & chosen if kind == "value" else inside
    return None if kind == "none" or not found.any() else found


# ------------------------------------------------------------------------------------------------------ copies


def tiled_copy(rng, name, element, width):
    """A tiled copy of few threads, in either order, whose values are whole accesses, along either mode."""
    count = width // element
    threads = [rng.choice((1, 2, 4, 8)), rng.choice((1, 2, 4))]
    values, major = [count * rng.choice((1, 1, 2)), rng.choice((1, 1, 2))], rng.random() < 0.5
    layouts = []
    for (a, b), first in ((threads, rng.random() < 0.5), (values, rng.random() < 0.9)):
        strides = ("_1", f"_{a}") if first else (f"_{b}", "_1")
        sizes, strides = ((a, b), strides) if major else ((b, a), strides[::-1])
        layouts.append("(_{},_{}):({},{})".format(*sizes, *strides))
    return make_tiled_copy(Copy_Atom[name, ELEMENTS[element][0]], *map(parse, layouts)), layouts, major


def copy_of_threads(seed):
    """A copy of accesses of single threads: ld and st, or cp.async."""
    rng = random.Random(seed)
    element = rng.choice((1, 2, 2, 4, 8))
    width = rng.choice([w for w in (1, 2, 4, 8, 16, 16, 16) if w >= element])
    asynchronous = width >= 4 and rng.random() < 0.3
    level = rng.choice(("ALWAYS", "GLOBAL")) if width == 16 else "ALWAYS"
    fill = asynchronous and rng.random() < 0.5
    name = f"SM80_CP_ASYNC_CACHE{level}{'_ZFILL' * fill}" if asynchronous else "UniversalCopy"
    name = f"{name}<uint{8 * width}_t>"
    tiled, layouts, major = tiled_copy(rng, name, element, width)
    count, tile = width // element, [int(n) for n in tiled.tiler_mn]
    shape = tuple(n * rng.choice((1, 2, 3)) + rng.choice((0, 0, 0, 0, count, 1)) for n in tile)
    sides = [place(rng, shape, count, major ^ (rng.random() < 0.07)) for _ in range(2)]
    data, out = (array_of(rng, ELEMENTS[element][1]) for _ in range(2))
    positions = ("gmem", "smem") if asynchronous else (None, None)
    if asynchronous and rng.random() < 0.1:
        positions = rng.choice((("smem", "smem"), ("gmem", "gmem"), ("registers", "smem")))
    t = np.arange(tiled.threads)
    tensors = [p.tensor(x, position=q) for p, x, q in zip(sides, (data, out), positions)]
    identity = make_identity_tensor(shape)
    own, parts = tiled[t], []
    at = tuple(rng.randrange(-(-n // m)) for n, m in zip(shape, tile)) if rng.random() < 0.3 else None
    if at is not None:
        *tensors, identity = (local_tile(x, tuple(tile), at) for x in (*tensors, identity))
    parts = [own.partition_S(tensors[0]), own.partition_D(tensors[1])]
    seen = coordinates(own.partition_S(identity)), coordinates(own.partition_D(identity))
    mask = predicate(rng, *seen[0], shape, count)
    case = (
        f"{seed}: {name} of {element} bytes by {layouts}, {[p.text for p in sides]} at {[p.begin for p in sides]} "
        "aligned "
    )
    case += f"{[p.alignment for p in sides]}, in {positions}, tile {at}, {'no predicate' if mask is None else f'{mask.mean():.2f} of it'}"
    places = [grouped(p.at(*c), count) for p, c in zip(sides, seen)]
    inside = grouped((seen[0][0] < shape[0]) & (seen[0][1] < shape[1]), count)
    executed = None if mask is None else grouped(mask, count)
    kind = ("cp.async.ca" if level == "ALWAYS" else "cp.async.cg") if asynchronous else "ld"
    rule = None if positions in ((None, None), ("gmem", "smem")) else "its memory"
    rule = rule or sides[0].rule(count) or sides[1].rule(count)
    for source, target in itertools.product(*(p.bytes(x, element) for p, x in zip(sides, places))):
        rule = rule or ptx_rules.vector_copy(width, source, target, inside, executed, kind, fill and mask is not None)
    before = out.copy()
    spaces = ("gmem", "smem") if asynchronous else ("gmem", "gmem")
    cpp = (
        f"using T = uint{8 * element}_t; auto tiled = make_tiled_copy(Copy_Atom<{name}, T>{{}}, "
        f"{', '.join(map(in_cpp, layouts))});"
    )
    cpp += "".join(
        f" auto x{i} = make_tensor(make_{q}_ptr((T*)nullptr), {in_cpp(p.text)});"
        for i, (p, q) in enumerate(zip(sides, spaces))
    )
    cpp += " copy(tiled, tiled.get_slice(0).partition_S(x0), tiled.get_slice(0).partition_D(x1));"
    result = verdict(
        case, (lambda: copy(tiled, *parts)) if mask is None else (lambda: copy_if(tiled, mask, *parts)), rule, cpp
    )
    if result.refusal is None and rule is None:
        runs = np.ones(places[0][:, 0].shape, bool) if executed is None else executed.all(1)
        first = [x[:, 0] * element for x in places]
        wanted = ptx_rules.vectors_moved(
            width, *first, data.view(np.uint8), before.view(np.uint8), runs, ~runs if fill else None
        )
        assert (out.view(np.uint8) == wanted).all(), case
    assert result.refusal is None or (out == before).all(), case
    return result


# -------------------------------------------------------------------------------------------- copies of a warp

#: Copies of a warp: the atom, its matrices of m8n8, whether it transposes, and whether it stores.
OF_A_WARP = {
    "SM75_U32x1_LDSM_N": (1, False, False),
    "SM75_U32x2_LDSM_N": (2, False, False),
    "SM75_U32x4_LDSM_N": (4, False, False),
    "SM75_U16x2_LDSM_T": (1, True, False),
    "SM75_U16x4_LDSM_T": (2, True, False),
    "SM75_U16x8_LDSM_T": (4, True, False),
    "SM90_U32x1_STSM_N": (1, False, True),
    "SM90_U32x2_STSM_N": (2, False, True),
    "SM90_U32x4_STSM_N": (4, False, True),
    "SM90_U16x2_STSM_T": (1, True, True),
    "SM90_U16x4_STSM_T": (2, True, True),
    "SM90_U16x8_STSM_T": (4, True, True),
}


def warps(x):
    """Arrays of threads first as (warp, lane, ...)."""
    return x.reshape(-1, 32, *x.shape[1:])


def places_in_registers(fragment, threads, count):
    """The places of a fragment's values in its buffer, (warp, lane, value of an access, access), by the definition
    of a layout."""
    shape, stride = map(oracle.plain, (fragment.layout.shape, fragment.layout.stride))
    inner = np.reshape(oracle.offsets(shape, stride), [oracle.size(n) for n in shape], order="F")
    starts = np.arange(threads) * (fragment.data.size // threads)
    return warps(grouped(starts.reshape(-1, *(1,) * inner.ndim) + inner, count))


def copy_of_a_warp(seed):
    """ldmatrix of an operand to its fragment, or stmatrix of an accumulator's: shared memory of either major, padded,
    swizzled, shifted."""
    rng = random.Random(seed)
    name = rng.choice([*OF_A_WARP])
    matrices, transposed, stores = OF_A_WARP[name]
    mma = make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN, (rng.choice((1, 2)), rng.choice((1, 2))), (32, 32, 16))
    side = "C" if stores else rng.choice("AB")
    shape = tuple(
        int(mma.tile_size["MNK".index(i)]) * rng.choice((1, 2)) for i in {"A": "MK", "B": "NK", "C": "MN"}[side]
    )
    tiled = {"A": make_tiled_copy_A, "B": make_tiled_copy_B, "C": make_tiled_copy_C}[side](Copy_Atom[name, half], mma)
    where, position = (
        place(rng, shape, 8, transposed ^ (rng.random() < 0.1)),
        rng.choice((None,) * 5 + ("smem",) * 4 + ("gmem",)),
    )
    data, t, own = (
        (np.arange(1 << 15) * 7 % 2048).astype(np.float16),
        np.arange(tiled.threads),
        tiled[np.arange(tiled.threads)],
    )
    fragment = getattr(mma[t], f"partition_fragment_{side}")(where.tensor(data))
    fragment.data[:] = np.arange(fragment.data.size) % 2039
    memory, registers = where.tensor(data, position=position), (own.retile_S if stores else own.retile_D)(fragment)
    rows, columns = coordinates((own.partition_D if stores else own.partition_S)(make_identity_tensor(shape)))
    parts = (registers, own.partition_D(memory)) if stores else (own.partition_S(memory), registers)
    mask = mask_of_warps(rng, (len(t), 1, *rows.shape[2:])) if rng.random() < 0.3 else None
    case = (
        f"{seed}: {name} of {side}, {mma.thr_layout_vmnk}, {where.text} at {where.begin} aligned {where.alignment}, in "
        f"{position}"
    )
    case += f", {'no predicate' if mask is None else 'a predicate'}"
    places, held = warps(grouped(where.at(rows, columns), 8)), places_in_registers(registers, len(t), 2 * matrices)
    executed = (
        np.ones(places[:, :, 0].shape, bool)
        if mask is None
        else warps(grouped(np.broadcast_to(mask, rows.shape), 8)[:, 0])
    )
    rule = "its memory" if position == "gmem" else where.rule(8)
    for address in where.bytes(places, 2):
        rule = rule or ptx_rules.matrix_copy(matrices, address, held * 2, executed, stores)
    before = data.copy(), fragment.data.copy()
    atoms = "make_layout(make_shape({}, {}))".format(*(f"Int<{int(x)}>{{}}" for x in mma.thr_layout_vmnk.shape[1:3]))
    cpp = f"auto mma = make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN{{}}, {atoms}, Tile<_32, _32, _16>{{}});"
    cpp += f" auto x = make_tensor(make_smem_ptr((half_t*)nullptr), {in_cpp(where.text)}); auto f = mma.get_slice(0).partition_fragment_{side}(x);"
    cpp += f" auto tiled = make_tiled_copy_{side}(Copy_Atom<{name}, half_t>{{}}, mma); auto own = tiled.get_slice(0);"
    cpp += (
        " copy(tiled, own.retile_S(f), own.partition_D(x));"
        if stores
        else " copy(tiled, own.partition_S(x), own.retile_D(f));"
    )
    result = verdict(
        case, (lambda: copy(tiled, *parts)) if mask is None else (lambda: copy_if(tiled, mask, *parts)), rule, cpp
    )
    if result.refusal is None and rule is None:
        first = places[:, :, :1] + np.arange(8).reshape(1, 1, 8, 1)
        if stores:
            starts, wanted = (
                first[:, : 8 * matrices],
                ptx_rules.matrix_stored(matrices, transposed, fragment.data[held]),
            )
            lanes = np.broadcast_to(executed[:, : 8 * matrices, None], starts.shape)
            before[0][starts[lanes]] = wanted[lanes]
        else:
            wanted = ptx_rules.matrix_loaded(matrices, transposed, data[first])
            lanes = np.broadcast_to(executed[:, :, None], held.shape)
            before[1][held[lanes]] = wanted[lanes]
    assert (data == before[0]).all(), case
    assert (fragment.data == before[1]).all(), case
    return result


def mask_of_warps(rng, shape):
    """A predicate of threads and rests, most often one for a warp; None where it would be true for none."""
    mask = np.random.default_rng(rng.randrange(1 << 30)).random(shape) < 0.6
    mask = np.repeat(mask[::32], 32, 0) if rng.random() < 0.7 else mask
    return mask if mask.any() else None


# ------------------------------------------------------------------------------------------------------ products

#: mma.sync of operands in registers: bytes of an element of A and B.
OF_REGISTERS = {
    "SM80_16x8x16_F32F16F16F32_TN": 2,
    "SM75_16x8x8_F32F16F16F32_TN": 2,
    "SM80_16x8x32_S32S8S8S32_TN": 1,
    "SM80_16x8x8_F32TF32TF32F32_TN": 4,
    "SM80_8x8x4_F64F64F64F64_TN": 8,
    "SM89_16x8x32_F32E4M3E4M3F32_TN": 1,
}
TYPES = {1: np.int8, 2: np.float16, 4: np.float32, 8: np.float64}


def product_of_registers(seed):
    """mma.sync of parts of matrices as they lie: in registers narrow elements have to lie side by side, along K, from
    whole registers on."""
    rng = random.Random(seed)
    name = rng.choice([*OF_REGISTERS])
    element, mma = OF_REGISTERS[name], make_tiled_mma(atom(name), (rng.choice((1, 2)), rng.choice((1, 2))))
    m, n, k = (int(x) * rng.choice((1, 2)) for x in mma.tile_size)
    dtype = np.float32 if "E4M3" in name else TYPES[element]
    total = np.int32 if dtype == np.int8 else np.float64 if element == 8 else np.float32
    own, rule, parts, matrices = mma[np.arange(mma.threads)], None, [], []
    case = f"{seed}: {name}, {mma.thr_layout_vmnk}"
    for side, shape in (("A", (m, k)), ("B", (n, k))):
        count = max(4 // element, 1)
        where, position = (
            place(rng, shape, count, rng.random() < 0.15),
            rng.choice(("registers",) * 8 + (None, "smem", "gmem")),
        )
        data = np.random.default_rng(seed).integers(-3, 4, 1 << 14).astype(dtype)
        parts.append(own.partition(side, where.tensor(data, position=position)))
        rows, columns = coordinates(own.partition(side, make_identity_tensor(shape)))
        matrices.append(data[where.at(*np.indices(shape))].astype(total))
        case += f", {side} {where.text} at {where.begin} in {position}"
        rule = rule or ("its memory" if position == "gmem" else None)
        if position == "registers":
            places = np.moveaxis(where.at(rows, columns) * element, 1, -1)
            rule = rule or ptx_rules.packed_registers(places, element)
    c = np.zeros((m, n), total)
    result = verdict(case, lambda: gemm(mma, *parts, own.partition_C(MakeTensor(c))), rule)
    assert (c == (matrices[0] @ matrices[1].T if result.refusal is None else 0)).all(), case
    return result


class Shared(NamedTuple):
    """A matrix of an operand in shared memory: where each element (row, column) is in its array, and the
    layout that says so."""

    places: np.ndarray
    mode: str | None  # the swizzle mode that the layout names
    begin: int
    alignment: int | None
    text: str

    def tensor(self, array, **options):
        return MakeTensor(array[self.begin :], parse(self.text), alignment=self.alignment, **options)


def shared(rng, rows, columns, element, major):
    """A matrix as matrix descriptors have it, of any swizzle, or nearly so."""
    bits = rng.choice([b for b in range(4) if major == "K" or (16 << b) // element <= rows])
    width, unit = (16 << bits) // element, 16 // element
    if major == "K":
        across = min(width, columns)
        gap = rng.choice((0, 0, 0, 8, 64)) * unit
        first, second = (8, rows // 8), (across, columns // across)
        strides = [width, 8 * width + gap, 1, rows // 8 * (8 * width + gap)]
    else:
        gap = rng.choice((0, 0, 0, 8, 64)) * unit
        first, second = (width, rows // width), (8, columns // 8)
        inner = 8 * width + gap
        strides = (
            [1, inner, width, inner * (rows // width)]
            if rng.random() < 0.5
            else [1, inner * (columns // 8), width, inner]
        )
    base, shift, begin = 5 - element.bit_length(), 3, rng.choice((0,) * 10 + (width * 8, unit, 1, unit // 2))
    wrong = rng.choice((None,) * 6 + ("stride", "stride", "swizzle"))
    if wrong == "stride":
        i = rng.randrange(4)
        strides[i] = rng.choice((strides[i] * 2, strides[i] + 1, strides[i] + unit, strides[i] * 2 + unit, 0, 1 << 20))
    elif wrong == "swizzle":
        bits, base, shift = (max(0, x + rng.choice((-1, 0, 1))) for x in (bits, base, shift))
        shift = max(shift, bits)
    alignment = rng.choice((None,) * 8 + (16, 128, 256, 1024))
    inner = oracle.offsets((first, second), (tuple(strides[:2]), tuple(strides[2:])))
    found = np.reshape(inner, (rows, columns), order="F")
    found = found ^ ((found & (((1 << bits) - 1) << (base + shift))) >> shift)
    text = "((_{},_{}),(_{},_{})):((_{},_{}),(_{},_{}))".format(*first, *second, *strides)
    named = [*ptx_rules.MODES, None][bits if not bits or (base, shift) == (5 - element.bit_length(), 3) else 4]
    return Shared(found + begin, named, begin, alignment, f"Sw<{bits},{base},{shift}> o _0 o {text}" if bits else text)


def product_of_descriptors(seed):
    """wgmma of shared memory: what descriptors say of each tile, in either major, or refused."""
    rng = random.Random(seed)
    majors, n, form = (
        rng.choice(("KK", "KK", "KM", "MK", "MM")),
        rng.choice((8, 16, 64)),
        rng.choice(("SS", "SS", "RS")),
    )
    tf32 = rng.random() < 0.2
    majors = "KK" if tf32 else "K" + majors[1] if form == "RS" else majors
    text = ",".join(f"GMMA::Major::{'K' if x == 'K' else 'MN'}" for x in majors)
    name = f"SM90_64x{n}x8_F32TF32TF32_{form}_TN<>" if tf32 else f"SM90_64x{n}x16_F32F16F16_{form}<{text}>"
    element, mma = 4 if tf32 else 2, make_tiled_mma(atom(name.replace("<>", "")))
    m, n, k = (int(x) * rng.choice((1, 1, 2)) for x in mma.tile_size)
    own, rule, parts, matrices, case = mma[np.arange(128)], None, [], [], f"{seed}: {name}"
    cpp = f"auto mma = make_tiled_mma({name}{{}}); auto own = mma.get_slice(0);"
    for side, rows, major in zip("AB", (m, n), majors):
        if form == "RS" and side == "A":
            data = np.random.default_rng(seed).integers(-3, 4, (rows, k)).astype(TYPES[element])
            parts.append(own.partition_A(MakeTensor(data)))
            matrices.append(data)
            continue
        where, position = shared(rng, rows, k, element, major), rng.choice((None,) * 6 + ("smem",) * 6 + ("gmem",))
        data = np.random.default_rng(seed).integers(-3, 4, int(where.places.max()) + 1).astype(TYPES[element])
        matrices.append(data[where.places])
        parts.append((where.tensor(data, position=position), side))
        case += f", {side} {where.text} at {where.begin} aligned {where.alignment} in {position}"
        cpp += f" auto {side} = make_tensor(make_smem_ptr(({'half_t' if element == 2 else 'tfloat32_t'}*)nullptr), {in_cpp(where.text, element)});"
        cpp += f" own.partition_fragment_{side}({side});"
        rule = rule or (
            "its memory"
            if position == "gmem"
            else rule_of_tiles(where, mma.atom.shape_mnk["AB".index(side)], element, major)
        )
    c = np.zeros((m, n), np.float32)

    def run():
        operands = [x if not isinstance(x, tuple) else getattr(own, f"partition_fragment_{x[1]}")(x[0]) for x in parts]
        gemm(mma, *operands, own.partition_C(MakeTensor(c)))

    result = verdict(case, run, rule, cpp)
    wanted = matrices[0].astype(np.float32) @ matrices[1].astype(np.float32).T
    assert (c == (wanted if result.refusal is None else 0)).all(), case
    return result


def rule_of_tiles(where, rows, element, major):
    """The rule that a tile of an operand breaks: rows of one instruction, 32 bytes along K."""
    if where.mode is None:
        return "a swizzle mode"
    columns, bases = 32 // element, (0,) if where.alignment is None else (0, where.alignment)
    start = 0 if where.alignment is None else where.begin
    for i in range(0, where.places.shape[0], int(rows)):
        for j in range(0, where.places.shape[1], columns):
            tile = (where.places[i : i + int(rows), j : j + columns] - start) * element
            if isinstance(found := ptx_rules.described(tile, element, major, where.mode, bases), str):
                return found
    return None

"""Canonical layouts and descriptors: CUTLASS's own answers, and what the hardware reads by the PTX manual,
address by address."""

import functools
import itertools
import random
import re

import numpy as np
import pytest

from tla import (
    ComposedLayout,
    DivisibilityError,
    Int,
    Layout,
    MakeMxScaleLayout,
    MakeTensor,
    RangeError,
    RankError,
    Swizzle,
    Tensor,
    TlaError,
    Unproven,
    _,
    ascend,
    copy,
    cosize,
    dim,
    gpu,
    local_tile,
    make_layout,
    offsets,
    parse,
    size,
    tile_to_shape,
)
from tla.core import element as elements
from tla.core.element import float, int8, tf32, uint8
from tla.core.errors import Reason
from tla.gpu import (
    GMMA,
    UMMA,
    canonical,
    contracts,
    descriptor_steps,
    half,
    instruction_descriptor,
    make_tiled_mma,
    make_tmem_copy,
    make_utccp_copy,
    plain_scales,
    read_descriptor,
    require_scale_strides,
    scale_factor_atom,
    scale_factor_layout,
    tile_to_mma_shape,
    tmem_address,
    tmem_allocation,
    tmem_layout,
    umma_descriptor,
    wgmma_descriptor,
)
from tla.gpu.descriptors.descriptor import TCGEN05, WGMMA
from tla.gpu.instructions.elements import as_element

from batches import in_batches
from night import NIGHT, amount, some
from truth import rows

CASES = rows("atoms/smem.json")
#: C++'s pointer to float_e2m1_t counts a byte for each element when a tile begins past the buffer's start; the offsets
#: inside count 4 bits.
BYTES_FOR_BITS = "float_e2m1_t"


def of_text(text):
    """CUTLASS's text of a layout of shared memory, whose swizzle acts on bytes, with the swizzle on elements."""
    found = re.match(r"Sw<(\d),(\d),(\d)> o smem_ptr\[(\d+)b\]\(unset\) o (.*)", text)
    if not found:
        return parse(text)
    bits, base, shift, width = map(int, found.groups()[:4])
    return ComposedLayout(Swizzle[bits, base - (width.bit_length() - 4), shift](), Int[0](), parse(found[5]))


def atom(case):
    return UMMA.atoms[re.match("Layout_(.*)_Atom", case["atom"])[1]][as_element(case["type"])]


def tile(case):
    if "layout" in case:
        return of_text(case["layout"])
    order = [parse(case["order"])] if case["order"] else []
    return local_tile(
        MakeTensor(None, tile_to_shape(atom(case), parse(case["shape"]), *order)),
        parse(case["tile"]),
        parse(case["coord"]),
    )


def of_kind(*kinds):
    return [c for c in CASES if c["kind"] in kinds]


@in_batches(of_kind("smem_atom"))
def test_atoms(case):
    assert str(atom(case)) == str(of_text(case["result"]))


@in_batches(of_kind("tile_to_shape"))
def test_tiled_atoms(case):
    order = [parse(case["order"])] if case.get("order") else []
    start = atom(case) if "atom" in case else parse(case["block"])
    assert str(tile_to_shape(start, parse(case["shape"]), *order)) == str(of_text(case["result"]))


#: Why CUTLASS does not compile a descriptor, and why it is refused here: the same reason.
REASONS = {
    "Expected K-size": "is not MN-major",
    "Expected profile failure": "is not K-major",
    "Expected stride failure": "is not canonical: rows 0 and 1",
    "rank-2 tensors": "a tile of two modes",
    "not usable in a constant expression": "static extents and strides",
    "nsupported layout swizzle": "the swizzle Sw<|SW128_32B",
}


@in_batches(of_kind("gmma_desc", "umma_desc"))
def test_descriptors(case):
    make = wgmma_descriptor if case["kind"] == "gmma_desc" else umma_descriptor
    element, base = as_element(case["type"]), int(case["base"], 16)
    if "refused" in case:
        ours = next(reason for theirs, reason in REASONS.items() if theirs in case["refused"])
        with pytest.raises((DivisibilityError, RankError, Unproven), match=ours):
            make(tile(case), case["major"], element, base=base)
        return
    whole = tile(case)
    layout = whole.layout if isinstance(whole, Tensor) else whole
    assert str(getattr(layout, "inner", layout)) == case["tile_layout"]
    d = make(whole, case["major"], element, base=base)
    assert str(d.mode.swizzle) == case["swizzle"]
    theirs = int(case["desc"], 16)
    if case["type"] == BYTES_FOR_BITS:
        theirs -= case["start_address"] - (case["start_address"] + base // 16) // 2
    assert d.bits == theirs
    for field in ("leading_byte_offset", "stride_byte_offset", "base_offset", "layout_type", "version", "lbo_mode"):
        assert field not in case or getattr(d, field) == case[field]


# --------------------------------------------------------------------------------------------- what the hardware reads


#: Bytes of a row of an atom, and how many bits of the row's number (8 rows, of SW128_32B 4) are xored into which bits
#: of the column.
ATOMS = {"INTER": (16, 0, 4), "SW32": (32, 1, 4), "SW64": (64, 2, 4), "SW128": (128, 3, 4), "SW128_32B": (128, 2, 5)}


def hardware(d, bits, rows, columns, mode, major):
    """Byte address (and bit) of each element, from the 64 bits alone, by the PTX manual: core matrices of 8 rows
    of 16 bytes."""
    start, lbo, sbo = (d >> low & 0x3FFF for low in (0, 16, 32))
    span, xored, base = ATOMS[mode]
    unit, width, lines = 128 // bits, span // 16, 4 if mode == "SW128_32B" else 8
    mn, k = np.indices((rows, columns))
    if major == "K":
        core, column = mn // 8, k // unit
        address = start * 16 + core * sbo * 16 + mn % 8 * width * 16 + column * lbo * 16
        inside = k % unit
    elif width == 1:
        address = start * 16 + mn // unit * sbo * 16 + k // 8 * lbo * 16 + k % 8 * 16
        inside = mn % unit
    else:
        column = mn // unit
        address = (
            start * 16
            + column // width * lbo * 16
            + column % width * 16
            + k // lines * sbo * 16
            + k % lines * width * 16
        )
        inside = mn % unit
    address ^= (
        address >> 7 & ((1 << xored) - 1)
    ) << base  # the row's number, address bits 7 and up, into those of the column
    return address * 8 + inside * bits


@pytest.mark.parametrize("element", [half, float, int8, as_element("float_e2m1_t")], ids=str)
@pytest.mark.parametrize(
    ("make", "mn", "name"),
    [(wgmma_descriptor, 64, n) for n in GMMA.atoms] + [(umma_descriptor, 128, n) for n in UMMA.atoms],
)
def test_the_hardware_reads_exactly_the_tile(make, mn, name, element):
    major, _dash, mode = name.partition("_")
    k = 256 // element.bits
    for order in ((Int[1](), Int[2]()), (Int[2](), Int[1]())):  # an order counts where it is static
        buffer = MakeTensor(
            None, tile_to_shape(UMMA.atoms[name][element], (Int[256](), Int[max(4 * k, 1024 // element.bits)]()), order)
        )
        for coord in ((0, 0), (1, 1), (256 // mn - 1, 3)):
            t = local_tile(buffer, (Int[mn](), Int[k]()), coord)
            d = make(t, major, element, base=0x2000)
            wanted = 0x2000 * 8 + (offsets(t.layout).astype(np.int64) + int(t.offset)) * element.bits
            read = hardware(d.bits, element.bits, mn, k, mode, major)
            assert np.array_equal(read, wanted)
            again = read_descriptor(d.bits, major, d.generation)
            assert (again.addresses((mn, k), element) == wanted // 8).all()


def test_steps_along_k():
    buffer = MakeTensor(None, tile_to_shape(GMMA.K_SW128[half], (Int[64](), Int[64]())))
    d = wgmma_descriptor(local_tile(buffer, (Int[64](), Int[16]()), (0, 0)), "K", half)
    for i in range(4):
        assert d.advanced(2 * i) == wgmma_descriptor(local_tile(buffer, (Int[64](), Int[16]()), (0, i)), "K", half)
    with pytest.raises(RangeError, match="less than 256 KiB"):
        d.advanced(1 << 14)


@in_batches(of_kind("mma_smem"), 10)
def test_partitions_of_shared_memory_and_their_descriptors(case):
    """The tensor that a tiled MMA cuts, the descriptor of its first MMA, and the steps to the others, which are their
    descriptors too."""
    element, instruction, operand = as_element(case["type"]), gpu.atom(case["op"]), case["operand"]
    make = wgmma_descriptor if instruction.arch == "sm90" else umma_descriptor
    mma, major = make_tiled_mma(instruction), getattr(instruction, f"major_{operand}")
    part = mma[0].partition(operand, MakeTensor(None, tile_to_shape(atom(case), parse(case["shape"]))))
    inner = getattr(part.layout, "inner", part.layout)
    assert str(inner) == case["partition"]
    steps = descriptor_steps(part, element)
    assert str(steps) == case["fragment"]
    first = make(part[(_, *[0] * (len(inner.shape) - 1))], major, element, base=0x400)
    assert hex(first.bits) == hex(int(case["desc0"], 16))
    for rest in itertools.product(*(range(int(size(m))) for m in inner.shape[1:])):
        assert make(part[(_, *rest)], major, element, base=0x400) == first.advanced(int(steps(0, *rest)))
    assert getattr(mma[0], f"make_fragment_{operand}")(part) == part  # a descriptor: no registers are made


def test_steps_of_a_buffer_need_no_element():
    layout = parse("((_64,(_8,_2)),_2,_8):((_8,(_1,_1024)),_512,_2048)")
    tensor = MakeTensor(np.zeros(2**14, np.float16), layout)
    assert str(descriptor_steps(tensor)) == str(descriptor_steps(layout, half)) == "(_1,_2,_8):(_0,_64,_256)"
    with pytest.raises(TlaError, match="element"):
        descriptor_steps(layout)


def test_an_order_of_plain_integers_counts():
    atom_ = GMMA.K_SW128[half]
    shape = (Int[128](), Int[128]())
    for order in itertools.permutations((1, 2)):
        static = tuple(Int[i]() for i in order)
        assert str(tile_to_shape(atom_, shape, order)) == str(tile_to_shape(atom_, shape, static))
    assert str(tile_to_shape(atom_, shape, (2, 1))) != str(tile_to_shape(atom_, shape, (1, 2)))


def test_a_buffer_tiled_for_an_mma():
    t = tile_to_mma_shape(GMMA.K_SW128[half], ((Int[64](), Int[16]()), Int[2](), Int[4]()))
    assert str(t) == "Sw<3,3,3> o _0 o ((_64,_16),_2,_4):((_64,_1),_4096,_16)"


# ----------------------------------------------------------------------------------------------- which canonical layout


@pytest.mark.parametrize("element", [half, float, int8, as_element("float_e2m1_t")], ids=str)
def test_every_canonical_layout_is_known_again(element):
    """All atoms, orders and two shapes, with and without stages: the answer makes the same addresses, whichever of
    equals it is. By day the stages are of halves only, in every second order."""
    every = ((1, 1), (2, 3), (2, 2, 2)) if NIGHT or element is half else ((1, 1), (2, 3))
    for name, tile in UMMA.atoms.items():
        rows_, columns = map(int, tile[element].shape)
        for copies in every:
            shape = tuple(Int[n * m]() for n, m in zip(copies, (rows_, columns, 1)))
            for order in some(itertools.permutations(range(1, len(copies) + 1)), 2 if len(copies) > 2 else 1):
                buffer = tile_to_shape(tile[element], shape, tuple(Int[i]() for i in order))
                found = canonical(MakeTensor(None, buffer), element)
                family, _dot, again = found.atom.partition(".")
                made = tile_to_shape(getattr(gpu, family).atoms[again][element], shape, found.order)
                assert (offsets(made) == offsets(buffer)).all()
                assert copies == (1, 1) or again == name


@functools.cache
def canonical_bits(major, mode, width, shape, order):
    """The bit address of each coordinate of a canonical layout, from its description: 8 rows of a span, tiles in an
    order, xored."""
    span, bits, base = ATOMS[mode]
    row, rows_ = span * 8 // width, 4 if mode == "SW128_32B" else 8
    tile = (rows_, row) if major == "K" else (row, rows_)
    if any(n % t for n, t in zip(shape, tile)):
        return None
    i, j = np.indices(shape)
    along, across = (j % tile[1], i % tile[0]) if major == "K" else (i % tile[0], j % tile[1])
    tiles = (shape[0] // tile[0], shape[1] // tile[1])
    number = i // tile[0] + tiles[0] * (j // tile[1]) if order == (1, 2) else j // tile[1] + tiles[1] * (i // tile[0])
    byte = (number * rows_ + across) * span + along * width // 8
    byte = byte ^ (byte >> 7 & (1 << bits) - 1) << base
    return byte * 8 + along * width % 8


def nearest(given, width, shape):
    """The canonical layouts that agree with a map of bit addresses at the most coordinates, with how many differ: all
    majors, modes, orders."""
    found = {}
    for major, mode, order in itertools.product(("K", "MN"), ATOMS, ((1, 2), (2, 1))):
        wanted = None if (major, mode) == ("K", "SW128_32B") else canonical_bits(major, mode, width, shape, order)
        if wanted is not None:
            found[f"{'UMMA' if mode == 'SW128_32B' else 'GMMA'}.{major}_{mode}", order] = wanted
    wrong = {name: int((given != wanted).sum()) for name, wanted in found.items()}
    least = min(wrong.values())
    return least, {name: found[name] for name, n in wrong.items() if n == least}


def random_layout(rng, width):
    """A layout of a size that atoms divide: plain or padded rows, columns or blocks of them, with some
    swizzle or none."""
    shape = rng.choice([8, 16, 64]) * (32 // width if width < 32 else 1), rng.choice([32, 64, 128]) * max(1, 8 // width)
    (m, k), unit = shape, 128 // width
    pad, block = rng.choice([0, 0, 1, 8, 16, 64]), rng.choice([4, 8, 16])
    layout = rng.choice(
        [
            Layout((m, k), (k + pad, 1)),
            Layout((m, k), (1, m + pad)),
            Layout((m, k), (k, rng.choice([1, 2]))),
            Layout(((8, m // 8), (unit, k // unit)), ((unit, 8 * unit + pad), (1, m * unit + pad))),
            Layout(((block, m // block), k), ((k // block, 1 + pad), m)) if m % block == 0 else Layout((m, k), (k, 1)),
            Layout((m, (block, k // block)), (block, (1, m * block + pad))),
            Layout(((block, m // block), k), ((1, block * k + pad), block))
            if m % block == 0
            else Layout((m, k), (1, m)),
        ]
    )
    if rng.random() < 0.6:
        layout = ComposedLayout(
            Swizzle[rng.choice([1, 2, 3]), rng.choice([2, 3, 4]), rng.choice([3, 3, 4])](), Int[0](), layout
        )
    return shape, layout


def test_random_layouts_that_are_not_canonical():
    """Each is refused with a true reason: the address at its coordinate, none before it differs, and no canonical
    layout is nearer.

    What is taken is one, by the description of canonical layouts alone. 2,000 are refused by night.
    """
    rng, refused, taken = random.Random(7), 0, 0
    while refused < (2000 if NIGHT else 30) or not taken:
        element = rng.choice([half, float, int8, as_element("float_e2m1_t")])
        shape, layout = random_layout(rng, element.bits)
        given = offsets(layout) * element.bits
        least, near = nearest(given, element.bits, shape)
        found = canonical(layout, element)
        if not isinstance(found, Reason):
            assert least == 0
            assert (found.atom, tuple(map(int, found.order))) in near
            taken += 1
            continue
        assert least > 0
        at, byte = (
            re.search(r": \((\d+), (\d+)\) lies at byte ([\d.e+]+)$", found.what).groups()[:2],
            found.what.rpartition(" ")[2],
        )
        tile_, order = re.fullmatch(
            r"write tile_to_shape\((\w+\.\w+)\[\w+\], \(.*?\), \(_(\d,_\d)\)\)", found.fix
        ).groups()
        wanted = near[tile_, tuple(int(n.strip("_")) for n in order.split(","))]
        i, j = map(int, at)
        before = (given != wanted).ravel(order="F")
        assert before[i + j * shape[0]]
        assert not before[: i + j * shape[0]].any()
        assert f"{given[i, j] / 8:g}" == byte
        assert f"byte {wanted[i, j] / 8:g}," in found.expected
        refused += 1


@pytest.mark.parametrize(
    ("layout", "error", "text"),
    [
        (parse("_64:_1"), RankError, "two modes"),
        (parse("(_4096,_4096):(_4096,_1)"), RangeError, "at most 2097152 elements"),
        (Layout((dim("M"), 64), (64, 1)), Unproven, "known extents"),
        (Layout((64, 64), (dim("M"), 1)), Unproven, "offsets"),
        (parse("(_8,_8):(_1@0,_1@1)"), TlaError, "coordinates"),
        ("(64,64):(64,1)", TlaError, "a layout of shared memory"),
        (None, TlaError, "a layout of shared memory"),
    ],
)
def test_what_cannot_be_canonical(layout, error, text):
    with pytest.raises(error, match=re.escape(text)):
        canonical(layout, half)


@pytest.mark.parametrize("text", ["(_60,_64):(_64,_1)", "(_0,_64):(_64,_1)", "(_1,_1):(_1,_1)"])
def test_extents_that_no_atom_divides(text):
    assert "multiples of (_8,_8)" in canonical(parse(text), half).expected


# ------------------------------------------------------------------------------------------------------------- refusals


def test_random_layouts_are_descriptors_or_are_refused_for_what_the_hardware_would_read():
    """A layout is refused only if no descriptor reads it: LBO and SBO are those of its own strides, and
    the hardware differs."""
    rng, taken, refused = random.Random(5), 0, 0
    for _i in range(amount(1000, 20_000)):
        major, bits = rng.choice(["K", "MN"]), rng.choice([8, 16, 32])
        element = {8: int8, 16: half, 32: tf32}[bits]
        unit, k = 128 // bits, 256 // bits
        step = lambda: rng.choice([8, 16, 24, 64, 128, 512, 1024])  # noqa: E731
        if major == "K":
            layout = parse(
                f"((_8,_8),(_{unit},_2)):((_{rng.choice([unit, 2 * unit, step()])},_{step()}),(_1,_{rng.choice([unit, step()])}))"
            )
        else:
            layout = parse(
                f"((_{unit},_{64 // unit}),(_8,_{k // 8 or 1})):((_1,_{step()}),(_{rng.choice([unit, step()])},_{step()}))"
            )
            if k < 8:
                continue
        try:
            d = wgmma_descriptor(layout, major, element)
        except TlaError as why:
            assert all((why.reason.what, why.reason.expected, why.reason.fix))
            refused += 1
            assert not readable(layout, major, bits, k), layout
            continue
        read = hardware(d.bits, bits, 64, k, "INTER", major)
        image = offsets(layout)
        assert np.array_equal(read, image * bits)
        taken += 1
    assert taken > 50
    assert refused > 250


def readable(layout, major, bits, k):
    """Whether some LBO and SBO, taken from the image itself, read every element without a swizzle."""
    image, unit = offsets(layout) * bits // 8, 128 // bits
    lbo = image[0, unit] if major == "K" else image[0, 8] if k > 8 else 0
    sbo = image[8, 0] if major == "K" else image[unit, 0]
    if (image[0, 0], lbo % 16, sbo % 16) != (0, 0, 0) or max(lbo, sbo) >= 1 << 18 or min(lbo, sbo) < 0:
        return False
    read = hardware(int(lbo) // 16 << 16 | int(sbo) // 16 << 32, bits, 64, k, "INTER", major)
    return np.array_equal(read, image * 8)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: wgmma_descriptor(parse("(_64,_16):(_24,_1)"), "K", half),
            DivisibilityError,
            "rows 0 and 1 of mode 0 are 48 bytes apart",
        ),
        (lambda: wgmma_descriptor(parse("(_64,_16):(_1,_64)"), "K", half), DivisibilityError, "is not K-major"),
        (
            lambda: wgmma_descriptor(parse("(_64,(_8,_2,_2)):(_8,(_1,_512,_2048))"), "K", half),
            DivisibilityError,
            "units 0 and 2 of mode 1 are 4096 bytes",
        ),
        (lambda: wgmma_descriptor(parse("(_64,_48):(_8,_1)"), "K", half), DivisibilityError, "K is _48"),
        (lambda: wgmma_descriptor(parse("(_60,_16):(_8,_1)"), "K", half), DivisibilityError, "MN is _60"),
        (lambda: wgmma_descriptor(parse("(_64,_16,_2):(_16,_1,_1024)"), "K", half), RankError, "a tile of two modes"),
        (lambda: wgmma_descriptor(parse("(64,16):(8,1)"), "K", half), Unproven, "static extents"),
        (lambda: wgmma_descriptor(GMMA.K_SW128[half], "K", half, base=64), RangeError, "a multiple of 1024 bytes"),
        (lambda: wgmma_descriptor(UMMA.MN_SW128_32B[float], "MN", float), DivisibilityError, "SW128_32B"),
        (lambda: wgmma_descriptor(GMMA.K_SW128[half], "M", half), TlaError, "the major mode"),
        (lambda: wgmma_descriptor(GMMA.K_SW128[half], "K"), TlaError, "an element type"),
        (lambda: read_descriptor(1 << 15, "K"), RangeError, "bits that no field has"),
        (lambda: read_descriptor(0, "K", TCGEN05), RangeError, "version = 0"),
        (lambda: GMMA.K_SW128[as_element("float_e3m2_t")], DivisibilityError, "elements of 6 bits"),
        (lambda: tile_to_mma_shape(GMMA.K_SW128[half], (64, 16)), RankError, "MMA_M"),
    ],
)
def test_refusals(make, error, text):
    with pytest.raises(error, match=re.escape(text)):
        make()


def test_an_unknown_atom_names_those_that_there_are():
    with pytest.raises(AttributeError, match="K_SW128"):
        GMMA.K_SW256  # noqa: B018
    assert WGMMA.name == "wgmma"


# ------------------------------------------------------------------------------------------------------- tensor memory


def tmem_arguments(case):
    """Element, SMs, storage and allocation of a fragment, by the template of its instruction."""
    args, a = re.search("<(.*)>", case["op"])[1].split(","), case["operand"] == "A"
    two, ts = "2x1SM" in case["op"], "_TS" in case["op"]
    element = as_element(args[0] if a else args[2])
    if a:
        return {
            "element": element,
            "sms": 1 + two,
            "storage": element.bits,
            "allocation": "Duplicated" if two else "NonInterleaved",
        }
    return {"element": element, "sms": 1 + two, "allocation": "NonInterleaved" if ts and not two else "Interleaved"}


@in_batches(of_kind("tmem_fragment"))
def test_fragments_in_tensor_memory(case):
    assert str(tmem_layout(parse(case["shape_partition"]), **tmem_arguments(case))) == case["result"]
    shape = parse(case["shape_partition"])
    make = getattr(make_tiled_mma(gpu.atom(case["op"]))[0], f"make_fragment_{case['operand']}")
    made = make(MakeTensor(None, make_layout(shape)))
    assert (str(made.layout), made.position) == (case["result"], "TMEM")


@in_batches(of_kind("tmem_copy"), 10)
def test_copies_of_tensor_memory(case):
    made = make_tmem_copy(getattr(gpu, case["copy"]), parse(case["tmem"]), case["type"])
    assert f"({','.join(map(str, made.tiler_mn))})" == case["tiler_mn"]
    assert [str(x) for x in (made.TV, made.S_TV, made.D_TV)] == [case["tv"], case["s_tv"], case["d_tv"]]


def test_addresses_of_tensor_memory():
    c = tmem_layout(((Int[64](), Int[64]()), Int[2](), Int[1]()), float)
    seen = {tmem_address(int(c((m, n), tile, 0)), float) for m in range(64) for n in range(64) for tile in range(2)}
    assert len(seen) == 64 * 64 * 2
    # two tiles of 64 rows share the columns: the second has the data paths 16 to 31 of each warp
    assert {a.lane % 32 < 16 for a in seen if a.column == 0} == {True, False}
    assert max(a.column for a in seen) == 63
    assert tmem_allocation(65) == 128
    with pytest.raises(RangeError, match="1024 columns"):
        tmem_layout(((Int[128](), Int[256]()), Int[1](), Int[4]()), float)
    with pytest.raises(DivisibilityError, match="64 or 128 rows"):
        tmem_layout(((Int[32](), Int[64]()),), float)
    with pytest.raises(RangeError, match="1 to 512"):
        tmem_allocation(513)
    with pytest.raises(TlaError, match="packed in pairs"):
        make_tmem_copy(gpu.SM100_TMEM_LOAD_32dp32b4x_16b, parse("(_128,_64):(_65536,_1)"), float)


@pytest.mark.parametrize("sms", [1, 2])
@pytest.mark.parametrize(
    ("cell", "warps"),
    [
        ("4x32dp128bit", [{0, 1, 2, 3}]),
        ("2x64dp128bitlw0213", [{0, 2}, {1, 3}]),
        ("2x64dp128bitlw0123", [{0, 1}, {2, 3}]),
    ],
)
def test_multicast_cells_of_tcgen05_cp(cell, warps, sms):
    """By the PTX manual's .warpx4, .warpx2::02_13 and ::01_23: each group of warps gets one row of the source in every
    warp of it."""
    for element in (uint8, half, float):
        columns, tmem = (
            128 // element.bits,
            Layout((Int[128](), Int[64]()), (Int[(1 << 21) // element.bits](), Int[1]())),
        )
        made = make_utccp_copy(getattr(gpu, f"SM100_UTCCP_{cell}_{sms}cta"), tmem, element)
        rows, count = made.tiler_mn[0], 128 * columns
        (reads, writes) = (
            [(int(rows(int(tv(sms - 1, v)) % 128)), int(tv(sms - 1, v)) // 128) for v in range(count)]
            for tv in (made.S_TV, made.D_TV)
        )
        assert sorted(writes) == [(path, column) for path in range(128) for column in range(columns)]
        for (row, read), (path, column) in zip(reads, writes):
            group = next(g for g in warps if path // 32 in g)
            assert (row, read) == (min(group) * 32 + path % 32, column)


# ------------------------------------------------------------------------------- instruction descriptors, scale factors


def test_instruction_descriptors_by_the_manuals_table():
    """Each field once more from the text of the PTX manual: formats, majors, N >> 3, M >> 4."""
    for name, types, wanted in [
        ("SM100_MMA_F16BF16_SS", ("half_t", "half_t", "float"), (0, 0, 1)),
        ("SM100_MMA_F16BF16_SS", ("bfloat16_t", "bfloat16_t", "float"), (1, 1, 1)),
        ("SM100_MMA_TF32_SS", ("tfloat32_t", "tfloat32_t", "float"), (2, 2, 1)),
        ("SM100_MMA_S8_SS", ("int8_t", "uint8_t", "int32_t"), (1, 0, 2)),
        ("SM100_MMA_F8F6F4_SS", ("float_e5m2_t", "float_e2m1_t", "half_t"), (1, 5, 0)),
    ]:
        for m, n, a, b in itertools.product((64, 128), (64, 256), (gpu.K, gpu.MN), (gpu.K, gpu.MN)):
            atom = getattr(gpu, name)[(*map(as_element, types), m, n, a, b)]
            bits = instruction_descriptor(atom).bits
            fields = [
                bits >> low & (1 << count) - 1
                for low, count in ((7, 3), (10, 3), (4, 2), (15, 1), (16, 1), (17, 6), (24, 5))
            ]
            assert fields == [*wanted, int(a is gpu.MN), int(b is gpu.MN), n // 8, m // 16]
    with pytest.raises(TlaError, match=r"an atom of tcgen05.mma"):
        instruction_descriptor(gpu.SM80_16x8x16_F32F16F16F32_TN)


def test_scales_lie_where_the_manual_says():
    for rows_, k, vector in ((128, 64, 16), (200, 200, 16), (300, 512, 32), (1, 1, 32)):
        layout, plain = scale_factor_layout(rows_, k, vector), plain_scales(rows_, k, vector)
        scales = (k + vector * 4 - 1) // (vector * 4) * 4
        for row, column in itertools.product(range(0, rows_, 7), range(0, k, 5)):
            s = column // vector
            atom = (row // 128 * (scales // 4) + s // 4) * 512  # tile_atom_to_shape_SFA: along K first
            assert layout(row, column) == atom + row % 32 * 16 + row % 128 // 32 * 4 + s % 4
            assert plain(row, column) == row * scales + s
    require_scale_strides(scale_factor_layout(256, 256, 32), 32)
    with pytest.raises(DivisibilityError, match="the 32 rows are _32:_4"):
        require_scale_strides(parse("((_32,_4),(_32,_4)):((_4,_128),(_0,_1))"), 32)
    with pytest.raises(DivisibilityError, match=r"the 32 elements are _128:_1"):
        require_scale_strides(parse("((_32,_4),_128):((_16,_4),_1)"), 32)
    for vector in (8, 16.0, None, "16", dim("V")):
        with pytest.raises(TlaError, match="one of 1, 16, 32, 64"):
            scale_factor_layout(128, 64, vector)
    for extents in ((-1, 64), (0, 64), (64, 0)):
        with pytest.raises(RangeError, match="extents of 1 or more"):
            scale_factor_layout(*extents, 16)


@pytest.mark.parametrize("arch", ["sm100", "cdna4"])
def test_scales_go_from_a_plain_matrix_to_blocks_and_back(arch):
    rows_, scales = 200, 13
    blocked, plain = scale_factor_layout(rows_, scales, 1, arch), plain_scales(rows_, scales, 1, arch)
    whole = {"sm100": (256, 16), "cdna4": (224, 16)}[arch]
    assert (cosize(blocked), cosize(plain)) == (whole[0] * whole[1],) * 2  # the bytes of the buffer
    given, packed, back = np.arange(cosize(plain)), np.zeros(cosize(blocked), int), np.full(cosize(plain), -1)
    copy(MakeTensor(given, plain), MakeTensor(packed, blocked))
    copy(MakeTensor(packed, blocked), MakeTensor(back, plain))
    assert (back.reshape(whole)[:rows_, :scales] == given.reshape(whole)[:rows_, :scales]).all()
    assert (back.reshape(whole)[rows_:] == -1).all()
    elements, row, k = scale_factor_layout(rows_, 400, 32, arch), *np.indices((rows_, 400))
    assert (packed[elements(row, k)] == row * whole[1] + k // 32).all()
    assert (plain_scales(rows_, 400, 32, arch)(row, k) == row * whole[1] + k // 32).all()


def test_scales_of_cdna4_are_the_shuffle_that_kernels_do():
    """view(m // 32, 2, 16, n // 8, 2, 4), permute(0, 3, 5, 2, 4, 1), in numpy."""
    m, n = 96, 24
    scales = np.arange(m * n).reshape(m, n)
    shuffled = scales.reshape(m // 32, 2, 16, n // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1).ravel()
    layout = scale_factor_layout(m, n * 32, 32, "cdna4")
    i, j = np.indices((m, n))
    assert (shuffled[layout(i, j * 32 + 31)] == scales).all()
    require_scale_strides(layout, 32, "cdna4")
    with pytest.raises(DivisibilityError, match=re.escape("the 2 groups of scales are _2:_256")) as why:
        require_scale_strides(parse("((_16,_2),(_32,(_4,_2))):((_4,_1),(_0,(_64,_256)))"), 32, "cdna4")
    assert why.value.reason.fix == "write scale_factor_layout(rows, k, 32, 'cdna4')"
    with pytest.raises(TlaError, match="one of 1, 32"):
        scale_factor_atom(16, "cdna4")
    with pytest.raises(TlaError, match=re.escape("for Ascend write tla.MakeMxScaleLayout")):
        scale_factor_layout(128, 128, 32, "zZ")


@pytest.mark.parametrize(("tag", "is_b", "plain_tag"), [("zZ", False, "RowMajor"), ("nN", True, "ColumnMajor")])
def test_scales_of_ascend(tag, is_b, plain_tag):
    """From a plain matrix of scales to zZ (of B nN) and back, the bytes, and a wrong stride named: what
    tla.ascend has for it."""
    shape = (3 * 2, 100) if is_b else (100, 3 * 2)
    blocked, plain = (MakeMxScaleLayout[ascend.fp8_e8m0, getattr(ascend, t), is_b](*shape) for t in (tag, plain_tag))
    assert (cosize(blocked), cosize(plain)) == (112 * 6, 600)
    given, packed, back = np.arange(600), np.zeros(112 * 6, int), np.zeros(600, int)
    moved = [MakeTensor(x, layout) for x, layout in ((given, plain), (packed, blocked), (back, plain))]
    for source, target in itertools.pairwise(moved):
        for at in np.ndindex(*shape):
            target[at] = source[at]
    assert (back == given).all()
    for m, s in itertools.product(range(100), range(6)):
        assert packed[(m // 16 * 3 + s // 2) * 32 + m % 16 * 2 + s % 2] == m * 6 + s
    wrong = Layout(blocked.shape, tuple(tuple(d * 2 for d in m) for m in blocked.stride))
    why = getattr(ascend, f"isMxScaleFor{tag}")[ascend.fp8_e8m0].why_not(wrong)
    assert "_2" in why.expected + why.what


# ------------------------------------------------------------------------------------------------------------ contracts


def test_what_a_layout_satisfies():
    found = {c.instruction: c for c in contracts(parse("(_128,_64):(_72,_1)"), half)}
    of_rows = ["ldmatrix", "stmatrix", "cp.async 16", "ds_read_b128"]
    in_any_place = ["MFMA A", "WMMA A"]
    assert [name for name, c in found.items() if c.holds] == [
        *of_rows,
        *in_any_place,
        "block_2d read",
        "block_2d write",
        "buffer_load",
    ]
    assert "boxes 144 bytes apart" in str(found["TMA"])
    assert "rows 0 and 1 of mode 0 are 144 bytes apart" in str(found["wgmma K"])
    assert not found["wgmma MN"].holds
    assert {
        c.instruction for c in contracts(tile_to_shape(GMMA.MN_SW64[half], (Int[128](), Int[64]())), half) if c.holds
    } >= {
        "wgmma MN",
        "TMA",
    }
    assert [c.instruction for c in contracts(parse("(_128,_64):(_65,_1)"), half) if c.holds] == [
        *in_any_place,
        "buffer_load",
    ]
    for text, says in (
        ("(_128,_64):(_65,_1)", "the stride _65"),
        ("(_128,_60):(_64,_1)", "past its end"),
        ("(_8,_64):(_64,_2)", "contiguous"),
    ):
        (why,) = (c.reason for c in contracts(parse(text), half) if c.instruction == "ldmatrix")
        assert says in why.what


#: What matrix instructions multiply from shared memory, by the PTX manual (wgmma: imm-trans is of 16-bit types) and
#: CUTLASS's blackwell_functionality.md (kind::mxf4 has TN alone) and sm100_smem_selector ("for mn-major tf32 operands,
#: SW128_32B is the only").
_ALL, _MN32 = frozenset({"INTER", "SW32", "SW64", "SW128"}), frozenset({"SW128_32B"})
MULTIPLIED = {
    ("wgmma", "K"): dict.fromkeys(("half", "bf16", "tf32", "float", "int8", "uint8", "fp8_e4m3", "fp8_e5m2"), _ALL),
    ("wgmma", "MN"): dict.fromkeys(("half", "bf16"), _ALL),
    ("tcgen05.mma", "K"): dict.fromkeys(
        ("half", "bf16", "tf32", "float", "int8", "uint8", "fp8_e4m3", "fp8_e5m2", "fp4_e2m1"), _ALL
    ),
    ("tcgen05.mma", "MN"): {
        **dict.fromkeys(("half", "bf16", "int8", "uint8", "fp8_e4m3", "fp8_e5m2"), _ALL),
        **dict.fromkeys(("tf32", "float"), _MN32),
    },
}


@pytest.mark.once
@pytest.mark.parametrize(("name", "major"), MULTIPLIED)
def test_only_what_an_instruction_multiplies_is_said_to_be_taken(name, major):
    """Each element type in each canonical layout of a major: yes where there is such an instruction, else why not, and
    that fix works."""
    atoms = [a for a in UMMA.atoms.values() if a.major.name == major]
    found: dict[str, set[str]] = {}
    types = [x for x in vars(elements).values() if isinstance(x, elements.Element) and 128 % x.bits == 0 and x.bits > 2]
    assert len(types) > 25
    if not NIGHT:  # what is multiplied, and some of the others
        types = [x for k, x in enumerate(types) if x.name in MULTIPLIED[name, "K"] or k % 12 == 0]
    for x, atom in itertools.product(types, atoms):
        sides = 2 * (Int[max(128, 1024 // x.bits)](),)  # whole rows of 128 bytes
        stage = tile_to_shape(atom[x], sides)
        (contract,) = (c for c in contracts(stage, x) if c.instruction == f"{name} {major}")
        if contract.holds:
            found.setdefault(x.name, set()).add(atom.mode.name)
        elif x.name in MULTIPLIED[name, "K"] and major == "MN" and atom.mode.name in _ALL:
            other = (
                UMMA.MN_SW128_32B if "32B" in contract.reason.fix else UMMA.K_SW128
            )  # the two fixes, as they are written
            assert (contract.reason.fix == "make K contiguous") == (other is UMMA.K_SW128)
            answers = {c.instruction: c.holds for c in contracts(tile_to_shape(other[x], sides), x)}
            assert answers[f"{name} {other.major}"]
        elif x.name not in MULTIPLIED[name, "K"]:
            assert f"{name} of {x}" in contract.reason.what
            assert {*contract.reason.expected.removeprefix("one of ").split(", ")} == {*MULTIPLIED[name, "K"]}
    # of 16 and 8 bits CUTLASS has descriptors of SW128_32B too, and makes no such buffers
    for x, modes in found.items():
        assert (modes if x in ("tf32", "float") else modes - _MN32) == MULTIPLIED[name, major][x]
    assert found.keys() == MULTIPLIED[name, major].keys()


def test_what_is_given_to_an_instruction():
    """Of a layout that holds: the descriptor, the loads, the block, the resource, as their own functions make them."""
    plain, swizzled = parse("(_128,_64):(_64,_1)"), tile_to_shape(GMMA.K_SW128[half], (Int[128](), Int[64]()))
    found = {c.instruction: c.given for c in contracts(plain, half)} | {
        c.instruction: c.given for c in contracts(swizzled, half) if c.instruction.startswith("tcgen05.cp")
    }
    tile = local_tile(MakeTensor(None, swizzled), (Int[128](), Int[16]()), (0, 0))
    assert found["tcgen05.cp 128x256b"] == umma_descriptor(tile, "K", half)
    first = local_tile(MakeTensor(None, plain), (Int[32](), Int[8]()), (0, 0)).layout
    assert found["MFMA A"] == gpu.operand_reads(gpu.atom("v_mfma_f32_32x32x8_f16", "cdna3"), "A", first)
    assert found["WMMA A"].instruction.startswith("ds_load")
    assert found["block_2d read"].name == "intel_sub_group_2d_block_read_16b_8r16x1c"
    assert found["buffer_load"] == gpu.buffer_resource(plain, half)


@pytest.mark.parametrize(
    ("layout", "element", "instruction", "says"),
    [
        ("(_64,_64):(_64,_1)", half, "tcgen05.cp 128x256b", "of _64 rows"),
        ("(_128,_64):(_1,_128)", float, "ldmatrix.trans", "float, transposed"),
        ("(_128,_64):(_1,_128)", float, "stmatrix.trans", "float, transposed"),
        ("(_128,_64):(_64,_1)", as_element("float_e2m1_t"), "MFMA A", "a matrix instruction of cdna3 for fp4_e2m1"),
        ("(_8,_8):(_8,_1)", half, "WMMA A", "operand A of v_wmma_f32_16x16x16_f16"),
        ("(_128,_64):(_1,_128)", half, "block_2d read", "columns are _128 apart"),
        ("(_128,_64):(_1,_128)", half, "buffer_load", "(0, 1) lies at byte 256"),
    ],
)
def test_the_first_reason(layout, element, instruction, says):
    (found,) = (c for c in contracts(parse(layout), element) if c.instruction == instruction)
    assert not found.holds
    assert says in found.reason.what
    assert found.reason.fix


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: tmem_address(-1, float), "data path -1"),
        (lambda: tmem_address(512, float), "column 512"),
        (lambda: tmem_address(128 << 16, float), "data path 128"),
        (lambda: tmem_layout(((Int[128](), Int[128]()),), float, storage=48), "in 48 bits"),
        (lambda: make_tmem_copy(None, None), "make_tmem_copy of None"),
        (
            lambda: wgmma_descriptor(MakeTensor(np.zeros(1024, np.float32), GMMA.K_INTER[half]), "K", half),
            "over a buffer of float32",
        ),
        (
            lambda: gpu.make_tma_copy(
                "SM90_TMA_LOAD", MakeTensor(np.zeros((8, 64), "f4")), GMMA.K_SW128[half], element=half
            ),
            "over a buffer",
        ),
        (
            lambda: gpu.make_tiled_mma(gpu.SM80_16x8x16_F32F16F16F32_TN)[0].partition_A(None),
            "a partition of a NoneType",
        ),
        (lambda: require_scale_strides(parse("_4:_1"), 32), "scales at _4:_1"),
    ],
)
def test_what_no_hardware_reads_is_refused(call, says):
    with pytest.raises(TlaError, match=re.escape(says)):
        call()


def test_the_last_address_of_tensor_memory():
    assert tmem_address((127 << 16) + 511, float) == (127, 511, 0)

"""Usual layouts of tiles of 48, 80, 96 and 192 columns, whose threads count an odd digit: rows, columns, blocks and an
MMA's accumulator, for warps of NVIDIA and AMD. Every pair beside the padded tile's, whose threads are more."""

import functools
import itertools

import numpy as np
import pytest

from tla import parse
from tla.access import access, convert
from tla.access.machines import MACHINES as MACHINE_ROWS
from tla.linear import radix

import hip
import nvrtc
import oracle
import ptx
from conversions import TYPES
from night import NIGHT, amount

ROWS = 32
MACHINES = {"sm_90": 32, "gfx942": 64}
NAMES = ("row", "column", "blocked", "mma")


def up(n):
    return 1 << (n - 1).bit_length()


def odd_factor(columns):
    return columns // (columns & -columns)


def text_of(thread, value):
    """Digits of the thread's and of the value's number, (extent, step in the tile, rows fastest), as shape and
    stride."""
    shape, stride = ([tuple(digit[k] for digit in of) for of in (thread, value)] for k in (0, 1))
    return f"({shape[0]},{shape[1]}):({stride[0]},{stride[1]})".replace(" ", "")


def blocks(rows, columns, across, down, wide, deep, along_rows):
    """across x down threads of wide x deep values each, repeated as a whole; threads go along rows first, or down."""
    thread = [(across, rows * wide), (down, deep)]
    value = [
        (wide, rows),
        (deep, 1),
        (columns // across // wide, rows * across * wide),
        (rows // down // deep, down * deep),
    ]
    return text_of(thread if along_rows else thread[::-1], value)


def accumulator(rows, columns, lanes, warps):
    """Of m16n8 on NVIDIA, two neighbours and two 8 rows further; of 16x16 on AMD, four rows: warps along the columns."""
    if lanes == 32:
        thread, value, wide = [(4, 2 * rows), (8, 1), (warps, 8 * rows)], [(2, rows), (2, 8)], 8
    else:
        thread, value, wide = [(16, rows), (4, 4), (warps, 16 * rows)], [(4, 1)], 16
    return text_of(thread, [*value, (columns // wide // warps, wide * warps * rows), (rows // 16, 16)])


def first_that_divides(rows, columns, threads, odd, along, sizes):
    """How many threads go across and down for the first of these sizes of a thread's values."""
    for wide, deep in sizes:
        for across in (
            (columns // wide,)
            if along == "row"
            else (threads // (rows // deep),)
            if along == "column"
            else (4 * odd, 8 * odd)
        ):
            down = threads // across
            if across % odd == threads % across == columns % (across * wide) == rows % (down * deep) == 0:
                return across, down, wide, deep
    return None


def usual(columns, lanes, rows=ROWS):
    """name -> the layout, and that of the padded tile, as texts; by as many warps as the odd factor."""
    odd = odd_factor(columns)
    threads, padded = lanes * odd, columns // odd * up(odd)
    vectors = {"row": [(8, 1), (4, 1)], "column": [(1, 8), (1, 4)], "blocked": [(2, 2), (4, 4)]}
    found = {}
    for name, sizes in vectors.items():
        if cut := first_that_divides(rows, columns, threads, odd, name, sizes):
            across, *rest = cut
            along_rows = name != "column"
            found[name] = tuple(
                blocks(rows, n, a, *rest, along_rows) for n, a in ((columns, across), (padded, across // odd * up(odd)))
            )
    if columns % (odd * (8 if lanes == 32 else 16)) == 0:
        found["mma"] = tuple(accumulator(rows, n, lanes, warps) for n, warps in ((columns, odd), (padded, up(odd))))
    return found


PAIRS = [
    (columns, machine, *pair)
    for columns, machine in itertools.product((48, 80, 96, 192), MACHINES)
    for pair in itertools.permutations(usual(columns, MACHINES[machine]), 2)
]
BY_DAY = [(48, "sm_90", "column", "mma"), (96, "gfx942", "mma", "column"), (48, "gfx942", "row", "mma")]


@functools.cache
def image(text):
    """The index of the element of each thread and value, by the definition of shape and stride."""
    shape, stride = (eval(part) for part in text.split(":"))
    axes = [np.array(oracle.offsets(n, d)) for n, d in zip(shape, stride)]
    return axes[0][:, None] + axes[1]


def wavefronts(plan, given, texts, machine):
    """The wavefronts of vectors of threads' own, counted by access() for the places that the plan says."""
    places = np.empty(given.size, int)
    places[given] = plan.rows.store.offsets()
    row = MACHINE_ROWS[machine]
    sides = zip((plan.rows.store, plan.rows.load), texts, (row.write, row.read))
    sizes = [len(next(side.accesses("src"))[1].registers) * plan.element_bits for side, *_ in sides]
    return sum(
        access(parse(text), places, plan.element_bits, size, memory).total
        for size, text, memory in zip(sizes, texts, (row.write, row.read))
    )


def plans(columns, machine, first, second, width, rows=ROWS):
    """The plan, the padded tile's, and what threads hold before and after."""
    layouts = usual(columns, MACHINES[machine], rows)
    texts, wide = zip(layouts[first], layouts[second])
    sides = (radix(parse(text), ["thread", "value"], {"row": rows, "column": columns}) for text in texts)
    return convert(*sides, width, machine), convert(*map(parse, wide), width, machine), *map(image, texts)


def test_the_pairs_are_all():
    assert len(PAIRS) == 4 * len(MACHINES) * 12
    for columns, lanes in itertools.product((48, 80, 96, 192), MACHINES.values()):
        for texts in usual(columns, lanes).values():
            assert sorted(image(texts[0]).ravel()) == [*range(ROWS * columns)]
            assert image(texts[0]).shape[0] == lanes * odd_factor(columns)


@pytest.mark.parametrize(("columns", "machine", "first", "second"), PAIRS if NIGHT else BY_DAY)
def test_no_pair_is_dearer_than_the_padded_tile(columns, machine, first, second):
    for width in (8, 16, 32) if NIGHT and columns < 192 else (16,):
        plan, other, given, wanted = plans(columns, machine, first, second, width)
        assert (plan.run(given) == wanted).all()
        assert plan.cycles <= other.cycles, (plan, other)
        assert plan.bytes <= other.bytes or not other.bytes
        if (
            plan.rows
            and not plan.exchanged
            and not any(getattr(side, "form", None) for side in (plan.rows.store, plan.rows.load))
        ):
            texts = [usual(columns, MACHINES[machine])[name][0] for name in (first, second)]
            assert plan.wavefronts == wavefronts(plan, given, texts, machine)


#: Of 16 rows: what takes more cycles than the padded tile, and how many. Rows of 12 or 20 threads and blocks of 16 bits
#: on gfx942, where rows are in two warps here and in one there, whose cycles are the fewest; and bytes of 12 threads on
#: sm_90, of which no rotation of lines takes 32 or fewer (both in test_access_least.py).
DEARER = {(48, "gfx942", 16): 20, (80, "gfx942", 16): 36, (96, "sm_90", 8): 36}
OF_16_ROWS = [
    (columns, machine, *pair)
    for columns, machine in itertools.product((48, 80, 96, 192), MACHINES)
    for pair in itertools.permutations(usual(columns, MACHINES[machine], 16), 2)
]
EXCHANGED = [(48, "sm_90", "row", "mma"), (48, "gfx942", "blocked", "row")]


@pytest.mark.parametrize(("columns", "machine", "first", "second"), OF_16_ROWS if NIGHT else EXCHANGED)
def test_of_16_rows_few_pairs_are_dearer(columns, machine, first, second):
    """Where threads have few values: lanes exchange some beside memory, or shuffle what stays in their warp."""
    for width in amount((8,), (8, 16, 32)):
        plan, other, given, wanted = plans(columns, machine, first, second, width, 16)
        assert (plan.run(given) == wanted).all()
        known = DEARER.get((columns, machine, width)) if {first, second} == {"row", "blocked"} else None
        assert plan.cycles == known if known else plan.cycles <= other.cycles, (plan, other)


@pytest.mark.parametrize(
    ("columns", "first", "second", "exchanged", "counts"),
    [(48, "row", "mma", "dst", (15, 12, 1)), (192, "blocked", "row", "src", (60, 48, 4))][: amount(1, 2)],
)
def test_lanes_exchange_before_they_store_or_after_they_load(columns, first, second, exchanged, counts, tmp_path):
    """Twice the widths, so fewer cycles than memory alone takes, as the machine code has it."""
    plan, _, given, wanted = plans(columns, "sm_90", first, second, 8, 16)
    assert plan.exchanged == exchanged
    assert (plan.cycles, plan.wavefronts, plan.shuffles) == counts
    require_counted(plan, given, wanted, tmp_path, "SHFL")


def test_amd_exchanges_by_moves_from_lane_to_lane(tmp_path):
    """They are on another pipe than memory: wavefronts are as few as there can be."""
    plan, _, given, wanted = plans(48, "gfx942", "row", "blocked", 8, 16)
    assert (plan.exchanged, plan.wavefronts, plan.shuffles) == ("dst", 2 * 768 // 128, 1)
    found = hip.opcodes(kernel(plan, plan.hip("f"), given.shape[1], wanted.shape[1], len(given)), "gfx942", tmp_path)
    assert sum(n for op, n in found.items() if op.startswith(("ds_read", "ds_write"))) == 2
    assert not any(op.startswith("ds_bpermute") for op in found)


@pytest.mark.parametrize(("columns", "width"), [(48, 32), (80, 32), (48, 16)][: amount(1, 3)])
@pytest.mark.parametrize(("first", "second"), [("row", "blocked"), ("blocked", "row")])
def test_amd_shuffles_what_stays_in_its_warp(columns, width, first, second, tmp_path):
    """Through memory goes what leaves it, of which few lanes have any; machine code of the plan's instructions."""
    plan, _, given, wanted = plans(columns, "gfx942", first, second, width, 16)
    words = given.shape[1] * width // 32
    assert (plan.kind, plan.shuffles) == ("shared memory", words)
    assert plan.cycles == plan.wavefronts + 2 * words * len(given) // 64
    found = hip.opcodes(kernel(plan, plan.hip("f"), given.shape[1], wanted.shape[1], len(given)), "gfx942", tmp_path)
    assert sum(n for op, n in found.items() if op.startswith("ds_bpermute")) == words
    assert sum(n for op, n in found.items() if op.startswith("ds_")) <= plan.instructions  # two of one may be joined
    with pytest.raises(ValueError, match="32 at most"):
        plan.cuda()
    narrow, _, given, wanted = plans(48, "sm_90", first, second, width, 8)
    sides = narrow.src, narrow.dst
    narrow = convert(*sides, width, "gfx1100")  # waves of 32
    text = kernel(narrow, narrow.hip("f"), given.shape[1], wanted.shape[1], len(given))
    found = hip.opcodes(text, "gfx1100", tmp_path)
    assert sum(n for op, n in found.items() if op.startswith("ds_bpermute")) == narrow.shuffles == words


def test_the_machine_code_of_what_stays_in_its_warp(tmp_path):
    """Of 8 rows on NVIDIA: words that stay, and the rest in the wavefronts of few lanes, by the definition."""
    plan, _, given, wanted = plans(48, "sm_90", "row", "blocked", 32, 8)
    assert (plan.cycles, plan.wavefronts, plan.shuffles) == (20, 8, 4)
    require_counted(plan, given, wanted, tmp_path, "SHFL")


def kernel(plan, function, given, wanted, count):
    kind = TYPES[plan.element_bits]
    return f"""{function}
extern "C" __global__ void kernel_main(const {kind}* a, {kind}* b) {{
  __shared__ __align__(16) {kind} smem[{plan.bytes * 8 // plan.element_bits}];
  {kind} src[{given}], dst[{wanted}];
  #pragma unroll
  for (int r = 0; r < {given}; ++r) src[r] = a[r * {count} + threadIdx.x];
  f(src, dst, smem);
  #pragma unroll
  for (int r = 0; r < {wanted}; ++r) b[r * {count} + threadIdx.x] = dst[r];
}}
"""


#: Of 16 rows: matrices that load and store, of 16 and 8 bits, and rows of neighbouring lanes' elements.
MATRICES = [
    (48, "row", "column", 16, "LDSM"),
    (48, "column", "row", 16, "STSM"),
    (48, "mma", "column", 16, "STSM"),
    (96, "column", "mma", 8, "LDSM"),
    (192, "column", "row", 8, "STSM"),
]


@pytest.mark.parametrize(("columns", "first", "second", "width", "op"), MATRICES if NIGHT else MATRICES[1:2])
def test_the_machine_code_of_matrices(columns, first, second, width, op, tmp_path):
    """It moves what the definition says, in the wavefronts and instructions that the plan states."""
    plan, other, given, wanted = plans(columns, "sm_90", first, second, width, rows=16)
    assert plan.cycles < other.cycles
    with pytest.raises(ValueError, match="a plan of vectors"):
        plan.hip()
    require_counted(plan, given, wanted, tmp_path, op)


def require_counted(plan, given, wanted, tmp_path, op):
    """The machine code moves what the definition says, in the plan's wavefronts and instructions, this one among them."""
    given, wanted = (np.ascontiguousarray(x.T).astype(f"u{plan.element_bits // 8}") for x in (given, wanted))
    text, cubin = nvrtc.compiled(kernel(plan, plan.cuda("f"), len(given), len(wanted), given.shape[1]))
    block = ptx.Block(given.shape[1], given, wanted.nbytes)
    assert block.run(text).tobytes() == wanted.tobytes()
    assert block.wavefronts == plan.wavefronts
    found = nvrtc.opcodes(cubin, tmp_path)
    moves = sum(n for name, n in found.items() if name.split(".")[0] in ("LDS", "STS", "LDSM", "STSM", "SHFL"))
    assert moves == plan.instructions
    assert any(name.startswith(op) for name in found)
    assert not any(name.startswith(("LDL", "STL")) for name in found)


@pytest.mark.parametrize(
    ("machine", "first", "second", "cycles"),
    [("sm_70", "row", "column", 30), ("sm_80", "row", "column", 24), ("sm_80", "column", "row", 30)][
        : 3 if NIGHT else 1
    ],
)
def test_matrices_are_for_machines_that_have_them(machine, first, second, cycles):
    """ldmatrix from sm_75 on, stmatrix from sm_90."""
    sides = (
        radix(parse(usual(48, 32, 16)[x][0]), ["thread", "value"], {"row": 16, "column": 48}) for x in (first, second)
    )
    assert convert(*sides, 16, machine).cycles == cycles


def held(layout):
    """The element of each thread and value, one at a time."""
    threads, values = layout.in_sizes["thread"], layout.in_sizes["value"]
    return np.array([[layout.apply({"thread": t, "value": v})["o"] for v in range(values)] for t in range(threads)])


@pytest.mark.parametrize("machine", ["sm_90", "gfx942"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("thread=48:1, value=8:48 -> o=384", "thread=(8,6):(1,64), value=8:8 -> o=384"),
        ("thread=96:1, value=(2,2):(0,96) -> o=192", "thread=(32,3):(1,64), value=(2,2):(32,0) -> o=192"),
    ],
)
def test_threads_that_are_no_whole_warps(first, second, machine):
    """48 threads of NVIDIA, 96 of AMD: the last warp has fewer lanes."""
    sides = radix(first), radix(second)
    plan = convert(*sides, 16, machine)
    given, wanted = map(held, sides)
    assert plan.kind == "shared memory"
    assert (plan.run(given) == wanted).all()
    with pytest.raises(ValueError, match="a width that memory has"):
        convert(*sides, 12, machine)

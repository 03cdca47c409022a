"""Conversions of tiles of 48, 80, 96, 192 columns: by the definition, beside the padded tile, and as machine code."""

import math
import random

import numpy as np
import pytest

from tla import RangeError, TlaError, parse
from tla.access import convert
from tla.linear import LinearLayout, RadixLayout, radix

import hip
import nvrtc
import oracle
import ptx
from conversions import TYPES
from night import NIGHT, amount

SHAPES = [(16, 48), (8, 80), (32, 96), (16, 192), (48, 80), (64, 48), (8, 96)]


def factors(n):
    """2s, and the odd factor behind a random one of them: the digits of a dimension."""
    count = (n & -n).bit_length() - 1
    return [2] * count, n >> count


def drawn(rng, shape):
    """A layout by its digits: for each input (extent, dimension, place), every digit of the tile once."""
    digits = []
    for d, n in enumerate(shape):
        twos, odd = factors(n)
        at = len(twos) if rng.random() < 0.7 else rng.randrange(len(twos) + 1)
        extents = twos[:at] + ([odd] if odd > 1 else []) + twos[at:]
        digits += [(m, d, math.prod(extents[:k])) for k, m in enumerate(extents)]
    return digits


def dealt(rng, digits, lanes, warps):
    """Digits of 2 dealt to lanes, warps and registers; the odd ones to registers."""
    twos, odd = [x for x in digits if x[0] == 2], [x for x in digits if x[0] != 2]
    rng.shuffle(twos)
    lane, warp, rest = twos[:lanes], twos[lanes : lanes + warps], twos[lanes + warps :] + odd
    rng.shuffle(rest)
    return {"register": rest, "lane": lane, "warp": warp}


def layout_of_digits(dealt, shape):
    ins = {
        name: [(n, tuple(place if k == d else 0 for k in range(len(shape)))) for n, d, place in of]
        for name, of in dealt.items()
    }
    return RadixLayout(ins, {f"dim{k}": n for k, n in enumerate(shape)})


def padded(dealt, shape):
    """The same owners of the tile whose odd digits are padded to powers of two."""

    def up(n):
        return 1 << (n - 1).bit_length()

    odd = {d: (n, place) for of in dealt.values() for n, d, place in of if n != 2}

    def moved(d, place):
        return place // odd[d][0] * up(odd[d][0]) if d in odd and place > odd[d][1] else place

    bases = {
        name: [
            tuple(moved(d, place) << b if k == d else 0 for k in range(len(shape)))
            for n, d, place in of
            for b in range(up(n).bit_length() - 1)
        ]
        for name, of in dealt.items()
    }
    return LinearLayout(bases, {f"dim{k}": up(n // (n & -n)) * (n & -n) for k, n in enumerate(shape)})


def elements(dealt, shape):
    """The definition: the index of the element of each warp, lane and register, first dimension fastest."""
    axes = []
    for name in ("warp", "lane", "register"):
        at = [0]
        for n, d, place in dealt[name]:
            at = [math.prod(shape[:d]) * place * c + x for c in range(n) for x in at]
        axes.append(np.array(at))
    return axes[0][:, None, None] + axes[1][:, None] + axes[2]


def pairs(rng, count):
    for _ in range(count):
        shape = rng.choice(SHAPES)
        digits = drawn(rng, shape)
        warps = rng.choice([0, 1])
        two = [dealt(rng, digits, min(5, sum(n == 2 for n, *_ in digits) - warps), warps) for _ in range(2)]
        yield shape, two, rng.choice([8, 16, 32, 64])


@pytest.mark.once
def test_slices_are_right_and_never_dearer_than_the_padded_tile():
    less = total = 0
    for shape, two, width in pairs(random.Random(3), amount(12, 1000)):
        plan = convert(*(layout_of_digits(x, shape) for x in two), width)
        given, wanted = (elements(x, shape) for x in two)
        assert (plan.run(given) == wanted).all(), plan
        other = convert(*(padded(x, shape) for x in two), width)
        assert plan.cycles <= other.cycles, (plan, other)
        assert plan.bytes <= other.bytes or not other.bytes
        total += plan.kind != "registers"
        less += plan.cycles < other.cycles
    assert less > amount(0.5, 0.8) * total > 0


def test_registers_that_count_along_an_odd_digit_in_steps():
    """Registers that come to the odd digit's values in another order, 0, 2, 1 of 3: the padded tile is a way for them
    too, so that they are as cheap as in order."""
    rng = random.Random(9)
    for _ in range(amount(1, 60)):
        columns, odd = rng.choice([(48, 3), (80, 5), (96, 3), (192, 3)])
        blocks = columns // odd
        digits = [(2, 0, 1 << k) for k in range(3)] + [(2, 1, 1 << k) for k in range(blocks.bit_length() - 1)]
        digits.append((odd, 1, blocks))
        two = [dealt(rng, digits, 5, 0) for _ in range(2)]
        layouts, images = [], []
        for x in two:
            steps = {place: rng.randrange(1, odd) if n != 2 else 1 for n, _, place in x["register"]}
            bases = {
                name: [
                    (n, (place, 0) if d == 0 else (0, place * (steps[place] if n == odd else 1) % columns))
                    for n, d, place in of
                ]
                for name, of in x.items()
            }
            layouts.append(RadixLayout(bases, {"dim0": 8, "dim1": columns}))
            images.append(whole(layouts[-1]))
        plan, other = convert(*layouts, 16), convert(*(padded(x, (8, columns)) for x in two), 16)
        assert (plan.run(images[0]) == images[1]).all(), plan
        assert plan.cycles <= other.cycles, (layouts, plan, other)


def blocked(rng, columns, rows):
    """A blocked layout as Triton has it, over rows and columns: what is more than the tile begins again."""
    held, lanes = rng.choice([1, 2, 4]), rng.choice([2, 4, 8])
    block, down = held * lanes, 32 // lanes
    more = 1 << (-(-columns // block) - 1).bit_length()
    exact = columns % block == 0
    across = -(-columns // block) if exact else more
    deep = max(1, rows // down)
    bases = {
        "register": [(held, (0, 1)), (across, (0, block % columns)), (deep, (down % rows, 0))],
        "lane": [(lanes, (0, held)), (down, (1, 0))],
        "warp": [],
    }
    wide = {
        "register": [(0, 1 << k) for k in range(held.bit_length() - 1)]
        + [(0, block << k) for k in range(more.bit_length() - 1)]
        + [(down << k, 0) for k in range(deep.bit_length() - 1)],
        "lane": [(0, held << k) for k in range(lanes.bit_length() - 1)]
        + [(1 << k, 0) for k in range(down.bit_length() - 1)],
        "warp": [],
    }
    size = 1 << (columns - 1).bit_length()
    return RadixLayout(bases, {"dim0": rows, "dim1": columns}), LinearLayout(wide, {"dim0": rows, "dim1": size})


def whole(layout):
    """The index of the element of each warp, lane and register, by the values of single digits."""
    out = np.zeros([layout.in_sizes[d] for d in ("warp", "lane", "register")], int)
    (rows, columns) = layout.out_sizes.values()
    for at in np.ndindex(*out.shape):
        r, c = 0, 0
        for name, x in zip(("warp", "lane", "register"), at):
            for n, v in layout.bases[name]:
                r, c, x = r + x % n * v[0], c + x % n * v[1], x // n
        out[at] = r % rows + rows * (c % columns)
    return out


@pytest.mark.once
def test_blocks_beyond_the_tile():
    """Triton's blocks over 48, 80, 96 and 192 columns, which wrap where they are more than the tile: right, and as
    cheap as padded."""
    rng, kinds = random.Random(5), set()
    for _ in range(amount(4, 200)):
        columns = rng.choice([48, 80, 96, 192])
        (a, wide_a), (b, wide_b) = blocked(rng, columns, 16), blocked(rng, columns, 16)
        plan, other = convert(a, b, 16), convert(wide_a, wide_b, 16)
        kinds.add(plan.why.split(";")[0])
        assert (plan.run(whole(a)) == whole(b)).all()
        assert plan.cycles <= other.cycles, (a, b, plan, other)
        assert plan.bytes <= max(other.bytes, 0) or plan.kind != other.kind
    assert len(kinds) > 1


#: Thread and value of rows by columns, threads whose odd digits are in no warp; the same of the tile padded to powers
#: of two, by more threads.
THREADS = [
    ((8, 96), "((12,8),8):((64,1),8)", "((8,12),8):((1,8),96)", "((16,8),8):((64,1),8)", "((8,16),8):((1,8),128)"),
    (
        (16, 96),
        "((12,16),8):((128,1),16)",
        "((16,12),8):((1,128),16)",
        "((16,16),8):((128,1),16)",
        "((16,16),8):((1,128),16)",
    ),
    (
        (16, 48),
        "((6,16),8):((128,1),16)",
        "((16,6),8):((1,128),16)",
        "((8,16),8):((128,1),16)",
        "((16,8),8):((1,128),16)",
    ),
    (
        (32, 80),
        "((20,8),(4,4)):((128,1),(32,8))",
        "((32,5),16):((1,32),160)",
        "((32,8),(4,4)):((128,1),(32,8))",
        "((32,8),16):((1,32),256)",
    ),
    (
        (24, 192),
        "((48,4),(4,6)):((96,1),(24,4))",
        "((24,8),24):((1,24),192)",
        "((64,4),(4,8)):((128,1),(32,4))",
        "((32,8),32):((1,32),256)",
    ),
]


def image(text):
    """The index of the element of each thread and value, by the definition of shape and stride."""
    shape, stride = (eval(part) for part in text.split(":"))
    axes = [np.array(oracle.offsets(n, d)) for n, d in zip(shape, stride)]
    return axes[0][:, None] + axes[1]


def threads_of(case):
    shape, first, second, *_ = case
    return [radix(parse(text), ["thread", "value"], {"row": shape[0], "column": shape[1]}) for text in (first, second)]


@pytest.mark.parametrize("width", amount([16], [8, 16, 32]))
@pytest.mark.parametrize("case", THREADS, ids=lambda case: f"{case[0][0]}x{case[0][1]}")
def test_threads_that_are_no_warps(case, width):
    """Copies of 96 and 192 threads, where odd digits are the threads': right, and never dearer than the padded tile."""
    given, wanted = map(image, case[1:3])
    assert sorted(given.ravel()) == sorted(wanted.ravel()) == [*range(math.prod(case[0]))]
    plan, other = convert(*threads_of(case), width), convert(*map(parse, case[3:]), width, through="memory")
    assert (plan.run(given) == wanted).all()
    assert plan.wavefronts <= other.wavefronts
    assert plan.bytes <= other.bytes


def with_warps_apart(rng):
    """The shape, and two ways to deal a tile whose odd digit, and at times a bit, is that of the warps in both."""
    shape = rng.choice(SHAPES)
    digits = drawn(rng, shape)
    twos = [x for x in digits if x[0] == 2]
    warp = rng.sample(twos, rng.choice([0, 0, 1])) + [x for x in digits if x[0] != 2]
    rest = [x for x in twos if x not in warp]
    ways = [rng.sample(rest, len(rest)) for _ in range(2)]
    return shape, [{"lane": way[:5], "register": way[5:], "warp": warp} for way in ways]


def test_warps_that_keep_their_elements(tmp_path):
    """Warps whose odd digits are the same on both sides: each does the conversion of one, never dearer than the padded
    tile; and as machine code."""
    rng, kinds = random.Random(6), set()
    for _ in range(amount(20, 400)):
        (shape, two), width, through = with_warps_apart(rng), rng.choice([8, 16, 32]), rng.choice([None, "memory"])
        given, wanted = (elements(x, shape) for x in two)
        plan = convert(*(layout_of_digits(x, shape) for x in two), width, through=through)
        other = convert(*(padded(x, shape) for x in two), width, through=through)
        assert plan.part, plan
        assert (plan.run(given) == wanted).all()
        assert plan.cycles <= other.cycles, (two, plan, other)
        assert plan.bytes <= other.bytes or not other.bytes
        if plan.kind not in kinds and given.shape[0] == 3:
            require_true(plan, given, wanted, tmp_path)
            kinds.add(plan.kind)
    assert {"shuffles", "shared memory"} <= kinds


def test_a_warp_that_needs_what_another_holds():
    """The same digit of warps on both sides, but half of what each needs is nowhere, or at another warp."""
    a = radix("register=2:1, lane=32:2, warp=3:64 -> column=192")
    with pytest.raises(TlaError, match="nobody holds"):
        convert(radix("register=2:0, lane=32:2, warp=3:64 -> column=192"), a)
    b = radix("register=2:96, lane=32:1, warp=3:32 -> column=192")
    assert convert(a, b).kind == "shared memory"


def divisors(n):
    return [k for k in range(1, n + 1) if n % k == 0]


def text_of_blocks(rows, across, down, wide, deep, apart, columns, by_rows):
    """Thread and value -> index: across x down threads, each with wide x deep values, side by side or as far apart as
    threads are, and repeated."""
    thread = [(across, rows * (1 if apart else wide)), (down, deep)]
    value = [
        (wide, rows * (across if apart else 1)),
        (deep, 1),
        (columns // across // wide, rows * across * wide),
        (rows // down // deep, down * deep),
    ]
    shape, stride = (
        [tuple(digit[k] for digit in of) for of in (thread[::-1] if by_rows else thread, value)] for k in (0, 1)
    )
    return f"({shape[0]},{shape[1]}):({stride[0]},{stride[1]})".replace(" ", "")


def two_of_blocks(rng):
    """The rows and columns of a tile, two layouts of blocks in which an odd digit is the threads', and those of the
    padded tile."""
    rows, columns = rng.choice([8, 16, 32, 64]), rng.choice([48, 80, 96, 192])
    odd = columns // (columns & -columns)
    threads = 32 * odd * rng.choice([1, 2])
    splits = [c for c in divisors(columns) if c % odd == 0 and threads % c == 0 and rows % (threads // c) == 0]
    if not splits:
        return two_of_blocks(rng)
    texts = []
    for _ in range(2):
        across = rng.choice(splits)
        wide, deep = (
            rng.choice(divisors(min(8, columns // across & -(columns // across)))),
            rng.choice(divisors(min(4, rows // (threads // across)))),
        )
        common = (threads // across, wide, deep, rng.random() < 0.25)
        padded = 1 << (across - 1).bit_length()
        by_rows = rng.random() < 0.5
        texts += [
            text_of_blocks(rows, across, *common, columns, by_rows),
            text_of_blocks(rows, padded, *common, columns // across * padded, by_rows),
        ]
    return (rows, columns), texts[::2], texts[1::2]


def test_blocks_of_threads_that_are_no_warps():
    """Blocks at random whose odd digits are the threads': right, and through memory hardly ever dearer than
    the padded tile."""
    rng, kinds, dearer, count = random.Random(4), set(), 0, amount(3, 300)
    for _ in range(count):
        shape, texts, wide = two_of_blocks(rng)
        width = rng.choice([8, 16, 32])
        given, wanted = map(image, texts)
        assert sorted(given.ravel()) == sorted(wanted.ravel()) == [*range(math.prod(shape))]
        plan = convert(
            *(radix(parse(text), ["thread", "value"], {"row": shape[0], "column": shape[1]}) for text in texts), width
        )
        other = convert(*map(parse, wide), width, through="memory")
        assert (plan.run(given) == wanted).all()
        assert plan.wavefronts <= 1.25 * other.wavefronts, (texts, width, plan, other)
        assert plan.bytes <= other.bytes
        dearer += plan.wavefronts > other.wavefronts
        kinds.add(plan.rows is not None and bool(plan.rows.text))
    assert True in kinds
    assert dearer <= 0.03 * count


def test_values_that_stay_in_their_threads(tmp_path):
    """12 threads along a row of 96, whose values are counted in another order after: registers alone."""
    values = "(2,4):((0,1),(0,2))", "(4,2):((0,2),(0,1))"
    sides = [radix(f"thread=(12,8):((0,8),(1,0)), value={v} -> row=8, column=96") for v in values]
    plan = convert(*sides, 32)
    assert (plan.kind, plan.cycles, plan.bytes) == ("registers", 0, 0)
    given, wanted = (
        np.array([[x.apply({"thread": t, "value": v})["column"] for v in range(8)] for t in range(96)]) for x in sides
    )
    assert (plan.run(given) == wanted).all()
    assert (given != wanted).any()
    assert convert(*sides, 32, through="memory").kind == "shared memory"
    require_true(plan, given, wanted, tmp_path)


def kernel(plan, text, given, wanted, count):
    kind = TYPES[plan.element_bits]
    memory = f"__shared__ __align__(16) {kind} smem[{plan.bytes * 8 // plan.element_bits}];" if plan.bytes else ""
    return f"""{text}
extern "C" __global__ void kernel_main(const {kind}* a, {kind}* b) {{
  {memory}
  {kind} src[{given}], dst[{wanted}];
  #pragma unroll
  for (int r = 0; r < {given}; ++r) src[r] = a[r * {count} + threadIdx.x];
  f(src, dst{", smem" if memory else ""});
  #pragma unroll
  for (int r = 0; r < {wanted}; ++r) b[r * {count} + threadIdx.x] = dst[r];
}}
"""


def require_true(plan, given, wanted, folder):
    """The machine code moves what the definition says, in the wavefronts and instructions that the plan states."""
    dtype = f"u{plan.element_bits // 8}"
    given, wanted = (np.ascontiguousarray(x.reshape(-1, x.shape[-1]).T).astype(dtype) for x in (given, wanted))
    text, cubin = nvrtc.compiled(kernel(plan, plan.cuda("f"), len(given), len(wanted), given.shape[1]))
    block = ptx.Block(given.shape[1], given, wanted.nbytes)
    assert block.run(text).tobytes() == wanted.tobytes(), plan
    assert block.wavefronts == plan.wavefronts, plan
    found = nvrtc.opcodes(cubin, folder)
    counted = {
        k: sum(n for op, n in found.items() if op.split(".")[0] in ops)
        for k, ops in {"all": ["SHFL", "LDS", "STS"], "local": ["LDL", "STL"]}.items()
    }
    assert counted == {"all": plan.instructions, "local": 0}, (counted, plan)


def test_the_machine_code_of_slices(tmp_path):
    kinds = dict.fromkeys(("registers", "shuffles", "shared memory"), 0)
    for shape, two, width in pairs(random.Random(8), amount(40, 400)):
        given, wanted = (elements(x, shape) for x in two)
        plan = convert(*(layout_of_digits(x, shape) for x in two), width)
        if kinds[plan.kind] < amount(1, 100) and given.shape[1] == 32 and given.shape[2] * max(32, width) <= 64 * 32:
            kinds[plan.kind] += 1
            require_true(plan, given, wanted, tmp_path)
    assert kinds["shuffles"]
    assert kinds["shared memory"]


def test_the_machine_code_of_rows(tmp_path):
    for case in THREADS[: len(THREADS) if NIGHT else 2]:
        plan = convert(*threads_of(case), 16)
        assert plan.rows.text
        require_true(plan, *map(image, case[1:3]), tmp_path)


def test_a_smaller_buffer():
    a = radix("register=(2,3):(1,128), lane=32:2, warp=2:64 -> column=384")
    b = radix("register=(2,3):(64,128), lane=32:1, warp=2:32 -> column=384")
    plan, small = convert(a, b), convert(a, b, scratch_bytes=600)
    assert (plan.bytes, small.bytes) == (1536, 512)
    assert small.cuda().count("__syncthreads()") == plan.cuda().count("__syncthreads()") + 2


ERRORS = {
    "names": (("x=4:1 -> o=4", "lane=4:1 -> o=4"), {}, "thread and value"),
    "tiles": (("lane=4:1 -> o=4", "lane=4:1 -> o=8"), {}, "layouts of one tile"),
    "threads": (("thread=6:1, value=2:6 -> o=12", "thread=3:1, value=4:3 -> o=12"), {}, "from 6 threads to 3"),
    "held": (("thread=3:1, value=2:3 -> o=12", "thread=3:1, value=4:3 -> o=12"), {}, r"nobody holds element \(6\)"),
    "shuffles": (
        ("thread=6:1, value=2:6 -> o=12", "thread=6:2, value=2:1 -> o=12"),
        {"through": "shuffle"},
        "leave `through` out",
    ),
    "bytes": (
        ("thread=6:1, value=2:6 -> o=12", "thread=6:2, value=2:1 -> o=12"),
        {"scratch_bytes": 16},
        "give 48 bytes",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_refusals(name):
    texts, options, message = ERRORS[name]
    with pytest.raises(TlaError, match=message):
        convert(*map(radix, texts), **options)


def test_gluon_says_that_it_has_no_such_layouts():
    plan = convert(radix("register=(2,3):(3,1) -> column=6"), radix("register=(3,2):(1,3) -> column=6"))
    with pytest.raises(RangeError, match="powers of two, as Triton's are"):
        plan.gluon()


def test_hip_compiles(tmp_path):
    """Slices by shuffles, slices through LDS, and rows, as machine code of MI300: the instructions that the plans
    state, and no others."""
    a, b = (radix(f"register=(2,3):{x}, lane=64:{y} -> column=384") for x, y in (("(1,128)", 2), ("(64,128)", 1)))
    rows = (radix("thread=192:1, value=2:192 -> column=384"), radix("thread=(3,64):(128,2), value=2:1 -> column=384"))
    for sides, through in (((a, b), "shuffle"), ((a, b), "memory"), (rows, None)):
        plan = convert(*sides, 32, "gfx942", through)
        count = math.prod(plan.src.in_sizes.values()) // (2 if through is None else 6)
        text = kernel(plan, plan.hip("f"), *[2 if through is None else 6] * 2, count)
        found = hip.opcodes(text, "gfx942", tmp_path)
        ops = [n for op, n in found.items() if op.startswith(("ds_bpermute", "ds_read", "ds_write"))]
        assert 0 < sum(ops) <= plan.instructions, (found, plan)  # the compiler joins reads of two places

"""emit_copy and emit_loops: the text is compiled and run, and moves each element to where the definition has it."""

import ctypes
import itertools
import random
import re
import subprocess

import numpy as np
import pytest

from tla import (
    ComposedLayout,
    GetTile,
    InjectivityError,
    Layout,
    LeafTypeError,
    MakeLayout,
    MakeTensor,
    RangeError,
    RankError,
    Swizzle,
    TlaError,
    Unproven,
    at,
    composition,
    dim,
    dims,
    offsets,
    parse,
    recast_layout,
    xla,
)
from tla.ascend import half, nZ, zN, zZ
from tla.codegen import emit_copy, emit_loops, loop_nest
from tla.core.digits import merged_together
from tla.core.int_tuple import product_each

import compiled
import oracle
from night import amount


def offset(layout, coord):
    """The offset of a coordinate, one integer per mode or one array of them, by the definitions."""
    if isinstance(layout, ComposedLayout):
        x, s = int(layout.offset) + offset(layout.inner, coord), layout.outer
        read = x & ((1 << s.bits) - 1) << (s.base + max(0, s.shift))
        return x ^ (read >> s.shift if s.shift >= 0 else read << -s.shift)
    return oracle.offset(
        coord if isinstance(layout.shape, tuple) else coord[0], oracle.plain(layout.shape), oracle.plain(layout.stride)
    )


def moved(destination, source, data, room, start=(), begin=0):
    """What a copy makes of a destination of zeros: each element from its place to its place."""
    out = np.zeros(room, data.dtype)
    c = coordinates(destination.origin_shape)
    out[offset(destination, c)] = data[begin + offset(source, tuple(x + at for x, at in zip(c, start)) if start else c)]
    return out


def room_of(layout):
    return int(np.max(offset(layout, coordinates(product_each(layout.shape))), initial=0)) + 1


def coordinates(extents):
    """All coordinates: an array of integers per mode."""
    return tuple(np.indices(tuple(map(int, extents))).reshape(len(extents), -1))


class Pairs:
    """Copies of pairs of layouts in one text, and their run against the definition."""

    def __init__(self, folder, target="c", element=16):
        self.folder, self.target, self.element, self.texts, self.calls = folder, target, element, {}, []

    def add(self, destination, source, **sizes):
        if (destination, source) not in self.texts:
            name = f"copy{len(self.texts)}"
            self.texts[destination, source] = (
                name,
                emit_copy(source, destination, self.target, element=self.element, name=name),
            )
        self.calls.append(
            (
                self.texts[destination, source][0],
                at(destination, sizes),
                at(source, sizes),
                [n for _name, n in sorted(sizes.items())],
            )
        )

    def run(self):
        library = self.build()
        dtype = np.dtype(f"u{self.element // 8}")
        for name, destination, source, sizes in self.calls:
            data = compiled.aligned(room_of(source), dtype)
            data[:] = np.arange(1, data.size + 1)
            out = compiled.aligned(room_of(destination), dtype)
            self.call(library, name, out, data, sizes)
            np.testing.assert_array_equal(
                out, moved(destination, source, data, out.size), f"{name}: {source} to {destination}"
            )

    def build(self):
        bodies = "\n".join(text for _name, text in self.texts.values())
        if self.target in ("c", "cpp"):
            text = bodies if self.target == "c" else bodies.replace("inline void", 'extern "C" void')
            return compiled.build(self.folder, text, language="c" if self.target == "c" else "c++")
        head = compiled.CUDA if self.target == "cuda" else compiled.OPENCL
        runs = "\n".join(map(self.threads, {name: sizes for name, *_rest, sizes in self.calls}.items()))
        return compiled.build(self.folder, head + bodies + runs, "-Wno-unused", language="c++")

    def threads(self, call):
        """A function that runs a kernel for all threads of a grid of 3 blocks of 32."""
        name, sizes = call
        more = "".join(f", long long x{k}" for k in range(len(sizes)))
        given = "".join(f", x{k}" for k in range(len(sizes)))
        step = "blockIdx.x = b; threadIdx.x = t; blockDim.x = 32; gridDim.x = 3;"
        if self.target == "opencl":
            step = "thread_ = b * 32 + t; threads_ = 96;"
        return f"""extern "C" void {name}_run(void *d, void *s{more}) {{
    for (unsigned b = 0; b < 3; ++b) for (unsigned t = 0; t < 32; ++t) {{ {step} {name}(Any{{d}}, Any{{s}}{given}); }}
}}"""

    def call(self, library, name, out, data, sizes):
        run = getattr(library, name if self.target in ("c", "cpp") else f"{name}_run")
        run(compiled.pointer(out), compiled.pointer(data), *map(ctypes.c_longlong, sizes))


def random_layout(rng, extents):
    """A layout of these extents: compact in an order, with gaps, tiled as XLA tiles, in nested digits, or swizzled."""
    kind = rng.choice(["order", "gaps", "tiles", "digits", "swizzle", "fractal"])
    order = rng.sample(range(len(extents)), len(extents))
    if kind == "tiles":
        tile = (
            rng.choice(["(8,128)", "(4,8)", "(2,1)", "(4,8)(2,1)", "(8)", "(3,5)"])
            if len(extents) > 1
            else rng.choice(["(8)", "(4)"])
        )
        return xla.lower(f"s16[{','.join(map(str, extents))}]{{{','.join(map(str, order))}:T{tile}}}")
    if kind == "fractal" and len(extents) == 2:
        return MakeLayout[half, rng.choice([zN, nZ, zZ])](*extents)
    if kind == "swizzle":
        powers = [1 << (n - 1).bit_length() for n in extents]
        inner = Layout(tuple(powers), tuple(np.cumprod([1, *powers])[:-1].tolist()), tuple(extents))
        return ComposedLayout(Swizzle[rng.choice([1, 2]), rng.choice([0, 1, 2]), rng.choice([2, 3])](), 0, inner)
    shape, flat = [], []
    for n in extents:
        cut = rng.choice([1, 2, 3, 4]) if kind == "digits" else 1
        shape.append((cut, -(-n // cut)) if cut > 1 else n)
        flat += [cut, -(-n // cut)] if cut > 1 else [n]
    strides, step = [0] * len(flat), 1
    for k in rng.sample(range(len(flat)), len(flat)):
        strides[k], step = step, step * flat[k] + (rng.randrange(3) if kind == "gaps" else 0)
    values = iter(strides)
    return Layout(tuple(shape), oracle.nest(tuple(shape), values), tuple(extents))


def random_pairs(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        extents = [rng.choice([1, 2, 3, 5, 8, 16, 17, 33]) for _ in range(rng.choice([1, 2, 2, 2, 3]))]
        yield random_layout(rng, extents), random_layout(rng, extents)


@pytest.mark.parametrize("target", ["c", "cpp", "cuda", "opencl"])
def test_random_copies(tmp_path, target):
    pairs = Pairs(tmp_path, target)
    for destination, source in random_pairs(f"copies {target}", amount(30, 250) if target == "c" else amount(15, 80)):
        pairs.add(destination, source)
    pairs.run()


M, N = dims("M N")
P, Q, T = dim("P", multiple_of=16), dim("Q", multiple_of=32), dim("T", at_most=100)
SYMBOLIC = [
    (MakeLayout((M, N), (N, 1)), [MakeLayout[half, zN](M, N), MakeLayout[half, nZ](M, N), MakeLayout((M, N), (1, M))]),
    (MakeLayout((P, Q), (Q, 1)), [MakeLayout[half, zN](P, Q), xla.lower("bf16[P,Q]{1,0:T(8,128)(2,1)}", P=P, Q=Q)]),
    (xla.lower("bf16[M,N]{1,0:T(8,128)(2,1)}", M=M, N=N), [MakeLayout[half, zN](M, N), MakeLayout((M, N), (N, 1))]),
    (
        xla.lower("bf16[M,T]{1,0:T(8,128)(2,1)}", M=M, T=T),
        [MakeLayout((M, T), (1, M))],
    ),  # runs that end by the index of a loop in blocks
    (MakeLayout((64, N), (1, 64)), [composition(Swizzle[3, 3, 3](), MakeLayout((64, N), (1, 64)))]),
]


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_symbolic_copies(tmp_path, target):
    pairs = Pairs(tmp_path, target)
    for source, destinations in SYMBOLIC:
        for destination, (m, n) in itertools.product(
            destinations, [(1, 1), (16, 32), (17, 31), (40, 64), (33, 100), (80, 160)]
        ):
            sizes = {"M": m, "N": n, "P": -(-m // 16) * 16, "Q": -(-n // 32) * 32, "T": min(n, 100)}
            used = {
                str(s)
                for layout in (source, destination)
                for x in (*layout.origin_shape,)
                for s in getattr(x, "symbols", ())
            }
            sizes = {name: k for name, k in sizes.items() if name in used}
            pairs.add(destination, source, **sizes)
            pairs.add(source, destination, **sizes) if not isinstance(destination, ComposedLayout) else None
    pairs.run()


def open_layout(rng, sizes):
    """A layout of sizes that are not known: compact in some order, tiled as XLA tiles, or in fractals."""
    order = rng.sample(range(len(sizes)), len(sizes))
    kind = rng.choice(["order", "tiles", "fractal"] if len(sizes) == 2 else ["order", "tiles"])
    if kind == "fractal":
        return MakeLayout[half, rng.choice([zN, nZ, zZ])](*sizes)
    if kind == "tiles":
        names, tile = [str(n) for n in sizes], rng.choice(["(8,128)(2,1)", "(4,8)", "(16)", "(2,4)"])
        return xla.lower(f"s16[{','.join(names)}]{{{','.join(map(str, order))}:T{tile}}}", **dict(zip(names, sizes)))
    strides, step = [1] * len(sizes), 1
    for k in order:
        strides[k], step = step, step * sizes[k]
    return Layout(tuple(sizes), tuple(strides))


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_random_symbolic_copies(tmp_path, target):
    """Tails, runs and blocks in every order: a run whose end hung on the index of a blocked loop was copied wrong."""
    rng, pairs = random.Random(f"open {target}"), Pairs(tmp_path, target)
    while len(pairs.texts) < amount(8, 60):
        units = {name: rng.choice([1, 2, 4, 16]) for name in "BMN"[: rng.choice([2, 2, 3])]}
        sizes = [dim(name, multiple_of=unit, at_most=rng.choice([None, 640])) for name, unit in units.items()]
        source, destination = open_layout(rng, sizes), open_layout(rng, sizes)
        for long in rng.sample(list(units), 2):
            most = {name: 150 if name == long else 80 >> len(units) for name in units}
            pairs.add(
                destination,
                source,
                **{name: unit * rng.randint(1, -(-most[name] // unit)) for name, unit in units.items()},
            )
    pairs.run()


@pytest.mark.parametrize("element", [8, 32, 64])
def test_other_elements(tmp_path, element):
    for target in ("c", "cuda"):
        pairs = Pairs(tmp_path, target, element)
        for destination, source in random_pairs(element, 20):
            pairs.add(destination, source)
        pairs.run()


def test_a_tile_is_copied_from_where_it_starts(tmp_path):
    whole, tile = parse("(_20,_30):(_30,_1)"), parse("(_8,_16):(_16,_1)", origin_shape=(4, 16))
    source = GetTile(MakeTensor(None, whole, offset=5), (16, 10), (8, 16))
    library = compiled.build(tmp_path, emit_copy(source, tile, element=32))
    data, out = np.arange(700, dtype=np.uint32), np.zeros(128, np.uint32)
    library.copy(compiled.pointer(out), compiled.pointer(data))
    np.testing.assert_array_equal(out, moved(tile, whole, data, 128, start=(16, 10), begin=5))


def test_nvcc_takes_the_kernels(tmp_path):
    compiled.require("nvcc")
    text = "\n".join(
        emit_copy(s, d, "cuda", element=16, name=f"copy{k}") for k, (s, ds) in enumerate(SYMBOLIC) for d in ds[:1]
    ) + emit_loops(parse("(8,_64):(_64,_1)"), "cuda")
    (tmp_path / "copies.cu").write_text(text)
    done = subprocess.run(
        ["nvcc", "-ptx", "copies.cu", "-o", "copies.ptx"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", ["c", "cpp", "cuda"])
def test_nothing_is_copied_of_what_holds_nothing(tmp_path, target):
    pairs = Pairs(tmp_path, target)
    pairs.add(xla.lower("s16[0,128]{1,0:T(8,128)}"), MakeLayout((0, 128)))
    pairs.add(parse("(_4,_8):(_1,_4)", origin_shape=(4, 0)), parse("(_4,_8):(_8,_1)", origin_shape=(4, 0)))
    pairs.run()


def test_what_is_injective_but_for_its_padding_is_written(tmp_path):
    rows, tight = (parse(f"(_4,_6):({d},_1)", origin_shape=(4, 5)) for d in ("_6", "_5"))
    pairs = Pairs(tmp_path)
    pairs.add(tight, rows)
    pairs.run()


@pytest.mark.parametrize(("bits", "other"), [(4, 8), (12, 8), (128, 64)])
def test_other_widths_are_recast(tmp_path, bits, other):
    """The fix of the refusal."""
    rows, columns = (recast_layout[bits, other](parse(f"((_4,_6),_8):({d})")) for d in ("(_8,_32),_1", "(_8,_64),_1"))
    pairs = Pairs(tmp_path, element=other)
    pairs.add(columns, rows)
    pairs.run()


def test_a_row_is_as_long_as_it_has_to_be(tmp_path):
    """The fix of the refusal: what a stride is at least."""
    rows = MakeLayout((M, N), (N, 1))
    with pytest.raises(Unproven, match=r'fix .*dim\("D", at_least=K\)'):
        emit_copy(rows, MakeLayout((M, N), (dim("D"), 1)))
    pairs = Pairs(tmp_path)
    pairs.add(MakeLayout((M, N), (dim("D", at_least=N), 1)), at(rows, {}), M=5, N=7, D=9)
    pairs.run()


def test_a_kernel_is_of_32_bits_where_all_that_is_held_on_the_way_fits():
    small, large = (
        parse("Sw<2,0,3> o _0 o ((_64,_64)):((_64,_1))"),
        parse("Sw<2,0,3> o _0 o ((_64,_1048576)):((_1048576,_1))"),
    )
    assert "for (int n" in emit_copy(small, parse("(_4096):(_1)"), "cuda")
    assert "for (long long n" in emit_copy(large, parse("(_67108864):(_1)"), "cuda")  # k0 * 1048576 is one of 46 bits


def test_a_kernel_is_of_32_bits_for_fewer_than_2_to_30_items():
    """A grid more of them fits as well. An item is an element here, for every second one is moved."""
    for items, integer in ((2**30 - 1, "int"), (2**30, "long long")):
        assert f"for ({integer} n = " in emit_copy(parse(f"_{items}:_2"), parse(f"_{items}:_1"), "cuda", element=16)


@pytest.mark.parametrize(("element", "reach"), [(8, 2**63 - 1), (16, 2**62 - 1), (32, 2**61 - 1), (64, 2**60 - 1)])
def test_offsets_whose_bytes_do_not_fit_in_64_bits_are_refused(element, reach):
    near, two = parse(f"_2:_{reach}"), parse("_2:_1")
    assert "dst" in emit_copy(two, near, element=element)
    assert "dst" in emit_copy(near, two, element=element)
    for far in ("_2:_{}", "_2:_-{}", "(_2,_2):(_{},_1)") if element > 8 else ("(_2,_2):(_{},_1)",):
        layout = parse(far.format(reach + (element > 8)))
        for a, b in (
            (layout, parse("(_2,_2):(_2,_1)") if "," in far else two),
            (parse("(_2,_2):(_2,_1)") if "," in far else two, layout),
        ):
            with pytest.raises(RangeError, match="bytes that 64 bits hold"):
                emit_copy(a, b, element=element)


def test_texts_say_what_they_rest_on():
    small = dim("S", multiple_of=4, at_most=64)
    for text in (
        emit_copy(MakeLayout((small, 8)), MakeLayout((small, 8), (8, 1)), "cuda"),
        emit_loops(MakeLayout((small, 8))),
    ):
        assert "// requires 4 divides S, 4 <= S, S <= 64" in text


@pytest.mark.parametrize(
    ("source", "destination", "expected"),
    [
        ("(_4096,_4096):(_4096,_1)", "(_4096,_4096):(_4096,_1)", "memcpy(dst, src, 16777216 * sizeof *dst);"),
        ("(_4096,_4096):(_4096,_1)", "((_16,_256),(_16,_256)):((_16,_256),(_1,_65536))", "16 * sizeof *dst);"),
        ("(_8,_64):(_64,_1)", "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)", "16 * sizeof *dst);"),
        ("((_2,_8),_8):((_1,_16),_2)", "(_16,_8):(_8,_1)", "k1 < 2; ++k1, d1 += 8, s1 += 1"),
    ],
)
def test_runs_are_moved_as_one(source, destination, expected):
    text = emit_copy(parse(source), parse(destination), element=16)
    assert expected in text


@pytest.mark.parametrize("bits", range(7))
def test_the_longest_run_of_a_swizzle_is_moved_as_one(bits):
    """Sw<1,M,1> keeps 2**M elements side by side: they are moved at once, up to 64."""
    text = emit_copy(parse("(_4,_256):(_256,_1)"), parse(f"Sw<1,{bits},1> o _0 o (_4,_256):(_256,_1)"), element=16)
    assert re.findall(r"(\d+) \* sizeof", text) == ([str(2**bits)] if bits else [])
    assert f"k1 < {256 >> bits};" in text


def test_texts(golden):
    for name, source, destination in [
        ("rows_to_zN", MakeLayout((M, N), (N, 1)), MakeLayout[half, zN](M, N)),
        ("rows_to_tiles", parse("(_4096,_4096):(_4096,_1)"), xla.lower("bf16[4096,4096]{1,0:T(8,128)(2,1)}")),
        ("transpose", MakeLayout((M, N), (N, 1)), MakeLayout((M, N), (1, M))),
        ("tail", parse("(_100,_60):(_60,_1)"), MakeLayout[half, zN](100, 60)),
        ("swizzle", parse("(_8,_64):(_64,_1)"), composition(Swizzle[3, 4, 3](), parse("(_8,_64):(_64,_1)"))),
    ]:
        for target in ("c", "cpp", "cuda", "hip", "opencl"):
            golden(f"codegen/copy_{name}.{target}.txt", emit_copy(source, destination, target, element=half))


# ------------------------------------------------------------------------------------------------------- loops

LOOPS = [
    "_1:_0",
    "_7:_3",
    "(_4,_2):(_2,_1)",
    "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))",
    "(3,(2,5)):(10,(5,1))",
    "(_4,3):(_-2,_7)",
    "Sw<2,0,3> o _0 o (_8,4):(_4,_1)",
    "Sw<1,1,-2> o 3 o (_8,4):(4,_1)",
    "(_2,_2,_2,_2,_2):(_16,_1,_8,_2,_4)",
]


@pytest.mark.parametrize("target", ["c", "cpp"])
def test_loops_write_the_offsets_in_order(tmp_path, target):
    layouts = [parse(text) for text in LOOPS] + [xla.lower("bf16[20,300]{1,0:T(8,128)(2,1)}")]
    text = "\n".join(emit_loops(layout, target, name=f"loops{k}") for k, layout in enumerate(layouts))
    if target == "cpp":
        text = text.replace("constexpr void", 'extern "C" void')
    library = compiled.build(tmp_path, text, language="c" if target == "c" else "c++")
    for k, layout in enumerate(layouts):
        truth = offsets(layout).ravel("F")
        out = np.full(truth.size + 1, -99, np.int64)
        values = dynamic_values(emit_loops(layout, "c"), layout)
        getattr(library, f"loops{k}")(compiled.pointer(out), *map(ctypes.c_longlong, values))
        np.testing.assert_array_equal(out[:-1], truth, str(layout))
        assert out[-1] == -99


def dynamic_values(text, layout):
    """What the parameters of a text are for this layout: the leaves that they are named after."""
    header = next(line for line in text.splitlines() if " offsets(" in line)
    names = [p.split()[-1] for p in header[header.index("(") + 1 : header.index(")")].split(", ")[1:]]

    def leaf(x, path):
        for part in path:
            x = x[int(part)] if part.isdigit() else getattr(x, {"start": "offset"}.get(part, part))
        return int(x)

    return [leaf(layout, name.split("_")) for name in names]


def test_loops_of_symbols(tmp_path):
    layout = MakeLayout[half, zN](M, N)
    library = compiled.build(tmp_path, emit_loops(layout))
    for m, n in [(1, 1), (16, 32), (50, 70)]:
        truth = offsets(at(layout, M=m, N=n)).ravel("F")
        out = np.zeros(truth.size, np.int64)
        library.offsets(compiled.pointer(out), ctypes.c_longlong(m), ctypes.c_longlong(n))
        np.testing.assert_array_equal(out, truth)


def test_the_steps_of_a_nest_come_back_to_the_start():
    for text in LOOPS[:6]:
        layout, found, here = parse(text), [], 0
        steps = loop_nest(layout)
        counts = [0] * len(steps)
        while True:
            found.append(here)
            for k, s in enumerate(steps):
                counts[k] += 1
                here += int(s.step)
                if counts[k] < int(s.extent):
                    break
                counts[k] = 0
                here += int(s.wrap) - (int(steps[k + 1].step) if k + 1 < len(steps) else 0)
            else:
                break
        assert (found, here) == (oracle.offsets(oracle.plain(layout.shape), oracle.plain(layout.stride)), 0), text


# --------------------------------------------------------------------------------------------------- bad input

A = parse("(_4,_6):(_6,_1)")


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: emit_copy(A, parse("(_4,_5):(_5,_1)")), RankError, "a copy from (_4,_6) to (_4,_5)"),
        (lambda: emit_copy(A, parse("_24:_1")), RankError, "equal valid extents"),
        (lambda: emit_copy(A, parse("(_4,_6):(_0,_1)")), InjectivityError, "(0,0)"),
        (
            lambda: emit_copy(MakeLayout((M, N)), MakeLayout((M, N), (dim("D"), 1))),
            Unproven,
            "not known whether it is injective",
        ),
        (lambda: emit_copy(A, A, "python"), LeafTypeError, "a copy in python"),
        (lambda: emit_copy(A, A, "fortran"), LeafTypeError, "the target 'fortran'"),
        (lambda: emit_copy(A, A, element=4), RangeError, "recast_layout[4, 8](layout)"),
        (lambda: emit_copy(A, A, element=128), RangeError, "recast_layout[128, 64](layout)"),
        (lambda: emit_copy(A, A, element=12), RangeError, "12 bits"),
        (lambda: emit_copy(A, A, name="dst"), LeafTypeError, "the name dst in a copy"),
        (lambda: emit_copy(A, A, name="x); system("), LeafTypeError, "a letter first"),
        (lambda: emit_copy(A, A, name="for"), LeafTypeError, "the name for in c"),
        (lambda: emit_copy(MakeLayout((dim("k0"), 4)), MakeLayout((dim("k0"), 4))), TlaError, "k0"),
        (lambda: emit_copy("A", A), LeafTypeError, "a copy of a str"),
        (
            lambda: emit_copy(*[Layout((4, 8), (dim("D", at_least=k), 1)) for k in (8, 9)]),
            RangeError,
            "two sets of facts for D",
        ),
        (lambda: emit_copy(A, parse("(_4,_6):(_5,_1)", origin_shape=(4, 6))), InjectivityError, "(0,5) and (1,0)"),
        (
            lambda: emit_copy(*[MakeLayout((M, dim("copy_min")))] * 2),
            LeafTypeError,
            "a function copy with a parameter copy_min",
        ),
        (lambda: emit_copy(*[MakeLayout((M, dim("memcpy")))] * 2), LeafTypeError, "the name memcpy in a copy"),
        (
            lambda: emit_copy(*[MakeLayout((M, dim("get_global_id")))] * 2, "opencl"),
            LeafTypeError,
            "the name get_global_id in a copy",
        ),
        (
            lambda: emit_loops(MakeLayout((M, dim("offsets_")))),
            LeafTypeError,
            "a function offsets with a parameter offsets_",
        ),
        (
            lambda: emit_copy(*[parse("(_4294967296,_4294967296):(_4294967296,_1)")] * 2),
            RangeError,
            "bytes that 64 bits hold",
        ),
        (
            lambda: emit_copy(*[parse("_1152921504606846977:_1")] * 2, element=64),
            RangeError,
            "as far as 1152921504606846976",
        ),
        (
            lambda: emit_copy(A, parse("(_4,_6):(_1@0,_2@1)")),
            LeafTypeError,
            "a copy of (_4,_6):(_1@0,_2@1), whose values are coordinates",
        ),
        (lambda: emit_copy(parse("(_4,_6):(_1@0,_2@1)"), A), LeafTypeError, "compose it with the layout of a buffer"),
        (lambda: emit_loops(parse("(_4,_6):(_1@0,_2@1)")), LeafTypeError, "in which coordinates step"),
        (
            lambda: emit_loops(xla.lower("f32[6,10]{1,0:T(3,5)(2,2)}")),
            LeafTypeError,
            "write emit(layout), which writes the offset of one",
        ),
        (lambda: emit_loops(A, "python"), LeafTypeError, "loops in python"),
        (lambda: emit_loops(MakeLayout((4, dim("at")))), LeafTypeError, "the name at in loops"),
        (lambda: emit_loops(3), LeafTypeError, "the loops of a int"),
        (lambda: loop_nest(parse("Sw<2,0,3> o _0 o (_8,4):(_4,_1)")), LeafTypeError, "take those of its inner layout"),
    ],
)
def test_bad_input(call, error, part):
    with pytest.raises(error) as caught:
        call()
    assert part in str(caught.value)


def test_kernels_are_of_32_bits_where_these_are_proved_to_do():
    rows, columns = dims("R C", at_most=4096)
    for sizes, integer in (((rows, columns), "int"), ((M, N), "long long")):
        text = emit_copy(MakeLayout(sizes, (sizes[1], 1)), MakeLayout(sizes, (1, sizes[0])), "cuda")
        assert f"src, {integer} " in text
        assert f"const {integer} k0 = " in text


def test_sizes_of_any_name_but_those_of_the_text():
    for name in ("t", "N", "count", "x"):
        inner = MakeLayout((64, dim(name)), (1, 64))
        assert f"int64_t {name})" in emit_copy(inner, composition(Swizzle[3, 3, 3](), inner))


def test_what_the_sizes_have_to_meet_is_said_and_checked(tmp_path):
    source, destination = MakeLayout((P, Q), (Q, 1)), MakeLayout[half, zN](P, Q)
    said = "// requires 16 divides P, 16 <= P, 32 divides Q, 32 <= Q\n"
    for target in ("c", "cpp", "cuda", "hip", "opencl"):
        text = emit_copy(source, destination, target)
        assert said in text
        assert "_requires" not in text
    library = compiled.build(tmp_path, emit_copy(source, destination, check="assert"))
    library.copy_requires.restype = ctypes.c_bool
    for p, q in itertools.product((0, 15, 16, 32, 40), (0, 16, 32, 96)):
        assert library.copy_requires(ctypes.c_longlong(p), ctypes.c_longlong(q)) == (
            p % 16 == q % 32 == 0 and p > 0 and q > 0
        )
    for target in ("cpp", "cuda", "hip"):
        assert "    assert(copy_requires(P, Q));\n" in emit_copy(source, destination, target, check="assert")
    with pytest.raises(LeafTypeError, match="check='assert' for opencl"):
        emit_copy(source, destination, "opencl", check="assert")


def test_axes_are_merged_where_they_continue_their_right_neighbour_in_both_arrays():
    """Also with gaps in every axis, where another axis would seem to go on."""
    r, merged = random.Random(78), 0
    for _ in range(2000):
        axes = [
            (r.choice((2, 3, 4)), (r.choice((1, 2, 4, 8, 12)), r.choice((1, 3, 4, 8, 12))))
            for _ in range(r.randint(1, 4))
        ]
        if r.random() < 0.5:  # some that continue
            (n, (a, b)), k = axes[-1], r.choice((2, 3))
            axes.insert(r.randint(0, len(axes) - 1), (k, (n * a, n * b)))
        found = merged_together(axes)
        for which in (0, 1):
            before, after = ([(n, steps[which]) for n, steps in reversed(x)] for x in (axes, found))
            assert np.array_equal(oracle.image(*zip(*before)), oracle.image(*zip(*after)))
        assert not any(slow[1] == tuple(fast[0] * d for d in fast[1]) for slow, fast in itertools.pairwise(found))
        merged += len(found) < len(axes)
    assert 300 < merged < 1700

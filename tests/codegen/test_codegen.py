"""Emitted code is run, and gives the offsets that the layout has: C, C++, Python, numpy; CUDA where nvcc is found."""

import json
import random
import re
import shutil

import numpy as np
import pytest

from tla import (
    ComposedLayout,
    GetTile,
    Int,
    Layout,
    MakeLayout,
    MakeTensor,
    Swizzle,
    Unproven,
    _2,
    _3,
    _4,
    _8,
    _16,
    dim,
    dims,
    index,
    local_partition,
    local_tile,
    offsets,
    parse,
    xla,
)
from tla.ascend import ColumnMajor, RowMajor, half, nZ, zN, zZ
from tla.codegen import emit, plan

import executed
import oracle
from codegen_cases import UNDEFINED, agrees, brute, numbers, random_layout, static_layout
from corpus import static
from executed import Case
from night import amount, some
from truth import rows

FACTS = [
    {},
    {"multiple_of": 2},
    {"multiple_of": 8},
    {"at_most": 100},
    {"multiple_of": 3, "at_most": 48},
    {"multiple_of": 4, "at_most": 64},
]


# --------------------------------------------------------------------------------------------------- brute force


def case(layout, k, values=None, wanted=None, target="c", **how):
    """A layout as a Case, with values for its symbols."""
    values = values or {}
    coords = how.setdefault("coords", named(numbers(layout.shape, values)))
    made = plan(layout, coords, integer=how.get("integer"))
    names = [*oracle.leaves(coords)]
    assert [p.name for p in made.parameters[: len(names)]] == names
    sizes = tuple(values[p.name] if p.value is None else p.value for p in made.parameters[len(names) :])
    extents = tuple(extents_of(numbers(layout.shape, values), coords))
    wanted = np.array(brute(layout, values) if wanted is None else wanted, np.int64)
    return Case(emit(layout, target, name=f"f{k}", **how), f"f{k}", extents, sizes, wanted, str(made.integer))


def named(shape, depth=1, start="i"):
    """A name for each mode, or for each part of these down to a depth."""
    if not isinstance(shape, tuple) or depth == 0:
        return start
    return tuple(named(s, depth - 1, f"{start}{k}") for k, s in enumerate(shape))


def extents_of(shape, coords):
    """The extents that names run through."""
    if isinstance(coords, tuple):
        return [n for s, c in zip(shape, coords) for n in extents_of(s, c)]
    return [oracle.size(shape)]


# ------------------------------------------------------------------------------------------------ random layouts


def random_case(seed, target="c"):
    """A random layout, nested, swizzled, composed, with dynamic leaves and symbols: as a Case."""
    r = random.Random(seed)
    units = {name: r.choice(FACTS) for name in "ABC"[: r.choice((0, 0, 1, 2, 3))]}
    symbols = {name: dim(name, **facts) for name, facts in units.items()}
    values = {name: facts.get("multiple_of", 1) * r.randint(1, 4) for name, facts in units.items()}
    layout = random_layout(r, symbols, units, values)
    if r.random() < 0.3:
        layout = random_composed(r, layout, values)
    depth = r.choice((0, 1, 1, 2, 3))
    return case(layout, seed, values, coords=named(numbers(layout.shape, values), depth), target=target)


def random_composed(r, inner, values):
    """A swizzle or a layout after it: of numbers that are not negative."""
    if min(brute(inner, values)) < 0 or max(brute(inner, values)) > 2**40:
        return inner
    start = r.choice((0, 0, 5, 64))
    start = Int[start]() if r.random() < 0.5 else start
    if r.random() < 0.6:
        bits = r.randint(1, 3)
        return ComposedLayout(Swizzle[bits, r.randint(0, 4), r.choice((1, -1)) * r.randint(bits, 4)](), start, inner)
    outer = random_layout(r, {}, {}, {}, negative=False)
    return inner if max(map(abs, brute(outer))) > 2**22 else ComposedLayout(outer, start, inner)


# ------------------------------------------------------------------------------------------------------- offsets


XLA = [row for row in rows("xla/index.json") if row["representable"] and row["total_elements"] < 100_000]


def test_xla_layouts_in_c(tmp_path):
    assert len(XLA) == 766
    layouts = [xla.lower(row["spec"]) for row in some(XLA, 9)]
    agrees([case(a, k, wanted=offsets(a).ravel(order="F")) for k, a in enumerate(layouts)], tmp_path)


def test_seed_examples_of_tla(tmp_path):
    seeds = json.dumps([row for row in rows("tla/accepted.json") if row.get("seed")])
    texts = sorted({*re.findall(r'"layout": "([^"]*:[^"]*)"', seeds)})
    assert len(texts) >= 15
    layouts = [parse(t) for t in texts] + [
        MakeLayout[half, tag](100, 60) for tag in (zN, nZ, zZ, RowMajor, ColumnMajor)
    ]
    agrees([case(a, k) for k, a in enumerate(layouts)], tmp_path, flags=UNDEFINED)


@pytest.fixture(scope="module")
def random_cases():
    return [random_case(seed) for seed in range(amount(60, 600))]


@pytest.mark.once
@pytest.mark.parametrize("flags", [("-O1",), UNDEFINED], ids=["plain", "undefined"])
def test_random_layouts_in_c(random_cases, tmp_path, flags):
    agrees(random_cases, tmp_path, flags=flags)


def test_random_layouts_in_cpp(tmp_path):
    agrees([random_case(seed, "cpp") for seed in range(0, 600, amount(15, 1))], tmp_path, "cpp")


def test_random_layouts_in_python():
    for seed in range(0, 600, amount(8, 1)):
        c = random_case(seed, "python")
        assert np.array_equal(executed.python(c), c.wanted), c.text


def test_random_layouts_in_numpy():
    for seed in range(1, 600, amount(8, 1)):
        c = random_case(seed, "numpy")
        assert np.array_equal(executed.numpy(c), c.wanted), c.text


# --------------------------------------------------------------------------- coordinates, tensors, several results


def told(what, name, extents, sizes, wanted, target="c", **how):
    """A Case with all that it gives said: wanted is a function of the coordinates, or its values,
    first mode fastest."""
    made = plan(what, how.get("coords"), integer=how.get("integer"))
    values = [wanted(*c) for c in oracle.coordinates(tuple(extents))] if callable(wanted) else wanted
    return Case(
        emit(what, target, name=name, **how),
        name,
        tuple(extents),
        tuple(sizes),
        np.array(values, np.int64),
        str(made.integer),
    )


def test_every_way_to_write_a_coordinate(tmp_path):
    shape, stride = (12, (4, 6)), (24, (1, 4))
    a = Layout(*map(static, (shape, stride)))
    b, t, i = index("b", below=3), index("t", below=4), index("i", below=12)

    def at(*coord):
        return oracle.offset(coord, shape, stride)

    ways = [
        (None, (12, 24), at),
        ("n", (288,), lambda n: at(n % 12, n // 12)),
        ("i,(x,y)", (12, 4, 6), lambda i, x, y: at(i, (x, y))),
        (("i", ("x", "y")), (12, 4, 6), lambda i, x, y: at(i, (x, y))),
        ((b * 4 + t, "j"), (3, 4, 24), lambda b, t, j: at(b * 4 + t, j)),
        ((5, "j"), (24,), lambda j: at(5, j)),
        ((-1, ("x", Int[2]())), (4,), lambda x: at(-1, (x, 2))),
        ("3,7", (), lambda: at(3, 7)),
        ((i, i), (12,), lambda i: at(i, i)),
        ((b, t), (3, 4), at),
    ]
    agrees(
        [told(a, f"f{k}", extents, (), f, coords=c) for k, (c, extents, f) in enumerate(ways)],
        tmp_path,
        flags=UNDEFINED,
    )


def test_tiles_of_blocks_and_threads(tmp_path):
    """What thread t of block (x, y) has at (i, j) is what that part of a table of offsets has."""
    table = np.arange(64 * 32).reshape(64, 32)
    whole = MakeTensor(table.ravel(), parse("(_64,_32):(_32,_1)"))
    x, y, t = index("x", below=4), index("y", below=4), index("t", below=8)
    tile = local_tile(whole, (_16, _8), (x, y))
    part = local_partition(tile, parse("(_2,_4):(_1,_2)"), t)
    of_block, of_thread = told(tile, "tile", (16, 8), (), []), told(part, "part", (8, 2), (), [])
    cases = []
    for x, y in oracle.coordinates((4, 4)):
        block = table[16 * x : 16 * x + 16, 8 * y : 8 * y + 8]
        cases.append(of_block._replace(sizes=(x, y), wanted=block.ravel(order="F")))
        parts = [block[t % 2 :: 2, t // 2 :: 4].ravel(order="F") for t in range(8)]
        cases += [of_thread._replace(sizes=(t, x, y), wanted=part) for t, part in enumerate(parts)]
    agrees(cases, tmp_path, flags=UNDEFINED)


def test_tensors_begin_where_they_begin(tmp_path):
    p, q = index("p", below=4), index("q", below=3)
    a = parse("(_8,_8):(_8,_1)")
    starts = [((2, 3), 0), ((_2, _3), 7), ((p, q), 5), ((p, 1), p * 64), ((0, 0), -64)]
    cases = []
    for k, (start, offset) in enumerate(starts):
        tensor = MakeTensor(None, a, start, offset=offset)
        for given in ({"p": 0, "q": 0}, {"p": 3, "q": 2}):
            x, y, z = numbers((*start, offset), given)
            sizes = [given[n.name] if n.value is None else n.value for n in plan(tensor).parameters[2:]]
            cases.append(told(tensor, f"f{k}", (8, 8), sizes, lambda i, j, x=x, y=y, z=z: (x + i) * 8 + y + j + z))
    tile = GetTile(MakeTensor(None, a), (2, 4), (_4, _4))
    cases.append(told(tile, "tile", (4, 4), (2, 4), lambda i, j: (2 + i) * 8 + 4 + j))
    coordinates = MakeTensor(None, parse("(_4,_8):(_1@1,_1@0)"), (2, 3))
    cases.append(told(coordinates, "pair", (4, 8), (2, 3), lambda i, j: (3 + j, 2 + i)))
    agrees(cases, tmp_path, flags=UNDEFINED)


def test_coordinates_as_results(tmp_path):
    a = parse("((_4,_3),(2,_5)):((1@0,2@1),(3@1,-1@0))")
    dynamic = [p.value for p in plan(a).parameters[2:]]

    def wanted(i, j):
        return i % 4 - j // 2, 2 * (i // 4) + 3 * (j % 2)

    agrees([told(a, "f", (12, 10), dynamic, wanted)], tmp_path, flags=UNDEFINED)
    for target, run in (("python", executed.python), ("numpy", executed.numpy)):
        c = told(a, "f", (12, 10), dynamic, wanted, target)
        assert np.array_equal(run(c), c.wanted)


def test_expressions_of_sizes(tmp_path):
    """Several at once, conditions among them; what chains of ^, min and max say is all written."""
    M, N = dims("M N", at_most=50)
    read = [parse(f"{name}(M,N,7)", symbols=[M, N]) for name in ("min", "max")]
    what = (
        M * N,
        -(-M // 8) * 8,
        M ^ N ^ 5,
        *read,
        M - N,
        (M - N) // 4,
        (M - N) % 4,
        M <= N,
        (M * N).is_multiple_of(3),
    )

    def wanted(i, j):
        m, n = i + 1, j + 1
        division = ((m - n) // 4, (m - n) % 4)
        return m * n, -(-m // 8) * 8, m ^ n ^ 5, min(m, n, 7), max(m, n, 7), m - n, *division, m <= n, m * n % 3 == 0

    i, j = index("i", below=50), index("j", below=50)
    shifted = tuple(x.at({"M": i + 1, "N": j + 1}) if hasattr(x, "at") and not hasattr(x, "holds") else x for x in what)
    agrees(
        [told(shifted[:-2], "f", (50, 50), (), lambda i, j: wanted(i, j)[:-2], coords="i,j")], tmp_path, flags=UNDEFINED
    )
    for target in ("python", "numpy"):
        f = executed.function(emit(what, target, name="f", coords="M,N"), "f")
        for i, j in oracle.coordinates((50, 50)):
            assert tuple(map(int, f(i + 1, j + 1))) == wanted(i, j)


# ------------------------------------------------------------------------------------------------ the ends of integers


ENDS = [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 - 1, 2**32, 2**63 - 1, -(2**63) + 1]


def test_offsets_at_the_ends(tmp_path):
    """(2,2):(n - 1,1) and (2,2):(-1,n + 1) reach n, and nothing on the way is more."""
    cases = []
    for k, n in enumerate(ENDS):
        d = -1 if n < 0 else 1
        for m, stride in enumerate([(n - d, d), (d, n - d), (n - 2 * d, 2 * d)]):
            c = case(Layout(static((2, 2)), static(stride)), f"{k}_{m}")
            assert c.integer == ("int32" if -(2**31) <= n < 2**31 else "int64"), n
            cases.append(c)
    agrees(cases, tmp_path, flags=UNDEFINED)


@pytest.mark.parametrize("integer", ["int32", "int64", "uint32", "uint64"])
def test_integers_that_are_asked_for(integer, tmp_path):
    texts = [
        "(_4,_6):(_6,_1)",
        "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))",
        "Sw<2,1,3> o _0 o (_8,_16):(_16,_1)",
        "(_48):(_3)",
    ]
    texts.append("(_16,_3):(_1,_16) o _5 o (_8,_4):(_1,_8)")
    layouts = [parse(t) for t in texts]
    r = random.Random(integer)
    layouts += [random_layout(r, {}, {}, {}, negative=False) for _ in range(amount(5, 200))]
    layouts = [static_layout(a) for a in layouts if max(brute(a)) < 2**31]
    for target in ("c", "cpp"):
        agrees(
            [case(a, k, target=target, integer=integer) for k, a in enumerate(layouts)],
            tmp_path,
            target,
            flags=UNDEFINED,
        )
    for k, a in enumerate(layouts):
        c = case(a, k, target="numpy", integer=integer)
        assert np.array_equal(executed.numpy(c), c.wanted), c.text


def test_what_has_no_bound_is_taken_to_fit_in_64_bits_alone():
    """Above that is 64 bits of either kind, below 64 bits with a sign."""
    up, down = dim("M", at_least=0) * 3, dim("M", at_least=0) * -3
    for x, fits in ((up, {"int64", "uint64"}), (down, {"int64"})):
        for integer in ("int32", "int64", "uint32", "uint64"):
            if integer in fits:
                assert f"{integer}_t offset" in emit(x, "c", integer=integer, name="offset")
            else:
                with pytest.raises(Unproven, match="it is not known whether"):
                    emit(x, "c", integer=integer)


def test_six_coordinates_have_letters_and_more_have_numbers():
    for rank, names in ((1, "i"), (5, "i, j, k, l, m"), (6, "i, j, k, l, m, n"), (7, "c0, c1, c2, c3, c4, c5, c6")):
        assert f"def offset({names})" in emit(MakeLayout((Int[2](),) * rank), "python")


def test_masks_of_unsigned_integers(tmp_path):
    """What is written with a negative mask in signed integers is written with shifts."""
    i = index("i", below=1000)
    cases = []
    for k, x in enumerate([i // 16 * 16, i - i % 16, (i // 8) * 8 + 5, (i // 16) * 32 + i % 16]):
        for integer in ("int32", "uint32", "uint64"):
            cases.append(told(x, f"f{k}_{integer}", (1000,), (), lambda n, x=x: x.at(i=n), integer=integer))
            c = told(x, "f", (1000,), (), lambda n, x=x: x.at(i=n), "numpy", integer=integer)
            assert np.array_equal(executed.numpy(c), c.wanted), c.text
            assert ("& -" in cases[-1].text) <= (integer == "int32")
    agrees(cases, tmp_path, flags=UNDEFINED)


# ---------------------------------------------------------------------------------------------------- other compilers


@pytest.mark.once
def test_cuda_compiles(tmp_path):
    if shutil.which("nvcc") is None:
        pytest.skip("needs nvcc")
    texts = [random_case(seed, "cuda").text for seed in range(0, 600, 20)]
    source = tmp_path / "all.cu"
    source.write_text("\n".join(texts))
    executed.compile_and_run(["nvcc", "-std=c++17", "-c", "-o", str(tmp_path / "all.o"), str(source)])


def test_opencl_compiles(tmp_path):
    if shutil.which("clang") is None:
        pytest.skip("needs clang")
    source = tmp_path / "all.cl"
    source.write_text("\n".join(random_case(seed, "opencl").text for seed in range(0, 600, 20)))
    executed.compile_and_run(["clang", "-x", "cl", "-cl-std=CL2.0", "-fsyntax-only", str(source)])


def test_a_swizzle_of_what_is_not_negative_needs_no_floor():
    layout = parse("(_6,_12):(_12,_1) o _0 o Sw<2,0,3> o _0 o (_8,_8):(_8,_1)")
    for least, floor in ((0, False), (-1, True)):
        text = emit(layout, "c", (index("i", below=8, at_least=least), index("j", below=8)))
        assert ("floor_div" in text) is floor

"""AMD's loads straight to LDS: executed as the ISA manual says them, and refused where no wave could fill the layout,
counted in bytes."""

import itertools
import math
import random
import re

import numpy as np
import pytest

from tla import (
    DivisibilityError,
    InjectivityError,
    LeafTypeError,
    MakeLayout,
    MakeTensor,
    RangeError,
    RankError,
    TlaError,
    dim,
    offsets,
    parse,
)
from tla.access import access, best_swizzle, convert
from tla.gpu import contracts, half, loads_to_lds
from tla.gpu.instructions.elements import as_element

import gluon_compiled
from night import amount

WIDTHS = {"gfx942": [32], "gfx950": [128, 96, 32]}
SIZES = {"gfx942": 64 << 10, "gfx950": 160 << 10}


def executed(found, extents, size, base=0):
    """LDS after all loads: lane l's bytes go to M0 + l * width; each lane reads a vector along the contiguous mode of
    global memory."""
    order = [k for k in range(len(extents)) if k != found.along]
    order = [*([found.along] if found.along is not None else []), *order]
    steps, step = {}, 1
    for k in order:
        steps[k], step = step, step * extents[k]
    tensor = np.arange(step * size, dtype=np.int64)  # bytes of global memory, each its own number
    lds = np.full(SIZES[found.arch], -1)
    for wave, m0s in enumerate(found.m0):
        for load, m0 in enumerate(m0s):
            assert m0 % 4 == 0
            for lane in range(64):
                index, begin = int(found.elements[wave, load, lane, 0]), 0
                for k, n in enumerate(extents):
                    begin, index = begin + index % n * steps[k] * size, index // n
                count = found.width // 8
                assert begin % 4 == 0, "global memory is read from whole words on"
                at = m0 + lane * count
                lds[at : at + count] = tensor[begin : begin + count]
    return lds, steps


def require_filled(found, layout, bits, base=0):
    size, where = bits // 8, offsets(layout)
    extents = where.shape
    lds, steps = executed(found, extents, size)
    for at in itertools.product(*map(range, extents)):
        begin, place = sum(i * steps[k] for k, i in enumerate(at)) * size, base + int(where[at]) * size
        assert lds[place : place + size].tolist() == [*range(begin, begin + size)], at
    assert (lds >= 0).sum() == where.size * size


def could_fill(layout, bits, width):
    """Whether runs of 64 vectors make the tile up: the lowest byte that is left begins a run, whoever loads it."""
    where, size = offsets(layout), bits // 8
    at = {int(o) * size: c for c, o in np.ndenumerate(where)}
    each, run, left = width // bits, 64 * width // 8, sorted(at)
    if len(at) * size % run:
        return False
    align = 16 if width == 128 else 4
    while left:
        start, vectors, left = left[0], left[: 64 * each], left[64 * each :]
        if start % align or vectors != [start + k * size for k in range(64 * each)]:
            return False
        for k in range(0, len(vectors), each):
            cells = [np.array(at[b]) for b in vectors[k : k + each]]
            steps = {tuple(b - a) for a, b in itertools.pairwise(cells)}
            if each > 1 and (len(steps) > 1 or sorted(*steps)[:-1] != [0] * (where.ndim - 1) or max(*steps) != 1):
                return False
            mode = max(range(where.ndim), key=lambda m: next(iter(steps), (0,) * where.ndim)[m]) if each > 1 else 0
            if each > 1 and cells[0][mode] * bits % 32:
                return False
            at[None] = {*at.get(None, ()), mode} if each > 1 else set()
    return len(at.get(None, ())) <= 1


def a_layout(rng):
    """Rows, columns, tiles, padding within runs and behind them, swizzles of vectors of all lengths."""
    bits = rng.choice([8, 16, 32, 64])
    rows, columns = rng.choice([4, 8, 16, 24, 48]), rng.choice([16, 32, 48, 64, 96, 128])
    kind = rng.randrange(6)
    if kind == 0:
        return parse(f"({rows},{columns}):({columns + rng.choice([0, 0, 2, 4, 8, 16])},1)"), bits
    if kind == 1:
        return parse(f"({rows},{columns}):(1,{rows})"), bits
    if kind == 2:  # padding behind so many rows
        group, pad = rng.choice([1, 2, 4]), rng.choice([0, 4, 8, 32, 64])
        return parse(f"(({group},{rows // group}),{columns}):(({columns},{columns * group + pad}),1)"), bits
    if kind == 3:
        return parse(f"({rows},({columns // 16},16)):(16,({rows * 16},1))"), bits
    if kind == 4:
        return parse(f"Sw<{rng.randrange(1, 4)},{rng.randrange(5)},{rng.randrange(3, 5)}> o 0 o (16,64):(64,1)"), bits
    return parse("(4,8,32):(256,32,1)") if rng.random() < 0.5 else parse("(4,8,32):(32,128,1)"), bits


def test_random_layouts():
    """What is accepted is executed; what is refused no wave could fill, of any width that the machine has."""
    rng, accepted, refused = random.Random(12), 0, 0
    for _ in range(amount(60, 3000)):
        layout, bits = a_layout(rng)
        arch = rng.choice(["gfx942", "gfx950"])
        widths = [w for w in WIDTHS[arch] if w % bits == 0]
        try:
            found = loads_to_lds(layout, as_element(f"uint{bits}_t"), arch=arch)
        except TlaError as error:
            refused += 1
            assert not any(could_fill(layout, bits, w) for w in widths), (layout, bits, arch, error)
            continue
        accepted += 1
        assert found.width == next(w for w in widths if could_fill(layout, bits, w)), (layout, bits, arch)
        require_filled(found, layout, bits)
    assert min(accepted, refused) >= amount(10, 500)


@pytest.mark.parametrize("waves", [1, 2, 4])
def test_waves_share_the_loads(waves):
    layout = parse("Sw<3,3,3> o 0 o (64,64):(64,1)")
    found = loads_to_lds(layout, half, arch="gfx950", waves=waves, base=4096)
    assert found.elements.shape == (waves, 8 // waves, 64, 8)
    assert sorted(itertools.chain(*found.m0)) == [4096 + 1024 * k for k in range(8)]
    require_filled(found, layout, 16, 4096)
    assert (found.access.wavefronts, found.access.least, found.access.degree, found.access.total) == (8, 8, 1, 64)
    assert found.instructions == ("global_load_lds_dwordx4", "buffer_load_dwordx4 lds")


def test_threads_that_are_asked_for():
    """Lanes along the rows fill plain rows. A swizzle wants other threads: those of the default."""
    threads = parse(
        "((8,32),(8,2)):((512,1),(64,32))"
    )  # of an index (row, column), rows first: 8 lanes along a row of 64 halves
    plain, swizzled = parse("(64,64):(64,1)"), parse("Sw<3,3,3> o 0 o (64,64):(64,1)")
    found = loads_to_lds(plain, half, arch="gfx950", threads=threads)
    require_filled(found, plain, 16)
    assert (len(found.m0), found.along) == (4, 1)
    with pytest.raises(
        DivisibilityError, match=r"lane 8 of wave 0 writes \(1, 0\) to byte 128\n.*byte 144, where it lies"
    ):
        loads_to_lds(swizzled, half, arch="gfx950", width=128, threads=threads)
    for wrong, error, says in (
        ("((8,32),(8,1)):((512,1),(64,0))", InjectivityError, "(32, 0) is not loaded once"),
        ("((8,32),(8,2)):((512,1),(64,64))", RangeError, "elements 0 to 4095"),
        ("((8,4),(8,16)):((512,1),(64,4))", RankError, "waves of 64 threads"),
        ("((8,32),(4,4)):((512,1),(64,32))", DivisibilityError, "one after another along mode 1"),
    ):
        with pytest.raises(error, match=re.escape(says)):
            loads_to_lds(plain, half, arch="gfx950", width=128, threads=parse(wrong))


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (
            lambda: loads_to_lds(parse("(64,64):(72,1)"), half, arch="gfx950", width=128),
            DivisibilityError,
            "pad behind whole runs of 1024 bytes",
        ),
        (lambda: loads_to_lds(parse("(8,8):(8,1)"), half), DivisibilityError, "a multiple of 256"),
        (lambda: loads_to_lds(parse("(8,64):(64,1)"), half, waves=8), DivisibilityError, "a multiple of 2048"),
        (
            lambda: loads_to_lds(parse("(64,64):(64,1)"), half, width=128),
            RangeError,
            "loads to LDS of 128 bits on gfx942",
        ),
        (lambda: loads_to_lds(parse("(64,64):(64,1)"), half, arch="gfx90a"), LeafTypeError, 'arch="gfx950"'),
        (lambda: loads_to_lds(parse("(64,64):(64,1)"), half, waves=0), RangeError, "1 to 16"),
        (lambda: loads_to_lds(parse("(64,64):(64,1)"), half, along=0), DivisibilityError, "along mode 0"),
        (lambda: loads_to_lds(parse("(64,64):(64,1)"), half, along=2), DivisibilityError, "vectors along one mode"),
        (lambda: loads_to_lds(parse("(64,64):(64,0)"), half), InjectivityError, "two elements of one place"),
        (lambda: loads_to_lds(parse("(512,128):(128,1)"), half), RangeError, "byte 131070 of LDS"),
        (lambda: loads_to_lds(parse("(64,64):(-64,1)"), half), RangeError, "byte -8064 of LDS"),
        (lambda: loads_to_lds(parse("(64,64):(64,1)"), half, base=2), DivisibilityError, "begins at byte 2"),
        (lambda: loads_to_lds(parse("(64,64):(64,1)"), as_element("float_e2m1_t")), LeafTypeError, "whole bytes"),
        (lambda: loads_to_lds(parse("(64,64):(64,1)"), as_element("double")), LeafTypeError, "divisors of 32 bits"),
        (lambda: loads_to_lds("(64,64):(64,1)", half), RankError, "known extents"),
        (lambda: loads_to_lds(parse("(0,64):(64,1)"), half), RangeError, "0 elements"),
        (
            lambda: loads_to_lds(parse("Sw<3,0,3> o 0 o (64,64):(64,1)"), half),
            DivisibilityError,
            "one after another along mode 1",
        ),
        (lambda: loads_to_lds(parse("(64,(2,32)):(64,(32,1))"), half), DivisibilityError, "(0, 2) is behind (0, 0)"),
    ],
)
def test_refusals(make, error, says):
    with pytest.raises(error, match=re.escape(says)):
        make()


def test_a_tensor_says_where_it_begins():
    tensor = MakeTensor(None, parse("(16,64):(64,1)"), offset=512)
    assert loads_to_lds(tensor, half).m0[0][0] == 1024


def test_the_best_layout_of_the_reads_is_filled():
    """A swizzle for ds_read_b128 keeps vectors of 16 bytes: it is filled straight from global memory, in as many loads
    as a plain tile."""
    best = best_swizzle([], ["ds_read_b128 gfx950"], 16, tile=(64, 64))
    found = loads_to_lds(best.layout, half, arch="gfx950", waves=4)
    require_filled(found, best.layout, 16)
    assert (found.width, len(found.m0[0]), best.certificate.met) == (128, 2, True)


def test_access_counts_them_by_their_names():
    """128 bytes a wavefront, whichever layout; refused where no wave could fill it."""
    rng, accepted, refused = random.Random(13), 0, 0
    for _ in range(amount(20, 3000)):
        layout, bits = a_layout(rng)
        arch = rng.choice([*WIDTHS])
        width = rng.choice([w for w in WIDTHS[arch] if w != 96 and w % bits == 0] or [32])
        try:
            found = loads_to_lds(layout, as_element(f"uint{bits}_t"), arch=arch, width=width).instructions
        except TlaError:
            found = ("global_load_lds_dword" + ("x4" if width == 128 else ""),)
        name = rng.choice(found) + (" gfx950" if (arch, width) == ("gfx950", 32) else "")
        if len(layout.shape) > 2:  # a pattern is of two modes
            continue
        try:
            counted = access(name, layout, bits)
        except TlaError as error:
            refused += 1
            assert width % bits or not could_fill(layout, bits, width), (name, layout, bits, error)
            continue
        accepted += 1
        assert could_fill(layout, bits, width), (name, layout, bits)
        count = offsets(layout).size * bits
        assert (counted.degree, counted.total, counted.instructions) == (1, count // 1024, count // width // 64)
    assert min(accepted, refused) >= amount(4, 500)


@pytest.mark.parametrize("name", ["buffer_load_dword lds", "global_load_lds_dword gfx950", "buffer_load_dwordx4 lds"])
def test_a_swizzle_for_what_is_filled(name):
    """What they write costs the same in all layouts, so that the reads choose: no swizzle of rows is better."""
    tile, read = (16, 64), "ds_read_b128 gfx950" if "x4" in name or "gfx950" in name else "ds_read_b64"
    found, least = best_swizzle([name], [read], 16, tile=tile), []
    loads_to_lds(found.layout, half, arch="gfx950", width=found.vectors[0])
    for b, m, s in itertools.product(range(1, 5), (2, 3, 4), range(1, 7)):
        if b <= s and b + m + s <= 10:
            layout = parse(f"Sw<{b},{m},{s}> o 0 o (16,64):(64,1)")
            try:
                least.append(access(name, layout, 16).total + access(read, layout, 16).total)
            except TlaError:
                assert m < 3  # swizzled within vectors
    assert found.cost == access(name, found.layout, 16).total + access(read, found.layout, 16).total == min(least)
    assert found.certificate.met


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: access("buffer_load_dword lds", parse("(64,64):(66,1)"), 16), "lane 32 writes to offset 64, where"),
        (lambda: access("buffer_load_dword lds", parse("(3,64):(64,1)"), 16), "fill 192 elements"),
        (lambda: access("buffer_load_dword lds", parse("(4,64):(0,1)"), 16), "two elements of one place"),
        (lambda: access("global_load_lds_dwordx4", MakeLayout((64, 64), (dim("N"), 1)), 16), "sizes that are known"),
        (lambda: access("global_load_lds_dword", parse("(64,64):(64,1)"), 64), "whole vectors of 32 bits"),
        (lambda: best_swizzle(["global_load_lds_dwordx4"], [], 16, tile=(4, 64)), "a multiple of 512"),
        (lambda: convert("buffer_load_dword lds", "ds_read_b64", 16, tile=(64, 64)), "is in no registers"),
    ],
)
def test_names_that_are_refused(make, says):
    with pytest.raises(TlaError, match=re.escape(says)):
        make()


def test_contracts_have_both_machines():
    for text, wanted in (
        ("(64,64):(64,1)", [True, True]),
        ("(64,64):(72,1)", [False, False]),
        ("(2,64):(64,1)", [True, True]),
    ):
        rows = [c for c in contracts(parse(text), half) if c.instruction.startswith("load to LDS")]
        assert [c.holds for c in rows] == wanted
        assert [c.given.arch for c in rows if c.given] == [c.instruction[-6:] for c in rows if c.holds]


# ------------------------------------------------------------------------------------------------- Triton

KERNEL = """from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd import cdna4


@gluon.jit
def kernel(p, q):
    a: gl.constexpr = {threads}
    m: gl.constexpr = gl.SharedLinearLayout({memory})
    smem = gl.allocate_shared_memory(gl.float16, {shape}, m)
    cdna4.async_copy.buffer_load_to_shared(smem, p, {index})
    cdna4.async_copy.commit_group()
    cdna4.async_copy.wait_group(0)
    gl.store(q + {index}, smem.load(a))
"""


def triton_loads(found, layout, folder):
    """How many loads to LDS Triton 3.9 lowers threads to that are linear over bits, for gfx950."""
    units = {name: [] for name in ("register", "lane", "warp")}
    for name, axis in (("register", 3), ("register", 1), ("lane", 2), ("warp", 0)):
        for k in range(int(math.log2(found.shape[axis]))):
            at = [0, 0, 0, 0]
            at[axis] = 1 << k
            index = int(found[tuple(at)])
            units[name].append([index % 64, index // 64])
    where = {int(layout(i, j)): [i, j] for i, j in itertools.product(range(64), range(64))}
    threads = f"gl.DistributedLinearLayout({units['register']}, {units['lane']}, {units['warp']}, [], [64, 64])"
    memory = [where[1 << k] for k in range(12)]
    source = KERNEL.format(threads=threads, memory=memory, shape=[64, 64], index=gluon_compiled.index([64, 64], "a"))
    asm = gluon_compiled.assembled(source, {"p": "*fp16", "q": "*fp16"}, "gfx950", 64, 4, folder, aligned=True)
    return len(re.findall(r"buffer_load_dwordx4 .* lds", asm))


def test_triton_issues_the_same_loads(tmp_path):
    """Threads that are found are lowered in as many instructions; those that are refused are refused there, too."""
    plain = parse("(_64,_64):(_64,_1)")
    found = loads_to_lds(plain, half, arch="gfx950", waves=4)
    assert triton_loads(found.elements, plain, tmp_path) == len(found.m0[0]) == 2
    turned = found.elements.reshape(4, 2, 8, 8, 8).swapaxes(2, 3).reshape(4, 2, 64, 8)  # lanes down the rows
    with pytest.raises(AssertionError):
        triton_loads(turned, plain, tmp_path)
    with pytest.raises(DivisibilityError, match=r"lane 1 of wave 0 writes \(1, 0\) to byte 16\n.*byte 128"):
        loads_to_lds(plain, half, arch="gfx950", width=128, threads=parse("((8,8,4),(8,2)):((1,512,8),(64,32))"))

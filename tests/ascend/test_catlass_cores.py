"""CATLASS's examples on several cores: the blocks of each core, in their order, are those of the schedule by the name of
its scheduler; the tensors are what they should be; and where a block has the same loop, every statement is its own."""

import itertools
import json
import re
from collections import Counter

import pytest
from catlass_examples import ADDRESSES, EXAMPLES as KERNELS, available, logged_on_cores
from catlass_logs import CORES, ELEMENTS
from test_blocks import calls

from tla import MakeLayout, ascend
from tla.ascend import Buffer, Product, RowMajor, block, check, float32, grouped, int32, nZ, uint8
from tla.ascend.programs import Move
from tla.ascend.programs.logs import read_log

from night import some

#: Every statement of every core is that of the block: BlockMmadTla, and what has its loop.
EQUAL = {"13_basic_matmul_tla", "43_ascend950_basic_matmul"}
#: Kernels that keep A in L1: a block loads it with each tile of k.
FULL = {"25_matmul_full_loadA", "73_ascend950_matmul_full_loadA"}
#: What is wrong in CATLASS, as in WRONG of test_foreign_kernels.py: biases of a whole tile, ids that were not set.
WRONG = {
    "20_matmul_bias": ("outside", "of bias"),
    "67_ascend950_batched_matmul": ("flag", "MTE1_M"),
    "68_ascend950_multi_core_splitk_matmul": ("flag", "MTE1_M"),
}
#: Kernels that compute their last blocks in slices of k, by several cores, into a workspace.
CUT = {
    "37_streamk_matmul",
    "66_ascend950_streamk_matmul",
    "69_ascend950_tail_multi_core_splitk_matmul",
}
#: Kernels that take blocks row after row, whatever their scheduler is.
ROWS = {"31_small_matmul", "41_sparse_matmul_tla"}


def swizzle_of(name):
    """The swizzle that is a template argument of a kernel."""
    if name in ROWS:
        return ascend.BlockSchedulerIterateK
    kind, *arguments = re.search(r"Block::(\w*Swizzle\w*)<(\d+), (\d)>", KERNELS[name.split("_")[0]].code).groups()
    return getattr(ascend, kind)[tuple(map(int, arguments))]


def problems(name):
    """The matrix products of a record: the sizes of each, and where A, B and C begin [elements]."""
    d, kind = CORES[name], KERNELS[name.split("_")[0]].more.get("slice")
    (m, n, k), ends = d["problem"], [*itertools.pairwise((0, *d["groups"]))]
    if kind == "m":
        return [((b - a, n, k), a * k, g * k * n, a * n) for g, (a, b) in enumerate(ends)]
    if kind == "k":
        return [((m, n, b - a), m * a, n * a, g * m * n) for g, (a, b) in enumerate(ends)]
    return [((m, n, k), g * m * k, g * k * n, g * m * n) for g in range(d["batch"])]


def table_of(name):
    """The blocks of each core, each with the name of its C: of a product, or of a slice of k."""
    d, swizzle, sizes = CORES[name], swizzle_of(name), [p[0] for p in problems(name)]
    tile, cores = tuple(d["l1"]), len(d["lines"])
    if len(sizes) > 1:
        dealt = grouped(sizes, tile, cores=cores, swizzle=swizzle)
        return [[(f"C{g}", b) for g, b in own] for own in dealt]
    sliced = "splitk" in KERNELS[name.split("_")[0]].more
    table = swizzle(sizes[0], tile, cores=cores, splitkFactor=2 if sliced else 1).table
    starts = sorted({b.start[2] for own in table for b in own})
    return [[(f"C{starts.index(b.start[2])}" if sliced else "C", b) for b in own] for own in table]


def tensors_of(name):
    """The tensors of a record: A, B and C, numbered where there are several; of slices of k a C of each in the
    workspace."""
    d, more, found, given = CORES[name], KERNELS[name.split("_")[0]].more, {}, problems(name)
    for g, ((m, n, k), *starts) in enumerate(given):
        sizes = (m, k), (k // 2 if "sparse" in more else k, n), (m, n)
        for which, shape, start in zip("abc", sizes, starts):
            element, layout = ELEMENTS[d[which][0]], getattr(ascend, d[which][1])
            at = ADDRESSES[which.upper()] + start * element.bits // 8
            found[which.upper() + (str(g) if len(given) > 1 else "")] = at, element, MakeLayout[element, layout](*shape)
    m, n, k = d["problem"]
    if "splitk" in more:
        del found["C"]
        for i in range(2):
            found[f"C{i}"] = ADDRESSES["W"] + 4 * i * m * n, float32, MakeLayout[float32, RowMajor](m, n)
    if name in CUT:
        found["W"] = ADDRESSES["W"], float32, MakeLayout(2 * len(d["lines"]) * d["l1"][0] * d["l1"][1])
    if "bias" in more:
        found["bias"] = ADDRESSES["Bias"], ELEMENTS[more["bias"]], MakeLayout(n)
    if "sparse" in more:
        found["index"] = ADDRESSES["W"], uint8, MakeLayout[int32, nZ](k // 8, n)
    return found


def stored(program):
    """The results that leave L0C, in their order: tensor, place, rows and columns."""
    moves = [s for s in program.body if isinstance(s, Move) and s.src == "L0C"]
    return [(s.dst, s.instruction.dst, *(s.instruction.parameters[x] for x in ("mSize", "nSize"))) for s in moves]


def read(name, core):
    """The program that a core has logged."""
    found = [Buffer(n, "GM", element, layout, at) for n, (at, element, layout) in tensors_of(name).items()]
    return read_log(CORES[name]["lines"][core], CORES[name]["arch"], found)


@pytest.mark.parametrize("name", some(CORES, 3))
def test_each_core_has_the_blocks_of_the_schedule_and_they_are_right(name):
    """Its tiles of C, in the order of the schedule, are the products that they should be, by an order that the flags
    allow; of blocks in slices, which CATLASS computes first, the sizes."""
    tensors, found, sliced = tensors_of(name), set(), "splitk" in KERNELS[name.split("_")[0]].more
    more = {"bias": "bias" if "bias" in tensors else None, "sparse": "index" if "index" in tensors else None}
    more |= {"relu": name.startswith("26")}
    kind, what = WRONG.get(name, (None, ""))
    for core, own in enumerate(table_of(name)):
        own = [(c, b) for c, b in own if min(b.extents) > 0]
        parts = [b for _, b in own if name in CUT and b.extents[2] < CORES[name]["problem"][2]]
        whole = [(c, b) for c, b in own if b not in parts]
        results = []
        for c in (x for x in tensors if x[0] == "C"):
            a, b = ("A", "B") if sliced else (f"A{c[1:]}", f"B{c[1:]}")
            results.append(Product(c, a, b, blocks=tuple(block for which, block in whole if which == c), **more))
        report = check(CORES[name]["lines"][core], tensors, results, CORES[name]["arch"])
        new = [f for f in report.findings if not (name in CUT and f.what.endswith(" of W is written"))]
        assert all(f.kind == kind and what in f.what for f in new), (core, str(report))
        found |= {f.kind for f in new}
        out = stored(read(name, core))
        wanted = [(c, int(tensors[c][2](b.start[:2])), *b.extents[:2]) for c, b in whole]
        assert [x for x in out if x[0] != "W"] == wanted, core
        assert Counter(x[2:] for x in out if x[0] == "W") == Counter(b.extents[:2] for b in parts), core
    assert found == ({kind} if kind else set()) or (
        kind == "flag" and not found
    )  # the stack may hold an id that is set


def made(name):
    """The block of a record of one product."""
    d, more = CORES[name], KERNELS[name.split("_")[0]].more
    a, b, c = ((ELEMENTS[d[x][0]], getattr(ascend, d[x][1])) for x in "abc")
    rest = {"unit_flag": True, "swizzle": swizzle_of(name), "cores": len(d["lines"])}
    rest |= {"bias": "bias" in more, "sparse": "sparse" in more, "splitkFactor": 2 if "splitk" in more else 1}
    sizes = (tuple(d[x]) for x in ("problem", "l1", "l0"))
    return block(*sizes, d["arch"], a=a, b=b, c=float32 if name in CUT else c, **rest)


ONE = [name for name in CORES if len(problems(name)) == 1]


def loads(program, sides):
    """The transfers of matrices from global memory to L1: what they read, by their fields."""
    rows = [x for x in calls(program) if isinstance(x, tuple) and x[0] in ("Nd2Nz", "DataCopy") and x[2][0] in sides]
    return Counter((kind, src, tuple(x for x in fields if "dst" not in x[0])) for kind, _, src, fields in rows)


@pytest.mark.parametrize("name", some(ONE, 3))
def test_a_block_moves_the_tiles_of_the_kernel_and_is_right(name):
    """Its own proof holds on every core, and it moves the same tiles to L1. What may differ is the order of k, which
    some kernels turn from block to block, and the stage; of those with the same loop nothing does."""
    b, sides = made(name), "B" if name in FULL else "AB"
    for core in range(len(CORES[name]["lines"])):
        assert b.check(core).holds
        theirs, ours = read(name, core), b.programs[core]
        assert loads(theirs, sides) == loads(ours, sides), core
        assert ([*calls(theirs)] == [*calls(ours)]) == (name in EQUAL), core


@pytest.mark.skipif(available() is not None, reason=str(available()))
@pytest.mark.parametrize("name", some(CORES, 8))
def test_the_record_is_what_the_headers_log(name, tmp_path):
    """All but the ids that CATLASS takes from the stack."""

    def told(record):
        lines = [[re.sub(r'"id": ?-?\d{2,}', '"id":', line) for line in own] for own in record["lines"]]
        return json.loads(json.dumps({**record, "lines": lines}))

    assert told(logged_on_cores(KERNELS[name.split("_")[0]], tmp_path)) == told(CORES[name])

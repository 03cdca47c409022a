"""Pallas kernels on TPU, whole: 2,070 kernels that libtpu compiled, or that were refused, for seven generations; and
what a grid copies."""

import gzip
import importlib.util
import itertools
import json
import math
import os
import random
import re
import subprocess
import sys

import pytest

from tla import LeafTypeError, RangeError, RankError, xla

from night import amount, some
from truth import DATA

CASES = json.loads(gzip.decompress((DATA / "xla" / "kernels.json.gz").read_bytes()))["cases"]


def block_of(row):
    return xla.block(row["type"], tuple(row["shape"]), tuple(row["block"]), row.get("buffers"), target=row["target"])


def call_of(row):
    grid = tuple(-(-n // (b or 1)) for n, b in zip(row["shape"], row["block"]))
    spec = (
        row["type"],
        tuple(row["shape"]),
        tuple(row["block"]),
        lambda *i: i,
        *([row["buffers"]] if "buffers" in row else []),
    )
    return xla.pallas_call(grid, [spec], [spec], target=row["target"]) if math.prod(grid) <= 4096 else None


def test_verdicts_are_those_of_the_compilers():
    taken = refused = 0
    for row in CASES:
        found = block_of(row)
        assert found.legal == row["lowered"], row
        if row.get("error", "Pallas") != "Pallas":
            refused += 1
            assert (call_of(row) or found).compiles is False, row
        elif row["lowered"]:
            taken += 1
            assert found.compiles, row
            assert str(found.memref) == row["memref"], row
    assert (taken > 1200, refused > 300, len({row["target"] for row in CASES})) == (True, True, 7)


def test_vmem_of_a_kernel_is_that_of_the_compiler():
    rows = [row for row in CASES if row.get("inside") == [False, False]]
    compared = [(row, call.vmem) for row in some(rows, 3) if (call := call_of(row)) is not None]
    assert len(compared) > amount(300, 950)
    assert [(row, size) for row, size in compared if size != row["vmem"]] == []


@pytest.mark.parametrize(
    ("given", "target", "says"),
    [
        (("f16", (512, 512), (256, 256)), "v6e", "loads no f16"),
        (("f8e4m3", (256, 512), (64, 256)), "v2", "loads no f8e4m3"),
        (("f8e3m4", (32, 128), (32, 128)), "tpu7x", "loads no f8e3m4"),
        (("f8e4m3fnuz", (2048,), (2048,)), "v5e", "loads no f8e4m3fnuz"),
        (("f8e5m2fnuz", (256, 128), (16, 128)), "v4", "loads no f8e5m2fnuz"),
        (("s4", (64, 128), (64, 128)), "v3", "packs no s4.*convert it to s8"),
        (("u4", (64, 128), (64, 128)), "v3", "packs no u4.*convert it to u8"),
        (("f4e2m1fn", (256, 128), (16, 128)), "v2", "packs no f4e2m1fn.*convert it to bf16"),
        (("s8", (40,), (40,)), "v4", "pad 40 to 512"),
        (("bf16", (1000,), (1000,)), "v2", "pad 1000 to 1024"),
        (("f32", (4096,), (128,)), "v3", "a block of n \\* 256"),
        (("f32", (8192, 8192), (8192, 4096)), "v5e", "take a smaller block"),
    ],
)
def test_what_mosaic_refuses_comes_with_what_it_takes(given, target, says):
    found = xla.block(*given, target=target)
    assert (found.legal, found.compiles) == (True, False)
    assert re.search(says, found.mosaic)


def test_the_changes_that_a_refusal_names_compile():
    for kind, shape, extents, target in (
        ("u8", (64, 128), (64, 128), "v3"), ("bf16", (256, 128), (16, 128), "v2"),
        ("bf16", (512, 512), (256, 256), "v6e"), ("s8", (64, 128), (64, 128), "v3"), ("s8", (512,), (512,), "v4"),
        ("bf16", (1024,), (1024,), "v2"), ("f32", (4096,), (256,), "v3"), ("f32", (8192, 8192), (2048, 2048), "v5e"),
    ):  # fmt: skip
        assert xla.block(kind, shape, extents, target=target).compiles
    assert "emit_pipeline" in xla.block("f32", (64, 128), (8, 128), 3).refused
    assert "no scalar" in xla.block("f32", (1, 1), (None, None)).refused


#: Of types that no row of CASES has, kernels that libtpu 0.0.52 compiled for each generation: memory reference, VMEM.
OTHERS = """
f8e8m0fnu 256,512 64,256 65536 memref<64x256xf8E8M0FNU, #tpu.tiled<({},128)(4,1),[2,1]>, #tpu.memory_space<vmem, tc>>
f8e4m3b11fnuz 32,128 32,128 8192 memref<32x128xf8E4M3B11FNUZ, #tpu.tiled<({},128)(4,1),[1,1]>, #tpu.memory_space<vmem, tc>>
f4e2m1fn 256,512 64,256 32768 memref<64x256xf4E2M1FN, #tpu.tiled<(64,128)(8,1),[2,1]>, #tpu.memory_space<vmem, tc>>
f4e2m1fn 32,128 32,128 4096 memref<32x128xf4E2M1FN, #tpu.tiled<(8,128)(8,1),[1,1]>, #tpu.memory_space<vmem, tc>>
"""


def test_other_types_of_eight_and_four_bits():
    for line in OTHERS.split("\n")[1:-1]:
        kind, *sizes, vmem, memref = line.split(" ", 4)
        shape, extents = (tuple(map(int, text.split(","))) for text in sizes)
        for target in ("v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"):
            first = target in ("v2", "v3")
            if first and kind == "f4e2m1fn":
                continue
            row = (kind, shape, extents, lambda i, j: (i, j))
            call = xla.pallas_call(tuple(-(-n // b) for n, b in zip(shape, extents)), [row], [row], target=target)
            assert (call.compiles, call.vmem) == (True, int(vmem)), (target, line)
            assert str(call.windows[0].block.memref) == memref.format(8 if first else 32), (target, line)


@pytest.mark.parametrize("kind", ["s2", "u2", "s1", "f6e2m3fn", "s64", "c64"])
def test_types_of_other_sizes_are_refused(kind):
    """libtpu 0.0.52 ends at int2 blocks of 100 lanes, and has 16 rows in a tile where 8 were said here."""
    with pytest.raises(RangeError, match=f"a block of {kind}.*\n.*elements of 4, 8, 16 or 32 bits"):
        xla.block(kind, (256, 128), (16, 128))


# ------------------------------------------------------------------------------------------------ what a grid copies


def copies_oracle(grid, index_map):
    """How often the number of the block changes, from loops as the grid runs them."""
    count, before = 0, None
    for step in itertools.product(*map(range, grid)):
        now = tuple(index_map(*step))
        count, before = count + (now != before), now
    return count


@pytest.mark.parametrize("seed", range(12))
def test_copies_are_counted_as_the_grid_runs(seed):
    rng = random.Random(seed)
    grid = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([2, 3])))
    a, b = (rng.randrange(len(grid)) for _ in range(2))
    spec = ("f32", (64, 1024), (8, 128), lambda *step: (step[a], step[b]))
    found = xla.pallas_call(grid, [spec], [("f32", (64, 128), (64, 128), lambda *step: (0, 0))])
    window = found.windows[0]
    assert window.copies == copies_oracle(grid, spec[3])
    assert window.bytes == window.copies * 8 * 128 * 4


MATMUL = {
    "inputs": [
        ("bf16", (2048, 2048), (256, 256), lambda i, j, k: (i, k)),
        ("bf16", (2048, 2048), (256, 256), lambda i, j, k: (k, j)),
    ],
    "outputs": [("f32", (2048, 2048), (256, 256), lambda i, j, k: (i, j))],
}


def test_a_matrix_product_copies_each_argument_once_a_tile_of_the_result():
    found = xla.pallas_call((8, 8, 8), **MATMUL)
    assert found.compiles
    assert [w.copies for w in found.windows] == [512, 512, 64]
    assert found.traffic == 2 * 512 * 256 * 256 * 2 + 64 * 256 * 256 * 4
    assert found.vmem == 2 * (2 * 256 * 256 * 2 + 256 * 256 * 4)
    assert not found.advice


def test_a_result_that_is_left_and_visited_again_is_refused():
    outer = xla.pallas_call((8, 8, 8), MATMUL["inputs"], [("f32", (2048, 2048), (256, 256), lambda i, j, k: (j, k))])
    assert "visited again" in outer.refused


def test_the_order_that_is_advised_copies_what_it_says():
    """A row of blocks stays where the dimension that it does not use runs fastest."""
    arguments = [
        ("f32", (64, 128), (8, 128), lambda i, j: (j, 0)),
        ("f32", (512, 128), (8, 128), lambda i, j: (8 * i + j, 0)),
    ]
    result = [("f32", (64, 1024), (8, 128), lambda i, j: (j, i))]
    now = xla.pallas_call((8, 8), arguments, result)
    (advice,) = now.advice
    swapped = [(*row[:3], lambda j, i, f=row[3]: f(i, j)) for row in (*arguments, *result)]
    better = xla.pallas_call((8, 8), swapped[:2], swapped[2:])
    assert better.traffic < now.traffic
    assert f"(1, 0), the last one fastest, copy {better.traffic:,} bytes in place of {now.traffic:,}" in advice


def test_blocks_at_the_edge_copy_what_is_in_the_array():
    found = xla.pallas_call(
        (2, 2), [("f32", (12, 200), (8, 128), lambda i, j: (i, j))], [("f32", (12, 200), (8, 128), lambda i, j: (i, j))]
    )
    assert found.windows[0].bytes == 4 * 8 * 128 * 4  # of the last rows 4, in a tile of 8
    assert "argument   (8,128) of f32[12,200]: 4 copies, 16,384 bytes" in str(found)


def test_calls_that_cannot_be():
    row = ("f32", (64, 128), (8, 128), lambda i: (i, 0))
    for arguments, error, says in (
        (((2**21,), [row], [row]), RangeError, "a grid of"), (((0,), [row], [row]), RangeError, "1 step or more"), (((8,), [row], []), RangeError, "without results"),
        (((9,), [row], [row]), RangeError, r"block \(8, 0\)"), (((8,), [row[:3]], [row]), LeafTypeError, "index map"),
        (((8,), [(*row[:3], lambda i: i)], [row]), RankError, "one integer a dimension"),
    ):  # fmt: skip
        with pytest.raises(error, match=says):
            xla.pallas_call(*arguments)
    big = ("f32", (8192, 8192), (2048, 2048), lambda i: (i, 0))
    assert "take smaller blocks" in xla.pallas_call((4,), [big, big, big, big], [big]).refused
    assert (
        xla.pallas_call((8,), [row], [row], [("f32", (8, 128))]).vmem == xla.pallas_call((8,), [row], [row]).vmem + 4096
    )


@pytest.mark.skipif(
    importlib.util.find_spec("libtpu") is None, reason="libtpu is not installed: pip install jax libtpu"
)
def test_kernels_that_libtpu_compiles_now(tmp_path):
    """A few fresh kernels, compiled here: the recorded answers are those of this compiler."""
    command = [sys.executable, str(DATA.parent / "bench" / "tpu" / "kernels.py"), "7", "4", "2"]
    environment = {**os.environ, "TLA_TPU_CACHE": str(tmp_path), "PYTHONPATH": str(DATA.parent.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines()[-1:] == ["{'blocks': 6}"], (done.stdout, done.stderr[-2000:])


def test_the_index_map_is_asked_once_for_each_step_whatever_the_orders_that_are_tried():
    asked = []

    def at(i, j, k):
        asked.append((i, j, k))
        return i, j

    call = xla.pallas_call(
        (4, 1, 8), [("f32", (32, 128), (8, 128), lambda i, j, k: (i, 0))], [("f32", (32, 128), (8, 128), at)]
    )
    assert len(asked) == len({*asked}) == 32
    assert call.traffic == 2 * 32 * 128 * 4


# ---------------------------------------------------------------- VMEM of whole calls, as libtpu 0.0.52 says it


def steps_of(grid):
    """Arguments and results that have another block at each step: two buffers of 4096 bytes each."""
    return ("f32", (64, 128), (8, 128), (lambda i: (i, 0)) if len(grid) == 1 else lambda i, j: (i * grid[1] + j, 0))


@pytest.mark.parametrize(
    ("grid", "index_map", "buffers", "vmem"),
    [
        ((8,), lambda i: (i, 0), (), 24576),
        ((8,), lambda i: (0, 0), (), 20480),
        ((8,), lambda i: (3, 0), (), 20480),
        ((8,), lambda i: (i * 0, 0), (), 20480),
        ((8,), lambda i: (i - i, 0), (), 20480),
        ((8,), lambda i: (i % 1, 0), (), 20480),
        ((8,), lambda i: (i // 8, 0), (), 24576),  # the compiler does not see that it is 0
        ((8,), lambda i: (min(i, 0), 0), (), 24576),
        ((8,), lambda i: (int(i > 100), 0), (), 24576),
        ((8,), lambda i: ([0] * 8)[i] or (0, 0), (), 24576),
        ((8,), lambda i: (0, 0), (2,), 20480),
        ((8,), lambda i: (0, 0), (1,), 20480),
        ((8,), lambda i: (i, 0), (1,), 20480),
        ((8, 1), lambda i, j: (j, 0), (), 20480),  # a dimension of one step
        ((2, 4), lambda i, j: (i, 0), (), 24576),
        ((2, 4), lambda i, j: (j, 0), (), 24576),
        ((2, 4), lambda i, j: (0, 0), (), 20480),
    ],
)
@pytest.mark.parametrize("target", ["v3", "v5e"])
def test_a_window_that_stays_has_one_buffer(grid, index_map, buffers, vmem, target):
    """Of a window whose block does not depend on the step no second buffer is filled."""
    row = steps_of(grid)
    call = xla.pallas_call(grid, [row, ("f32", (64, 128), (8, 128), index_map, *buffers)], [row], target=target)
    assert (call.vmem, call.compiles) == (vmem, True)
    assert call.windows[1].block.buffers == (vmem - 16384) // 4096


def test_what_fits_with_one_buffer_is_not_refused_for_two():
    half = ("f32", (8192, 4096), (4096, 4096), lambda i: (0, 0))
    row = ("f32", (64, 128), (8, 128), lambda i: (i, 0))
    assert xla.pallas_call((8,), [half], [row]).compiles
    assert not xla.pallas_call((2,), [(*half[:3], lambda i: (i, 0))], [row]).compiles


@pytest.mark.parametrize(
    ("target", "scratch", "vmem"),
    [
        ("v5e", [("f32", (1, 128))], 512), ("v5e", [("f32", (1, 128))] * 3, 1536), ("v5e", [("f32", (3,))], 512),
        ("v5e", [("f32", (3,)), ("f32", (5, 128)), ("f32", (1, 1))], 5120), ("v5e", [("f32", (8, 128)), ("f32", (1, 128))], 4608),
        ("v5e", [("s8", (17, 512)), ("s8", (4, 256)), ("f8e5m2", (3, 4, 128))], 12288 + 1024 + 1536),
        ("v6e", [("f32", (2, 128)), ("f32", (1, 128)), ("f32", (4, 128)), ("f32", (1, 128))], 4096),
        ("tpu7x", [("f32", (1, 128)), ("f32", (8, 128)), ("f32", (1, 128))], 5120), ("v4", [("f32", (1, 128))], 512),
        ("v3", [("f32", (1, 128))], 4096), ("v3", [("f32", (1, 128))] * 3, 12288), ("v3", [("f32", (8, 128)), ("f32", (1, 128))], 8192),
        ("v3", [("s32", (2, 8, 256)), ("bf16", (4, 64))], 16384 + 4096), ("v2", [("f32", (2, 128))], 4096),
    ],
)  # fmt: skip
def test_scratch_takes_what_the_compiler_says(target, scratch, vmem):
    """Lines of 512 bytes, beside windows that begin at multiples of 1024; on the first generations lines of 4096."""
    row = ("f32", (64, 128), (8, 128), lambda i: (i, 0))
    call = xla.pallas_call((8,), [row], [row], scratch, target=target)
    assert (call.vmem, call.compiles) == (16384 + vmem, True)


def test_scratch_that_mosaic_does_not_load_is_refused():
    row = ("f32", (64, 128), (8, 128), lambda i: (i, 0))
    assert "loads no f16" in xla.pallas_call((8,), [row], [row], [("f16", (16, 128))]).refused
    assert "pad 128 to 512" in xla.pallas_call((8,), [row], [row], [("f8e5m2", (128,))], target="v4").refused
    assert xla.pallas_call((8,), [row], [row], [("f32", (3, 5))]).compiles  # no rule of blocks is one of scratch


@pytest.mark.parametrize("seed", range(4))
def test_copies_by_a_table_of_prefetched_scalars(seed):
    """An index map of a grid with scalar prefetch takes the table behind the step."""
    rng = random.Random(seed)
    grid, table = (rng.randint(1, 4), rng.randint(1, 4)), [rng.randrange(3) for _ in range(4)]
    row = ("f32", (64, 128), (8, 128), lambda i, j, t: (t[j], 0))
    out = ("f32", (128, 128), (8, 128), lambda i, j, t: (i * 4 + j, 0))
    call = xla.pallas_call(grid, [row], [out], prefetch=(table,))
    assert call.windows[0].copies == copies_oracle(grid, lambda i, j: (table[j], 0))
    first = xla.pallas_call(
        (8,),
        [("f32", (64, 128), (8, 128), lambda i, t: (t[0], 0))],
        [(*steps_of((8,))[:3], lambda i, t: (i, 0))],
        prefetch=([0] * 8,),
    )
    assert first.vmem == 4096 + 8192  # the first scalar is the same one at each step


def test_specs_of_pallas_are_read_as_they_are():
    pytest.importorskip("jax")
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    shape = (64, 128)
    step = pl.BlockSpec((8, 128), lambda i: (i, 0))
    plain = xla.pallas_call((8,), [("f32", shape, step)], [("f32", shape, step)])
    row = ("f32", shape, (8, 128), lambda i: (i, 0))
    assert str(plain) == str(xla.pallas_call((8,), [row], [row]))
    for spec, more in (
        (pl.BlockSpec(memory_space=pl.ANY), 0), (pl.BlockSpec(memory_space=pltpu.HBM), 0), (pl.BlockSpec(memory_space=pltpu.SMEM), 0),
        (pl.BlockSpec(memory_space=pltpu.VMEM), 32768), (pl.BlockSpec(shape), 32768), (pl.BlockSpec((8, 128), lambda i: (0, 0)), 4096),
        (pl.BlockSpec((pl.Blocked(8), 128), lambda i: (i, 0)), 8192), (pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(1)), 4096),
    ):  # fmt: skip
        assert (
            xla.pallas_call((8,), [("f32", shape, step), ("f32", shape, spec)], [("f32", shape, step)]).vmem
            == 16384 + more
        )
    three = pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(3))
    assert "3 buffers" in xla.pallas_call((8,), [("f32", shape, three)], [row]).refused
    scratch = [
        pltpu.VMEM((1, 128), "float32"),
        pltpu.SMEM((8,), "int32"),
        pltpu.SemaphoreType.DMA,
        pltpu.SemaphoreType.DMA((4,)),
        pltpu.SemaphoreType.BARRIER,
    ]
    assert xla.pallas_call((8,), [row], [row], scratch).vmem == 16384 + 512
    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    call = xla.pallas_call((), [("f32", shape, anywhere)], [("f32", shape, anywhere)], [pltpu.VMEM(shape, "float32")])
    assert (call.vmem, call.traffic, call.windows) == (32768, 0, ())
    assert "1 step on v5e" in str(call)
    fields, modes = pl.Buffered.__dataclass_fields__, []  # older releases of JAX have one field
    if "use_lookahead" in fields:  # pallas_call lowers none, and it counted as two buffers
        modes.append((pl.Buffered(2, use_lookahead=True), "a block with lookahead"))
    if "revisit" in fields:
        modes.append((pl.Buffered(1, revisit=pl.RevisitMode.ANY), "RevisitMode.ANY"))
    for mode, says in modes:
        given = pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=mode)
        with pytest.raises(RangeError, match=says):
            xla.pallas_call((8,), [("f32", shape, given)], [row])
    assert xla.block("f32", (4, 64, 128), (pl.Squeezed(), pl.Blocked(8), 128)) == xla.block(
        "f32", (4, 64, 128), (None, 8, 128)
    )
    for extent, says in ((pl.Element(8), "where blocks begin"), (pl.BoundedSlice(8), "emit_pipeline")):
        with pytest.raises(RangeError, match=says):
            xla.block("f32", shape, (extent, 128))


def test_rows_and_maps_that_are_none_are_refused():
    row = ("f32", (64, 128), (8, 128), lambda i: (i, 0))
    for scratch in ("f32", ("f32", (8, 128), 1), 3):
        with pytest.raises(LeafTypeError, match="scratch"):
            xla.pallas_call((8,), [row], [row], [scratch])
    for index_map in (lambda i, j: (i, j), lambda: (0, 0)):
        with pytest.raises(LeafTypeError, match="one that takes 1"):
            xla.pallas_call((8,), [(*row[:3], index_map)], [row])
    with pytest.raises(RankError, match="one integer a dimension"):
        xla.pallas_call((8,), [(*row[:3], lambda i: (True, i))], [row])
    assert xla.pallas_call((8,), [row], [row], target=None).target == "v5e"


def test_integers_of_other_libraries_are_integers():
    numpy = pytest.importorskip("numpy")
    found = xla.block("f32", (numpy.int64(64), 128), (numpy.int32(8), 128))
    assert found == xla.block("f32", (64, 128), (8, 128))
    assert xla.default_layout("f32", (numpy.int64(64), 128)) == xla.default_layout("f32", (64, 128))
    row = ("f32", (64, 128), (8, 128), lambda i: (numpy.int32(i), 0))
    call = xla.pallas_call((8,), [row], [("f32", (64, 128), (8, 128), lambda i: (numpy.array(i), 0))])
    assert call.vmem == 16384

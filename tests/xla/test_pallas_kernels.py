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
        (("s4", (64, 128), (64, 128)), "v3", "packs no s4"),
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
        ("bf16", (512, 512), (256, 256), "v6e"), ("s8", (64, 128), (64, 128), "v3"), ("s8", (512,), (512,), "v4"),
        ("bf16", (1024,), (1024,), "v2"), ("f32", (4096,), (256,), "v3"), ("f32", (8192, 8192), (2048, 2048), "v5e"),
    ):  # fmt: skip
        assert xla.block(kind, shape, extents, target=target).compiles
    assert "emit_pipeline" in xla.block("f32", (64, 128), (8, 128), 3).refused
    assert "no scalar" in xla.block("f32", (1, 1), (None, None)).refused


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

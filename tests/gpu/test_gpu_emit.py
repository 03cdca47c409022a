"""Partitions and their predicates as code: run for every thread, block and value they are what the tensors
of arrays say."""

import itertools
import shutil
import subprocess

import numpy as np
import pytest

import tla.gpu as gpu
from tla import (
    Int,
    MakeLayout,
    MakeTensor,
    Swizzle,
    TlaError,
    composition,
    dim,
    dims,
    local_tile,
    make_identity_tensor,
    parse,
    size,
)
from tla.codegen import emit, emit_guard
from tla.gpu import Copy_Atom, make_tiled_copy, make_tiled_mma, values_of

MMA = make_tiled_mma(gpu.SM80_16x8x16_F32F16F16F32_TN, (2, 2), (32, 32, 16))
COPY = make_tiled_copy(Copy_Atom[gpu.UniversalCopy[gpu.uint128], gpu.half], parse("(_32,_4):(_4,_1)"), (1, 8))
T = dim("t", at_least=0, at_most=127)
BX, KT = dim("bx", at_least=0), dim("kt", at_least=0)
M, K = dims("M K")
PARTS = {"mma": lambda t, x: MMA[t].partition_A(x), "copy": lambda t, x: COPY[t].partition_S(x)}
TILE = (Int[64](), Int[32]())


def run(text, name, numbers):
    """A function of emitted Python, of the parameters that it has among some."""
    space = {}
    exec(text, space)
    f = space[name]
    return lambda **more: f(
        **{k: v for k, v in {**numbers, **more}.items() if k in f.__code__.co_varnames[: f.__code__.co_argcount]}
    )


@pytest.mark.parametrize("kind", PARTS)
def test_offsets_and_predicates_over_tails(kind):
    m, k = 70, 40
    tiles = [
        local_tile(x, TILE, (BX, KT))
        for x in (MakeTensor(None, MakeLayout((M, K), (K, Int[1]()))), make_identity_tensor((M, K)))
    ]
    part, places = (PARTS[kind](T, x) for x in tiles)
    offset = run(emit(part, "python", "v,m,k"), "offset", {"M": m, "K": k})
    valid = run(emit_guard(part, "python", "v,m,k"), "is_valid", {"M": m, "K": k})
    before = run(emit_guard(places, "python", "v,m,k", below=(M, K)), "is_valid", {"M": m, "K": k})
    for bx, kt in itertools.product(range(2), range(2)):
        whole = local_tile(make_identity_tensor((m, k)), TILE, (bx, kt))
        rows, columns = values_of(PARTS[kind](np.arange(128), whole))
        for t, v, i, j in itertools.product((0, 1, 33, 127), *map(range, rows.shape[1:])):
            at, row, column = (
                {"t": t, "v": v, "m": i, "k": j, "bx": bx, "kt": kt},
                int(rows[t, v, i, j]),
                int(columns[t, v, i, j]),
            )
            assert offset(**at) == row * k + column
            assert bool(valid(**at)) is bool(before(**at)) is (row < m and column < k)


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize(("m", "k"), [(17, 19), (33, 64)])
def test_a_whole_tensor_of_unknown_extents_is_cut_as_numbers_are(kind, m, k):
    part = PARTS[kind](T, MakeTensor(None, MakeLayout((M, K), (K, Int[1]()))))
    offset, valid = (
        run(f(part, "python", "v,m,k"), n, {"M": m, "K": k}) for f, n in ((emit, "offset"), (emit_guard, "is_valid"))
    )
    for t in (0, 37, 127):
        numbers, places = (
            PARTS[kind](t, x) for x in (MakeTensor(None, MakeLayout((m, k), (k, 1))), make_identity_tensor((m, k)))
        )
        for v, i, j in itertools.product(*map(range, map(size, numbers.layout.shape))):
            row, column = places(v, i, j)
            assert offset(v=v, m=i, k=j, t=t) == numbers.offset + numbers.layout(v, i, j) == row * k + column
            assert bool(valid(v=v, m=i, k=j, t=t)) == (row < m and column < k)


def test_a_swizzled_partition_in_c(tmp_path):
    smem = composition(Swizzle[3, 3, 3](), parse("(_64,_64):(_64,_1)"))
    part = MMA[T].partition_A(smem)
    loop = (
        "for (int t = 0; t < 128; t++) for (int v = 0; v < 8; v++) for (int m = 0; m < 2; m++) for (int k = 0; k < 4; "
        "k++)"
    )
    text = (
        emit(part, "c", "v,m,k")
        + f'#include <stdio.h>\nint main() {{ {loop} printf("%d\\n", (int)offset(v, m, k, t)); }}\n'
    )
    (tmp_path / "a.c").write_text(text)
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    subprocess.run(["gcc", "-Werror", "-Wall", "a.c", "-o", "a"], cwd=tmp_path, check=True)
    got = [*map(int, subprocess.run(["./a"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split())]
    data = MakeTensor(np.arange(64 * 64), smem)
    assert got == values_of(MMA[np.arange(128)].partition_A(data)).ravel().tolist()
    assert len(got) == 128 * 8 * 2 * 4


def test_a_part_without_a_buffer_knows_its_end_too():
    """A partition of a layout that its tile does not divide: what is past the end is not said to be valid."""
    part = MMA[T].partition_A(MakeTensor(None, parse("(_70,_40):(_40,_1)")))
    valid = run(emit_guard(part, "python", "v,m,k"), "is_valid", {})
    rows, columns = values_of(MMA[np.arange(128)].partition_A(make_identity_tensor((70, 40))))
    for t, v, i, j in itertools.product((0, 77), range(8), range(3), range(3)):
        assert bool(valid(t=t, v=v, m=i, k=j)) is bool(rows[t, v, i, j] < 70 and columns[t, v, i, j] < 40)


def test_what_is_no_place_is_refused():
    part = MMA[T].partition_A(parse("(_32,_16):(_16,_1)"))
    with pytest.raises(TlaError, match="a tensor of coordinates"):
        emit_guard(part, "c", "v,m,k", below=(3, 4))
    with pytest.raises(TlaError, match="2 extents"):
        emit_guard(MMA[T].partition_A(make_identity_tensor((32, 16))), "c", "v,m,k", below=(3, 4, 5))

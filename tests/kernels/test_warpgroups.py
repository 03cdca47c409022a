"""A kernel by wgmma: its text gives what numpy gives; what is not ordered with an asynchronous product is
refused at its line."""

import ctypes
import functools

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tests.kernels.test_warp_instructions import PARAMETERS, Half, in_a_register
from tla import Int, LeafTypeError, RangeError, make_layout, tile_to_shape
from tla.gpu import GMMA, atom, make_fragment_like, make_tiled_mma, mma_facts
from tla.kernels import (
    axpby,
    barrier,
    clear,
    copy,
    fence_view_async_shared,
    gemm,
    kernel,
    local_partition,
    shared,
    tensor,
    thread,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_wait,
)

import nvrtc
from night import amount, some
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples

VARIANTS = ("gemm_nt", "gemm_tn")


@functools.cache
def example():
    return kernel_examples()["variants of wgmma_sm90"]


@functools.cache
def source_of(target, variant):
    return emitted(example()["VARIANTS"][variant], target)


def product(call, number, variant, sizes, rng):
    """Call the kernel for matrices with NaN behind each row, or column; whether C is numpy's, and no more."""
    m, n, k = sizes
    held = []
    for rows in (m, n):
        outer, inner = (k, rows) if variant == "gemm_nt" else (rows, k)
        x = np.full((outer, inner + 8), np.nan, np.float16)
        x[:, :inner] = rng.integers(-1, 2, (outer, inner))
        held.append(x)
    left, right = (
        x[:, :-8].astype(np.float32).T if variant == "gemm_nt" else x[:, :-8].astype(np.float32) for x in held
    )
    c = rng.integers(-3, 4, (n, m + 2)).astype(np.float16)
    expected = c.copy()
    expected[:, :m] = (2 * left @ right.T - 3 * c[:, :m].astype(np.float32).T).T
    numbers, steps = [*map(ctypes.c_int, sizes)], [ctypes.c_int(x.shape[1]) for x in (*held, c)]
    call(*numbers, number(2), pointer(held[0]), steps[0], pointer(held[1]), steps[1], number(-3), pointer(c), steps[2])
    return (c == expected).all()


def sizes_for(variant, drawn):
    """Sizes whose vectors of eight are whole: along M and N, or K."""
    return [(8 * m, 8 * n, k) if variant == "gemm_nt" else (m, n, 8 * k) for m, n, k in drawn]


@pytest.mark.once
@pytest.mark.parametrize("variant", some(VARIANTS, 2))
def test_c_equals_numpy(variant, tmp_path):
    call, rng = c_function(tmp_path, source_of("c", variant)), np.random.default_rng(1)
    drawn = [tuple(map(int, rng.integers(0, 40, 3))) for _n in range(amount(1, 50))]
    for sizes in sizes_for(variant, [(1, 1, 1), (0, 3, 1), (3, 0, 1), (5, 7, 0), (16, 16, 8), (17, 33, 41), *drawn]):
        assert product(call, in_a_register, variant, sizes, rng), sizes


@pytest.mark.once
@pytest.mark.parametrize("variant", some(reversed(VARIANTS), 2))
def test_cuda_executed_by_threads_of_a_cpu_equals_numpy(variant, tmp_path):
    def grid(m, n, *_rest):
        return -(-m.value // 128), -(-n.value // 128)

    call, rng = cuda_function(tmp_path, source_of("cuda", variant), PARAMETERS, grid), np.random.default_rng(2)
    for sizes in sizes_for(variant, [(16, 16, 40), *amount([], [(1, 1, 1), (17, 33, 41), (5, 16, 9)])]):
        assert product(call, lambda x: Half(int(np.float16(x).view(np.uint16))), variant, sizes, rng), sizes


def test_cuda_compiles_to_the_instructions(tmp_path):
    counts = nvrtc.opcodes(nvrtc.compiled(source_of("cuda", "gemm_tn").text, "sm_90a")[1], tmp_path)
    named = {
        name: sum(n for op, n in counts.items() if op.startswith(name))
        for name in ("HGMMA.64x64x16.F16", "LDGSTS", "LDL", "STL")
    }
    assert named["HGMMA.64x64x16.F16"] == 2 * 16, "a loop for whole tiles, one for the others"
    assert named["LDGSTS"] == 16 * (2 + 2), "and two tiles before them"
    assert named["LDL"] == named["STL"] == 0


#: An instruction, its types in numpy, how A and B lie, and the number of warpgroups.
ONE = [
    ("SM90_64x32x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::MN>", "float16", "float32", ("K_SW32", "MN_SW64"), 1),
    (
        "SM90_64x32x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K,GMMA::ScaleIn::Neg>",
        "float16",
        "float32",
        ("K_SW32", "K_INTER"),
        1,
    ),
    ("SM90_64x16x16_F16F16F16_RS<GMMA::Major::K,GMMA::Major::K>", "float16", "float16", (None, "K_SW32"), 2),
    ("SM90_64x16x8_F32TF32TF32_SS_TN", "float32", "float32", ("K_SW32", "K_SW32"), 1),
    ("SM90_64x16x32_S32S8S8_SS_TN", "int8", "int32", ("K_SW32", "K_INTER"), 2),
]


def one_product(name, types, canonical, groups):
    """A kernel of one product of so many warpgroups along M, and the arguments of its text: C = A * B^T."""
    made = atom(name)
    mma = make_tiled_mma(made, (groups, 1))
    m, n, k = (int(x) * y for x, y in zip(made.shape_mnk, (groups, 1, 1)))
    threads = 128 * groups
    shapes = (m, k), (n, k), (m, n)
    each = make_layout((Int[threads // k](), Int[k]()), stride=(Int[k](), Int[1]()))

    @kernel(threads=threads)
    def product(A, B, C):
        t, operands = thread(), []
        for x, name, side in zip((A, B), canonical, "AB"):
            shape = tuple(Int[x]() for x in shapes["AB".index(side)])
            own = mma[t]
            if name is None:
                part = own.partition(side, x)
                held = make_fragment_like(part)
                copy(part, held)
            else:
                memory = shared(types[0], tile_to_shape(getattr(GMMA, name)[made.element(side)], shape))
                copy(*(local_partition(y, each, t) for y in (x, memory)))
                held = getattr(own, f"partition_fragment_{side}")(memory)
            operands.append(held)
        mine = mma[t].partition_C(C)
        total = make_fragment_like(mine)
        clear(total)
        fence_view_async_shared()
        barrier()
        warpgroup_arrive()
        gemm(mma, *operands, total)
        warpgroup_commit_batch()
        warpgroup_wait[0]()
        copy(total, mine)

    layouts = [make_layout((Int[a](), Int[b]()), stride=(Int[b](), Int[1]())) for a, b in shapes]
    return product, [tensor(np.dtype(types[x == 2]), layout) for x, layout in enumerate(layouts)]


@pytest.mark.parametrize(("name", "element", "sums", "canonical", "groups"), ONE, ids=[row[0] for row in ONE])
def test_one_product(name, element, sums, canonical, groups, tmp_path):
    product, given = one_product(name, (element, sums), canonical, groups)
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-2, 3, tuple(map(int, x.layout.shape))).astype(x.dtype) for x in given)
    expected = a.astype(float) @ b.T.astype(float) * (-1 if "Neg" in name else 1)
    report = product.check(a, b, c, arch="sm_90a")
    assert report.holds, report
    product.run(a, b, c)
    assert (c == expected).all()
    nvrtc.compiled(product.source("cuda", *given, arch="sm_90a").text, "sm_90a")
    if "Neg" in name:
        with pytest.raises(LeafTypeError, match="in this target"):
            product.source("c", *given)
        return
    c[:] = 99
    c_function(tmp_path, product.source("c", *given))(*map(pointer, (a, b, c)))
    assert (c == expected).all()


def test_an_accumulator_that_is_not_added_to_is_refused():
    mma, t = make_tiled_mma(atom("SM90_64x32x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K>")), np.arange(128)
    memory = [tile_to_shape(GMMA.K_SW32[mma.atom.val_A], (Int[n](), Int[16]())) for n in (64, 32)]
    total, other = (mma[t].partition_fragment_C(make_layout((Int[64](), Int[32]()))) for _accumulator in range(2))
    operands = mma[t].partition_A(memory[0]), mma[t].partition_B(memory[1])
    assert mma_facts(mma, *operands, total)
    with pytest.raises(LeafTypeError, match="not C"):
        mma_facts(mma, total, *operands, other)
    with pytest.raises(RangeError, match="0 to 255"):
        mma[np.arange(256)].partition_A(memory[0])


@pytest.mark.parametrize("pending", [0, 1])
def test_what_a_newer_product_reads_is_still_under_way_when_an_older_one_has_ended(pending):
    """Two products of one tile; it is written when one group, or both, have ended. The second is of the other sign."""
    plain, other = (
        make_tiled_mma(atom(f"SM90_64x16x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K{sign}>"))
        for sign in ("", ",GMMA::ScaleIn::Neg")
    )
    each = make_layout((Int[8](), Int[16]()), stride=(Int[16](), Int[1]()))

    @kernel(threads=128)
    def products(A, B, C):
        t, own = thread(), plain[thread()]
        memory = [
            shared(np.float16, tile_to_shape(GMMA.K_SW32[plain.atom.val_A], (Int[n](), Int[16]()))) for n in (64, 16)
        ]
        for x, to in zip((A, B), memory):
            copy(*(local_partition(y, each, t) for y in (x, to)))
        mine = own.partition_C(C)
        totals = [make_fragment_like(mine) for _product in range(2)]
        for total in totals:
            clear(total)
        fence_view_async_shared()
        barrier()
        warpgroup_arrive()
        for mma, total in zip((plain, other), totals):
            gemm(mma, own.partition_fragment_A(memory[0]), own.partition_fragment_B(memory[1]), total)
            warpgroup_commit_batch()
        warpgroup_wait[pending]()
        clear(local_partition(memory[0], each, t))
        warpgroup_wait[0]()
        axpby(1, totals[0], 0, mine)
        axpby(1, totals[1], 1, mine)

    shapes = (64, 16), (16, 16), (64, 16)
    a, b, c = (np.ones(shape, np.float32 if k == 2 else np.float16) for k, shape in enumerate(shapes))
    report = products.check(a, b, c)
    assert [race.who for race in report.races] == ["product"] * pending, report
    assert report.holds is (pending == 0)
    products.run(a, b, c)
    assert (c == 0).all()
    if pending == 0:
        layouts = [make_layout((Int[m](), Int[n]()), stride=(Int[n](), Int[1]())) for m, n in shapes]
        text = products.source(
            "cuda", *(tensor(x.dtype, layout) for x, layout in zip((a, b, c), layouts)), arch="sm_90a"
        ).text
        assert len({line for line in text.splitlines() if "asm volatile" in line and "wgmma.mma" in line}) == 2
        nvrtc.compiled(text, "sm_90a")

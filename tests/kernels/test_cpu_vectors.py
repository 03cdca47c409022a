"""Products by the vector registers of a CPU, in C: numpy's results for every order of the operands; what is no vector
is refused."""

import ctypes
import functools
import itertools
import re
import shutil
import subprocess

import numpy as np
import pytest

import tla
from tla import Int, LeafTypeError, dim, local_tile, make_layout, parse, tile_to_shape
from tla.gpu import (
    GMMA,
    SM90_64x64x16_F32F16F16_SS,
    SM100_2x1x1_F32F32F32F32,
    atom,
    half,
    make_fragment_like,
    make_tiled_mma,
)
from tla.kernels import (
    barrier,
    block,
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

from night import amount
from sources_of_kernels import c_function, emitted, kernel_examples


@functools.cache
def variants():
    return kernel_examples()["variants of gemm_cpu"]["VARIANTS"]


@functools.cache
def source_of(variant):
    return emitted(variants()[variant], "c")


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def product(call, orders, m, n, k, rng):
    """Whether a kernel adds numpy's product to matrices whose rows (n) or columns (t) are contiguous, and
    writes no more."""
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (k, n)))
    d = np.full(m * n + 8, np.nan, np.float32)
    d[: m * n] = before = rng.integers(-3, 4, m * n)
    given = [np.asarray(x, order="C" if order == "n" else "F") for x, order in zip((a, b), orders)]
    call(*map(ctypes.c_int, (m, n, k)), *map(pointer, (*given, d)))
    return (d[: m * n] == (a @ b).ravel() + before).all() and np.isnan(d[m * n :]).all()


MORE = [f"{machine}_{order}" for machine in ("avx2", "avx512", "neon") for order in ("nn", "nt", "tn", "tt")]


SMALL = [f"{variant}_small" for variant in MORE]


@pytest.mark.once
@pytest.mark.parametrize("variant", [*amount(["avx2_nn"], MORE), *amount(["avx2_tt_small"], SMALL)])
def test_products_equal_numpy(variant, tmp_path):
    call, rng = c_function(tmp_path, source_of(variant)), np.random.default_rng(7)
    drawn = [tuple(map(int, rng.integers(0, 300, 3))) for _n in range(amount(2, 50))]
    for sizes in [(1, 1, 1), (0, 3, 3), (3, 0, 2), (4, 4, 0), (96, 256, 128), (97, 257, 129), (192, 256, 256), *drawn]:
        assert product(call, variant.split("_")[1], *sizes, rng), sizes


def test_run_equals_numpy_and_is_checked():
    made, _arguments, _parameters = variants()["avx2_nn"]
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((97, 130), (130, 31)))
    d = np.ones((97, 31), np.float32)
    report = made.check(a, b.T, d)
    assert report.holds, report
    made.run(a, b.T, d)
    assert (d == a @ b + 1).all()


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
void kernel_main(int32_t m, int32_t n, int32_t k, const float *A, const float *B, float *D);
int main(void) {
    const int sizes[][3] = {{1, 1, 1}, {97, 257, 129}, {96, 256, 128}, {200, 40, 300}};
    for (unsigned s = 0; s < 4; ++s) {
        const int m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        float *a = malloc(4 * m * k), *b = malloc(4 * n * k), *d = malloc(4 * m * n);
        for (int i = 0; i < m * k; ++i) a[i] = (float)(i * 7 % 3);
        for (int i = 0; i < n * k; ++i) b[i] = (float)(i * 5 % 3);
        for (int i = 0; i < m * n; ++i) d[i] = 1;
        kernel_main(m, n, k, a, b, d);
        for (int i = 0; i < m; ++i) for (int j = 0; j < n; ++j) {
            float sum = 1;
            for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
            if (sum != d[i * n + j]) return printf("%d %d %d differ\\n", m, n, k), 1;
        }
        free(a); free(b); free(d);
    }
    return 0;
}
"""


@pytest.mark.once
@pytest.mark.parametrize(
    ("compiler", "variant"),
    amount([("gcc", "avx2_nn_small")], [*itertools.product(["gcc", "clang-19"], ["avx2_nn", "avx2_nn_small"])]),
)
def test_no_access_past_an_array_and_nothing_undefined(compiler, variant, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    text, main, program = tmp_path / "kernel.c", tmp_path / "main.c", tmp_path / "program"
    text.write_text(source_of(variant).text)
    main.write_text(MAIN)
    words = ["-std=c11", f"-O{amount(0, 1)}", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    done = subprocess.run([compiler, *words, text, main, "-o", program], capture_output=True, text=True, check=False)
    if any(x in done.stderr for x in ("cannot find", "unable to find", "no such file")):
        pytest.skip(f"needs {compiler}'s libraries of its sanitizers")
    assert done.returncode == 0, done.stderr[:4000]
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[:1000] + ran.stderr[:4000]


# ------------------------------------------------------------------------------------------------------ small products


def of_atom(instruction, threads, shapes):
    """A product of one tile in global memory by an atom, of A (M,K), B (N,K) and C (M,N) of layouts."""
    mma = make_tiled_mma(instruction, threads)

    @kernel(threads=int(tla.size(mma)))
    def multiplied(A, B, C):
        own = mma[thread()]
        gemm(mma, own.partition_A(A), own.partition_B(B), own.partition_C(C))

    return multiplied, [tensor(np.float32, parse(text)) for text in shapes]


VECTOR = atom("VFMADD231PS", "avx2")


@pytest.mark.parametrize(
    ("instruction", "shapes"),
    [
        (VECTOR, ("(_4,_6):(_6,_1)", "(_16,_6):(_1,_16)", "(_4,_16):(_16,_1)")),
        (
            VECTOR,
            ("(_4,(_2,_3)):(_1,(_4,_16))", "(_16,(_2,_3)):(_1,(_16,_64))", "(_4,_16):(_24,_1)"),
        ),  # no one stride along K
        (SM100_2x1x1_F32F32F32F32, ("(_4,_5):(_1,_4)", "(_4,_5):(_5,_1)", "(_4,_4):(_1,_4)")),  # a vector of A
    ],
)
def test_steps_along_k_and_vectors_of_either_operand(instruction, shapes, tmp_path):
    made, given = of_atom(instruction, (2, 2), shapes)
    call, rng = c_function(tmp_path, made.source("c", *given)), np.random.default_rng(9)
    held = [rng.integers(-3, 4, int(tla.cosize(x.layout))).astype(np.float32) for x in given]
    a, b, c = (
        np.array(
            [[buffer[int(x.layout(i, j))] for j in range(int(tla.size[1](x)))] for i in range(int(tla.size[0](x)))]
        )
        for buffer, x in zip(held, given)
    )
    call(*map(pointer, held))
    found = np.array([[held[2][int(given[2].layout(i, j))] for j in range(c.shape[1])] for i in range(c.shape[0])])
    assert (found == a @ b.T + c).all()


def test_elements_that_are_no_vector_are_refused():
    shapes = "(_4,_6):(_6,_1)", "(_16,_6):(_6,_1)", "(_4,_16):(_16,_1)"
    made, given = of_atom(VECTOR, (2, 2), shapes)
    with pytest.raises(LeafTypeError, match="B whose 8 elements of a vector do not lie one behind the other"):
        made.source("c", *given)


def test_distances_with_symbols_are_refused():
    ld = dim("ld", at_least=16, at_most=64)
    made, given = of_atom(VECTOR, (2, 2), ("(_4,_6):(_6,_1)", "(_16,_6):(_1,_16)", "(_4,_16):(_16,_1)"))
    given[2] = tensor(np.float32, make_layout((Int[4](), Int[16]()), stride=(ld, Int[1]())))
    with pytest.raises(LeafTypeError, match=r"test_cpu_vectors.py:\d+: D of vectors whose distances have symbols"):
        made.source("c", *given)


@pytest.mark.parametrize("target", ["cuda", "hip"])
def test_other_machines_refuse_it(target):
    made, given = of_atom(VECTOR, (2, 2), ("(_4,_6):(_6,_1)", "(_16,_6):(_1,_16)", "(_4,_16):(_16,_1)"))
    with pytest.raises(LeafTypeError, match=r"the instruction VFMADD231PS in this target's text"):
        made.source(target, *given)


# --------------------------------------------------------------------------------------------------- loops over threads


def test_a_threads_number_is_taken_apart_by_what_it_is_divided_by():
    text = kernel_examples()["variants of transpose"]["VARIANTS"]["transpose"]
    made, arguments, parameters = text
    text = made.source("c", *arguments, parameters=parameters).text
    assert "for (int32_t tid_32_256 = 0; tid_32_256 < 8; ++tid_32_256) {" in text
    assert not re.search(r"\btid\b", text)
    assert "tid_1_32" not in made.source("cuda", *arguments, parameters=parameters).text


def test_products_of_two_warpgroups_go_by_the_threads_number(tmp_path):
    """Their loop is over warpgroups, not over threads: no digit of a thread's number is there."""
    mma, lanes = make_tiled_mma(SM90_64x64x16_F32F16F16_SS, (2, 1, 1)), parse("(_16,_16):(_16,_1)")

    @kernel(threads=256)
    def multiplied(A, B, C):
        t, own = thread(), mma[thread()]
        memory = [shared(np.float16, tile_to_shape(GMMA.K_SW32[half], (Int[n](), Int[16]()))) for n in (128, 64)]
        for matrix, to in zip((A, B), memory):
            copy(*(local_partition(x, lanes, t) for x in (matrix, to)))
        mine = own.partition_C(C)
        total = make_fragment_like(mine)
        clear(total)
        fence_view_async_shared()
        barrier()
        warpgroup_arrive()
        gemm(mma, own.partition_fragment_A(memory[0]), own.partition_fragment_B(memory[1]), total)
        warpgroup_commit_batch()
        warpgroup_wait[0]()
        copy(total, mine)

    rng = np.random.default_rng(10)
    a, b = (rng.integers(-3, 4, (n, 16)).astype(np.float16) for n in (128, 64))
    c = np.zeros((128, 64), np.float32)
    c_function(tmp_path, multiplied.source("c", a, b, c))(*map(pointer, (a, b, c)))
    assert (c == a.astype(np.float32) @ b.T.astype(np.float32)).all()


def test_a_size_may_not_have_the_name_of_a_digit():
    @kernel(threads=4)
    def nothing(a):
        local_tile(a, (4,), (block(0),))

    with pytest.raises(tla.RangeError, match="tid_1_32"):
        nothing.program(tensor(np.float32, make_layout((dim("tid_1_32"),))))

"""The C text of copies between two layouts: numpy's results at every kind of edge, no access past an array, no race;
which lines share a loop over lanes."""

import ctypes
import functools
import re
import shutil
import subprocess

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tests.kernels.test_sanitizers import ARCHER, CLANG, nothing_found
from tla import Int, ceil_div, dim, elem_less, local_tile, make_identity_tensor, make_layout
from tla.kernels import block, copy_if, kernel, local_partition, tensor, thread

from night import amount
from sources_of_kernels import c_function, kernel_examples


@functools.cache
def text_of(example, variant):
    made, arguments, parameters = kernel_examples()[f"variants of {example}"]["VARIANTS"][variant]
    return made.source("c", *arguments, parameters=parameters, name=variant)


# ------------------------------------------------------------------------------------- whole programs under sanitizers

MAIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
void vectors(int32_t m, int32_t n, const float *S, float *D);
void whole_rows(int32_t b, int32_t h, int32_t w, int32_t c, const float *W, float *M);
static float *numbers(int count) {
    float *x = malloc(count ? sizeof(float) * count : 1);
    for (int i = 0; i < count; ++i) x[i] = (float)i;
    return x;
}
int main(void) {
    const int sizes[][2] = {{0, 3}, {1, 1}, {1, 70}, {70, 1}, {7, 9}, {8, 8}, {64, 64}, {65, 63}, {129, 77}, {64, 70}, {72, 64}};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const int m = sizes[s][0], n = sizes[s][1];
        float *a = numbers(m * n), *d = numbers(m * n);
        vectors(m, n, a, d);
        for (int i = 0; i < m; ++i) for (int j = 0; j < n; ++j)
            if (d[j * m + i] != a[i * n + j]) return printf("transpose %d %d\\n", m, n), 1;
        free(a); free(d);
    }
    const int images[][4] = {{1, 3, 3, 1}, {2, 9, 20, 5}, {3, 5, 40, 33}, {1, 4, 4, 64}, {2, 7, 8, 17}};
    for (unsigned s = 0; s < sizeof images / sizeof *images; ++s) {
        const int b = images[s][0], h = images[s][1], w = images[s][2], c = images[s][3], p = (h - 1) / 2, q = (w - 1) / 2;
        float *a = numbers(b * h * w * c), *d = numbers(b * p * q * 9 * c);
        whole_rows(b, h, w, c, a, d);
        for (int i = 0; i < b * p * q * 9 * c; ++i) {
            const int e = i % c, x = i / c % 3, y = i / c / 3 % 3, k = i / c / 9 % q, l = i / c / 9 / q % p, o = i / c / 9 / q / p;
            if (d[i] != a[((o * h + 2 * l + y) * w + 2 * k + x) * c + e]) return printf("im2col %d\\n", i), 1;
        }
        free(a); free(d);
    }
    return 0;
}
"""


@pytest.mark.parametrize(
    ("compiler", "sanitizer"), amount([("gcc", "address,undefined")], [("gcc", "address,undefined"), (CLANG, "thread")])
)
def test_no_access_past_an_array_nothing_undefined_and_no_race(compiler, sanitizer, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    texts = [text_of("transpose", "vectors"), text_of("im2col", "whole_rows")]
    files = [tmp_path / f"{k}.c" for k in range(3)]
    for file, text in zip(files, [*(x.text for x in texts), MAIN]):
        file.write_text(text)
    words = ["-std=c11", f"-O{amount(0, 1)}", "-Wall", "-Wextra", "-Werror", "-fopenmp", f"-fsanitize={sanitizer}"]
    program = tmp_path / "program"
    done = subprocess.run([compiler, *words, *files, "-o", program], capture_output=True, text=True, check=False)
    if any(x in done.stderr for x in ("cannot find", "unable to find", "no such file", "omp.h")):
        pytest.skip(f"needs {compiler}'s libraries of its sanitizers")
    assert done.returncode == 0, done.stderr[:4000]
    nothing_found(program, **(ARCHER if sanitizer == "thread" else {}))


# ---------------------------------------------------------------------------------------------- loops over lanes


def copied(rows, lanes, layout):
    """The text of a copy of a matrix whose tiles have rows, and lanes of each: a thread has one lane of all rows."""
    tile, threads = (Int[rows](), Int[lanes]()), make_layout((1, Int[lanes]()))

    @kernel(threads=lanes, grid=lambda a, _b: tuple(ceil_div(n, k) for n, k in zip(a.shape, tile)))
    def copied(a, b):
        at = block(0), block(1)
        x, y, i = (
            local_partition(local_tile(t, tile, at), threads, thread()) for t in (a, b, make_identity_tensor(a.shape))
        )
        copy_if(elem_less(i, a.shape), x, y)

    m, n = dim("m", at_least=0, at_most=2**12), dim("n", at_least=0, at_most=2**12)
    given = [tensor(np.float32, make_layout((m, n), stride=(n, Int[1]()))), tensor(np.float32, layout(m, n))]
    return copied.source("c", *given, parameters="m n a b")


def by_rows(m, n):
    return make_layout((m, n), stride=(n, Int[1]()))


def by_columns(m, n):
    return make_layout((m, n), stride=(Int[1](), m))


@pytest.mark.parametrize(
    ("rows", "lanes", "layout", "loops"),
    [
        (4, 8, by_columns, [(8, 4), (8, 4), (None, 4), *[(None, 1)] * 4]),  # few lanes: all of them, else all rows
        (4, 32, by_columns, [(32, 4), (None, 4), *[(None, 1)] * 4]),  # all rows together, else each by itself
        (4, 64, by_rows, [*[(64, 1)] * 4, *[(None, 1)] * 4]),  # runs: one behind the other
        (4, 32, by_rows, [(32, 4), (None, 4), *[(None, 1)] * 4]),  # too short to be runs
    ],
)
def test_lines_that_share_a_loop(rows, lanes, layout, loops, tmp_path):
    """What is copied is numpy's, whatever the rows and the lanes that are past the end."""
    source = copied(rows, lanes, layout)
    found = []
    for line in map(str.strip, source.text.splitlines()):
        if (begun := re.match(r"for \(int32_t tid = 0; tid < (\w+);", line)) is not None:
            found.append([int(begun[1]) if begun[1].isdigit() else None, 0])
        elif line.startswith("b["):
            found[-1][1] += 1
    assert [*map(tuple, found)] == loops
    call, rng = c_function(tmp_path, source), np.random.default_rng(0)
    for m, n in [(0, 1), (1, 1), (rows, lanes), (rows - 1, lanes + 1), (rows + 1, lanes - 1), (2 * rows + 3, 3)]:
        a, b = rng.random((m, n), np.float32), np.full(m * n + 8, np.nan, np.float32)
        call(ctypes.c_int(m), ctypes.c_int(n), pointer(a), pointer(b))
        assert (b[: m * n].reshape((m, n) if layout is by_rows else (n, m)) == (a if layout is by_rows else a.T)).all()
        assert np.isnan(b[m * n :]).all()


@pytest.mark.parametrize(
    ("extent", "tile"), [(lambda k: k, 32), (lambda k: 3 * k, 100), (lambda k: 2 * k + 1, 2), (lambda k: 4 * k + 2, 4)]
)
def test_a_size_that_is_known_to_be_no_multiple_of_the_tile(extent, tile, tmp_path):
    """Below the tile for all sizes that facts allow, or odd: the last tile is cut as one of any size is."""
    k = dim("k", at_least=0, at_most=20)
    vector = tensor(np.float32, make_layout((extent(k),), stride=(Int[1](),)))

    @kernel(threads=tile, grid=lambda a, _b: (ceil_div(a.shape[0], tile),))
    def copied(a, b):
        parts = (local_tile(t, (tile,), (block(0),)) for t in (a, b, make_identity_tensor(a.shape)))
        x, y, i = (local_partition(t, make_layout(tile), thread()) for t in parts)
        copy_if(elem_less(i, a.shape), x, y)

    call = c_function(tmp_path, copied.source("c", vector, vector, parameters="k a b"))
    for n in range(20):
        a, b = np.arange(96, dtype=np.float32), np.full(96, np.nan, np.float32)
        call(ctypes.c_int(n), pointer(a), pointer(b))
        assert (b[: extent(n)] == a[: extent(n)]).all()
        assert np.isnan(b[extent(n) :]).all()

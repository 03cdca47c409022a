"""The C text of products run under sanitizers: no access past an array, nothing undefined, no two blocks that race.

The sanitizer of threads sees how clang's OpenMP hands work over by LLVM's tool Archer; of gcc's it would
report just that.
"""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from night import amount
from sources_of_kernels import emitted, kernel_examples

#: Products of sizes over arrays of the size that they need, compared with sums of three loops.
MAIN = """
#include <stdio.h>
#include <stdlib.h>
void kernel_main(int m, int n, int k, T alpha, const T *A, int ldA, const T *B, int ldB, T beta, T *C, int ldC);
static T *numbers(int count, int factor) {
    T *x = aligned_alloc(16, (sizeof(T) * count + 31) / 16 * 16);
    for (int i = 0; i < count; ++i) x[i] = (T)(i * factor % 3 - 1);
    return x;
}
int main(void) {
    const int sizes[][3] = SIZES;
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const int m = sizes[s][0], n = sizes[s][1], k = sizes[s][2], of_m = NT ? 1 : k, of_n = NT ? 1 : k, a_k = NT ? m : 1, b_k = NT ? n : 1;
        T *a = numbers(m * k, 7), *b = numbers(n * k, 5), *c = numbers(m * n, 1), *expected = numbers(m * n, 1);
        for (int i = 0; i < m; ++i) for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int l = 0; l < k; ++l) sum += (float)a[i * of_m + l * a_k] * (float)b[j * of_n + l * b_k];
            expected[i + j * m] = (T)(2 * sum - 3 * (float)c[i + j * m]);
        }
        kernel_main(m, n, k, (T)2, a, NT ? m : k, b, NT ? n : k, (T)-3, c, m);
        for (int i = 0; i < m * n; ++i) if (c[i] != expected[i]) return printf("%d %d %d differ\\n", m, n, k), 1;
        free(a); free(b); free(c); free(expected);
    }
    return 0;
}
"""
SIZES = [(8, 8, 8), (128, 128, 64), (136, 264, 72), (256, 136, 200)]
#: Sizes that a tensor map does not have, or that are no multiple of 16 bytes.
MORE_SIZES = [(0, 4, 8), (4, 4, 0), (132, 260, 72)]
PRODUCTS = [("sgemm_1", "gemm_tn", "float")]
MORE = [
    ("sgemm_1", "gemm_nt", "float"),
    ("sgemm_sm80", "gemm_tn", "_Float16"),
    *((f"sgemm_{x}", f"gemm_{v}", "float") for x in ("2", "sm70") for v in ("nt", "tn")),
    *((f"wgmma_{x}", f"gemm_{v}", "_Float16") for x in ("sm90", "tma_sm90") for v in ("nt", "tn")),
]
#: The newest LLVM that has Archer; its clang is asked.
LLVM = max(
    (path.parents[1] for path in Path("/usr/lib").glob("llvm-*/lib/libarcher.so")), default=Path("/usr/lib/llvm")
)
ARCHER = {"OMP_TOOL_LIBRARIES": str(LLVM / "lib/libarcher.so"), "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
CLANG = str(LLVM / "bin/clang")


def built(folder, example, variant, kind, compiler, *flags):
    """The program that runs a product under a sanitizer; the test is skipped where its compiler or its
    library is not."""
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    made = kernel_examples()[f"variants of {example}"]["VARIANTS"][variant]
    given, main, program = folder / "kernel.c", folder / "main.c", folder / "program"
    given.write_text(emitted(made, "c").text)
    rng = random.Random(example)
    drawn = [tuple(8 * rng.randint(1, 40) for _size in range(3)) for _n in range(amount(0, 50))]
    sizes = [*SIZES, *([] if example.startswith("wgmma") else MORE_SIZES), *drawn]
    main.write_text(MAIN.replace("SIZES", "{" + str(sizes).strip("[]").translate(str.maketrans("()", "{}")) + "}"))
    words = [
        "-std=c11",
        f"-O{amount(0, 1)}",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fopenmp",
        f"-DT={kind}",
        f"-DNT={int(variant == 'gemm_nt')}",
    ]
    done = subprocess.run(
        [compiler, *words, *flags, given, main, "-o", program], capture_output=True, text=True, check=False
    )
    if any(x in done.stderr for x in ("cannot find", "unable to find", "no such file", "omp.h")):
        pytest.skip(f"needs {compiler}'s libraries of its sanitizers")
    assert done.returncode == 0, done.stderr[:4000]
    return program


def nothing_found(program, **environment):
    ran = subprocess.run(
        [program], capture_output=True, text=True, check=False, env={"OMP_NUM_THREADS": "2", **environment}
    )
    assert ran.returncode == 0, ran.stdout[:1000] + ran.stderr[:4000]


@pytest.mark.once
@pytest.mark.parametrize(("example", "variant", "kind"), [*PRODUCTS, *amount([], MORE)])
def test_no_access_past_an_array_and_nothing_undefined(example, variant, kind, tmp_path):
    nothing_found(built(tmp_path, example, variant, kind, "gcc", "-fsanitize=address,undefined"))


@pytest.mark.parametrize(("example", "variant", "kind"), [MORE[0], *amount([], [*PRODUCTS, *MORE[1:]])])
def test_no_blocks_race(example, variant, kind, tmp_path):
    nothing_found(built(tmp_path, example, variant, kind, CLANG, "-fsanitize=thread"), **ARCHER)


def test_a_race_of_blocks_would_be_found(tmp_path):
    """Blocks that all add to one element."""
    if shutil.which(CLANG) is None:
        pytest.skip("needs LLVM's clang and Archer")
    text, program = tmp_path / "race.c", tmp_path / "race"
    text.write_text(
        "int sum;\nint main(void) {\n#pragma omp parallel for\nfor (int i = 0; i < 1000; ++i) sum += i;\nreturn 0; }\n"
    )
    done = subprocess.run(
        [CLANG, "-fopenmp", "-fsanitize=thread", text, "-o", program], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip("needs clang's OpenMP and its sanitizer")
    ran = subprocess.run([program], capture_output=True, text=True, check=False, env={"OMP_NUM_THREADS": "2", **ARCHER})
    assert ran.returncode != 0
    assert "data race" in ran.stderr

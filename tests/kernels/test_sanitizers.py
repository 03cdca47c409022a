"""The C text of products run under gcc's sanitizers: no access past an array, nothing undefined.

Not under the sanitizer of threads: gcc's OpenMP hands work over by means that it does not see, and it reports that.
"""

import shutil
import subprocess

import pytest

from night import amount
from sources_of_kernels import kernel_examples

#: Products of six sizes over arrays of the size that they need, compared with sums of three loops.
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
    const int sizes[][3] = {{0, 4, 8}, {4, 4, 0}, {8, 8, 8}, {128, 128, 64}, {132, 260, 72}, {256, 136, 200}};
    for (int s = 0; s < 6; ++s) {
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
PRODUCTS = [("sgemm_sm80", "gemm_tn", "_Float16")]
MORE = [
    ("sgemm_1", "gemm_nt", "float"),
    ("sgemm_1", "gemm_tn", "float"),
    *((f"sgemm_{x}", f"gemm_{v}", "float") for x in ("2", "sm70") for v in ("nt", "tn")),
]


@pytest.mark.parametrize(("example", "variant", "kind"), [*PRODUCTS, *amount([], MORE)])
def test_nothing_is_found(example, variant, kind, tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    made, arguments, parameters = kernel_examples()[f"variants of {example}"]["VARIANTS"][variant]
    given, main, program = tmp_path / "kernel.c", tmp_path / "main.c", tmp_path / "program"
    given.write_text(made.source("c", *arguments, parameters=parameters).text)
    main.write_text(MAIN)
    words = ["gcc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fopenmp", f"-DT={kind}", f"-DNT={int(variant == 'gemm_nt')}"]
    done = subprocess.run([*words, "-fsanitize=address,undefined", given, main, "-o", program], capture_output=True, text=True, check=False)
    if "cannot find" in done.stderr:
        pytest.skip("needs gcc's libraries of its sanitizers")
    assert done.returncode == 0, done.stderr[:4000]
    ran = subprocess.run([program], capture_output=True, text=True, check=False, env={"OMP_NUM_THREADS": "2"})
    assert ran.returncode == 0, ran.stdout[:1000] + ran.stderr[:4000]

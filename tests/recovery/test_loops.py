"""Loops around a store: the coordinates that they are, against the places that C++ and Python store at."""

import itertools
import random
import subprocess

import numpy as np
import pytest
from c_tables import compiler

from tla import TlaError, layout_of, offsets

from night import amount

#: A loop's texts: its head, in C and in Python, and the values of its variable {v}.
HEADS = [
    ("for (int {v} = 0; {v} < {n}; ++{v})", "for {v} in range({n}):", lambda n: range(n)),
    ("for (unsigned {v} = 3; {v} != {n} + 3; {v}++)", "for {v} in range(3, {n} + 3):", lambda n: range(3, n + 3)),
    ("for (int {v} = 0; {n} * 4 > {v}; {v} += 4)", "for {v} in range(0, {n} * 4, 4):", lambda n: range(0, 4 * n, 4)),
    (
        "for (int {v} = 1; {v} <= {n} * 2; {v} += 2)",
        "for {v} in range(1, {n} * 2, 2):",
        lambda n: range(1, 2 * n + 1, 2),
    ),
]


def some_loops(rng):
    """Loops around a store in C and in Python, their extents, and the place that each pass stores at."""
    names, extents, heads = "ijk"[: rng.randint(1, 3)], [], []
    for v in names:
        n, head = rng.choice((2, 4, 8, 16)), rng.choice(HEADS)
        extents.append(n)
        heads.append((head[0].format(v=v, n=n), head[1].format(v=v, n=n), head[2](n)))
    step = [1 << rng.randint(0, 9) for _ in names]
    xor = rng.choice(["", f" ^ ({names[0]} & 3) << {rng.randint(0, 4)}"])
    address = f"({' + '.join(f'{v}*{d}' for v, d in zip(names, step))}){xor}"
    c = " ".join(head for head, _, _ in heads) + f" {{ const int x = {address}; smem[x + 5] = g[{names[0]}] * 2.5f; }}"
    python = "".join("  " * k + head + "\n" for k, (_, head, _) in enumerate(heads))
    python += "  " * len(names) + f"x = {address}\n" + "  " * len(names) + f"smem[x + 5] = g[{names[0]}] * 2.5\n"
    places = [eval(address, dict(zip(names, c))) + 5 for c in itertools.product(*(r for _, _, r in heads))]
    return c, python, tuple(extents), np.array(places).reshape(extents)


def test_random_loops_store_where_python_does():
    rng, found = random.Random(33), 0
    for _ in range(amount(80, 5_000)):
        c, python, shape, places = some_loops(rng)
        for text, language in ((c, "cuda"), (python, "tvm")):
            try:
                layout = layout_of(text, language=language)
            except TlaError as error:
                assert "no layout of shape:stride" in str(error), text
                continue
            assert layout == layout_of(text, shape=shape, language=language)
            assert (np.atleast_1d(offsets(layout)).reshape(shape, order="F") == places).all(), text
            found += 1
    assert found > 80


def test_random_loops_store_where_a_compiler_does(tmp_path):
    if not compiler():
        pytest.skip("no C++ compiler")
    rng = random.Random(34)
    made = [some_loops(rng) for _ in range(amount(20, 200))]
    body = "".join(f'{{ P smem; {c.replace(" * 2.5f", "")} puts(""); }}\n' for c, _, _, _ in made)
    source = tmp_path / "loops.cpp"
    source.write_text(
        "#include <cstdio>\nstruct V { V& operator=(int) { return *this; } };\n"
        'struct P { V v; V& operator[](int x) { printf("%d ", x); return v; } };\n'
        f"int main() {{ static int g[1 << 16];\n{body} }}\n"
    )
    subprocess.run([compiler(), "-w", str(source), "-o", str(tmp_path / "loops")], check=True)
    lines = subprocess.run([str(tmp_path / "loops")], capture_output=True, text=True, check=True).stdout.splitlines()
    for (_, _, shape, places), line in zip(made, lines, strict=True):
        assert (np.array(list(map(int, line.split()))).reshape(shape) == places).all()


TILE = """
constexpr int BM = 64, BK = 32;
__shared__ half As[BM][BK + 8];
#pragma unroll
for (int r = threadIdx.x / 4; r < BM; r += 32) {
  const int c = threadIdx.x % 4 * 8;
  *reinterpret_cast<float4*>(&As[r][c]) = *reinterpret_cast<const float4*>(A + r * lda + c);
}
"""


@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (TILE, {"shape": (128, 2), "coords": "threadIdx.x,r", "language": "cuda"}, "((_4,_32),_2):((_8,_40),_1280) (_128,_2)"),
        ("for (int x = t; x < 2048; x += 256) { int r = x / 32, c = x % 32; s[r*33+c] = g[x]; }", {"shape": {"t": 256, "x": 8}}, "((_32,_8),_8):((_1,_33),_264) (_256,_8)"),
        ("for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) if (i < 5 && j < 7) s[i*8 + j] = 0;", {}, "(_8,_8):(_8,_1) (_5,_7)"),
        ("for (int i = 0; i < 8; ++i) { if (i >= 5) continue; float4 v = g[i]; s[i*8] += v; }", {}, "(_8):(_8) (_5)"),
        ("for (int i = 0; i < n; ++i) for (int j = 0; j < k; ++j) s[i*k + j] = 0;", {"shape": ("N", "K"), "values": {"n": "N", "k": "K"}}, "(N,K):(K,_1) (N,K)"),
        ("for i, j in T.Parallel(8, BK):\n    S[i * 32 + (j ^ i % 4 * 8)] = B[j, i]", {"language": "tvm", "values": {"BK": 32}}, "Sw<2,3,2> o _0 o (_8,_32):(_32,_1) (_8,_32)"),
        ("for i in range(N):\n  for j in range(K):\n    s[i*K + j] = 0", {"language": "python", "shape": ("N", "K"), "values": {"N": "N", "K": "K"}}, "(N,K):(K,_1) (N,K)"),
        ("for i in range(8):\n  for j in range(8):\n    if i < 5:\n      s[i*8 + j] = 3", {"language": "python"}, "(_8,_8):(_8,_1) (_5,_8)"),
        ("for i in range(8):\n  for j in range(8):\n    if i >= 5 or j >= 6:\n      continue\n    s[i*8 + j] = 3", {"language": "python"}, "(_8,_8):(_8,_1) (_5,_6)"),
        ("for i in range(8):\n  if i % 2:\n    x = 3\n  else:\n    x = 1\n  s[i * x - i%2 * i * 2] = 3", {"language": "python"}, "_8:_1 (_8)"),
        ("def f(i, j):\n  if i >= M or j >= K:\n    return -1\n  return i*K + j", {"language": "python", "shape": ("N", "L"), "values": {"M": "M", "K": "K"}}, "(N,L):(K,_1) (min(M,N),min(K,L))"),
        ("tl.arange(0, 8)[:, None] * 64 + tl.arange(0, 4)[None, :]", {"language": "triton"}, "(_8,_4):(_64,_1) (_8,_4)"),
    ],
)  # fmt: skip
def test_loops(text, more, said):
    found = layout_of(text, **more)
    assert f"{found} {found.origin_shape}" == said


@pytest.mark.parametrize(
    ("text", "language", "said"),
    [
        ("int o = 0; for (int i = 0; i < 8; ++i) { o += 8; s[o] = 0; }", "c", "o, which is carried from one pass"),
        ("for (int i = 0; i < 8; ++i) { i += 8; s[i] = 0; }", "c", "i, which is carried from one pass"),
        ("for (int i = 7; i >= 0; --i) s[i] = 0;", "c", "a loop of another form"),
        ("for (int i = 0; j < 8; ++i) s[i] = 0;", "c", "a loop of another form"),
        ("for (int i = 0; i < 8; i *= 2) s[i] = 0;", "c", "a loop of another form"),
        ("for (i = 0; i < 8; ++i) s[i] = 0;", "c", "the variable of the loop"),
        ("for (int i = 0; i < 0; ++i) s[i] = 0;", "c", "0 values of i"),
        ("for (int i = 0; i < n; ++i) s[i] = 0;", "c", "n, which has no range"),
        ("for (int i = 0; i < 8; i += 0) s[i] = 0;", "c", "a division by a value that may be 0"),
        ("for (int i = 0; i < 8; ++i) for (int j = 0; j <= i; ++j) s[i*8+j] = 0;", "c", "1 to 8 values of j"),
        ("for (int i = 0; i < 8; ++i) { s[i] = 0; s[i+8] = 1; }", "c", "statements behind a store"),
        ("for (int i = 0; i < 8; ++i) { if (i < 3) s[i] = 0; else s[i+8] = 1; }", "c", "a second address"),
        ("for (int i = 0; i < 8; ++i) for (int i = 0; i < 8; ++i) s[i] = 0;", "c", "two loops or has another meaning"),
        ("int x = i; for (int i = 0; i < 8; ++i) s[i] = 0;", "c", "two loops or has another meaning"),
        ("for (int i = 0; i < 8; ++i) { int x = 3; }", "c", "a loop without an address"),
        ("for (int i = 0; i < 8; ++i) s[t[i]] = 1;", "c", "an index that depends on data"),
        ("for (int i = 0; i < 8; ++i) { while (1) ; s[i] = 0; }", "c", "'while'"),
        ("for (int i = 0; i < 8; ++i) { continue; s[i] = 0; }", "c", "continue in every pass"),
        (
            "for (int i = 0; i < 99999; ++i) for (int j = 0; j < 99999; ++j) s[i+j] = 0;",
            "c",
            "9,999,800,001 coordinates",
        ),
        ("int f(int n) { for (int i = 0; i < 8; i++) n++; return n; }", "c", "'for'"),
        ("if (t < 3) for (int i = 0; i < 8; i++) s[i] = 0;", "c", "'for'"),
        ("for (size_t i = 0; i < 4; i+=2", "c", "the text ends"),
        ("k = 0\nfor i in range(8):\n  k += 2\n  s[k] = 0", "python", "k, which is carried from one pass"),
        ("for i in range(8):\n  for j in range(8):\n    x = 3\n  s[i] = 0", "python", "a statement behind a loop"),
        ("for i in range(x[0]): s[i] = 0", "python", "an index that depends on data"),
        ("for i, j in range(3): s[i] = 0", "python", "1 ranges for 2 names"),
        ("for i in range(0): s[i] = 0", "python", "0 values of i"),
        ("for i in range(8):\n  if i < 5:\n    s[i] = 0\n  s[i + 8] = 1", "python", "a second address"),
        ("for i in range(8):\n  if i < 5:\n    s[i] = 0\n  else:\n    s[i + 8] = 1", "python", "a second address"),
        ("for i in table: s[i] = 0", "python", "unexpected 'for'"),
        ("for i in range(8):\n  s[i] = 0\ns[3] = 1", "python", "a statement behind a loop"),
    ],
)
def test_what_is_refused_of_loops(text, language, said):
    with pytest.raises(TlaError, match="position") as info:
        layout_of(text, language=language, coords="i" if "t <" in text else None)
    assert said in str(info.value)

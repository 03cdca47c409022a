"""What C computes in the types of names, literals and results, and statements: each table against that of
a C++ compiler."""

import random
import re

import numpy as np
import pytest
from c_tables import c_tables, compiler

from tla import LeafTypeError, ParseError, RangeError, layout_of, offsets
from tla.recovery.evaluate import table_of
from tla.recovery.texts import coordinates_of, read

from night import amount

TYPES = [
    "(int)(threadIdx.x - 3) + 3",
    "threadIdx.x - 3",
    "threadIdx.x - 3 < 4 ? 1 : 0",
    "(threadIdx.x - 8) / 2",
    "(threadIdx.x - 8) % 5",
    "(threadIdx.x - 8) >> 28",
    "~threadIdx.x & 7",
    "-threadIdx.x & 7",
    "(int)threadIdx.x - 3 < 4u ? 1 : 0",
    "max((int)threadIdx.x - 3, 0)",
    "min(threadIdx.x - 3, 5u)",
    "threadIdx.x * 0x80000001",
    "threadIdx.x * 2654435769u >> 29",
    "1u * threadIdx.x",
    "threadIdx.x + 1ull",
    "threadIdx.x + 1'000",
    "threadIdx.x * 0b101 + 017 + 0x1F",
    "(unsigned char)(threadIdx.x * 100)",
    "(uint16_t)(threadIdx.x - 1)",
    "(int64_t)(threadIdx.x - 1)",
    "(long long)(int)(threadIdx.x - 1)",
    "(bool)threadIdx.x * 4 + !threadIdx.x",
    "threadIdx.x * sizeof(float4) + sizeof(half)",
    "threadIdx.x && 3",
    "threadIdx.x ? 8 / threadIdx.x : 7",
    "threadIdx.x && 8 / threadIdx.x > 2",
    "__umul24(threadIdx.x, 3) + __mul24(2, 4)",
    "__umulhi(threadIdx.x * 1000, 0xAAAAAAABu) >> 1",
    "std::min<int>(threadIdx.x, 4)",
    "uint32_t d = threadIdx.x; d -= 5; d & 0xff",
    "int d = threadIdx.x - 5; d",
    "const auto d = threadIdx.x - 5; d >> 30",
    "uint8_t d = threadIdx.x; d += 250; d",
    "unsigned d = 7; d *= threadIdx.x; d <<= 2; d",
    "size_t d = threadIdx.x; d * 4",
    "int a = threadIdx.x, b = a * 2; a + b",
    "int a; if (threadIdx.x < 3) a = 1; else { a = 2; a *= 3; } a",
    "int a = 1; { int a = 5; (void)a; } a + threadIdx.x",
    "auto f = [&](int x, unsigned y) { return x * 2 - y; }; f(threadIdx.x, 1)",
    "auto f = [=](int x) -> int { if (x > 3) return x - 4; return x; }; f(f(threadIdx.x) + 2)",
    "using index_type = unsigned char; index_type a = threadIdx.x * 77; a + 1",
    "constexpr int N = 8; int r[N][3]; threadIdx.x * N",
    "(threadIdx.x & 1) == 0 ? threadIdx.x / 2u : (threadIdx.x - 1) / 2 + 4",
]
FUNCTIONS = [
    ("int f(unsigned i) { return i - 1; }", "f"),
    ("unsigned f(int i) { return i - 1; }", "f"),
    ("long long f(int i) { unsigned t = i - 1; return t; }", "f"),
    ("static int g(int i) { return i * 2; }\nint f(int i) { return g(g(i)) + g(1); }", "f"),
    ("#define HALF(x) x / 2\nint f(int i) { return HALF(i + 6); }", "f"),
    ("#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))\nint f(int i) { return CEIL_DIV(i, 3) * 3; }", "f"),
    ("typedef unsigned short u;\nint f(int i) { u x = i * 9000; return x; }", "f"),
    ("int f(int i) { int r = 0; if (i & 1) r += 1; if (i & 2) { r += 2; if (i & 4) r *= 3; } return r; }", "f"),
    (
        "int f(int i) { if (i < 2) return 7; if (i < 4) { i += 1; return i; } else if (i == 5) return 0; i *= 2; "
        "return i; }",
        "f",
    ),
    ("constexpr int LD = 9;\ninline int g(int LD) { return LD + 1; }\nint f(int i) { return g(i) * LD; }", "f"),
    (
        "int g(int i) { if (i > 3) return 1; return 0; }\nint f(int i) { if (i < 2) return g(i + 3); return g(i) + 5; "
        "}",
        "f",
    ),
]


def table(text, coords, shape):
    code = read(text, "cuda")
    return table_of(code, coordinates_of(code, coords.split(","), len(shape), {}), shape, {}, "int32")


def test_types_and_statements_as_a_compiler_has_them(tmp_path):
    if not compiler():
        pytest.skip("no C++ compiler")
    rows = [{"text": text, "coords": "threadIdx.x", "shape": [9]} for text in TYPES]
    rows += [{"before": text, "call": call, "coords": "i", "shape": [9]} for text, call in FUNCTIONS]
    for row, truth in zip(rows, c_tables(rows, tmp_path)):
        text = row.get("text", row.get("before"))
        assert np.array_equal(table(text, row["coords"], (9,)), truth), text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("int x = i; x = y[i]; x", "depends on data"),
        ("for (int k = 0; k < 4; k++) x += k;", "a side effect: +="),
        ("int f(int i) { while (i) i -= 1; return i; }", "write one pass of it"),
        ("int f(int i) { if (i < 3) return i; }", "a function that ends without a value"),
        ("void f(int i) { out[i] = 1; }", "a declaration, an assignment of a local name, or return"),
        ("Index x = i; x", "write using Index = int; before it"),
        ("float x = i; x", "x, which is a float"),
        ("int& x = i; x", "x, which is a reference"),
        ("int t[2] = {0, 1}; t[i]", "the table t"),
        ("reinterpret_cast<float4*>(smem + i * 4)[1]", "elements of two types"),
        ("reinterpret_cast<float4*>(smem + i * 4) + 1", "elements of two types"),
        ("(*(smem + i)) + 1", "depends on data"),
        ("float4* p = reinterpret_cast<float4*>(&smem[i * 4]); p[1]", "elements of two types"),
        ("float4* p = A; p = (float4*)(smem + i); p[1]", "elements of two types"),
        ("float4* f(half* p, int i) { return reinterpret_cast<float4*>(p + i); }\nf(A, i) + 1", "depends on data"),
        (
            "float4 f(half* p, int i) { return reinterpret_cast<float4*>(p)[i]; }\nint g(int i) { return f(A, i); }",
            "depends on data",
        ),
        ("float4* f(half* p, int i) { float4* q = (float4*)p; return q + i; }\nf(A + 8, i)", "elements of two types"),
        ("int x = 3; x[i]", "which is no address"),
        ("#if A\ni\n#else\n2*i\n#endif\n", "give the branch that is compiled"),
        ("#define F(x) F(x) + 1\nF(i)", "at most 300 uses"),
        ("#define F(x, y) x\nF(i)", "1 arguments of the macro F"),
        ("#define F(x) x##1\nF(i)", "with #"),
        ("int f(int i) { return f(i - 1); }", "a call of f"),
        ("int x = 2; auto f = [=](int y) { return x * y; }; x = 3; f(i)", "a lambda that copied it"),
        ("template <int N>\nint f(int i) { return i * N; }", "values='N=64'"),
        ("half f(const half* A, int i) { return A[i]; }\nf(A, i) + 1", "depends on data"),
        ("2147483647 + i", "which int32 does not hold"),
        ("i << 32", "a shift by 32"),
        ("__umul24(i - 1, 3)", "a factor of"),
        ("int f(int i, int i) { return i; }", "two parameters of one name"),
        ("i ? 1", "the text ends"),
        ("1'", "unexpected"),
        ("int f(int a, int b) { return a + b; }", "a, which has no range"),
        ("smem[i].x", "unexpected '.'"),
    ],
)
def test_what_is_refused(text, said):
    with pytest.raises((ParseError, RangeError, LeafTypeError)) as info:
        layout_of(text, shape=4, coords="i", language="cuda")
    assert said in str(info.value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("int x = i; x * 2", "_4:_2"),
        ("int f(int i) { if (i < 3) return i; return 3; }", "_4:_1"),
        ("using Index = int; Index x = i; x", "_4:_1"),
        ("const int& x = i; x", "_4:_1"),
        ("reinterpret_cast<float4*>(smem)[i * 2 + 1]", "Sw<0,0,0> o _1 o _4:_2"),
        ("*reinterpret_cast<const float4*>(&smem[i * 4])", "_4:_4"),
        ("(reinterpret_cast<float4*>(&(smem[i * 4]))[0])", "_4:_4"),
        ("*(float4*)(smem + i * 4)", "_4:_4"),
        ("((float4*)smem)[i * 2]", "_4:_2"),
        ("float4 f(const half* __restrict__ A, int i) { return reinterpret_cast<const float4*>(A)[i * 2]; }", "_4:_2"),
        ("float4* f(half* p, int i) { float4* q = (float4*)p; return q + i * 2; }\nf(A, i)", "_4:_2"),
        ("float4* p = reinterpret_cast<float4*>(smem); p[i * 2]", "_4:_2"),
        ("__shared__ __align__(16) half s[4][40]; s[i][0]", "_4:_40"),
        ("const half* p = A + i * 8; p[1]", "Sw<0,0,0> o _1 o _4:_8"),
        ("__shared__ half t[4][40]; t[i][0]", "_4:_40"),
        ("__shared__ half t[4][40]; &t[i][1]", "Sw<0,0,0> o _1 o _4:_40"),
        ("half f(const half* A, int i) { return A[i * 8]; }", "_4:_8"),
    ],
)
def test_addresses(text, wanted):
    assert str(layout_of(text, shape=4, coords="i", language="cuda")) == wanted


def test_offsets_without_a_sign_wrap():
    found = layout_of("threadIdx.x - 1 + 1", shape=4, coords="threadIdx.x", language="cuda")
    assert offsets(found).tolist() == [0, 1, 2, 3]
    with pytest.raises(ParseError, match="the offset 18446744073709551615"):
        layout_of("i - 1ull", shape=4, coords="i", language="c")
    with pytest.raises(RangeError, match="two meanings"):
        layout_of("i + j", shape=(4, 4), coords="i,i", language="c")


TEMPLATES = [
    (
        "template <int N, int step = 3>\nint g(int i) { return i * N + step; }",
        "g<2>(threadIdx.x) + g<1, 4>(threadIdx.x)",
    ),
    ("template <typename T, int N> int g(int i) { return i * N; }", "g<half, 5>(threadIdx.x)"),
    (
        "template <bool A>\nint g(int i) { if constexpr (A) { return i; } else { return 2 * i; } }",
        "g<true>(threadIdx.x) + 100 * g<(1 > 2)>(threadIdx.x)",
    ),
    (
        "struct S { static constexpr int LD = 8; static int at(int r) { return r * LD; } };\nconstexpr int LD = 3;",
        "S::at(threadIdx.x) + S::LD + LD",
    ),
    ("namespace n { struct S { static int at(int r) { return r + 1; } }; }", "n::S::at(threadIdx.x)"),
    (
        "enum { BK = 32, PAD = 8, X };\nenum E : int { P = -1, Q, R = BK + X };\nenum class C { A, B };",
        "threadIdx.x * (BK + PAD) + X + E::Q + P + R + (int)C::B",
    ),
    ("", "cute::Swizzle<2, 0, 3>{}(threadIdx.x * 5)"),
    ("template <int x> struct num {};", "threadIdx.x * 3"),
    (
        "template <int N, int K = 8> struct S { static constexpr int LD = N + K; static int at(int r) { return r * LD; "
        "} };",
        "S<64>::at(threadIdx.x) + S<1, 2>::LD",
    ),
    (
        "template <int N> struct S { int operator()(int r) const { return r * N; } };\nusing L = S<9>;",
        "S<7>{}(threadIdx.x) + L()(2)",
    ),
    (
        "template <int N> struct S { static constexpr int k = N; };\ntemplate <int M> struct T { template <int Q> "
        "static int at(int r) { return r * S<M * 2>::k + Q; } };",
        "T<4>::at<3>(threadIdx.x) + T<5>::at<1>(1)",
    ),
    (
        "constexpr int N = 3;\ntemplate <int M> struct S { static constexpr int k = N * M; };\nint f(int N) { return N "
        "* S<5>::k; }",
        "f(threadIdx.x)",
    ),
    (
        "template <int N> int g(int i) { return i % N; }\ntemplate <int M> int h(int i) { return g<M + 1>(i) * M; }",
        "h<2>(threadIdx.x)",
    ),
]


def test_templates_and_structs_as_a_compiler_has_them(tmp_path):
    if not compiler():
        pytest.skip("no C++ compiler")
    rows = [{"before": before, "text": text, "coords": "threadIdx.x", "shape": [9]} for before, text in TEMPLATES]
    for row, truth in zip(rows, c_tables(rows, tmp_path)):
        assert np.array_equal(table(f"{row['before']}\n{row['text']}", "threadIdx.x", (9,)), truth), row["text"]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("template <int N> int g(int i) { return i * N; }\ng(i)", {}, "write g<8>(...)"),
        ("int g(int i) { return i; }\ng<3>(i)", {}, "at most 0"),
        ("template <int N> struct S { };\nS<>::k * i", {}, "write S<8>"),
        ("template <int N> struct S { static constexpr int k = N; };\ni * S<8>::q", {}, "q, which is not in S"),
        ("template <int N> struct S { static constexpr int k = S<N>::k; };\ni * S<8>::k", {}, "more than 60 levels"),
        ("template <int N> struct S { static constexpr int k = N;\ni * S<8>::k", {}, "the text ends"),
        ("int f(const int* A, int i) { if (i > 3) return 0; return A[i]; }", {}, "return the index"),
        ("Swizzle<3, 4>{}(i)", {}, "Swizzle<3, 4, 3>{}(offset)"),
        ("stride[0] * i", {}, "values='stride[0]=64'"),
        ("lane_id() * 8 + i", {}, "values='lane_id()=64'"),
        ("lambda i: (i, i) * 2", {"language": "tvm"}, "return the tuple itself"),
        ("lambda i: (i - 3, i)", {"language": "tvm"}, "0 or more"),
        ("lambda i: A[i], 1", {"language": "tvm"}, "depends on data"),
    ],
)
def test_what_is_refused_of_templates_and_maps(text, options, said):
    with pytest.raises((ParseError, RangeError)) as info:
        layout_of(text, **{"shape": 4, "coords": "i", "language": "cuda", **options})
    assert said in str(info.value)


NAMES = [
    "i",
    "j",
    "threadIdx.x",
    "threadIdx.y",
    "1",
    "2",
    "3",
    "7u",
    "8",
    "16",
    "5ull",
    "0x10",
    "100L",
    "010",
    "0b11",
    "1'000",
]
CASTS = ["int", "unsigned", "uint32_t", "int64_t", "size_t", "unsigned char", "uint16_t", "bool", "long long"]


def random_expression(rng, depth):
    """An expression of C that no value of its names makes undefined."""
    if not depth or rng.random() < 0.15:
        return rng.choice(NAMES)
    parts = [random_expression(rng, depth - 1) for _ in range(3)]
    form = rng.choice(["binary"] * 6 + ["choice", "cast", "unary"])
    if form == "choice":
        return f"({parts[0]} ? {parts[1]} : {parts[2]})"
    if form == "cast":
        return rng.choice([f"({rng.choice(CASTS)})({parts[0]})", f"static_cast<{rng.choice(CASTS)}>({parts[0]})"])
    if form == "unary":
        return f"{rng.choice('-~!')}({parts[0]})"
    op = rng.choice("+ - * / % & | ^ << >> < <= == != > >= && ||".split())
    if op in ("/", "%"):
        parts[1] = rng.choice(["3", "4", "(i + 1)", "8u", "(threadIdx.x + 1)"])
    if op in ("<<", ">>"):
        parts[1] = rng.choice(["1", "2", "(i & 3)", "3u"])
    return f"(({parts[0]}) {op} ({parts[1]}))"


def test_random_expressions_as_a_compiler_has_them(tmp_path):
    if not compiler():
        pytest.skip("no C++ compiler")
    rng, shape, read_back = random.Random(33), (3, 2, 3, 2), 0
    rows = [
        {"text": random_expression(rng, 4), "coords": "i,j,threadIdx.x,threadIdx.y", "shape": shape}
        for _ in range(amount(80, 2000))
    ]
    for row, truth in zip(rows, c_tables(rows, tmp_path)):
        try:
            found = table(row["text"], row["coords"], shape)
        except ParseError as error:  # offsets that 64 bits with a sign do not hold, an overflow
            assert re.search(r"the offset \d|does not hold|a shift by", str(error)), row["text"]
            continue
        assert np.array_equal(found, truth), row["text"]
        read_back += 1
    assert read_back > 0.95 * len(rows)

"""Index expressions read back: against Python's own values of them."""

import re
import time

import numpy as np
import pytest

import tla
from tla import LeafTypeError, ParseError, RangeError, TlaError, layout_of, offsets

from night import some


@pytest.mark.parametrize(
    ("text", "language", "wanted"),
    [
        ("(int)i * 64 + static_cast<int>(j)", "cuda", "(_8,_8):(_64,_1)"),
        ("&smem[i * 0x10 + j]", "c", "(_8,_8):(_16,_1)"),
        ("i < 4 ? i * 8 + j : 32 + (i - 4) * 8 + j", "c", "(_8,_8):(_8,_1)"),
        ("i * 8 + j if i < 4 and not j < 0 else 8 * i + j", "python", "(_8,_8):(_8,_1)"),
        ("(i - 8) / 4 * -16 + j", "c", None),
        ("i[:, None].to(tl.int64) * 8 + j[None, :]", "triton", "(_8,_8):(_8,_1)"),
        ("lambda i, j: j * 8 + i", "python", "(_8,_8):(_1,_8)"),
        ("int f(int a, int b) { const int t = a * 8; return t + b; }", "c", "(_8,_8):(_8,_1)"),
        ("tl.where(i < 100, i, 0) * 8 + tl.minimum(j, 7)", "triton", "(_8,_8):(_8,_1)"),
        ("floor(i/4 + j/4)", "sympy", None),
        ("floor(i/4)*64 + Mod(i, 4) + 4*j", "sympy", "((_4,_2),_8):((_1,_64),_4)"),
        ("i * 8 + j  // a remark\n", "c", "(_8,_8):(_8,_1)"),
        ('i * 8 + j;  // a "remark"', "c", "(_8,_8):(_8,_1)"),
        ("// of rows\nint r = i * 8;\nr + j; // a quotient: i//8", "c", "(_8,_8):(_8,_1)"),
        ("ceiling(i/8)*0 + j", "sympy", "(_8,_8):(_0,_1)"),
        ("cdiv(8 * i, 4) + 16 * j", "triton", "(_8,_8):(_2,_16)"),
    ],
)
def test_forms(text, language, wanted):
    if wanted is None:
        with pytest.raises(RangeError):
            layout_of(text, shape=(8, 8), language=language)
    else:
        assert str(layout_of(text, shape=(8, 8), language=language)) == wanted


def test_quotients_of_negative_values_are_those_of_the_language():
    values = {"c": lambda i: -(-(i - 4) // 2) if i < 4 else (i - 4) // 2, "python": lambda i: (i - 4) // 2}
    for language, sign in (("c", "/"), ("python", "//")):
        table = [values[language](i) for i in range(8)]
        try:
            wanted = str(layout_of(table))
        except RangeError:
            wanted = "none"
        try:
            found = str(layout_of(f"(i - 4) {sign} 2", shape=8, language=language))
        except RangeError:
            found = "none"
        assert found == wanted


@pytest.mark.parametrize(
    ("text", "language", "by_definition"),
    [
        ("i*010", "c", lambda i: i * 8),
        ("i*00", "c", lambda i: 0),
        ("&smem[i*2] + 1", "c", lambda i: i * 2 + 1),
        ("(i && 3) + (i || 0)", "c", lambda i: 2 * (i != 0)),
        ("(i and 3) + (i or 5)", "python", lambda i: (i and 3) + (i or 5)),
        ("mul24(i, 3)", "opencl", lambda i: 3 * i),
        ("mad24(i, 3, i % 2)", "opencl", lambda i: 3 * i + i % 2),
        ("torch.remainder(i, 2)", "python", lambda i: i % 2),
        ("int f(short i) { unsigned char x = i*2; return x; }", "c", lambda i: 2 * i),
    ],
)
def test_words_mean_what_they_mean_in_their_language(text, language, by_definition):
    table = [by_definition(i) for i in range(2)]
    assert offsets(layout_of(text, shape=2, language=language)).tolist() == table


def test_sympy_expressions():
    sympy = pytest.importorskip("sympy")
    i, j = sympy.symbols("i j", integer=True, nonnegative=True)
    assert str(
        layout_of(
            sympy.floor(i / 8) * 512 + sympy.Mod(i, 8) * 8 + sympy.Mod(j, 8) + sympy.floor(j / 8) * 64, shape=(16, 16)
        )
    ) == ("((_8,_2),(_8,_2)):((_8,_512),(_1,_64))")


def test_coordinates_are_names():
    sympy = pytest.importorskip("sympy")
    i, j = sympy.symbols("i j", integer=True, nonnegative=True)
    assert layout_of(i + 4 * j, shape=(8, 4), coords=(j, i)) == layout_of("i + 4*j", shape=(8, 4), coords=["j", "i"])
    for coords in (3, [1, 2], (None, "j"), {"i": 4, "j": 8}, [i, 1]):
        with pytest.raises(LeafTypeError, match="coords="):
            layout_of("i + 4*j", shape=(8, 4), coords=coords)


@pytest.mark.parametrize(
    ("text", "options", "at", "said"),
    [
        ("(i*8 + j", {}, 8, "close the '(' at position 0"),
        ("i*8 +", {}, 5, "the text ends"),
        ("i*8 + frobnicate(j)", {}, 6, "a call of frobnicate"),
        ("i*8 + j++", {}, 7, "a side effect: ++"),
        ("i += 8", {}, 2, "a side effect: +="),
        ("i*8 + table[j]", {}, 6, "an index that depends on data"),
        ("i*8 + 64 / j", {}, 9, "a division by a value that may be 0"),
        ("i*8 + 64 % (j - 3)", {}, 9, "a division by a value that may be 0"),
        ("i*8 + ceil_div(j - 3, 2)", {}, 6, "a quotient of negative values"),
        ("i*8 << (j - 1)", {}, 4, "a shift by -1 to 6"),
        ("i*1000000000 + j", {}, 1, "which int32 does not hold"),
        ("i*8 + (char)(j*100)", {}, 6, "a cast of 0 to 700 to int8"),
        ("i/8 + j", {"language": "python"}, 1, "a quotient with a fraction"),
        ("i**j + j", {"language": "python"}, 1, "a power of two values"),
        ("i < j < 3", {}, 6, "one comparison"),
        ("i*8 + 1.5", {}, 7, "unexpected '.'"),
        ("i*8 + j//8", {}, 7, "say language='python'"),
        ("i*8 + j // a remark", {}, 8, "leave the remark out"),
        ("[x for x in i]", {"language": "python"}, 0, "unexpected '['"),
        ("__import__(j)", {"language": "python"}, 0, "a call of __import__"),
        ("i + 99999999999999999999", {}, 4, "does not fit in 64 bits"),
        ("i*08 + j", {}, 2, "08, which begins with 0"),
        ("i*010 + j", {"language": "python"}, 2, "010, which begins with 0"),
        ("i*8 + remainder(j, 3)", {}, 6, "a call of remainder"),
        ("i*8 + torch.div(j, 2)", {"language": "python"}, 6, "a call of torch.div"),
        ("select(i < 2, i, 5) + j", {"language": "opencl"}, 0, "a call of select"),
        ("mul24(i, 16777217) + j", {"language": "opencl"}, 0, "a factor of 16777217 to 16777217"),
        ("mad24(i, 8, 3*mul24(j, 8388608))", {"language": "opencl"}, 14, "a factor of 8388608 to 8388608"),
        ("mad24(i, 8)", {"language": "opencl"}, 0, "2 arguments of mad24"),
        ("i @ j", {"language": "python"}, 2, "unexpected '@'"),
        ("i*8 pass", {"language": "python"}, 4, "unexpected 'pass'"),
        ("i*8 assert j", {"language": "triton"}, 4, "unexpected 'assert'"),
        ("i*8 @x\n+ j", {"language": "python"}, 4, "unexpected '@'"),
        ("f = lambda i, j: i*8 @ j", {"language": "python", "coords": None}, 21, "unexpected '@'"),
        ("smem[i*8 + j] + 1", {}, 0, "an index that depends on data"),
        ("smem[i++ * 8 + j]", {}, 6, "a side effect: ++"),
        ("i*8 + (j--)", {}, 8, "a side effect: --"),
        ("smem[i*8 + j] ? 1 : 0", {}, 0, "an index that depends on data"),
        ("i[:, None]*8 + i[None, :] + j", {"language": "triton"}, 16, "i along two axes: [:,None] and [None,:]"),
        ("int f(int i, int j) { float x = i/2; return x*2 + j; }", {"coords": None}, 22, "x, which is a float"),
        ("int f(int i, int j) { char x = i*100; return x + j; }", {"coords": None}, 22, "a cast of 0 to 700 to int8"),
    ],
)
def test_what_is_refused_with_its_place(text, options, at, said):
    with pytest.raises(ParseError) as info:
        layout_of(text, shape=(8, 8), **{"coords": "i,j", **options})
    assert said in str(info.value)
    assert info.value.position == at


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a*8 + b", {}, "write coords='a,b'"),
        ("i*ld + j", {"coords": "i,j"}, "give it a value: values='ld=64'"),
        ("i*ld + j", {}, "write coords='i,j', in the order of the extents, and give the others values: values='ld=64'"),
        ("i*8 + j", {"shape": 8}, "the names i, j for 1 extent\n"),
        ("i*8 + j", {"coords": "i,"}, "names, one for each extent"),
        ("i*8 + j", {"shape": ("-3", 8)}, "shape: -3 is not positive"),
        ("i*8 + j", {"shape": ("M - M", 8)}, "shape: 0 is not positive"),
        ("i*8 + j", {"language": "fortran"}, "one of c, cpp"),
        ("i*8 + j", {"integer": "int7"}, "int32 or int64"),
        ("i*8 + j", {"coords": "i,j,k"}, "for 2 extents"),
        ("i*8 + j", {"shape": None}, "give them, as in shape=(64, 64)"),
        ("i*8 + j", {"shape": (1 << 13, 1 << 13)}, "give a smaller shape"),
    ],
)
def test_options_that_are_refused(text, options, said):
    with pytest.raises(TlaError, match=re.escape(said)):
        layout_of(text, **{"shape": (8, 8), **options})


@pytest.mark.parametrize(
    "values",
    [
        "ld",
        "=8",
        "ld=8, =3",
        "'ld'=8",
        [("ld", 8)],
        8,
        {3: 8},
        {"ld": 1.5},
        {"ld": True},
        {"ld": None},
        {"ld": 1 << 80},
    ],
)
def test_values_that_are_none(values):
    with pytest.raises(LeafTypeError, match="write values='ld=72'"):
        layout_of("i*ld + j", shape=(8, 8), coords="i,j", values=values)


def test_values_are_a_dict_or_a_text():
    for text, values, wanted in (
        ("i*ld + j", "ld=-72", "(_8,_8):(_-72,_1)"),
        ("i*p->ld + j*s[0]", " p->ld = 72, s[0]=2 ", "(_8,_8):(_72,_2)"),
        ("i*ld + j", "ld = 8*K", "(_8,_8):(8*K,_1)"),
        ("i*ld + j", {"ld": np.int64(72)}, "(_8,_8):(_72,_1)"),
        ("i*8 + j", "", "(_8,_8):(_8,_1)"),
    ):
        assert str(layout_of(text, shape=(8, 8), coords="i,j", values=values)) == wanted
    assert "agree at all" in str(tla.recover("i*ld + j", "i*9 + j", shape=(8, 8), coords="i,j", values="ld=9"))
    with pytest.raises(LeafTypeError, match="numbers: offsets are compared"):
        tla.recover("i*ld + j", "i*9 + j", shape=(8, 8), coords="i,j", values="ld=M")


def test_the_fixes_work():
    assert str(layout_of("a*8 + b", shape=(8, 8), coords="a,b")) == "(_8,_8):(_8,_1)"
    assert str(layout_of("i*ld + j", shape=(8, 8), coords="i,j", values={"ld": 64})) == "(_8,_8):(_64,_1)"
    assert str(layout_of("a*8 + b", shape={"b": 8, "a": 4})) == "(_8,_4):(_1,_8)"
    assert str(layout_of("i*1000000000 + j", shape=(8, 8), integer="int64")) == "(_8,_8):(_1000000000,_1)"


LONG = [
    "i+" * 400_000 + "i",
    "(" * 900_000,
    "i" * 1_000_000,
    "-" * 1_000_000 + "i",
    "i[" * 500_000,
    "(int)" * 200_000 + "i",
]
LONG += [
    "f(g(" * 200_000,
    "not " * 1000 + "i",
    "i?" * 300 + "i" + ":i" * 300,
    "i" + "[:, None]" * 100_000,
    "max(" + "i," * 300_000 + "i)",
]
LONG += [
    "i f " * 250_000,
    "(i, " * 250_000,
    "{" * 1_000_000,
    "def " * 250_000,
    "floor(" * 50 + "i" + "/2)" * 50,
    "+".join(["floor(i/3)"] * 150),
    "int a = 1;" * 100_000,
    "int a = 1;" * 100_000 + "a + i",
    "if (i) " * 150_000,
    "if (i) { " * 100_000 + "}" * 100_000,
    "template <" * 100_000,
    "template <int N = " * 50_000,
    "f<" * 500_000,
    "struct a { " * 90_000,
    "auto f = [](int a) { return " * 30_000,
    "#define A A A\nA",
    "#define F(x) x\n" + "F(" * 400_000,
    "#define F(x) x\n" + "F(" * 300_000 + ")" * 300_000,
    "#define A 1\n" * 80_000 + "i",
    "__shared__ int a" + "[2]" * 300_000 + "; i",
    "int f(int a) { return a + a; } " * 30_000 + "f(i)",
    "".join(
        f"int f{k + 1}(int a) {{ return f{k}(a) + f{k}(a); }} " if k else "int f1(int a) { return a; } "
        for k in range(99)
    )
    + "f99(i)",
    "a[0]" * 200_000,
    "reinterpret_cast<int*>(" * 40_000,
    "*" * 900_000 + "i",
    "&(" * 400_000,
    "lambda i: (" * 90_000,
    "lambda i: " + "i, " * 300_000 + "i",
    "x = i\n" * 170_000 + "x",
    "1'" * 500_000,
    "a::" * 300_000,
    "lane() + " * 100_000 + "i",
    "template <int N> struct S { " * 36_000,
    "template <int N> struct S { static constexpr int k = N; }; " * 16_000 + "S<8>::k",
    "template <int N> struct S { static constexpr int k = N; }; S<" + "S<" * 400_000,
    "template <int N> int f(int a) { return a; } " + "f<" * 400_000,
    "template <int N> struct S { static constexpr int k = N; }; using L = S<8>; " * 13_000 + "L::k + i",
    "memref.store %x, %m[" + "%i, " * 200_000,
    "memref.store %x, %m[%i] : memref<" + "8x" * 400_000 + "f32>",
    "%m = memref.alloc() : memref<64xf32>\n" + "%m = memref.cast %m : memref<64xf32> to memref<64xf32>\n" * 18_000,
    "%m0 = memref.alloc() : memref<64xf32>\n"
    + "".join(
        f"%m{k + 1} = memref.subview %m{k}[%i] [64] [1] : memref<64xf32> to memref<64xf32, strided<[1], offset: ?>>\n"
        for k in range(9000)
    ),
    "scf.for %k = %i to %i step %i { " * 30_000,
    "func.func @f(%m: memref<8xf32>) {\n" + "gpu.barrier\n" * 80_000,
    "func.func @f(" + "%m: memref<?x?xf32>, " * 40_000,
    "%c = memref.collapse_shape %m [" + "[0], " * 200_000,
    "gpu.module @m { " * 60_000,
]


@pytest.mark.parametrize("language", ["c", "python", "mlir", "triton", "latex", "sympy"])
def test_a_megabyte_is_answered_or_refused_in_time(language):
    for text in some(LONG, 6):
        start = time.process_time()
        try:
            layout_of(text, shape=4, coords="i", language=language)
        except tla.TlaError as error:
            assert len(str(error)) < 2000
        assert time.process_time() - start < 5

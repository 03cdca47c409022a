"""Layouts as source of the other systems: compiled, traced and parsed there, they are the same layouts.

C++ is compiled with g++ against CuTe's headers, of PyPI's nvidia-cutlass; TLA's too, with CuTe in the place of its
names, for CATLASS's headers are not on PyPI. Python is traced and run by nvidia-cutlass-dsl, which needs no GPU.
"""

import functools
import importlib.util
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import types

import pytest

import tla
from tla import (
    Coord,
    E,
    Int,
    IntTuple,
    Layout,
    LeafTypeError,
    MakeLayout,
    MakeLayoutFilter,
    MakeLayoutFmap,
    MakeMxScaleLayout,
    RangeError,
    Shape,
    Stride,
    Swizzle,
    TlaError,
    _0,
    ascend,
    assuming,
    at,
    dim,
    dims,
    idx2crd,
    index,
    is_static,
    parse,
    size,
    xla,
)
from tla.ascend import half
from tla.codegen import source

import oracle
from corpus import PROFILES, count
from places import DATA
from traced_sources import include_folders, traced

SYSTEMS = ("cute_cpp", "cute_dsl", "tla_cpp", "catlass_dsl", "xla")

# ------------------------------------------------------------------------------------------------------ inputs


def random_layout(rng, strides, largest=6):
    """A layout of static and dynamic integers, nested in some way."""
    profile = rng.choice(PROFILES)

    def integers(choose):
        values = [choose() for _ in range(count(profile))]
        return oracle.nest(
            profile,
            iter(
                [n if isinstance(n, Int) or not isinstance(n, int) or rng.random() < 0.4 else Int[n]() for n in values]
            ),
        )

    return Layout(integers(lambda: rng.randint(1, largest)), integers(strides))


def random_layouts(n, chains=True):
    """Layouts of every kind: small strides, negative and huge ones, coordinates, swizzles, and compositions."""
    rng = random.Random(20261121)
    small = functools.partial(rng.randint, 0, 40)
    for k in range(n):
        plain = random_layout(rng, small)
        if k % 8 < 3:
            yield plain
        elif k % 8 == 3:
            yield random_layout(rng, lambda: rng.choice((-3, 2**31 - 1, 2**31, -(2**31), -5_000_000_000, 2**40 + 1)))
        elif k % 8 == 4:
            yield random_layout(rng, lambda: rng.choice((1, 2, Int[3]())) * E[rng.choice(((0,), (1, 0), (1, 1)))])
        elif k % 8 == 5:
            swizzle = rng.choice((Swizzle[3, 0, 3](), Swizzle[2, 1, -3](), Swizzle[0, 2, 3](), Swizzle[1, 4, 2]()))
            yield tla.ComposedLayout(swizzle, rng.choice((_0, 0, 5, Int[8]())), plain) if swizzle.bits else plain
        elif k % 8 == 6 or not chains:
            yield tla.ComposedLayout(parse("(_4,(5,_3)):(7,(_1,40))"), rng.choice((_0, 3, Int[70]())), plain)
        else:
            yield tla.ComposedLayout(Swizzle[2, 0, 4](), _0, tla.ComposedLayout(parse("(4,_8):(_16,_1)"), 2, plain))


EXPLICIT = [
    *map(
        parse,
        """():() 4:2 _4:_2 _4:7 (4):(2) (_4):(_2) ((((_3)))):((((5)))) (_16,_12,_11,_1048576):(_1,_0,_-3,_24)
        (4,8):(1@0,2@1) (_4,8):(1@1@0,_3@1)         ((_16,7),(_16,4)):((_16,_256),(_1,1792)) (65536,65536):(65536,_1)
        (_65536,_65536):(_65536,_1) (50000,_50000,_3):(50000,_1,_-2500000000)
        (2,2):(-9223372036854775808,4611686018427387904) _1:_-9223372036854775808
        (1073741824,1073741824,1073741824):(1,1,1)         (_2147483647,2147483647):(_0,0)""".split(),
    ),
    parse("(8,_8):(_8,1) o (0,_2) o (4,8):(1@0,_1@1)"),
    parse("(_8,_8):(_8,_1) o (_0,_2) o (_4,_8):(_1@0,_1@1)"),
    parse("(_4,2):(_1,1000000000) o 8 o (5,3):(_1,_5)"),  # it goes on past its size: 64 bits
    parse("Sw<3,4,3> o _0 o (_64,_64):(_64,_1)"),
    parse("Sw<2,3,-4> o 2147483647 o (_4,4):(1,_4)"),
    parse("Sw<10,10,11> o _7 o (1024,_2048):(1,_1024)"),
    functools.reduce(lambda x, _k: Layout((x.shape,), (x.stride,)), range(60), parse("4:3")),
]

M, N = dims("M N")
i = index("i", below=M)
EXPRESSIONS = [
    -(-N // 128) * 16,
    M * N + 3,
    (M + 1) * (N - 2),
    M // 3 % 5 * 7,
    16 * M - N // 4,
    -M,
    2 - M - N * 3,
    (M + 5) ^ N ^ 3,
    (M // 4) * (N % 8),
    M * N // 5,
    -(M // 3) + 1,
    M * 5_000_000_000 - 1,
    tla.min(M, N) * tla.max(M + 1, 3),
    (i * N + 5) // (N + 1) % 4,
    (M - 1) // 2 * 4 - (N - 1) % (M + 2),
    tla.max(tla.min(M, N, 8), 4),
]
SYMBOLIC = [
    MakeLayout((-(-M // 16), (Int[8](), N)), tla.LayoutRight),
    MakeLayout((M, N + 1)),
    Layout((Int[4](), N), ((M // 4) * E[1], (N - M) * E[0])),
    tla.ComposedLayout(Swizzle[3, 3, 3](), M * 8, MakeLayout((Int[8](), N))),
]


def coordinates(layout):
    """A few coordinates, nested like the layout: the first, the last, and some between."""
    n = int(size(layout))
    for k in sorted({0, n // 3, n // 2, n - 1}) if n and layout.shape != () else ():
        yield idx2crd(k, layout.shape)


# -------------------------------------------------------------------------------------------------------- C++

PROGRAM = """
#include <cute/tensor.hpp>
namespace tla {
template <int v> using Int = cute::C<v>;
template <auto v> using C = cute::C<v>;
template <class... T> auto MakeShape(T const&... t) { return cute::make_shape(t...); }
template <class... T> auto MakeStride(T const&... t) { return cute::make_stride(t...); }
template <class... T> auto MakeCoord(T const&... t) { return cute::make_coord(t...); }
template <class... T> auto MakeTuple(T const&... t) { return cute::make_tuple(t...); }
template <class S, class D> auto MakeLayout(S const& s, D const& d) { return cute::make_layout(s, d); }
template <class S, class D, class O> auto MakeLayout(S const& s, D const& d, O const& o) {
  return cute::make_tuple(cute::make_layout(s, d), o);
}
using cute::max;
using cute::min;
}
template <class L, class... C> void show(L const& layout, C const&... coord) {
  cute::print(layout);
  ((printf(";"), cute::print(layout(coord))), ...);
  printf("\\n");
}
void sizes(int M, int N, int i) {
  printf("%%d %%d %%d", M, N, i);
  %s
  printf("\\n");
}
int main() {
  int M = 37, N = 24;
  %s
  for (int m : {1, 7, 37}) for (int n : {1, 8, 24, 129}) for (int k : {0, m - 1}) sizes(m, n, k);
}
"""


def compiled(tmp_path, shown, sizes):
    """What the program prints for calls of show(), and for expressions of M, N and i."""
    program = PROGRAM % (
        "\n  ".join(f'printf(" %lld", (long long)({x}));' for x in sizes),
        "\n  ".join(f"show({x});" for x in shown),
    )
    (tmp_path / "a.cpp").write_text(program)
    include = [f"-isystem{folder}" for folder in include_folders()]
    command = [
        "g++",
        "-std=c++17",
        "-w",
        "-ftemplate-depth=2000",
        *include,
        str(tmp_path / "a.cpp"),
        "-o",
        str(tmp_path / "a"),
    ]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, re.findall(r".*error.*", made.stderr)[:5]
    lines = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, check=True).stdout.splitlines()
    return lines[: len(shown)], lines[len(shown) :]


def call(layout):
    """The arguments of show() for a layout and some coordinates, and what is to be printed."""
    coords = [Coord(*c) if isinstance(c, tuple) else c for c in map(oracle.plain, coordinates(layout))]
    arguments = ", ".join(source(x, "cute_cpp") for x in (layout, *coords))
    return arguments, [str(layout), *(str(layout(c)) for c in coords)]


def test_static_integers_have_the_names_of_cute():
    for k, near in itertools.product(range(1, 22), (-1, 0, 1)):
        n = (1 << k) + near
        named = n <= 10 or (near == 0 and 4 <= k < 20)
        assert source(parse(f"_{n}"), "cute_cpp") == (f"cute::_{n}{{}}" if named else f"cute::Int<{n}>{{}}")


def test_cpp_of_cute_is_the_same_layout(tmp_path):
    include_folders()
    layouts = [*EXPLICIT, *random_layouts(240)]
    calls = [call(layout) for layout in layouts]
    plain = [
        x
        for x in EXPLICIT
        if type(x) is Layout and x.shape != () and all(map(tla.is_int, tla.core.int_tuple.leaves(x.stride)))
    ]
    padded = Layout((Int[16](), 8), (8, 1), origin_shape=(Int[5](), 7))
    others = [
        Shape(4, (Int[2](), Int[3]())),
        Stride(Int[1]()),
        Coord(1, (2, Int[3]())),
        IntTuple(1, Int[7]()),
        Int[2**40](),
        7,
        -(2**63),
    ]
    shown = [arguments for arguments, _expected in calls]
    shown += [source(x, "cute_cpp") for x in (*others, Swizzle[2, 0, 3](), E[0, 1])]
    shown += [source(x, "tla_cpp") for x in (*plain, *others)] + [source(padded, "tla_cpp")]
    shown += [source(x, "cute_cpp") for x in SYMBOLIC]
    text = [expected for _arguments, expected in calls]
    text += [[str(x)] for x in (*others, Swizzle[2, 0, 3](), E[0, 1])]
    text += [[tla_text(x)] for x in (*plain, *others)] + [["((_16,8):(8,1),(_5,7))"]]
    text += [[str(at(x, M=37, N=24))] for x in SYMBOLIC]
    got, sizes = compiled(tmp_path, shown, [source(e, s) for e in EXPRESSIONS for s in ("cute_cpp", "tla_cpp")])
    for line, expected, written in zip(got, text, shown):
        made, *offsets = line.split(";")
        assert made == expected[0], written
        assert [x.replace("_", "") for x in offsets] == [x.replace("_", "") for x in expected[1:]], (written, line)
    assert len(got) == len(text) > 300
    assert len(sizes) == 24
    for line in sizes:
        m, n, k, *values = map(int, line.split())
        assert values == [e.at({"M": m, "N": n, "i": k}) for e in EXPRESSIONS for _ in range(2)]


def tla_text(x):
    """What TLA's text of x prints: an origin_shape that its own default cannot hold stands behind the layout."""
    if isinstance(x, Layout) and any(n > 2**32 - 1 for n in x.origin_shape):
        return f"({x},{x.origin_shape})"
    return str(x)


# -------------------------------------------------------------------------------------------------- the CuTe DSL

KERNEL = """
import cutlass, cutlass.cute as cute

@cute.jit
def layouts(M: cutlass.Int32, N: cutlass.Int32):
%s

@cute.jit
def sizes(M: cutlass.Int32, N: cutlass.Int32, i: cutlass.Int32):
%s

layouts(cutlass.Int32(37), cutlass.Int32(24))
print("sizes", flush=True)
for m, n in ((1, 1), (7, 8), (37, 129)):
    for k in (0, m - 1):
        sizes(cutlass.Int32(m), cutlass.Int32(n), cutlass.Int32(k))
"""


def printed(x):
    return str(x).replace("_", "").replace("Sw", "S")


def test_python_of_the_dsl_is_the_same_layout(tmp_path):
    if importlib.util.find_spec("cutlass") is None:
        pytest.skip("needs the CuTe DSL: pip install nvidia-cutlass-dsl")
    layouts = [*EXPLICIT, *random_layouts(160, chains=False)]
    values = [*layouts, *SYMBOLIC]
    known = [*layouts, *(at(x, M=37, N=24) for x in SYMBOLIC)]
    body = [f'    x = {source(x, "cute_dsl")}\n    print("trace", x.type)\n    cute.printf("{{}}", x)' for x in values]
    exprs = ", ".join(source(e, "cute_dsl") for e in EXPRESSIONS)
    expression = f'    cute.printf("{" ".join(["{}"] * (3 + len(EXPRESSIONS)))}", M, N, i, {exprs})'
    (tmp_path / "kernel.py").write_text(KERNEL % ("\n".join(body), expression))
    run = subprocess.run([sys.executable, "kernel.py"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    lines = run.stdout.splitlines()
    types = [re.sub(r"\{[^}]*\}", "", line).split('"')[1] for line in lines if line.startswith("trace")]
    rest = [line for line in lines if not line.startswith("trace") and line != "sizes"]
    assert types == [traced(x) for x in known]
    assert rest[: len(known)] == [printed(x) for x in known]
    assert len(rest) == len(known) + 6
    for line in rest[len(known) :]:
        m, n, k, *got = map(int, line.split())
        assert got == [e.at({"M": m, "N": n, "i": k}) for e in EXPRESSIONS]


# ------------------------------------------------------------------------------------------------- TLA and XLA


def plainly(text):
    """C++ of TLA without namespaces, and without the types of its numbers."""
    return (
        re.sub(r"\bu?int(?:\d+_t)?\((-?\d+)\)", r"\1", text).replace("tla::", "").replace("Catlass::layout::", "CL::")
    )


def test_cpp_of_tla_is_what_its_headers_were_given():
    """What we write is a text that was compiled against CATLASS's headers, and there it made this layout."""
    cases = truth("tla/cpp.json")["rows"]
    made = {plainly(text): layout for text, layout, _origin, _element in cases}
    seen = 0
    for text, layout, origin, element in cases:
        tag = re.match(r"MakeLayout<[\w:]+, CL::(\w+)>\((.*)\)", plainly(text).replace("Int<", "_").replace(">{}", ""))
        if tag is None:
            ours = source(parse(layout, origin_shape=origin and parse(origin)), "tla_cpp")
        else:
            sizes = map(parse, tag[2].split(", "))
            dtype = getattr(ascend, element or "half")
            ours = source(MakeLayout[dtype, getattr(ascend, tag[1])](*sizes), "tla_cpp", dtype=dtype)
        seen += plainly(ours) in made
        assert made.get(plainly(ours), layout) == layout, (text, ours)
    assert seen > len(cases) * 0.9, seen


#: Enough of TLA for the types of its layouts; tuples convert to none but their own type, as TLA's.
STAND_IN = """
#include <cstdint>
#include <type_traits>
namespace Catlass::layout { struct zN {}; struct RowMajor { uint32_t rows, cols; int64_t ld; RowMajor(uint32_t r, uint32_t c, int64_t l) : rows(r), cols(c), ld(l) {} }; }
namespace tla {
template <auto v> struct C { static constexpr auto value = v; constexpr operator decltype(v)() const { return v; } };
template <int v> using Int = C<v>;
template <class... T> struct tuple {};
template <class T, class... Rest> struct tuple<T, Rest...> {
  T first; tuple<Rest...> rest;
  constexpr tuple() {}
  constexpr tuple(T const& f, Rest const&... r) : first(f), rest(r...) {}
};
template <class... T> using Shape = tuple<T...>;
template <class... T> using Stride = tuple<T...>;
template <class... T> constexpr tuple<T...> MakeShape(T const&... t) { return {t...}; }
template <class... T> constexpr tuple<T...> MakeStride(T const&... t) { return {t...}; }
template <class S> struct Valid;
template <class... T> struct Valid<tuple<T...>> { template <class> using u32 = uint32_t; using type = tuple<u32<T>...>; };
template <class S, class D, class O = typename Valid<D>::type> struct Layout {
  S shape; D stride; O origin_shape;
  constexpr Layout(S const& s = S(), D const& d = D(), O const& o = O()) : shape(s), stride(d), origin_shape(o) {}
};
template <class S, class D> constexpr Layout<S, D> MakeLayout(S s, D d) { return {s, d, {}}; }
template <class S, class D, class O> constexpr Layout<S, D, O> MakeLayout(S s, D d, O o) { return {s, d, o}; }
template <class E, class Tag, class R, class N> constexpr auto MakeLayout(R rows, N cols) {
  if constexpr (std::is_same_v<Tag, Catlass::layout::RowMajor>)
    return MakeLayout(MakeShape(rows, cols), MakeStride(int64_t(cols), Int<1>{}), MakeShape(rows, cols));
  else
    return MakeLayout(MakeShape(MakeShape(Int<16>{}, (rows + 15) / 16), MakeShape(Int<16>{}, (cols + 15) / 16)),
                      MakeStride(MakeStride(Int<16>{}, Int<256>{}), MakeStride(Int<1>{}, int64_t(rows + 15) / 16 * 256)),
                      MakeShape(rows, cols));
}
template <class... T> constexpr tuple<T...> MakeCoord(T const&... t) { return {t...}; }
inline auto MakeLayoutFromTag(Catlass::layout::RowMajor t) {
  return MakeLayout(MakeShape(t.rows, t.cols), MakeStride(t.ld, Int<1>{}), MakeShape(t.rows, t.cols));
}
template <class S, class D, class O, class R, class N, class X> constexpr auto GetTileLayout(Layout<S, D, O> l, tuple<R, N> t, X) {
  return MakeLayout(MakeShape(MakeShape(Int<16>{}, (t.first + 15) / 16), MakeShape(Int<16>{}, (t.rest.first + 15) / 16)), l.stride, t);
}
}
namespace Catlass::detail {
using namespace tla;
using LayoutL0C = Layout<Shape<Shape<Int<16>, uint32_t>, Shape<Int<16>, uint32_t>>, Stride<Stride<Int<16>, Int<256>>, Stride<Int<1>, int64_t>>>;
template <class E, class Tag> struct Of;
template <class E> struct Of<E, layout::RowMajor> { using type = Layout<Shape<uint32_t, uint32_t>, Stride<int64_t, Int<1>>>; };
template <class E> struct Of<E, layout::zN> { using type = LayoutL0C; };
template <class E, class Tag> using TagToLayout_t = typename Of<E, Tag>::type;
}
"""
CATLASS = """
#include <cstddef>
using std::size_t;
namespace AscendC { enum class TPosition { GM, A1, A2, B1, B2, C2, CO1, VECCALC }; }  // all that these headers use of it
#include <catlass/catlass.hpp>
#include <tla/layout.hpp>
#include <catlass/detail/tag_to_layout.hpp>
"""


#: Layouts that only CATLASS's headers have, each with the type that it is assigned to.
OTHERS = [
    (
        "float8_e8m0_t, Catlass::layout::zZ",
        MakeMxScaleLayout[ascend.fp8_e8m0, ascend.zZ, False](100, 70),
        ascend.fp8_e8m0,
    ),
    ("float8_e8m0_t, Catlass::layout::nN", MakeMxScaleLayout[ascend.fp8_e8m0, ascend.nN, True](M, 70), ascend.fp8_e8m0),
    ("half, Catlass::layout::NC1HWC0", MakeLayoutFmap[half](2, M, 14, N), half),
    ("half, Catlass::layout::CI1KHKWCOCI0", MakeLayoutFilter[half, "L1"](2, 3, 3, 20), half),
    ("half, Catlass::layout::nZ", MakeLayout[half, ascend.nZ](100, 60, ld=96), half),
]


def test_cpp_of_tla_has_the_types_of_catlass(tmp_path):
    """What is written is assigned to CATLASS's own layout types: shapes of uint32_t, strides of int64_t.

    CATLASS's headers are taken where CATLASS_INCLUDE names their folder, else types written down from them.
    """
    if not shutil.which("g++"):
        pytest.skip("needs g++")
    headers = os.environ.get("CATLASS_INCLUDE")
    cases = [
        (tag, sizes, ld)
        for tag in ("zN", "RowMajor")
        for sizes in ((100, 60), (1, 1), (65536, 65536), (M, 60), (M, N))
        for ld in (0, 1)
    ]
    cases += (
        [(tag, sizes, 0) for tag in ("ColumnMajor", "zZ", "nZ") for sizes in ((100, 60), (M, N))] if headers else []
    )
    lines = []
    for tag, sizes, ld in cases:
        layout = MakeLayout[half, getattr(ascend, tag)](
            *sizes, **({"ld": -(-sizes[tag == "RowMajor"] // 16) * 16 + 64} if ld else {})
        )
        kind = f"Catlass::detail::TagToLayout_t<half, Catlass::layout::{tag}>"
        for dtype in (None, half):
            text = source(layout, "tla_cpp", dtype=dtype)
            assert ("layout::" in text) == (dtype is half) or (dtype is half and ld), text
            lines += [f"{{ {kind} a; a = {text}; }}", f"static_assert(std::is_same_v<{kind}, decltype({text})>);"]
    for kind, layout, element in OTHERS if headers else ():
        text = source(layout, "tla_cpp", dtype=element)
        lines += [f"{{ Catlass::detail::TagToLayout_t<{kind}> a; a = {text}; }}"]
        assert "MakeMxScale" in text or "Fmap" in text or "GetTileLayout" in text
    lines += [f"Catlass::detail::LayoutL0C c; c = {source(MakeLayout[half, ascend.L0C](100, 60), 'tla_cpp')};"]
    lines += [f"auto b = {source(MakeLayout[half, ascend.zN](Int[100](), 60), 'tla_cpp')};"]
    (tmp_path / "a.cpp").write_text(
        f"struct half {{ short x; }}; struct float8_e8m0_t {{ char x; }}; struct float4_e2m1x2_t {{}}; struct "
        f"float4_e1m2x2_t {{}};\n{CATLASS if headers else STAND_IN}\nvoid f(int M, int N) {{\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    made = subprocess.run(
        [
            "g++",
            "-std=c++17",
            "-fsyntax-only",
            *([f"-I{headers}", "-DCATLASS_ARCH=3510"] if headers else []),
            "a.cpp",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, re.findall(r".*error.*", made.stderr)[:5]


def test_a_tag_is_written_where_it_says_all():
    a = MakeLayout[half, ascend.zN](100, 60)
    explicit = (
        "tla::MakeLayout(tla::MakeShape(tla::MakeShape(tla::Int<16>{}, uint32_t(7)), tla::MakeShape(tla::Int<16>{}, "
        "uint32_t(4))), "
    )
    explicit += "tla::MakeStride(tla::MakeStride(tla::Int<16>{}, tla::Int<256>{}), tla::MakeStride(tla::Int<1>{}, int64_t(1792)))"
    assert source(a, "tla_cpp", dtype=half) == "tla::MakeLayout<half, Catlass::layout::zN>(uint32_t(100), uint32_t(60))"
    assert source(a, "tla_cpp") == f"{explicit}, tla::MakeShape(uint32_t(100), uint32_t(60)))"
    assert source(Layout(a.shape, a.stride), "tla_cpp") == f"{explicit})"
    assert (
        source(MakeLayout[half, ascend.zN](M, 60), "tla_cpp", dtype=half)
        == "tla::MakeLayout<half, Catlass::layout::zN>(uint32_t(M), uint32_t(60))"
    )
    assert "<" not in source(MakeLayout[half, ascend.RowMajor](4, 6, ld=13), "tla_cpp", dtype=half).replace(
        "Int<1>", ""
    )
    assert "Catlass" not in source(MakeLayout[half, ascend.nN](4, 6), "tla_cpp", dtype=half)
    written = source(Layout((4, 6), (N, M)), "tla_cpp", dtype=half)
    assert (
        written == "tla::MakeLayout(tla::MakeShape(uint32_t(4), uint32_t(6)), tla::MakeStride(int64_t(N), int64_t(M)))"
    )
    for name, element in vars(ascend).items():
        if isinstance(element, ascend.Element):
            text = source(MakeLayout[element, ascend.nZ](64, 64), "tla_cpp", dtype=element)
            assert re.fullmatch(
                r"tla::MakeLayout<[\w:]+, Catlass::layout::nZ>\(uint32_t\(64\), uint32_t\(64\)\)", text
            ), name


@pytest.mark.parametrize("tag", ["zN", "nZ", "zZ", "RowMajor", "ColumnMajor"])
def test_a_corner_of_a_larger_matrix_is_written_by_that(tag):
    """What is written, made here: the matrix of the tag, and of it the tile at its beginning."""
    for sizes, ld in (((100, 60), 128), ((100, 60), 176), ((32, 48), 64), ((M, 60), 64 * M)):
        layout = MakeLayout[half, getattr(ascend, tag)](*sizes, ld=ld)
        text = source(layout, "tla_cpp", dtype=half)
        written = [parse(x, symbols=[M]) for x in re.findall(r"u?int(?:32|64)_t\(([^()]*)\)", text)]
        if tag in ("RowMajor", "ColumnMajor"):
            assert text.startswith(f"tla::MakeLayoutFromTag(Catlass::layout::{tag}(")
            assert written == [*sizes, ld]
        else:
            assert text.startswith(f"tla::GetTileLayout(tla::MakeLayout<half, Catlass::layout::{tag}>(")
            rows, columns, *tile = written
            assert tile == [*sizes, 0, 0]
            made = tla.GetTileLayout(MakeLayout[half, getattr(ascend, tag)](rows, columns), sizes, (0, 0))
            assert (str(made), made.origin_shape) == (str(layout), layout.origin_shape)
    for sizes in ((Int[100](), 60), (100, Int[60]())):  # the integers of such a layout of CATLASS are dynamic
        assert "FromTag" not in source(MakeLayout[half, ascend.RowMajor](*sizes, ld=128), "tla_cpp", dtype=half)


def test_text_of_catlass_dsl_is_the_layout_with_its_tag():
    """Executed by stand-ins for the functions of the DSL, which keep what they are given."""
    tla_ = types.SimpleNamespace(
        arch=types.SimpleNamespace(
            **{name: name for name in "RowMajor ColumnMajor zN nZ zZ L0Clayout zNUnAlign".split()}
        ),
        **dict.fromkeys(("make_shape", "make_stride", "make_coord"), lambda *n: n),
        make_layout=lambda shape, stride, *, origin_shape, layoutTag: (shape, stride, origin_shape, layoutTag),
    )
    for tag, name in (
        ("RowMajor", "RowMajor"),
        ("zN", "zN"),
        ("nZ", "nZ"),
        ("zZ", "zZ"),
        ("L0C", "L0Clayout"),
        ("zNUnAlign", "zNUnAlign"),
    ):
        layout = MakeLayout[ascend.float, getattr(ascend, tag)](100, 60)
        made = eval(source(layout, "catlass_dsl", dtype=ascend.float), {"tla": tla_})
        assert made == (layout.shape, layout.stride, layout.origin_shape, name)
    made = eval(source(MakeLayout[half, ascend.zN](M, 60), "catlass_dsl", dtype=half), {"tla": tla_, "M": 33})
    assert made == (((16, 3), (16, 4)), ((16, 256), (1, 768)), (33, 60), "zN")
    assert source(Coord(1, (2, M)), "catlass_dsl") == "tla.make_coord(1, tla.make_coord(2, M))"
    with pytest.raises(LeafTypeError, match="as source of CATLASS's DSL"):
        source(MakeLayout[half, ascend.zN](100, 60), "catlass_dsl")


def test_text_of_xla_is_the_same_map():
    texts = (
        "bf16[1280,16384]{1,0:T(8,128)(2,1)} f32[3,5]{0,1} s8[33,200]{1,0:T(32,128)(4,1)} f32[6,10]{1,0:T(3,5)(2,2)} "
        "f32[] pred[7]{0}"
    )
    for text in texts.split():
        shape, layout = xla.parse_shape(text), xla.lower(text)
        found = xla.parse_shape(source(layout, "xla", dtype=shape.element_type))
        assert (found.element_type, found.dimensions) == (shape.element_type, shape.dimensions)
        for at_once in itertools.product(*({0, n // 2, n - 1} for n in shape.dimensions)):
            assert xla.lower(found)(at_once) == layout(at_once)
    assert source(parse("(3,5):(1,3)"), "xla") == "f32[3,5]{0,1}"


# --------------------------------------------------------------------------------------------- refusals, and texts


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (
            lambda: source((M - N) // 4, "cute_cpp"),
            "(M-N)//(4), which this language rounds toward zero: it is not known whether 0 <= M-N\n"
            "  expected  0 <= M-N\n  fix       declare facts of M, N that imply it, or go on under assuming()",
        ),
        (
            lambda: source((-M - 1) % (N + 3), "cute_dsl"),
            "(-M-1)%(N+3), which this language rounds toward zero\n  expected  0 <= -M-1\n  fix       add a multiple "
            "of N+3 first, so that it is",
        ),
        (
            lambda: source(MakeLayout(dim("register")), "tla_cpp"),
            "the size register as source\n  expected  a name that is no word of the language, and without __\n  fix    "
            "   rename it",
        ),
        (
            lambda: source(4, "cuda"),
            "source for 'cuda'\n  expected  one of cute_cpp, cute_dsl, tla_cpp, catlass_dsl, xla, flydsl, pycute, "
            'mojo, axe, torch_view, numpy_view, cutile, isl\n  fix       write "cute_cpp"',
        ),
        (
            lambda: source([4], "cute_cpp"),
            "source of a list\n  expected  a layout, a Swizzle or an IntTuple\n  fix       write a tuple: "
            "MakeLayout((4, 8))",
        ),
        (
            lambda: source(4, "cute_cpp", dtype="f32"),
            "source for cute_cpp with dtype\n  expected  no dtype: it has none\n  fix       leave dtype out",
        ),
        (
            lambda: source(Swizzle[20, 4, 30](), "cute_dsl"),
            "Sw<20,4,30> as source of CuTe\n  expected  at most 31 bits in all\n  fix       swizzle lower bits",
        ),
        (
            lambda: source(parse("Sw<3,4,3> o _0 o (8,8):(8,1)"), "tla_cpp"),
            'Sw<3,4,3> o _0 o (8,8):(8,1) as source of TLA\n  expected  a plain layout: TLA has no other\n  fix       write source(x, "cute_cpp")',
        ),
        (
            lambda: source(parse("(4,8):(1@0,1@1)"), "tla_cpp"),
            'the stride 1@0 as source of TLA\n  expected  integers: TLA has no coordinates as strides\n  fix       write source(x, "cute_cpp")',
        ),
        (
            lambda: source(MakeLayout((4, ()), (1, ())), "tla_cpp"),
            "() as source of TLA\n  expected  at least one mode: its tuples have no empty ones\n  fix       leave the "
            "mode out",
        ),
        (
            lambda: source(MakeLayout((4, 8)), "tla_cpp", dtype=16),
            "elements of 16 bits as source of TLA\n  expected  a type of tla.ascend\n  fix       write half for 16",
        ),
        (
            lambda: source(parse("(2,2):(1,1) o 0 o (2,2):(1,1) o 0 o 2:1"), "cute_dsl"),
            "(2,2):(1,1) o 0 o (2,2):(1,1) o 0 o 2:1 as source of the CuTe DSL\n"
            '  expected  one map after a plain layout\n  fix       write source(x, "cute_cpp")',
        ),
    ],
)
def test_what_is_refused(f, text):
    with pytest.raises(TlaError) as caught:
        f()
    assert str(caught.value) == text


def test_the_fixes_work():
    m = dim("M", at_least=N)
    assert source((m - N) // 4, "cute_cpp") == "(M - N) / 4"
    with assuming() as conditions:
        assert source((M - N) // 4, "cute_cpp") == "(M - N) / 4"
    assert [*map(str, conditions)] == ["0 <= M-N"]
    assert source((M - N) // 4, "cute_dsl") == "(M - N) // 4"  # which rounds down there
    assert source(parse("(4,8):(1@0,1@1)"), "cute_cpp").endswith(
        "cute::make_stride(1 * cute::E<0>{}, 1 * cute::E<1>{}))"
    )


def test_words_of_the_languages_are_no_names():
    for word in ("new", "int", "auto", "xor_eq", "half", "int8_t", "a__b", "this"):
        for system in ("cute_cpp", "tla_cpp"):
            with pytest.raises(TlaError, match="rename"):
                source(MakeLayout((dim(word), 4)), system)
    for word in ("cute", "cutlass"):
        assert source(dim(word), "cute_cpp") == word
        with pytest.raises(TlaError, match="rename"):
            source(dim(word), "cute_dsl")
    for x in (None, True, 2.0, "4:1", Int[4], Layout, ascend.zN[half](4, 4), xla.parse_shape("f32[3]"), lambda: 0):
        for system in SYSTEMS:
            with pytest.raises(TlaError):
                source(x, system)
    for system in (None, 3, [], "CUTE_CPP", ""):
        with pytest.raises(RangeError):
            source(4, system)


def test_numbers_of_64_bits():
    for e in (M * 2**40 * 2**40, N - M * 2**40 * 2**23, (M + 2**62) + 2**62):
        for system in ("cute_cpp", "cute_dsl"):
            with pytest.raises(RangeError, match="what a signed 64-bit integer holds"):
                source(e, system)
    assert source(2**31 - 1, "cute_cpp") == "2147483647"
    assert source(2**31, "cute_cpp") == "2147483648LL"
    assert source(Int[2**31](), "cute_cpp") == "cute::C<2147483648LL>{}"
    assert source(-(2**63), "tla_cpp") == "(-9223372036854775807LL - 1)"
    assert source(2**31, "cute_dsl") == "cutlass.Int64(2147483648)"
    assert source(Int[2**31](), "cute_dsl") == "2147483648"
    row = MakeLayout((50000, 50000), tla.LayoutRight)
    assert (
        source(row, "cute_cpp")
        == "cute::make_layout(cute::make_shape(50000, 50000LL), cute::make_stride(50000LL, cute::_1{}))"
    )
    assert is_static(row.stride[1])


GOLDEN = {
    "tiles": parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"),
    "rows": MakeLayout((M, N), tla.LayoutRight),
    "zN": MakeLayout[half, ascend.zN](100, 60),
    "zN_symbolic": MakeLayout[half, ascend.zN](M, N),
    "zN_static": MakeLayout[half, ascend.zN](Int[128](), Int[64]()),
    "xla": xla.lower("bf16[16,256]{1,0:T(8,128)(2,1)}"),
    "huge": MakeLayout((50000, 50000), tla.LayoutRight),
    "swizzled": parse("Sw<3,4,3> o _0 o (_64,_64):(_64,_1)"),
    "swizzled_dynamic": parse("Sw<3,4,3> o 8 o (_8,4):(_1,_8)"),
    "identity": tla.MakeIdentityLayout((4, (Int[8](), 2))),
    "composed": parse("(_4,_2):(_7,_1) o _3 o (2,_2):(_1,_2)"),
    "shape": Shape(4, (Int[2](), M)),
}


DTYPES = {"tla_cpp": half, "catlass_dsl": half, "xla": "bf16"}


def said(x, system, dtype=None):
    try:
        return f"  {source(x, system, dtype=dtype)}"
    except TlaError as error:
        return "".join(f"  {line}\n" for line in str(error).splitlines()).rstrip()


@pytest.mark.parametrize("system", SYSTEMS)
def test_golden(golden, system):
    lines = []
    for name, x in GOLDEN.items():
        lines += [f"{name}: {x}", said(x, system)]
        if system in DTYPES and isinstance(x, Layout):
            lines += [said(x, system, DTYPES[system])]
    golden(f"source/{system}.txt", "\n".join(lines) + "\n")


@functools.cache
def truth(name):
    return json.loads((DATA / name).read_text())


CUTE = [
    (
        "(_4,_8):(_1@0,_2@1)",
        "cute::Layout<cute::Shape<cute::_4, cute::_8>, cute::Stride<cute::E<0>, cute::ScaledBasis<cute::_2, 1>>>{}",
        "cute.make_layout((4, 8), stride=(cute.E(0), 2 * cute.E(1)))",
    ),
    (
        "(4,_8):(3@0,_1@1)",
        "cute::make_layout(cute::make_shape(4, cute::_8{}), cute::make_stride(3 * cute::E<0>{}, cute::E<1>{}))",
        "cute.make_layout((cutlass.Int32(4), 8), stride=(cutlass.Int32(3) * cute.E(0), cute.E(1)))",
    ),
    (
        "((_4,3),_12):((_1@0@1,_-2@1),M@0)",
        "cute::make_layout(cute::make_shape(cute::make_shape(cute::_4{}, 3), cute::Int<12>{}), "
        "cute::make_stride(cute::Stride<cute::E<1, 0>, cute::ScaledBasis<cute::Int<-2>, 1>>{}, M * cute::E<0>{}))",
        "cute.make_layout(((4, cutlass.Int32(3)), 12), stride=((cute.E([1, 0]), -2 * cute.E(1)), M * cute.E(0)))",
    ),
    (
        "Sw<2,4,3> o _0 o (8,_4):(_4,_1)",
        "cute::make_composed_layout(cute::Swizzle<2, 4, 3>{}, cute::_0{}, "
        "cute::make_layout(cute::make_shape(8, cute::_4{}), cute::Stride<cute::_4, cute::_1>{}))",
        "cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, cute.make_layout((cutlass.Int32(8), 4), stride=(4, "
        "1)))",
    ),
    (
        "Sw<2,0,3> o 5 o Sw<1,0,2> o _0 o (_8,_4):(_4,_1)",
        "cute::make_composed_layout(cute::Swizzle<2, 0, 3>{}, 5, cute::ComposedLayout<cute::Swizzle<1, 0, 2>, "
        "cute::_0, "
        "cute::Layout<cute::Shape<cute::_8, cute::_4>, cute::Stride<cute::_4, cute::_1>>>{})",
        None,
    ),
    ("_11:_10", "cute::Layout<cute::Int<11>, cute::_10>{}", "cute.make_layout(11, stride=10)"),
    ("_4:_-1", "cute::Layout<cute::_4, cute::Int<-1>>{}", "cute.make_layout(4, stride=-1)"),
    ("():()", "cute::Layout<cute::Shape<>, cute::Stride<>>{}", "cute.make_layout((), stride=())"),
    (
        "(_4):(_1)",
        "cute::Layout<cute::Shape<cute::_4>, cute::Stride<cute::_1>>{}",
        "cute.make_layout((4,), stride=(1,))",
    ),
]


@pytest.mark.parametrize(("text", "cpp", "dsl"), CUTE, ids=[row[0] for row in CUTE])
def test_how_layouts_are_written_for_cute(text, cpp, dsl):
    """What is static is a type, and what is made of types alone; the rest is made of values."""
    layout = parse(text, symbols=[M])
    assert source(layout, "cute_cpp") == cpp
    if dsl is None:
        with pytest.raises(LeafTypeError, match="one map after a plain layout"):
            source(layout, "cute_dsl")
    else:
        assert source(layout, "cute_dsl") == dsl


def test_strides_are_of_32_bits_while_all_that_they_reach_is():
    """An integer goes past the last extent of the layout after it: 1023 is (3,7,31) in (4,8,_), and reaches 31 +
    31 * d."""
    d, inner = (2**31 - 1 - 31) // 31, parse("_1024:_1")
    for stride, wide in ((d, False), (d + 1, True), (-d, False), (-d - 1, True)):
        outer = parse(f"(_4,_8,_2):(_1,_4,_{stride})")
        text = source(tla.ComposedLayout(outer, _0, inner), "cute_cpp")
        assert ("LL" in text, f"cute::C<{stride}LL>" in text) == (wide, wide), text
    for offset, wide in ((2**31 - 1 - 1023, False), (2**31 - 1023, True)):
        text = source(tla.ComposedLayout(parse("_4:_1"), Int[offset](), inner), "cute_cpp")
        assert ("LL" in text, f"cute::C<{offset}LL>" in text) == (wide, wide), text


def test_extents_are_of_32_bits_while_their_product_is():
    assert "MakeShape(uint32_t(65536), uint32_t(60000))" in tla.codegen.source(
        MakeLayout(((65536, 60000), 2)), "tla_cpp"
    )

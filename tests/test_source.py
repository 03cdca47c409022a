"""Layouts as source of the other systems: compiled, traced and parsed there, they are the same layouts.

C++ is compiled with g++ against CuTe's headers, of PyPI's nvidia-cutlass; TLA's too, with CuTe in the place of its names, for
CATLASS's headers are not on PyPI. Python is traced and run by nvidia-cutlass-dsl, which needs no GPU.
"""

import functools
import importlib.util
import itertools
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tla
from tla import (
    Coord,
    E,
    Int,
    IntTuple,
    Layout,
    MakeLayout,
    RangeError,
    Shape,
    Stride,
    Swizzle,
    TlaError,
    Unproven,
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
    same_map,
    size,
    xla,
)
from tla.ascend import half
from tla.codegen import source

from corpus import PROFILES, count, fill

SYSTEMS = ("cute_cpp", "cute_dsl", "tla_cpp", "xla")

# ------------------------------------------------------------------------------------------------------ inputs


def random_layout(rng, strides, largest=6):
    """A layout of static and dynamic integers, nested in some way."""
    profile = rng.choice(PROFILES)

    def integers(choose):
        values = [choose() for _ in range(count(profile))]
        return fill(profile, iter([n if isinstance(n, Int) or not isinstance(n, int) or rng.random() < 0.4 else Int[n]() for n in values]))

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
        """():() 4:2 _4:_2 _4:7 (4):(2) (_4):(_2) ((((_3)))):((((5)))) (_16,_12,_11,_1048576):(_1,_0,_-3,_24) (4,8):(1@0,2@1) (_4,8):(1@1@0,_3@1)
        ((_16,7),(_16,4)):((_16,_256),(_1,1792)) (65536,65536):(65536,_1) (_65536,_65536):(_65536,_1) (50000,_50000,_3):(50000,_1,_-2500000000)
        (2,2):(-9223372036854775808,4611686018427387904) _1:_-9223372036854775808 (1073741824,1073741824,1073741824):(1,1,1)
        (_2147483647,2147483647):(_0,0)""".split(),
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


def dynamic(x):
    return tuple(map(dynamic, x)) if isinstance(x, tuple) else int(x)


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


@functools.cache
def include_folders():
    """Where CuTe's headers are, and CUDA's; skips where they are not."""
    spec = importlib.util.find_spec("cutlass_library")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs CuTe's headers: pip install --no-deps nvidia-cutlass")
    cuda = [p for p in Path("/usr/local").glob("cuda*/include*") for p in (p, p / "cccl") if (p / "cuda/std/utility").exists()]
    if not cuda or not shutil.which("g++"):
        pytest.skip("needs g++ and the headers of CUDA in /usr/local")
    return [Path(spec.submodule_search_locations[0]) / "source/include", cuda[0], cuda[0].parent]


def compiled(tmp_path, shown, sizes):
    """What the program prints for calls of show(), and for expressions of M, N and i."""
    program = PROGRAM % ("\n  ".join(f'printf(" %lld", (long long)({x}));' for x in sizes), "\n  ".join(f"show({x});" for x in shown))
    (tmp_path / "a.cpp").write_text(program)
    include = [f"-isystem{folder}" for folder in include_folders()]
    command = ["g++", "-std=c++17", "-w", "-ftemplate-depth=2000", *include, str(tmp_path / "a.cpp"), "-o", str(tmp_path / "a")]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, re.findall(r".*error.*", made.stderr)[:5]
    lines = subprocess.run([str(tmp_path / "a")], capture_output=True, text=True, check=True).stdout.splitlines()
    return lines[: len(shown)], lines[len(shown) :]


def call(layout):
    """The arguments of show() for a layout and some coordinates, and what is to be printed."""
    coords = [Coord(*c) if isinstance(c, tuple) else c for c in map(dynamic, coordinates(layout))]
    arguments = ", ".join(source(x, "cute_cpp") for x in (layout, *coords))
    return arguments, [str(layout), *(str(layout(c)) for c in coords)]


def test_cpp_of_cute_is_the_same_layout(tmp_path):
    include_folders()
    layouts = [*EXPLICIT, *random_layouts(240)]
    calls = [call(layout) for layout in layouts]
    plain = [x for x in EXPLICIT if type(x) is Layout and x.shape != () and all(map(tla.is_int, tla.int_tuple.leaves(x.stride)))]
    padded = Layout((Int[16](), 8), (8, 1), origin_shape=(Int[5](), 7))
    others = [Shape(4, (Int[2](), Int[3]())), Stride(Int[1]()), Coord(1, (2, Int[3]())), IntTuple(1, Int[7]()), Int[2**40](), 7, -(2**63)]
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
        assert values == [tla.at(e, M=m, N=n, i=k) if hasattr(e, "at") else e for e in EXPRESSIONS for _ in range(2)]


def tla_text(x):
    """What TLA's text of x prints: an origin_shape that its own default cannot hold stands behind the layout."""
    if isinstance(x, Layout) and any(n > 2**32 - 1 for n in x.origin_shape):
        return f"({x},{x.origin_shape})"
    return str(x)

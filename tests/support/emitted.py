"""What the targets of emit() are tried on: layouts and expressions with their values over whole domains; and
what runs texts."""

import importlib.util
from typing import Any, NamedTuple

import numpy as np
import pytest

import tla
from tla import Int, Layout, MakeLayout, MakeTensor, dim, dims, index, offsets, parse, xla
from tla.ascend import half, nZ, zN
from tla.codegen import TARGETS, emit, plan

PACKAGES = {"cutlass": "nvidia-cutlass-dsl"}


def needs(name):
    """A module of a framework; the test is skipped where it is not installed."""
    package = name.partition(".")[0]
    return pytest.importorskip(name, reason=f"needs {package}: pip install {PACKAGES.get(package, package)}")


class Case(NamedTuple):
    """What is emitted, and what it has to give.

    columns    of each parameter its values: an array of as many as there are points, or one integer
    expected   of each result as many integers as there are points
    """

    name: str
    what: Any
    coords: Any
    columns: dict[str, Any]
    expected: np.ndarray


def of_layout(name, layout, numbers=None, coords=None, **sizes):
    """A layout at all of its coordinates. numbers: it, where it has sizes that are not known; coords: "x" for
    one of all modes."""
    numbers = layout if numbers is None else numbers
    truth = offsets(numbers)
    grid = [np.arange(truth.size)] if coords else [a.ravel() for a in np.indices(truth.shape)]
    names = coords or "ijklmn"[: truth.ndim]
    return Case(
        name,
        layout,
        coords,
        {**dict(zip(names, grid)), **sizes, **values(layout, coords)},
        truth.ravel(order="F" if coords else "C")[None],
    )


def values(layout, coords=None):
    """Of the dynamic leaves."""
    return {p.name: p.value for p in plan(layout, coords).parameters if p.value is not None}


def of_expression(name, what, truth, coords=None, **columns):
    columns = {n: np.asarray(c) for n, c in columns.items()}
    points = np.broadcast_arrays(*columns.values())
    results = [truth(*map(int, at)) for at in zip(*(p.ravel() for p in points))]
    flat = {n: p.ravel() if columns[n].ndim else int(columns[n]) for n, p in zip(columns, points)}
    return Case(name, what, coords, flat, np.array(results).reshape(len(results), -1).T)


STATIC = """
    (_4,_8):(_1,_4)
    (_7,_9):(_9,_1)
    (_1,_64):(_7,_1)
    (_5,_6):(_-1,_-5)
    (_8):(_3)
    ((_16,_2),(_16,_4)):((_16,_1024),(_1,_256))
    ((_2,_2),(_4,_3)):((_1,_0),(_-2,_100))
    ((_3,_2),(_4,_5)):((_1,_-12),(_3,_7))
    ((_8,(_2,_3)),_5):((_2,(_1,_16)),_48)
    ((_3,_5),(_2,_4),_3):((_1,_3),(_15,_30),_200)
    (_2,_2,_2,_2,_2):(_16,_8,_4,_2,_1)
    (_4,_4):(_1073741824,_1)
    (4,8):(1,4)
    ((_3,2),(4,5)):((_1,-12),(3,7))
    ((3,4),(2,5)):((1,3),(12,24))
    Sw<3,0,3> o _0 o (_8,_8):(_8,_1)
    Sw<2,1,3> o _0 o (_16,_16):(_16,_1)
    Sw<2,1,-3> o _4 o ((_4,_2),_8):((_16,_1),_2)
    Sw<2,0,3> o 0 o (8,8):(8,1)
    (_4,_3):(_3,_1) o _0 o (_2,_6):(_6,_1)
    f32[20,300]{1,0:T(8,128)}
    bf16[16,256]{0,1:T(8,128)(2,1)}
    bf16[40,130]{1,0:T(8,128)(2,1)}
    f32[6,10]{1,0:T(3,5)(2,2)}
    s8[70,130]{1,0:T(8,128)(4,1)}
    f32[3,5,7]{0,2,1:T(2,4)}""".split("\n    ")[1:]
OF_ONE_INDEX = [
    "(_7,_9):(_9,_1)",
    "((_3,_2),(_4,_5)):((_1,_-12),(_3,_7))",
    "((3,4),(2,5)):((1,3),(12,24))",
    "Sw<3,0,3> o _0 o (_8,_8):(_8,_1)",
]
SYMBOLIC = [
    ("rows", lambda M, N: MakeLayout((M, N)), {}, [(5, 7), (1, 1)]),
    ("columns", lambda M, N: MakeLayout((M, N), (N, Int[1]())), {}, [(6, 4)]),
    ("zN", lambda M, N: MakeLayout[half, zN](M, N), {"multiple_of": 16}, [(32, 48), (16, 16)]),
    ("nZ", lambda M, N: MakeLayout[half, nZ](M, N), {"multiple_of": 16}, [(48, 32)]),
    (
        "nested",
        lambda M, N: Layout(((M, Int[4]()), (Int[2](), N)), ((N * 8, Int[2]()), (Int[1](), Int[8]()))),
        {},
        [(3, 5), (4, 2)],
    ),
    ("down", lambda M, N: Layout((M, N), (-N, Int[-1]())), {}, [(5, 3)]),
    ("tiles", lambda M, N: xla.lower("bf16[M,N]{1,0:T(8,128)(2,1)}", M=M, N=N), {"at_most": 4096}, [(20, 130)]),
    ("small", lambda M, N: MakeLayout(((M, Int[3]()), N)), {"at_most": 1024}, [(5, 7)]),
]


def cases():
    for text in STATIC:
        yield of_layout(text, xla.lower(text) if "[" in text else parse(text))
    for text in OF_ONE_INDEX:
        yield of_layout(f"{text} of x", parse(text), coords="x")
    for name, build, facts, tried in SYMBOLIC:
        for sizes in tried:
            yield of_layout(f"{name} {sizes}", build(*dims("M N", **facts)), build(*sizes), M=sizes[0], N=sizes[1])
    yield of_layout("nowhere", parse("(_4,_8):(_0,_0)"))
    at = np.indices((4, 8)).reshape(2, -1)
    yield Case("coordinates", parse("(_4,_8):(_1@0,_2@1)"), None, dict(zip("ij", at)), at * [[1], [2]])
    i, j, M = index("i", below=100), index("j", below=100), dim("M", at_most=64)
    a, b, m = np.arange(100)[:, None], np.arange(0, 100, 7), 9
    yield of_expression("down", (i - 50) // 7, lambda i: (i - 50) // 7, i=np.arange(100))
    yield of_expression("rest", (i - 50) % 7, lambda i: (i - 50) % 7, i=np.arange(100))
    yield of_expression(
        "by a size", (i - j) // M + (i - 2 * j) % M, lambda i, j, M: (i - j) // M + (i - 2 * j) % M, i=a, j=b, M=m
    )
    yield of_expression(
        "powers", (i - j) // 8 * 8 + (j - i) % 16, lambda i, j: (i - j) // 8 * 8 + (j - i) % 16, i=a, j=b
    )
    yield of_expression("a number divided", 100 // M + (i ^ 5), lambda i, M: 100 // M + (i ^ 5), i=np.arange(100), M=m)
    by_less = (i // -7 + j % -5, (i - 50) // -M + (j - 50) % (-M))
    yield of_expression(
        "by less than 0", by_less, lambda i, j, M: (i // -7 + j % -5, (i - 50) // -M + (j - 50) % -M), i=a, j=b, M=m
    )
    pair = (tla.min(i, M), tla.max(i - 50, j % 5))
    yield of_expression("two", pair, lambda i, j, M: (min(i, M), max(i - 50, j % 5)), i=a, j=b, M=m)
    three = (tla.max(tla.max(M - i, j), i - 7), (i ^ 5) ^ (j ^ M))
    yield of_expression("of three", three, lambda i, j, M: (max(M - i, j, i - 7), i ^ 5 ^ j ^ M), i=a, j=b, M=m)
    yield of_expression(
        "what cancels",
        ((i + j) // 3 * 0 + (i + j * 7) % 7, i // 3 + (j + 3) - j),
        lambda i: (i % 7, i // 3 + 3),
        i=np.arange(100),
    )
    yield of_expression("conditions", (i < M, i <= j), lambda i, j, M: (i < M, i <= j), i=a, j=b, M=m)
    wide = index("i", below=2**40)
    yield of_expression(
        "wide", (wide - 2**39) // 1000, lambda i: (i - 2**39) // 1000, i=np.arange(0, 2**40, 2**33 + 12345)
    )
    tensor = MakeTensor(None, parse("((_3,_2),(_4,_5)):((_1,_-12),(_3,_7))"), (1, 4))
    at = np.indices((5, 16)).reshape(2, -1)
    yield Case(
        "tensor",
        tensor,
        None,
        {**dict(zip("ij", at)), **values(tensor)},
        np.array([[tensor.layout(i + 1, j + 4) for i, j in at.T.tolist()]]),
    )


CASES = [pytest.param(case, id=case.name) for case in cases()]


def emitted(case, target, **options):
    return emit(case.what, target, case.coords, **{"name": "f", **options})


def given(case, target):
    """The columns of a case, in the order of the function's parameters."""
    made = plan(case.what, case.coords, widths=TARGETS[target].widths)
    return [case.columns[p.name] for p in made.parameters], made


def check(case, found):
    for k, row in enumerate(case.expected):
        np.testing.assert_array_equal(np.broadcast_to(found[k], row.shape), row)


PLAIN = of_layout("", parse("((_3,_2),(_4,_5)):((_1,_12),(_3,_24))"))
#: Of golden texts.
M, N = dims("M N", multiple_of=16, at_most=2**14)
IN_GOLDEN = {
    "zN": MakeLayout[half, zN](M, N),
    "swizzled": parse("Sw<2,1,3> o _0 o (_16,_16):(_16,_1)"),
    "tiles": xla.lower("bf16[1280,16384]{1,0:T(8,128)(2,1)}"),
    "below_0": (index("i", below=100) - 50) // 7 + (index("i", below=100) - 50) % 9,
}


def module_of(text, path):
    """The module of a text, in a file of its own: Triton reads the sources of its functions."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def function_of(text, name="f"):
    """What a text defines, run as Python."""
    namespace = {}
    exec(compile(text, "emitted", "exec"), namespace)
    return namespace[name]


def evaluated(text, known):
    return eval(compile(text, "emitted", "eval"), {"__builtins__": {}}, known)

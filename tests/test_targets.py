"""emit() for Triton, JAX, Pallas, MLIR and LaTeX: each text is run over the whole domain of its layout."""

import ctypes
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import tla
from tla import Int, Layout, LeafTypeError, MakeLayout, MakeTensor, RangeError, Unproven, dim, dims, index, offsets, parse, xla
from tla.ascend import half, nZ, zN
from tla.codegen import TARGETS, emit, emit_guard, plan

os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is imported


def needs(name):
    return pytest.importorskip(name, reason=f"needs {name}: pip install {name}")


# ----------------------------------------------------------------------------------------------------------- cases


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
    """A layout at all of its coordinates. numbers: it, where it has sizes that are not known; coords: "x" for one of all modes."""
    numbers = layout if numbers is None else numbers
    truth = offsets(numbers)
    grid = [np.arange(truth.size)] if coords else [a.ravel() for a in np.indices(truth.shape)]
    names = coords or "ijklmn"[: truth.ndim]
    return Case(
        name, layout, coords, {**dict(zip(names, grid)), **sizes, **values(layout, coords)}, truth.ravel(order="F" if coords else "C")[None]
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
    ("nested", lambda M, N: Layout(((M, Int[4]()), (Int[2](), N)), ((N * 8, Int[2]()), (Int[1](), Int[8]()))), {}, [(3, 5), (4, 2)]),
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
    yield of_expression("by a size", (i - j) // M + (i - 2 * j) % M, lambda i, j, M: (i - j) // M + (i - 2 * j) % M, i=a, j=b, M=m)
    yield of_expression("powers", (i - j) // 8 * 8 + (j - i) % 16, lambda i, j: (i - j) // 8 * 8 + (j - i) % 16, i=a, j=b)
    yield of_expression("a number divided", 100 // M + (i ^ 5), lambda i, M: 100 // M + (i ^ 5), i=np.arange(100), M=m)
    by_less = (i // -7 + j % -5, (i - 50) // -M + (j - 50) % (-M))
    yield of_expression("by less than 0", by_less, lambda i, j, M: (i // -7 + j % -5, (i - 50) // -M + (j - 50) % -M), i=a, j=b, M=m)
    pair = (tla.min(i, M), tla.max(i - 50, j % 5))
    yield of_expression("two", pair, lambda i, j, M: (min(i, M), max(i - 50, j % 5)), i=a, j=b, M=m)
    three = (tla.max(tla.max(M - i, j), i - 7), (i ^ 5) ^ (j ^ M))
    yield of_expression("of three", three, lambda i, j, M: (max(M - i, j, i - 7), i ^ 5 ^ j ^ M), i=a, j=b, M=m)
    yield of_expression("what cancels", i // 3 + (j - j // 1) + j % 7, lambda i, j: i // 3 + j % 7, i=a, j=b)
    yield of_expression("conditions", (i < M, i <= j), lambda i, j, M: (i < M, i <= j), i=a, j=b, M=m)
    wide = index("i", below=2**40)
    yield of_expression("wide", (wide - 2**39) // 1000, lambda i: (i - 2**39) // 1000, i=np.arange(0, 2**40, 2**33 + 12345))
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


# ---------------------------------------------------------------------------------------------------------- Triton


def module_of(text, path):
    """The module of a text, in a file of its own: Triton reads the sources of its functions."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kernel_of(made, columns):
    """A kernel around an emitted function: one point for each lane."""
    names = [f"p{k}" for k in range(len(columns))]
    loads = [f"tl.load({n} + at)" if np.ndim(c) else n for n, c in zip(names, columns)]
    results = [f"r{k}" for k in range(len(made.results))]
    stores = "".join(f"    tl.store(out + {k} * SIZE + at, {r})\n" for k, r in enumerate(results))
    return (
        f"\n\n@triton.jit\ndef kernel(out, {', '.join([*names, 'SIZE: tl.constexpr'])}):\n    at = tl.arange(0, SIZE)\n"
        f"    {', '.join(results)} = f({', '.join(loads)})\n{stores}"
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["int32", "int64", "int8"])
def test_triton(case, dtype, tmp_path):
    torch, _triton = needs("torch"), needs("triton")
    columns, made = given(case, "triton")
    if any(np.max(c, initial=0) > np.iinfo(dtype).max for c in columns if np.ndim(c)):
        return
    points = case.expected.shape[1]
    room = 1 << (points - 1).bit_length()
    arrays = [torch.from_numpy(np.resize(c, room).astype(dtype)) if np.ndim(c) else c for c in columns]
    out = torch.zeros((len(case.expected), room), dtype=torch.int64)
    module_of(emitted(case, "triton") + kernel_of(made, columns), tmp_path / "kernels.py").kernel[(1,)](out, *arrays, room)
    check(case, out.numpy()[:, :points])


COMPILE = """
import importlib.util, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
for path, bits in zip(sys.argv[1::2], sys.argv[2::2]):
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    first, *names, last = module.kernel.arg_names
    for kind in ("i32", "constexpr"):
        kinds = {first: f"*i{bits}", **dict.fromkeys(names, kind), last: "constexpr"}
        constants = {(k + 1,): 3 for k in range(len(names)) if kind == "constexpr"}
        source = ASTSource(module.kernel, kinds, {**constants, (len(names) + 1,): 64})
        made = triton.compile(source, target=GPUTarget("cuda", 80, 32))
        if kind == "i32":
            print("64" if "i64" in made.asm["ttir"] else "32", bool(made.asm["ptx"]))
"""


def test_triton_compiles_without_a_gpu(tmp_path):
    """Triton's own compiler, down to PTX: 32-bit code is not widened; 64-bit code takes 32-bit arguments; and both constants."""
    needs("torch"), needs("triton")
    paths = []
    for k, case in enumerate(p.values[0] for p in CASES):
        columns, made = given(case, "triton")
        if len(made.results) == 1 and made.results[0].poly is not None:
            paths += [tmp_path / f"k{k}.py", str(made.integer.bits)]
            paths[-2].write_text(emitted(case, "triton") + kernel_of(made, [0] * len(columns)))
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", COMPILE, *map(str, paths)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [word for bits in paths[1::2] for word in (bits, "True")]


# ------------------------------------------------------------------------------------------------- JAX and Pallas


def function_of(text, name="f"):
    """What a text defines, run as Python."""
    namespace = {}
    exec(compile(text, "emitted", "exec"), namespace)
    return namespace[name]


def as_tuple(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("case", CASES)
def test_jax(case):
    jax = needs("jax")
    columns, made = given(case, "jax")
    function = function_of(emitted(case, "jax"))
    if made.integer.bits == 64:
        with pytest.raises(TypeError, match="f computes in int64: jax"):
            jax.jit(function)(*(np.int32(1) for _ in columns))
    with jax.enable_x64(made.integer.bits == 64):
        found = as_tuple(jax.jit(function)(*columns))
        assert {str(x.dtype) for x in found} <= {str(made.integer), "bool"}
        check(case, found)
    if made.integer.bits == 32:
        with jax.enable_x64(True):
            check(case, as_tuple(jax.jit(function)(*columns)))


@pytest.mark.parametrize("case", CASES)
def test_pallas(case):
    jax = needs("jax")
    from jax.experimental import pallas as pl

    try:
        columns, made = given(case, "pallas")
    except (Unproven, RangeError):
        return
    function = function_of(emitted(case, "pallas"))
    points = case.expected.shape[1]
    arrays = [np.broadcast_to(np.int32(c), (points,)) for c in columns]

    def kernel(*refs):
        for ref, value in zip(refs[len(arrays) :], as_tuple(function(*(ref[...] for ref in refs[: len(arrays)])))):
            ref[...] = jax.numpy.broadcast_to(jax.numpy.asarray(value, "int32"), ref.shape)

    out = [jax.ShapeDtypeStruct((points,), "int32")] * len(made.results)
    check(case, pl.pallas_call(kernel, out_shape=out, interpret=True)(*arrays))


def test_few_operations_in_jax():
    jax = needs("jax")

    def counted(name):
        parameters = plan(IN_GOLDEN[name]).parameters
        arguments = [jax.ShapeDtypeStruct((), "int32")] * len(parameters)
        jaxpr = jax.make_jaxpr(function_of(emit(IN_GOLDEN[name], "jax", name="f")))(*arguments).jaxpr
        return sorted(equation.primitive.name for equation in jaxpr.eqns)

    assert counted("zN") == ["add", "add", "mul", "mul", "shift_right_arithmetic", "sub"]
    assert counted("swizzled") == ["add", "and", "mul", "mul", "xor"]
    signed = ["add", "and", "rem", "shift_right_arithmetic"]  # a remainder that rounds down
    assert counted("below_0") == sorted(["add", "div", "sub", "sub", *signed])


# ----------------------------------------------------------------------------------------------------------- MLIR

LOWERING = ["lower-affine", "arith-expand", "convert-arith-to-llvm", "convert-index-to-llvm", "convert-cf-to-llvm", "convert-func-to-llvm"]


PROGRAMS = ("mlir-opt", "mlir-translate", "llc")
VERSIONS = [v for v in (*(f"-{n}" for n in range(30, 15, -1)), "") if all(shutil.which(p + v) for p in PROGRAMS)]


def tools():
    """The programs of MLIR and LLVM, of one version."""
    if not VERSIONS:
        pytest.skip(f"needs {', '.join(PROGRAMS)}: apt-get install mlir-19-tools llvm-19")
    return [p + VERSIONS[0] for p in PROGRAMS]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


def library_of(text, where):
    """MLIR as machine code."""
    where.joinpath("f.mlir").write_text(text)
    opt, translate, llc = tools()
    passes = [*(f"--{p}" for p in LOWERING), "--reconcile-unrealized-casts"]
    run(opt, *passes, f"{where}/f.mlir", "-o", f"{where}/llvm.mlir")
    run(translate, "--mlir-to-llvmir", f"{where}/llvm.mlir", "-o", f"{where}/f.ll")
    run(llc, "-filetype=obj", "-relocation-model=pic", f"{where}/f.ll", "-o", f"{where}/f.o")
    run(shutil.which("gcc") or shutil.which("cc") or pytest.skip("needs gcc, to link"), "-shared", f"{where}/f.o", "-o", f"{where}/f.so")
    return ctypes.CDLL(f"{where}/f.so")


class Pair(ctypes.Structure):
    """Two results: LLVM gives each in a register, whatever its type."""

    _fields_ = (("first", ctypes.c_int64), ("second", ctypes.c_int64))


def call(library, name, made, columns, points):
    """The results of a function at all points."""
    kind = {32: ctypes.c_int32, 64: ctypes.c_int64}[made.integer.bits]
    kinds = [kind if n.poly is not None else ctypes.c_bool for n in made.results]
    function = library[name]
    function.restype, function.argtypes = kinds[0] if len(kinds) == 1 else Pair, [kind] * len(columns)
    found = [function(*map(int, at)) for at in zip(*(np.broadcast_to(c, (points,)) for c in columns))]
    return (
        [found] if len(kinds) == 1 else [[t(x & 1 if t is ctypes.c_bool else x).value for x in xs] for t, xs in zip(kinds, _columns(found))]
    )


def _columns(pairs):
    return [x.first for x in pairs], [x.second for x in pairs]


def test_mlir(tmp_path):
    every = [p.values[0] for p in CASES]
    library = library_of("\n".join(emitted(case, "mlir", name=f"f{k}") for k, case in enumerate(every)), tmp_path)
    for k, case in enumerate(every):
        columns, made = given(case, "mlir")
        check(case, call(library, f"f{k}", made, columns, case.expected.shape[1]))


def test_affine_maps(tmp_path):
    """As mlir-opt takes them; and by Python, in which floordiv and mod are // and %."""
    texts = []
    for k, case in enumerate(p.values[0] for p in CASES):
        try:
            texts.append(emitted(case, "affine", name=f"f{k}"))
        except LeafTypeError as error:
            assert re.match("(the operation|a product|a division)", str(error))
            continue
        body = texts[-1].partition(" -> ")[2].rstrip()[:-1]
        spelled = re.sub("floordiv", "//", re.sub(r"\bmod\b", "%", f"[{body[1:-1]}]"))
        check(case, evaluated(spelled, case.columns))
    assert len(texts) > 35
    tmp_path.joinpath("maps.mlir").write_text("\n".join(texts))
    run(tools()[0], f"{tmp_path}/maps.mlir", "-o", f"{tmp_path}/out.mlir")


# ---------------------------------------------------------------------------------------------------------- LaTeX

#: What LaTeX writes, as Python: the innermost first, for these hold no braces.
SPELLED = [
    (r"\\mathrm\{([^{}]*)\}", lambda m: m[1].replace(r"\_", "_")),
    (r"(\w)_\{([^{}]*)\}", r"\1_\2"),
    (r"\\left\\lfloor \\frac\{([^{}]*)\}\{([^{}]*)\} \\right\\rfloor", r"((\1)//(\2))"),
    (r"\\left\\lceil \\frac\{([^{}]*)\}\{([^{}]*)\} \\right\\rceil", r"(-(-(\1)//(\2)))"),
]
SIGNS = {r"\left(": "(", r"\right)": ")", r"\,": "*", r"\bmod": "%", r"\oplus": "^", r"\min": "min", r"\max": "max", r"\le": "<="}


def read_latex(text):
    while (done := apply(text)) != text:
        text = done
    for sign, spelled in SIGNS.items():
        text = text.replace(sign, spelled)
    return text


def apply(text):
    for pattern, spelled in SPELLED:
        text = re.sub(pattern, spelled, text)
    return text


@pytest.mark.parametrize("case", CASES)
def test_latex(case):
    remark, _, body = emitted(case, "latex").partition("\\begin{aligned}\n")
    assert all(line.startswith("% ") for line in remark.splitlines())
    *named, last = body.removesuffix("\n\\end{aligned}\n").split(" \\\\\n")
    known = {**case.columns, "min": lambda *xs: functools.reduce(np.minimum, xs), "max": lambda *xs: functools.reduce(np.maximum, xs)}
    for line in named:
        name, _, text = line.partition(" &= ")
        known[read_latex(name)] = evaluated(read_latex(text), known)
    found = evaluated(read_latex(last.partition(" &= ")[2]), known)
    check(case, found if len(case.expected) > 1 else [found])


def evaluated(text, known):
    return eval(compile(text, "emitted", "eval"), {"__builtins__": {}}, known)


def test_names_in_latex():
    n_k, a_, block_size = dims("n_k a_ block_size_m")
    text = emit(n_k * a_ + block_size, "latex", name="my_offset").splitlines()[-2]
    assert text == r"\mathrm{my}_{\mathrm{offset}} &= \mathrm{a\_} \, n_{k} + \mathrm{block\_size\_m}"


# ------------------------------------------------------------------------------------------ what all have in common

OURS = ["triton", "jax", "pallas", "mlir", "affine", "latex"]
M, N = dims("M N", multiple_of=16, at_most=2**14)
IN_GOLDEN = {
    "zN": MakeLayout[half, zN](M, N),
    "swizzled": parse("Sw<2,1,3> o _0 o (_16,_16):(_16,_1)"),
    "tiles": xla.lower("bf16[1280,16384]{1,0:T(8,128)(2,1)}"),
    "below_0": (index("i", below=100) - 50) // 7 + (index("i", below=100) - 50) % 9,
}


@pytest.mark.parametrize("target", OURS)
def test_the_text(target, golden):
    texts = []
    for name, what in IN_GOLDEN.items():
        try:
            texts.append(emit(what, target, name=name, check="function" if "function" in TARGETS[target].checks else ""))
        except LeafTypeError as error:
            texts.append(f"{error}\n")
    golden(f"targets/{target}.txt", "\n".join(texts))


@pytest.mark.parametrize("target", ["triton", "jax", "pallas"])
@pytest.mark.parametrize(("sizes", "met"), [((32,), True), ((40,), False), ((0,), False), ((2**15,), False)])
def test_requirements_are_of_pythons_integers(target, sizes, met, tmp_path):
    text = emit(IN_GOLDEN["zN"], target, check="function")
    if target == "triton":
        needs("torch"), needs("triton")
        requires = module_of(text, tmp_path / "kernels.py").offset_requires
    else:
        needs("jax")
        requires = function_of(text, "offset_requires")
    assert requires(*sizes) is met


def test_requirements_in_mlir(tmp_path):
    texts = [emit(IN_GOLDEN["zN"], "mlir", name="f", check="assert")]
    texts.append(emit(IN_GOLDEN["zN"], "mlir", name="g", integer="uint32", check="assert"))
    library = library_of("\n".join(texts), tmp_path)
    for function in (library.f_requires, library.g_requires):
        function.restype, function.argtypes = ctypes.c_bool, [ctypes.c_int64]
        assert [function(n) for n in (32, 40, 0, 2**15, -16)] == [True, False, False, False, False]
    truth = offsets(MakeLayout[half, zN](48, 32))
    for function in (library.f, library.g):
        function.restype, function.argtypes = ctypes.c_int32, [ctypes.c_int32] * 3
        assert all(function(i, j, 48) == truth[i, j] for i in range(48) for j in range(32))


PLAIN = of_layout("", parse("((_3,_2),(_4,_5)):((_1,_12),(_3,_24))"))


@pytest.mark.parametrize("integer", ["int64", "uint32", "uint64"])
def test_other_integers_in_jax(integer):
    jax = needs("jax")
    with jax.enable_x64(integer.endswith("64")):
        found = jax.jit(function_of(emitted(PLAIN, "jax", integer=integer)))(*given(PLAIN, "jax")[0])
    assert str(found.dtype) == integer
    check(PLAIN, [found])


@pytest.mark.parametrize("integer", ["int64", "uint32", "uint64"])
def test_other_integers_in_mlir(integer, tmp_path):
    library = library_of(emitted(PLAIN, "mlir", integer=integer), tmp_path)
    made = plan(PLAIN.what, integer=integer)
    check(PLAIN, call(library, "f", made, given(PLAIN, "mlir")[0], PLAIN.expected.shape[1]))


GUARDED = {"both": MakeLayout[half, zN](Int[100](), Int[60]()), "none": parse("(_4,_8):(_1,_4)")}


def valid(layout, i, j):
    return (i < layout.origin_shape[0]) & (j < layout.origin_shape[1])


@pytest.mark.parametrize("name", GUARDED)
def test_guards(name, tmp_path):
    layout = GUARDED[name]
    i, j = np.ogrid[: tla.size(layout[0]), : tla.size(layout[1])]
    assert "is_valid" in emit_guard(layout, "triton")
    latex = emit_guard(layout, "latex")
    assert (r"\top" if name == "none" else r"i < 100 \wedge j < 60") in latex
    with pytest.raises(LeafTypeError, match="in affine"):
        emit_guard(layout, "affine")
    library = library_of(emit_guard(layout, "mlir", name="f"), tmp_path)
    library.f.restype = ctypes.c_bool
    assert all(library.f(a, b) == valid(layout, a, b) for a in i.ravel().tolist() for b in j.ravel().tolist())
    needs("jax")
    assert np.all(function_of(emit_guard(layout, "jax", name="f"))(i, j) == valid(layout, i, j))


@pytest.mark.parametrize(("integer", "target"), [("int64", "pallas"), ("uint64", "pallas"), ("int16", "jax"), ("float", "mlir")])
def test_integers_that_a_target_does_not_have(integer, target):
    with pytest.raises(LeafTypeError, match=f"the integer type '{integer}'"):
        emit(parse("(_4,_8):(_1,_4)"), target, integer=integer)


def test_what_does_not_fit_in_32_bits_is_refused_by_pallas():
    with pytest.raises(RangeError, match="in int32"):
        emit(parse("(_4,_4):(_1073741824,_1)"), "pallas")
    with pytest.raises(Unproven, match="M in int32"):
        emit(MakeLayout[half, zN](*dims("M N", multiple_of=16)), "pallas")
    assert emit(IN_GOLDEN["zN"], "pallas")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("triton", "tl triton def for print None lambda"),
        ("jax", "jax jnp lax def True min"),
        ("pallas", "jax jnp lax class"),
        ("affine", "mod floordiv ceildiv symbol"),
    ],
)
def test_words_of_a_target_are_no_names(target, words):
    for word in words.split():
        with pytest.raises(LeafTypeError, match=f"the name {word} in {target}"):
            emit(parse("(_4,_8):(_1,_4)"), target, name=word)
        with pytest.raises(LeafTypeError, match=f"the name '?{word}"):
            emit(parse("(_4,_8):(_1,_4)"), target, (word, "j"))


@pytest.mark.parametrize("target", OURS)
def test_bad_input(target):
    layout = parse("(_4,_8):(_1,_4)")
    for name in ("", "f g", "f;", "f\n", "1f", "é", "f(", "_", None):
        with pytest.raises(LeafTypeError, match="the name"):
            emit(layout, target, name=name)
    with pytest.raises(tla.RankError):
        emit(layout, target, "i,j,k")
    with pytest.raises(LeafTypeError, match="check='assert!'"):
        emit(layout, target, check="assert!")
    with pytest.raises(LeafTypeError, match="a function i with a parameter of that name"):
        emit(layout, target, name="i")


def test_what_is_not_affine_is_refused():
    i, j = index("i", below=100), index("j", below=100)
    for what, coords, why in (
        (i ^ j, None, r"the operation \^ in affine"),
        (tla.min(i, j), None, "the operation min in affine"),
        (i * j, "i,j", "a product of 2 coordinates in an affine map"),
        (i // N, "i", "a division by what is no number in an affine map"),
        (i < j, None, "the operation < in affine"),
    ):
        with pytest.raises(LeafTypeError, match=why):
            emit(what, "affine", coords)
        assert "affine" not in emit(what, "mlir", coords)  # which takes it, by arith
    assert "(N * i)" in emit(i * N, "affine", "i")

"""emit() for MLIR, its affine maps, and LaTeX: machine code of the texts, and what else reads them,
over whole domains."""

import ctypes
import functools
import re
import shutil
import subprocess

import numpy as np
import pytest

import tla
from tla import Int, LeafTypeError, MakeLayout, dims, index, offsets, parse
from tla.ascend import half, zN
from tla.codegen import emit, emit_guard, plan

from emitted import CASES, IN_GOLDEN, PLAIN, N, check, emitted, evaluated, function_of, given, needs

# ----------------------------------------------------------------------------------------------------------- MLIR

LOWERING = [
    "lower-affine",
    "arith-expand",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    "convert-cf-to-llvm",
    "convert-func-to-llvm",
]


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
    run(
        shutil.which("gcc") or shutil.which("cc") or pytest.skip("needs gcc, to link"),
        "-shared",
        f"{where}/f.o",
        "-o",
        f"{where}/f.so",
    )
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
        [found]
        if len(kinds) == 1
        else [[t(x & 1 if t is ctypes.c_bool else x).value for x in xs] for t, xs in zip(kinds, _columns(found))]
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


GUARDED = {"both": MakeLayout[half, zN](Int[100](), Int[60]()), "none": parse("(_4,_8):(_1,_4)")}


def valid(layout, i, j):
    return (i < layout.origin_shape[0]) & (j < layout.origin_shape[1])


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


@pytest.mark.parametrize("integer", ["int64", "uint32", "uint64"])
def test_other_integers_in_mlir(integer, tmp_path):
    library = library_of(emitted(PLAIN, "mlir", integer=integer), tmp_path)
    made = plan(PLAIN.what, integer=integer)
    check(PLAIN, call(library, "f", made, given(PLAIN, "mlir")[0], PLAIN.expected.shape[1]))


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


# ---------------------------------------------------------------------------------------------------------- LaTeX

#: What LaTeX writes, as Python: the innermost first, for these hold no braces.
SPELLED = [
    (r"\\mathrm\{([^{}]*)\}", lambda m: m[1].replace(r"\_", "_")),
    (r"(\w)_\{([^{}]*)\}", r"\1_\2"),
    (r"\\left\\lfloor \\frac\{([^{}]*)\}\{([^{}]*)\} \\right\\rfloor", r"((\1)//(\2))"),
    (r"\\left\\lceil \\frac\{([^{}]*)\}\{([^{}]*)\} \\right\\rceil", r"(-(-(\1)//(\2)))"),
]
SIGNS = {
    r"\left(": "(",
    r"\right)": ")",
    r"\,": "*",
    r"\bmod": "%",
    r"\oplus": "^",
    r"\min": "min",
    r"\max": "max",
    r"\le": "<=",
}


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
    known = {
        **case.columns,
        "min": lambda *xs: functools.reduce(np.minimum, xs),
        "max": lambda *xs: functools.reduce(np.maximum, xs),
    }
    for line in named:
        name, _, text = line.partition(" &= ")
        known[read_latex(name)] = evaluated(read_latex(text), known)
    found = evaluated(read_latex(last.partition(" &= ")[2]), known)
    check(case, found if len(case.expected) > 1 else [found])


def test_names_in_latex():
    n_k, a_, block_size = dims("n_k a_ block_size_m")
    text = emit(n_k * a_ + block_size, "latex", name="my_offset").splitlines()[-2]
    assert text == r"\mathrm{my}_{\mathrm{offset}} &= \mathrm{a\_} \, n_{k} + \mathrm{block\_size\_m}"


def test_sizes_of_64_bits_are_as_wide_as_what_requires_them():
    assert "arith.ext" not in emit(MakeLayout((tla.dim("M"), 8)), "mlir", check="assert")

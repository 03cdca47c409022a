"""emit() for Triton, JAX and Pallas: each text is run over the whole domain of its layout. What all targets
of kernels refuse."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tla
from tla import LeafTypeError, MakeLayout, RangeError, Unproven, assuming, dims, index, parse
from tla.ascend import half, zN
from tla.codegen import TARGETS, emit, plan

from emitted import CASES, IN_GOLDEN, PLAIN, check, emitted, function_of, given, module_of, needs

os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is imported


# ---------------------------------------------------------------------------------------------------------- Triton


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
    module_of(emitted(case, "triton") + kernel_of(made, columns), tmp_path / "kernels.py").kernel[(1,)](
        out, *arrays, room
    )
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
    """Triton's own compiler, down to PTX: 32-bit code is not widened; 64-bit code takes 32-bit arguments;
    and both constants."""
    needs("torch"), needs("triton")
    paths = []
    for k, case in enumerate(p.values[0] for p in CASES):
        columns, made = given(case, "triton")
        if len(made.results) == 1 and made.results[0].poly is not None:
            paths += [tmp_path / f"k{k}.py", str(made.integer.bits)]
            paths[-2].write_text(emitted(case, "triton") + kernel_of(made, [0] * len(columns)))
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, *map(str, paths)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [word for bits in paths[1::2] for word in (bits, "True")]


# ------------------------------------------------------------------------------------------------- JAX and Pallas


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


@pytest.mark.parametrize("d", [2, 3, 7, 2**30 + 1, 2**31 - 1])
def test_quotients_and_rests_at_the_ends_in_jax(d):
    """Rounded down, of the least and the largest integers that the type holds."""
    needs("jax")
    i = index("i", below=2**31, at_least=-(2**31))
    at = np.array(
        [-(2**31), -(2**31) + 1, -(2**30) - 1, -(2**30), -4, -1, 0, 1, 2, 2**30 - 1, 2**30, 2**31 - 2, 2**31 - 1]
    )
    for x, wanted in ((i // d, at // d), (i % d, at % d)):
        assert np.array_equal(function_of(emit(x, "jax", name="f", integer="int32"))(at.astype(np.int32)), wanted)


@pytest.mark.parametrize("case", CASES)
def test_pallas(case):
    jax = needs("jax")
    from jax.experimental import pallas as pl

    try:
        with assuming():  # that what is dynamic fits in 32 bits
            columns, made = given(case, "pallas")
            function = function_of(emitted(case, "pallas"))
    except RangeError:
        assert max(np.max(c) for c in (*case.columns.values(), case.expected)) >= 2**31
        return
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


# ------------------------------------------------------------------------------------------ what all have in common

OURS = ["triton", "jax", "pallas", "mlir", "affine", "latex"]


@pytest.mark.parametrize("target", OURS)
def test_the_text(target, golden):
    texts = []
    for name, what in IN_GOLDEN.items():
        try:
            texts.append(
                emit(what, target, name=name, check="function" if "function" in TARGETS[target].checks else "")
            )
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


@pytest.mark.parametrize("integer", ["int64", "uint32", "uint64"])
def test_other_integers_in_jax(integer):
    jax = needs("jax")
    with jax.enable_x64(integer.endswith("64")):
        found = jax.jit(function_of(emitted(PLAIN, "jax", integer=integer)))(*given(PLAIN, "jax")[0])
    assert str(found.dtype) == integer
    check(PLAIN, [found])


@pytest.mark.parametrize(
    ("integer", "target"), [("int64", "pallas"), ("uint64", "pallas"), ("int16", "jax"), ("float", "mlir")]
)
def test_integers_that_a_target_does_not_have(integer, target):
    with pytest.raises(LeafTypeError, match=f"the integer type '{integer}'"):
        emit(parse("(_4,_8):(_1,_4)"), target, integer=integer)


def test_a_minus_has_to_fit():
    i = index("i", below=100)
    for what in (-i, -(i // 3), (-i) // 7):
        with pytest.raises(Unproven, match="in uint32: it is not known whether 0 <= "):
            emit(what, "jax", integer="uint32")
        with pytest.raises(RangeError, match="in uint32\n  expected  0 to 4294967295\n  fix       use a signed type"):
            emit(what, "jax", "i", integer="uint32")
    assert "M - 1" in emit(IN_GOLDEN["zN"], "jax", integer="uint32")  # which holds no -1


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
    with pytest.raises(LeafTypeError, match="a function i with a parameter i"):
        emit(layout, target, name="i")


def test_32_bits_by_what_is_required():
    M, N = dims("M N")
    with assuming() as conditions:
        text = emit(MakeLayout((M, N)), "pallas", conditions=conditions)
    assert "# int32: every value fits where what is required holds\n# requires 1 <= M, " in text

"""Activations on vector cores: against formulas of the math module, with tails, and with faults, each of which is found."""

import json
import math
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from catlass_examples import available, built

from tla import MakeLayout
from tla.ascend import Ascend950, AtlasA2, check, epilogue, float32, half, int8
from tla.ascend.programs import Compute, Move, Part, PipeBarrier, SetFlag, WaitFlag
from tla.ascend.programs.check import check_program
from tla.ascend.programs.statements import walk
from tla.core.errors import LeafTypeError, RangeError

from night import amount, some

FORMULAS = {
    "gelu": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "relu": lambda x: max(x, 0),
    "leaky_relu": lambda x: max(x, x / 100),
}
#: The error of numbers between -8 and 8, of half and of float: absolute, as a value near 0 is a difference of two.
WITHIN = {"half": 2**-7, "float": 2e-6}


def made(rng, name):
    m, n = (int(x) for x in rng.integers(1, amount(60, 150), 2))
    tile = int(rng.choice([8, 16, 33])), int(rng.choice([16, 40, 64]))
    element = (half, float32)[rng.integers(2)]
    to = half if rng.integers(2) else element
    arch = (AtlasA2, Ascend950)[rng.integers(2)]
    return epilogue(name, (m, n), tile, arch, element=element, to=to, cores=int(rng.integers(1, 3)))


def test_a_check_is_of_all_cores_or_of_one_that_there_is():
    e = epilogue("relu", (40, 16), (16, 16), element=float32)
    assert e.check().counts["events"] > e.check(0).counts["events"] > 0
    for core in (-1, 2):
        with pytest.raises(RangeError, match=f"check of core {core}"):
            e.check(core)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("seed", range(amount(1, 50)))
def test_an_activation_is_the_formula_with_every_tail(name, seed):
    rng = np.random.default_rng(seed)
    e = made(rng, name)
    report = e.check()
    assert report.holds, str(report)
    of = e.activation
    x = rng.uniform(-8, 8, e.shape).astype(np.float16 if of.element is half else np.float32)
    wanted = np.vectorize(FORMULAS[name], otypes=[float])(x.astype(np.float64))
    within = WITHIN["half" if half in (of.element, of.to) else "float"]
    assert abs(e.execute(x) - wanted).max() <= within


@pytest.mark.parametrize("name", FORMULAS)
def test_large_numbers_end_where_the_function_does(name):
    """What Exp makes of them is no number of half: the quotient is 0, or the number itself."""
    e = epilogue(name, (1, 32), (1, 32), Ascend950, element=half)
    x = np.array([[-60000, -300, -20, 20, 300, 60000] * 6], np.float16)[:, :32]
    below, above = ENDS.get(name, (np.zeros(x.shape), x.astype(float)))
    assert np.allclose(e.execute(x), np.where(x > 0, above, below if name != "leaky_relu" else x / 100), 1e-3, 1e-2)


#: What an activation goes to below and above, of those that do not go to 0 and to the number itself.
ENDS = {"sigmoid": (0, 1), "tanh": (-1, 1)}


def faults(body):
    """Bodies with one thing wrong: a statement that is left out, a scalar or a place that is another one."""
    for i, s in enumerate(body):
        if isinstance(s, (SetFlag, WaitFlag, PipeBarrier, Compute, Part)):
            yield [*body[:i], *body[i + 1 :]]
        if isinstance(s, Part) and isinstance(s.body[0], Compute):
            yield from ([*body[:i], *made, *body[i + 1 :]] for made in faults(s.body) if len(made) == len(s.body))
        if isinstance(s, Compute) and s.instruction.scalar is not None:
            other = replace(s.instruction, scalar=s.instruction.scalar * 1.01)
            yield [*body[:i], s._replace(instructions=(other,)), *body[i + 1 :]]
        if isinstance(s, Compute):
            p = {**s.instruction.parameters, "mask": s.instruction.parameters["mask"] - 1}
            yield [*body[:i], s._replace(instructions=(replace(s.instruction, parameters=p),)), *body[i + 1 :]]
        if isinstance(s, Part) and isinstance(s.body[0], Move):
            there = s.body[0].instruction
            moved = s.body[0]._replace(instruction=replace(there, dst=there.dst + 16))
            yield [*body[:i], s._replace(body=(moved, *s.body[1:])), *body[i + 1 :]]


@pytest.mark.parametrize("name", ["gelu", "silu"])
def test_a_fault_is_found(name):
    e = epilogue(name, (40, 50), (16, 64), element=float32, cores=1)
    body = e.programs[0].body

    def holds(changed):
        return check_program(replace(e.programs[0], body=tuple(changed)), [e.result(0)]).holds

    assert holds(body)
    wrong = [*faults(body)]
    assert len(wrong) > 50
    for changed in some(wrong, 25):
        assert not holds(changed), changed


def test_the_buffers_lie_one_behind_the_other():
    e = epilogue("gelu", (70, 90), (32, 64), element=float32, to=half)
    ends = [(b.address, b.address + b.size) for b in e.buffers.values()]
    assert [a for a, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert [*e.buffers] == ["ubC0", "ubC1", "ubD0", "ubD1", "ubCast0", "ubCast1"]


def test_the_text_has_each_instruction_of_the_activation():
    lines = [x.strip() for x in epilogue("gelu", (64, 128), (64, 128), element=half, cores=1).text().splitlines()]
    calls = [x.split("(")[0][9:] for x in lines if x.startswith("AscendC::")]
    vectors = [x for x in calls if x in ("Mul", "Axpy", "Muls", "Exp", "Adds", "Div")]
    assert vectors == ["Mul", "Mul", "Axpy", "Muls", "Exp", "Adds", "Div"]
    assert 'extern "C" __global__ __aicore__ void epilogue_main(GM_ADDR C_gm, GM_ADDR D_gm) {' in lines


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"activation": "mish"}, LeafTypeError, "one of gelu, silu, sigmoid, tanh, relu, leaky_relu"),
        ({"activation": ("gelu", 0.5)}, LeafTypeError, "of leaky_relu alone"),
        ({"element": int8}, LeafTypeError, "of int8"),
        ({"to": int8}, LeafTypeError, "Cast of"),
        ({"tile": (400, 400)}, RangeError, "take smaller tiles"),
        ({"tile": 64}, LeafTypeError, "rows and columns"),
        ({"cores": 0}, RangeError, "cores"),
    ],
)
def test_what_there_is_no_epilogue_of_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        epilogue(**{"activation": "gelu", "shape": (64, 64), "element": float32, **given})
    with pytest.raises(RangeError, match="C of the shape"):
        epilogue("gelu", (64, 64)).execute(np.ones((3, 4)))


#: CATLASS's epilogue tiles of 512 floats, which come from A and leave to B.
TILES = """
#include "kernel_operator.h"
#include "catlass/catlass.hpp"
#include "catlass/arch/arch.hpp"
#include "catlass/layout/layout.hpp"
#include "catlass/gemm/gemm_type.hpp"
#include "catlass/epilogue/tile/tile_elemwise_gelu.hpp"
#include "catlass/epilogue/tile/tile_elemwise_silu.hpp"
using namespace Catlass;
int main(int, char** argv)
{
    using Type = Gemm::GemmType<float, layout::RowMajor>;
    AscendC::GlobalTensor<float> a, b;
    a.SetGlobalBuffer(reinterpret_cast<float*>(1ull << 40)); b.SetGlobalBuffer(reinterpret_cast<float*>(2ull << 40));
    auto ub = [](uint32_t at) { AscendC::LocalTensor<float> t; t.address_.position = 9; t.address_.address = at; return t; };
    AscendC::DataCopy(ub(0), a, 512);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0); AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
    if (argv[1] == std::string("gelu")) Epilogue::Tile::TileElemWiseGelu<Arch::AtlasA2, Type, 512>()(ub(2048), ub(0));
    else Epilogue::Tile::TileElemWiseSilu<Arch::AtlasA2, Type, 512>()(ub(2048), ub(0));
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0); AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::DataCopy(b, ub(2048), 512);
}
"""


@pytest.mark.skipif(available() is not None, reason=str(available()))
def test_the_tiles_of_catlass_compute_the_same_but_for_barriers(tmp_path):
    """Their logs: the instructions of the activation in its order, with no barrier between two of one place."""
    program = built(TILES, "AtlasA2", tmp_path, "activations", core="AIV")
    tensors = {n: ((i + 1) << 40, float32, MakeLayout(512)) for i, n in enumerate("AB")}
    c = np.random.default_rng(0).uniform(-4, 4, 512)
    for name in ("gelu", "silu"):
        lines = subprocess.run([program, name], capture_output=True, text=True, check=True).stdout.splitlines()
        made = epilogue(name, (1, 512), (1, 512), element=float32)
        ours = [s.instruction for s in walk(made.programs[0].body) if isinstance(s, Compute)]
        theirs = [json.loads(x) for x in lines if '"Set' not in x and '"Wait' not in x and '"DataCopy"' not in x]
        assert [x["call"] for x in theirs] == [i.name for i in ours]
        scalars = [[n for n in x["args"][2:-1] if not isinstance(n, dict)] for x in theirs]
        wanted = [[] if i.scalar is None else [pytest.approx(i.scalar, rel=1e-5)] for i in ours]
        assert scalars == wanted
        kinds = {f.kind for f in check(lines, tensors, []).findings}
        assert "pipe" in kinds
        assert made.execute(c[None]).shape == (1, 512)

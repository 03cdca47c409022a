"""Blocks in CATLASS's Python DSL, run on numpy with a stand-in for its module; their calls are those
of its examples."""

import ast
import contextlib
import os
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

from tla import dims
from tla.ascend import (
    Ascend950,
    BlockSchedulerIterateK,
    ColumnMajor,
    GemmIdentityBlockSwizzle,
    SplitkGemmIdentityBlockSwizzle,
    StreamkGemmIdentityBlockSwizzle,
    bf16,
    block,
    float32,
    half,
    int8,
    zN,
)
from tla.ascend.programs import SetFlag, WaitFlag
from tla.ascend.programs.trace import events
from tla.core.errors import LeafTypeError

from night import amount

TILES = (64, 64, 64), (64, 64, 32)
#: What a block may be.
BLOCKS = {
    "plain": {"cores": 3},
    "unit flags": {"unit_flag": True, "c": float32, "stages": {"L1": 3, "L0A": 2, "L0B": 2}},
    "one stage": {"stages": 1, "a": (half, ColumnMajor)},
    "stages of L0C": {
        "stages": {"L1": 2, "L0A": 3, "L0B": 2, "L0C": 2},
        "swizzle": GemmIdentityBlockSwizzle[2, 1],
        "cores": 2,
    },
    "lines": {"swizzle": BlockSchedulerIterateK, "a": float32, "b": (float32, ColumnMajor), "c": float32},
    "bf16": {"a": bf16, "b": bf16, "c": bf16},
    "slices of k": {"c": float32, "splitkFactor": 3, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0], "cores": 5},
    "slices of k and unit flags": {
        "c": float32,
        "splitkFactor": 2,
        "swizzle": SplitkGemmIdentityBlockSwizzle[2, 1],
        "stages": {"L1": 3, "L0A": 2, "L0B": 2},
        "unit_flag": True,
    },
}
#: The functions that the DSL's examples call, how many arguments they give, and their names: of CATLASS, branch dsl,
#: commit 1309cf19, python/tla_dsl/examples.
CALLS = {
    "flag": (3, ()),
    "allocate": (4, ()),
    "cube": (0, ()),
    "set_flag": (1, ()),
    "wait_flag": (1, ()),
    "range": (3, ()),
    "arch.block_idx": (0, ()),
    "arch.block_num": (0, ()),
    "tile_view": (3, ()),
    "make_shape": (2, ()),
    "make_coord": (2, ()),
    "make_tensor_like": (2, ()),
    "copy": (2, ()),
    "mmad": (3, ("init_c", "unit_flag")),
    "params.CopyL0C2DstParams": (0, ("unit_flag", "atomic_mode")),
    "pipe_barrier": (1, ()),
}


#: The ways that `copy` has here.
WAYS = {("gm", "l1"), ("l1", "l0a"), ("l1", "l0b"), ("l0c", "gm")}


class Tensor:
    """A matrix, or a tile of one: `origin_shape` is what is valid of it."""

    def __init__(self, holder, start, sizes, place):
        self.holder, self.start, self.origin_shape, self.place = holder, start, sizes, place

    @property
    def at(self):
        (i, j), (m, n) = self.start, self.origin_shape
        return np.s_[i : i + m, j : j + n]


class Pointer:
    """A stage of a buffer: what was copied there last."""

    def __init__(self, count, place):
        self.count, self.place, self.values = count, place, None


class StandIn:
    """The DSL's module, for one core: its functions by its documents, on numpy. Notes flags in the order of issue."""

    def __init__(self, core, cores):
        self.up, self.log = set(), []
        names = ("MTE1", "MTE2", "CUBE", "FIX", "ALL")
        pipes = types.SimpleNamespace(**{x: x for x in names})
        self.arch = types.SimpleNamespace(**{x: x for x in names}, block_idx=lambda: core, block_num=lambda: cores)
        self.pipes, self.Tensor, self.kernel = pipes, Tensor, lambda f: f
        self.Float16, self.Float32, self.BFloat16 = "Float16", "Float32", "BFloat16"
        self.AddressSpace = types.SimpleNamespace(l1="l1", l0a="l0a", l0b="l0b", l0c="l0c")
        self.params = types.SimpleNamespace(
            CopyL0C2DstParams=lambda unit_flag=0, atomic_mode="NONE": (unit_flag, atomic_mode),
            AtomicMode=types.SimpleNamespace(ADD="ADD"),
        )
        self.range, self.cube = range, contextlib.nullcontext
        self.make_shape = self.make_coord = lambda *x: x

    def flag(self, name, first, second):
        return first.replace("CUBE", "M") + "_" + second.replace("CUBE", "M"), int(name.rsplit("_", 1)[1])

    def set_flag(self, flag):
        assert flag not in self.up
        self.up.add(flag)
        self.log.append(("SetFlag", *flag))

    def wait_flag(self, flag):
        self.up.remove(flag)
        self.log.append(("WaitFlag", *flag))

    def pipe_barrier(self, pipe):
        self.log.append(("PipeBarrier", pipe))

    def allocate(self, count, _dtype, place, alignment):
        assert alignment == 512
        return Pointer(count, place)

    def tile_view(self, t, shape, coord):
        start = tuple(c * s for c, s in zip(coord, shape))
        sizes = tuple(min(s, n - i) for s, n, i in zip(shape, t.origin_shape, start))
        assert min(sizes) > 0
        return Tensor(t.holder, tuple(a + b for a, b in zip(t.start, start)), sizes, t.place)

    def make_tensor_like(self, pointer, like):
        assert np.prod(like.origin_shape) <= pointer.count
        return Tensor(pointer, (0, 0), like.origin_shape, pointer.place)

    def copy(self, dst, src, params=(0, "NONE")):
        unit_flag, atomic = params
        assert (src.place, dst.place) in WAYS
        assert dst.origin_shape == src.origin_shape
        values = src.holder.values[src.at].copy()
        assert values.shape == src.origin_shape
        if dst.place == "gm":
            dst.holder.values[dst.at] = values + (dst.holder.values[dst.at] if atomic == "ADD" else 0)
        else:
            dst.holder.values = values
        self.log.append(("copy", src.place, dst.place, src.origin_shape, *((unit_flag,) if unit_flag else ())))

    def mmad(self, c, a, b, init_c, unit_flag=0):
        (m, n), (_, k) = c.origin_shape, a.origin_shape
        assert (a.origin_shape, b.origin_shape) == ((m, k), (k, n))
        assert (a.place, b.place, c.place) == ("l0a", "l0b", "l0c")
        before = 0 if init_c else c.holder.values
        c.holder.values = before + a.holder.values.astype(np.float64) @ b.holder.values
        self.log.append(("mmad", m, n, k, int(init_c), unit_flag))


def run(text, core, cores, matrices):
    """Run a program on one core; what it issues. Its text is our own."""
    stand_in = StandIn(core, cores)
    names = {}
    before, sys.modules["catlass"] = sys.modules.get("catlass"), stand_in
    try:
        exec(compile(text, "kernel.py", "exec"), names)
        names["kernel_main"](*(Tensor(types.SimpleNamespace(values=x), (0, 0), x.shape, "gm") for x in matrices))
    finally:
        sys.modules.pop("catlass")
        if before is not None:
            sys.modules["catlass"] = before
    assert not stand_in.up
    return stand_in.log


@pytest.mark.parametrize("name", BLOCKS)
def test_the_program_is_numpys_product_with_the_flags_of_the_block(name):
    rng = np.random.default_rng(4)
    every = block(dims("M N K"), *TILES, Ascend950, **BLOCKS[name])
    text = every.text("dsl")
    for _ in range(amount(2, 100)):
        m, n, k = (int(rng.choice([1, 16, 31, 64, 65, 100, 128, 150, 200])) for _ in range(3))
        x, y, c = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n)), np.full((m, n), np.nan)
        if every.plan.adds:
            c[:] = 0
        known = every.at(M=m, N=n, K=k)
        for core, program in enumerate(known.programs):
            log = run(text, core, every.cores, (x, y, c))
            flags = [
                (type(s).__name__, s.event, s.id)
                for s in (e.statement for e in events(program))
                if isinstance(s, (SetFlag, WaitFlag))
            ]
            assert [entry for entry in log if entry[0] in ("SetFlag", "WaitFlag")] == flags
            products = [
                e.statement.instruction.parameters
                for e in events(program)
                if e.pipe == "M" and hasattr(e.statement, "a")
            ]
            told = [("mmad", p["m"], p["n"], p["k"], p["cmatrixInitVal"], p["unitFlag"]) for p in products]
            assert [entry for entry in log if entry[0] == "mmad"] == told
        np.testing.assert_array_equal(c, x @ y)


def test_the_text_of_known_sizes_is_that_of_any():
    known = block((100, 90, 70), *TILES, Ascend950, cores=2)
    every = block(dims("M N K"), *TILES, Ascend950, cores=2)
    drop = [t.text("dsl").split("import catlass", 1)[1] for t in (known, every)]
    assert drop[0] == drop[1]
    assert "def mine(" in known.text("dsl", name="mine")


def calls_of(text):
    """What a program calls of the DSL: (name, arguments, names of arguments)."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.startswith("tla."):
                yield name[4:], len(node.args), tuple(k.arg for k in node.keywords)


def test_its_calls_are_those_of_the_examples():
    for more in BLOCKS.values():
        for name, count, named in calls_of(block(dims("M N K"), *TILES, Ascend950, **more).text("dsl")):
            wanted, known = CALLS[name]
            assert count == wanted + (name == "copy" and count == 3)
            assert set(named) <= set(known)


@pytest.mark.skipif("CATLASS_DSL" not in os.environ, reason="CATLASS_DSL names no folder python/tla_dsl of CATLASS")
def test_the_examples_call_so():
    found = set()
    for path in Path(os.environ["CATLASS_DSL"], "examples").rglob("*.py"):
        with warnings.catch_warnings():  # of their escapes
            warnings.simplefilter("ignore")
            found |= {(name, count, frozenset(named)) for name, count, named in calls_of(path.read_text())}
    for name, (count, named) in CALLS.items():
        assert any(n == name and c == count for n, c, _ in found), name
        assert set(named) <= frozenset().union(*(k for n, _, k in found if n == name)), name
    assert any(name == "copy" and count == 3 for name, count, _ in found)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"arch": "AtlasA2"}, "for AtlasA2"),
        ({"a": int8, "b": int8, "c": half, "quant": "PER_TENSOR", "scale": 0.5}, "of int8"),
        ({"b": (half, zN)}, "of the tag zN"),
        ({"c": (half, zN)}, "of the tag zN"),
        ({"bias": True}, "with biases"),
        ({"relu": True}, "with an epilogue"),
        ({"c": float32, "swizzle": StreamkGemmIdentityBlockSwizzle[3, 0], "cores": 2}, "dealt by StreamkGemm"),
    ],
)
def test_what_the_dsl_has_not_is_refused(more, message):
    with pytest.raises(LeafTypeError, match=message):
        block((40, 50, 70), *TILES, **{"arch": Ascend950, **more}).text("dsl")

"""CATLASS's examples as blocks: what `ascend.block` is given for each, random problems with tails for them, and a
fault in a block, which has to be found."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tla.ascend import (
    Ascend950,
    AtlasA2,
    BlockSchedulerAswt,
    BlockSchedulerIterateK,
    ColumnMajor,
    GemmIdentityBlockSwizzle,
    GemmIdentityBlockSwizzleL1FullLoad,
    SingleCoreSplitkGemmIdentityBlockSwizzle,
    SplitkGemmIdentityBlockSwizzle,
    StreamkGemmIdentityBlockSwizzle,
    TailSplitkGemmIdentityBlockSwizzle,
    bf16,
    block,
    float32,
    half,
    int8,
    int32,
    nZ,
    zN,
)
from tla.ascend.programs import Compute, Fill, Multiply
from tla.ascend.programs.check import check_program
from tla.ascend.programs.trace import events

HALF, COL = {"a": half, "b": half, "c": half}, (half, ColumnMajor)


class Case(NamedTuple):
    """An example: its architecture, the tiles of its main function, a smaller pair of tiles for many problems,
    and the rest."""

    arch: object
    l1: tuple
    l0: tuple
    small: tuple
    more: dict


def case(arch, l1, l0, small=((32, 64, 64), (32, 64, 32)), **more):
    return Case(arch, l1, l0, small, {**HALF, **more})


A2_TILES, LONG = ((128, 256, 256), (128, 256, 64)), ((256, 128, 256), (256, 128, 64))
BYTES, WORDS = ((128, 256, 512), (128, 256, 128)), ((256, 256, 128), (256, 256, 32))
SPLIT, FLOATS = {"c": float32, "splitkFactor": 3}, {"a": float32, "b": float32, "c": float32}
INT8 = {"a": int8, "b": (int8, ColumnMajor), "c": int32}
#: By number and name: the tiles, types, tags, swizzle and stages of an example's own main function, of which some have
#: several. What its AIV does before or after is left out, but for the activations of 27 and 28: the one has the swizzle
#: of matrices that are high, the other of those that are wide. Example 34 has narrower tiles in L0 than in L1, which a
#: block has not: here it has those of 09.
EXAMPLES = {
    "00_basic_matmul": case(AtlasA2, *A2_TILES, unit_flag=True, cores=3),
    "01_batched_matmul": case(AtlasA2, *A2_TILES, unit_flag=True, swizzle=GemmIdentityBlockSwizzle[3, 1]),
    "02_grouped_matmul_slice_m": case(AtlasA2, *LONG, b=COL, swizzle=GemmIdentityBlockSwizzle[3, 1], cores=2),
    "03_matmul_add": case(AtlasA2, *A2_TILES, unit_flag=True, swizzle=GemmIdentityBlockSwizzle[3, 1], cores=2),
    "04_padding_matmul": case(AtlasA2, *A2_TILES, b=COL, unit_flag=True),
    "05_grouped_matmul_slice_k": case(
        AtlasA2,
        *A2_TILES,
        a=COL,
        swizzle=GemmIdentityBlockSwizzle[3, 1],
        stages={"L1": 2, "L0A": 4, "L0B": 2},
        small=((32, 64, 64), (32, 64, 16)),
    ),
    "06_optimized_matmul": case(AtlasA2, *A2_TILES, b=COL, unit_flag=True, cores=2),
    "08_grouped_matmul": case(AtlasA2, *A2_TILES, a=COL, swizzle=GemmIdentityBlockSwizzle[3, 1], cores=2),
    "09_splitk_matmul": case(AtlasA2, *A2_TILES, b=COL, **SPLIT, swizzle=SplitkGemmIdentityBlockSwizzle[3, 0], cores=5),
    "12_quant_matmul": case(AtlasA2, *BYTES, **INT8),
    "13_basic_matmul_tla": case(AtlasA2, *A2_TILES, unit_flag=True),
    "13_basic_matmul_tla_float": case(
        AtlasA2, (128, 128, 256), (128, 128, 64), **{**FLOATS, "a": (float32, ColumnMajor)}
    ),
    "14_optimized_matmul_tla": case(
        AtlasA2, *A2_TILES, b=COL, stages={"L1": 2, "L0A": 2, "L0B": 2}, cores=2, swizzle=GemmIdentityBlockSwizzle[3, 0]
    ),
    "20_matmul_bias": case(AtlasA2, *A2_TILES, unit_flag=True, bias=True),
    "21_basic_matmul_preload_zN": case(AtlasA2, *A2_TILES, b=(half, zN)),
    "22_padding_splitk_matmul": case(
        AtlasA2, *A2_TILES, b=COL, **SPLIT, swizzle=SplitkGemmIdentityBlockSwizzle[3, 1], cores=4
    ),
    "25_matmul_full_loadA": case(AtlasA2, *A2_TILES, swizzle=GemmIdentityBlockSwizzleL1FullLoad[1, 0], cores=3),
    "26_matmul_relu": case(AtlasA2, *A2_TILES, b=COL, unit_flag=True, relu=True),
    "27_matmul_gelu": case(AtlasA2, *A2_TILES, unit_flag=True, c=float32, d=half, activation="gelu", cores=4),
    "28_matmul_silu": case(
        AtlasA2,
        *A2_TILES,
        unit_flag=True,
        c=float32,
        d=half,
        activation="silu",
        swizzle=GemmIdentityBlockSwizzle[3, 1],
        cores=2,
    ),
    "30_w8a16_matmul": case(AtlasA2, *A2_TILES, unit_flag=True),
    "31_small_matmul": case(AtlasA2, *A2_TILES, unit_flag=True, swizzle=BlockSchedulerIterateK, cores=4),
    "34_single_core_splitk_matmul": case(
        AtlasA2, *A2_TILES, b=COL, c=float32, swizzle=SingleCoreSplitkGemmIdentityBlockSwizzle[20, 0], cores=2
    ),
    "37_streamk_matmul": case(AtlasA2, *A2_TILES, c=float32, swizzle=StreamkGemmIdentityBlockSwizzle[3, 0], cores=3),
    "42_quant_optimized_matmul_tla": case(AtlasA2, *BYTES, **INT8, cores=2),
    "44_quant_matmul_full_loadA_tla": case(
        AtlasA2, *BYTES, a=int8, b=int8, c=int32, swizzle=GemmIdentityBlockSwizzleL1FullLoad[1, 0], cores=2
    ),
    "45_strided_batched_matmul_tla": case(
        AtlasA2, *A2_TILES, unit_flag=True, swizzle=GemmIdentityBlockSwizzle[3, 1], cores=2
    ),
    "52_quant_multi_core_splitk_matmul_tla": case(
        AtlasA2, *BYTES, **INT8, splitkFactor=3, swizzle=SplitkGemmIdentityBlockSwizzle[3, 0], cores=4
    ),
    "43_ascend950_basic_matmul": case(Ascend950, (256, 256, 128), (256, 256, 64), unit_flag=True),
    "43_ascend950_basic_matmul_int8": case(
        Ascend950, (256, 256, 128), (256, 256, 64), a=(int8, ColumnMajor), b=int8, c=int32
    ),
    "43_ascend950_quant": case(
        Ascend950,
        (256, 256, 128),
        (256, 256, 64),
        a=int8,
        b=(int8, nZ),
        quant="PER_TENSOR",
        scale=0.5,
        relu=True,
        stages={"L0C": 1},
    ),
    "43_ascend950_bias": case(
        Ascend950, (256, 256, 128), (256, 256, 64), unit_flag=True, bias=True, c=float32, stages={"L0C": 1}
    ),
    "43_ascend950_zN": case(Ascend950, (256, 256, 128), (256, 256, 64), b=(half, nZ), c=(half, zN)),
    "47_ascend950_grouped_matmul_per_token_dequant": case(
        Ascend950, (256, 256, 512), (256, 256, 128), a=int8, b=int8, c=int32, swizzle=BlockSchedulerAswt
    ),
    "50_ascend950_basic_matmul_gemv": case(
        Ascend950, (128, 128, 256), (128, 128, 64), **FLOATS, unit_flag=True, swizzle=GemmIdentityBlockSwizzle[3, 1]
    ),
    "51_ascend950_quant_matmul_per_group_per_block": case(
        Ascend950, (256, 128, 128), (256, 128, 128), a=int8, b=int8, c=int32, swizzle=BlockSchedulerAswt
    ),
    "57_ascend950_matmul_full_dequant": case(
        Ascend950, (128, 256, 256), (128, 256, 128), a=int8, b=int8, c=int32, swizzle=BlockSchedulerAswt, cores=5
    ),
    "60_ascend950_grouped_matmul_slice_m": case(
        Ascend950, (256, 256, 256), (256, 256, 64), swizzle=GemmIdentityBlockSwizzle[3, 1], cores=2
    ),
    "62_ascend950_broadcast_matmul_perblock_quant": case(
        Ascend950,
        (128, 128, 128),
        (128, 128, 128),
        a=bf16,
        b=bf16,
        c=bf16,
        swizzle=GemmIdentityBlockSwizzle[3, 1],
    ),
    "64_ascend950_matmul_evg": case(Ascend950, *WORDS, **FLOATS, unit_flag=True, cores=2),
    "66_ascend950_streamk_matmul": case(
        Ascend950, *WORDS, **FLOATS, swizzle=StreamkGemmIdentityBlockSwizzle[3, 0], cores=3
    ),
    "67_ascend950_batched_matmul": case(
        Ascend950, *WORDS, **FLOATS, stages={"L0C": 1}, swizzle=GemmIdentityBlockSwizzle[3, 1]
    ),
    "68_ascend950_multi_core_splitk_matmul": case(
        Ascend950, *WORDS, **{**FLOATS, **SPLIT}, swizzle=SplitkGemmIdentityBlockSwizzle[3, 0], cores=5
    ),
    "69_ascend950_tail_multi_core_splitk_matmul": case(
        Ascend950, *WORDS, **FLOATS, swizzle=TailSplitkGemmIdentityBlockSwizzle[3, 0], cores=4
    ),
    "73_ascend950_matmul_full_loadA": case(
        Ascend950, *WORDS, unit_flag=True, swizzle=GemmIdentityBlockSwizzleL1FullLoad[1, 0], cores=3
    ),
}


#: The swizzles whose blocks one program deals for problems of any size.
IN_TURN = "GemmIdentityBlockSwizzle", "SplitkGemmIdentityBlockSwizzle", "BlockSchedulerIterateK"
#: The examples of which there is a program for all sizes: their blocks are dealt in turn, in slices of k too.
ANY = [n for n, e in EXAMPLES.items() if str(e.more.get("swizzle", IN_TURN[0])).partition("[")[0] in IN_TURN]

#: Activations by their formulas.
FORMULAS = {
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x < 0, x / 100, x),
}
#: What the error of an activation is at most, of the type that is computed in and of that it ends in: of itself, and
#: absolute.
WITHIN = {half: (2e-3, 2**-7), bf16: (2**-8, 2**-8), float32: (1e-6, 2e-6)}


def row_of(name, logged):
    """The row of an example in the table of the documentation; logged: what its log shows."""

    def side(x):
        element, tag = x if isinstance(x, tuple) else (x, "RowMajor")
        return f"{element}{'' if str(tag) == 'RowMajor' else f' {tag}'}"

    e = EXAMPLES[name]
    a, b, c = (side(e.more[x]) for x in "abc")
    rest = [f"{k}={v}" for k, v in e.more.items() if k not in ("a", "b", "c", "cores")]
    tiles = [str(x).replace(" ", "") for x in (e.l1, e.l0)]
    cells = [name, e.arch, f"{a}, {b}: {c}", f"{tiles[0]} {tiles[1]}", ", ".join(rest) or "-", logged]
    return "| " + " | ".join(map(str, [*cells, "yes" if name in ANY else "no"])) + " |"


def example(name, problem, small=True):
    """The block of an example for a problem, in its own tiles, or in smaller ones."""
    e = EXAMPLES[name]
    return block(problem, *(e.small if small else (e.l1, e.l0)), e.arch, **e.more)


def problem_of(rng, small=True):
    """A problem with tails: sizes around whole tiles and units, of one row and one column too."""
    n = (100, 130, 200) if small else (300, 520, 600)
    odd = [int(rng.integers(1, most + 1)) for most in n]
    edge = [int(rng.choice([1, 15, 16, 17, 31, 32, 33, 64, 65, 96])) for _ in n]
    return tuple(e if rng.random() < 0.3 else o for e, o in zip(edge, odd))


def numbers(rng, problem, plan):
    """Arrays for a problem, and the product of them, by numpy, in the type of the result; with an activation by its formula,
    of numbers that are small enough not to end in 0, or as they came."""
    m, n, k = problem
    x, y = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n))
    bias = rng.integers(-9, 10, n) if plan.bias else None
    if plan.activation is not None:
        x = x / 16
    wanted = x @ y + (0 if bias is None else bias)
    if plan.scale is not None:
        wanted = wanted * plan.scale
    if plan.activation is not None:
        with np.errstate(over="ignore"):
            wanted = FORMULAS[plan.activation.name](wanted)
    wanted = np.maximum(wanted, 0) if plan.relu else wanted
    element = plan.result[1].element
    return (x, y, bias), ROUNDED[element](wanted) if element in ROUNDED else wanted


def agrees(found, wanted, plan):
    """Whether a result is what numpy makes: each element, to the last bit, but for an activation."""
    found = np.asarray(found, np.float64)
    if plan.activation is None:
        return (found == wanted).all()
    return np.allclose(found, wanted, *max(WITHIN[e] for e in (plan.activation.element, plan.activation.to)))


def to_bf16(x):
    """Numbers in 8 bits of precision, to the nearest even."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


#: What a type makes of numbers.
ROUNDED = {half: lambda x: x.astype(np.float16), bf16: to_bf16}


def equal_to_numpy(name, seed, small=True, made=None):
    """The problem of a seed, if the block that an example has for it is not equal to numpy; None if it is.

    made   a block of sizes that are names, which is executed instead
    """
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, small)
    b = made or example(name, problem, small)
    given, wanted = numbers(rng, problem, b.plan)
    return None if agrees(b.execute(*given), wanted, b.plan) else problem


def require_found(block, is_one, number, change):
    """A block's first program holds, and does not with one of its statements changed: to nothing, or to others."""
    program, blocks = block.programs[0], block.schedule.table[0]
    results = block.results(blocks) if hasattr(block, "results") else [block.result(blocks)]
    body = [e.statement for e in events(program)]
    assert check_program(replace(program, body=tuple(body)), results).holds
    i = [i for i, s in enumerate(body) if is_one(s)][number]
    assert not check_program(replace(program, body=(*body[:i], *change(body[i]), *body[i + 1 :])), results).holds


def stated(program, values):
    """What a program issues: the calls with places in memories and fields, flags, barriers."""
    for e in events(program, values):
        s, i = e.statement, getattr(e.statement, "instruction", None)
        if isinstance(s, Multiply):
            sizes = [x.bits for x in i.elements]
            places = [place(program, n, at, bits) for n, at, bits in zip((s.dst, s.a, s.b), (i.dst, i.a, i.b), sizes)]
            # kDirectionAlign may be set where L0A is laid out so that it changes nothing
            yield "Mmad", places, s.bias, {k: v for k, v in i.parameters.items() if k != "kDirectionAlign"}
        elif isinstance(s, Fill):
            yield "InitConstValue", place(program, s.dst, s.at, s.element.bits), dict(s.parameters)
        elif isinstance(s, Compute):
            for i in s.instructions:
                sides = zip(s.operands, i.places, i.elements)
                yield i.name, [place(program, n, at, e.bits) for n, at, e in sides], dict(i.parameters)
        elif i is not None:
            wide = [32 if program.buffers[n].position in ("L0C", "Bias") else i.element.bits for n in (s.dst, s.src)]
            fields = {
                k: v
                for k, v in i.parameters.items()
                if not (i.name == "DataCopy" and "Stride" in k and i.parameters["blockCount"] == 1)
            }
            if "index" in fields:
                fields["index"] = place(program, s.beside, fields["index"], 8)
            yield i.name, place(program, s.dst, i.dst, wide[0]), place(program, s.src, i.src, wide[1]), fields
        else:
            yield s


def place(program, name, at, bits):
    b = program.buffers[name]
    return b.position if b.position != "GM" else name, (0 if b.position == "GM" else b.address * 8) + at * bits


def moved(program, values):
    """What a program issues, without what is computed: of a tail of sizes that are names all of a tile is."""
    computes = {e.statement.instruction.name for e in events(program, values) if isinstance(e.statement, Compute)}
    return [s for s in stated(program, values) if s[0] not in computes]


def of(kind, test):
    """Whether a statement is of a kind and passes a test."""
    return lambda s: isinstance(s, kind) and test(s)


def dropped(_s):
    """The fault that a statement is missing."""
    return []


def field(name, by):
    """The fault that a field of a statement's instruction is larger by so much."""

    def change(s):
        p = s.instruction.parameters
        return [s._replace(instruction=replace(s.instruction, parameters={**p, name: p[name] + by}))]

    return change

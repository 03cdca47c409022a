"""Vector instructions of the unified buffer: executed element by element as the manual has them, in buffers that hold
nothing else."""

import random
import shutil
import subprocess

import numpy as np
import pytest

from tla import GetTile, Layout, MakeLayout, MakeTensor, cosize, dim
from tla.access import ASCEND_UB, access
from tla.ascend import (
    Ascend950,
    RowMajor,
    VectorInstruction,
    VectorLayout,
    bf16,
    float32,
    half,
    int8,
    int16,
    int32,
    uint8,
    vector,
    zN,
)
from tla.ascend.vectors import OPERATIONS
from tla.ascend.vectors.banks import GROUPS
from tla.ascend.vectors.instruction import CASTS
from tla.core.errors import LeafTypeError, RangeError, TlaError, Unproven

from night import amount

NUMPY = {
    "half": np.float16,
    "float": np.float32,
    "int16": np.int16,
    "int32": np.int32,
    "int8": np.int8,
    "uint8": np.uint8,
}
TYPES = {"half": half, "float": float32, "int16": int16, "int32": int32, "int8": int8, "uint8": uint8}
MATH = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Max": max,
    "Min": min,
    "Div": lambda a, b: a / b,
    "Abs": abs,
    "Relu": lambda a: max(a, 0),
    "Adds": lambda a, s: a + s,
    "Muls": lambda a, s: a * s,
    "Maxs": max,
    "Mins": min,
    "Duplicate": lambda s: s,
    "Cast": lambda a: a,
    "Copy": lambda a: a,
    "Subs": lambda a, s: a - s,
    "Divs": lambda a, s: a / s,
    "LeakyRelu": lambda a, s: a if a >= 0 else a * s,
    "AddRelu": lambda a, b: max(a + b, 0),
    "SubRelu": lambda a, b: max(a - b, 0),
    "Axpy": lambda a, old, s: a * s + old,
    "MulAddDst": lambda a, b, old: a * b + old,
    "FusedMulAdd": lambda a, b, old: a * old + b,
}
#: What adds to dst, and what Ascend950 alone has.
ADDS, WIDE_ONLY = ("Axpy", "MulAddDst", "FusedMulAdd"), ("Subs", "Divs")


def slots(i):
    """The places of the operands of each element that an instruction computes, by the manual: 8 blocks of 32
    bytes a repeat."""
    p = i.parameters
    names = ("dst", *(x for x in ("src", "src0", "src1") if f"{x}RepStride" in p))
    for repeat in range(p["repeatTimes"]):
        for j in range(p["mask"]):
            found = []
            for name, e, at in zip(names, i.elements, i.places):
                c0 = 256 // e.bits
                found.append(at + repeat * p[f"{name}RepStride"] * c0 + j // c0 * p[f"{name}BlkStride"] * c0 + j % c0)
            yield found


def layout_of(rng, sizes, element, broadcasts):
    """A layout of a matrix in the unified buffer: plain, with gaps, in blocks, or of a row or blocks that repeat."""
    (m, n), c0 = sizes, int(element.C0)
    up = -(-n // c0) * c0
    kinds = ["rows", "gaps", "blocks"] + (["row", "block"] if broadcasts else [])
    kind = rng.choice(kinds)
    if kind == "rows":
        return MakeLayout[element, RowMajor](m, n, ld=rng.choice([n, up]))
    if kind == "gaps":
        return MakeLayout[element, RowMajor](m, n, ld=up + c0 * rng.randint(0, 3))
    if kind == "blocks":
        return MakeLayout[element, zN](m, n)
    return Layout((m, n), (0, 1)) if kind == "row" else Layout((m, (c0, up // c0)), (c0, (1, 0)), (m, n))


def values(rng, count, dtype):
    return np.array(
        [rng.choice([-3, -2, -1, 1, 2, 4]) if np.dtype(dtype).kind != "u" else rng.randint(1, 9) for _ in range(count)],
        dtype,
    )


def stored(value, dtype):
    """A number as a type has it: integers end where the type does."""
    if dtype.kind in "iu":
        value = min(max(value, np.iinfo(dtype).min), np.iinfo(dtype).max)
    return dtype.type(value)


def case(rng):
    """An operation, its types, its operands, and its scalar."""
    name = rng.choice([*MATH])
    if name == "Cast":
        to, begin = rng.choice(
            [
                ("float", "half"),
                ("half", "float"),
                ("int32", "float"),
                ("float", "int32"),
                ("half", "int8"),
                ("uint8", "half"),
                ("int16", "half"),
            ]
        )
        names = (to, begin)
    else:
        kinds = [t for t in OPERATIONS[name].types if t in TYPES]  # numpy has no bf16
        names = (rng.choice(kinds),) * (1 + OPERATIONS[name].sources)
    sizes = rng.choice(
        [
            (1, rng.randint(1, 700)),
            (rng.randint(1, 9), rng.randint(1, 200)),
            (rng.randint(250, 300), rng.randint(1, 40)),
        ]
    )
    elements = [TYPES[n] for n in names]
    layouts = [layout_of(rng, sizes, e, broadcasts=k > 0) for k, e in enumerate(elements)]
    return name, names, sizes, elements, layouts, rng.choice([-2, 1, 3]) if OPERATIONS[name].scalar else None


@pytest.mark.parametrize("seed", range(amount(25, 1500)))
def test_random_computations_are_numpys(seed):
    rng = random.Random(seed)
    name, names, (m, n), elements, layouts, scalar = case(rng)
    buffers = [values(rng, int(cosize(x)), NUMPY[t]) for x, t in zip(layouts, names)]
    dst, *srcs = (MakeTensor(b, x, position="UB") for b, x in zip(buffers, layouts))
    try:
        made = vector(
            name,
            dst,
            *srcs,
            scalar=scalar,
            arch=rng.choice(["Ascend950"] if name in WIDE_ONLY else ["AtlasA2", "Ascend950"]),
        )
    except RangeError as error:
        assert "whole blocks of 32 bytes" in str(error)
        assert any(
            (int(x.stride[0]) * e.bits) % 256 for x, e in zip(layouts, elements) if not isinstance(x.stride[0], tuple)
        )
        return
    before = [b.copy() for b in buffers]
    for i in made:
        i.require_fields()
        i.execute(*buffers)
    met = {}
    for i in made:
        for to, *begin in slots(i):
            assert to not in met, "written twice"
            met[to] = begin
    for r, c in np.ndindex(m, n):
        to, *begin = (int(x(r, c)) for x in layouts)
        assert met.pop(to) == begin
        given = [before[k + 1][at].item() for k, at in enumerate(begin)]
        given += [before[0][to].item()] * (name in ADDS) + ([scalar] if scalar is not None else [])
        assert buffers[0][to] == stored(MATH[name](*given), np.dtype(NUMPY[names[0]])), (name, r, c)
    assert not met, "something else is written"
    untouched = np.ones(buffers[0].size, bool)
    untouched[[int(layouts[0](r, c)) for r, c in np.ndindex(m, n)]] = False
    assert (buffers[0][untouched] == before[0][untouched]).all()


def test_ascend950_takes_the_same_calls_in_a_larger_buffer():
    """CANN has these calls with repeats on Ascend950 too; of its 256 KiB it keeps 8 for them."""

    def added(rows, arch):
        x = MakeTensor(None, MakeLayout[float32, RowMajor](rows, 64), position="UB")
        return vector("Add", x, x, x, element=float32, arch=arch)

    assert added(700, Ascend950) == added(700, "AtlasA2")
    assert sum(i.parameters["repeatTimes"] for i in added(992, Ascend950)) == 992
    for rows, arch, room in ((769, "AtlasA2", 196608), (993, Ascend950, 253952)):
        with pytest.raises(RangeError, match=f"Add up to byte {rows * 256} of UB\n +expected +at most {room}"):
            added(rows, arch)


def test_casts_round_as_all_architectures_take_it():
    """CANN's tables: int16 to half is no CAST_NONE on Ascend950."""
    assert {pair: CASTS[pair] for pair in (("int16", "half"), ("int16", "float"), ("half", "float"))} == {
        ("int16", "half"): "CAST_RINT",
        ("int16", "float"): "CAST_NONE",
        ("half", "float"): "CAST_NONE",
    }


def test_the_fewest_repeats_are_taken():
    def repeats(layout, n=3):
        made = vector("Add", *(MakeTensor(None, layout, position="UB") for _ in range(n)), element=half)
        return [(i.parameters["mask"], i.parameters["repeatTimes"]) for i in made]

    assert repeats(MakeLayout[half, RowMajor](10, 100)) == [(128, 7), (104, 1)]  # no gaps: one row of 1000
    assert repeats(MakeLayout[half, RowMajor](10, 100, ld=112)) == [(100, 10)]
    assert (
        repeats(MakeLayout[half, RowMajor](2, 1000, ld=1024)) == [(128, 7), (104, 1)] * 2
    )  # as many repeats in fewer instructions
    assert repeats(MakeLayout[half, RowMajor](300, 16, ld=32)) == [(128, 37), (64, 1)]  # a block of each of 8 rows
    assert repeats(MakeLayout[half, RowMajor](9, 48, ld=64)) == [(128, 3), (16, 3)]
    assert repeats(MakeLayout[half, RowMajor](24, 40, ld=64)) == [(40, 24)]
    assert (
        repeats(MakeLayout[half, RowMajor](2, 200, ld=16 * 256)) == [(128, 1), (72, 1)] * 2
    )  # steps past the field: row by row
    assert repeats(MakeLayout(128 * 256)) == [(128, 255), (128, 1)]


def test_tiles_begin_at_their_own_places():
    buffer = np.arange(4096, dtype=np.float32)
    whole = MakeTensor(buffer, MakeLayout[float32, RowMajor](32, 128), position="UB")
    tile = GetTile(whole, (3, 64), (4, 40))
    (i,) = vector("Adds", tile, tile, scalar=1)
    assert (i.places, i.parameters["mask"], i.parameters["dstRepStride"]) == ((3 * 128 + 64,) * 2, 40, 16)
    i.execute(buffer, buffer)
    wanted = np.arange(4096, dtype=np.float32).reshape(32, 128)
    wanted[3:7, 64:104] += 1
    np.testing.assert_array_equal(buffer.reshape(32, 128), wanted)
    blocks = MakeTensor(None, MakeLayout[float32, zN](32, 128), position="UB")
    (i,) = vector("Exp", GetTile(blocks, (5, 16), (3, 24)), GetTile(blocks, (5, 16), (3, 24)), element=float32)
    assert (i.places[0], i.parameters) == (
        5 * 8 + 2 * 256,
        {"mask": 24, "repeatTimes": 3, "dstBlkStride": 32, "srcBlkStride": 32, "dstRepStride": 1, "srcRepStride": 1},
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t, v: v("Add", t(4, 64), t(4, 64)), LeafTypeError, "Add of 1 sources and no scalar"),
        (lambda t, v: v("Adds", t(4, 64), t(4, 64)), LeafTypeError, "2 sources|1 sources and no scalar"),
        (lambda t, v: v("Foo", t(4, 64)), LeafTypeError, "the vector operation"),
        (lambda t, v: v("Adds", t(4, 64), t(4, 64), scalar="1"), LeafTypeError, "scalar='1'"),
        (lambda t, v: v("Adds", t(4, 64), t(4, 64), scalar=1e9), TlaError, "the scalar of Adds"),
        (lambda t, v: v(3, t(4, 64)), LeafTypeError, "the vector operation"),
        (lambda t, v: v("Abs", t(4, 64), t(4, 60)), RangeError, r"\(4,64\) and \(4,60\)"),
        (lambda t, v: v("Abs", t(4, 64, ld=65), t(4, 64)), RangeError, "130 bytes"),
        (lambda t, v: v("Abs", t(4, 64), t(4, 64), arch="Ascend9"), LeafTypeError, "the architecture Ascend9"),
        (lambda t, v: v("Abs", t(4, 64), t(4, 64), element=bf16), LeafTypeError, "Abs of bf16"),
        (lambda t, v: v("Cast", t(4, 64), t(4, 64), element=(int8, int32)), LeafTypeError, "Cast of int8 and int32"),
        (
            lambda t, v: v("Abs", t(4, 64), MakeTensor(None, MakeLayout[half, RowMajor](4, 64), position="L1")),
            LeafTypeError,
            "at L1",
        ),
        (lambda t, v: v("Abs", t(dim("M"), 64), t(dim("M"), 64)), Unproven, "sizes that are numbers"),
        (
            lambda t, v: v("Abs", MakeTensor(None, Layout((4, 64), (0, 1)), position="UB"), t(4, 64)),
            LeafTypeError,
            "a place for each",
        ),
        (
            lambda t, v: v("Abs", t(4, 64), MakeTensor(None, Layout((4, 64), (64, 2)), position="UB")),
            LeafTypeError,
            "side by side",
        ),
        (lambda t, v: v("Abs", t(2000, 64), t(2000, 64)), RangeError, "of UB"),
        (
            lambda t, v: v("Abs", GetTile(t(4, 64), (0, 8), (4, 16)), GetTile(t(4, 64), (0, 0), (4, 16))),
            RangeError,
            "byte 16",
        ),
    ],
)
def test_what_no_instruction_computes_is_refused(call, error, message):
    def tensor(m, n, **more):
        return MakeTensor(None, MakeLayout[half, RowMajor](m, n, **more), position="UB")

    def asked(*args, element=half, **more):
        return vector(*args, element=element, **more)

    with pytest.raises(error, match=message):
        call(tensor, asked)


def test_a_source_that_the_result_overlaps_in_part_is_refused():
    buffer = np.zeros(4096, np.float16)
    whole = MakeTensor(buffer, VectorLayout.MakeLayout(half, 4096), position="UB")
    first, second = (GetTile(whole, (at,), (256,)) for at in (0, 128))
    with pytest.raises(Unproven, match="overlaps in part"):
        vector("Abs", second, first)
    assert vector("Abs", first, first)
    assert vector("Abs", GetTile(whole, (256,), (256,)), first)


def test_fields_past_their_ends_are_refused():
    p = {"mask": 64, "repeatTimes": 1, "dstBlkStride": 1, "srcBlkStride": 1, "dstRepStride": 8, "srcRepStride": 8}
    good = VectorInstruction("Exp", (0, 8), p, (float32, float32))
    good.require_fields()
    for field, value in (
        ("mask", 0),
        ("mask", 65),
        ("repeatTimes", 256),
        ("dstRepStride", 256),
        ("srcBlkStride", 2**16),
    ):
        with pytest.raises(RangeError, match=field):
            VectorInstruction("Exp", (0, 8), {**p, field: value}, (float32, float32)).require_fields()
    with pytest.raises(RangeError, match="byte 16"):
        VectorInstruction("Exp", (0, 4), p, (float32, float32)).require_fields()
    with pytest.raises(LeafTypeError, match="Exp of 1 arrays"):
        good.execute(np.zeros(64, np.float32))
    with pytest.raises(LeafTypeError, match="1 addresses of Exp"):
        good.banks(0)


def test_nothing_is_nothing():
    empty = MakeTensor(None, MakeLayout[half, RowMajor](0, 64), position="UB")
    assert vector("Abs", empty, empty, element=half) == ()


# ------------------------------------------------------------------------------------------------------------- banks


def slow_banks(i, addresses):
    """The cycles of an instruction, and the repeats that read and write one bank: block by block."""
    cycles = both = 0
    found = [*slots(i)]
    for repeat in range(i.parameters["repeatTimes"]):
        own = found[repeat * i.parameters["mask"] : (repeat + 1) * i.parameters["mask"]]
        places = [{(x[k] * e.bits // 8 + addresses[k]) // 32 for x in own} for k, e in enumerate(i.elements)]
        reads, writes = set().union(*places[1:]), places[0]
        cycles += max(1, *(sum(b % 16 == g for b in s) for s in (reads, writes) for g in range(16)))
        both += bool({(b % 16, b * 32 // 65536) for b in reads} & {(b % 16, b * 32 // 65536) for b in writes})
    return cycles, both


@pytest.mark.parametrize("seed", range(amount(30, 300)))
def test_banks_are_counted_block_by_block(seed):
    rng = random.Random(seed)
    name, _names, _sizes, elements, layouts, scalar = case(rng)
    dst, *srcs = (MakeTensor(None, x, position="UB") for x in layouts)
    try:
        made = vector(name, dst, *srcs, scalar=scalar, element=tuple(elements))
    except TlaError:
        return
    addresses = [rng.randrange(0, 65536, 32) for _ in elements]
    for i in made:
        found = i.banks(*addresses)
        assert (found.cycles, found.read_write) == slow_banks(i, addresses)
        assert found.least <= found.cycles
        assert (found.witness is None) == (found.cycles == found.least)


def test_the_examples_of_the_manual():
    """Blocks at 0x1FE00 and steps of 16 and 8: 8 and 4 cycles; two sources in one bank group; and a bank that is read
    and written."""
    p = {"mask": 64, "repeatTimes": 1, "dstBlkStride": 16, "srcBlkStride": 1, "dstRepStride": 8, "srcRepStride": 8}
    i = VectorInstruction("Exp", (0, 0), p, (float32, float32))
    assert i.banks(0x1FE00, 0).cycles == 8
    assert VectorInstruction("Exp", (0, 0), {**p, "dstBlkStride": 8}, (float32, float32)).banks(0x1FE00, 0).cycles == 4
    q = {"mask": 8, "repeatTimes": 1, **dict.fromkeys(("dstBlkStride", "src0BlkStride", "src1BlkStride"), 1)}
    q |= dict.fromkeys(("dstRepStride", "src0RepStride", "src1RepStride"), 8)
    add = VectorInstruction("Add", (0, 0, 0), q, (float32,) * 3)
    assert add.banks(0, 0x10020, 0x20020).cycles == 2
    assert add.banks(0, 0x10020, 0x10000).cycles == 1
    one = VectorInstruction("Abs", (0, 0), {**p, "mask": 8, "dstBlkStride": 1}, (float32, float32))
    assert one.banks(0x10000, 0x10020).read_write == 0
    assert one.banks(0x10E20, 0x10020).read_write == 1


@pytest.mark.parametrize("step", [1, 2, 4, 8, 16, 3])
def test_one_operand_is_that_of_access(step):
    """`tla.access` counts the same blocks of one operand, by ASCEND_UB."""
    p = {"mask": 64, "repeatTimes": 1, "dstBlkStride": 1, "srcBlkStride": step, "dstRepStride": 8, "srcRepStride": 8}
    i = VectorInstruction("Exp", (0, 0), p, (float32, float32))
    owners, memory = Layout((8, 8), (8, 1)), Layout((8, 8), (1, step * 8))  # a block each, 8 elements of 32 bits
    found = access(owners, memory, 32, memory=ASCEND_UB)
    assert (i.banks(0, 0).cycles, ASCEND_UB.banks) == (found.wavefronts, GROUPS)


# -------------------------------------------------------------------------------------------------------------- text


def test_the_text_is_ascendcs():
    x = MakeTensor(None, MakeLayout[half, RowMajor](4, 64), position="UB")
    wide = MakeTensor(None, MakeLayout[float32, RowMajor](4, 64), position="UB")
    assert (
        vector("Duplicate", x, scalar=0, element=half)[0].text
        == "AscendC::Duplicate(dst[0], static_cast<half>(0), 128, 2, 1, 8);"
    )
    (cast,) = vector("Cast", wide, x, element=(float32, half))
    assert cast.text == "AscendC::Cast(dst[0], src[0], AscendC::RoundMode::CAST_NONE, 64, 4, {1, 1, 8, 4});"
    assert str(cast).startswith("Cast(0, 0)(mask=64")


#: The overloads of AscendC that a call may be taken for, by the manual.
HEADER = """#include <cstdint>
#define BINARY(F) \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&, uint64_t, uint8_t, const BinaryRepeatParams&); \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&, uint64_t[], uint8_t, const BinaryRepeatParams&); \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<T>&, const int32_t&);
#define UNARY(F) \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, uint64_t, uint8_t, const UnaryRepeatParams&); \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, uint64_t[], uint8_t, const UnaryRepeatParams&); \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, const int32_t&);
#define SCALAR(F) \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, const T&, uint64_t, uint8_t, const UnaryRepeatParams&); \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, const T&, const int32_t&);
using half = _Float16;
namespace AscendC {
template <class T> struct LocalTensor { LocalTensor operator[](uint32_t) const; };
struct BinaryRepeatParams { BinaryRepeatParams(uint8_t, uint8_t, uint8_t, uint8_t, uint8_t, uint8_t); };
struct UnaryRepeatParams { UnaryRepeatParams(uint16_t, uint16_t, uint8_t, uint8_t); };
enum class RoundMode { CAST_NONE, CAST_RINT };
BINARY(Add) BINARY(Sub) BINARY(Mul) BINARY(Div) BINARY(Max) BINARY(Min)
UNARY(Exp) UNARY(Ln) UNARY(Abs) UNARY(Sqrt) UNARY(Reciprocal) UNARY(Relu) UNARY(Rsqrt)
BINARY(AddRelu) BINARY(SubRelu) BINARY(MulAddDst) BINARY(FusedMulAdd)
SCALAR(Adds) SCALAR(Muls) SCALAR(Maxs) SCALAR(Mins) SCALAR(LeakyRelu) SCALAR(Subs) SCALAR(Divs) SCALAR(Axpy)
template <class T> void Duplicate(const LocalTensor<T>&, const T&, uint64_t, uint8_t, uint16_t, uint8_t);
template <class T> void Duplicate(const LocalTensor<T>&, const T&, const int32_t&);
struct CopyRepeatParams { CopyRepeatParams(uint16_t, uint16_t, uint16_t, uint16_t); };
template <class T> void Copy(const LocalTensor<T>&, const LocalTensor<T>&, uint64_t, uint8_t, const CopyRepeatParams&);
template <class T> void Copy(const LocalTensor<T>&, const LocalTensor<T>&, uint64_t[], uint8_t, const CopyRepeatParams&);
template <class T, class U> void Cast(const LocalTensor<T>&, const LocalTensor<U>&, const RoundMode&, uint64_t, uint8_t, const UnaryRepeatParams&);
}
"""


@pytest.mark.skipif(shutil.which("clang++-19") is None, reason="clang++-19 is not there")
def test_the_texts_compile_as_the_manual_declares_them(tmp_path):
    x = MakeTensor(None, MakeLayout[half, RowMajor](4, 64), position="UB")
    lines = []
    for name, operation in OPERATIONS.items():
        if name == "Prelu":  # no repeats
            continue
        srcs, scalar = [x] * operation.sources, 2 if operation.scalar else None
        element = (float32, half) if name == "Cast" else half
        dst = MakeTensor(None, MakeLayout[float32, RowMajor](4, 64), position="UB") if name == "Cast" else x
        to = "float" if name == "Cast" else "half"
        (i,) = vector(name, dst, *srcs, scalar=scalar, element=element, arch=Ascend950)
        lines.append(f"{{ AscendC::LocalTensor<{to}> dst; AscendC::LocalTensor<half> src, src0, src1; {i.text} }}")
    source = tmp_path / "vectors.cpp"
    source.write_text(HEADER + "\n".join(["void kernel() {", *lines, "}", ""]))
    subprocess.run(["clang++-19", "-std=c++17", "-fsyntax-only", source], check=True)


def test_a_scalar_before_its_source():
    """1 - x and 1 / x, as CATLASS's epilogues of Ascend950 have them."""
    p = {"mask": 4, "repeatTimes": 1, "dstBlkStride": 1, "srcBlkStride": 1, "dstRepStride": 8, "srcRepStride": 8}
    x, to = np.array([1, 2, 4, 8] * 2, np.float32), np.zeros(8, np.float32)
    for name, wanted in (("Divs", [1, 0.5, 0.25, 0.125]), ("Subs", [0, -1, -3, -7])):
        (i,) = vector(
            name,
            *(MakeTensor(None, MakeLayout(4), position="UB"),) * 2,
            scalar=1,
            mode="SCALAR_FIRST",
            element=float32,
            arch="Ascend950",
        )
        assert i.parameters == p
        i.execute(to, x)
        assert to[:4].tolist() == wanted
        assert i.text == f"AscendC::{name}(dst[0], static_cast<float>(1), src[0], 4, 1, {{1, 1, 8, 8}});"


@pytest.mark.parametrize("name", WIDE_ONLY)
def test_what_ascend950_alone_has_is_refused_elsewhere(name):
    x = MakeTensor(None, MakeLayout(64), position="UB")
    with pytest.raises(LeafTypeError, match=f"{name} on AtlasA2"):
        vector(name, x, x, element=float32, scalar=2)


def test_what_takes_a_count_alone_is_refused():
    """CANN's page of Prelu has one form: dst, src0, src1 and a count."""
    x = MakeTensor(None, MakeLayout(64), position="UB")
    with pytest.raises(LeafTypeError, match="Prelu, which has no mask and no strides"):
        vector("Prelu", x, x, x, element=float32, arch="Ascend950")


def test_a_root_below_one_is_rounded_twice():
    """As 1 / sqrt(x) in the type: within 2 units in the last place of the exact one."""
    x = np.linspace(0.01, 50, 128, dtype=np.float32)
    t, made = MakeTensor(x, MakeLayout(128), position="UB"), np.zeros(128, np.float32)
    for i in vector("Rsqrt", MakeTensor(made, MakeLayout(128), position="UB"), t):
        i.execute(made, x)
    exact = 1 / np.sqrt(x.astype(np.float64))
    assert (abs(made - exact) <= 2 * np.spacing(exact.astype(np.float32))).all()


def test_what_lies_apart_says_nothing_of_buffers_that_overlap():
    """A way that is proved for tensors without buffers is not taken for those of one array."""
    apart = [MakeTensor(None, Layout((64,), (1,)), position="UB") for _ in range(2)]
    first, again = (vector("Exp", *apart, element=float32) for _ in range(2))
    assert first == again
    assert first[0] is not again[0]
    for buffer in (None, np.zeros(128, np.float32)):
        part, wide = (MakeTensor(buffer, Layout((n,), (1,)), position="UB") for n in (128, 64))
        if buffer is None:
            assert vector("Exp", GetTile(part, (8,), (64,)), wide, element=float32)
            continue
        with pytest.raises(Unproven, match="overlaps in part"):
            vector("Exp", GetTile(part, (8,), (64,)), wide)

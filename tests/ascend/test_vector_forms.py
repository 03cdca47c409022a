"""Reductions, broadcasts, comparisons, selections, tables and copies of the unified buffer, executed by
the manual's words."""

import random
import shutil
import subprocess

import numpy as np
import pytest

from tla import GetTile, Layout, MakeLayout, MakeTensor, cosize, dim
from tla.ascend import Ascend950, RowMajor, VectorInstruction, float32, half, int8, int16, int32, uint8, vector, zN
from tla.ascend.vectors.forms import MODES, SPECIAL
from tla.core.errors import LeafTypeError, RangeError, Unproven

from night import amount

NUMPY = {"half": np.float16, "float": np.float32, "int16": np.int16, "int32": np.int32}
TYPES = {"half": half, "float": float32, "int16": int16, "int32": int32}
PYTHON = {"Sum": sum, "Max": max, "Min": min}
COMPARE = {
    "LT": lambda a, b: a < b,
    "GT": lambda a, b: a > b,
    "EQ": lambda a, b: a == b,
    "LE": lambda a, b: a <= b,
    "GE": lambda a, b: a >= b,
    "NE": lambda a, b: a != b,
}


def by_the_manual(i, buffers):
    """What an instruction does, repeat by repeat: {place of dst: value, of bits (byte, bit)}; what it reads must have
    been there."""
    p, bits, made = i.parameters, i.elements[-1].bits, {}
    c0, most = 256 // bits, 2048 // bits
    dst, *srcs = i.places

    def read(side, k, repeat, j):
        at = srcs[k] + (repeat * p[f"{side}RepStride"] + j // c0 * p[f"{side}BlkStride"]) * c0 + j % c0
        return buffers[k + 1][at].item()

    def write(at, value):
        assert at not in made, "written twice"
        made[at] = value

    if i.name == "Gather":
        for j, byte in enumerate(i.table):
            assert (byte + p["srcBaseAddr"]) * 8 % bits == 0
            write(dst + j, buffers[1][srcs[0] + (byte + p["srcBaseAddr"]) * 8 // bits].item())
        assert len(i.table) == p["count"]
        return made
    for repeat in range(p["repeatTimes"]):
        if i.name == "Brcb":
            for j in range(8):
                for e in range(c0):
                    value = buffers[1][srcs[0] + repeat * 8 + j].item()
                    write(dst + (repeat * p["dstRepStride"] + j * p["dstBlkStride"]) * c0 + e, value)
        elif i.name == "Compare":
            for j in range(p["mask"]):
                write(
                    (dst + repeat * most // 8 + j // 8, j % 8),
                    COMPARE[i.mode](read("src0", 0, repeat, j), read("src1", 1, repeat, j)),
                )
        elif i.name in ("Compares", "CompareScalar"):
            for j in range(p["mask"]):
                write((dst + repeat * most // 8 + j // 8, j % 8), COMPARE[i.mode](read("src", 0, repeat, j), i.scalar))
        elif i.name == "Select":
            srcs, sel = i.places[2:], i.places[1]
            for j in range(p["mask"]):
                bit = buffers[1][sel + repeat * most // 8 + j // 8] >> j % 8 & 1
                at = [
                    srcs[k] + (repeat * p[f"src{k}RepStride"] + j // c0 * p[f"src{k}BlkStride"]) * c0 + j % c0
                    for k in range(2)
                ]
                value = buffers[2 if bit else 3][at[0 if bit else 1]].item()
                write(dst + (repeat * p["dstRepStride"] + j // c0 * p["dstBlkStride"]) * c0 + j % c0, value)
        else:
            size, unit = {"Whole": (most, 1), "Block": (c0, 8), "Pair": (2, most // 2)}[i.name.partition("Reduce")[0]]
            for first in range(0, p["mask"], size):
                values = [read("src", 0, repeat, j) for j in range(first, min(first + size, p["mask"]))]
                write(dst + repeat * p["dstRepStride"] * unit + first // size, PYTHON[i.name[-3:]](values))
    return made


def matrix(rng, m, n, element, whole=False):
    c0 = int(element.C0)
    up = -(-n // c0) * c0
    if not whole and m < 240 and rng.random() < 0.3:
        return MakeLayout[element, zN](m, n)
    return MakeLayout[element, RowMajor](
        m, n, ld=up + c0 * rng.randint(0, 3) if rng.random() < 0.6 else (up if m > 1 else n)
    )


def case(name, rng):
    """Layouts and types of the operands of a random case, and the results by coordinates of dst as a function
    of numpy arrays."""
    form, element = SPECIAL[name].form, TYPES[rng.choice(SPECIAL[name].types)]
    most, c0 = 2048 // element.bits, int(element.C0)
    m = rng.choice([1, 2, rng.randint(3, 20), 260])
    if form == "whole":
        n = rng.randint(1, most)
        step = rng.choice([1, 1, 3, 70])
        function = {"Sum": np.sum, "Max": np.max, "Min": np.min}[name[-3:]]
        return [element] * 2, [Layout((m,), (step,)), matrix(rng, m, n, element)], lambda x: function(x, 1)
    if form in ("block", "pair"):
        n = most * rng.randint(1, 2) + (0 if form == "pair" else -rng.randrange(c0))
        size = c0 if form == "block" else 2
        function = {"Sum": np.add, "Max": np.maximum, "Min": np.minimum}[name[-3:]]
        wide = -(-n // size)
        dst = MakeLayout[element, RowMajor](
            m, wide, ld=wide + (8 if form == "block" else most // 2) * rng.randint(0, 2)
        )
        return [element] * 2, [dst, matrix(rng, m, n, element)], lambda x: function.reduceat(x, range(0, n, size), 1)
    if form == "spread":
        m = 8 * rng.randint(1, 40)
        dst = MakeLayout[element, RowMajor](m, c0, ld=c0 * rng.choice([1, 1, 2, 40 if m <= 128 else 3]))
        return [element] * 2, [dst, MakeLayout(m)], lambda x: np.repeat(x[:, None], c0, 1)
    if form == "gather":
        m, n = rng.randint(1, 9), rng.randint(1, 40)
        src = rng.choice(
            [Layout((m, n), (1, m)), Layout((m, n), (n + 3, 1)), Layout((m, n), (0, 2)), MakeLayout[element, zN](m, n)]
        )
        return [element] * 2, [MakeLayout[element, RowMajor](m, n), src], lambda x: x
    n = most
    bits, rows = MakeLayout[uint8, RowMajor](m, n // 8), [matrix(rng, m, n, element, whole=True) for _ in range(3)]
    if form == "bits":
        operands = len(SPECIAL[name].operands)
        return [uint8, element, element][:operands], [bits, *rows[:2]][:operands], None
    return [element, uint8, element, element], [rows[0], bits, *rows[1:]], None


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("seed", range(amount(3, 200)))
def test_random_computations_are_those_of_the_manual(name, seed):
    rng = random.Random(f"{name} {seed}")
    elements, layouts, wanted = case(name, rng)
    types = [NUMPY.get(e.name, np.uint8) for e in elements]
    numbers = np.random.default_rng(seed)
    buffers = [
        numbers.integers(0, 200 if t is np.uint8 else 7, int(cosize(x)) + 512).astype(t) for x, t in zip(layouts, types)
    ]
    tensors = [MakeTensor(b, x, position="UB") for b, x in zip(buffers, layouts)]
    mode = rng.choice([*MODES]) if name.startswith("Compare") else ""
    scalar = rng.randint(1, 5) if name in ("Compares", "CompareScalar") else None
    made = vector(name, *tensors, mode=mode, scalar=scalar)
    before, found = [b.copy() for b in buffers], {}
    for i in made:
        found |= by_the_manual(i, before)
        i.execute(*buffers)
    arrays = [b[np.broadcast_to(x(*np.ogrid[tuple(slice(int(n)) for n in x.origin_shape)]), tuple(map(int, x.origin_shape)))]
              for b, x in zip(before, layouts)]  # fmt: skip
    if name.startswith("Compare"):
        other = arrays[2] if scalar is None else scalar
        result = np.packbits(np.vectorize(COMPARE[mode])(arrays[1], other), axis=1, bitorder="little")
    elif name == "Select":
        result = np.where(np.unpackbits(arrays[1], axis=1, bitorder="little") == 1, arrays[2], arrays[3])
    else:
        result = wanted(arrays[1])
    if name.startswith("Compare"):
        found = {byte: sum(found[byte, b] << b for b in range(8)) for byte, _ in found}
    after = before[0].copy()
    for at, value in found.items():
        after[at] = value
    assert (buffers[0] == after).all(), "execute does other than the manual says"
    own = before[0].copy()
    for c in np.ndindex(*arrays[0].shape):
        own[int(layouts[0](*c))] = result[c]
    assert (after == own).all(), "not the result, or something else is written"


@pytest.mark.parametrize("seed", range(amount(30, 300)))
def test_rows_are_copied_into_blocks_and_back(seed):
    """As PADDING_NZ does between rows and zN in UB: each element once, in as few repeats as rows or blocks
    of rows take."""
    rng = random.Random(seed)
    element, m, n = rng.choice((half, float32)), rng.randint(1, 40), rng.randint(1, 300)
    c0 = int(element.C0)
    rows, blocks = MakeLayout[element, RowMajor](m, n, ld=-(-n // c0) * c0), MakeLayout[element, zN](m, n)
    layouts = rng.choice([(rows, blocks), (blocks, rows)])
    buffers = [np.arange(int(cosize(x))).astype(NUMPY["half" if element is half else "float"]) for x in layouts]
    dst, src = (MakeTensor(b, x, position="UB") for b, x in zip(buffers, layouts))
    made, wanted = vector("Copy", dst, src), buffers[0].copy()
    for c in np.ndindex(m, n):
        wanted[int(layouts[0](*c))] = buffers[1][int(layouts[1](*c))]
    for i in made:
        i.require_fields()
        i.execute(*buffers)
    assert (buffers[0] == wanted).all()
    by_rows, by_blocks = m * -(-n // (8 * c0)), -(-m // 8) * (n // c0) + (m if n % c0 else 0)
    assert sum(i.parameters["repeatTimes"] for i in made) <= min(by_rows, by_blocks)


def ub(layout, data=None):
    return MakeTensor(data, layout, position="UB")


def rows(m, n, element=float32, **more):
    return ub(MakeLayout[element, RowMajor](m, n, **more))


X, BITS = rows(4, 64), rows(4, 8, uint8)


@pytest.mark.parametrize(
    ("call", "error", "message", "mended"),
    [
        (
            ("WholeReduceSum", ub(MakeLayout(4)), rows(4, 65, ld=72)),
            RangeError,
            "at most 64 elements",
            ("WholeReduceSum", ub(MakeLayout(4)), X),
        ),
        (
            ("WholeReduceSum", ub(MakeLayout(5)), X),
            RangeError,
            r"make dst of \(4\)",
            ("WholeReduceSum", ub(MakeLayout(4)), X),
        ),
        (
            ("WholeReduceSum", ub(MakeLayout(4)), rows(4, 9)),
            RangeError,
            "lay it out with ld=16",
            ("WholeReduceSum", ub(MakeLayout(4)), rows(4, 9, ld=16)),
        ),
        (
            ("BlockReduceSum", rows(4, 5, ld=8), rows(4, 40)),
            RangeError,
            "take 64 columns",
            ("BlockReduceSum", rows(4, 8), X),
        ),
        (
            ("BlockReduceMax", rows(4, 8, ld=9), X),
            RangeError,
            "dst at element 9, byte 36",
            ("BlockReduceMax", rows(4, 8), X),
        ),
        (
            ("PairReduceSum", rows(4, 16), rows(4, 32)),
            RangeError,
            "whole repeats of 64",
            ("PairReduceSum", rows(4, 32), X),
        ),
        (
            ("Brcb", rows(9, 8), ub(MakeLayout(9))),
            RangeError,
            r"make dst of \(16,8\)",
            ("Brcb", rows(16, 8), ub(MakeLayout(16))),
        ),
        (
            ("Brcb", rows(8, 8), ub(Layout((8,), (2,)))),
            LeafTypeError,
            "a vector side by side",
            ("Brcb", rows(8, 8), ub(MakeLayout(8))),
        ),
        (("Compare", BITS, X, X), LeafTypeError, 'mode="LT"', None),
        (("Select", X, rows(4, 64, uint8), X, X), RangeError, r"sel of \(4,64\)", ("Select", X, BITS, X, X)),
        (("Select", X, BITS, X), LeafTypeError, "give dst, sel, src0, src1", ("Select", X, BITS, X, X)),
        (("Gather", rows(4, 60, ld=64), X), RangeError, r"make src of \(4,60\)", ("Gather", X, X)),
        (
            ("Gather", rows(4, 60, ld=64), rows(4, 60)),
            LeafTypeError,
            "gather into rows without gaps",
            ("Gather", rows(4, 60), rows(4, 60, ld=64)),
        ),
        (("PairReduceSum", ub(Layout((4, 32), (0, 1))), X), LeafTypeError, "a place for each element", None),
        (("Brcb", rows(8, 8), MakeTensor(None, MakeLayout(8), position="L1")), LeafTypeError, "tensors at UB", None),
        (
            ("WholeReduceSum", ub(MakeLayout(4)), ub(MakeLayout[float32, RowMajor](dim("m"), 64))),
            Unproven,
            "sizes that are numbers",
            None,
        ),
    ],
)
def test_what_no_form_computes_is_refused_and_the_fix_works(call, error, message, mended):
    name, *tensors = call
    with pytest.raises((error, LeafTypeError), match=message):
        vector(name, *tensors, element=float32)
    if mended:
        name, *tensors = mended
        assert vector(name, *tensors, element=float32)


def test_types_modes_and_scalars_of_forms():
    with pytest.raises(LeafTypeError, match="one of half, float"):
        vector("WholeReduceSum", ub(MakeLayout(4)), X, element=int8)
    with pytest.raises(LeafTypeError, match="without buffers"):
        vector("WholeReduceSum", ub(MakeLayout(4)), X)
    with pytest.raises(LeafTypeError, match="leave out scalar="):
        vector("Brcb", rows(8, 8), ub(MakeLayout(8)), scalar=1, element=float32)
    for name, tensors in (("Brcb", (rows(8, 8), ub(MakeLayout(8)))), ("Add", (X, X, X))):
        with pytest.raises(LeafTypeError, match="mode= of Compare"):
            vector(name, *tensors, mode="LT", element=float32)
    with pytest.raises(LeafTypeError, match="bits of uint8"):
        vector(
            "Compare",
            ub(MakeLayout[uint8, RowMajor](4, 8), np.zeros(32, np.float32)),
            X,
            ub(X.layout, np.zeros(256, np.float32)),
            mode="LT",
        )
    assert vector("WholeReduceSum", ub(MakeLayout(0)), rows(0, 64), element=float32) == ()
    data = np.zeros(512, np.float32)
    with pytest.raises(Unproven, match="overlaps in part"):
        vector("WholeReduceSum", ub(MakeLayout(4), data), ub(X.layout, data))


def test_tiles_begin_where_they_begin():
    whole, column = rows(40, 64), ub(MakeLayout(40))
    (i,) = vector("WholeReduceMax", GetTile(column, (3,), (20,)), GetTile(whole, (7, 0), (20, 64)), element=float32)
    assert (i.places, i.parameters["repeatTimes"]) == ((3, 448), 20)


# ------------------------------------------------------------------------------------------------------------- banks


def test_banks_of_results_that_are_smaller():
    (i,) = vector("WholeReduceSum", ub(MakeLayout(4)), rows(4, 64, ld=128), element=float32)
    assert i.banks(0x10000, 0).cycles == 4
    (i,) = vector("Brcb", rows(8, 8, ld=128), ub(MakeLayout(8)), element=float32)
    assert i.banks(0, 0x10000).cycles == 8  # eight rows of one bank group
    (i,) = vector("Gather", X, ub(Layout((4, 64), (1, 4))), element=float32)
    with pytest.raises(LeafTypeError, match="no manual says"):
        i.banks()


@pytest.mark.parametrize(
    ("src0", "src1", "dst", "cycles", "both"),
    [
        (0x0000, 0x0100, 0x0220, 1, 0),  # two reads of one bank group, in its two banks, and a write beside it
        (0x0000, 0x0200, 0x0020, 2, 0),  # two reads of one bank
        (0x0000, 0x0020, 0x10000, 1, 1),  # bank 0 is read and written: 64 KiB away it is the same bank there
    ],
)
def test_banks_of_ascend950_are_those_of_its_manual(src0, src1, dst, cycles, both):
    q = {"mask": 8, "repeatTimes": 1, **dict.fromkeys(("dstBlkStride", "src0BlkStride", "src1BlkStride"), 1)}
    q |= dict.fromkeys(("dstRepStride", "src0RepStride", "src1RepStride"), 8)
    found = VectorInstruction("Add", (0, 0, 0), q, (float32,) * 3).banks(dst, src0, src1, arch=Ascend950)
    assert (found.cycles, found.read_write) == (cycles, both)


def test_writes_of_ascend950_meet_in_half_as_many_groups():
    p = {"mask": 64, "repeatTimes": 1, "dstBlkStride": 8, "srcBlkStride": 1, "dstRepStride": 8, "srcRepStride": 8}
    i = VectorInstruction("Exp", (0, 0), p, (float32, float32))
    assert [i.banks(0, 0, arch=arch).cycles for arch in ("AtlasA2", "Ascend950")] == [4, 8]


# ------------------------------------------------------------------------------------------------------------- text

HEADER = """#include <cstdint>
using half = _Float16;
namespace AscendC {
template <class T> struct LocalTensor { LocalTensor operator[](uint32_t) const; };
struct BinaryRepeatParams { BinaryRepeatParams(uint8_t, uint8_t, uint8_t, uint8_t, uint8_t, uint8_t); };
struct BrcbRepeatParams { BrcbRepeatParams(uint16_t, uint16_t); };
enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE { VSEL_TENSOR_TENSOR_MODE };
enum class ReduceOrder { ORDER_ONLY_VALUE };
template <class T> void WholeReduceSum(const LocalTensor<T>&, const LocalTensor<T>&, int32_t, int32_t, int32_t, int32_t, int32_t);
#define EXTREME(F) \\
  template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, int32_t, int32_t, int32_t, int32_t, int32_t, ReduceOrder);
EXTREME(WholeReduceMax) EXTREME(WholeReduceMin)
#define PARTS(F) template <class T> void F(const LocalTensor<T>&, const LocalTensor<T>&, int32_t, int32_t, int32_t, int32_t, int32_t);
PARTS(BlockReduceSum) PARTS(BlockReduceMax) PARTS(BlockReduceMin) PARTS(PairReduceSum)
template <class T> void Brcb(const LocalTensor<T>&, const LocalTensor<T>&, uint8_t, const BrcbRepeatParams&);
template <class T, class U> void Compare(const LocalTensor<U>&, const LocalTensor<T>&, const LocalTensor<T>&, CMPMODE, uint64_t, uint8_t,
                                         const BinaryRepeatParams&);
struct UnaryRepeatParams { UnaryRepeatParams(uint16_t, uint16_t, uint8_t, uint8_t); };
template <class T, class U> void Compares(const LocalTensor<U>&, const LocalTensor<T>&, const T, CMPMODE, uint64_t, uint8_t, const UnaryRepeatParams&);
template <class T, class U> void CompareScalar(const LocalTensor<U>&, const LocalTensor<T>&, const T, CMPMODE, uint64_t, uint8_t,
                                               const UnaryRepeatParams&);
template <class T, class U> void Select(const LocalTensor<T>&, const LocalTensor<U>&, const LocalTensor<T>&, const LocalTensor<T>&, SELMODE,
                                        uint64_t, uint8_t, const BinaryRepeatParams&);
template <class T> void Gather(const LocalTensor<T>&, const LocalTensor<T>&, const LocalTensor<uint32_t>&, uint32_t, uint32_t);
}
"""


@pytest.mark.skipif(shutil.which("clang++-19") is None, reason="clang++-19 is not there")
def test_the_texts_compile_as_the_manual_declares_them(tmp_path):
    lines = []
    for name in SPECIAL:
        elements, layouts, _ = case(name, random.Random(name))
        mode, scalar = "GE" if name.startswith("Compare") else "", 2 if name in ("Compares", "CompareScalar") else None
        made = vector(name, *(ub(x) for x in layouts), mode=mode, scalar=scalar, element=elements[-1])
        cpp = {"half": "half", "float": "float", "int16": "int16_t", "int32": "int32_t", "uint8": "uint8_t"}
        sides = zip(SPECIAL[name].operands, elements)
        told = " ".join(f"AscendC::LocalTensor<{cpp[e.name]}> {side};" for side, e in sides)
        lines += [f"{{ {told} AscendC::LocalTensor<uint32_t> srcOffset; {i.text} }}" for i in made]
    source = tmp_path / "forms.cpp"
    source.write_text(HEADER + "\n".join(["void kernel() {", *lines, "}", ""]))
    subprocess.run(["clang++-19", "-std=c++17", "-fsyntax-only", source], check=True)


def test_a_comparison_with_a_scalar():
    x = np.arange(64, dtype=np.float32)
    bits, t = ub(MakeLayout[uint8, RowMajor](1, 8), np.zeros(8, np.uint8)), ub(MakeLayout[float32, RowMajor](1, 64), x)
    (i,) = vector("Compares", bits, t, scalar=5, mode="LT")
    i.execute(bits.data, x)
    assert np.unpackbits(bits.data, bitorder="little").tolist() == [1] * 5 + [0] * 59
    assert i.text == (
        "AscendC::Compares(dst[0], src[0], static_cast<float>(5), AscendC::CMPMODE::LT, 64, 1, {1, 1, 8, 8});"
    )
    with pytest.raises(LeafTypeError, match="without a scalar"):
        vector("Compares", bits, t, mode="LT")
    with pytest.raises(LeafTypeError, match='write mode="LT"'):
        vector("Compares", bits, t, scalar=5)

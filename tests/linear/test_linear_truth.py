"""Triton's own answers: every row of operations, layouts and texts."""

import json
from collections import Counter

import pytest

from tla import TlaError
from tla.linear import LinearLayout, triton

import places
from gluon_layouts import made

DATA = places.DATA / "linear"
OPERATIONS = json.loads((DATA / "operations.json").read_text())
LAYOUTS = json.loads((DATA / "layouts.json").read_text())
TEXTS = json.loads((DATA / "texts.json").read_text())


def read(x):
    """A linear layout of the truth files; what is none stays."""
    if isinstance(x, dict) and {*x} == {"in", "out"}:
        return LinearLayout(
            {name: [tuple(v) for v in vectors] for name, vectors in x["in"]}, dict(map(tuple, x["out"]))
        )
    return x


def written(x):
    if isinstance(x, LinearLayout):
        return {
            "in": [[name, [[*v] for v in vectors]] for name, vectors in x.bases.items()],
            "out": [[*p] for p in x.out_dims.items()],
        }
    return x


def asked(op, args):
    first, *rest = map(read, args)
    if op == "from_bases":
        return LinearLayout.from_bases([(name, vectors) for name, vectors in first], *rest)
    if op in ("identity_1d", "strided_1d", "zeros_1d"):
        return getattr(LinearLayout, op)(first, *rest)
    if op == "mul":
        return first * rest[0]
    if op == "equal":
        return first == rest[0]
    if op == "apply":
        return [[point, first.apply(point)] for point in rest[0]]
    return getattr(first, op)(*rest)


@pytest.mark.parametrize("op", sorted({row["op"] for row in OPERATIONS}))
def test_every_operation(op):
    for row in (row for row in OPERATIONS if row["op"] == op):
        if "refused" in row:
            with pytest.raises(TlaError):
                asked(op, row["args"])
        else:
            assert written(asked(op, row["args"])) == row["result"], row


INPUTS = {
    "reg_bases": "register",
    "lane_bases": "lane",
    "warp_bases": "warp",
    "block_bases": "block",
    "offset_bases": "offset",
    "rows": "row",
    "cols": "col",
}


def test_every_layout():
    for row in LAYOUTS:
        if "refused" not in row:
            layout = made(row["layout"])
            told = ("3.8",) if isinstance(layout, triton.BlockedLayout) else ()
            bases = layout.linear(row["shape"], *told).bases
            for field, name in INPUTS.items():
                if field in row["result"]:
                    assert [[*v] for v in bases[name]] == row["result"][field], row


def test_refused_layouts():
    """What Triton refuses is refused, but what only its Python class, its printer or its missing conversion refuses."""
    answered = Counter()
    for row in (row for row in LAYOUTS if "refused" in row):
        try:
            made(row["layout"]).linear(row["shape"])
            answered[row["layout"]["class"], row["refused"][:24]] += 1
        except TlaError as error:
            assert error.reason.expected
            assert error.reason.fix
    assert answered == {
        (
            "SwizzledSharedLayout",
            "AssertionError: SharedLi",
        ): 2,  # of one element: Gluon's class has no layout without bases
        ("PaddedSharedLayout", "LinearLayoutConversions."): 6,  # no linear layout there; ours is that before padding
        ("DistributedLinearLayout", "orderPerDim cannot deter"): 2,  # the shape is its own: no order is needed
        ("DistributedLinearLayout", "error: In a generic line"): 2,
    }


def test_every_text():
    for row in TEXTS:
        layout = made(row["layout"])
        assert triton.to_text(layout) == row["text"]
        assert triton.from_text(row["text"]) == layout


def test_names_stand_for_layouts():
    mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>"
    operand = triton.from_text("#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>", {"mma": mma})
    assert operand.parent == triton.NVMMADistributedLayout([2, 0], [4, 1], [16, 8])
    old = (
        "#triton_gpu.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0], "
        "CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], CTAOrder = [1, 0]}>"
    )
    assert triton.from_text(old).cga_layout == ((1, 0),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the text ends"),
        ("#ttg.blocked", "is a name"),
        ("#ttg.nothing<{}>", "is not known"),
        ("#ttg.blocked<{order = [0]}>", "without sizePerThread"),
        (
            "#ttg.blocked<{sizePerThread = 1, threadsPerWarp = [1], warpsPerCTA = [1], order = [0]}>",
            "a list of integers",
        ),
        ("#ttg.slice<{dim = 0, parent = 3}>", "distributed layout"),
        ("#ttg.linear<{register = [[1], [2]}>", "unexpected"),
        ("#ttg.linear<{register = [[1]]}> x", "unexpected 'x'"),
        ("#ttg.slice<{dim = 0, parent = " * 50, "at most 64"),
        ("#ttg.linear<{register = " + "[" * 99, "at most 64"),
        ("#m", "is a name"),
        ("#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1, fp4padded = true>", "write fp4Padded"),
        ("#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 2, fp4Padded = true>", "col_stride 1"),
        ("#ttng.tensor_memory_scales_encoding<blockRepOrder = mnThen>", "unexpected 'mnThen'"),
        (
            "#ttg.partitioned_shared<{numPartitions = 2, numGroups = 1, partitionDim = 0, partitionLayout = 3}>",
            "layout of shared memory",
        ),
        (
            "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0], bogus = 3}>",
            "attribute bogus is not known",
        ),
        (
            "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, fp4padded = true}>",
            "write fp4Padded",
        ),
        (
            "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], kPack = 2}>",
            "attribute kPack is not known",
        ),
        ("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, oder = [1, 0]}>", "write order for oder"),
        ("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], vec = 4}>", "vec is given twice"),
    ],
)
def test_wrong_texts(text, says):
    with pytest.raises(TlaError, match=says):
        triton.from_text(text)


def test_a_name_does_not_stand_for_itself():
    with pytest.raises(TlaError, match="is a name"):
        triton.from_text("#a", {"a": "#b", "b": "#a"})

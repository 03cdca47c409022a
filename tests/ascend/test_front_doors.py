"""Every public function of tla.ascend with each of its arguments replaced by what it is not: it has an answer, or refuses
with one of the library's own errors."""

import functools
import random

import numpy as np
import pytest

from tla import GetTile, MakeLayout, MakeTensor, ascend, dim, dims
from tla.ascend import (
    L0C,
    AtlasA2,
    ColumnMajor,
    Computed,
    Copied,
    DynamicGemmIdentityBlockSwizzle,
    GemmIdentityBlockSwizzle,
    IsNeedPadding,
    Product,
    RowMajor,
    block,
    check,
    conv_block,
    densify,
    epilogue,
    fits,
    float32,
    grouped,
    half,
    int8,
    mmad,
    nZ,
    plan,
    recognize,
    tags_at,
    transfer,
    vector,
    zN,
    zZ,
)
from tla.ascend.programs import matmul
from tla.core.errors import LeafTypeError, RangeError, TlaError
from tla.kernels import AscendKernel

from night import amount, some


def at(layout, place):
    return MakeTensor(None, layout, position=place)


M, ROWS = dim("M", at_most=4096), MakeLayout[half, RowMajor](16, 16)
GM, L1, UB = at(ROWS, "GM"), at(MakeLayout[half, zN](16, 16), "L1"), at(MakeLayout[float32, RowMajor](16, 64), "UB")
L0 = [
    at(x, p)
    for x, p in (
        (MakeLayout[half, zZ](16, 16), "L0A"),
        (MakeLayout[half, nZ](16, 16), "L0B"),
        (L0C(16, 16).layout, "L0C"),
    )
]
#: Deeper than Python writes.
DEEP = functools.reduce(lambda x, _: (x,), range(15_000), ())
WRONG = [
    None,
    "x",
    "",
    1.5,
    -1,
    0,
    10**30,
    M,
    (),
    (1,),
    (None, None),
    (half, "b"),
    [1, 2],
    {},
    {"A": 1},
    object(),
    True,
    b"x",
]
WRONG += [
    ROWS,
    GM,
    half,
    RowMajor,
    AtlasA2,
    np.array([1, 2]),
    np.nan,
    len,
    M < 3,
    (M, M, M),
    (16, 16, 16),
    ((1, 2), 3),
    int,
]
WRONG += [slice(None), 1j, DEEP]
TILES, SIZES = ((32, 32, 32), (32, 32, 32)), (32, 32, 32)
KNOWN, ANY = block(SIZES, *TILES), block(dims("M N K", at_most=2**20), *TILES)
X, IMAGES = np.ones((32, 32)), ((1, 16, 1, 8, 8), (16, 1, 3, 3), (4, 6, 16))
BESIDE = "a b c bias stages unit_flag quant scale relu swizzle cores splitkFactor scales sparse split padding activation d ub".split()
SWIZZLES = [
    x for name, x in vars(ascend).items() if name.endswith(("BlockSwizzle", "BlockSwizzleL1FullLoad", "TileSwizzle"))
]
SWIZZLES = [x for x in SWIZZLES if not isinstance(x, type)]
TENSORS = {"A": (4096, half, ROWS)}
#: A function, arguments that it takes, and the names of what else may be given.
DOORS = [
    (block, (SIZES, *TILES), ["arch", *BESIDE]),
    (block, (dims("M N K"), *TILES), ["arch", *BESIDE]),
    (lambda x: block((32, x, 32), *TILES), (32,), []),
    (lambda x: block(SIZES, *TILES, stages={"L1": x}), (2,), []),
    (lambda x: block(SIZES, *TILES, padding={"A": x}), ("PADDING_ND",), []),
    (lambda x, y: block(SIZES, *TILES, a=(x, y)), (half, RowMajor), []),
    (conv_block, IMAGES, ["arch", "stride", "dilation", "padding", "bias", "stages", "cores", "swizzle", "element"]),
    (epilogue, ("gelu", (32, 32), (16, 32)), ["arch", "element", "to", "cores"]),
    (epilogue("relu", (32, 32), (16, 32)).execute, (X,), []),
    (transfer(at(MakeLayout[half, RowMajor](M, 16), "GM"), at(MakeLayout[half, zN](M, 16), "L1")).at, ({"M": 8},), ["M"]),
    (lambda *x: block(SIZES, *TILES, activation="relu", relu=x[0]), (False,), []),
    (plan, (SIZES,), ["arch", "cores", "rates", *BESIDE]),
    (KNOWN.execute, (X, X), ["bias", "scales", "before", "scale"]),
    (KNOWN.check, (0,), []),
    (KNOWN.timeline, (0, None), []),
    (KNOWN.estimate, (None,), []),
    (KNOWN.text, ("ascendc", "name"), []),
    (ANY.execute, (X, X), ["bias", "scales", "before", "scale"]),
    (ANY.at, ({"M": 1, "N": 2, "K": 3},), ["M"]),
    (ANY.text, ("ascendc", "name"), []),
    (AscendKernel, (KNOWN,), []),
    (AscendKernel(KNOWN).run, (X, X, np.zeros((32, 32), np.float16)), []),
    (lambda *x, **more: check([], *x, **more), (TENSORS, []), ["arch", "values"]),
    (lambda x: check([x], TENSORS, []), ("",), []),
    (lambda *x: check([], {"A": x}, []), TENSORS["A"], []),
    (lambda x: check([], TENSORS, [x]), (Product("A", "A", "A"),), []),
    (lambda *x: check([], TENSORS, [Product(*x)]), ("A", "A", "A"), []),
    (lambda *x: check([], TENSORS, [Copied(*x)]), ("A", "A"), []),
    (lambda x, y: check([], TENSORS, [Computed(x, lambda *_: np.zeros((16, 16)), y)]), ("A", ("A",)), []),
    (transfer, (GM, L1), ["arch", "element", "quant", "accumulator", "relu", "conv", "tag", "pad", "split", "index"]),
    (transfer, (L0[2], GM), ["arch", "element", "quant", "accumulator", "relu", "conv", "tag", "pad", "split", "index"]),
    (mmad, tuple(L0), ["arch", "element", "init", "bias", "unit_flag", "vector", "scaled", "sparse"]),
    (vector, ("Add", UB, UB, UB), ["arch", "element", "scalar", "mode"]),
    (lambda x, y: vector("Gather", x, y, element=float32), (UB, UB), []),
    (vector("Add", UB, UB, UB, element=float32)[0].banks, (0, 0, 0), ["arch"]),
    (IsNeedPadding, (RowMajor(100, 100), 256), []),
    (densify, (np.zeros((8, 2)),), []),
    (recognize, (ROWS, half), []),
    (tags_at, ("L1", AtlasA2), []),
    (fits, ({"L1": [(ROWS, half)]}, AtlasA2, {"L1": 2}), []),
    (lambda x, y: fits({"L1": [(x, y)]}), (ROWS, half), []),
    (grouped, ([(100, 100, 100)], SIZES), ["cores", "swizzle"]),
    (lambda x: DynamicGemmIdentityBlockSwizzle[x], (1,), []),
    (lambda x, y: GemmIdentityBlockSwizzle[x, y], (3, 0), []),
    (MakeTensor, (None, ROWS, "GM"), ["offset", "alignment"]),
    (lambda *x: MakeTensor[half](*x), (None, ROWS, "GM"), []),
    (lambda *x: MakeTensor[np.float32](*x), (ROWS, "GM"), []),
    (GetTile, (GM, (0, 0), (1, 1)), []),
    *((tag.MakeLayout, (half, 16, 16), []) for tag in vars(ascend).values() if isinstance(tag, ascend.Tag)),
    *((swizzle, ((100, 100, 100), SIZES), ["cores"]) for swizzle in SWIZZLES),
]  # fmt: skip


def calls():
    """Every door with one of its arguments wrong."""
    for door, given, names in DOORS:
        for x in WRONG:
            yield from ((door, (*given[:i], x, *given[i + 1 :]), {}) for i in range(len(given)))
            yield from ((door, given, {name: x}) for name in names)


def test_what_is_no_argument_is_taken_or_refused_with_one_error():
    every = [*calls()]
    with pytest.raises(RecursionError):
        repr(DEEP)
    for door, given, more in random.Random(36).sample(every, amount(1200, len(every))):
        try:
            door(*given, **more)
        except TlaError as error:
            assert error.reason.expected and error.reason.fix  # noqa: PT018


@pytest.mark.parametrize(
    ("door", "error", "text"),
    [
        (lambda: MakeTensor[half](None, ROWS, "GM"), LeafTypeError, r"write MakeTensor\(buffer, layout, position\)"),
        (lambda: DynamicGemmIdentityBlockSwizzle[3, 0], LeafTypeError, "in parentheses: they are told at run time"),
        (lambda: block(SIZES, *TILES, quant=np.ones(2)), LeafTypeError, 'write quant="PER_TENSOR"'),
        (lambda: block(SIZES, *TILES, sparse=np.ones(2)), LeafTypeError, "write sparse=True"),
        (lambda: block(SIZES, *TILES, split=np.ones(2)), LeafTypeError, "None, or one of NO_SPLIT"),
        (lambda: block(SIZES, *TILES, padding=np.ones(2)), LeafTypeError, "a way for A, for B, or for both"),
        (lambda: transfer(GM, L1, element=half, tag=np.ones(2)), LeafTypeError, "leave out tag="),
        (lambda: mmad(*L0, element=()), LeafTypeError, "for an element type"),
        (lambda: mmad(*L0, element=half, unit_flag=np.ones(2)), RangeError, "0, 2 or 3"),
        (lambda: vector("Add", UB, UB, UB, element=(None,) * 3), LeafTypeError, "of tensors without buffers"),
        (lambda: vector("Add", UB, UB, UB, element=(float32,)), LeafTypeError, "for an element type"),
        (lambda: vector("Add", UB, UB, UB, element=float32, mode=np.ones(2)), LeafTypeError, "mode= of Compare, or"),
        (lambda: vector("Add", UB, UB, UB, element=float32)[0].banks(0, 10**9, 0), RangeError, "0 to 196607"),
        (lambda: ANY.at(3), LeafTypeError, "values by the names of sizes"),
        (lambda: check([1], TENSORS, []), LeafTypeError, "lines of text"),
        (lambda: check([], TENSORS, [Product("A", None, "A")]), LeafTypeError, "tensors by their names"),
        (lambda: check([], TENSORS, [Computed("A", np.positive, "A")]), LeafTypeError, "sources in a tuple"),
    ],
)
def test_each_door_says_what_it_takes(door, error, text):
    with pytest.raises(error, match=text):
        door()


#: Words of C++, of AscendC, of what stands in a text, and of nothing.
NAMES = "int half extern AscendC GM_ADDR PIPE_M C A_gm L1 l1A p smaller kernel_main".split()
FREE = "rows K2 bias".split()


@pytest.mark.parametrize("name", ["", ".", "x" * 5000, "no such file", __file__.replace(".py", ".none")])
def test_a_log_that_is_no_file_is_refused(name):
    with pytest.raises(LeafTypeError, match=r"the log .*\n.*a file of lines of JSON"):
        check(name, TENSORS, [])


def test_a_size_is_named_as_nothing_else_in_a_text():
    """One that has the name of something else is refused: what is written compiles, whatever sizes are called."""
    for name in some(NAMES, 4):
        with pytest.raises((LeafTypeError, RangeError), match=f"a size named {name}"):
            block((dim(name), *dims("N K")), (32, 64, 64), (32, 64, 32)).text()
    for name in some(FREE, 3):
        assert f"int64_t {name}," in block((dim(name), *dims("N K")), (32, 64, 64), (32, 64, 32)).text()
    several = epilogue("relu", (32, 32), (16, 32)), conv_block(*IMAGES)
    for made in (KNOWN, block(dims("M N K"), (32, 32, 32), (32, 32, 32)), *several):
        for name in ("int", "namespace", "größe"):
            with pytest.raises(RangeError, match="a kernel named"):
                made.text(name=name)


def test_infinities_are_numbers_of_a_product():
    """They go on as in numpy, and warn of nothing: warnings are errors here."""
    x, y = np.full((20, 30), np.inf), np.ones((30, 10))
    made = block((20, 10, 30), (32, 64, 64), (32, 64, 32), c=float32)
    assert (made.execute(x, y) == np.inf).all()
    assert np.isnan(made.execute(x, np.zeros((30, 10)))).all()
    scaled = block((20, 10, 30), (32, 64, 64), (32, 64, 64), a=int8, b=(int8, ColumnMajor), quant="PER_CHANNEL")
    assert np.isnan(scaled.execute(np.zeros((20, 30)), y, scale=np.full(10, np.inf))).all()


def test_cores_without_a_block_cost_nothing(monkeypatch):
    made, count = block((70, 90, 130), (32, 64, 64), (32, 64, 32), cores=50_000), []
    check = matmul.check_program
    monkeypatch.setattr(matmul, "check_program", lambda *x: count.append(x) or check(*x))
    report = made.check()
    assert report.holds
    assert len(count) == 7  # six blocks, and a core without
    alone = block((70, 90, 130), (32, 64, 64), (32, 64, 32), cores=6).check().counts["events"]
    idle = made.check(49_999).counts["events"]
    assert report.counts["events"] == alone + idle * (50_000 - 6)
    assert (made.execute(np.ones((70, 130)), np.ones((130, 90))) == 130).all()

"""The answers of CATLASS's TLA headers: equal, and at least as static; or a row of docs/differences.md.

The legacy tags are in test_truth_legacy.py.
"""

import operator
import re
from collections import Counter

import numpy as np
import pytest

import tla
from tla import GetTileLayout, MakeLayout, MakeLayoutTile, ascend, crd2offset, offsets, parse
from tla.ascend import half

from truth import agrees, answer, element, rows

ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.floordiv, "mod": operator.mod, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift, "eq": operator.eq, "lt": operator.lt,
    "ge": operator.ge, "neg": operator.neg, "pos": operator.pos, "inv": operator.invert, "not": lambda n: not n,
}  # fmt: skip


def layout(args):
    return parse(args["layout"], origin_shape=parse(args["originShape"]) if "originShape" in args else None)


def at(f, x, args):
    return f[tuple(args["I"])](x) if args.get("I") else f(x)


def spread(f):
    return lambda args: f(*map(parse, args.values()))


def plus(a, b):
    return tuple(map(plus, a, b)) if isinstance(a, tuple) else tla.add(a, b)


def coordinate(text):
    """A coordinate, with `_` where it is open."""
    return tuple(tla._ if c == "_" else parse(c) for c in text.strip("()").split(","))


def tag(args):
    return getattr(ascend, args["tag"])


def from_tag(a):
    dims = [a["len"]] if "len" in a else [a["rows"], a["cols"]]
    made = ascend.L0C if "maker" in a else tag(a)
    return tla.MakeLayoutFromTag(made[element(a)](*dims, **({"ld": a["ldm"]} if "ldm" in a else {})))


def tensor(a):
    """The tensor of a row: without a buffer, so that its elements are offsets."""
    return tla.MakeTensor(None, layout(a), parse(a["tensor_coord"]) if "tensor_coord" in a else None)


def like(a):
    """MakeTensorLike of a tile; `base` is the text of the layout that has room for it."""
    tile = tla.GetTile(tensor(a), parse(a["like_coord"]), parse(a["like_tile"]))
    sizes = map(int, re.findall(r"[0-9]+", a["base"].split("(")[1])) if "base" in a else None
    return tla.MakeTensorLike[tag(a), element(a)](None, tile, layout=sizes and MakeLayout[element(a), tag(a)](*sizes))


def type_of(a):
    """TagToLayout: the layout of sizes that are not known, 0 in these rows."""
    if a["tag"] in ("zZ", "nN") and a.get("element") == "fp8_e8m0":
        return tla.MakeMxScaleLayout[element(a), tag(a), False](64, 64)
    return MakeLayout[element(a), tag(a)](*[64] * {"VectorLayout": 1, "NC1HWC0": 4, "CI1KHKWCOCI0": 4}.get(a["tag"], 2))


def crd2offset_of(a):
    of = (parse(a["shape"]), parse(a["stride"])) if "shape" in a else (layout(a).shape, layout(a).stride)
    return crd2offset(parse(a["coord"]), *of)


def sliced(a):
    """What slice_and_offset leaves open, and the offset, where the coordinates of a view start elsewhere."""
    coord, start = coordinate(a["coord"]), parse(a["base_coord"])
    rest, _offset = tla.slice_and_offset(coord, layout(a))
    return rest, layout(a)(*(b if c is tla._ else b + c for b, c in zip(start, coord)))


OPERATIONS = {
    "MakeLayout": lambda a: MakeLayout(parse(a["shape"]), parse(a["stride"]), parse(a["originShape"]) if "originShape" in a else None),
    "Layout.default": lambda a: OPERATIONS["MakeLayout"](a),
    "MakeLayout.vector": lambda a: MakeLayout(parse(a["len"])),
    "MakeLayout.tag": lambda a: MakeLayout[element(a), tag(a)](parse(a["rows"]), parse(a["cols"])),
    "MakeLayoutL0C": lambda a: tla.MakeLayoutL0C(parse(a["rows"]), parse(a["cols"])),
    "MakeLayoutFromTag": from_tag,
    "MakeMxScaleLayout": lambda a: tla.MakeMxScaleLayout[element(a), tag(a), a["isMxScaleB"]](parse(a["rows"]), parse(a["cols"])),
    "MakeLayoutFmap": lambda a: tla.MakeLayoutFmap[element(a)](*(parse(a[k]) for k in ("batch", "cin1", "h", "w"))),
    "MakeLayoutFilter": lambda a: tla.MakeLayoutFilter[element(a), a["position"].removeprefix("Position")](
        *(parse(a[k]) for k in ("cin1", "kh", "kw", "cout"))
    ),
    "TagToLayout": type_of,
    "PrependDimLayout_t": lambda a: tla.MakeBatchedLayout(layout(a), 3, 7168),
    "MakeLayoutTile": lambda a: MakeLayoutTile(layout(a), parse(a["tile"])),
    "GetTileLayout": lambda a: GetTileLayout(layout(a), parse(a["tile"]), parse(a["coord"])),
    "GetTile": lambda a: tla.GetTile(tensor(a), parse(a["coord"]), parse(a["tile"])),
    "TileView": lambda a: tla.TileView(tensor(a), parse(a["tile_coord"]), parse(a["tile"])),
    "Tensor()": lambda a: tensor(a)[coordinate(a["coord"])],
    "MakeTensorLike": like,
    "MakeTensorLike.base": like,
    "crd2offset": crd2offset_of,
    "layout()": lambda a: layout(a)(parse(a["coord"])),
    "crd2idx": lambda a: layout(a)(parse(a["coord"])),
    "get": lambda a: at(tla.get, parse(a["t"]), a),
    "rank": lambda a: at(tla.rank, parse(a["t"]), a),
    "depth": lambda a: at(tla.depth, parse(a["t"]), a),
    "layout.rank": lambda a: at(tla.rank, layout(a), a),
    "layout.depth": lambda a: at(tla.depth, layout(a), a),
    "shape": lambda a: at(tla.shape, layout(a), a),
    "stride": lambda a: at(tla.stride, layout(a), a),
    "originShape": lambda a: at(tla.get, layout(a).origin_shape, a),
    "Product": spread(tla.product),
    "product_each": spread(tla.product_each),
    "RoundUp": spread(tla.round_up),
    "RoundDown": spread(lambda a, b: a // b * b),
    "CeilDiv": spread(tla.ceil_div),
    "is_static": spread(tla.is_static),
    "is_constant": lambda a: tla.is_constant(a["n"], parse(a["x"])),
    "max": spread(tla.max),
    "min": spread(tla.min),
    "tuple_max": spread(tla.max),
    "add": spread(tla.add),
    "Add": spread(plus),
    "MakeZeroTuple": lambda a: (tla._0,) * a["n"],
    **{f"arith.{name}": spread(f) for name, f in ARITHMETIC.items()},
    "v2.make_layout.tag": lambda a: MakeLayout[element(a), tag(a)](parse(a["shape"])),
    "v2.make_layout.tag_batched": lambda a: MakeLayout[element(a), tag(a)](parse(a["inner"]), parse(a["outer"])),
    "v2.make_layout": spread(MakeLayout),
    "v2.make_ordered_layout": spread(tla.MakeOrderedLayout),
    "v2.cosize": lambda a: tla.cosize(MakeLayout(parse(a["shape"]))),
    "v2.flatten_to_tuple": spread(tla.flatten),
    **{f"v2.{name}": spread(getattr(tla, name)) for name in """compact_col_major compact_row_major compact_order
    product_each size ceil_div     round_up idx2crd crd2idx crd2offset""".split()},
}  # fmt: skip

# What we answer where C++ truncates, wraps at 32 bits, or takes a tuple for a length; docs/differences.md says why.
DIFFERENT = {
    ("arith.div", "_7", "_-2"): "_-4",
    ("arith.div", "_-1", "_4"): "_-1",
    ("arith.mod", "_-1", "_4"): "_3",
    ("arith.mod", "_7", "_-2"): "_-1",
    ("crd2offset", "_-6"): "-21",
    ("crd2offset", "(69999,69999)"): "4899999999",
    ("MakeLayout.vector", "(4,8)"): "(4,8):(_1,4)",
    ("GetTileLayout", "(-1,0)"): "RangeError",
    # rows of int4b are whole bytes on the branch, and are not on master; ld=8 and ld=128 say so
    ("v2.make_layout.tag", "RowMajor", "(33,_7)", "int4b"): "(33,_7):(_7,_1)",
    ("v2.make_layout.tag", "ColumnMajor", "(127,129)", "int4b"): "(127,129):(_1,127)",
}


def key(row):
    op, args = row["op"], row["args"]
    if op in ("crd2offset", "GetTileLayout"):
        return op, args["coord"]
    return (op, *map(str, args.values()), *([row["element"]] if op == "v2.make_layout.tag" else []))


def check(row):
    """Assert what a row says; whether it says something else than C++."""
    op, args, result = (
        row["op"],
        {**row["args"], **({"element": row["element"]} if "element" in row else {})},
        row["result"],
    )
    if different := DIFFERENT.get(key(row)):
        assert answer(OPERATIONS[op], args) == different, row
    elif op == "table":  # of the valid part: rows and columns as numbers
        table = offsets(layout(args))
        assert table[tuple(slice(len(x)) for x in (result, result[0]))].tolist() == result, row
    elif op == "slice_and_offset":
        rest, offset = sliced(args)
        same_layout(row, rest, result["slice"])
        assert offset == result["offset"]
    elif "tensor" in result:
        made = OPERATIONS[op](args)
        same_layout(row, made.layout, result["tensor"])
        assert agrees(str(made.coord), result["coord"]), row
        assert made.offset == result["data_offset"], row
    elif op == "predicates":
        predicates(row, args, result)
    elif "layout" in result:
        same_layout(row, OPERATIONS[op](args), result)
    else:
        assert agrees(answer(OPERATIONS[op], args), result["value"]), (row, answer(OPERATIONS[op], args))
    return bool(different)


def same_layout(row, made, result):
    if row["op"] in ("TagToLayout", "PrependDimLayout_t"):  # types, in which dynamic integers are 0
        mine, theirs = (re.sub(r"(?<![_0-9])-?[0-9]+", "0", text) for text in (str(made), result["layout"]))
        assert len(made.origin_shape) == len(parse(result["originShape"]))
    elif row.get("quirk") == "default-origin-zero":  # ours is the product of each mode
        assert made.origin_shape == tla.product_each(made.shape)
        mine, theirs = str(made), result["layout"]
    else:
        mine, theirs = str(made), result["layout"]
        assert agrees(str(made.origin_shape), result.get("originShape", str(made.origin_shape))), (
            row,
            made.origin_shape,
        )
    assert agrees(mine, theirs), (row, made)


# What C++ does not see, or takes for another: dynamic unit strides, scales of one pair, zZ and nN of scales.
RECOGNISED = {
    ("2x3 row-major, dynamic strides", "isRowMajor"): True,
    ("MX A RowMajor with static cols 2", "isMxScaleForRowMajorA"): True,
    ("MakeMxScaleLayout<fp8_e8m0,zZ,false>(100,70)", "isMxScaleFornN"): False,
    ("MakeMxScaleLayout<fp8_e8m0,nN,false>(100,70)", "isMxScaleForzZ"): False,
    ("tile of zNUnAlign", "iszNUnAlign"): True,
    ("MakeLayoutFromTag(nZ::MakeLayout<half>(100,60))", "isnZ"): True,
    ("MakeLayoutFromTag(zN::MakeLayout<half>(100,60))", "iszN"): True,
}


def predicates(row, args, result):
    for name, theirs in result.items():
        mine = getattr(ascend, name)[element(args)](layout(args))
        assert mine is RECOGNISED.get((args["built_by"], name), theirs), (row, name, mine)


def test_accepted():
    seen = Counter(row["op"] for row in rows("tla/accepted.json"))
    assert seen.total() == 1920
    different = [key(row) for row in rows("tla/accepted.json") if not row["op"].startswith("legacy.") and check(row)]
    assert len(different) == 8


def test_v2():
    assert sum(map(check, rows("tla/tla_v2.json"))) == 2


# ---------------------------------------------------------------------------------------------- what compiles

ROWS = MakeLayout[half, ascend.RowMajor](100, 100)
FRACTAL = MakeLayout[half, ascend.zN](100, 100)
BATCH = tla.MakeBatchedLayout(MakeLayout[half, ascend.zN](100, 60), 2, 7168)
VECTOR = parse("((_16,7)):((_1,_32))")
VOLUME = parse("(4,10,12):(120,12,_1)")
TENSOR = tla.MakeTensor(None, ROWS)
DEEP = parse("((_2,(_3,_4)),(5,6)):((_1,(_2,_6)),(24,120))")

# What each topic is here. A name of an error: refused.
TOPICS = {
    "variadic max of 3 integers": (lambda: tla.max(tla._3, 5, tla.Int[9]()), "9"),
    "variadic min of 3 integers": (lambda: tla.min(tla._3, 5, tla.Int[9]()), "3"),
    "Int == Int is static": (lambda: tla._3 == tla.Int[3](), "true"),
    "depth of empty tuple": (lambda: tla.depth(()), "_1"),
    "rank of empty tuple": (lambda: tla.rank(()), "_0"),
    "get<0> of an integer": (lambda: tla.get[0](5), "5"),
    "get<1> of an integer": (lambda: tla.get[1](5), "RankError"),
    "get out of range": (lambda: tla.get[2](tla.MakeShape(1, 2)), "RankError"),
    "doc: literal alias _128": (lambda: tla._128, "_128"),
    "doc: literal alias _4": (lambda: tla._4, "_4"),
    "doc: make_tuple": (lambda: tla.IntTuple(2, tla._3), "(2,_3)"),
    "doc: get<I>(Layout)": (lambda: tla.get[0](FRACTAL), "(_16,7):(_16,_256)"),
    "tuple == tuple": (lambda: tla.MakeShape(1, 2) == tla.MakeShape(1, 2), "true"),
    "flatten(tuple)": (lambda: tla.flatten(((1, 2), 3)), "(1,2,3)"),
    "idx2crd": (lambda: tla.idx2crd(5, (2, 3)), "(1,2)"),
    "iszN<half, zN layout>": (lambda: ascend.iszN[half](FRACTAL), "true"),
    "isnN predicate": (lambda: ascend.isnN[half](FRACTAL), "false"),
    "iszZ<fp8_e8m0, MX scale B layout>": (
        lambda: ascend.iszZ[ascend.fp8_e8m0](tla.MakeMxScaleLayout[ascend.fp8_e8m0, ascend.RowMajor, True](100, 70)),
        "false",
    ),
    "layout(integer) on nested": (lambda: FRACTAL(37), str(37 % 16 * 16 + 37 // 16 * 256)),
    "layout(i, j), two arguments": (lambda: ROWS(1, 2), "102"),
    "layout(_ , j), underscore": (lambda: ROWS((tla._, 2)), "LeafTypeError"),
    "crd2offset rank mismatch": (lambda: crd2offset((1, 2, 3), ROWS.shape, ROWS.stride), "RankError"),
    "crd2offset of a 1-tuple on rank 2": (lambda: crd2offset((5,), ROWS.shape, ROWS.stride), "RankError"),
    "crd2offset coordinate deeper than shape": (lambda: crd2offset(((1, 1), 2), ROWS.shape, ROWS.stride), "RankError"),
    "Layout == Layout": (lambda: FRACTAL == MakeLayout[half, ascend.zN](100, 100), "true"),
    "MakeLayout(shape) one tuple argument": (lambda: MakeLayout((4, 8)), "(4,8):(_1,4)"),
    "MakeLayout(shape, stride) of different nesting": (lambda: MakeLayout(((4, 2), 8), (8, 1)), "RankError"),
    "MakeLayout(shape, stride) of different rank": (lambda: MakeLayout((4, 8), (8,)), "RankError"),
    "MakeLayout(shape, stride, originShape) of different rank": (
        lambda: MakeLayout((4, 8), (8, 1), (32,)),
        "RankError",
    ),
    "MakeLayout<E, VectorLayout>(len), one argument": (lambda: MakeLayout[half, ascend.VectorLayout](16), "(16):(_1)"),
    "MakeLayout<E, L0C>": (lambda: MakeLayout[half, ascend.L0C](16, 16), "((_16,1),(_16,1)):((_16,_256),(_1,256))"),
    "MakeLayout<E, nN>": (lambda: MakeLayout[half, ascend.nN](16, 16), "((_16,1),(_16,1)):((_1,_256),(_16,256))"),
    "MakeLayout<E, Weight4BitnZ>": (
        lambda: MakeLayout[half, ascend.Weight4BitnZ](16, 16),
        "((_32,1),(_16,1)):((_1,512),(_32,_512))",
    ),
    "MakeLayout<E, PaddingRowMajor>": (lambda: MakeLayout[half, ascend.PaddingRowMajor](16, 16), "RankError"),
    "make_layout<RowMajor>(rank-3 shape)": (lambda: MakeLayout[half, ascend.RowMajor]((2, 3, 4)), "RankError"),
    "MakeLayoutFromTag(zZ)": (
        lambda: tla.MakeLayoutFromTag(ascend.zZ[half](32, 32)),
        "((_16,2),(_16,2)):((_16,512),(_1,_256))",
    ),
    "MakeLayoutFromTag(nN)": (
        lambda: tla.MakeLayoutFromTag(ascend.nN[half](32, 32)),
        "((_16,2),(_16,2)):((_1,_256),(_16,512))",
    ),
    "MakeLayoutFromTag(PaddingRowMajor)": (
        lambda: tla.MakeLayoutFromTag(ascend.PaddingRowMajor(32, 32, 16, 16)),
        "((16,2),(16,2)):((16,512),(_1,256))",
    ),
    "MakeMxScaleLayout of half": (
        lambda: tla.MakeMxScaleLayout[half, ascend.RowMajor, False](100, 70),
        "LeafTypeError",
    ),
    "MakeMxScaleLayout zN": (
        lambda: tla.MakeMxScaleLayout[ascend.fp8_e8m0, ascend.zN, False](100, 70),
        "LeafTypeError",
    ),
    "MakeLayoutTile rank 3": (lambda: MakeLayoutTile(parse("(4,10,12):(120,12,_1)"), (1, 2, 3)), "(1,2,3):(120,12,_1)"),
    "GetTileLayout integer tile": (lambda: GetTileLayout(MakeLayout(100), 16, (0,)), "RankError"),
    "GetTileLayout nested tile shape": (lambda: GetTileLayout(FRACTAL, ((16, 1), (16, 2)), (0, 0)), "RankError"),
    "GetTileLayout rank mismatch, depth 1": (lambda: GetTileLayout(ROWS, (16, 16, 1), (0, 0, 0)), "RankError"),
    "GetTileLayout of a batched fractal (rank 3, depth 2)": (
        lambda: GetTileLayout(BATCH, (1, 16, 16), (0, 0, 0)),
        "(1,(_16,1),(_16,1)):(7168,(_16,_256),(_1,1792))",
    ),
    "GetTileLayout of a blocked vector (rank 1, depth 2)": (
        lambda: GetTileLayout(VECTOR, (16,), (0,)),
        "((_16,1)):((_1,_32))",
    ),
    "GetTileLayout of a 3-level mode": (
        lambda: GetTileLayout(DEEP, (6, 10), (0, 0)),
        "((_2,(_3,1)),(5,2)):((_1,(_2,_6)),(24,120))",
    ),
    "...and then indexing that tile": (lambda: GetTileLayout(DEEP, (6, 10), (0, 0))(1, 1), "25"),
    "slice_and_offset without underscore": (lambda: tla.slice_and_offset((1, 2), ROWS)[1], "102"),
    "size(layout)": (lambda: tla.size(FRACTAL), "12544"),
    "cosize(layout)": (lambda: tla.cosize(FRACTAL), "12544"),
    "coalesce(layout)": (lambda: tla.coalesce(MakeLayout((tla._4, tla._2))), "_8:_1"),
    "composition(a, b)": (lambda: tla.composition(parse("(_4,_8):(_8,_1)"), parse("_4:_1")), "_4:_8"),
    "complement / logical_divide": (lambda: tla.complement(parse("_4:_1"), tla._8), "_2:_4"),
    "Tensor(c) wrong rank": (lambda: TENSOR[1, 2, 3], "RankError"),
    "Tensor(i) on rank 1": (lambda: tla.MakeTensor(None, MakeLayout(100))[1], "1"),
    "Tensor(i) on rank 2": (lambda: TENSOR[1], "100"),  # CuTe's one-dimensional index: docs/differences.md
    "Tensor(nested coord)": (lambda: tla.MakeTensor(None, FRACTAL)[(1, 0), 2], "18"),
    "GetTile of a sliced tensor": (
        lambda: tla.GetTile(tla.MakeTensor(None, VOLUME)[1, tla._, tla._], (0, 0), (2, 2)).layout,
        "(2,2):(12,_1)",
    ),
    "MakeTensorLike rank 1": (
        lambda: tla.MakeTensorLike[ascend.VectorLayout, half](None, tla.MakeTensor(None, MakeLayout(100))).layout,
        "(100):(_1)",
    ),
    "MakeTensorLike rank 3": (
        lambda: tla.MakeTensorLike[ascend.RowMajor, half](None, tla.MakeTensor(None, VOLUME)).layout,
        "RankError",
    ),
    "MakeTensorLike other element without naming it": (
        lambda: (
            tla.MakeTensorLike[ascend.zN](
                np.zeros(112 * 104, np.float32), tla.MakeTensor(np.zeros(10000, np.float16), ROWS)
            ).layout
        ),
        "((_16,7),(_8,13)):((_8,_128),(_1,896))",
    ),
}


def test_what_compiles():
    topics = Counter(row["args"]["topic"] for row in rows("tla/compiles.json"))
    assert topics.total() == 110
    assert {*topics} == {*TOPICS}


@pytest.mark.parametrize("topic", TOPICS)
def test_topic(topic):
    ask, here = TOPICS[topic]
    assert answer(ask) == here

"""The answers of CATLASS's TLA headers, for the operations that tla has."""

import operator
from collections import Counter

import tla
from tla import MakeLayout, MakeLayoutTile, crd2offset, offsets, parse

from truth import agrees, answer, rows

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


OPERATIONS = {
    "MakeLayout": lambda a: MakeLayout(parse(a["shape"]), parse(a["stride"]), parse(a["originShape"]) if "originShape" in a else None),
    "MakeLayout.vector": lambda a: MakeLayout(parse(a["len"])),
    "MakeLayoutTile": lambda a: MakeLayoutTile(layout(a), parse(a["tile"])),
    "crd2offset": lambda a: crd2offset(parse(a["coord"]), *((parse(a["shape"]), parse(a["stride"])) if "shape" in a else parts(a))),
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
    "CeilDiv": spread(tla.ceil_div),
    "is_static": spread(tla.is_static),
    "max": spread(tla.max),
    "min": spread(tla.min),
    "tuple_max": spread(tla.max),
    "add": spread(tla.add),
    **{f"arith.{name}": spread(f) for name, f in ARITHMETIC.items()},
}

# What we answer where C++ truncates, wraps at 32 bits, or takes a tuple for a length; docs/differences.md says why.
DIFFERENT = {
    ("arith.div", "_7", "_-2"): "_-4",
    ("arith.div", "_-1", "_4"): "_-1",
    ("arith.mod", "_-1", "_4"): "_3",
    ("arith.mod", "_7", "_-2"): "_-1",
    ("crd2offset", "_-6"): "-21",
    ("crd2offset", "(69999,69999)"): "4899999999",
}


def parts(args):
    return layout(args).shape, layout(args).stride


def test_tla_accepted():
    seen, different = Counter(), 0
    for row in rows("tla/accepted.json"):
        op, args, result = row["op"], row["args"], row["result"]
        seen[op] += 1
        if op == "table":  # of the valid part: rows and columns as numbers
            table = offsets(layout(args))
            assert table[tuple(slice(len(x)) for x in (result, result[0]))].tolist() == result, row
        elif row.get("quirk") == "tuple-as-length":
            assert answer(OPERATIONS[op], args) == "(4,8):(_1,4)"  # compact, as CuTe has it
        elif "layout" in result:
            made = OPERATIONS[op](args)
            assert agrees(str(made), result["layout"]), (row, made)
            assert agrees(str(made.origin_shape), result.get("originShape", str(made.origin_shape))), (row, made)
        else:
            key = (op, args["coord"]) if op == "crd2offset" else (op, *map(str, args.values()))
            different += key in DIFFERENT
            truth = DIFFERENT.get(key, result["value"])
            assert agrees(answer(OPERATIONS[op], args), truth), (row, answer(OPERATIONS[op], args))
    assert seen["crd2offset"] == 235
    assert seen["MakeLayoutTile"] == 85
    assert different == len(DIFFERENT)
    assert seen.total() == 636

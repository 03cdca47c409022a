"""CuTe's own answers, for every operation that is not C++ plumbing.

ACCEPTED has, of each operation, how many of its rows agree, are refused, and differ; docs/differences.md has each class
of the last two. ANSWERED has how many of the rows that CuTe rejects are answered here, by the law.
"""

import operator
import re
from collections import Counter

import pytest

import tla
from tla import ArithmeticTuple, Layout, TlaError, parse

import laws
from laws import plain
from truth import agrees, answer, rows, text


def value(x):
    """An argument of the truth files: an integer stays, a list is a tuple of tilers, `_` may stand in a text."""
    if isinstance(x, list):
        return tuple(map(value, x))
    if isinstance(x, int) or x in INT_OPS:
        return x
    if x.startswith("Layout"):
        return getattr(tla, x)
    return read(x, 0)[0] if re.search(r"(?<![0-9A-Za-z])_(?![0-9-])", x) else parse(x)


def read(x, i):
    """A coordinate with `_`, and where it ends."""
    if x[i] != "(":
        found = re.match(r"_?-?[0-9]*", x[i:])[0]
        return tla._ if found == "_" else parse(found), i + len(found)
    out, i = [], i + 1
    while x[i] != ")":
        one, i = read(x, i + (x[i] == ","))
        out.append(one)
    return tuple(out), i + 1


def bracketed(f, count):
    """f[last arguments](x, the others): what C++ has as template arguments stands last in the rows."""
    return lambda *arguments: f[arguments[-count:]](*arguments[:-count])


def by_path(f):
    return lambda x, *path: f[path](x)


def extend(f):
    return lambda x, *more: (
        f[more[-1]](x, *more[:-1]) if isinstance(more[-1], int) and type(more[-1]) is int else f(x, *more)
    )


def coordinates(f):
    return lambda a, b: f(ArithmeticTuple(*a), ArithmeticTuple(*b) if isinstance(b, tuple) else b)


INT_OPS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
OTHER_NAMES = {
    "abs": abs,
    "append": extend(tla.append),
    "prepend": extend(tla.prepend),
    "call": lambda layout, coord: layout(coord),
    "ceil_div_layout": tla.ceil_div,
    "crd2idx": lambda coord, shape, *stride: (
        shape(coord) if isinstance(shape, Layout) else tla.crd2idx(coord, shape, *stride)
    ),
    "image": lambda layout: tla.offsets(layout).ravel(order="F").tolist(),
    "int_op": lambda a, op, b: INT_OPS[op](a, b),
    "layout_eq": operator.eq,
    "make_basis_like": tla.MakeBasisLike,
    "make_identity_layout": tla.MakeIdentityLayout,
    "make_layout": lambda shape, *stride: tla.MakeLayout(shape, *stride),
    "make_layout_concat": tla.MakeLayout,
    "make_layout_like": tla.MakeLayoutLike,
    "make_ordered_layout": tla.MakeOrderedLayout,
    "make_swizzle": lambda reads, changes: tla.MakeSwizzle[reads, changes](),
    "slice": tla.slice_,
    "swizzle_layout": tla.MakeLayout,
    "tuple_add": coordinates(operator.add),
    "tuple_sub": coordinates(operator.sub),
    **{name: by_path(getattr(tla, name)) for name in ("get", "select")},
    **{f"{name}_mode": by_path(getattr(tla, name)) for name in ("size", "rank", "depth", "cosize")},
    **{name: bracketed(getattr(tla, name), 1) for name in ("upcast", "downcast")},
    **{name: bracketed(getattr(tla, name), 2) for name in ("group", "take", "recast_layout")},
    "replace": lambda x, mode, i: tla.replace[i](x, mode),
}


def operation(name):
    return OTHER_NAMES.get(name) or getattr(tla, name)


def mine(row):
    try:
        arguments = [*map(value, row["args"])]
    except TlaError as error:  # a text that is no layout
        return type(error).__name__
    return answer(operation(row["op"]), *arguments)


def test_accepted():
    seen = {}
    for row in rows("cute/accepted.json"):
        count = seen.setdefault(row["op"], Counter())
        found = mine(row)
        truth = row["result"] if isinstance(row["result"], str) else str(row["result"])
        if found.endswith("Error") or found == "Unproven":
            count["refused"] += 1
        elif agrees(found, truth):
            assert row.get("post") is not False, row  # CuTe breaks its own contract there
            count["agree"] += 1
        else:
            count["differ"] += 1
    found = {op: (c["agree"], c["refused"], c["differ"]) for op, c in seen.items()}
    assert {op: c for op, c in found.items() if c[1:] != (0, 0)} == ACCEPTED
    assert [sum(c[k] for c in found.values()) for k in range(3)] == [5943, 207, 62]


# agree, refused, differ: where they are not all equal
ACCEPTED = {
    "blocked_product": (105, 3, 0),
    "compact_order": (46, 0, 3),
    "complement": (231, 2, 15),
    "composition": (640, 81, 2),
    "cosize": (38, 0, 1),
    "downcast": (49, 0, 1),
    "elem_geq": (7, 0, 1),
    "elem_leq": (4, 0, 4),
    "flat_divide": (153, 9, 0),
    "flat_product": (98, 1, 0),
    "int_op": (110, 0, 2),
    "left_inverse": (95, 1, 2),
    "evenly_divides": (71, 0, 1),
    "logical_divide": (211, 27, 0),
    "logical_product": (108, 1, 1),
    "make_layout": (118, 0, 1),
    "make_layout_like": (54, 0, 5),
    "make_ordered_layout": (45, 0, 1),
    "max_alignment": (27, 0, 1),
    "max_common_layout": (56, 1, 1),
    "max_common_vector": (57, 5, 0),
    "raked_product": (101, 4, 0),
    "recast_layout": (36, 6, 3),
    "right_inverse": (139, 0, 1),
    "safe_div": (5, 1, 0),
    "select": (56, 1, 0),
    "shape_div": (90, 17, 0),
    "slice_and_offset": (70, 0, 2),
    "swizzle_layout": (0, 0, 14),
    "tile_to_shape": (139, 11, 0),
    "tiled_divide": (143, 9, 0),
    "tiled_product": (99, 3, 0),
    "upcast": (51, 8, 0),
    "with_shape": (42, 7, 0),
    "zipped_divide": (141, 6, 0),
    "zipped_product": (97, 3, 0),
}


def test_rejected():
    answered = Counter(row["op"] for row in rows("cute/rejected.json") if not re.search("Error$|^Unproven$", mine(row)))
    assert answered == ANSWERED


ANSWERED = {
    "blocked_product": 4,
    "composition": 16,
    "downcast": 3,
    "evenly_divides": 13,
    "flat_divide": 31,
    "flat_product": 18,
    "left_inverse": 3,
    "logical_divide": 1,
    "logical_product": 9,
    "max_common_layout": 6,
    "max_common_vector": 3,
    "raked_product": 4,
    "slice": 6,
    "slice_and_offset": 1,
    "tile_to_shape": 5,
    "tiled_divide": 28,
    "tiled_product": 19,
    "upcast": 2,
    "zipped_divide": 29,
    "zipped_product": 20,
}


def lists(x):
    x = tla.core.basis.as_coordinate(x)
    return [*map(lists, x)] if isinstance(x, tuple) else x


def test_images():
    for row in rows("cute/images.json"):
        layout = parse(row["layout"])
        assert [lists(layout(i)) for i in range(int(tla.size(layout)))] == row["image"], row
        if isinstance(row["image"][0], int):
            assert tla.offsets(layout).ravel(order="F").tolist() == row["image"]


def test_quirks_have_a_right_answer():
    """Where C++ has no overload for a ComposedLayout and falls through to nonsense: what its MLIR tests expect."""
    for row in rows("cute/quirks.json"):
        swizzle, *rest = mine(row).partition(" o ")  # dynamic integers are ? there, and static ones bare
        swizzle, rest = (swizzle.replace("Sw", "S"), "".join(rest)) if "<" in swizzle else ("", mine(row))
        assert swizzle + re.sub(r"(?<![0-9_])[0-9]+", "?", rest).replace("_", "") == row["ir_expect"], row


def test_compositions_keep_the_law_and_where_cute_differs_it_does_not():
    for name in ("accepted", "rejected"):
        for row in rows(f"cute/{name}.json"):
            if row["op"] != "composition" or not all(
                isinstance(x, str) and re.fullmatch("[0-9_,():-]+", x) for x in row["args"]
            ):
                continue
            a, b = map(parse, row["args"])
            if not isinstance(b, Layout):
                continue
            try:
                r = tla.composition(a, b)
                laws.composes(plain(a), plain(b), plain(r))
                if name == "rejected" or agrees(str(r), row["result"]):
                    continue
            except TlaError:
                if name == "rejected":
                    continue
            with pytest.raises(AssertionError):
                laws.composes(plain(a), plain(b), plain(parse(row["result"])))


def test_the_comparison_sees_a_difference():
    assert agrees("(_4,2):(_1,4)", "(_4,2):(_1,4)")
    assert agrees("(_4,_2)", "(_4,2)")
    assert not agrees("(4,2)", "(_4,2)")
    assert not agrees("(4,2)", "(4,(2))")
    assert text((1, (tla.Int[2](), True))) == "(1,(_2,true))"
    with pytest.raises(AttributeError):
        operation("no such operation")

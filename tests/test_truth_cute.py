"""CuTe's own answers, for the operations that tla has."""

import operator
from collections import Counter

import pytest

import tla
from tla import Layout, LayoutLeft, LayoutRight, MakeLayout, parse

from truth import agrees, answer, rows

INT_OPS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
ORDERS = {"LayoutLeft": LayoutLeft, "LayoutRight": LayoutRight}
SAME_NAME = """abs ceil_div compact_col_major compact_row_major compatible congruent cosize crd2crd depth flatten gcd idx2crd max min
product product_each rank round_up shape shape_div size unflatten weakly_congruent"""
OPERATIONS = {
    **{name: getattr(tla, name, abs) for name in SAME_NAME.split()},
    "int_op": lambda a, op, b: INT_OPS[op](a, b),
    "layout_eq": operator.eq,
    "call": lambda layout, coord: layout(coord),
    "crd2idx": lambda coord, shape, *stride: shape(coord) if isinstance(shape, Layout) else tla.crd2idx(coord, shape, *stride),
    "make_layout": lambda shape, *stride: MakeLayout(shape, *stride),
    **{f"{name}_mode": lambda x, *path, f=getattr(tla, name): f[path](x) for name in ("size", "rank", "depth", "cosize")},
    "get": lambda x, *path: tla.get[path](x),
}

# Rows where we differ on purpose, by the row's id; docs/differences.md says why.
ROUNDS_UP = {3161, 3163, 3171, 3172, 3174, 3198, 3199, 3209, 3211, 3215, 3219, 3222, 3239, 3252, 3259, 3260, 3328}  # shape_div: refused
TRUNCATES = {4043: "-1", 4051: "_-1"}  # integer division of negative numbers: we floor
VECTOR = {0: "(_8):(_1)"}  # make_layout of an integer: MakeLayout is TLA's


def argument(x):
    return x if isinstance(x, int) or x in INT_OPS else ORDERS[x] if x in ORDERS else parse(x)


def test_cute_accepted():
    seen = Counter()
    for row in rows("cute/accepted.json"):
        mine = answer(OPERATIONS[row["op"]], *map(argument, row["args"]))
        if row["id"] in ROUNDS_UP:
            assert mine == "DivisibilityError", row
        else:
            assert agrees(mine, {**TRUNCATES, **VECTOR}.get(row["id"], row["result"])), (row, mine)
        seen[row["op"]] += 1
    assert seen["crd2idx"] == 99
    assert seen["idx2crd"] == 133
    assert seen.total() == 1440


def test_cute_rejected():
    for row in rows("cute/rejected.json"):
        mine = answer(OPERATIONS[row["op"]], *map(argument, row["args"]))
        assert mine.endswith("Error"), (row, mine)


def test_the_comparison_sees_a_difference():
    assert agrees("(_4,2):(_1,4)", "(_4,2):(_1,4)")
    assert agrees("(_4,_2)", "(_4,2)")
    assert not agrees("(4,2)", "(_4,2)")
    assert not agrees("(4,2)", "(4,(2))")
    with pytest.raises(KeyError):
        OPERATIONS["no such operation"]

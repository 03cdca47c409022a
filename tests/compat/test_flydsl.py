"""The statements of FlyDSL's MLIR tests of its algebra (tests/mlir/LayoutAlgebra), where TLA_FLYDSL is its checkout.

A statement has the types of its arguments and of its result, and static values are types:
`fly.coalesce(%a) : (!fly.layout<(3,1,9):(1,9,3)>) -> !fly.layout<27:1>`.
"""

import operator
import os
import re
from collections import Counter
from pathlib import Path

import pytest

import tla
from tla import ComposedLayout, Layout, TlaError, parse, size, static

SUITE = Path(os.environ.get("TLA_FLYDSL", "FlyDSL")) / "tests" / "mlir" / "LayoutAlgebra"
STATEMENT = re.compile(r"fly\.(\w+)\([^)]*\)\s*:\s*\(([^\n]*(?:\n[^%\n]*)*?)\)\s*->\s*!fly\.\w+<([^\n]*)>[ ]*$", re.M)
VALUE = re.compile(r"!fly\.\w+<((?:[^<>]|<[^<>]*>)*)>")


def by_mode(f):
    """A function of integers of two tuples, mode by mode."""
    return lambda a, b: static(tuple(f(int(x), int(y)) for x, y in zip(a, b, strict=True)))


# The statements whose name is another here, or that order their arguments in another way.
OPERATIONS = {
    "make_layout": tla.make_layout,
    "make_ordered_layout": tla.make_ordered_layout,
    "make_identity_layout": tla.make_identity_layout,
    "make_layout_like": tla.make_layout_like,
    "make_composed_layout": ComposedLayout,
    "composed_get_inner": lambda a: a.outer,
    "composed_get_outer": lambda a: a.inner,
    "composed_get_offset": lambda a: a.offset,
    "get_shape": lambda a: a.shape,
    "get_stride": lambda a: a.stride,
    "get_flat_coord": lambda i, a: tla.idx2crd(i, tla.product_each(a.shape)),
    "get_1d_coord": lambda i, a: tla.crd2idx(tla.idx2crd(i, a.shape), a.shape),
    "slice": lambda a, crd: tla.slice_(crd, a),
    "idx2crd": lambda i, a: tla.idx2crd(i, a.shape),
    "int_tuple_add": by_mode(operator.add),
    "int_tuple_sub": by_mode(operator.sub),
    "int_tuple_mul": by_mode(operator.mul),
    "int_tuple_div": by_mode(operator.floordiv),
    "int_tuple_mod": by_mode(operator.mod),
    "int_tuple_product": tla.product,
    "int_tuple_product_each": tla.product_each,
}


def read(text):
    """A value: `[a|b]` is a tile of one for each mode, `*` leaves a mode open."""
    if text.startswith("["):
        return tuple(map(read, text[1:-1].split("|")))
    if "*" in text:
        return tuple(tla._ if part.strip() == "*" else static(parse(part)) for part in text.strip("()").split(","))
    kind = "composed_layout" if " o " in text else "layout"
    return static(parse(f"!fly.{kind}<{text}>" if ":" in text else text))


def statements():
    """(operation, arguments, result) of every statement of static values; a view of memory is none."""
    for path in sorted(SUITE.glob("*.mlir")):
        text = "\n".join(line for line in path.read_text().split("\n") if not line.lstrip().startswith("//"))
        for name, types, wanted in STATEMENT.findall(text):
            if "?" not in types + wanted and types and name != "make_view":
                yield name, tuple(VALUE.findall(types)), wanted


def judged(name, arguments, wanted):
    """`equal`, `same function`, or why there is no answer."""
    try:
        given, theirs = [*map(read, arguments)], read(wanted)
        found = OPERATIONS.get(name, getattr(tla, name, None))(*given)
    except TlaError as error:
        return str(error)
    if repr(found) == repr(theirs) or (isinstance(found, tuple) and found == theirs):
        return "equal"
    layouts = isinstance(found, (Layout, ComposedLayout))
    return (
        "same function"
        if layouts and all(found(i) == theirs(i) for i in range(int(size(theirs))))
        else f"other: {found}"
    )


@pytest.mark.skipif(
    not SUITE.is_dir(), reason="needs FlyDSL: git clone https://github.com/ROCm/FlyDSL, and its folder in TLA_FLYDSL"
)
def test_statements():
    found = [(statement, judged(*statement)) for statement in statements()]
    counts = Counter(verdict if verdict in ("equal", "same function") else "refused" for _, verdict in found)
    assert all("are in no tile" in verdict for _, verdict in found if verdict not in ("equal", "same function")), counts
    assert counts == {"equal": 148, "same function": 16, "refused": 4}

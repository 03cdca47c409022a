"""The statements of CUTLASS's MLIR tests of its dialect `cute` (cutlass_compiler/cute_ir/test), where
TLA_CUTLASS is its checkout.

A statement has the types of its arguments and of its result, and static layouts are types: `cute.coalesce(%a) :
(!cute.layout<"(4,5):(1,4)">) -> !cute.layout<"20:1">`. Those of what tla has under the same name, without
`?`, are done.
"""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

import tla
from tla import ComposedLayout, Layout, TlaError, parse, size, static

SUITE = Path(os.environ.get("TLA_CUTLASS", "cutlass")) / "cutlass_compiler" / "cute_ir" / "test" / "Dialect" / "Cute"
STATEMENT = re.compile(r'cute\.(\w+)\([^)]*\)([^:]*?):\s*\(([^()]*(?:"[^"]*"[^()]*)*)\)\s*->\s*!cute\.\w+<"([^"]*)">')
OPERATIONS = set(
    "composition complement coalesce left_inverse right_inverse logical_product logical_divide flat_divide tiled_divide zipped_divide tile_to_shape flatten "
    "cosize raked_product blocked_product flat_product tiled_product zipped_product shape_div ceil_div crd2idx idx2crd size".split()
)


def read(text):
    """A value: `[a;b]` is a tile of one for each mode, `_` leaves a mode open."""
    if not text.startswith("["):
        return None if text == "_" else static(parse(text))
    parts, depth = [""], 0
    for c in text[1:-1]:
        depth += {"[": 1, "]": -1}.get(c, 0)
        if c == ";" and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return tuple(map(read, parts))


def statements():
    """(operation, arguments, result) of every statement of static values."""
    for path in sorted(SUITE.rglob("*.mlir")):
        if "errors" not in path.name:
            text = "\n".join(line for line in path.read_text().split("\n") if not line.lstrip().startswith("//"))
            for operation, attributes, types, wanted in STATEMENT.findall(text):
                if operation in OPERATIONS and "?" not in types + wanted and not attributes.strip():
                    yield operation, re.findall(r'!cute\.\w+<"([^"]*)"', types), wanted


def judged(operation, arguments, wanted):
    """`equal`, `same function`, or why there is no answer."""
    try:
        given, theirs = [*map(read, arguments)], read(wanted)
    except TlaError:
        return "not read"
    try:
        found = getattr(tla, operation)(*given)
    except TlaError:
        return "refused"
    if repr(found) == repr(theirs):
        return "equal"
    layouts = isinstance(found, (Layout, ComposedLayout))
    return "same function" if layouts and all(found(i) == theirs(i) for i in range(int(size(theirs)))) else "other"


@pytest.mark.skipif(
    not SUITE.is_dir(),
    reason="needs CUTLASS: git clone https://github.com/NVIDIA/cutlass, and its folder in TLA_CUTLASS",
)
def test_no_statement_is_another_function():
    found = {
        statement: judged(*statement) for statement in ((op, tuple(args), wanted) for op, args, wanted in statements())
    }
    counts = Counter(found.values())
    assert not [statement for statement, verdict in found.items() if verdict == "other"]
    assert counts["equal"] + counts["same function"] >= 423, counts
    assert counts["not read"] + counts["refused"] <= 8, counts

"""The C++ tests of CUTLASS's cutegen (cutlass_compiler/cutegen/test/cg_*_test.cpp), converted, where TLA_CUTLASS
is its checkout.

What is converted are calls `test_coalesce(layout, expected)` and the like, and `EXPECT_EQ(r, expected)` of an
`r = test_composition(a, b)`, whose arguments are written with layout, shape, stride, wrap, sb_t and texts. The
expressions are read with Python's parser, and never evaluated as code.
"""

import ast
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from test_cute_mlir import read

import tla
from tla import Layout, TlaError, make_layout, size, static

SUITE = Path(os.environ.get("TLA_CUTLASS", "cutlass")) / "cutlass_compiler" / "cutegen" / "test"
OPERATIONS = (
    "coalesce complement composition left_inverse logical_divide logical_product right_inverse tile_to_shape".split()
)


def value(node, names):
    """The value of an expression of layouts; KeyError or ValueError for what is not converted."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names[node.id]
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(ast.dump(node))
    arguments = [value(x, names) for x in node.args]
    if node.func.id == "static_cosize":
        return tla.cosize(*arguments)
    if node.func.id == "layout":
        return static(make_layout(*arguments))
    if node.func.id == "text":
        return read(arguments[0])
    if node.func.id == "sb_t":
        path, times = arguments
        return read("@".join(map(str, [times, *reversed(path if isinstance(path, tuple) else (path,))])))
    if node.func.id == "wrap":
        return (arguments[0],)
    if node.func.id in ("shape", "stride", "int_tuple", "coord"):
        return arguments[0] if len(arguments) == 1 else tuple(arguments)
    raise KeyError(node.func.id)


def name_of(node):
    """The name of the function that an expression calls, or an empty text."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def parsed(text):
    text = re.sub(r'\*?(?:cg::)?from_string<[\w:]+>\(("[^"]*")\)(?:\.value\(\))?', r"text(\1)", text.strip())
    return ast.parse(text.replace("cg::", ""), mode="eval").body


def cases(path):
    """(operation, arguments, expected) of a file."""
    names, calls = {}, {}
    text = re.sub(r"//[^\n]*", "", path.read_text().split("\nTEST(", 1)[-1]).replace("{}", "")
    text = re.sub(r"\{([\d, ]+)\}", r"shape(\1)", text)
    for statement in re.split(r"[;{}]", text):
        try:
            statement = re.sub(r"^\s*(?:const )?(?:cg::)?layout\s+(\w+)\(", r"auto \1 = layout(", statement)
            made = re.fullmatch(r"\s*(?:const )?auto\s+(\w+)\s*=(.*)", statement, re.S)
            if made:
                names.pop(made[1], None), calls.pop(made[1], None)
            node = parsed(made[2] if made else statement)
            call = name_of(node).replace("_with_cotarget", "")
            if call.startswith("test_") and call[5:] in OPERATIONS:
                arguments = [value(x, names) for x in node.args]
                if made:
                    calls[made[1]] = call[5:], arguments
                else:
                    yield call[5:], arguments[:-1], arguments[-1]
            elif made:
                names[made[1]] = value(node, names)
            elif call == "EXPECT_EQ" and isinstance(node.args[0], ast.Name) and node.args[0].id in calls:
                yield *calls[node.args[0].id], value(node.args[1], names)
            elif call == "EXPECT_EQ" and name_of(node.args[0]) in OPERATIONS:
                yield name_of(node.args[0]), [value(x, names) for x in node.args[0].args], value(node.args[1], names)
        except (SyntaxError, KeyError, ValueError, TypeError, TlaError):
            continue


def judged(operation, arguments, expected):
    try:
        found = getattr(tla, operation)(*map(static, arguments))
    except TlaError:
        return "refused: strides of coordinates" if "@" in "".join(map(str, arguments)) else "refused"
    if repr(found) == repr(expected):
        return "equal"
    layouts = isinstance(found, Layout) and isinstance(expected, Layout)
    return "same function" if layouts and all(found(i) == expected(i) for i in range(int(size(expected)))) else "other"


def test_an_expression_is_read():
    names = {"a": static(make_layout((2, 4)))}
    assert value(parsed("cg::layout(cg::shape(2, cg::shape(4, 6)), cg::stride(1, cg::stride(2, 8)))"), names) == read(
        "(2,(4,6)):(1,(2,8))"
    )
    assert value(parsed('*cg::from_string<cg::layout>("3:1")'), names) == read("3:1")
    assert (value(parsed("cg::shape(cg::wrap(4))"), names), value(parsed("a"), names)) == ((4,), names["a"])


@pytest.mark.skipif(
    not SUITE.is_dir(),
    reason="needs CUTLASS: git clone https://github.com/NVIDIA/cutlass, and its folder in TLA_CUTLASS",
)
def test_no_case_is_another_function():
    found = [(judged(*case), case) for path in sorted(SUITE.glob("cg_*_test.cpp")) for case in cases(path)]
    counts = Counter(verdict for verdict, _ in found)
    assert not [case for verdict, case in found if verdict == "other"]
    assert counts["equal"] + counts["same function"] >= 270, counts

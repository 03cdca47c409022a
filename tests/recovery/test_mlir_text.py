"""MLIR read back: operations against Python's own values, maps, functions, modules, what mlir-opt makes of them, and
what is refused."""

import itertools
import math
import random
import shutil
import subprocess

import pytest
from test_tables import random_layout

from tla import ParseError, layout_of, offsets, product_each, static
from tla.codegen import emit
from tla.recovery.evaluate import table_of
from tla.recovery.texts import coordinates_of, read

from night import amount


def values(text, shape):
    code = read(text, "mlir")
    return table_of(code, coordinates_of(code, None, len(shape), {}), shape, {}, "int64").tolist()


def truncated(a, b):
    return int(a / b)


SIGNED = {
    "addi": int.__add__,
    "subi": int.__sub__,
    "muli": int.__mul__,
    "andi": int.__and__,
    "ori": int.__or__,
    "xori": int.__xor__,
    "minsi": min,
    "maxsi": max,
    "divsi": truncated,
    "remsi": lambda a, b: a - b * truncated(a, b),
    "floordivsi": int.__floordiv__,
    "ceildivsi": lambda a, b: math.ceil(a / b),
    "shli": int.__lshift__,
    "shrsi": int.__rshift__,
}
UNSIGNED = {
    "divui": int.__floordiv__,
    "remui": int.__mod__,
    "ceildivui": lambda a, b: -(-a // b),
    "shrui": int.__rshift__,
    "minui": min,
    "maxui": max,
}


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED])
@pytest.mark.parametrize("kind", ["i32", "index"])
def test_every_operation_of_two_operands(name, kind):
    low = -4 if name in SIGNED and name != "shli" else 0
    text = f"""
func.func @f(%i: {kind}, %j: {kind}) -> {kind} {{
  %low = arith.constant {low} : {kind}
  %one = arith.constant 1 : {kind}
  %a = arith.addi %i, %low : {kind}
  %b = arith.addi %j, %one overflow<nsw> : {kind}
  %r = arith.{name} %a, %b : {kind}
  return %r : {kind}
}}"""
    operation = {**SIGNED, **UNSIGNED}[name]
    assert values(text, (9, 5)) == [[operation(i + low, j + 1) for j in range(5)] for i in range(9)]
    if name in UNSIGNED:
        with pytest.raises(ParseError, match="a cast of -4 to 4"):
            values(text.replace(f"constant {low} ", "constant -4 "), (9, 5))


@pytest.mark.parametrize("test", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_comparisons_and_choices(test):
    text = (
        f"%c = arith.cmpi {test}, %i, %j : index\n%t = arith.constant true\n%d = arith.xori %c, %t : i1\n%r = "
        "arith.select %d, %i, %j : index"
    )
    operation = {
        "eq": int.__eq__,
        "ne": int.__ne__,
        "lt": int.__lt__,
        "le": int.__le__,
        "gt": int.__gt__,
        "ge": int.__ge__,
    }[test[-2:]]
    assert values(text, (4, 4)) == [[j if operation(i, j) else i for j in range(4)] for i in range(4)]


@pytest.mark.parametrize(
    ("text", "by_definition"),
    [
        ("#m = affine_map<(i) -> (i floordiv 3 * 5 - i mod 3)>", lambda i: i // 3 * 5 - i % 3),
        ("(i) -> (-(i ceildiv 3))", lambda i: (-i) // 3),
        ("i * 8 - 3", lambda i: i * 8 - 3),
        (
            "#m = affine_map<(d0)[s0] -> (d0 * s0)>\n%c = arith.constant 7 : index\n%r = affine.apply #m(%i)[%c]",
            lambda i: 7 * i,
        ),
        ("%r = affine.min affine_map<(d0) -> (d0 * 2, d0 + 5)>(%i)", lambda i: min(2 * i, i + 5)),
        ("%r = affine.max affine_map<(d0) -> (d0 * 2, d0 + 5)>(%i)", lambda i: max(2 * i, i + 5)),
        ("%c = index.constant -2\n%r = index.mul %i, %c", lambda i: -2 * i),
        ("%r = arith.index_cast %i : i32 to index", lambda i: i),
        (
            "%c = arith.constant 4 : i64\n%t = arith.cmpi ult, %i, %c : i64\n%r = arith.extsi %t : i1 to i64",
            lambda i: -(i < 4),
        ),
        (
            "%c = arith.constant 4 : i64\n%t = arith.cmpi ult, %i, %c : i64\n%r = arith.extui %t : i1 to i64",
            lambda i: int(i < 4),
        ),
        ("%t = gpu.thread_id x\n%c = arith.constant 2 : index\n%r = arith.muli %t, %c : index", lambda i: 2 * i),
        (
            "module attributes {a.b = 1 : i32} {\n  func.func private @half(%x: index) -> index {\n    %c = "
            "arith.constant 2 : index\n"
            "    %r = arith.divsi %x, %c : index loc(#loc1)\n    return %r : index\n  }\n"
            "  func.func @f(%x: index {tt.divisibility = 8 : i32}) -> (index) attributes {p = 1 : i32} {\n"
            "    %0 = func.call @half(%x) : (index) -> index\n    %1 = func.call @half(%0) : (index) -> index\n    "
            "return %1 : index\n  }\n}",
            lambda i: i // 4,
        ),
    ],
)
def test_forms(text, by_definition):
    assert values(text, (16,)) == [by_definition(i) for i in range(16)]


def test_maps_of_several_results_are_coordinates():
    assert (
        str(layout_of("affine_map<(d0, d1) -> (d1, d0 floordiv 4, d0 mod 4)>", shape=(8, 4), language="mlir"))
        == "(_8,_4):(_1,_8)"
    )
    text = "func.func @f(%a: index, %b: index) -> (index, index) {\n  return %b, %a : index, index\n}"
    assert str(layout_of(text, shape=(8, 4), language="mlir")) == "(_8,_4):(_1,_8)"


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("func.func @f(%i: i32) -> i32 {\n  return %j : i32\n}", 40, "%j, which nothing computes"),
        ("func.func @f(%i: i32) -> i32 {\n  %i = arith.addi %i, %i : i32", 33, "%i has two values"),
        ("func.func @f(%i: i32, %i: i32) -> i32 {", 10, "two parameters of one name"),
        ("func.func @f(%i: i32) {\n  return\n}", 10, "@f, which returns nothing"),
        ("func.func @f(%i: i32) -> i32 {\n  return : i32\n}", 40, "the name of a value"),
        ("func.func @f(%i: f32) -> i32 {\n  return %i : i32\n}", 40, "%i[...]: an index that depends on data"),
        ("%0 = arith.addi %i, %j : i32\n%1 = arith.addi %0, %j : i64", 45, "%0 as i64, which is i32"),
        ("%0 = arith.addi %i : i32", 5, "1 operands"),
        ("%0 = arith.addf %i, %j : f32", 28, "an expression"),
        ("%0 = arith.shl %i, %j : i32", 5, "write arith.shli"),
        (
            "%0 = memref.load %m[%i] : memref<8xi32>\n%1 = arith.addi %0, %i : i32",
            56,
            "%0[...]: an index that depends on data",
        ),
        ("%0 = affine.apply #map(%i)", 18, "a map that stands before"),
        ("affine_map<(d0) -> (d0 + d1)>", 25, "d1, which is no parameter of the map"),
        ("affine_map<(d0) -> (d0, )>", 24, "a name or an integer"),
        ("%0 = arith.constant 99999999999 : i32", 5, "a cast of 99999999999"),
        (
            "%0 = arith.muli %i, %i : i32\n%1 = arith.muli %0, %0 : i32\n%2 = arith.muli %1, %1 : i32",
            34,
            "which int32 does not hold",
        ),
        ("%c = arith.constant 0 : i32\n%0 = arith.remui %i, %c : i32", 33, "a division by a value that may be 0"),
        ("%0:2 = affine.delinearize_index %i into (4, 4, 4) : index, index", 7, "3 extents of 2 indices"),
        ("%0:2 = arith.addi %i, %i : index", 7, "unexpected 'arith.addi'"),
        ("%0:999999999 = affine.delinearize_index %i into (4) : index", 3, "64 at most"),
        (f"%0:{'9' * 5000} = affine.delinearize_index %i into (4) : index", 3, "does not fit in 64 bits"),
        ("%0:0 = affine.delinearize_index %i into (4) : index", 3, "1 or more"),
        ("%0: = affine.delinearize_index %i into (4) : index", 4, "the number of values"),
        ("%0:2 = affine.delinearize_index %i into (0) : index, index", 7, "a division by a value that may be 0"),
        ("%0 = affine.linearize_index [] by () : index", 29, "the name of a value"),
    ],
)
def test_what_is_refused_with_its_place(text, at, said):
    with pytest.raises(ParseError) as info:
        layout_of(text, shape=256, language="mlir", coords="i")
    assert said in str(info.value)
    assert info.value.position == at


DIGITS = """
func.func @f(%t: index, %k: index) -> index {{
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %0:3 = affine.delinearize_index %t into ({}%c4, %c16) : index, index, index
  %1 = affine.linearize_index {}[%0#0, %0#2, %0#1, %k] by ({}%c16, %c4, 8) : index
  return %1 : index
}}"""


def test_indices_are_cut_into_digits_and_put_together():
    for whole, disjoint, outer in (("", "", ""), ("%c4, ", "disjoint ", "4, ")):
        text = DIGITS.format(whole, disjoint, outer)
        assert str(layout_of(text, shape=(256, 8), language="mlir")) == "((_16,_4,_4),_8):((_32,_8,_512),_1)"


@pytest.mark.skipif(not shutil.which("mlir-opt-19"), reason="needs mlir-opt of LLVM 19")
def test_digits_are_those_of_mlir_opt():
    head, _, tail = DIGITS.format("%c4, ", "", "").partition("  %1")
    text = (
        head + "  %1 = affine.apply affine_map<(a, b, c, k) -> (a * 512 + b * 8 + c * 32 + k)>(%0#0, %0#1, %0#2, %k)\n"
    )
    run = subprocess.run(
        ["mlir-opt-19", "--affine-expand-index-ops"],
        input=text + tail.partition("\n")[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "delinearize" not in run.stdout
    assert str(layout_of(run.stdout, shape=(256, 8), language="mlir")) == "((_16,_4,_4),_8):((_32,_8,_512),_1)"


@pytest.mark.skipif(not shutil.which("mlir-opt-19"), reason="needs mlir-opt of LLVM 19")
def test_what_mlir_opt_makes_of_functions_is_the_same_layout():
    rng = random.Random(3)
    passes = itertools.cycle(
        [["--lower-affine", "--canonicalize"], ["--arith-expand", "--cse"], ["--mlir-print-debuginfo"]]
    )
    for _ in range(amount(12, 600)):
        layout = static(random_layout(rng, most=1 << 10))
        run = subprocess.run(
            ["mlir-opt-19", *next(passes)], input=emit(layout, "mlir"), capture_output=True, text=True, check=True
        )
        found = layout_of(run.stdout, shape=tuple(map(int, product_each(layout.shape))), language="mlir")
        assert (offsets(found).ravel("F") == offsets(layout).ravel("F")).all(), str(layout)
